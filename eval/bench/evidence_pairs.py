"""Make what the evidence model learns from: a question beside an abstract, with labelled sentences.

Question files are those of ``eval.cases``. Papers are kept apart by a checksum of their name: most
serve for training, some only for fitting the linear mix (``mix``), some only for measuring
(``held``). A paper that is not for training never stands in a training pair, not even as one that
does not answer.
"""

import hashlib
import logging
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from rag.errors import RecordError
from rag.evidence_model import Page
from rag.library import Library
from rag.schema import Paper
from rag.sentences import sentence_spans

from ..cases import Case, load_cases
from ..labels import Label, PaperIndex
from ..metrics.normal import letters
from ..tables import read_rows

log = logging.getLogger(__name__)

Part = Literal["train", "mix", "held"]
Half = Literal["odd", "even"]

FOUND = 8  # papers searched for a question
OTHERS = 4  # of these, papers kept as ones that do not answer
SHORTEST = 15  # letters; a shorter sentence is not compared with a gold one
STRIPPED = 0.55  # chance that an abstract is also shown without what answers
OTHER = 0.45  # chance that another abstract is shown too
TITLED = 0.5  # chance that the title is shown

Flags = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A paper that a search finds for a question and that nobody says answers it."""

    paper_id: str
    page: Page


@dataclass(frozen=True, slots=True)
class Pair:
    """A question beside the abstract that answers it, or nearly does.

    ``gold`` marks the sentences that answer (none: a near miss), ``also`` those that are right to
    show but not needed. ``others`` stand in the order of the search.
    """

    library: str
    part: Part
    question: str
    paper_id: str
    page: Page
    gold: Flags
    also: Flags
    others: tuple[Other, ...] = ()

    @property
    def answers(self) -> bool:
        """Return whether the abstract answers the question."""
        return any(self.gold)


@dataclass(frozen=True, slots=True)
class Example:
    """A pair as it is shown once in training."""

    question: str
    page: Page
    gold: Flags
    also: Flags
    answers: bool


@dataclass(frozen=True, slots=True)
class Collected:
    """The pairs of one question file, and what is written about it on the model's card."""

    library: str
    file: str
    sha256: str
    questions: int
    pairs: tuple[Pair, ...]

    def card(self) -> dict[str, object]:
        """Return the file's name, checksum and counts."""
        counts = Counter(pair.part for pair in self.pairs)
        return {
            "library": self.library,
            "file": self.file,
            "sha256": self.sha256,
            "questions": self.questions,
            "pairs": {part: counts[part] for part in ("train", "mix", "held")},
        }


def half_of(name: str) -> Half:
    """Say to which half of the papers that claims cite a paper belongs, by its checksum."""
    return "odd" if _checksum(name) % 2 else "even"


def part_of(name: str, *, is_claim: bool = False, learned: Half = "odd") -> Part:
    """Say what a paper serves for.

    Args:
        name: Its record's own id, else its title.
        is_claim: Whether it is cited by claims, of whose papers half are kept back; of others, a
            fifth is, and a tenth is left for the linear mix.
        learned: The half of the papers cited by claims that is learned from.
    """
    if is_claim:
        return "train" if half_of(name) == learned else "held"
    number = _checksum(name)
    if number % 5 == 0:
        return "held"
    return "mix" if number % 10 == 1 else "train"


def _checksum(name: str) -> int:
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16)


def page_of(paper: Paper) -> Page:
    """Return a paper's title and the sentences of its abstract."""
    spans = sentence_spans(paper.abstract)
    return Page(paper.title, tuple(paper.abstract[span.start : span.end] for span in spans))


def marked(sentences: Iterable[str], wanted: Iterable[str]) -> Flags:
    """Mark the sentences that hold a wanted text or are part of one, whatever their markup."""
    sought = [text for text in map(letters, wanted) if len(text) > SHORTEST]
    return tuple(
        len(found) > SHORTEST and any(text in found or found in text for text in sought)
        for found in map(letters, sentences)
    )


def collect(library: Library, file: Path, learned: Half = "odd") -> Collected:
    """Lay every question of a file beside the papers that its labels name.

    Args:
        library: Holds the papers.
        file: Questions with ``relevant`` (of a near miss: ``nearest``), ``evidence`` and ``also``;
            or claims with ``cited_ids`` and ``evidence`` of objects with ``doc_id`` and ``text``.
        learned: As for ``part_of``.

    Returns:
        The pairs in file order. A question whose paper or whose evidence the library lacks gives
        none.

    Raises:
        RecordError: The file cannot be read, or no pair can be made of it.
    """
    cases = load_cases(file)
    desk = _Desk(library, learned)
    rows = (row.values for row in read_rows(file))
    pairs = [pair for case, row in zip(cases, rows, strict=True) for pair in desk.pairs(case, row)]
    if not pairs:
        raise RecordError(
            f"No question of {file.name!r} is about a paper of the library {library.name!r} and "
            "has its evidence there. Name the library that holds the file's papers."
        )
    log.info(
        "%s: %d pairs of %d questions; the paper was missing %d times, the evidence %d times",
        *(file.name, len(pairs), len(cases), desk.lacking["paper"], desk.lacking["evidence"]),
    )
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    return Collected(library.name, file.name, digest, len(cases), tuple(pairs))


