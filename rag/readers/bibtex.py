"""BibTeX and BibLaTeX, through bibtexparser's splitter; one bad entry loses no other."""

import logging
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from heapq import merge
from typing import TYPE_CHECKING

from ..errors import RecordError
from ..latex import unbrace
from ..schema import BadRecord, Note, Paper, Source
from .records import to_paper
from .source import LARGEST_WHOLE, LONGEST_LINE, Item, Reader, SourceFile, too_large

if TYPE_CHECKING:
    from bibtexparser.model import Block, Entry

_ENTRY = re.compile(r"^\s{0,8}@\s?[A-Za-z]+\s{0,3}[{(]", re.MULTILINE)
_PIECE = re.compile(r'\s*([^\s#{}"]+|\{|"|#)')
_MARKS_IN_QUOTES = re.compile(r'\\.|[{}"]', re.DOTALL)
_AUTHOR_MARK = re.compile(r"\\.|[{}]|\s(?=and\s)", re.DOTALL | re.IGNORECASE)
_ESCAPED = re.compile(r"\{\\([$_^{}])\}|\\backslash(?=[A-Za-z|,;])|\{\\(?:text)?backslash\}")
_ESCAPED_ENTITY = re.compile(r"(?:\{\\&\}|\\&)(?=#?[A-Za-z0-9]{2,10};)")
_NOT_INHERITED = frozenset(
    ("title", "abstract", "doi", "url", "crossref", "author", "xdata", "ids")
)
_REPEATABLE = {"author": " and ", "keywords": "; "}  # other fields count once
_ARCHIVES = frozenset(("arxiv", ""))

# The first field that an entry has gives the paper's field.
_SOURCES = {
    "title": ("title",),
    "abstract": ("abstract",),
    "year": ("year", "date"),
    "venue": ("journal", "journaltitle", "booktitle", "series", "howpublished"),
    "doi": ("doi",),
    "url": ("url", "link"),
    "keywords": ("keywords", "keyword"),
}


def _records(file: SourceFile) -> Iterator[Item]:
    from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock, Entry, String
    from bibtexparser.model import ParsingFailedBlock as Failed

    text, problems = _read(file)
    blocks = _split(text)
    strings: dict[str, str] = {}
    entries: list[Entry] = []
    failed: list[Failed] = []
    for block in blocks:
        inner = block
        while isinstance(inner, DuplicateBlockKeyBlock | DuplicateFieldKeyBlock):
            inner = inner.ignore_error_block  # type: ignore[assignment]
        if isinstance(inner, String):
            strings[inner.key.lower()] = _value(inner.value, strings)
        elif isinstance(inner, Entry):
            entries.append(inner)
        elif isinstance(inner, Failed):
            failed.append(inner)
    bad = (BadRecord(file.name, _line(block), _why(block.error)) for block in failed)
    yield from merge(_of_entries(file, entries, strings, problems), bad, key=_place)
    yield from _clashes(file, entries)


def _read(file: SourceFile) -> tuple[str, dict[int, str]]:
    """Return the text and, by line number, what is wrong with single lines."""
    kept: list[str] = []
    problems: dict[int, str] = {}
    size = 0
    for line in file.lines():
        size += len(line.text) + 1
        if size > LARGEST_WHOLE:
            raise RecordError(too_large(file.path))
        if line.problem and not line.text:
            raise RecordError(
                f"{str(file.path)!r} has a line longer than {LONGEST_LINE // 1024**2} MB (line "
                f"{line.number}). BibTeX has a field a line. Check the file."
            )
        if line.problem:
            problems[line.number] = line.problem
        kept.append(line.text)
    return "\n".join(kept), problems


@contextmanager
def _silent_parser() -> Iterator[None]:
    """Keep the parser's own log quiet: what it says comes back as bad records."""
    logger = logging.getLogger("bibtexparser")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _split(text: str) -> "list[Block]":
    from bibtexparser.splitter import Splitter

    with _silent_parser():
        return list(Splitter(text).split().blocks)


def _place(item: Item) -> int:
    return (item.source.line if isinstance(item, Paper) else item.line) or 0


def _line(block: "Block") -> int:
    return (block.start_line or 0) + 1


def _why(error: Exception) -> str:
    reason = str(getattr(error, "abort_reason", "") or error).strip().rstrip(".").replace("`", "'")
    return (
        f"the entry is not BibTeX ({' '.join(reason.split())[:200]}). Fields such as "
        "title = {…}, parted by commas, were expected. Correct the entry and add the file again."
    )


