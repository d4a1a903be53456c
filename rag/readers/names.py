"""Authors in the many ways that files write them → names in reading order."""

import re
from collections.abc import Mapping, Sequence

from ..text import clean

_AND = re.compile(r"(?:\s*,)?\s+(?:and|&)\s+", re.IGNORECASE)
_INITIALS = re.compile(r"(?:[^\W\d_]\.?[\s-]?){1,4}")
_OTHERS = re.compile(r"(?:\s*[,;])?\s*(?:\band\s+others|\bet\s+al\.?|等[.。]?)\s*$", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:jr|sr|ii|iii|iv)\.?", re.IGNORECASE)
_OTHER_WORDS = frozenset(("others", "et al", "et al.", "等", "and others"))


def split_authors(value: object) -> tuple[tuple[str, ...], bool]:
    """Return the names of a record's authors.

    Args:
        value: A list of names or of objects with ``name`` or ``given`` and ``family``, or a
            string: ``A B, C D and E F``, ``Last, First; Last, First``, ``Last, F., Last, F.``

    Returns:
        The names, ``First Last``, in the order given, and whether the source says "and others".
    """
    parts = _parts(value)
    more, names = False, []
    for part, is_whole in parts:
        name = " ".join(clean(part).split()).strip(" ,;")
        if name.lower() in _OTHER_WORDS:
            more = True
            continue
        kept = _OTHERS.sub("", name)
        more |= kept != name
        if kept:
            names.append(kept if is_whole else in_reading_order(kept))
    return tuple(names), more


def in_reading_order(name: str) -> str:
    """Turn ``Last, First`` and ``Last, Jr., First`` into ``First Last``."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) == 2 and all(parts):
        return name if _SUFFIX.fullmatch(parts[1]) else f"{parts[1]} {parts[0]}"
    if len(parts) == 3 and all(parts) and _SUFFIX.fullmatch(parts[1]):
        return f"{parts[2]} {parts[0]} {parts[1]}"
    return name


def _parts(value: object) -> list[tuple[str, bool]]:
    """Return each name, and whether it is in reading order already."""
    if isinstance(value, str):
        return [(part, False) for part in _split_line(value)]
    if isinstance(value, Mapping):
        return [_of_object(value)]
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_of_object(item) for item in value]
    return []


def _of_object(item: object) -> tuple[str, bool]:
    if isinstance(item, str):
        return item, False
    if not isinstance(item, Mapping):
        return "", False
    lowered = {str(name).lower(): text for name, text in item.items() if isinstance(text, str)}
    first = lowered.get("given") or lowered.get("first") or lowered.get("first_name") or ""
    last = lowered.get("family") or lowered.get("last") or lowered.get("last_name") or ""
    whole = lowered.get("name") or lowered.get("literal") or lowered.get("full_name")
    return whole or f"{first} {last}".strip(), True


def _split_line(line: str) -> list[str]:
    if ";" in line:
        return line.split(";")
    others = _OTHERS.search(line[-40:])
    body = line[: len(line) - len(others[0])] if others else line
    found = _split_plain(body)
    return [*found, "others"] if others else found


def _split_plain(line: str) -> list[str]:
    pieces = [piece for piece in _AND.split(line) if piece.strip()]
    if len(pieces) > 1 and all(piece.count(",") == 1 for piece in pieces):
        return pieces  # Last, First and Last, First
    parts = [part.strip() for piece in pieces for part in piece.split(",") if part.strip()]
    if len(parts) > 1 and len(parts) % 2 == 0 and all(map(_INITIALS.fullmatch, parts[1::2])):
        return [f"{last}, {first}" for last, first in zip(parts[::2], parts[1::2], strict=True)]
    if len(pieces) == 1 and len(parts) == 2 and " " not in parts[0]:
        return [line]  # one author, Last, First
    return parts
