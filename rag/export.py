"""Papers → a bibliography file: BibTeX, RIS or CSL-JSON. Values of papers are untrusted text."""

import json
import re
from collections.abc import Callable, Iterator, Sequence

from .entries import (
    TYPES,
    Name,
    address_of,
    detail,
    encoded,
    keys_of,
    line,
    pages,
    part_name,
    title_of,
    type_of,
)
from .errors import SettingsError
from .schema import Paper

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\^{}",
        **{char: f"\\{char}" for char in "&%$#_"},
    }
)
_BALANCED = str.maketrans({"{": r"\{", "}": r"\}"})
_UNBALANCED = str.maketrans({"{": r"\textbraceleft{}", "}": r"\textbraceright{}"})
_WORD = re.compile(r"(?<![\\\w])[^\W_]+")


def export(papers: Sequence[Paper], format: str) -> str:  # noqa: A002  # as users type it
    r"""Return papers as a bibliography.

    A work without a title is given none: as is the custom for untitled works, the title field
    holds the opening words of its abstract in square brackets, ``[We study matching markets with
    ties, where workers …]``, since reference managers need that field.

    Args:
        papers: The papers; one with an id that came before is dropped.
        format: ``"bibtex"``, ``"ris"`` or ``"csl-json"``.

    Returns:
        The text of the file, in the order given. Keys are readable and unique (``lin2025we``; on a
        clash ``lin2025wea``, ``lin2025web``). No value can end its field or begin another entry;
        in BibTeX, ``& % $ # _ { } ~ ^ \`` are escaped and capitals inside words are protected.

    Raises:
        SettingsError: The format is not known.
    """
    write = _FORMATS.get(format)
    if write is None:
        known = ", ".join(_FORMATS)
        raise SettingsError(
            f"There is no bibliography format {format[:40]!r}. Known: {known}. "
            "Choose one with --format."
        )
    chosen: dict[str, Paper] = {}
    for paper in papers:
        chosen.setdefault(paper.id, paper)
    once = list(chosen.values())
    return write(list(zip(keys_of(once), once, strict=True)))


# ---- BibTeX ----------------------------------------------------------------------------------


def _bibtex(papers: Sequence[tuple[str, Paper]]) -> str:
    from bibtexparser import entrypoint
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, Field

    entries = [
        Entry(type_of(paper), key, [Field(name, f"{{{text}}}") for name, text in _fields(paper)])
        for key, paper in papers
    ]
    written: str = entrypoint.write_string(
        Library(list(entries)),
        unparse_stack=(),  # the values are escaped and in braces already
    )
    return written


def _fields(paper: Paper) -> Iterator[tuple[str, str]]:
    """Yield the fields of an entry that hold something, ready to be put in braces."""
    extra = paper.extra
    where = TYPES[type_of(paper)][2]
    fields = {
        "title": _WORD.sub(_protect, _latex(title_of(paper))),
        "author": _bibtex_authors(paper),
        where: _latex(paper.venue or ""),
        "year": str(paper.year) if paper.year is not None else "",
        "volume": _latex(detail(extra, "volume")),
        "number": _latex(detail(extra, "number", "issue")),
        "pages": "--".join(_latex(page) for page in pages(extra) if page),
        **{name: _latex(detail(extra, name)) for name in ("publisher", "school", "institution")},
        "doi": re.sub(r"[{}\\\s]", "", line(paper.doi or "")),
        "eprint": encoded(paper.arxiv_id or ""),
        "archiveprefix": "arXiv" if paper.arxiv_id else "",
        "url": address_of(paper),
        "keywords": _latex(_listed(paper.keywords)),
        "abstract": _latex(paper.abstract),
    }
    yield from ((name, text) for name, text in fields.items() if text)


def _listed(keywords: Sequence[str]) -> str:
    """Join keywords by commas, or by semicolons where one of them has a comma."""
    return ("; " if any("," in word for word in keywords) else ", ").join(map(line, keywords))


def _latex(text: str) -> str:
    """Escape what LaTeX or BibTeX would take for an order."""
    flat = line(text)
    # BibTeX counts braces, escaped or not.
    return flat.translate(_LATEX | (_BALANCED if _is_balanced(flat) else _UNBALANCED))


def _is_balanced(text: str) -> bool:
    depth = 0
    for brace in re.findall(r"[{}]", text):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def _protect(word: re.Match[str]) -> str:
    """Keep a bibliography style from writing ``BERT`` as ``bert``."""
    inner = any(char.isupper() for char in word[0][1:])
    return f"{{{word[0]}}}" if inner else word[0]


