"""The nouns of the product: everything that crosses a module border."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Support = Literal["verbatim", "supported", "weak", "unsupported", "unchecked"]
"""How far a statement is covered by the sentences it cites.

``verbatim``: it is the sentence. ``supported`` / ``weak`` / ``unsupported``: ``rag.verification``
compared it. ``unchecked``: a language model wrote it and nothing has compared it yet.
"""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text: ``text[start:end]``, counted in code points from 0."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record was read: file name, first line (from 1), and its key or id there."""

    file: str
    line: int | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Paper:
    """One record of the corpus, cleaned and identified.

    ``abstract`` is the text as it is shown, and all offsets count in it; ``raw_abstract`` is what
    the file held. ``title`` is empty when the source has none. ``extra`` keeps every other field of
    the record, as JSON values.
    """

    id: str
    title: str = ""
    abstract: str = ""
    authors: tuple[str, ...] = ()
    more_authors: bool = False  # the source says "and others"
    topic: str | None = None
    year: int | None = None
    venue: str | None = None
    doi: str | None = None
    arxiv_id: str | None = None
    url: str | None = None
    keywords: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)
    raw_abstract: str = ""
    source: Source = Source("")

    @property
    def label(self) -> str:
        """Name the paper in a few words: its title, or who wrote it and how it opens."""
        if self.title:
            return self.title
        opening = " ".join(self.abstract.split()[:8])
        return f"{self.byline}: “{opening} …”" if opening else self.byline

    @property
    def byline(self) -> str:
        """Name the authors in at most three words: ``Lin et al.``, ``Lin and Wu``, ``Lin``."""
        if not self.authors:
            return "Unknown authors"
        if self.more_authors or len(self.authors) > 2:
            return f"{self.authors[0]} et al."
        return " and ".join(self.authors)


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be stored, with the reason as a plain sentence."""

    file: str
    line: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader wants the user to know: the encoding used, junk lines passed over."""

    file: str
    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A span of one abstract, small enough to embed and to quote.

    ``id`` is ``"<paper id>#<position>"``, so the same paper keeps its passage ids when it is added
    again. A paper without an abstract has one passage of length 0, embedded by its title.
    """

    id: str
    paper_id: str
    position: int  # from 0
    span: Span  # in the abstract as shown
    text: str


@dataclass(frozen=True, slots=True)
class RankedPaper:
    """One paper of a ranked result.

    ``score`` is what the list is sorted by (never increasing down the list). ``cosine`` is the
    similarity of the question and the paper's nearest passage, -1 to 1, or None where no vector
    was compared. ``passage_id`` names the passage that matched best; ``sentence`` is the place in
    the abstract of the sentence nearest to the query, where it was asked for.
    """

    paper: Paper
    rank: int  # from 1
    score: float
    cosine: float | None
    passage_id: str
    sentence: Span | None = None
    mixed: float | None = field(default=None, compare=False)  # before papers like it spoke for it

    @property
    def own_score(self) -> float:
        """Return the score by the paper's own words and vectors, for which models were fitted."""
        return self.score if self.mixed is None else self.mixed

    @property
    def snippet(self) -> str:
        """Return the nearest sentence; empty where none is known."""
        return self.paper.abstract[self.sentence.start : self.sentence.end] if self.sentence else ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence of a retrieved paper, with how well it answers (higher is better)."""

    paper: Paper
    passage_id: str
    span: Span  # in the abstract as shown; of length 0 where the paper has only a title
    score: float

    @property
    def text(self) -> str:
        """Return the sentence exactly as it stands in the abstract (or the title)."""
        if self.span.start == self.span.end:
            return self.paper.title
        return self.paper.abstract[self.span.start : self.span.end]


@dataclass(frozen=True, slots=True)
class Citation:
    """One numbered source of an answer: the exact sentence that a marker ``[n]`` stands for."""

    marker: int  # from 1, in order of first use in the answer
    paper: Paper
    passage_id: str
    span: Span
    quote: str
    support: Support = "verbatim"


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of an answer and the markers of the citations it rests on.

    ``reason`` says why it is weak or unsupported; ``nearest`` is the sentence that comes nearest to
    it. ``repaired_from`` holds the markers that the model wrote, as it numbered them, where the
    checker put others in their place; empty where there were none, None where nothing was changed.
    """

    text: str  # without markers
    citations: tuple[int, ...] = ()
    support: Support = "unchecked"
    reason: str = ""
    nearest: str = ""
    repaired_from: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a question gets.

    ``text`` is the whole answer with its markers. ``papers`` is the ranked list that was searched
    (the nearest papers, offered as such, when ``abstained``). ``invented`` holds marker numbers
    that a language model wrote and that stand for no source; ``raw`` keeps its reply unchanged.
    ``error`` says why an answer is incomplete; it is None for a whole one. ``searched`` is the text
    that was searched, which differs from ``question`` for a follow-up. ``confidence`` estimates,
    0 to 1, that the papers hold an answer; None where nothing was searched. ``tells`` quotes what
    the right paper does say where the answer abstains about a detail; it answers nothing.
    """

    question: str
    text: str
    abstained: bool
    statements: tuple[Statement, ...] = ()
    citations: tuple[Citation, ...] = ()
    papers: tuple[RankedPaper, ...] = ()
    llm: str | None = None
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    searched: str = ""
    invented: tuple[int, ...] = ()
    raw: str | None = None
    error: str | None = None
    notes: tuple[str, ...] = ()
    confidence: float | None = None
    tells: tuple[Citation, ...] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """One earlier exchange of a conversation, oldest first in a history."""

    question: str
    answer: str = ""
    paper_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Filters:
    """Which papers may be searched; every given condition must hold.

    Text conditions ignore case and accents; ``author``, ``topic`` and ``venue`` match a part of the
    value. Years are inclusive; a paper without a year fails a year condition.
    """

    author: str | None = None
    topic: str | None = None
    venue: str | None = None
    year_from: int | None = None
    year_to: int | None = None
    source: str | None = None  # file name of the import
    paper_ids: tuple[str, ...] | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, name) is not None for name in self.__slots__)


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of the records of one ``add``.

    ``read`` is always ``added + updated + unchanged + duplicate + failed``. ``embedded`` counts
    passages that the embedder saw; ``pending`` counts papers that are stored and searchable by
    their words but still wait for a vector. ``import_id`` names the import for ``remove``; it is
    None when nothing was written.
    """

    read: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate: int = 0
    failed: int = 0
    embedded: int = 0
    terms_written: int = 0
    vectors_written: int = 0
    pending: int = 0
    bad: tuple[BadRecord, ...] = ()
    notes: tuple[Note, ...] = ()
    import_id: int | None = None
    seconds: float = 0.0

    @property
    def stored(self) -> int:
        """Return how many records are in the library because of, or before, this import."""
        return self.added + self.updated + self.unchanged + self.duplicate


@dataclass(frozen=True, slots=True)
class Status:
    """The state of a library. ``problems`` are plain sentences, each with what to do."""

    name: str
    path: str
    papers: int
    passages: int
    embedded: int
    searchable: int
    title_only: int
    embedder: str
    dim: int
    problems: tuple[str, ...] = ()
    checked: bool = False
