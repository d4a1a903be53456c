"""Read a file of questions with what is known about their answers."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from rag.errors import RecordError
from rag.schema import Paper, Turn

from .labels import Label
from .tables import Row, read_rows

_SHOWN = 20  # bad lines named in one message
_MAX_TEXT = 100_000  # characters of one field


class Case(BaseModel):
    """One question and its labels. A label that is not given leaves its measures unscored.

    Attributes:
        id: Unique in the file; given by position where the file has none.
        question: What is asked.
        kind: A group that the report shows on its own.
        history: Earlier turns, oldest first.
        answerable: Whether the library holds an answer; None where that is not known.
        relevant: The papers that answer.
        evidence: The sentences that answer, as the source has them.
        also: Sentences that are right to quote but not needed.
        must_contain: What the answer must say; ``a|b`` is met by either.
        answer: A model answer.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str = Field(default="", max_length=500)
    question: str = Field(max_length=_MAX_TEXT)
    kind: str = Field(default="", max_length=200)
    history: tuple[Turn, ...] = ()
    answerable: bool | None = None
    relevant: tuple[Label, ...] = ()
    evidence: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    must_contain: tuple[str, ...] = ()
    answer: str = Field(default="", max_length=_MAX_TEXT)

    @model_validator(mode="before")
    @classmethod
    def _other_names(cls, value: object) -> object:
        return _rename(value) if isinstance(value, dict) else value

    @field_validator("id", "kind", "answer", mode="before")
    @classmethod
    def _as_text(cls, value: object) -> object:
        if value is None:
            return ""
        return str(value) if isinstance(value, int | float) else value

    @field_validator("question")
    @classmethod
    def _asks_something(cls, value: str) -> str:
        if not value.strip():
            raise ValueError("is empty")
        return value

    @field_validator("history", mode="before")
    @classmethod
    def _as_turns(cls, value: object) -> object:
        return [{"question": v} if isinstance(v, str) else v for v in _as_list(value)]

    @field_validator("relevant", mode="before")
    @classmethod
    def _as_labels(cls, value: object) -> object:
        return [value] if isinstance(value, dict) else _as_list(value)

    @field_validator("evidence", "also", "must_contain", mode="before")
    @classmethod
    def _as_texts(cls, value: object) -> object:
        return [text for item in _as_list(value) for text in _texts(item)]

    @property
    def extra(self) -> dict[str, Any]:
        """Return every other field of the line, as it was."""
        return dict(self.model_extra or {})


def load_cases(path: Path | str) -> list[Case]:
    """Read and check a whole file of questions.

    Args:
        path: JSONL (also ``.jsonl.gz``), CSV or TSV with a header, or XLSX (first sheet).

    Returns:
        The cases in file order, at least one; each has an id.

    Raises:
        RecordError: The file cannot be read, holds no question, or has bad lines; the message
            names each bad line with its number and reason.
    """
    path = Path(path)
    bad: list[str] = []
    placed = [(row.line, case) for row in read_rows(path) if (case := _check(row, bad))]
    bad += _repeated_ids(placed)
    if bad:
        raise RecordError(_complaint(path, bad))
    if not placed:
        raise RecordError(
            f"{path.name!r} holds no question. Each line needs a 'question'. "
            "Add one, or name another file."
        )
    return _with_ids([case for _, case in placed])


def relevant_to(case: Case, paper: Paper) -> bool:
    """Return whether one of the case's labels means this paper."""
    return any(label.matches(paper) for label in case.relevant)


def dump_cases(cases: Iterable[Case]) -> str:
    """Return the cases as JSONL that ``load_cases`` reads back to the same cases."""
    return "".join(
        json.dumps(case.model_dump(mode="json", exclude_defaults=True), ensure_ascii=False) + "\n"
        for case in cases
    )


@dataclass(frozen=True, slots=True)
class _Fault:
    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


def _check(row: Row, bad: list[str]) -> Case | None:
    """Return the row as a case, or add its fault to ``bad``."""
    if row.fault:
        bad.append(str(_Fault(row.line, row.fault)))
        return None
    try:
        return Case.model_validate(row.values)
    except ValidationError as exc:
        bad.append(str(_Fault(row.line, "; ".join(_reasons(exc)))))
        return None


def _reasons(exc: ValidationError) -> Iterator[str]:
    for error in exc.errors(include_url=False, include_context=False, include_input=False)[:3]:
        field = ".".join(str(part) for part in error["loc"]) or "the line"
        yield f"{field!r} {error['msg'].removeprefix('Value error, ')}"


def _repeated_ids(placed: list[tuple[int, Case]]) -> list[str]:
    first: dict[str, int] = {}
    faults = []
    for line, case in placed:
        if case.id and case.id in first:
            faults.append(str(_Fault(line, f"id {case.id!r} was used on line {first[case.id]}")))
        first.setdefault(case.id, line)
    return faults


def _complaint(path: Path, bad: list[str]) -> str:
    more = f"\n… and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    listed = "\n".join(bad[:_SHOWN])
    return (
        f"{path.name!r} has {len(bad)} bad line{'s' * (len(bad) > 1)}, and nothing was run:\n"
        f"{listed}{more}\nCorrect or remove them and start again."
    )


def _with_ids(cases: list[Case]) -> list[Case]:
    """Give each case without an id one by its position that no other case has."""
    taken = {case.id for case in cases}
    named = []
    for number, case in enumerate(cases, start=1):
        if not case.id:
            new = f"case-{number:04d}"
            while new in taken:
                new += "+"
            taken.add(new)
            case = case.model_copy(update={"id": new})
        named.append(case)
    return named


def _rename(values: dict[str, Any]) -> dict[str, Any]:
    """Read the field names of question-answering benchmarks: ``relevant_ids`` and ``type``."""
    values = dict(values)
    if "relevant" not in values and isinstance(values.get("relevant_ids"), list):
        values["relevant"] = [{"doc_id": str(doc)} for doc in values["relevant_ids"]]
    if "kind" not in values and isinstance(values.get("type"), str):
        values["kind"] = values["type"]
    return values


def _as_list(value: object) -> list[Any]:
    """Return a list as it is, and one text as its lines."""
    if value is None:
        return []
    if isinstance(value, str):
        return [line.strip() for line in value.splitlines() if line.strip()]
    return list(value) if isinstance(value, list | tuple) else [value]


def _texts(item: object) -> list[object]:
    """Return the texts of one item: a text, a number, or an object with ``text``."""
    if isinstance(item, dict) and "text" in item:
        return _as_list(item["text"])
    if isinstance(item, int | float) and not isinstance(item, bool):
        return [str(item)]
    return [] if isinstance(item, str) and not item.strip() else [item]
