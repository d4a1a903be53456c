"""A file of questions: read and checked before the first one is asked."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .as_json import answer_json
from .errors import RagError, RecordError
from .library import Library
from .schema import Turn

LARGEST = 50_000_000  # bytes of a question file


@dataclass(frozen=True, slots=True)
class Asked:
    """One line of a question file. ``id`` comes back as it is; ``line`` counts from 1."""

    question: str
    line: int
    id: str | int | None = None
    history: tuple[Turn, ...] = ()


def read_questions(path: Path) -> list[Asked]:
    """Read a JSONL file with one object a line: ``question``, optional ``id`` and ``history``.

    Args:
        path: The file. ``history`` is a list of earlier questions, or of objects with ``question``
            and ``answer``, oldest first.

    Returns:
        The questions in order; blank lines are skipped.

    Raises:
        RecordError: The file cannot be read, holds no question, or some lines are wrong; all of
            them are named.
    """
    found, bad = [], []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            found.append(_asked(_parsed(line), number))
        except ValueError as exc:
            bad.append(f"{path.name}, line {number}: {exc}")
    if bad:
        raise RecordError(
            "\n".join([*bad, "Nothing was asked. Correct these lines and try again."])
        )
    if not found:
        raise RecordError(
            f"'{path}' holds no question. Put one JSON object with 'question' a line."
        )
    return found


def _lines(path: Path) -> list[str]:
    """Return the lines of a file; a line ends where JSON lines do, and nowhere else."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise RecordError(
                f"The questions '{path}' are larger than {LARGEST // 10**6} MB. Split the file."
            )
        return content.decode("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise RecordError(
            f"The questions '{path}' cannot be read: {getattr(exc, 'strerror', None) or exc}. "
            "A UTF-8 text file with one JSON object a line is expected."
        ) from exc


def _parsed(line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as exc:
        raise ValueError(f"this is not JSON: {exc.msg} at character {exc.pos + 1}.") from exc
    except RecursionError as exc:
        raise ValueError("this is nested too deeply.") from exc


def _asked(record: Any, line: int) -> Asked:
    if not isinstance(record, dict) or not isinstance(record.get("question"), str):
        raise ValueError("an object with a 'question' in quotes is expected.")
    history = record.get("history") or []
    if not isinstance(history, list):
        raise ValueError("'history' must be a list of earlier questions.")
    name = record.get("id")
    if not isinstance(name, str | int | None):
        raise ValueError("'id' must be a text or a whole number.")
    return Asked(record["question"], line, name, tuple(map(_turn, history)))


def _turn(entry: Any) -> Turn:
    if isinstance(entry, str):
        return Turn(entry)
    if isinstance(entry, dict) and isinstance(entry.get("question"), str):
        return Turn(entry["question"], str(entry.get("answer") or ""))
    raise ValueError("each entry of 'history' is a question, or an object with 'question'.")


def answer_all(library: Library, asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    """Yield one JSON object a question, in order; a question that fails is a row with its error.

    Raises:
        RagError: The library or the model cannot be used at all.
    """
    library.engine()  # a model that cannot be had is one error, not one a question
    for one in asked:
        extra = {} if one.id is None else {"id": one.id}
        try:
            answer = library.ask(one.question, history=one.history)
        except RagError as exc:
            yield {**extra, "question": one.question, "error": str(exc)}
        else:
            yield {**extra, **answer_json(answer)}


def failed(row: dict[str, Any]) -> bool:
    """Say whether a row of ``answer_all`` holds no whole answer."""
    return bool(row.get("error"))
