"""Fit the weights that choose sentences and decide when to abstain (``rag/weights/evidence.json``).

One command makes them anew from labelled questions; docs/evidence.md names the data and figures:

    python -m eval.bench.fit_evidence --mode read --questions QUESTIONS.jsonl --library NAME \\
        --topical NAME=FILE --foreign NAME=FILE --out rag/weights/evidence.json

The libraries are made before with ``citewell add``. Questions belong to papers; a fifth of the
papers (by a checksum of the paper's name) is kept back for development and never fitted. Weights
for reading with the evidence model (``--mode read``) are fitted on the tenth that the model was not
trained on, those for reading without it (``plain``) on all others.
"""

import argparse
import json
import logging
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from rag import question as questions
from rag.evidence import Reader, Reading
from rag.evidence_model import packaged_model
from rag.fitted import (
    DETAIL_FEATURES,
    PAPER_FEATURES,
    SENTENCE_FEATURES,
    TOPIC_FEATURES,
    Linear,
    Mode,
    Weights,
)
from rag.index import QUERIES_KEPT
from rag.library import Library, open_library
from rag.question import Question
from rag.retrieval import Searcher
from rag.schema import Turn

from .evidence_pairs import part_of
from .linear import fit_lists, linear_by_name, logistic

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
SAMPLE = 225  # questions of one kind taken for the abstention model
SEED = 3
REFUSED = 0.05  # share of topical questions that the default threshold may refuse
SHORTEST = 15  # letters of a sentence that is compared with a gold one


@dataclass(frozen=True, slots=True)
class Read:
    """One question with what reading the library for it gave."""

    record: dict[str, Any]
    reading: Reading

    def gold(self) -> Floats:
        """Return 1 for each sentence that is (part of) a gold sentence, else 0."""
        wanted = [_letters(text) for text in self.record.get("evidence", [])]
        found = [_letters(one.text) for one in self.reading.sentences]
        return np.asarray(
            [len(f) > SHORTEST and any(w in f or f in w for w in wanted if w) for f in found], float
        )

    def right_papers(self) -> Floats:
        """Return 1 for each paper read that the question's labels name, in the order given."""
        titles = {_letters(one.get("title", "")) for one in self.record.get("relevant", [])}
        return np.asarray(
            [_letters(one.paper.title) in titles for one in self.reading.papers], float
        )


def serves(record: dict[str, Any], mode: Mode) -> bool:
    """Say whether a question may be fitted on."""
    part = part_of(_name(record))
    return part == "mix" if mode == "read" else part != "held"


def is_held_back(record: dict[str, Any]) -> bool:
    """Say whether a question's paper belongs to the development fifth."""
    return part_of(_name(record)) == "held"


def _name(record: dict[str, Any]) -> str:
    """Return the name of the paper that a question belongs to."""
    papers = [*record.get("relevant", []), *record.get("nearest", [])]
    return str(papers[0].get("doc_id") or papers[0].get("title")) if papers else str(record["id"])


def _letters(text: str) -> str:
    """Reduce a text to letters and digits, so that mark-up does not matter."""
    return re.sub(r"[\W_]+", "", re.sub(r"\\[a-zA-Z]+", "", text)).lower()


