"""Plots as SVG text. Pure; the colours are CSS classes, so that a page can be light or dark.

Every text that comes in is escaped. Numbers are written with one decimal, so the same input gives
the same bytes.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10
from typing import TypeVar

from .measures import Measure
from .metrics import RiskPoint

_T = TypeVar("_T")

_WIDTH = 640
_LEFT = 190
_RIGHT = 60
_ROW = 22
_TOP = 12
_PLOT = _WIDTH - _LEFT - _RIGHT
_HEIGHT = 260
_MAX_STEPS = 400  # points of a curve that are drawn


def intervals(measures: Sequence[Measure], *, title: str) -> str:
    """Return measures between 0 and 1 as dots with their 95 % intervals, one a row.

    Args:
        measures: In the order to draw; those without a value are left out.
        title: What the plot shows, for readers who cannot see it.

    Returns:
        An ``<svg>`` element; empty text where there is nothing to draw.
    """
    drawn = [measure for measure in measures if measure.value is not None]
    rows = [(m.name, m.value, m.low, m.high, f"{m.n} of {m.total}") for m in drawn]
    return _dots(rows, title, low=0.0, high=1.0)


def differences(
    rows: Sequence[tuple[str, float, float | None, float | None, str]], *, title: str
) -> str:
    """Return differences around zero as dots with their intervals.

    Args:
        rows: Name, value, lower and upper end, and a remark, in the order to draw.
        title: What the plot shows.
    """
    reach = max((abs(x) for row in rows for x in row[1:4] if isinstance(x, float)), default=0.0)
    reach = _round_up(reach) if reach else 1.0
    return _dots(list(rows), title, low=-reach, high=reach)


def risk_coverage(points: Sequence[RiskPoint], *, title: str) -> str:
    """Return the risk–coverage curve: risk (down is better) over the share that is answered."""
    if not points:
        return ""
    pairs = [(point.coverage, point.risk) for point in _thinned(points)]
    return _curve(pairs, title, x_label="coverage", y_label="risk", x_max=1.0, x_unit="")


def latency(times_ms: Sequence[float], *, title: str) -> str:
    """Return the share of answers that were ready after each time."""
    if not times_ms:
        return ""
    ordered = sorted(times_ms)
    steps = [(t / 1000, (i + 1) / len(ordered)) for i, t in enumerate(ordered)]
    longest = _round_up(ordered[-1] / 1000) or 1.0
    return _curve(
        [(0.0, 0.0), *_thinned(steps)], title, x_label="seconds", y_label="share of answers",
        x_max=longest, x_unit=" s",
    )  # fmt: skip


def by_kind(values: Mapping[str, Sequence[Measure]], *, title: str) -> str:
    """Return one block of dots a measure, with a row for each kind.

    Args:
        values: Measure name to its values by kind.
        title: What the plot shows.
    """
    rows = [
        (f"{name} · {m.kind}", m.value, m.low, m.high, f"{m.n} of {m.total}")
        for name, measures in values.items()
        for m in measures
        if m.value is not None
    ]
    return _dots(rows, title, low=0.0, high=1.0)


Dot = tuple[str, float | None, float | None, float | None, str]


def _dots(rows: Sequence[Dot], title: str, *, low: float, high: float) -> str:
    if not rows:
        return ""
    bottom = _TOP + _ROW * len(rows)
    parts = [_grid(low, high, bottom)]
    for i, row in enumerate(rows):
        parts.append(_dot(row, _TOP + _ROW * i + _ROW / 2, low, high))
    return _svg("".join(parts), bottom + 28, title)


def _dot(row: Dot, y: float, low: float, high: float) -> str:
    name, value, start, end, remark = row
    if value is None:
        return ""

    def x(v: float) -> float:
        return _LEFT + _PLOT * (min(max(v, low), high) - low) / (high - low)

    bar = ""
    if start is not None and end is not None:
        bar = f'<line class="bar" x1="{x(start):.1f}" x2="{x(end):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>'
    hint = f"{name}: {value:.3f} ({remark})"
    return (
        f"<g><title>{escape(hint)}</title>"
        f'<text class="name" x="{_LEFT - 10}" y="{y + 4:.1f}">{escape(_short(name))}</text>{bar}'
        f'<circle class="dot" cx="{x(value):.1f}" cy="{y:.1f}" r="4"/>'
        f'<text class="value" x="{_WIDTH - _RIGHT + 10}" y="{y + 4:.1f}">{value:.3f}</text></g>'
    )


def _grid(low: float, high: float, bottom: float) -> str:
    lines = []
    for i in range(5):
        at, value = _LEFT + _PLOT * i / 4, low + (high - low) * i / 4
        style = "zero" if value == 0 else "grid"
        lines.append(
            f'<line class="{style}" x1="{at:.1f}" x2="{at:.1f}" y1="{_TOP}" y2="{bottom}"/>'
            f'<text class="tick" x="{at:.1f}" y="{bottom + 16}">{value:.3g}</text>'
        )
    return "".join(lines)


def _curve(
    pairs: Sequence[tuple[float, float]], title: str, *, x_label: str, y_label: str, x_max: float,
    x_unit: str,
) -> str:  # fmt: skip
    left, width, height = 56, _WIDTH - 80, _HEIGHT - 60
    spots = [(left + width * x / x_max, _TOP + height * (1 - y)) for x, y in pairs]
    steps = [f"M{spots[0][0]:.1f} {spots[0][1]:.1f}"]
    steps += [f"H{x:.1f}V{y:.1f}" for x, y in spots[1:]]
    parts = [f'<path class="curve" d="{"".join(steps)}"/>']
    for i in range(5):
        y, x = _TOP + height * (1 - i / 4), left + width * i / 4
        parts += [
            f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>',
            f'<text class="value" x="8" y="{y + 4:.1f}">{i / 4:.2f}</text>',
            f'<text class="tick" x="{x:.1f}" y="{_TOP + height + 16}">'
            f"{x_max * i / 4:.3g}{x_unit}</text>",
        ]
    axes = f"{y_label} (up) by {x_label} (right)"
    parts.append(
        f'<text class="tick" x="{left + width / 2}" y="{_HEIGHT - 8}">{escape(axes)}</text>'
    )
    return _svg("".join(parts), _HEIGHT, title)


def _svg(body: str, height: float, title: str) -> str:
    return (
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {height:.0f}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{body}</svg>'
    )


def _thinned(points: Sequence[_T]) -> list[_T]:
    """Return at most 400 of the points, the first and the last among them."""
    step = max(1, ceil(len(points) / _MAX_STEPS))
    kept = list(points[::step])
    return kept if kept[-1] is points[-1] else [*kept, points[-1]]


def _round_up(value: float) -> float:
    """Return the next number of 1, 2, 5 times a power of ten; 0 stays 0."""
    if value <= 0:
        return 0.0
    unit: float = 10.0 ** floor(log10(value))
    return next(step * unit for step in (1, 2, 5, 10) if value <= step * unit * (1 + 1e-9))


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"
