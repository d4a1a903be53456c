"""Fit the weights that choose sentences for a claim (``claim`` in ``rag/weights/evidence.json``).

    python -m eval.bench.fit_claims BENCHMARKS/scifact --other-half MODEL.safetensors \\
        --out rag/weights/evidence.json

A claim is read beside its abstracts, one by one and among all that a search finds, by an evidence
model that was trained on none of them: the packaged one for claims on the half of the papers that
it has not seen, for the others a second one that ``eval.bench.train_evidence --claims even`` makes.
It serves for this alone and is not shipped. Claims that cite papers of both halves are left out.
"""

import argparse
import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from rag import question as questions
from rag.embedders.minilm import packaged_minilm
from rag.errors import RagError, RecordError
from rag.evidence import Reader, Reading
from rag.evidence_model import EvidenceModel, packaged_model
from rag.fitted import SENTENCE_FEATURES, Linear
from rag.index import Index
from rag.retrieval import Searcher
from rag.schema import Filters
from rag.settings import load_settings

from .. import metrics as m
from .claims import Claim, claims_of
from .corpus import open_corpus
from .evidence_pairs import Half
from .linear import List, fit_lists, linear_by_name
from .qa import read_questions

log = logging.getLogger(__name__)

TOP_K = 10

Models = Mapping[Half, EvidenceModel]
"""Half of the papers → the evidence model that has seen none of it."""


def models_with(other_half: Path) -> Models:
    """Return the packaged evidence model, which has not seen the even half, and one for the odd."""
    return {"even": packaged_model(), "odd": EvidenceModel(packaged_minilm(), other_half)}


def lists_of(index: Index, claims: Sequence[Claim], model: EvidenceModel) -> Iterator[List]:
    """Read each claim beside its abstracts, and among the papers that a search finds.

    Yields:
        The features of the sentences, and which of them are rationales.
    """
    searcher, reader = Searcher(index), Reader(index, load_model=lambda: model)
    for done, claim in enumerate(claims):
        question = questions.understand(questions.check(claim.case.question))
        for name in (None, *claim.gold):
            filters = Filters(paper_ids=(name,)) if name else None
            papers = searcher.search(
                question.search, top_k=TOP_K, filters=filters, alike=question.many
            ).papers
            reading = reader.read(question, papers)
            if reading.sentences:
                yield reading.features, _right(reading, claim)
        if done % 50 == 0:
            log.info("%d of %d claims read", done, len(claims))


def _right(reading: Reading, claim: Claim) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    gold = claim.case.evidence
    found = [any(m.same_sentence(one.text, text) for text in gold) for one in reading.sentences]
    return np.asarray(found, np.float64)


def halves_of(claims: Sequence[Claim]) -> dict[Half, list[Claim]]:
    """Return the claims whose abstracts all belong to one half, by half.

    Raises:
        RecordError: A half has none.
    """
    found = {half: [one for one in claims if one.half == half] for half in get_args(Half)}
    if not all(found.values()):
        raise RecordError(
            "Both halves of the papers need a claim whose rationale sentences stand in them, and "
            "one has none. Name the folder of a larger benchmark."
        )
    return found


def fit(folder: Path, other_half: Path) -> Linear:
    """Fit the weights on the claims of a benchmark's folder.

    Raises:
        RecordError: A file is malformed, or one half of the papers has no claim.
        SettingsError: The model cannot be read.
    """
    asked = read_questions(folder / "qa.jsonl", limit=None, seed=0).with_evidence
    models = models_with(other_half)
    with open_corpus(folder, load_settings(), _untold, llm="quote").library as library:
        index = library.engine("quote").index
        halves = halves_of(claims_of(asked, library.papers()))
        lists = [one for half, own in halves.items() for one in lists_of(index, own, models[half])]
    log.info("%d claims, %d lists", sum(map(len, halves.values())), len(lists))
    return fit_lists(lists)


def _untold(part: str, done: int, total: int) -> None:
    pass


def main(argv: list[str] | None = None) -> int:
    """Fit as the command line says; the exit code is 1 where that cannot be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a benchmark's folder with corpus and qa.jsonl")
    parser.add_argument(
        "--other-half", type=Path, required=True, help="an evidence model trained on the even half"
    )
    parser.add_argument("--out", type=Path, required=True, help="the weights' file, kept otherwise")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        model = fit(args.folder, args.other_half)
        stored = json.loads(args.out.read_text("utf-8"))
    except (RagError, OSError) as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    stored["read"]["claim"] = linear_by_name(model, SENTENCE_FEATURES)
    args.out.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
