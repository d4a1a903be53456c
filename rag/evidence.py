"""Which sentences of the ranked papers answer the question, and how sure that is.

Each sentence is described by a few numbers between about 0 and 1 (how near its vector is to the
question's, how many of the question's words it holds, how well its paper ranks, where it stands),
and a linear model fitted on labelled questions mixes them. The weights and what they were fitted
on stand in ``weights/evidence.json``; ``python -m eval.bench.fit_evidence`` makes them anew.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from .embedders import Vectors
from .index import Index
from .question import Question
from .schema import Evidence, Passage, RankedPaper, Span
from .sentences import sentence_spans

Owners = NDArray[np.int64]  # for each sentence, which paper it is from
PAPERS_READ = 8  # papers whose sentences are compared
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_DIGIT = re.compile(r"\d")
_SERIES = re.compile(r"(?:,[^,.]{2,60}){2,}|\(\d\)|\bboth\b", re.IGNORECASE)
_OURS = re.compile(
    r"\b(we|this (paper|work|article|study))\b.{0,40}\b(propos|introduc|present|develop|design|"
    r"describ|formulat|set forth|stud(y|ies)|investigat|show|prove|find|demonstrat)",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"\b(results?|outperform|achiev|improv|experiments?|evaluat|reduc|demonstrat|surpass|gains?)",
    re.IGNORECASE,
)

SENTENCE_FEATURES = (
    "cosine",
    "cosine_below_best",
    "coverage",
    "coverage_below_best",
    "joint_coverage",
    "names",
    "paper_score",
    "paper_below_best",
    "paper_cosine",
    "first",
    "last",
    "place",
    "length",
    "number_wanted_and_there",
    "number_wanted_not_there",
    "series_wanted_and_there",
    "ours",
    "result",
    "result_and_number",
)
ANSWER_FEATURES = (
    "cosine",
    "paper_cosine",
    "coverage_paper",
    "coverage_sentence",
    "missing_weight",
    "name_met",
    "name_unknown",
    "rarest_met",
    "lexical_terms",
    "gap",
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic model: probability = 1 / (1 + exp(-(features · weights + bias)))."""

    weights: tuple[float, ...]
    bias: float

    def logits(self, features: Vectors) -> Vectors:
        """Return one number a row; above 0 means more likely than not."""
        return np.asarray(features @ np.asarray(self.weights, np.float32) + self.bias, np.float32)


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted models and the probability below which the default is to abstain."""

    sentence: Linear
    answer: Linear
    abstain_below: float


@cache
def packaged_weights() -> Weights:
    """Return the weights that ship with the package."""
    text = resources.files(__package__).joinpath("weights/evidence.json").read_text("utf-8")
    stored = json.loads(text)

    def linear(name: str, order: Sequence[str]) -> Linear:
        by_name: dict[str, float] = stored[name]["weights"]
        return Linear(tuple(by_name[f] for f in order), stored[name]["bias"])

    return Weights(
        linear("sentence", SENTENCE_FEATURES),
        linear("answer", ANSWER_FEATURES),
        float(stored["abstain_below"]),
    )


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading the ranked papers gave.

    ``sentences`` is sorted by falling score; ``features`` has their rows in the same order.
    ``probability`` estimates, 0 to 1, that the library holds an answer. ``named`` lists the papers
    that hold a system name of the question ("EDGE", "FedGFM+"), by name; ``papers`` are those read.
    """

    sentences: tuple[Evidence, ...] = ()
    features: Vectors = field(
        default_factory=lambda: np.zeros((0, len(SENTENCE_FEATURES)), np.float32)
    )
    probability: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    papers: tuple[RankedPaper, ...] = ()

    def feature(self, name: str) -> Vectors:
        """Return one feature of every sentence, in their order."""
        return np.asarray(self.features[:, SENTENCE_FEATURES.index(name)], np.float32)


class Reader:
    """Reads ranked papers for a question.

    Args:
        index: The library's index.
        weights: The fitted models; by default those of the package.
    """

    def __init__(self, index: Index, weights: Weights | None = None) -> None:
        self._index = index
        self._weights = weights

    @property
    def weights(self) -> Weights:
        """Return the models in use."""
        return self._weights or packaged_weights()

    def read(self, question: Question, papers: Sequence[RankedPaper]) -> Reading:
        """Score every sentence of the best papers.

        Args:
            question: The question as understood.
            papers: The ranked list; only the first few are read.

        Returns:
            The sentences, best first, and how likely they hold an answer. Empty for no papers.
        """
        if not papers:
            return Reading()
        papers = papers[:PAPERS_READ]
        sheet = _Sheet(self._index, question, papers)
        if sheet.is_empty:  # all were removed since they were found
            return Reading(papers=tuple(papers))
        features = sheet.features()
        logits = self.weights.sentence.logits(features)
        order = np.argsort(-logits, kind="stable")
        sentences = tuple(sheet.evidence(int(i), float(logits[i])) for i in order)
        signals = sheet.signals(features)
        row = np.asarray([[signals[name] for name in ANSWER_FEATURES]], np.float32)
        logit = float(self.weights.answer.logits(row)[0])
        probability = 1 / (1 + math.exp(-logit))
        return Reading(
            sentences, features[order], probability, signals, sheet.named(), tuple(papers)
        )