def _bibtex_authors(paper: Paper) -> str:
    people = [_bibtex_author(author) for author in paper.authors if author.strip()]
    return " and ".join([*people, "others"] if paper.more_authors and people else people)


def _bibtex_author(author: str) -> str:
    name = part_name(author)
    if not name.given:
        whole = name.family.replace("‚", ",")
        is_word = not re.search(r"[\s,]", whole) and whole.lower() not in ("and", "others")
        return _latex(whole) if is_word else f"{{{_latex(whole)}}}"
    if name.suffix:
        return _latex(f"{name.family}, {name.suffix}, {name.given}")
    return _latex(author)


# ---- RIS -------------------------------------------------------------------------------------


def _ris(papers: Sequence[tuple[str, Paper]]) -> str:
    from rispy.writer import RisWriter

    writer = RisWriter()
    writer.set_header = lambda count: ""  # a number between the records is no RIS
    written: str = writer.formats([_ris_record(key, paper) for key, paper in papers])
    return written


def _ris_record(key: str, paper: Paper) -> dict[str, str | list[str]]:
    """Return a record in rispy's words; the order is that of the file."""
    first, last = pages(paper.extra)
    authors = [part_name(author).inverted for author in paper.authors if author.strip()]
    record: dict[str, str | list[str]] = {
        "type_of_reference": TYPES[type_of(paper)][0],
        "id": key,
        "title": title_of(paper),
        "authors": [*authors, "et al."] if paper.more_authors and authors else authors,
        "secondary_title": line(paper.venue or ""),
        "year": str(paper.year) if paper.year is not None else "",
        "volume": detail(paper.extra, "volume"),
        "number": detail(paper.extra, "number", "issue"),
        "start_page": first,
        "end_page": last,
        "publisher": detail(paper.extra, "publisher", "school", "institution"),
        "doi": line(paper.doi or ""),
        "urls": _ris_addresses(paper),
        "keywords": [word for word in map(line, paper.keywords) if word],
        "abstract": line(paper.abstract),
    }
    return {name: value for name, value in record.items() if value}


def _ris_addresses(paper: Paper) -> list[str]:
    """Return the address, and arXiv's, since RIS has no field for an arXiv id."""
    arxiv = f"https://arxiv.org/abs/{encoded(paper.arxiv_id)}" if paper.arxiv_id else ""
    return [address for address in dict.fromkeys((address_of(paper), arxiv)) if address]


# ---- CSL-JSON --------------------------------------------------------------------------------


def _csl(papers: Sequence[tuple[str, Paper]]) -> str:
    items = [_csl_item(key, paper) for key, paper in papers]
    return json.dumps(items, ensure_ascii=False, indent=1) + "\n"


def _csl_item(key: str, paper: Paper) -> dict[str, object]:
    arxiv = line(paper.arxiv_id or "")
    kind = TYPES[type_of(paper)][1]
    item: dict[str, object] = {
        "id": key,
        "type": "article" if kind == "document" and arxiv else kind,  # CSL's word for a preprint
        "title": title_of(paper),
        "author": _csl_authors(paper),
        "container-title": line(paper.venue or ""),
        "issued": {"date-parts": [[paper.year]]} if paper.year is not None else {},
        "volume": detail(paper.extra, "volume"),
        "issue": detail(paper.extra, "number", "issue"),
        "page": "-".join(page for page in pages(paper.extra) if page),
        "publisher": detail(paper.extra, "publisher", "school", "institution"),
        "number": f"arXiv:{arxiv}" if arxiv else "",
        "DOI": line(paper.doi or ""),
        "URL": address_of(paper),
        "keyword": _listed(paper.keywords),
        "abstract": line(paper.abstract),
    }
    return {name: value for name, value in item.items() if value}


def _csl_authors(paper: Paper) -> list[dict[str, str]]:
    people = [_csl_author(part_name(author)) for author in paper.authors if author.strip()]
    return [*people, {"literal": "others"}] if paper.more_authors and people else people


def _csl_author(name: Name) -> dict[str, str]:
    if not name.given:
        return {"literal": name.family.replace("‚", ",")}
    parts = {"family": name.family, "given": name.given, "suffix": name.suffix}
    return {key: part for key, part in parts.items() if part}


_FORMATS: dict[str, Callable[[Sequence[tuple[str, Paper]]], str]] = {
    "bibtex": _bibtex,
    "ris": _ris,
    "csl-json": _csl,
}
