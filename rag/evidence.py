"""Which sentences of the ranked papers answer the question, and how sure that is.

Each sentence is described by a few numbers (how near its vector is to the question's, how many of
the question's words it holds, how well its paper ranks, where it stands, and what the evidence
model of our own says after reading question and abstract together), and a linear model fitted on
labelled questions mixes them. The weights stand in ``weights/evidence.json``; ``python -m
eval.bench.fit_evidence`` makes them anew.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .embedders import Vectors
from .evidence_model import EvidenceModel, packaged_model
from .fitted import (
    DETAIL_FEATURES,
    PAPER_FEATURES,
    SENTENCE_FEATURES,
    TOPIC_FEATURES,
    Linear,
    Weights,
    packaged_weights,
)
from .index import Index
from .question import Question
from .schema import Evidence, RankedPaper
from .sheet import Sheet

PAPERS_READ = 8  # papers whose sentences are compared
PAPERS_READ_FOR_MANY = 12  # the same for a question about several papers
MOST_NOTES = 3  # best papers of which is said that sentences were left out
FIRST_ROUND = 2  # papers that the evidence model reads before it asks itself whether that is enough
MOST_HOLDERS = 3  # of the papers read: a name that more of them hold singles none out
NAMED_TOPIC = 1.4  # least logit of the topic where the question names such a system: .8
WHETHER_DETAIL = 0.3  # weight of the detail's logit where it is asked whether something is so,
WHETHER_BIAS = -1.2  # and what is taken off there, so that as many are refused as elsewhere
SURE = 3.0  # its logit for "this abstract answers" from which on it reads no further


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading the ranked papers gave.

    ``sentences`` is sorted by falling score; ``features`` has their rows in the same order.
    ``probability`` estimates, 0 to 1, that the library holds an answer. ``named`` lists the papers
    that hold a system name of the question ("EDGE", "FedGFM+"), by name. ``papers`` are those
    read, best first; ``paper_features`` has a row for each in the order they were given.
    ``notes`` say what was left out because it gives orders instead of reporting. ``vectors`` has a
    row a sentence, of length 1; it has no columns where the library has no vectors.
    """

    sentences: tuple[Evidence, ...] = ()
    features: Vectors = field(
        default_factory=lambda: np.zeros((0, len(SENTENCE_FEATURES)), np.float32)
    )
    probability: float = 0.0
    signals: Mapping[str, float] = field(default_factory=dict)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    papers: tuple[RankedPaper, ...] = ()
    paper_features: Vectors = field(
        default_factory=lambda: np.zeros((0, len(PAPER_FEATURES)), np.float32)
    )
    notes: tuple[str, ...] = ()
    vectors: Vectors = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def feature(self, name: str) -> Vectors:
        """Return one feature of every sentence, in their order."""
        return np.asarray(self.features[:, SENTENCE_FEATURES.index(name)], np.float32)


class Reader:
    """Reads ranked papers for a question.

    Args:
        index: The library's index.
        weights: The fitted models; by default those of the package.
        load_model: Returns the model that reads question and abstract together; None reads
            without one.
    """

    def __init__(
        self,
        index: Index,
        weights: Weights | None = None,
        load_model: Callable[[], EvidenceModel] | None = packaged_model,
    ) -> None:
        self._index = index
        self._weights = weights
        self._load_model = load_model

    @property
    def weights(self) -> Weights:
        """Return the models in use."""
        return self._weights or packaged_weights("read" if self._load_model else "plain")

    @property
    def reads(self) -> bool:
        """Say whether the evidence model takes part."""
        return self._load_model is not None

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
        papers = papers[: PAPERS_READ_FOR_MANY if question.many else PAPERS_READ]
        sheet = Sheet(self._index, question, papers)
        if sheet.is_empty:  # all removed since, or nothing but orders
            return Reading(papers=tuple(papers), notes=tuple(sheet.notes().values())[:MOST_NOTES])
        self._read_pages(question, sheet)
        features = sheet.features()
        logits = self._mix(question).logits(features)
        order = np.argsort(-logits, kind="stable")
        order = order[~sheet.is_barred[order]]
        signals = sheet.signals(features, int(order[0]))
        ordered = tuple(papers) if question.many else self._ordered(papers, sheet)
        noted, named = sheet.notes(), sheet.named()
        return Reading(
            sentences=tuple(sheet.evidence(int(i), float(logits[i])) for i in order),
            features=features[order],
            vectors=sheet.vectors[order],
            probability=self._chance(question, signals, named),
            signals=signals,
            named=named,
            papers=ordered,
            paper_features=sheet.paper_features(),
            notes=tuple(
                noted[one.paper.id] for one in ordered[:MOST_NOTES] if one.paper.id in noted
            ),
        )

    def _mix(self, question: Question) -> Linear:
        """Return the model that chooses sentences: for a claim its own, where there is one."""
        own = self.weights.claim if question.claim else None
        return own or self.weights.sentence

    def _chance(
        self,
        question: Question,
        signals: Mapping[str, float],
        named: Mapping[str, tuple[str, ...]],
    ) -> float:
        """Estimate that the library is about the matter, and that a paper holds the very thing.

        A system name of the question that few of the papers hold says enough about the first. The
        second part is left out for a question about several papers: what it asks for need not
        stand in any one of them. A question whether something is so is answered by most papers on
        its matter, if only in part, so there the first part decides and the second adds a little.
        """
        met = topic = _logit(self.weights.topic, TOPIC_FEATURES, signals)
        if self.reads and any(len(holders) <= MOST_HOLDERS for holders in named.values()):
            topic = max(topic, NAMED_TOPIC)
        if not self.weights.detail or question.many or question.compare:
            return _probability(topic)
        detail = _logit(self.weights.detail, DETAIL_FEATURES, signals)
        if question.yes_no and topic == met:  # a name alone does not decide
            return _probability(topic + WHETHER_DETAIL * detail + WHETHER_BIAS)
        return _probability(topic) * _probability(detail)

    def _read_pages(self, question: Question, sheet: Sheet) -> None:
        """Let the evidence model read the papers, the best first, until it is sure of one."""
        if not self._load_model:
            return
        model, text, pages = self._load_model(), _as_read(question), sheet.pages()
        one_is_enough = not (question.many or question.compare)
        at = 0
        while at < len(pages):
            step = FIRST_ROUND if at < 2 * FIRST_ROUND else len(pages)
            scores = model.read(text, pages[at : at + step])
            sheet.take(scores, first=at)
            at += step
            if one_is_enough and max(one.answers for one in scores) >= SURE:
                return

    def _ordered(self, papers: Sequence[RankedPaper], sheet: Sheet) -> tuple[RankedPaper, ...]:
        """Sort the papers by what reading them gave; ``score`` becomes a probability."""
        if not self.weights.paper:
            return tuple(papers)
        logits = self.weights.paper.logits(sheet.paper_features())
        order = np.argsort(-logits, kind="stable")
        return tuple(
            replace(papers[i], rank=rank, score=_probability(float(logits[i])), mixed=None)
            for rank, i in enumerate(map(int, order), start=1)
        )


def _as_read(question: Question) -> str:
    """Return the question as the evidence model reads it: English, with what it leans on."""
    return " ".join([*question.earlier, question.asked]) if question.earlier else question.asked


def _logit(model: Linear, names: Sequence[str], signals: Mapping[str, float]) -> float:
    """Return what a model reads from some signals, as a logit."""
    row = np.asarray([[signals[name] for name in names]], np.float32)
    return float(model.logits(row)[0])


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))
