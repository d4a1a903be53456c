"""Rationale sentences of claims: what is quoted, against BM25 alone and the cosine alone.

    python -m eval.bench.rationales BENCHMARKS/scifact [--other-half MODEL] [--json report.json]

For each claim three sentences are taken from each abstract that holds a rationale ("within"), and
three from the whole corpus ("across"): by BM25 over all sentences of the corpus, by the cosine of
the sentence vectors, and as Citewell quotes without and with the evidence model. The model has seen
half of the abstracts (``evidence_pairs.part_of``), so it is measured on claims of which it has seen
no rationale abstract, with the weights for questions: those for claims were fitted on all of them.
With ``--other-half MODEL``, trained on the half that the packaged one has not seen, each half is
measured with the model and the weights for claims that know the other alone. Claims that share an
abstract are drawn and exchanged together.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rag import question as questions
from rag.engine import AnswerEngine
from rag.errors import QuestionError, RagError, RecordError
from rag.evidence import Reader
from rag.fitted import packaged_weights
from rag.index import Index
from rag.schema import Filters, Paper
from rag.sentences import spans_of
from rag.settings import Settings, load_settings

from .. import metrics as m
from ..cases import Case
from ..stats import Weighted, bootstrap_interval, randomisation_test
from .bm25 import Bm25
from .claims import Claim, claims_of
from .corpus import Corpus, open_corpus
from .evidence_pairs import Half
from .fit_claims import Models, halves_of, lists_of, models_with
from .linear import fit_lists
from .qa import QUOTES, read_questions

PAIR = 2  # sentences of the shorter F1
METRICS = ("hit@1", "hit@3", "f1 of two", "f1 of three")
BASELINES = ("bm25", "cosine")
PLACES = ("within", "across")
RESAMPLES = 10_000

Floats = NDArray[np.float64]
Ranker = Callable[[Case, str | None], Sequence[str]]  # within a paper, or across: None


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of one way to choose, with its 95 % interval.

    ``p`` maps a baseline to the two-sided p-value of the paired randomisation test against it.
    """

    claims: str
    place: str
    ranker: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    p: Mapping[str, float]


class Baselines:
    """Ranks the sentences of a corpus by words alone, and by vectors alone.

    Args:
        index: The library's index.
        papers: All its papers.
    """

    def __init__(self, index: Index, papers: Sequence[Paper]) -> None:
        self._index = index
        ids = [paper.id for paper in papers]
        passages, kept = index.passages.of(ids), index.sentence_vectors(ids)
        self._texts: list[str] = []
        self._rows: dict[str, list[int]] = {}
        vectors = []
        for paper in papers:
            first = len(self._texts)
            for passage in passages.get(paper.id, []):
                texts = [paper.abstract[s.start : s.end] or paper.title for s in spans_of(passage)]
                rows = kept.get(passage.id)
                self._texts += texts
                vectors.append(index.embedder.embed_texts(texts) if rows is None else rows)
            self._rows[paper.id] = list(range(first, len(self._texts)))
        self._vectors = np.concatenate(vectors)
        self._bm25 = Bm25([index.terms.terms(text) for text in self._texts])

    def bm25(self, case: Case, paper_id: str | None) -> list[str]:
        """Return the best sentences by BM25, of one paper or of all."""
        return self._best(self._bm25.scores(self._index.terms.terms(case.question)), paper_id)

    def cosine(self, case: Case, paper_id: str | None) -> list[str]:
        """Return the sentences nearest to the claim, of one paper or of all."""
        vector = self._index.embed_query(questions.understand(case.question).search)
        return self._best(np.asarray(self._vectors @ vector, float), paper_id)

    def _best(self, scores: Floats, paper_id: str | None) -> list[str]:
        rows = np.arange(len(scores)) if paper_id is None else np.asarray(self._rows[paper_id])
        order = rows[np.argsort(-scores[rows], kind="stable")]
        distinct = dict.fromkeys(self._texts[i] for i in order[: 4 * QUOTES])
        return list(distinct)[:QUOTES]


