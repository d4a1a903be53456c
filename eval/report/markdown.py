"""The report as Markdown: figures and the cases that need a look."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ..measures import INFO, Measure, group_of
from ..outcome import VERDICTS
from .explain import explain
from .gates import GateResult
from .run import Run

_CASES = 50  # that are named; report.html has all of them
KIND_COLUMNS = ("passed", "recall@5", "ndcg@10", "evidence_f1", "cites_relevant", "must_contain")
_SPECIAL = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|!&~$"})


def render_markdown(run: Run, gates: Sequence[GateResult]) -> str:
    """Return the report as Markdown; texts from answers and questions are escaped."""
    parts = ["# Evaluation", *_overview(run), *_gates(gates), *_measures(run.overall)]
    parts += [*_kinds(run), *_attention(run)]
    return "\n".join(parts).rstrip() + "\n"


def how_made(manifest: Mapping[str, Any]) -> list[str]:
    """Return in a few words how a run was made; what the manifest does not tell is left out."""
    questions, corpus, settings = (
        manifest[name] if isinstance(manifest.get(name), dict) else {}
        for name in ("questions", "corpus", "settings")
    )
    answers = settings.get("llm")
    parts = {
        "questions": questions.get("file"),
        "library": corpus.get("library"),
        "papers": corpus.get("papers"),
        "retrieval": settings.get("retrieval"),
        "answers": "quotes" if answers == "quote" else answers,
        "embedder": settings.get("embedder"),
        "judge": manifest.get("judge"),
    }
    return [f"{name}: {value}" for name, value in parts.items() if value not in (None, "")]


def number(value: float | None) -> str:
    """Return a figure with three decimals, large ones with fewer, a missing one as a dash."""
    if value is None:
        return "–"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def chance(p: float | None) -> str:
    """Return a p-value with three decimals, a missing one as a dash."""
    return "<0.001" if p is not None and p < 0.001 else number(p)


def interval(measure: Measure) -> str:
    """Return the 95 % interval, or a dash."""
    if measure.low is None or measure.high is None:
        return "–"
    return f"{number(measure.low)} to {number(measure.high)}"


def verdict_counts(run: Run) -> dict[str, int]:
    """Return how many cases ended in each way, ways that did not occur left out."""
    found = [outcome.verdict for outcome in run.outcomes]
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def kinds_of(run: Run) -> dict[str, dict[str, Measure]]:
    """Return the measures of each kind by name."""
    kinds: dict[str, dict[str, Measure]] = {}
    for measure in run.measures:
        if measure.kind is not None:
            kinds.setdefault(measure.kind, {})[measure.name] = measure
    return kinds


def _overview(run: Run) -> list[str]:
    made = [_text(part) for part in how_made(run.manifest)]
    lines = ["", " · ".join(made)] if made else []
    lines += ["", f"{len(run.outcomes)} of {len(run.cases)} cases are finished.", ""]
    lines += ["| outcome | cases |", "|---|---:|"]
    return lines + [f"| {verdict} | {count} |" for verdict, count in verdict_counts(run).items()]


def _gates(gates: Sequence[GateResult]) -> list[str]:
    return ["", "## Gates", "", *(f"- {_text(gate.text)}" for gate in gates)] if gates else []


def _measures(measures: Sequence[Measure]) -> Iterator[str]:
    yield from ("", "## Measures", "")
    yield "Intervals are 95 % bootstrap intervals over cases; *n of N* are the cases scored."
    scored = [measure for measure in measures if measure.value is not None]
    for group, members in groupby(scored, key=lambda measure: group_of(measure.name)):
        yield from (
            "",
            f"### {group}",
            "",
            "| measure | value | 95 % interval | n of N | meaning |",
        )
        yield "|---|---:|---|---:|---|"
        for m in members:
            about = INFO[m.name].about if m.name in INFO else ""
            yield (
                f"| `{m.name.replace('|', '')}` | {number(m.value)} | {interval(m)} "
                f"| {m.n} of {m.total} | {about} |"
            )


def _kinds(run: Run) -> list[str]:
    kinds = kinds_of(run)
    if not kinds:
        return []
    lines = ["", "## By kind", "", f"| kind | cases | {' | '.join(KIND_COLUMNS)} |"]
    lines.append("|---|---:|" + "---:|" * len(KIND_COLUMNS))
    for kind, found in kinds.items():
        values = [number(found[name].value) if name in found else "–" for name in KIND_COLUMNS]
        lines.append(f"| {_text(kind)} | {found['failed'].total} | {' | '.join(values)} |")
    return lines


def _attention(run: Run) -> list[str]:
    rows = [(c, o) for c, o in run.pairs if o.verdict not in {"passed", "unlabelled"}]
    if not rows:
        return []
    lines = ["", "## Cases to look at", ""]
    for case, outcome in rows[:_CASES]:
        why = " ".join(explain(case, outcome))
        question = (
            outcome.question if len(outcome.question) <= 300 else outcome.question[:299] + "…"
        )
        lines.append(f"- **{_text(outcome.case_id)}** ({outcome.verdict}): {_text(question)}")
        lines.append(f"  {_text(why)}")
    if len(rows) > _CASES:
        lines.append(f"- … and {len(rows) - _CASES} more, all in report.html")
    return lines


def _text(value: str) -> str:
    """Return untrusted text on one line with nothing in it that Markdown reads as markup."""
    return " ".join(value.split()).translate(_SPECIAL)
