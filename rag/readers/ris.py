"""RIS: two-letter tags, one record from TY to ER, and whatever vendors put in between."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ..schema import BadRecord, Note, Source
from .records import to_paper
from .source import LONGEST_LINE, Item, Line, Reader, SourceFile

_TAG = re.compile(r"\s{0,3}([A-Z][A-Z0-9])\s\s-(?:\s(.*)|\s*)$")
_LOOSE_TAG = re.compile(r"\s{0,3}([A-Z][A-Z0-9])\s{0,3}-(?:\s(.*)|\s*)$")
_FIRST_TAG = re.compile(r"^\s{0,3}TY\s\s-", re.MULTILINE)
_FIRST_LOOSE_TAG = re.compile(r"^\s{0,3}TY\s{0,3}-\s", re.MULTILINE)
_LISTS = frozenset(("AU", "A1", "A2", "A3", "A4", "KW", "UR"))  # each line is a value of its own

# The first tag that a record has gives the field.
_SOURCES = {
    "title": ("TI", "T1", "CT", "BT"),
    "abstract": ("AB", "N2"),
    "year": ("PY", "Y1", "DA"),
    "venue": ("JF", "T2", "JO", "JA", "J2"),
    "doi": ("DO",),
    "url": ("UR", "L2", "LK"),
    "keywords": ("KW",),
}
_KEYS = ("ID", "AN")


@dataclass(slots=True)
class _Record:
    line: int
    values: dict[str, list[str]] = field(default_factory=dict)
    last: str = ""
    size: int = 0
    problem: str | None = None

    def add(self, tag: str, text: str) -> None:
        self.last = tag
        self.values.setdefault(tag, []).append(text.strip())

    def continue_(self, text: str) -> None:
        """Take a line without a tag: the next value of a list, or more of the last text."""
        if not self.last:
            self.add("N1", text)
        elif self.last in _LISTS:
            self.values[self.last].append(text.strip())
        else:
            self.values[self.last].append("\n" + text.strip())


def _records(file: SourceFile) -> Iterator[Item]:
    pattern = _TAG if _FIRST_TAG.search(file.head) else _LOOSE_TAG
    record: _Record | None = None
    ignored, first_ignored = 0, 0
    for line in file.lines():
        match = pattern.match(line.text)
        tag = match[1] if match else None
        if tag == "TY":
            if record:
                yield from _finished(file, record, "before the next one begins")
            record = _Record(line.number, problem=line.problem)
            record.add("TY", (match and match[2]) or "")
        elif record is None:
            if line.text.strip() and tag != "ER":
                ignored, first_ignored = ignored + 1, first_ignored or line.number
        elif tag == "ER":
            yield from _finished(file, record)
            record = None
        else:
            _take(record, line, tag, (match and match[2]) or "")
    if record:
        yield from _finished(file, record, "at the end of the file, which may be cut")
    if ignored:
        what = "line outside the records was" if ignored == 1 else "lines outside the records were"
        text = f"{ignored} {what} ignored, the first at line {first_ignored}."
        yield Note(file.name, text, first_ignored)


def _take(record: _Record, line: Line, tag: str | None, value: str) -> None:
    record.size += len(line.text)
    record.problem = record.problem or line.problem
    if record.size > LONGEST_LINE:
        record.problem = "the record is longer than 10 MB. An ER line was expected before."
        record.values.clear()
    elif tag:
        record.add(tag, value)
    elif line.text.strip():
        record.continue_(line.text)


def _finished(file: SourceFile, record: _Record, unended: str | None = None) -> Iterator[Item]:
    if record.problem:
        yield BadRecord(file.name, record.line, record.problem)
        return
    key = next((record.values[tag][0] for tag in _KEYS if tag in record.values), None)
    yield to_paper(_fields(record.values), Source(file.name, record.line, key or None))
    if unended:
        text = f"The record at line {record.line} has no ER line {unended}. It was kept as it is."
        yield Note(file.name, text, record.line)


def _fields(values: dict[str, list[str]]) -> dict[str, object]:
    left = {tag: texts for tag, texts in values.items() if any(text.strip() for text in texts)}
    fields: dict[str, object] = {"authors": left.pop("AU", []) + left.pop("A1", [])}
    for name, tags in _SOURCES.items():
        tag = next((tag for tag in tags if tag in left), None)
        if tag:
            texts = left.pop(tag)
            fields[name] = texts if tag in _LISTS else _running(texts)
    return fields | _named(left)


def _running(texts: list[str]) -> str:
    """Join a value's lines; a tag that is repeated begins a new paragraph."""
    return "".join(text if text.startswith("\n") else f"\n\n{text}" for text in texts).strip()


def _named(values: dict[str, list[str]]) -> dict[str, object]:
    """Name the tags that are left as rispy does."""
    from rispy.config import TAG_KEY_MAPPING

    named: dict[str, object] = {}
    for tag, texts in values.items():
        name = TAG_KEY_MAPPING.get(tag, tag)
        kept = [text.strip() for text in texts]
        named[name if name not in ("doi", "year", "title", "abstract", "keywords") else tag] = (
            kept[0] if len(kept) == 1 else kept
        )
    return named


def _sniff(head: str) -> float:
    if _FIRST_TAG.search(head):
        return 1.0
    return 0.6 if _FIRST_LOOSE_TAG.search(head) else 0.0


read = Reader(_records, extensions=(".ris",), sniff=_sniff)
