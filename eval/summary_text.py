"""A finished run in a few lines for the terminal, or as JSON."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from .measures import Measure
from .report import GateResult, Run
from .report.markdown import interval, kinds_of, number, verdict_counts

HEADLINES = (
    *("passed", "failed", "recall@1", "recall@5", "recall@10", "mrr", "ndcg@10"),
    *("evidence_precision", "evidence_recall", "evidence_f1"),
    *("citation_precision", "citation_recall", "cites_relevant", "marker_validity"),
    *("must_contain", "full_answer", "token_f1", "rouge_l", "answer_similarity"),
    *("abstention_precision", "abstention_recall", "abstention_f1"),
    *("answerability_auc", "aurc", "statements", "words_per_statement"),
    *("judge_faithfulness", "judge_relevancy", "judge_correctness"),
    *("latency_p50_ms", "latency_p95_ms", "tokens_in", "tokens_out"),
)


def as_text(run: Run, gates: Sequence[GateResult], folder: Path) -> str:
    """Return what the terminal shows: outcomes, main measures, kinds, gates, and the report."""
    return "\n".join([*_outcomes(run), "", *_measures(run), *_kinds(run), *_end(gates, folder)])


def as_json(run: Run, gates: Sequence[GateResult], folder: Path) -> str:
    """Return a run's figures over all cases as one line of JSON."""
    value = {
        "out": str(folder),
        "cases": len(run.cases),
        "finished": len(run.outcomes),
        "outcomes": verdict_counts(run),
        "measures": {m.name: m.to_json() for m in run.overall if m.value is not None},
        "gates": [{"gate": gate.gate.text, "passed": gate.passed} for gate in gates],
    }
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def problem(run: Run, gates: Sequence[GateResult], folder: Path) -> str | None:
    """Return why the command ends with an error, as sentences; None where it does not."""
    failed = sum(outcome.failed for outcome in run.outcomes)
    judged = sum(outcome.again for outcome in run.outcomes)
    missed = [gate.text for gate in gates if not gate.passed]
    reasons = [
        f"{failed} of {len(run.cases)} cases failed; their rows hold the reason." if failed else "",
        f"The judge failed on {judged} of {len(run.cases)} answers." if judged else "",
        f"Gates that are not met: {'; '.join(missed)}." if missed else "",
        f"Ask these cases again: --out '{folder}' --resume" if failed or judged else "",
    ]
    return " ".join(reason for reason in reasons if reason) or None


def _outcomes(run: Run) -> Iterator[str]:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in verdict_counts(run).items())
    yield f"{len(run.outcomes)} of {len(run.cases)} cases: {counts or 'none is finished'}"


def _measures(run: Run) -> Iterator[str]:
    overall = {measure.name: measure for measure in run.overall}
    yield f"{'measure':22} {'value':>8}  {'95 % interval':18} n of N"
    for name in HEADLINES:
        measure = overall.get(name)
        if measure is not None and measure.value is not None:
            yield _line(measure)


def _line(measure: Measure) -> str:
    return (
        f"{measure.name:22} {number(measure.value):>8}  {interval(measure):18} "
        f"{measure.n} of {measure.total}"
    )


def _kinds(run: Run) -> Iterator[str]:
    kinds = kinds_of(run)
    if not kinds:
        return
    yield from ("", "passed by kind")
    for kind, measures in kinds.items():
        passed = measures["passed"]
        shown = "".join(c if c.isprintable() else "�" for c in kind)
        yield f"{shown[:22]:22} {number(passed.value):>8}  {'':18} {passed.n} of {passed.total}"


def _end(gates: Sequence[GateResult], folder: Path) -> Iterator[str]:
    if gates:
        yield ""
        yield from (gate.text for gate in gates)
    yield from ("", f"All measures and cases: {folder / 'report.html'}", "")
