"""What ``citewell bench on-demand`` gives: rows of shares, and their table."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ..stats import Floats, Weighted, bootstrap_interval
from .speed_table import number, table

HEADS = ("benchmark", "queries", "search", "nDCG@10", "of fully embedded", "of words alone")


@dataclass(frozen=True, slots=True)
class Share:
    """A mean as a share of another, 1 for the same, with its 95 % bootstrap interval."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class DemandRow:
    """One way to search on one benchmark.

    ``simulated`` tells that its budget was kept by a clock that counts embedding at a given rate.
    """

    benchmark: str
    search: str
    queries: int
    ndcg: float
    of_embedded: Share | None
    of_words: Share | None
    simulated: bool = False


@dataclass(slots=True)
class DemandResults:
    """All rows, and how they were made."""

    rows: list[DemandRow] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)


def share(part: Sequence[float], whole: Sequence[float], *, seed: int = 0) -> Share | None:
    """Return the mean of one run as a share of another's, over the same queries.

    Args:
        part: One value a query.
        whole: The same queries of the run that it is compared with.
        seed: Seed of the bootstrap over queries.

    Returns:
        The share with its interval; None where the other run's mean is 0.
    """
    rows = np.column_stack([part, whole])
    value = _ratio(rows)
    if value is None:
        return None
    low, high = bootstrap_interval(rows, Weighted(_ratio, _ratios), seed=seed) or (None, None)
    return Share(value, low, high)


def _ratio(rows: Floats) -> float | None:
    part, whole = rows.sum(axis=0)
    return float(part / whole) if whole else None


def _ratios(rows: Floats, counts: Floats) -> Floats:
    part, whole = (counts @ rows).T
    found: Floats = np.divide(part, whole, out=np.full_like(part, np.nan), where=whole > 0)
    return found


# ---- the table ----------------------------------------------------------------------------------


def as_text(results: DemandResults) -> str:
    """Return the table for a terminal."""
    how = _how(results.made)
    cells = [_cells(row, "({})") for row in results.rows]
    widths = [max(len(line[i]) for line in [HEADS, *cells]) for i in range(len(HEADS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [HEADS, *cells]
    ]
    return "\n".join([how, *lines])


def as_markdown(results: DemandResults) -> str:
    """Return the table as Markdown."""
    lines = table(HEADS, (_cells(row, "<sub>{}</sub>") for row in results.rows))
    return "\n".join([_how(results.made), "", *lines])


def as_json(results: DemandResults) -> str:
    """Return all rows as JSON."""
    return json.dumps(asdict(results), indent=1, ensure_ascii=False, allow_nan=False)


def _how(made: Mapping[str, Any]) -> str:
    host, known = made.get("machine", {}), made.get("versions", {})
    return (
        f"Citewell {known.get('citewell', '?')}, {host.get('cores')} cores "
        f"({host.get('gflops')} GFLOP/s, load {host.get('load')}); shares of means, 95 % "
        "bootstrap intervals over queries."
    )


def _cells(row: DemandRow, spread: str) -> list[str]:
    return [
        row.benchmark,
        f"{row.queries:,}",
        row.search,
        number(row.ndcg),
        _share_cell(row.of_embedded, spread),
        _share_cell(row.of_words, spread),
    ]


def _share_cell(one: Share | None, spread: str) -> str:
    if one is None:
        return "–"
    if one.low is None or one.high is None:
        return f"{100 * one.value:.1f} %"
    return f"{100 * one.value:.1f} % " + spread.format(f"{100 * one.low:.1f}–{100 * one.high:.1f}")