def keep_apart(pairs: Sequence[Pair]) -> list[Pair]:
    """Drop from the training pairs every paper that is not for training, by any file.

    Returns:
        The pairs in order, each with at most ``OTHERS`` others.
    """
    reserved = {pair.paper_id for pair in pairs if pair.part != "train"}
    kept = []
    for pair in pairs:
        barred = reserved if pair.part == "train" else frozenset()
        if pair.paper_id not in barred:
            others = [other for other in pair.others if other.paper_id not in barred]
            kept.append(replace(pair, others=tuple(others[:OTHERS])))
    return kept


def examples(pairs: Iterable[Pair], rng: random.Random) -> Iterator[Example]:
    """Yield what one epoch shows of some pairs.

    Each pair is shown as it is. One that answers may be shown once more without the sentences that
    do, which makes a near miss of it, and its question beside another abstract. Titles come and go,
    for many abstracts are asked about without one.
    """
    for pair in pairs:
        page = pair.page if rng.random() < TITLED else Page("", pair.page.sentences)
        yield Example(pair.question, page, pair.gold, pair.also, pair.answers)
        if not pair.answers:
            continue
        if rng.random() < STRIPPED:
            yield from _stripped(pair, page)
        if pair.others and rng.random() < OTHER:
            other = rng.choice(pair.others).page
            yield _silent(pair, other.title if rng.random() < TITLED else "", other.sentences)


def _stripped(pair: Pair, page: Page) -> Iterator[Example]:
    """Yield the page without what answers, unless too little is left to be an abstract."""
    told = zip(page.sentences, pair.gold, pair.also, strict=True)
    left = tuple(text for text, gold, also in told if not gold and not also)
    if len(left) > 1:
        yield _silent(pair, page.title, left)


def _silent(pair: Pair, title: str, sentences: tuple[str, ...]) -> Example:
    """Return an example whose page does not answer."""
    none = (False,) * len(sentences)
    return Example(pair.question, Page(title, sentences), none, none, False)


@dataclass(frozen=True, slots=True)
class _Target:
    """A paper to lay a question beside, with its evidence; None says that it does not answer."""

    label: Label
    part: Part
    evidence: tuple[str, ...] | None


class _Desk:
    """Finds the papers of questions in a library, and counts what it does not find."""

    def __init__(self, library: Library, learned: Half) -> None:
        papers = library.papers()
        self._learned = learned
        self._library = library
        self._index = PaperIndex(papers)
        self._pages = {paper.id: page_of(paper) for paper in papers}
        self.lacking: Counter[str] = Counter()

    def pairs(self, case: Case, row: Mapping[str, Any]) -> list[Pair]:
        """Return one pair for each paper that the case names and the library holds."""
        made = [
            pair
            for target in _targets(case, row, self._learned)
            for pair in self._pair(case, target)
            if pair.gold
        ]
        if not made:
            return []
        labelled = [*case.relevant, *_labels(case, "nearest"), *_labels(case, "cited_ids")]
        others = self._others(case.question, frozenset(self._index.resolve(labelled).paper_ids))
        return [replace(pair, others=others) for pair in made]

    def _pair(self, case: Case, target: _Target) -> Iterator[Pair]:
        ids = self._index.resolve([target.label]).paper_ids
        if not ids:
            self.lacking["paper"] += 1
            return
        page = self._pages[ids[0]]
        gold = marked(page.sentences, target.evidence or ())
        also = marked(page.sentences, case.also)
        if target.evidence is None or any(gold):
            yield Pair(self._library.name, target.part, case.question, ids[0], page, gold, also)
        else:
            self.lacking["evidence"] += 1

    def _others(self, question: str, labelled: frozenset[str]) -> tuple[Other, ...]:
        found = (one.paper.id for one in self._library.search(question, top_k=FOUND))
        pages = ((name, self._pages[name]) for name in found if name not in labelled)
        return tuple(Other(name, page) for name, page in pages if page.sentences)


def _targets(case: Case, row: Mapping[str, Any], learned: Half) -> list[_Target]:
    """Return the papers that a case is about: all that a claim cites, else the first."""
    cited = _labels(case, "cited_ids")
    if cited:
        return [
            _Target(
                label,
                part_of(label.doc_id, is_claim=True, learned=learned),
                tuple(_evidence(row.get("evidence"), label.doc_id)) or None,
            )
            for label in cited
        ]
    papers = case.relevant or _labels(case, "nearest")
    return [
        _Target(
            label,
            part_of(label.doc_id or label.title or label.name),
            None if case.answerable is False else case.evidence,
        )
        for label in papers[:1]
    ]


def _labels(case: Case, name: str) -> list[Label]:
    """Read papers from a field that ``Case`` leaves as it is; ``cited_ids`` are records' own ids.

    Raises:
        RecordError: One of them names no paper.
    """
    values = case.extra.get(name) or []
    listed = values if isinstance(values, list) else [values]
    try:
        if name == "cited_ids":
            return [Label(doc_id=str(value)) for value in listed]
        return [Label.model_validate(value) for value in listed]
    except ValidationError as exc:
        raise RecordError(
            f"{name!r} of the question {case.id!r} holds {listed!r:.100}, which names no paper. "
            "Titles or ids of papers are expected. Correct the file and start again."
        ) from exc


def _evidence(value: object, doc_id: str) -> Iterator[str]:
    """Yield the texts of one document; those that name no document belong to each."""
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict) and str(item.get("doc_id", doc_id)) == doc_id:
            texts = item.get("text")
            yield from texts if isinstance(texts, list) else [texts] if texts else []