def scored(quotes: Sequence[str], gold: Sequence[str]) -> tuple[float, ...]:
    """Return the measures of one list of sentences, best first, in the order of ``METRICS``."""
    hits = [any(m.same_sentence(quote, text) for text in gold) for quote in quotes]
    both = [m.evidence_scores(quotes[:most], gold)[2] or 0.0 for most in (PAIR, QUOTES)]
    return (float(any(hits[:1])), float(any(hits[:QUOTES])), *both)


def measured(claims: Sequence[Claim], ranker: Ranker) -> dict[str, Floats]:
    """Return ``(claims, metrics)`` within the rationale abstracts (their mean) and across."""
    within, across = [], []
    for claim in claims:
        own = [scored(ranker(claim.case, name), gold) for name, gold in claim.gold.items()]
        within.append(np.mean(own, axis=0))
        across.append(scored(ranker(claim.case, None), claim.case.evidence))
    return {"within": np.asarray(within), "across": np.asarray(across)}


def figures(
    name: str, claims: Sequence[Claim], found: Mapping[str, Mapping[str, Floats]]
) -> list[Figure]:
    """Compare every way to choose with the baselines.

    Args:
        name: What the claims are called.
        claims: The claims.
        found: Way → place → ``(claims, metrics)``.
    """
    _, groups = np.unique([claim.group for claim in claims], return_inverse=True)
    counts = _summed(groups, np.ones(len(groups)))
    table = []
    for place in PLACES:
        for column, metric in enumerate(METRICS):
            sums = {
                ranker: _summed(groups, rows[place][:, column]) for ranker, rows in found.items()
            }
            for ranker, values in sums.items():
                rows = np.stack([values, counts], axis=1)
                low, high = bootstrap_interval(rows, SHARE, resamples=RESAMPLES) or (0.0, 1.0)
                p = {
                    base: randomisation_test(sums[base], values, resamples=RESAMPLES) or 1.0
                    for base in BASELINES
                    if ranker not in BASELINES
                }
                value = float(values.sum() / counts.sum())
                table.append(Figure(name, place, ranker, metric, value, low, high, len(claims), p))
    return table


def _summed(groups: NDArray[np.intp], values: Floats) -> Floats:
    """Return the sum of the values of each group."""
    return np.asarray(np.bincount(groups, values), np.float64)


def _shares(rows: Floats, counts: Floats) -> Floats:
    drawn = counts @ rows
    return np.asarray(drawn[:, 0] / drawn[:, 1])


SHARE = Weighted(lambda rows: float(rows[:, 0].sum() / rows[:, 1].sum()), _shares)


def measure(
    folder: Path, settings: Settings, *, other_half: Path | None = None, limit: int | None = None
) -> list[Figure]:
    """Measure a benchmark's claims: all without the evidence model, with it those it has not seen.

    Args:
        folder: Holds the corpus and ``qa.jsonl``.
        settings: The settings in force.
        other_half: An evidence model trained on the half of the papers that the packaged one has
            not seen; with it nearly all claims are measured, each half with the model and the
            weights for claims that have seen only the other half.
        limit: A seeded sample of so many claims; None takes all.

    Raises:
        RecordError: A file is malformed, or the model has seen an abstract of every claim.
    """
    asked = read_questions(folder / "qa.jsonl", limit=limit, seed=0).with_evidence
    with _opened(folder, settings).library as library:
        engine, papers = library.engine("quote"), library.papers()
        claims = claims_of(asked, papers)
        halves = _apart(claims) if other_half is None else halves_of(claims)
        plain = Baselines(engine.index, papers)
        rankers = {"bm25": plain.bm25, "cosine": plain.cosine, "plain": _quoting(engine)}
        found = {name: measured(claims, ranker) for name, ranker in rankers.items()}
        readers = (
            _crossed(engine.index, halves, models_with(other_half))
            if other_half
            else {"even": _for_questions(engine.index)}
        )
        read = [
            measured(
                own, _quoting(AnswerEngine(engine.index, library.settings, reader=readers[half]))
            )
            for half, own in halves.items()
        ]
    places = {id(claim): row for row, claim in enumerate(claims)}
    order = [places[id(one)] for own in halves.values() for one in own]
    of_part = {
        name: {place: rows[order] for place, rows in of_all.items()}
        for name, of_all in found.items()
    }
    of_part["read"] = {place: np.concatenate([one[place] for one in read]) for place in PLACES}
    part = "unseen" if other_half is None else "of one half"
    return [
        *figures("all", claims, found),
        *figures(part, [claims[i] for i in order], of_part),
    ]


