"""Which papers a case calls relevant, and which papers of a library these are."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, model_validator

from rag.identity import normalise_arxiv, normalise_doi
from rag.schema import Paper

from .metrics.normal import letters


class Label(BaseModel):
    """One relevant paper as a question file names it.

    ``text`` is a DOI, an arXiv id, a title or a paper id. Where the source has no titles, a paper
    is named by ``first_author`` and ``abstract_start``. ``doc_id`` is the record's own id in its
    file, used where a title does not settle it.
    """

    model_config = ConfigDict(frozen=True, extra="allow", str_strip_whitespace=True)

    text: str = ""
    title: str = ""
    doc_id: str = ""
    first_author: str = ""
    abstract_start: str = ""
    doi: str = ""
    arxiv_id: str = ""
    paper_id: str = ""

    @model_validator(mode="before")
    @classmethod
    def _from_string(cls, value: object) -> object:
        return {"text": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _names_a_paper(self) -> "Label":
        if not (self._keys() or (self.first_author and letters(self.abstract_start))):
            raise ValueError(
                "names no paper: give a DOI, an arXiv id, a title, a paper id, or first_author "
                "with abstract_start"
            )
        return self

    def _keys(self) -> str:
        return self.text or self.title or self.doc_id or self.doi or self.arxiv_id or self.paper_id

    @property
    def name(self) -> str:
        """Return the label in a few words, for a report."""
        return self._keys() or f"{self.first_author}: {self.abstract_start}"

    def matches(self, paper: Paper) -> bool:
        """Return whether the label means this paper.

        Identifiers are compared first; titles by their letters and digits; the opening of an
        abstract by the letters and digits of its start, whatever markup was cleaned away.
        """
        if _keys_of_label(self) & _keys_of_paper(paper):
            return True
        return bool(self.first_author) and self._opens(paper)

    def _opens(self, paper: Paper) -> bool:
        if not paper.authors or letters(paper.authors[0]) != letters(self.first_author):
            return False
        start = letters(self.abstract_start)
        return bool(start) and any(
            letters(text).startswith(start) for text in (paper.abstract, paper.raw_abstract)
        )


@dataclass(frozen=True, slots=True)
class Resolved:
    """The ids of the labelled papers, in order of the labels, and the labels that fit none."""

    paper_ids: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def judged(self) -> dict[str, int]:
        """Return the relevant ids for the ranking measures.

        A paper that the library lacks stays in the count under a name no paper has, so that recall
        cannot be whole without it.
        """
        return dict.fromkeys((*self.paper_ids, *(f"missing:{name}" for name in self.missing)), 1)


class PaperIndex:
    """Finds the papers of a library that labels name, in one look-up a label.

    Args:
        papers: Every paper of the library; read once.
    """

    def __init__(self, papers: Iterable[Paper]) -> None:
        self._by_key: dict[tuple[str, str], list[Paper]] = defaultdict(list)
        self._by_author: dict[str, list[Paper]] = defaultdict(list)
        for paper in papers:
            for key in _keys_of_paper(paper):
                self._by_key[key].append(paper)
            if paper.authors:
                self._by_author[letters(paper.authors[0])].append(paper)

    def resolve(self, labels: Iterable[Label]) -> Resolved:
        """Return the ids of the labelled papers, each once, and the labels that fit no paper."""
        ids: dict[str, None] = {}
        missing = []
        for label in labels:
            found = self._find(label)
            ids.update(dict.fromkeys(paper.id for paper in found))
            if not found:
                missing.append(label.name)
        return Resolved(tuple(ids), tuple(missing))

    def _find(self, label: Label) -> list[Paper]:
        near = [p for key in sorted(_keys_of_label(label)) for p in self._by_key.get(key, ())]
        if label.first_author:
            near += self._by_author.get(letters(label.first_author), ())
        found = [paper for paper in near if label.matches(paper)]
        own = ("doc", label.doc_id)  # tells papers of one title apart
        return [paper for paper in found if own in _keys_of_paper(paper)] or found


def _keys_of_label(label: Label) -> set[tuple[str, str]]:
    """Return what identifies the labelled paper, as (sort, value)."""
    keys: set[tuple[str, str | None]] = {
        ("doi", normalise_doi(label.doi or label.text)),
        ("arxiv", normalise_arxiv(label.arxiv_id or label.text)),
        ("id", label.paper_id or label.text),
    }
    if label.title or label.text:
        keys.add(("title", letters(label.title or label.text)))
    elif label.doc_id:  # a record's number is no identity across files: only where it stands alone
        keys.add(("doc", label.doc_id))
    return {(sort, value) for sort, value in keys if value}


def _keys_of_paper(paper: Paper) -> set[tuple[str, str]]:
    keys: set[tuple[str, str | None]] = {
        ("doi", normalise_doi(paper.doi or "")),
        ("arxiv", normalise_arxiv(paper.arxiv_id or "")),
        ("id", paper.id),
        ("title", letters(paper.title)),
        ("doc", paper.source.key or ""),
    }
    own = (paper.extra[name] for name in ("id", "_id", "doc_id") if name in paper.extra)
    keys |= {("doc", str(value)) for value in own}
    return {(sort, value) for sort, value in keys if value}
