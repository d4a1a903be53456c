"""Figures of speed as text, JSON and Markdown, and the part of a file between two marks."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag.errors import RecordError

from ..report import replace_file
from .speed_rows import Rounds, Row, SpeedResults

HEADS = ("measure", "unit", "Citewell", "compared with", "Citewell ÷ it", "n")


def as_text(results: SpeedResults) -> str:
    """Return the table for a terminal."""
    lines = [_made(results.made)]
    cells = [_cells(row, low="(", between="-", high=")") for row in results.rows]
    widths = [max(len(line[i]) for line in [HEADS, *cells]) for i in range(len(HEADS))]
    for line in [HEADS, *cells]:
        shown = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        lines.append("  ".join(shown).rstrip())
    lines += [f"{measure}: {note}" for measure, note in _notes(results.rows).items()]
    return "\n".join(lines) + "\n"


def as_markdown(results: SpeedResults) -> str:
    """Return the table as Markdown."""
    lines = [_made(results.made), "", *table(HEADS, map(_markdown, results.rows)), ""]
    lines += [f"- {measure}: {note}" for measure, note in _notes(results.rows).items()]
    return "\n".join(lines).rstrip() + "\n"


def as_json(results: SpeedResults) -> str:
    """Return every round of every row as JSON."""
    rows = [asdict(row) | {"shown": dict(zip(HEADS, _cells(row), strict=True))} for row in
            results.rows]  # fmt: skip
    found = {"made": results.made, "rows": rows}
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def put_between(path: Path, name: str, text: str) -> None:
    """Replace what stands between two marks of a Markdown file; the rest stays as it is.

    Args:
        path: The file.
        name: What the marks name: ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``.
        text: What to put between them.

    Raises:
        RecordError: The file is missing or has not both marks.
    """
    begin, end = marks(name)
    try:
        whole = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise RecordError(
            f"{str(path)!r} cannot be read: {exc.strerror}. The table is put into a file that "
            "exists. Name it with --markdown."
        ) from exc
    before, has_begin, rest = whole.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise RecordError(
            f"{str(path)!r} does not hold the lines '{begin}' and '{end}'. The table goes between "
            "them. Add both."
        )
    replace_file(path, f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")


def marks(name: str) -> tuple[str, str]:
    """Return the two lines that a table is put between."""
    return f"<!-- {name}: begin -->", f"<!-- {name}: end -->"


def number(value: float) -> str:
    """Return a figure with three digits that count."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"  # fmt: skip  # noqa: E501


def _made(made: Mapping[str, Any]) -> str:
    before, after = made.get("before", {}), made.get("after", {})
    load = " to ".join(str(one["load"]) for one in (before, after) if one.get("load") is not None)
    versions = made.get("versions", {})
    model = f"{made['llm']}, " if "llm" in made else ""
    return (
        f"Citewell {versions.get('citewell', '?')}, {made.get('corpus')} "
        f"({made.get('records', 0):,} records), {model}{before.get('cores')} cores "
        f"({before.get('gflops')} GFLOP/s, load {load or 'unknown'}), medians of "
        f"{made.get('repeats')} rounds in turn, least to greatest round in small."
    )


def _cells(row: Row, *, low: str = "(", between: str = "-", high: str = ")") -> list[str]:
    def cell(rounds: Rounds | None, unit: str = "") -> str:
        if rounds is None:
            return "–"
        spread = f"{low}{number(rounds.low)}{between}{number(rounds.high)}{high}"
        return f"{number(rounds.median)}{unit} {spread}" if len(rounds.values) > 1 else (
            f"{number(rounds.median)}{unit}"
        )  # fmt: skip

    theirs = f"{cell(row.theirs)} {row.against}".strip() if row.theirs else "–"
    ratio = cell(row.ratio, "×")
    return [row.measure, row.unit, cell(row.ours), theirs, ratio, f"{row.ours.n:,}"]


def _markdown(row: Row) -> list[str]:
    return _cells(row, low="<sub>", between="–", high="</sub>")


def _notes(rows: Sequence[Row]) -> dict[str, str]:
    """Return the notes, each once, by the measure that they are about."""
    found: dict[str, str] = {}
    for row in rows:
        if row.note and row.note not in found.values():
            found[row.measure.removesuffix(", p50")] = row.note
    return found
