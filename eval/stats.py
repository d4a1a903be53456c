"""How sure a figure is: bootstrap intervals and a randomisation test. Seeded, so repeatable.

Cases are the unit that is resampled. A statistic gets an array with one row a case, ``(n,)`` or
``(n, columns)``, and may return None where it is not defined; such resamples are left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], float | None]


@dataclass(frozen=True, slots=True)
class Weighted:
    """A statistic that takes many resamples at once, each as how often it drew every case.

    Attributes:
        one: The statistic of an array with one row a case.
        many: Takes that array and the counts, ``(resamples, n)``; gives one value a resample, NaN
            where it has none.
    """

    one: Statistic
    many: Callable[[Floats, Floats], Floats]

    def __call__(self, rows: Floats) -> float | None:
        """Return the statistic of one array."""
        return self.one(rows)


RESAMPLES = 2000
LEVEL = 0.95
_CHUNK = 2_000_000  # numbers held at once
_EXACT = 12  # pairs that differ; up to here all sign patterns are tried


@dataclass(frozen=True, slots=True)
class Difference:
    """How two runs differ on the same cases: ``b - a``, its interval, and the chance of it.

    ``p`` is the two-sided p-value of the randomisation test; low, high and p are None with fewer
    than two pairs.
    """

    a: float
    b: float
    value: float
    low: float | None
    high: float | None
    p: float | None
    n: int


def mean(rows: Floats) -> float | None:
    """Return the mean of a one-column array; None where it is empty."""
    return float(rows.mean()) if rows.size else None


def bootstrap_interval(
    rows: Sequence[float] | Floats,
    statistic: Statistic = mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a statistic.

    Cases are drawn with replacement, as many as there are, ``resamples`` times; the interval holds
    the middle ``level`` of the statistic's values (Efron and Tibshirani, 1993, chapter 13).

    Args:
        rows: One row a case.
        statistic: What is estimated.
        seed: Seed of the generator.
        resamples: How often to draw.
        level: Share of the resamples inside the interval, 0 to 1.

    Returns:
        Lower and upper end; None with fewer than two rows or where no resample has a value.
    """
    data = np.asarray(rows, dtype=np.float64)
    if len(data) < 2:
        return None
    drawn = _resampled(data, statistic, np.random.default_rng(seed), resamples)
    return _middle(drawn, level)


