"""Raw fields of a record, whatever its format → a Paper, or why it is none."""

import json
import math
import re
from collections.abc import Mapping, Sequence

from ..identity import keys, normalise_arxiv, normalise_doi, paper_id
from ..schema import BadRecord, Paper, Source
from ..text import clean, storable
from .names import split_authors

_YEAR = re.compile(r"(?<!\d)(1[4-9]\d\d|20\d\d|21\d\d)(?!\d)")
_COMPACT_DATE = re.compile(r"\s*(1[4-9]\d\d|20\d\d|21\d\d)(?:0\d|1[0-2])[0-3]\d\s*")
_KEYWORD_MARK = re.compile(r"\s*[;\n\r]\s*")
_DEEPEST = 32
_LARGEST_INT = 2**63 - 1

TAKEN = frozenset(
    (
        "title",
        "abstract",
        "authors",
        "more_authors",
        "topic",
        "year",
        "venue",
        "doi",
        "arxiv_id",
        "url",
        "keywords",
    )
)
"""The fields that ``to_paper`` understands; any other is kept in ``extra``."""


def to_paper(fields: Mapping[str, object], source: Source) -> Paper | BadRecord:
    """Make a paper of a record's fields.

    Args:
        fields: Raw values by name. Those named in ``TAKEN`` become the paper's own fields; others,
            and values that do not fit their field, are kept in ``extra``.
        source: Where the record stands.

    Returns:
        The paper, or a bad record when it has neither a title nor an abstract.
    """
    raw = storable(_joined(fields.get("abstract")))
    title = " ".join(clean(_joined(fields.get("title"))).split())
    abstract = clean(raw)
    if not title and not abstract:
        return BadRecord(source.file, source.line, no_text(fields))
    authors, more = split_authors(fields.get("authors"))
    venue, url = _line(fields.get("venue")), _line(fields.get("url"))
    doi = normalise_doi(fields.get("doi")) or normalise_doi(url)
    arxiv = _arxiv(fields, venue, url)
    year = year_of(fields.get("year"))
    known_by = keys(title, year, abstract, doi, arxiv)
    return Paper(
        id=paper_id(known_by),
        title=title,
        abstract=abstract,
        authors=authors,
        more_authors=more or bool(fields.get("more_authors")),
        topic=_line(fields.get("topic")),
        year=year,
        venue=venue,
        doi=doi,
        arxiv_id=arxiv,
        url=url,
        keywords=_keywords(fields.get("keywords")),
        extra=_rest(fields, year=year, doi=doi, arxiv=arxiv),
        raw_abstract=raw,
        source=Source(source.file, source.line, source.key and storable(source.key)),
    )


def no_text(fields: Mapping[str, object]) -> str:
    """Say what a record without words lacks."""
    found = ", ".join(sorted(str(name) for name, value in fields.items() if value)[:8])
    return (
        f"'title' and 'abstract' are missing or empty (found: {found or 'nothing'}). Each record "
        "needs at least one of them. Complete the record and add the file again."
    )


def year_of(value: object) -> int | None:
    """Return the year in a number or a date, or None: an absent year is absent, not 0."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, list | tuple):
        return next((year for year in map(year_of, value[:5]) if year), None)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int | str) or (isinstance(value, int) and abs(value) > 10**8):
        return None
    text = str(value)[:200]
    match = _COMPACT_DATE.fullmatch(text) or _YEAR.search(text)
    return int(match[1]) if match else None


def json_value(value: object, depth: int = 0) -> object:
    """Return a value that JSON, SQLite and a 64-bit program can hold, losing as little as may be.

    Numbers beyond 64 bits, NaN and infinities become strings.
    """
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_INT else _digits(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= _DEEPEST:
        return _flattened(value)
    if isinstance(value, Mapping):
        return {storable(str(key)): json_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes):
        return [json_value(item, depth + 1) for item in value]
    return storable(str(value))


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # beyond Python's limit for decimal digits
        return hex(value)


def _flattened(value: object) -> str:
    try:
        return storable(json.dumps(value, default=str))
    except (RecursionError, ValueError):
        return "…"


def _joined(value: object) -> str:
    """Return the text of a field that may be a list of paragraphs or a number."""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n\n".join(part for part in map(_joined, value) if part.strip())
    return str(json_value(value)) if isinstance(value, int | float) else ""


def _line(value: object) -> str | None:
    if isinstance(value, list | tuple):
        value = next((item for item in value if item), None)
    return " ".join(clean(_joined(value)).split()) or None


def _arxiv(fields: Mapping[str, object], venue: str | None, url: str | None) -> str | None:
    candidates = (fields.get("arxiv_id"), fields.get("doi"), url)
    found = next((arxiv for arxiv in map(normalise_arxiv, candidates) if arxiv), None)
    named = venue if venue and "arxiv" in venue.lower() else None
    return found or normalise_arxiv(named)


def _keywords(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        parts: list[object] = list(_KEYWORD_MARK.split(value.strip()))
        if len(parts) == 1:
            parts = list(value.split(","))
    else:
        parts = list(value) if isinstance(value, list | tuple) else []
    cleaned = (" ".join(clean(_joined(part)).split()) for part in parts)
    return tuple(dict.fromkeys(word for word in cleaned if word))


def _rest(
    fields: Mapping[str, object], *, year: int | None, doi: str | None, arxiv: str | None
) -> dict[str, object]:
    """Keep the other fields, and those values that did not fit their field."""
    found = {name: json_value(value) for name, value in fields.items() if name not in TAKEN}
    unread = (("year", year), ("doi", doi), ("arxiv_id", arxiv))
    for name, read in unread:
        value = fields.get(name)
        if read is None and value not in (None, "", [], 0):
            found[name] = json_value(value)
    if isinstance(fields.get("abstract"), Mapping):
        found["abstract"] = json_value(fields["abstract"])
    return found
