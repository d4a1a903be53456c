"""Benchmark results as text, as JSON, and as the part of a Markdown file between two marks."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rag.errors import RecordError

from ..measures import Measure
from ..report import replace_file
from ..report.markdown import chance, interval, number
from ..stats import Difference
from .results import AnswerTable, EngineRow, Results, RetrievalTable
from .retrieval import SHOWN

BEGIN, END = "<!-- citewell bench: begin -->", "<!-- citewell bench: end -->"


def as_text(results: Results) -> str:
    """Return all tables for a terminal."""
    lines: list[str] = []
    for found in results.retrieval:
        lines += [*_retrieval_text(found), ""]
    for answers in results.answers:
        lines += [*_answers_text(answers), ""]
    return "\n".join(lines)


def as_json(results: Results) -> str:
    """Return all results as JSON, numbers rounded to 10 decimals."""
    return json.dumps(_rounded(asdict(results)), indent=1, ensure_ascii=False, allow_nan=False)


def as_markdown(results: Results) -> str:
    """Return all tables as Markdown."""
    versions = results.made.get("versions", {})
    lines = [
        f"Citewell {versions.get('citewell', '?')}, embedder `{results.made.get('embedder')}`, "
        f"{results.made.get('cores')} cores, seed {results.made.get('seed')}. "
        "Small figures are 95 % bootstrap intervals over questions.",
        "",
    ]
    if results.retrieval:
        lines += [*_retrieval_markdown(results.retrieval), ""]
    if results.answers:
        lines += [*_answers_markdown(results.answers), ""]
    return "\n".join(lines)


def put_between_marks(path: Path, results: Results) -> None:
    """Replace what stands between the two marks of a Markdown file; the rest stays as it is.

    Raises:
        RecordError: The file is missing or has not both marks.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as exc:
        raise RecordError(
            f"{str(path)!r} cannot be read: {exc.strerror}. The table is put into a file that "
            "exists. Name it with --markdown."
        ) from exc
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise RecordError(
            f"{str(path)!r} does not hold the lines '{BEGIN}' and '{END}'. The table goes between "
            "them. Add both."
        )
    replace_file(path, f"{before}{BEGIN}\n\n{as_markdown(results)}\n{END}{after}")


# ---- retrieval -----------------------------------------------------------------------------------


def _retrieval_text(found: RetrievalTable) -> Iterator[str]:
    yield (
        f"{found.benchmark} ({found.judgments}): {found.papers:,} papers, {found.queries:,} "
        f"queries, added in {found.add_seconds:,.0f} s{_remarks(found)}"
    )
    yield f"  {'engine':8} " + " ".join(f"{name:>21}" for name in SHOWN) + "   ms p50   p95"
    for row in found.rows:
        cells = " ".join(f"{_cell(row.measures[name]):>21}" for name in SHOWN)
        yield f"  {row.engine:8} {cells} {row.query_ms_p50:8.1f} {row.query_ms_p95:5.1f}"
    for row in found.rows:
        if row.against_hybrid:
            yield f"  hybrid - {row.engine}: nDCG@10 {_difference(row.against_hybrid)}"
    differences = [r.trec_difference for r in found.rows if r.trec_difference is not None]
    if differences:
        yield f"  largest difference from pytrec_eval: {max(differences):.1e}"


def _remarks(found: RetrievalTable) -> str:
    merged = f", {found.merged} duplicates merged" if found.merged else ""
    textless = f", {found.textless} records without text" if found.textless else ""
    unasked = f", {found.unasked} queries could not be asked" if found.unasked else ""
    return merged + textless + unasked


def _retrieval_markdown(tables: list[RetrievalTable]) -> Iterator[str]:
    yield from ("### Retrieval", "")
    columns = ("nDCG@10", "MAP", "MRR", "recall@10", "recall@100", "precision@10")
    heads = ["benchmark", "engine", *columns, "hybrid − engine, nDCG@10", "p", "ms a query"]
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|" + "---|" * (len(heads) - 2)
    for found in tables:
        for row in found.rows:
            yield _retrieval_row(found, row)
    yield ""
    yield (
        "| benchmark | judgments | papers | duplicates merged | records without text | queries "
        "| seconds to add |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|"
    for t in tables:
        yield (
            f"| {t.benchmark} | {t.judgments} | {t.papers:,} | {t.merged} | {t.textless} "
            f"| {t.queries:,} | {t.add_seconds:,.0f} |"
        )
    checked = [r.trec_difference for t in tables for r in t.rows if r.trec_difference is not None]
    if checked:
        yield ""
        yield f"Largest difference of any measure of a query from pytrec_eval: {max(checked):.1e}."


def _retrieval_row(found: RetrievalTable, row: EngineRow) -> str:
    best = max(r.measures["ndcg@10"].value or 0.0 for r in found.rows)
    cells = [_markdown_cell(row.measures[name]) for name in SHOWN]
    if row.measures["ndcg@10"].value == best:
        value, _, rest = cells[0].partition(" ")
        cells[0] = f"**{value}** {rest}"
    d = row.against_hybrid
    span = "–" if d is None else f"{d.value:+.3f} <sub>{_span(d)}</sub>"
    times = f"{row.query_ms_p50:.1f} <sub>p95 {row.query_ms_p95:.1f}</sub>"
    shown = [found.benchmark, row.engine, *cells, span, "–" if d is None else chance(d.p), times]
    return "| " + " | ".join(shown) + " |"


def _difference(d: Difference) -> str:
    return f"{d.value:+.3f} ({_span(d)}), p {chance(d.p)}"


def _span(d: Difference) -> str:
    return "–" if d.low is None or d.high is None else f"{d.low:+.3f} to {d.high:+.3f}"


# ---- answers -------------------------------------------------------------------------------------


def _answers_text(found: AnswerTable) -> Iterator[str]:
    sample = " (a sample)" if found.sampled else ""
    llm = f", {found.llm}" if found.llm else ""
    yield (
        f"{found.benchmark}/{found.file}: {found.questions:,} questions{sample}{llm}, "
        f"{found.seconds:,.0f} s"
    )
    for one in found.measures:
        yield f"  {one.name:24} {number(one.value):>8}  {interval(one):18} {one.n} of {one.total}"
    yield from (f"  {note}" for note in found.notes)


def _answers_markdown(tables: list[AnswerTable]) -> Iterator[str]:
    yield from ("### Answers", "")
    yield "| benchmark | questions | measure | value | n | seconds |"
    yield "|---|---|---|---|---:|---:|"
    for found in tables:
        asked = f"{found.questions:,}{' (sample)' if found.sampled else ''} of `{found.file}`"
        for one in found.measures:
            yield (
                f"| {found.benchmark} | {asked} | `{one.name}` | {_markdown_cell(one)} "
                f"| {one.n:,} | {found.seconds:,.0f} |"
            )


def _cell(measure: Measure) -> str:
    return f"{number(measure.value)} ({_bare(measure.low)}-{_bare(measure.high)})"


def _markdown_cell(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return number(measure.value)
    return f"{number(measure.value)} <sub>{_bare(measure.low)}–{_bare(measure.high)}</sub>"


def _bare(value: float | None) -> str:
    """Return a share without its leading zero: ``.405``."""
    return "–" if value is None else f"{value:.3f}".removeprefix("0")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return round(value, 10) if isinstance(value, float) else value
