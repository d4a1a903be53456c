"""The set measures over many resamples at once, for their intervals.

``rows`` is ``(n, columns)``, one row a case as ``summary`` gives it; ``counts`` is
``(resamples, n)``, how often each resample drew every case. Each function returns one value a
resample, NaN where the measure has none, and agrees with its namesake of one sample.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def abstention_precision(rows: Floats, counts: Floats) -> Floats:
    """Return ``TP / (TP + FP)`` of rows (abstained, unanswerable)."""
    return _ratio(counts @ (rows[:, 0] * rows[:, 1]), counts @ rows[:, 0])


def abstention_recall(rows: Floats, counts: Floats) -> Floats:
    """Return ``TP / (TP + FN)`` of rows (abstained, unanswerable)."""
    return _ratio(counts @ (rows[:, 0] * rows[:, 1]), counts @ rows[:, 1])


def abstention_f1(rows: Floats, counts: Floats) -> Floats:
    """Return ``2TP / (2TP + FP + FN)`` of rows (abstained, unanswerable)."""
    unanswerable = counts @ rows[:, 1]
    found = _ratio(2 * (counts @ (rows[:, 0] * rows[:, 1])), counts @ rows.sum(axis=1))
    return np.where(unanswerable > 0, found, np.nan)


def area_under_roc(rows: Floats, counts: Floats) -> Floats:
    """Return the area under the ROC curve of rows (confidence, answerable)."""
    order = np.argsort(rows[:, 0], kind="stable")
    values, positive = rows[order, 0], rows[order, 1] > 0.5
    drawn = counts[:, order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    ours = np.add.reduceat(drawn * positive, starts, axis=1)  # by distinct confidence
    theirs = np.add.reduceat(drawn * ~positive, starts, axis=1)
    below = np.cumsum(theirs, axis=1) - theirs / 2
    return _ratio((ours * below).sum(axis=1), ours.sum(axis=1) * theirs.sum(axis=1))


def aurc(rows: Floats, counts: Floats) -> Floats:
    """Return the area under the risk–coverage curve of rows (confidence, loss)."""
    order = np.argsort(-rows[:, 0], kind="stable")
    values, drawn = rows[order, 0], counts[:, order]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], True))
    answered = np.cumsum(drawn, axis=1)[:, ends]
    wrong = np.cumsum(drawn * rows[order, 1], axis=1)[:, ends]
    risks = np.divide(wrong, answered, out=np.zeros_like(wrong), where=answered > 0)
    sizes = np.diff(answered, axis=1, prepend=0.0)
    return _ratio((sizes * risks).sum(axis=1), counts.sum(axis=1))


def percentile(percent: float) -> Callable[[Floats, Floats], Floats]:
    """Return the function that takes a percentile of rows with one column."""

    def many(rows: Floats, counts: Floats) -> Floats:
        order = np.argsort(rows[:, 0], kind="stable")
        values = rows[order, 0]
        drawn = np.cumsum(counts[:, order], axis=1)  # place i of a resample: first drawn > i
        last = len(values) - 1
        place = last * percent / 100
        below = int(place)
        low, high = (values[(drawn <= min(i, last)).sum(axis=1)] for i in (below, below + 1))
        found: Floats = low + (high - low) * (place - below)
        return found

    return many


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