class _Sheet:
    """All sentences of a few papers side by side, with what is known of each."""

    def __init__(self, index: Index, question: Question, papers: Sequence[RankedPaper]) -> None:
        self._question = question
        self._papers = papers
        ids = [ranked.paper.id for ranked in papers]
        passages = index.passages.of(ids)
        self._rows: list[tuple[int, Passage, Span]] = []
        for n, name in enumerate(ids):
            for passage in passages.get(name, []):
                self._rows += [(n, passage, span) for span in _spans(passage)]
        self._read_terms(index)
        self._read_vectors(index, ids)

    @property
    def is_empty(self) -> bool:
        """Say whether there is no sentence at all."""
        return not self._rows

    def _read_terms(self, index: Index) -> None:
        """Find which of the question's terms each sentence and paper holds."""
        terms = self._terms = index.terms
        asked = list(dict.fromkeys(terms.terms(self._question.text)))
        context = list(dict.fromkeys(terms.terms(self._question.search)))
        weights = terms.weights([*asked, *context])
        self._heaviest = terms.heaviest
        weights = {  # a script that the library does not use says nothing about its papers
            term: weight
            for term, weight in weights.items()
            if weight < self._heaviest or not _HAN.search(term)
        }
        self._asked = {term: weights[term] for term in asked if term in weights}
        self._context = {term: weights[term] for term in context if term in weights}
        self._names = set(terms.terms(" ".join(names_in(self._question.text))))
        self._held = [set(terms.terms(self._text(i))) for i in range(len(self._rows))]
        self._paper_terms = [
            set(terms.terms(f"{r.paper.title}\n{r.paper.abstract}")) for r in self._papers
        ]

    def _read_vectors(self, index: Index, ids: Sequence[str]) -> None:
        """Compare each sentence's vector with the question's."""
        self._cosines = np.zeros(len(self._rows), np.float32)
        if not self._rows or not index.passages.any_vectors():
            return
        vector = index.embed_query(self._question.search)
        kept = index.passages.sentence_vectors(ids)
        at = 0
        while at < len(self._rows):
            passage = self._rows[at][1]
            count = sum(1 for row in self._rows[at:] if row[1].id == passage.id)
            rows = kept.get(passage.id)
            if rows is None or len(rows) != count:
                rows = index.embedder.embed_texts([self._text(i) for i in range(at, at + count)])
            self._cosines[at : at + count] = rows @ vector
            at += count

    def _text(self, i: int) -> str:
        n, _, span = self._rows[i]
        paper = self._papers[n].paper
        return paper.abstract[span.start : span.end] if span.end > span.start else paper.title

    def evidence(self, i: int, score: float) -> Evidence:
        """Return one row as evidence."""
        n, passage, span = self._rows[i]
        return Evidence(self._papers[n].paper, passage.id, span, score)

    def features(self) -> Vectors:
        """Return ``(n_sentences, n_features)`` in the order of ``SENTENCE_FEATURES``."""
        count = len(self._rows)
        owner = np.asarray([row[0] for row in self._rows], np.int64)
        columns: dict[str, Vectors] = {"cosine": self._cosines}
        coverage = self._coverages(self._asked)
        columns["coverage"] = coverage
        columns["joint_coverage"] = self._coverages(self._context)
        columns["names"] = np.asarray(
            [_share(self._names & held, self._names) for held in self._held], np.float32
        )
        for name in ("cosine", "coverage"):
            columns[f"{name}_below_best"] = _below_best(columns[name], owner)
        scores = np.asarray([r.score for r in self._papers], np.float32)
        cosines = np.asarray([r.cosine or 0.0 for r in self._papers], np.float32)
        columns["paper_score"] = scores[owner]
        columns["paper_below_best"] = scores[owner] - scores.max()
        columns["paper_cosine"] = cosines[owner]
        columns.update(self._places(owner))
        columns.update(self._wanted())
        matrix = np.stack([columns[name] for name in SENTENCE_FEATURES], axis=1)
        return np.asarray(matrix.reshape(count, -1), np.float32)

    def _coverages(self, wanted: Mapping[str, float]) -> Vectors:
        """Return the share of the wanted terms' weight that each sentence holds."""
        total = sum(wanted.values()) or 1.0
        return np.asarray(
            [sum(w for t, w in wanted.items() if t in held) / total for held in self._held],
            np.float32,
        )

    def _places(self, owner: Owners) -> dict[str, Vectors]:
        """Return where each sentence stands in its abstract, and how long it is."""
        counts = np.bincount(owner, minlength=len(self._papers))
        position = np.concatenate([np.arange(n) for n in counts if n]) if len(owner) else owner
        last = counts[owner] - 1
        words = np.asarray([len(self._text(i).split()) for i in range(len(owner))], np.float32)
        return {
            "first": np.asarray(position == 0, np.float32),
            "last": np.asarray(position == last, np.float32),
            "place": np.asarray(position / np.maximum(last, 1), np.float32),
            "length": np.asarray(np.log1p(words) / 4, np.float32),
        }

    def _wanted(self) -> dict[str, Vectors]:
        """Return whether each sentence holds the kind of thing that was asked for."""
        texts = [self._text(i) for i in range(len(self._rows))]
        digit = _flags(_DIGIT, texts)
        series = _flags(_SERIES, texts)
        number = float(self._question.number)
        result = _flags(_RESULT, texts)
        return {
            "number_wanted_and_there": number * digit,
            "number_wanted_not_there": number * (1 - digit),
            "series_wanted_and_there": float(self._question.list) * series,
            "ours": _flags(_OURS, texts),
            "result": result,
            "result_and_number": result * number,
        }

    def signals(self, features: Vectors) -> dict[str, float]:
        """Describe how well the papers meet the question, in the names of ``ANSWER_FEATURES``."""
        total = sum(self._asked.values()) or 1.0
        best = max(range(len(self._papers)), key=lambda n: self._paper_coverage(n))
        missing = [w for t, w in self._asked.items() if t not in self._paper_terms[best]]
        met = [w for t, w in self._asked.items() if t in self._paper_terms[best]]
        column = {name: features[:, i] for i, name in enumerate(SENTENCE_FEATURES)}
        scores = sorted((ranked.score for ranked in self._papers), reverse=True)
        found = set().union(*self._paper_terms)
        return {
            "cosine": float(column["cosine"].max()),
            "paper_cosine": max((r.cosine or 0.0) for r in self._papers),
            "coverage_paper": self._paper_coverage(best) / total,
            "coverage_sentence": float(column["coverage"].max()),
            "missing_weight": max(missing, default=0.0) / self._heaviest,
            "rarest_met": max(met, default=0.0) / self._heaviest,
            "name_met": self._heaviest_of(self._names & self._paper_terms[best]),
            "name_unknown": self._heaviest_of(self._names - found),
            "lexical_terms": min(len(self._asked), 12) / 12,
            "gap": scores[0] - (scores[1] if len(scores) > 1 else 0.0),
        }

    def named(self) -> dict[str, tuple[str, ...]]:
        """Return which papers hold each system name of the question; names of none are left out."""
        found = {}
        for name in systems_in(self._question.search):
            terms = set(self._terms.terms(name))
            holders = [
                ranked.paper.id
                for ranked, held in zip(self._papers, self._paper_terms, strict=True)
                if terms and terms <= held
            ]
            if holders:
                found[name] = tuple(holders)
        return found

    def _heaviest_of(self, terms: set[str]) -> float:
        """Return how rare the rarest of some terms is, 0 to 1; 0 for none."""
        return max((self._asked.get(term, 0.0) for term in terms), default=0.0) / self._heaviest

    def _paper_coverage(self, n: int) -> float:
        return sum(w for t, w in self._asked.items() if t in self._paper_terms[n])


