"""Sum a run up: every measure over all cases and by kind, with its interval."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from . import metrics as m
from .cases import Case
from .measures import Measure, sort_key
from .metrics import resampled
from .outcome import Outcome
from .stats import Floats, Statistic, Weighted, bootstrap_interval

Cells = tuple[float, ...]
Pair = tuple[Case | None, Outcome]


@dataclass(frozen=True, slots=True)
class SetMeasure:
    """A measure of a set of cases that is no mean over them.

    ``cells`` gives the numbers of one case, or None where it does not count; ``statistic`` gets
    them as an array with one row a case.
    """

    cells: Callable[[Case | None, Outcome], Cells | None]
    statistic: Statistic


def summarise(
    outcomes: Iterable[Outcome], cases: Iterable[Case], *, seed: int = 0
) -> list[Measure]:
    """Return all measures of a run.

    Args:
        outcomes: The finished rows, at most one a case.
        cases: The cases of the run, for their labels.
        seed: Seed of the bootstrap.

    Returns:
        First the measures over all cases, then those of each kind in order of its name; within
        each in the order of ``measures.INFO``. ``total`` counts all cases of the group, ``n`` those
        that were scored. A failed case is counted by ``failed`` and scored by nothing else.
    """
    known = {case.id: case for case in cases}
    rows = [(known.get(outcome.case_id), outcome) for outcome in outcomes]
    groups: dict[str | None, list[Pair]] = {None: rows}
    for kind in sorted({outcome.kind for _, outcome in rows if outcome.kind}):
        groups[kind] = [row for row in rows if row[1].kind == kind]
    return [
        measure for kind, group in groups.items() for measure in _measures(group, kind, seed=seed)
    ]


def values_by_case(outcomes: Iterable[Outcome], name: str) -> dict[str, float]:
    """Return a measure's value of every case that has one; ``failed`` has one for each."""
    if name == "failed":
        return {outcome.case_id: float(outcome.failed) for outcome in outcomes}
    scored = ((o.case_id, None if o.failed else o.metrics.get(name)) for o in outcomes)
    return {case_id: value for case_id, value in scored if value is not None}


def metric_names(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the names of all measures that are means over cases, in the order of ``INFO``."""
    names = {name for outcome in outcomes for name in outcome.metrics}
    return sorted(names | {"failed"}, key=sort_key)


def risk_points(rows: Iterable[Pair]) -> list[m.RiskPoint]:
    """Return the risk–coverage curve of a run; coverage counts the abstentions as not answered."""
    rows = list(rows)
    cells = cells_of(rows, SET_MEASURES["aurc"])
    labelled = sum(1 for case, o in rows if not o.failed and _loss(case, o) is not None)
    if not cells:
        return []
    table = np.array(cells)
    return m.risk_coverage(table[:, 0], table[:, 1], labelled)


def cells_of(rows: Iterable[Pair], measure: SetMeasure) -> list[Cells]:
    """Return a set measure's numbers of the cases that count, in order."""
    found = (measure.cells(case, outcome) for case, outcome in rows if not outcome.failed)
    return [cells for cells in found if cells is not None]


def _measures(rows: Sequence[Pair], kind: str | None, *, seed: int) -> list[Measure]:
    outcomes = [outcome for _, outcome in rows]
    means = [
        _measure(name, list(values_by_case(outcomes, name).values()), len(rows), kind, seed=seed)
        for name in metric_names(outcomes)
    ]
    sets = [
        _set_measure(name, measure, rows, kind, seed=seed) for name, measure in SET_MEASURES.items()
    ]
    return sorted([*means, *sets], key=lambda measure: sort_key(measure.name))


def _measure(
    name: str, values: Sequence[float], total: int, kind: str | None, *, seed: int
) -> Measure:
    if not values:
        return Measure(name, None, 0, total, kind=kind)
    low, high = bootstrap_interval(values, seed=seed) or (None, None)
    return Measure(name, float(np.mean(values)), len(values), total, low, high, kind)


def _set_measure(
    name: str, measure: SetMeasure, rows: Sequence[Pair], kind: str | None, *, seed: int
) -> Measure:
    cells = np.array(cells_of(rows, measure), dtype=np.float64)
    value = measure.statistic(cells) if len(cells) else None
    if value is None:
        return Measure(name, None, 0, len(rows), kind=kind)
    low, high = bootstrap_interval(cells, measure.statistic, seed=seed) or (None, None)
    return Measure(name, value, len(cells), len(rows), low, high, kind)


def _abstention(case: Case | None, outcome: Outcome) -> Cells | None:
    if case is None or case.answerable is None or outcome.answer is None:
        return None
    return float(outcome.answer.get("abstained") is True), float(not case.answerable)


def _answerability(case: Case | None, outcome: Outcome) -> Cells | None:
    reply = outcome.reply
    if case is None or case.answerable is None or reply is None or reply.confidence is None:
        return None
    return reply.confidence, float(case.answerable)


def _risk(case: Case | None, outcome: Outcome) -> Cells | None:
    """Return confidence and loss of a question that was answered."""
    reply, loss = outcome.reply, _loss(case, outcome)
    if reply is None or reply.abstained or reply.confidence is None or loss is None:
        return None
    return reply.confidence, loss


def _loss(case: Case | None, outcome: Outcome) -> float | None:
    """Return 0 for an answer that passed, 1 for one that did not, None without labels."""
    passed = outcome.metrics.get("passed")
    return None if passed is None else 1.0 - passed


def _latency(case: Case | None, outcome: Outcome) -> Cells | None:
    return None if outcome.latency_ms is None else (outcome.latency_ms,)


def _columns(function: Callable[[Floats, Floats], float | None]) -> Statistic:
    return lambda rows: function(rows[:, 0], rows[:, 1])


def _at_percent(percent: float) -> Statistic:
    return lambda rows: m.percentile(rows[:, 0], percent)


SET_MEASURES: Mapping[str, SetMeasure] = {
    "abstention_precision": SetMeasure(
        _abstention, Weighted(_columns(m.abstention_precision), resampled.abstention_precision)
    ),
    "abstention_recall": SetMeasure(
        _abstention, Weighted(_columns(m.abstention_recall), resampled.abstention_recall)
    ),
    "abstention_f1": SetMeasure(
        _abstention, Weighted(_columns(m.abstention_f1), resampled.abstention_f1)
    ),
    "answerability_auc": SetMeasure(
        _answerability, Weighted(_columns(m.area_under_roc), resampled.area_under_roc)
    ),
    "aurc": SetMeasure(_risk, Weighted(_columns(m.aurc), resampled.aurc)),
    "latency_p50_ms": SetMeasure(_latency, Weighted(_at_percent(50), resampled.percentile(50))),
    "latency_p95_ms": SetMeasure(_latency, Weighted(_at_percent(95), resampled.percentile(95))),
}