def _records(file: Path) -> list[dict[str, Any]]:
    """Read questions or queries: one JSON object a line, the text in ``question`` or ``text``."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [{**row, "question": row.get("question") or row.get("text")} for row in rows]


def read_all(
    library: Library, records: Sequence[dict[str, Any]], weights: Weights, mode: Mode
) -> Iterator[Read]:
    """Search and read a library for every question."""
    index = library.engine("quote").index
    load = packaged_model if mode == "read" else None
    searcher, reader = Searcher(index), Reader(index, weights, load_model=load)
    for start in range(0, len(records), QUERIES_KEPT):
        part = records[start : start + QUERIES_KEPT]
        asked = [_understood(record) for record in part]
        index.prepare_queries([question.search for question in asked])
        for record, question in zip(part, asked, strict=True):
            papers = searcher.search(question.search, top_k=10, alike=question.many).papers
            reading = reader.read(question, papers)
            if reading.sentences:
                yield Read(record, reading)
        log.info("%s: %d of %d questions read", library.name, start, len(records))


def _understood(record: dict[str, Any]) -> Question:
    turns = [Turn(text) for text in record.get("history", [])]
    return questions.understand(questions.check(record["question"]), turns)


def fit_sentences(read: Sequence[Read]) -> Linear:
    """Fit the sentence model on questions of which a gold sentence was found."""
    rows = [(one.reading.features, one.gold()) for one in read]
    rows = [(features, gold) for features, gold in rows if gold.any()]
    weights, bias = logistic(
        np.concatenate([f for f, _ in rows]), np.concatenate([g for _, g in rows])
    )
    return Linear(tuple(float(w) for w in weights), bias)


def signals(read: Sequence[Read], names: Sequence[str]) -> Floats:
    """Return one row of signals a question, in the order of ``names``."""
    return np.asarray([[one.reading.signals[name] for name in names] for one in read])


def fit_signals(good: Sequence[Read], bad: Sequence[Read], names: Sequence[str]) -> Linear:
    """Fit a model that tells questions with an answer from those without, each half the weight."""
    rows = np.concatenate([signals(good, names), signals(bad, names)])
    labels = np.concatenate([np.ones(len(good)), np.zeros(len(bad))])
    weights, bias = logistic(rows, labels, balanced=True)
    return Linear(tuple(float(w) for w in weights), bias)


def eased(model: Linear) -> Linear:
    """Return the topic model as it is multiplied with the detail model: half as steep.

    On the development fifth the product then refuses as few questions and tells more near misses
    and more removed papers apart.
    """
    return Linear(tuple(w / 2 for w in model.weights), model.bias / 2 - 0.5)


def threshold(weights: Weights, answerable: Sequence[Read]) -> float:
    """Return the probability below which ``REFUSED`` of the answerable questions lie."""
    chance = chances(weights.topic, answerable, TOPIC_FEATURES)
    if weights.detail:
        chance = chance * chances(weights.detail, answerable, DETAIL_FEATURES)
    return float(np.quantile(chance, REFUSED))


def chances(model: Linear, read: Sequence[Read], names: Sequence[str]) -> Floats:
    """Return the probability that a model gives each question."""
    logits = signals(read, names) @ np.asarray(model.weights) + model.bias
    return np.asarray(1 / (1 + np.exp(-logits)))


def as_json(weights: Weights) -> dict[str, Any]:
    """Return weights as they are stored, by name."""
    return {
        "sentence": linear_by_name(weights.sentence, SENTENCE_FEATURES),
        "topic": linear_by_name(weights.topic, TOPIC_FEATURES),
        "abstain_below": math.floor(weights.abstain_below * 200) / 200,  # a round number, not above
        **({"detail": linear_by_name(weights.detail, DETAIL_FEATURES)} if weights.detail else {}),
        **({"paper": linear_by_name(weights.paper, PAPER_FEATURES)} if weights.paper else {}),
    }


def fit_papers(read: Sequence[Read]) -> Linear:
    """Fit the model that orders the papers read, on questions whose paper is among them."""
    return fit_lists([(one.reading.paper_features, one.right_papers()) for one in read])


def fit(arguments: argparse.Namespace) -> Weights:
    """Fit the models that choose sentences, order papers and decide when to abstain.

    What tells topics apart needs no evidence model, so the libraries of other fields are read
    without it.
    """
    mode: Mode = arguments.mode
    blank = Weights(_blank(SENTENCE_FEATURES), _blank(TOPIC_FEATURES), 0.0)
    records = [r for r in _records(arguments.questions) if serves(r, mode)]
    good = [one for pair in arguments.topical for one in _read_pair(pair, blank, True)]
    bad = [one for pair in arguments.foreign for one in _read_pair(pair, blank, False)]
    weights = replace(blank, topic=fit_signals(good, bad, TOPIC_FEATURES))
    with open_library(arguments.library) as library:
        answerable = [r for r in records if r["answerable"]]
        read = list(read_all(library, answerable, weights, mode))
        weights = replace(weights, sentence=fit_sentences(read))
        if mode == "plain":
            return replace(weights, abstain_below=threshold(weights, good))
        read = list(read_all(library, answerable, weights, mode))  # the best sentence is known now
        near = [r for r in records if not r["answerable"]]
        misses = list(read_all(library, near, weights, mode))
    detail = fit_signals(read, misses, DETAIL_FEATURES)
    weights = replace(weights, topic=eased(weights.topic), detail=detail, paper=fit_papers(read))
    return replace(weights, abstain_below=threshold(weights, read))


def _read_pair(pair: str, weights: Weights, topical: bool) -> list[Read]:
    """Read ``LIBRARY=FILE``: a sample of the file's questions, asked of the library.

    Where questions name their papers, topical ones are those whose paper the library holds, foreign
    ones those whose paper it lacks; the development fifth stays out.
    """
    name, _, file = pair.partition("=")
    with open_library(name) as library:
        titles = {_letters(paper.title) for paper in library.papers()}
        records = [r for r in _records(Path(file)) if _fits(r, titles, topical=topical)]
        chosen = random.Random(SEED).sample(records, min(SAMPLE, len(records)))
        return list(read_all(library, chosen, weights, "plain"))


def _fits(record: dict[str, Any], titles: set[str], *, topical: bool) -> bool:
    """Say whether a question may serve as one that a library answers, or as one it cannot."""
    papers = record.get("relevant") or []
    if not papers or "title" not in papers[0]:
        return not topical or bool(record.get("answerable", True))
    held = _letters(papers[0]["title"]) in titles
    return bool(record["answerable"]) and held == topical and not is_held_back(record)


def _blank(names: Sequence[str]) -> Linear:
    return Linear(tuple(0.0 for _ in names), 0.0)


def main() -> None:
    """Parse the command line, fit, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=get_args(Mode), default="read")
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--library", required=True, help="holds the papers of --questions")
    parser.add_argument("--topical", action="append", default=[], metavar="LIBRARY=FILE")
    parser.add_argument("--foreign", action="append", default=[], metavar="LIBRARY=FILE")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    weights = fit(arguments)
    stored = json.loads(arguments.out.read_text("utf-8")) if arguments.out.exists() else {}
    kept = {k: v for k, v in stored.get(arguments.mode, {}).items() if k == "claim"}
    stored[arguments.mode] = as_json(weights) | kept  # the other mode's weights stay
    arguments.out.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