def names_in(text: str) -> list[str]:
    """Return the words of a question that look like names: inner capitals, digits, or hyphens.

    The first word counts only when it has more than a leading capital.
    """
    words = re.findall(r"[^\s,;:?!()\"“”]+", text)
    return [
        word.strip(".'’")
        for i, word in enumerate(words)
        if re.search(r"\w[A-Z]|\d\w|[A-Za-z]\d", word) or (i > 0 and word[:1].isupper())
    ]


def systems_in(text: str) -> list[str]:
    """Return the words of a question that can only be names: "EDGE", "4D3R", "Graph-KV", "FedGFM+".

    A plain capitalised word, a number and a usual abbreviation in lower case are none.
    """
    return [
        word
        for word in names_in(text)
        if re.search(r"[A-Za-z]", word) and re.search(r"\w[A-Z]|\d[A-Za-z]|[A-Za-z]\d", word)
    ]


def _spans(passage: Passage) -> list[Span]:
    """Return a passage's sentences as offsets in the abstract; its own span when it has no text."""
    if not passage.text:
        return [passage.span]
    start = passage.span.start
    return [Span(s.start + start, s.end + start) for s in sentence_spans(passage.text)]


def _share(part: set[str], whole: set[str]) -> float:
    """Return how much of a set is there; 1 for an empty one, which asks for nothing."""
    return len(part) / len(whole) if whole else 1.0


def _below_best(values: Vectors, owner: Owners) -> Vectors:
    """Return how far each row is below the best row of the same paper: 0 or less."""
    best = np.full(int(owner.max()) + 1 if len(owner) else 0, -np.inf, np.float32)
    np.maximum.at(best, owner, values)
    return np.asarray(np.subtract(values, best[owner]), np.float32)


def _flags(pattern: re.Pattern[str], texts: Sequence[str]) -> Vectors:
    return np.asarray([bool(pattern.search(text)) for text in texts], np.float32)
