"""Who is the same paper: DOI, arXiv id, title and year, or the abstract. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from urllib.parse import unquote

from .schema import Paper
from .text import fold, words

_DOI = re.compile(r"10\.\d{4,9}(?:\.\d+)*/\S+")
_DOI_OF_ARXIV = re.compile(r"10\.48550/arxiv\.(\S+)", re.IGNORECASE)
_ARCHIVE = r"[a-z]{2,8}(?:-[a-z]{2,8})?"
_ARXIV_NEW = r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}"
_ARXIV_ID = re.compile(
    rf"(?:arxiv:\s*)?({_ARXIV_NEW}|{_ARCHIVE}(?:\.[a-z]{{2}})?/\d{{7}})(?:v\d{{1,3}})?(?:\s*\[[\w.-]+\])?",
    re.IGNORECASE,
)
_ARXIV_IN_TEXT = re.compile(
    rf"arxiv(?:\.org/(?:abs|pdf|html|e-print)/|:\s*)({_ARXIV_NEW}|{_ARCHIVE}(?:\.[a-z]{{2}})?/\d{{7}})(?!\d)",
    re.IGNORECASE,
)
_ARXIV_SUBJECT = re.compile(r"\.[a-z]{2}(?=/)", re.IGNORECASE)
_GENERIC_TITLES = frozenset(
    (
        "letter to the editor",
        "letters to the editor",
        "notes on contributors",
        "table of contents",
        "from the editor",
        "in this issue",
    )
)
_GENERIC_WORDS = 2  # a title this short names no paper by itself
_KINDS = ("doi", "arxiv", "title", "text", "work")
_LONGEST = 2000
_KEPT = 2500  # records whose keys are remembered, and the longest of them in characters
_LONGEST_KEPT = 8000


def normalise_doi(value: object) -> str | None:
    """Return a DOI in lower case without address and prefix, or None where there is none.

    Args:
        value: What stands in a record's field: ``https://doi.org/10.1/X``, ``doi:10.1/x.`` …

    Example:
        >>> normalise_doi("https://doi.org/10.1000/ABC.5")
        '10.1000/abc.5'
    """
    if not isinstance(value, str):
        return None
    text = value[:_LONGEST]
    match = _DOI.search(unquote(text) if "%2f" in text.lower() else text)
    if not match:
        return None
    doi = match[0].rstrip(".,;:'\"")
    while doi[-1] in ")]}>" and doi.count(doi[-1]) > doi.count("([{<"[")]}>".index(doi[-1])]):
        doi = doi[:-1].rstrip(".,;")
    return doi.lower()


def normalise_arxiv(value: object) -> str | None:
    """Return an arXiv id without its version, or None where there is none.

    Args:
        value: An id (``2401.00001v2``, ``arXiv:hep-th/9901001``), an arXiv DOI or an address.

    Example:
        >>> normalise_arxiv("https://arxiv.org/pdf/2401.00001v3.pdf")
        '2401.00001'
    """
    if not isinstance(value, str):
        return None
    text = value[:_LONGEST].strip()
    registered = _DOI_OF_ARXIV.search(text)
    match = _ARXIV_ID.fullmatch(registered[1] if registered else text)
    match = match or _ARXIV_IN_TEXT.search(text)
    return _ARXIV_SUBJECT.sub("", match[1].lower()) if match else None


def keys(
    title: str,
    year: int | None = None,
    abstract: str = "",
    doi: str | None = None,
    arxiv_id: str | None = None,
) -> tuple[str, ...]:
    """Return what a paper is known by, strongest first.

    Args:
        title: Its title, cleaned; empty where it has none.
        year: Its year; None where it has none.
        abstract: Its abstract, cleaned.
        doi: Its DOI in any form.
        arxiv_id: Its arXiv id in any form.

    Returns:
        Keys such as ``doi:10.1/x``, ``arxiv:2401.00001``, ``title:…``, ``text:…`` and ``work:…``
        (16 hex digits). Empty for a record without title and abstract, which is no paper.
    """
    if len(title) + len(abstract) > _LONGEST_KEPT:
        return _keys(title, year, abstract, doi, arxiv_id)
    return _kept_keys(title, year, abstract, doi, arxiv_id)


def _keys(
    title: str, year: int | None, abstract: str, doi: str | None, arxiv_id: str | None
) -> tuple[str, ...]:
    title_words, text_words = words(title), words(abstract)
    if not title.strip() and not abstract.strip():
        return ()
    found = []
    arxiv = normalise_arxiv(arxiv_id) or normalise_arxiv(doi)
    registered = normalise_doi(doi)
    if registered and not _DOI_OF_ARXIV.match(registered):
        found.append(f"doi:{registered}")
    if arxiv:
        found.append(f"arxiv:{arxiv}")
    if title.strip():
        named = [*(title_words or [fold(title)]), str(year or "")]
        found.append(_digest("title", named + (text_words if _is_generic(title_words) else [])))
    if abstract.strip():
        found.append(_digest("text", text_words or [fold(abstract)]))
    if title_words and text_words:  # whatever its year: one may be corrected, or missing
        found.append(_digest("work", [*title_words, "", *text_words]))
    return tuple(found)


_kept_keys = lru_cache(_KEPT)(_keys)  # the reader asks, and so does whoever stores what it read


def keys_of(paper: Paper) -> tuple[str, ...]:
    """Return what a paper is known by, strongest first: the ``keys`` of its own fields."""
    return keys(paper.title, paper.year, paper.abstract, paper.doi, paper.arxiv_id)


def paper_id(keys: Sequence[str]) -> str:
    """Return the id of a paper: the strongest of its keys.

    Raises:
        ValueError: There are no keys; such a record is no paper.
    """
    if not keys:
        raise ValueError("A record without title and abstract has no identity.")
    return min(keys, key=_strength)


def same(a_keys: Sequence[str], b_keys: Sequence[str]) -> bool:
    """Say whether two records are one paper.

    Args:
        a_keys: Keys of the one record.
        b_keys: Keys of the other.

    Returns:
        True when they share a key and no stronger kind of key, present on both sides, differs:
        two DOIs are two papers whatever their titles. Title and abstract together decide whatever
        the year.
    """
    for kind in _KINDS:
        if kind == "title" and any(key.startswith("work:") for key in set(a_keys) & set(b_keys)):
            return True
        ours = {key for key in a_keys if key.startswith(f"{kind}:")}
        theirs = {key for key in b_keys if key.startswith(f"{kind}:")}
        if ours and theirs:
            return bool(ours & theirs)
    return False


def _strength(key: str) -> int:
    kind = key.partition(":")[0]
    return _KINDS.index(kind) if kind in _KINDS else len(_KINDS)


def _is_generic(title_words: Sequence[str]) -> bool:
    """Tell a title like "Editorial", which many papers bear, so that the abstract must decide."""
    return len(title_words) <= _GENERIC_WORDS or " ".join(title_words) in _GENERIC_TITLES


def _digest(kind: str, parts: Sequence[str]) -> str:
    return f"{kind}:{sha256(' '.join(parts).encode()).hexdigest()[:16]}"
