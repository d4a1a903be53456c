"""JSON records: one object a line, or an array of objects."""

import json
import re
from collections.abc import Iterator, Mapping

from ..identity import normalise_arxiv
from ..schema import BadRecord, Note, Source
from .records import to_paper
from .source import Item, Reader, SourceFile

_LONGEST_INT = 4000  # digits; Python itself refuses a little more
_GAP = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"\s*\[?\s*\{\s*(?:\"|\})")

# Other names that files use, tried in turn where the field itself is absent or empty.
_ALIASES = {
    "abstract": ("text", "summary"),
    "authors": ("author",),
    "year": ("date", "published", "publication_date", "update_date"),
    "venue": ("journal", "booktitle", "journal-ref"),
    "arxiv_id": ("arxiv",),
}
_KEYS = ("id", "_id", "key", "paper_id", "doc_id")


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= _LONGEST_INT else digits


_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=str)


def _records(file: SourceFile) -> Iterator[Item]:
    is_array = file.head.lstrip().startswith("[")
    if is_array or file.path.name.lower().removesuffix(".gz").endswith(".json"):
        yield from _of_whole(file)
    else:
        yield from _of_lines(file)


def _of_lines(file: SourceFile) -> Iterator[Item]:
    blank = 0
    for line in file.lines():
        if line.problem:
            yield BadRecord(file.name, line.number, line.problem)
        elif not line.text.strip():
            blank += 1
        else:
            yield _of_line(file, line.number, line.text)
    if blank:
        what = "line was" if blank == 1 else "lines were"
        yield Note(file.name, f"{blank} blank {what} passed over.")


def _of_line(file: SourceFile, number: int, text: str) -> Item:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError) as exc:
        return BadRecord(file.name, number, _not_json(exc))
    return _paper(file, number, value)


def _of_whole(file: SourceFile) -> Iterator[Item]:
    """Read an array, or objects one after the other, value by value."""
    text = file.text()
    at, line, counted = 0, 1, 0
    if text.lstrip().startswith("["):
        at = text.index("[") + 1
    while True:
        gap = _GAP.match(text, at)
        at = gap.end() if gap else at
        if at >= len(text):
            return
        if text[at] == "]":
            yield from _after(file, text, at + 1)
            return
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError) as exc:
            reason = f"{_not_json(exc)} What follows in the file was not read."
            yield BadRecord(file.name, line, reason)
            return
        yield _paper(file, line, value)


def _after(file: SourceFile, text: str, at: int) -> Iterator[BadRecord]:
    """Say so where anything stands behind the array: it is not read."""
    if rest := text[at:].strip():
        line = text.count("\n", 0, text.index(rest, at)) + 1
        reason = (
            "more text follows the end of the array and was not read. One array, or one object a "
            "line, was expected. Put it into a file of its own and add that."
        )
        yield BadRecord(file.name, line, reason)


def _not_json(exc: Exception) -> str:
    if isinstance(exc, json.JSONDecodeError):
        what = f"the record is not JSON ({exc.msg} at character {exc.pos + 1:,})."
    else:
        what = "the record is nested too deeply."
    return f"{what} One JSON object was expected. Correct it and add the file again."


def _paper(file: SourceFile, number: int, value: object) -> Item:
    if not isinstance(value, Mapping):
        kind = type(value).__name__
        reason = (
            f"the record is a JSON {kind}, not an object. Fields such as 'title' and 'abstract' "
            "were expected. Correct it and add the file again."
        )
        return BadRecord(file.name, number, reason)
    key = next((str(value[name]) for name in _KEYS if value.get(name) not in (None, "")), None)
    return to_paper(_fields(value), Source(file.name, number, key))


def _fields(value: Mapping[str, object]) -> dict[str, object]:
    fields = dict(value)
    for name, others in _ALIASES.items():
        used = next((other for other in others if fields.get(other)), None)
        if used and not fields.get(name):
            fields[name] = fields[used] if used in ("date", "published") else fields.pop(used)
    if "categories" in fields and not fields.get("arxiv_id"):  # a record of arXiv's own
        fields["arxiv_id"] = normalise_arxiv(fields.get("id"))
    for name in ("more_authors", "topic"):
        if name in fields and not isinstance(fields[name], str | bool):
            fields[f"raw_{name}"] = fields.pop(name)
    return fields


def _sniff(head: str) -> float:
    return 0.9 if _OBJECT.match(head) else 0.0


read = Reader(_records, extensions=(".jsonl", ".ndjson", ".json"), sniff=_sniff)