def paired_difference(
    a: Sequence[float] | Floats,
    b: Sequence[float] | Floats,
    statistic: Statistic = mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Difference | None:
    """Return how a statistic differs between two runs of the same cases.

    Args:
        a: One row a case of the first run.
        b: The same cases of the second run, in the same order.
        statistic: What is compared.
        seed: Seed of both procedures.
        resamples: Number of draws of each.
        level: Level of the interval.

    Returns:
        The difference ``b - a`` with the interval of ``paired_bootstrap`` and the p-value of
        ``randomisation_test``; None where the statistic has no value on one side.
    """
    left, right = _pair(a, b)
    first, second = statistic(left), statistic(right)
    if first is None or second is None:
        return None
    interval = paired_bootstrap(left, right, statistic, seed=seed, resamples=resamples, level=level)
    p = randomisation_test(left, right, statistic, seed=seed, resamples=resamples)
    low, high = interval or (None, None)
    return Difference(first, second, second - first, low, high, p, len(left))


def paired_bootstrap(
    a: Sequence[float] | Floats,
    b: Sequence[float] | Floats,
    statistic: Statistic = mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of ``statistic(b) - statistic(a)``.

    Each draw takes the same cases from both runs (Efron and Tibshirani, 1993; for retrieval: Sakai,
    SIGIR 2006). None with fewer than two pairs.
    """
    left, right = _pair(a, b)
    if len(left) < 2:
        return None
    rng = np.random.default_rng(seed)
    if statistic is mean:
        return _middle(_resampled(right - left, mean, rng, resamples), level)
    if isinstance(statistic, Weighted):
        both = [
            statistic.many(right, counts) - statistic.many(left, counts)
            for counts in _counts(len(left), rng, resamples)
        ]
        return _middle(_present(np.concatenate(both)), level)
    drawn = []
    for _ in range(resamples):
        cases = rng.integers(len(left), size=len(left))
        drawn.append(_minus(statistic(right[cases]), statistic(left[cases])))
    return _middle(np.array([d for d in drawn if d is not None]), level)


def randomisation_test(
    a: Sequence[float] | Floats,
    b: Sequence[float] | Floats,
    statistic: Statistic = mean,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> float | None:
    """Return the two-sided p-value of the paired randomisation test.

    If the runs were alike, each case's two results could as well be exchanged, which for a mean
    flips the sign of its difference. The p-value is the share of exchanges whose difference is at
    least as large as the one seen: of all of them where at most 12 cases differ, else of
    ``resamples`` random ones and the one seen, ``(hits + 1) / (resamples + 1)``. (Fisher, 1935; for
    retrieval: Smucker, Allan and Carterette, CIKM 2007.)

    Returns:
        More than 0, at most 1; None with fewer than two pairs or without a value.
    """
    left, right = _pair(a, b)
    seen = _minus(statistic(right), statistic(left))
    if len(left) < 2 or seen is None:
        return None
    differs = np.flatnonzero(np.any((left != right).reshape(len(left), -1), axis=1))
    exact = len(differs) <= _EXACT
    swaps = _swaps(len(differs), exact, np.random.default_rng(seed), resamples)
    if statistic is mean:  # an exchange flips the sign of a difference
        sums = np.where(swaps, -1.0, 1.0) @ (right - left)[differs] / len(left)
        hits, count = int((np.abs(sums) >= abs(seen) - 1e-12).sum()), len(sums)
        return hits / count if exact else (hits + 1) / (count + 1)
    hits, count = 0, 0
    for swap in swaps:
        one, other = left.copy(), right.copy()
        cases = differs[swap]
        one[cases], other[cases] = right[cases], left[cases]
        difference = _minus(statistic(other), statistic(one))
        count += 1
        hits += difference is not None and abs(difference) >= abs(seen) - 1e-12
    return hits / count if exact else (hits + 1) / (count + 1)


def _swaps(n: int, exact: bool, rng: np.random.Generator, resamples: int) -> NDArray[np.bool_]:
    if exact:
        return np.array(list(product((False, True), repeat=n)), dtype=bool).reshape(2**n, n)
    return rng.integers(2, size=(resamples, n)).astype(bool)


def _resampled(
    data: Floats, statistic: Statistic, rng: np.random.Generator, resamples: int
) -> Floats:
    """Return the statistic of each resample; means are taken many at a time."""
    n = len(data)
    if isinstance(statistic, Weighted):
        return _present(
            np.concatenate([statistic.many(data, c) for c in _counts(n, rng, resamples)])
        )
    if statistic is not mean:
        values = [statistic(data[rng.integers(n, size=n)]) for _ in range(resamples)]
        return np.array([value for value in values if value is not None])
    step = max(1, _CHUNK // n)
    counts = [min(step, resamples - done) for done in range(0, resamples, step)]
    return np.concatenate([data[rng.integers(n, size=(c, n))].mean(axis=1) for c in counts])


def _counts(n: int, rng: np.random.Generator, resamples: int) -> Iterator[Floats]:
    """Yield how often each resample drew every case, ``(some, n)``, until there are enough."""
    step = max(1, _CHUNK // n)
    for done in range(0, resamples, step):
        some = min(step, resamples - done)
        drawn = rng.integers(n, size=(some, n)) + n * np.arange(some)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=some * n).reshape(some, n)
        yield counts.astype(np.float64)


def _present(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _middle(values: Floats, level: float) -> tuple[float, float] | None:
    if not len(values):
        return None
    tail = 50 * (1 - level)
    low, high = np.percentile(values, [tail, 100 - tail])
    return float(low), float(high)


def _pair(a: Sequence[float] | Floats, b: Sequence[float] | Floats) -> tuple[Floats, Floats]:
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.shape != right.shape:
        raise ValueError(f"the runs are not paired: {left.shape} and {right.shape}")
    return left, right


def _minus(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else left - right
