"""All sentences of a few papers side by side, with what is known of each: the features."""

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from .embedders import Vectors
from .evidence_model import Page, PageScores
from .fitted import PAPER_FEATURES, SENTENCE_FEATURES
from .index import Index
from .injection import addresses_a_machine, flags_for, note_on
from .names import names_in, systems_in
from .question import Question
from .schema import Evidence, Passage, RankedPaper, Span
from .sentences import spans_of

UNREAD = 2.0  # below 0: what the evidence model has not read
Owners = NDArray[np.int64]  # for each sentence, which paper it is from
_ASKING = frozenset({"how", "what", "why", "which", "who", "when", "where", "many", "much"})
_HAN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_NUMBER_AND_UNIT = re.compile(r"(?<=\d)(?=[A-Za-z%]{1,3}\b)")  # "1.8dB" is "1.8 dB"
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


class Sheet:
    """All sentences of a few papers side by side, with what is known of each."""

    def __init__(self, index: Index, question: Question, papers: Sequence[RankedPaper]) -> None:
        self._question = question
        self._papers = papers
        ids = [ranked.paper.id for ranked in papers]
        passages = index.passages.of(ids)
        self._rows: list[tuple[int, Passage, Span]] = []
        for n, name in enumerate(ids):
            for passage in passages.get(name, []):
                self._rows += [(n, passage, span) for span in spans_of(passage)]
        self._owner = np.asarray([row[0] for row in self._rows], np.int64)
        self._screen()
        self._read = np.full(len(self._rows), -UNREAD, np.float32)
        self._answers = np.full(len(papers), -UNREAD, np.float32)
        self._read_terms(index)
        self._read_vectors(index, ids)

    def _screen(self) -> None:
        """Find what speaks to its reader instead of reporting; it is never compared nor quoted."""
        self._reasons: list[str | None] = []
        for n in range(len(self._papers)):
            texts = [self._text(int(i)) for i in np.flatnonzero(self._owner == n)]
            self._reasons += flags_for(texts)
        self.is_barred = np.asarray([reason is not None for reason in self._reasons], bool)
        titles = [ranked.paper.title for ranked in self._papers]
        self._titles = ["" if addresses_a_machine(title) else title for title in titles]

    def notes(self) -> dict[str, str]:
        """Return paper id → what was left out of it, and why; only papers that lost something."""
        notes = {}
        for n, ranked in enumerate(self._papers):
            of_paper = [self._reasons[i] for i in np.flatnonzero(self._owner == n)]
            if note := note_on(ranked.paper.label, of_paper):
                notes[ranked.paper.id] = note
        return notes

    def pages(self) -> list[Page]:
        """Return each paper as the evidence model reads it, without what was barred."""
        return [
            Page(self._titles[n], tuple(self._text(i) for i in self._kept(n)))
            for n in range(len(self._papers))
        ]

    def _kept(self, n: int) -> Owners:
        return np.flatnonzero((self._owner == n) & ~self.is_barred)

    def take(self, scores: Sequence[PageScores], *, first: int = 0) -> None:
        """Take what the evidence model says of ``pages()``, in their order, from one on."""
        for n, one in enumerate(scores, start=first):
            self._read[self._kept(n)] = _eased(one.sentences)
            self._answers[n] = _eased(np.asarray([one.answers], np.float32))[0]

    @property
    def is_empty(self) -> bool:
        """Say whether there is no sentence that may be used."""
        return bool(self.is_barred.all())

    def _read_terms(self, index: Index) -> None:
        """Find which of the question's terms each sentence and paper holds."""
        terms = self._terms = index.terms
        own = self._question.asked
        if self._question.language != "en":  # papers in that language count as well
            own = " ".join([self._question.text, *(w for w in own.split() if w not in _ASKING)])
        asked = list(dict.fromkeys(terms.terms(own)))
        context = list(dict.fromkeys(terms.terms(self._question.search)))
        weights = terms.weights([*asked, *context])
        self._heaviest = terms.heaviest
        self._names = set(terms.terms(" ".join(names_in(self._question.asked))))
        self._systems = set(terms.terms(" ".join(systems_in(self._question.asked))))
        unit = set(terms.terms(self._question.unit))  # "dB" is neither a name nor a topic
        self._names -= unit
        weights = {  # a word of another language, which no paper holds, says nothing about them
            term: weight
            for term, weight in weights.items()
            if weight < self._heaviest or not (term in unit or self._is_foreign(term))
        }
        self._asked = {term: weights[term] for term in asked if term in weights}
        self._context = {term: weights[term] for term in context if term in weights}
        self._held = [
            set() if barred else set(terms.terms(_with_units_apart(self._text(i))))
            for i, barred in enumerate(self.is_barred)
        ]
        self._paper_terms = [
            set(terms.terms(title)).union(*(self._held[i] for i in self._kept(n)))
            for n, title in enumerate(self._titles)
        ]

    def _is_foreign(self, term: str) -> bool:
        if self._question.language == "en":
            return bool(_HAN.search(term))
        return term not in self._systems

    def _read_vectors(self, index: Index, ids: Sequence[str]) -> None:
        """Compare each sentence's vector with the question's."""
        self._cosines = np.zeros(len(self._rows), np.float32)
        self.vectors = np.zeros((len(self._rows), 0), np.float32)
        if not self._rows:
            return
        if index.embed_budget_s and index.passages.any_lacking():
            index.fine.complete(ids, index.embed_budget_s)
        if not index.any_vectors():
            return
        vector = index.embed_query(self._question.search)
        self.vectors = np.zeros((len(self._rows), len(vector)), np.float32)
        kept = index.sentence_vectors(ids)
        at = 0
        while at < len(self._rows):
            passage = self._rows[at][1]
            count = sum(1 for row in self._rows[at:] if row[1].id == passage.id)
            rows = kept.get(passage.id)
            if rows is None and not index.embed_budget_s:
                rows = np.zeros((count, len(vector)), np.float32)
            elif rows is None or len(rows) != count:
                rows = index.embedder.embed_texts([self._text(i) for i in range(at, at + count)])
            self.vectors[at : at + count] = rows
            at += count
        self.vectors[self.is_barred] = 0
        self._cosines = self.vectors @ vector

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
        owner = self._owner
        columns: dict[str, Vectors] = {"cosine": self._cosines}
        coverage = self._coverages(self._asked)
        columns["coverage"] = coverage
        columns["joint_coverage"] = self._coverages(self._context)
        columns["names"] = np.asarray(
            [_share(self._names & held, self._names) for held in self._held], np.float32
        )
        for name in ("cosine", "coverage"):
            columns[f"{name}_below_best"] = _below_best(columns[name], owner)
        scores = np.asarray([r.own_score for r in self._papers], np.float32)
        cosines = np.asarray([r.cosine or 0.0 for r in self._papers], np.float32)
        columns["paper_score"] = scores[owner]
        columns["paper_below_best"] = scores[owner] - scores.max()
        columns["paper_cosine"] = cosines[owner]
        columns.update(self._places(owner))
        columns.update(self._wanted())
        columns["read"] = self._read
        columns["read_below_best"] = _below_best(self._read, owner)
        columns["read_page"] = self._answers[owner]
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

    def signals(self, features: Vectors, best: int) -> dict[str, float]:
        """Describe how well the papers meet the question, by the names of the fitted models.

        Args:
            features: What ``features`` returned.
            best: The row of the sentence that scores best.
        """
        column = {name: features[:, i] for i, name in enumerate(SENTENCE_FEATURES)}
        scores = sorted((ranked.own_score for ranked in self._papers), reverse=True)
        wanted = self._question.number
        return {
            **self._words_met(),
            "cosine": float(column["cosine"].max()),
            "paper_cosine": max((r.cosine or 0.0) for r in self._papers),
            "coverage_sentence": float(column["coverage"].max()),
            "lexical_terms": min(len(self._asked), 12) / 12,
            "gap": scores[0] - (scores[1] if len(scores) > 1 else 0.0),
            "number_missing": float(wanted and not _DIGIT.search(self._text(best))),
            "read_best": float(self._read.max()),
            "read_page": float(self._answers.max()),
            "read_page_of_best": float(self._answers[self._owner[best]]),
        }

    def _words_met(self) -> dict[str, float]:
        """Describe which of the question's words the papers hold."""
        total = sum(self._asked.values()) or 1.0
        best = max(range(len(self._papers)), key=lambda n: self._paper_coverage(n))
        missing = [w for t, w in self._asked.items() if t not in self._paper_terms[best]]
        met = [w for t, w in self._asked.items() if t in self._paper_terms[best]]
        found = set().union(*self._paper_terms)
        return {
            "coverage_paper": self._paper_coverage(best) / total,
            "missing_weight": max(missing, default=0.0) / self._heaviest,
            "rarest_met": max(met, default=0.0) / self._heaviest,
            "name_met": self._heaviest_of(self._names & self._paper_terms[best]),
            "name_unknown": self._heaviest_of(self._names - found),
        }

    def paper_features(self) -> Vectors:
        """Return ``(n_papers, n_features)`` in the order of ``PAPER_FEATURES``."""
        total = sum(self._asked.values()) or 1.0
        scores = np.asarray([r.own_score for r in self._papers], np.float32)
        best = np.full(len(self._papers), -UNREAD, np.float32)
        np.maximum.at(best, self._owner, self._read)
        columns = {
            "score": scores,
            "below_best": scores - scores.max(),
            "cosine": [r.cosine or 0.0 for r in self._papers],
            "coverage": [self._paper_coverage(n) / total for n in range(len(self._papers))],
            "names": [_share(self._names & held, self._names) for held in self._paper_terms],
            "read_best": best,
            "read_page": self._answers,
        }
        return np.stack([np.asarray(columns[f], np.float32) for f in PAPER_FEATURES], axis=1)

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


def _with_units_apart(text: str) -> str:
    """Return a text, and once more with units apart from numbers: "4D3R" stays, "1.8dB" parts."""
    apart = _NUMBER_AND_UNIT.sub(" ", text)
    return text if apart == text else f"{text} {apart}"


def _share(part: set[str], whole: set[str]) -> float:
    """Return how much of a set is there; 1 for an empty one, which asks for nothing."""
    return len(part) / len(whole) if whole else 1.0


def _below_best(values: Vectors, owner: Owners) -> Vectors:
    """Return how far each row is below the best row of the same paper: 0 or less."""
    best = np.full(int(owner.max()) + 1 if len(owner) else 0, -np.inf, np.float32)
    np.maximum.at(best, owner, values)
    return np.asarray(np.subtract(values, best[owner]), np.float32)


def _eased(logits: Vectors) -> Vectors:
    """Bring logits to about -2 to 2, so that no single one outweighs everything else."""
    return np.asarray(np.clip(logits / 4, -UNREAD, UNREAD), np.float32)


def _flags(pattern: re.Pattern[str], texts: Sequence[str]) -> Vectors:
    return np.asarray([bool(pattern.search(text)) for text in texts], np.float32)
