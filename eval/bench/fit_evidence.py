"""Fit the weights that choose sentences and decide when to abstain (``rag/weights/evidence.json``).

One command makes them anew from labelled questions; docs/evidence.md names the data and figures:

    python -m eval.bench.fit_evidence --questions QUESTIONS.jsonl --library NAME \\
        --topical NAME=FILE --foreign NAME=FILE --out rag/weights/evidence.json

The libraries are made before with ``citewell add``. Questions belong to papers; a fifth of the
papers (by a checksum of the paper's name) is kept back for development and never fitted.
"""

import argparse
import hashlib
import json
import logging
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag import question as questions
from rag.evidence import Reader, Reading
from rag.fitted import ANSWER_FEATURES, SENTENCE_FEATURES, Linear, Weights
from rag.index import QUERIES_KEPT
from rag.library import Library, open_library
from rag.question import Question
from rag.retrieval import Searcher
from rag.schema import Turn

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
SAMPLE = 225  # questions of one kind taken for the abstention model
SEED = 3
REFUSED = 0.02  # share of topical questions that the default threshold may refuse
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


def is_held_back(record: dict[str, Any]) -> bool:
    """Say whether a question's paper belongs to the development fifth."""
    papers = [*record.get("relevant", []), *record.get("nearest", [])]
    name = str(papers[0].get("doc_id") or papers[0].get("title")) if papers else record["id"]
    return int(hashlib.md5(name.encode(), usedforsecurity=False).hexdigest(), 16) % 5 == 0


def _letters(text: str) -> str:
    """Reduce a text to letters and digits, so that mark-up does not matter."""
    return re.sub(r"[\W_]+", "", re.sub(r"\\[a-zA-Z]+", "", text)).lower()


def _records(file: Path) -> list[dict[str, Any]]:
    """Read questions or queries: one JSON object a line, the text in ``question`` or ``text``."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return [{**row, "question": row.get("question") or row.get("text")} for row in rows]


def read_all(
    library: Library, records: Sequence[dict[str, Any]], weights: Weights
) -> Iterator[Read]:
    """Search and read a library for every question."""
    index = library.engine("quote").index
    searcher, reader = Searcher(index), Reader(index, weights)
    for start in range(0, len(records), QUERIES_KEPT):
        part = records[start : start + QUERIES_KEPT]
        asked = [_understood(record) for record in part]
        index.prepare_queries([question.search for question in asked])
        for record, question in zip(part, asked, strict=True):
            papers = searcher.search(question.search, top_k=10).papers
            reading = reader.read(question, papers)
            if reading.sentences:
                yield Read(record, reading)
        log.info("%s: %d of %d questions read", library.name, start, len(records))


def _understood(record: dict[str, Any]) -> Question:
    turns = [Turn(text) for text in record.get("history", [])]
    return questions.understand(questions.check(record["question"]), turns)


def logistic(features: Floats, labels: Floats, *, balanced: bool = False) -> tuple[Floats, float]:
    """Fit a logistic regression (L2, C = 1) on columns brought to unit deviation.

    Returns:
        (weights for the columns as they come, bias).
    """
    from sklearn.linear_model import LogisticRegression

    scale = features.std(axis=0) + 1e-6
    model = LogisticRegression(max_iter=3000, class_weight="balanced" if balanced else None)
    model.fit(features / scale, labels)
    return model.coef_[0] / scale, float(model.intercept_[0])


def fit_sentences(read: Sequence[Read]) -> Linear:
    """Fit the sentence model on questions of which a gold sentence was found."""
    rows = [(one.reading.features, one.gold()) for one in read]
    rows = [(features, gold) for features, gold in rows if gold.any()]
    weights, bias = logistic(
        np.concatenate([f for f, _ in rows]), np.concatenate([g for _, g in rows])
    )
    return Linear(tuple(float(w) for w in weights), bias)


def signals(read: Sequence[Read]) -> Floats:
    """Return one row of abstention signals a question, in the order of ``ANSWER_FEATURES``."""
    return np.asarray([[one.reading.signals[name] for name in ANSWER_FEATURES] for one in read])


def fit_answers(topical: Sequence[Read], foreign: Sequence[Read]) -> tuple[Linear, float]:
    """Fit the abstention model and choose its threshold.

    Returns:
        (model, probability below which ``REFUSED`` of the topical questions lie).
    """
    good, bad = signals(topical), signals(foreign)
    labels = np.concatenate([np.ones(len(good)), np.zeros(len(bad))])
    weights, bias = logistic(np.concatenate([good, bad]), labels, balanced=True)
    probability = 1 / (1 + np.exp(-(good @ weights + bias)))
    model = Linear(tuple(float(w) for w in weights), bias)
    return model, float(np.quantile(probability, REFUSED))


def as_json(weights: Weights) -> dict[str, Any]:
    """Return weights as they are stored, by name."""

    def linear(model: Linear, names: Sequence[str]) -> dict[str, Any]:
        values = zip(names, model.weights, strict=True)
        return {"weights": {n: round(w, 4) for n, w in values}, "bias": round(model.bias, 4)}

    return {
        "sentence": linear(weights.sentence, SENTENCE_FEATURES),
        "answer": linear(weights.answer, ANSWER_FEATURES),
        "abstain_below": round(weights.abstain_below, 3),
    }


def fit(arguments: argparse.Namespace) -> Weights:
    """Fit the model that chooses sentences and the one that decides when to abstain."""
    blank = Weights(_blank(SENTENCE_FEATURES), _blank(ANSWER_FEATURES), 0.0)
    records = [r for r in _records(arguments.questions) if r["answerable"]]
    train = [r for r in records if not is_held_back(r)]
    with open_library(arguments.library) as library:
        sentence = fit_sentences(list(read_all(library, train, blank)))
    topical = [one for pair in arguments.topical for one in _read_pair(pair, blank, topical=True)]
    foreign = [one for pair in arguments.foreign for one in _read_pair(pair, blank, topical=False)]
    answer, threshold = fit_answers(topical, foreign)
    return Weights(sentence, answer, threshold)


def _read_pair(pair: str, weights: Weights, *, topical: bool) -> list[Read]:
    """Read ``LIBRARY=FILE``: a sample of the file's questions, asked of the library.

    Where questions name their papers, topical ones are those whose paper the library holds, foreign
    ones those whose paper it lacks; the development fifth stays out.
    """
    name, _, file = pair.partition("=")
    with open_library(name) as library:
        titles = {_letters(paper.title) for paper in library.papers()}
        records = [r for r in _records(Path(file)) if _fits(r, titles, topical=topical)]
        chosen = random.Random(SEED).sample(records, min(SAMPLE, len(records)))
        return list(read_all(library, chosen, weights))


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
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--library", required=True, help="holds the papers of --questions")
    parser.add_argument("--topical", action="append", default=[], metavar="LIBRARY=FILE")
    parser.add_argument("--foreign", action="append", default=[], metavar="LIBRARY=FILE")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO)
    weights = fit(arguments)
    arguments.out.write_text(json.dumps(as_json(weights), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