def _of_entries(
    file: SourceFile, entries: "list[Entry]", strings: Mapping[str, str], problems: dict[int, str]
) -> Iterator[Item]:
    read = [_fields_of(entry, strings) for entry in entries]
    by_key = {
        entry.key: fields for entry, fields in reversed(list(zip(entries, read, strict=True)))
    }
    bad_lines = sorted(problems)
    for entry, fields in zip(entries, read, strict=True):
        first = _line(entry)
        last = first + (entry.raw or "").count("\n")
        at = bisect_left(bad_lines, first)
        if at < len(bad_lines) and bad_lines[at] <= last:
            yield BadRecord(file.name, bad_lines[at], problems[bad_lines[at]])
            continue
        whole = _with_parent(fields, by_key) | {"entry_type": entry.entry_type}
        yield to_paper(_named(whole), Source(file.name, first, entry.key or None))


def _fields_of(entry: "Entry", strings: Mapping[str, str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for field in entry.fields:
        name, value = field.key.lower(), _value(str(field.value), strings)
        if name in fields and name in _REPEATABLE:
            fields[name] += _REPEATABLE[name] + value
        fields.setdefault(name, value)
    return fields


def _value(raw: str, strings: Mapping[str, str]) -> str:
    """Return a value without its delimiters, its ``#`` joined and its @strings put in."""
    parts: list[str] = []
    at = 0
    while match := _PIECE.match(raw, at):
        mark, at = match[1], match.end()
        if mark in ("{", '"'):
            end = _end_of(raw, at, '"' if mark == '"' else "}")
            parts.append(raw[at:end])
            at = end + 1
        elif mark != "#":
            parts.append(strings.get(mark.lower(), mark))
    return "".join(parts)


def _end_of(raw: str, at: int, closing: str) -> int:
    depth = 0
    for match in _MARKS_IN_QUOTES.finditer(raw, at):
        if match[0] == closing and depth == 0:
            return match.start()
        depth += {"{": 1, "}": -1}.get(match[0], 0)
    return len(raw)


def _with_parent(fields: dict[str, str], by_key: Mapping[str, dict[str, str]]) -> dict[str, str]:
    """Add what an entry inherits through crossref: the parent's fields, its title as booktitle."""
    named = fields.get("crossref", "").strip()
    parent = by_key.get(named) if named else None
    if parent is None or parent is fields:
        return fields
    inherited = {name: text for name, text in parent.items() if name not in _NOT_INHERITED}
    if "title" in parent:
        inherited.setdefault("booktitle", parent["title"])
    return inherited | fields


def _named(fields: dict[str, str]) -> dict[str, object]:
    left = dict(fields)
    named: dict[str, object] = {"authors": _people(left.pop("author", ""))}
    for name, sources in _SOURCES.items():
        source = next((s for s in sources if left.get(s, "").strip()), None)
        if source:
            text = left.pop(source)
            named[name] = _address(text) if name in ("doi", "url") else _readable(text)
    if left.get("archiveprefix", left.get("eprinttype", "")).strip().lower() in _ARCHIVES:
        named["arxiv_id"] = left.get("arxivid") or left.get("eprint")
    return {f"bibtex_{k}" if k in named else k: _readable(v) for k, v in left.items()} | named


def _people(text: str) -> list[str | dict[str, str]]:
    """Split at each "and" that stands outside braces; a name in braces is kept whole."""
    people: list[str] = []
    depth, last = 0, 0
    for match in _AUTHOR_MARK.finditer(text):
        if match[0].isspace():
            if depth == 0:
                people.append(text[last : match.start()])
                last = match.start() + len(" and")
        else:
            depth += {"{": 1, "}": -1}.get(match[0], 0)
    people.append(text[last:])
    return [_person(person.strip()) for person in people if person.strip()]


def _person(name: str) -> str | dict[str, str]:
    """Return a name, or an organisation, whose comma parts no first name from a last."""
    if name.startswith("{") and _end_of(name, 1, "}") == len(name) - 1:
        return {"name": _readable(name[1:-1])}
    return _readable(name)


def _readable(text: str) -> str:
    """Undo the braces of BibTeX and the escapes with which some programs export a formula."""
    if r"{\$}" in text or r"{\_}" in text:
        text = _ESCAPED.sub(lambda match: match[1] or "\\", text)
    if "\\&" in text:
        text = _ESCAPED_ENTITY.sub("&", text)
    return unbrace(text)


def _address(text: str) -> str:
    return re.sub(r"\\(?=[_%&#~])", "", _readable(text))


def _clashes(file: SourceFile, entries: "list[Entry]") -> Iterator[Note]:
    lines: dict[str, list[int]] = defaultdict(list)
    for entry in entries:
        lines[entry.key].append(_line(entry))
    for key, places in lines.items():
        if key and len(places) > 1:
            named = " and ".join(map(str, places[:5])) + (" …" if len(places) > 5 else "")
            yield Note(
                file.name,
                f"The key {key!r} stands for several entries, at lines {named}. All were read; "
                "a key is only a label here.",
                places[1],
            )


def _sniff(head: str) -> float:
    return 0.8 if _ENTRY.search(head) else 0.0


read = Reader(_records, extensions=(".bib", ".bibtex"), sniff=_sniff)