def _apart(claims: Sequence[Claim]) -> dict[Half, list[Claim]]:
    unseen = [claim for claim in claims if claim.half == "even"]
    if not unseen:
        raise RecordError(
            "There is no claim with rationale sentences in abstracts that the evidence model has "
            "not seen. Name the folder of another benchmark."
        )
    return {"even": unseen}


def _for_questions(index: Index) -> Reader:
    """Return a reader without the weights for claims, which were fitted on all claims."""
    return Reader(index, replace(packaged_weights("read"), claim=None))


def _crossed(
    index: Index, halves: Mapping[Half, Sequence[Claim]], models: Models
) -> dict[Half, Reader]:
    """Return a reader for each half; its model and its weights for claims know the other alone."""
    lists = {half: list(lists_of(index, own, models[half])) for half, own in halves.items()}
    fitted = {
        half: replace(packaged_weights("read"), claim=fit_lists(lists[half])) for half in lists
    }
    return {
        half: Reader(
            index, fitted["odd" if half == "even" else "even"], partial(models.__getitem__, half)
        )
        for half in halves
    }


def _opened(folder: Path, settings: Settings) -> Corpus:
    wishes = {"llm": "quote", "abstain_below": 0.0, "max_statements": QUOTES}
    return open_corpus(folder, settings, _told, evidence_model="none", **wishes)


def _quoting(engine: AnswerEngine) -> Ranker:
    """Return what an engine quotes."""

    def ranked(case: Case, paper_id: str | None) -> Sequence[str]:
        filters = Filters(paper_ids=(paper_id,)) if paper_id else None
        try:
            answer = engine.answer(case.question, history=case.history, filters=filters)
        except QuestionError:
            return ()
        return [citation.quote for citation in answer.citations][:QUOTES]

    return ranked


def _told(part: str, done: int, total: int) -> None:
    sys.stderr.write(f"\r{part}: {done} of {total}  ")


def as_markdown(table: Sequence[Figure]) -> str:
    """Return figures as a table: a row a way to choose, with its p-values."""
    lines = [
        f"| claims | where | chosen by | {' | '.join(METRICS)} | n |",
        "|---|---|---|" + "---|" * len(METRICS) + "---:|",
    ]
    rows: dict[tuple[str, str, str], list[Figure]] = {}
    for one in table:
        rows.setdefault((one.claims, one.place, one.ranker), []).append(one)
    for (claims, place, ranker), cells in rows.items():
        told = " | ".join(map(_cell, cells))
        lines.append(f"| {claims} | {place} | {ranker} | {told} | {cells[0].n} |")
    return "\n".join(lines) + "\n"


def _cell(one: Figure) -> str:
    value = f"{one.value:.3f} <sub>{one.low:.3f}–{one.high:.3f}</sub>"
    if not one.p:
        return value
    chances = ", ".join(f"{_chance(p)} {base}" for base, p in one.p.items())
    return f"{value} ({chances})"


def _chance(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p {p:.3f}".replace("0.", ".")


def main(argv: list[str] | None = None) -> int:
    """Measure as the command line says; the exit code is 1 where that cannot be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="a benchmark's folder with corpus and qa.jsonl")
    parser.add_argument(
        "--other-half", type=Path, help="an evidence model trained on the even half of the papers"
    )
    parser.add_argument("--limit", type=int, help="a seeded sample of so many claims")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    args = parser.parse_args(argv)
    try:
        table = measure(args.folder, load_settings(), other_half=args.other_half, limit=args.limit)
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    sys.stdout.write(as_markdown(table))
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in table], indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
