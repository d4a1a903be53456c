"""One finished case of a run, and the file that holds them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal

from rag.errors import RecordError

from .reply import Reply
from .tables import Row, read_json_lines

Verdict = Literal[
    "passed", "incomplete", "wrongly abstained", "wrongly answered", "unlabelled", "error"
]
VERDICTS: tuple[Verdict, ...] = (
    "passed",
    "incomplete",
    "wrongly abstained",
    "wrongly answered",
    "unlabelled",
    "error",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one case.

    Attributes:
        case_id: The case.
        question: As asked.
        kind: The case's group.
        answer: The object of ``citewell ask --json``; None where the case failed.
        error: Why it failed, as one plain sentence; None where it did not.
        latency_ms: Time from asking to the whole answer; None where it was not taken.
        metrics: Measure name to value, None where there is no score; empty where it failed.
        notes: Measure name to the reason why it has no score, such as a judge's unreadable reply.
        relevant_ids: The papers of the library that the case's labels stand for.
        missing_labels: Labels that fit no paper of the library.
        again: Whether a resumed run asks the case once more though it has an answer, because
            something beside the answer failed, such as a judge.
    """

    case_id: str
    question: str
    kind: str = ""
    answer: Mapping[str, Any] | None = None
    error: str | None = None
    latency_ms: float | None = None
    metrics: Mapping[str, float | None] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    relevant_ids: tuple[str, ...] = ()
    missing_labels: tuple[str, ...] = ()
    again: bool = False

    @property
    def failed(self) -> bool:
        """Return whether the case ended in an error."""
        return self.error is not None or self.answer is None

    @property
    def whole(self) -> bool:
        """Return whether nothing is left to do for the case."""
        return not self.failed and not self.again

    @property
    def reply(self) -> Reply | None:
        """Return a view of the answer; None where there is none."""
        return None if self.answer is None else Reply.from_json(self.answer)

    @property
    def verdict(self) -> Verdict:
        """Return in a word how the case ended."""
        if self.failed or self.answer is None:
            return "error"
        passed = self.metrics.get("passed")
        if passed is None:
            return "unlabelled"
        if passed == 1:
            return "passed"
        if self.answer.get("abstained") is True:
            return "wrongly abstained"
        return "wrongly answered" if self.metrics.get("abstention_accuracy") == 0 else "incomplete"

    def to_json(self) -> dict[str, Any]:
        """Return the row as plain values for one line of ``answers.jsonl``."""
        return {
            "id": self.case_id,
            "question": self.question,
            "kind": self.kind,
            "verdict": self.verdict,
            "error": self.error,
            "latency_ms": self.latency_ms,
            "metrics": dict(self.metrics),
            "notes": dict(self.notes),
            "relevant_ids": list(self.relevant_ids),
            "missing_labels": list(self.missing_labels),
            "again": self.again,
            "answer": None if self.answer is None else dict(self.answer),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Outcome":
        """Read a row that ``to_json`` gave.

        Raises:
            RecordError: A field is missing or of the wrong type.
        """
        if not isinstance(value.get("id"), str) or not isinstance(value.get("question"), str):
            raise RecordError("The row has no 'id' or no 'question', so it is not of a run.")
        answer, error = value.get("answer"), value.get("error")
        return cls(
            case_id=value["id"],
            question=value["question"],
            kind=str(value.get("kind") or ""),
            answer=answer if isinstance(answer, dict) else None,
            error=None if error is None else str(error),
            latency_ms=_number(value.get("latency_ms")),
            metrics={str(k): _number(v) for k, v in _object(value.get("metrics")).items()},
            notes={str(k): str(v) for k, v in _object(value.get("notes")).items()},
            relevant_ids=_strings(value.get("relevant_ids")),
            missing_labels=_strings(value.get("missing_labels")),
            again=value.get("again") is True,
        )


def dump_outcomes(outcomes: Iterable[Outcome]) -> str:
    """Return the rows as JSONL."""
    return "".join(dump_outcome(outcome) for outcome in outcomes)


def dump_outcome(outcome: Outcome) -> str:
    """Return one row as one line, with its line end; what JSON cannot hold is replaced.

    Half a surrogate pair becomes ``?``, and a number that is not finite null.
    """
    line = json.dumps(_finite(outcome.to_json()), ensure_ascii=False, allow_nan=False)
    return line.encode("utf-8", "replace").decode("utf-8") + "\n"


def read_outcomes(path: Path) -> list[Outcome]:
    """Read ``answers.jsonl``, also one that a killed run left behind.

    A last line that was cut is passed over. Of several rows of one case, the last counts: a case
    that failed is asked again when a run is resumed.

    Raises:
        RecordError: The file cannot be read, or a line before the last is no row.
    """
    try:
        rows = list(read_json_lines(path))
    except OSError as exc:
        raise RecordError(
            f"{str(path)!r} cannot be read: {exc.strerror}. Name the folder of a finished run."
        ) from exc
    latest: dict[str, Outcome] = {}
    for row in rows:
        outcome = _read(row, path, is_last=row is rows[-1])
        if outcome:
            latest.pop(outcome.case_id, None)
            latest[outcome.case_id] = outcome
    return list(latest.values())


def _read(row: Row, path: Path, *, is_last: bool) -> Outcome | None:
    if row.fault and is_last:
        return None
    try:
        if row.fault:
            raise RecordError(f"It is {row.fault}.")
        return Outcome.from_json(row.values)
    except RecordError as exc:
        raise RecordError(
            f"{path.name}, line {row.line} is no row of a run. {exc} Remove the line."
        ) from exc


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: object) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()
