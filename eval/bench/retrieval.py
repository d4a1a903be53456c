"""Lexical, dense and hybrid search side by side on one benchmark."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from rag.errors import QuestionError
from rag.index import Progress
from rag.settings import Settings

from ..measures import Measure
from ..metrics import percentile
from ..stats import Difference, bootstrap_interval, paired_difference
from ..trec import Benchmark, load_benchmark, measure_run, write_run
from .check_trec import largest_difference
from .corpus import Corpus, open_corpus
from .fusions import equal_shares, reciprocal_ranks
from .rerank import Reranker
from .results import EngineRow, RetrievalTable

Engine = Literal["lexical", "dense", "hybrid", "reranked", "ranks", "halves"]
ENGINES: tuple[Engine, ...] = get_args(Engine)[:4]  # the last only where a cross-encoder is given
PLAIN: dict[Engine, Callable[..., dict[str, float]]] = {  # of what lexical and dense found
    "ranks": reciprocal_ranks,
    "halves": equal_shares,
}
SHOWN = ("ndcg@10", "map", "mrr", "recall@10", "recall@100", "precision@10")
DECISIVE = "ndcg@10"
DEPTH = 100  # papers in a run

Scores = dict[str, dict[str, float]]  # query or document → name or document → value


def measure(
    folder: Path,
    settings: Settings,
    *,
    out: Path | None = None,
    seed: int = 0,
    check_trec: bool = False,
    reranker: Reranker | None = None,
    progress: Progress,
) -> RetrievalTable:
    """Search every judged query with each engine and measure the rankings.

    Args:
        folder: A benchmark folder in BEIR's layout.
        settings: The settings in force.
        out: Where the TREC run files go, ``BENCHMARK.ENGINE.run``; None writes none.
        seed: Seed of intervals and tests.
        check_trec: Compare every measure of every query with pytrec_eval's.
        reranker: Sorts the hybrid's papers anew, as an engine of its own; None leaves it out.
        progress: Told of every step.

    Raises:
        RecordError: The folder is no benchmark, or a file in it is malformed.
    """
    benchmark = load_benchmark(folder)
    corpus = open_corpus(folder, settings, progress, top_k=DEPTH, candidates=DEPTH)
    with corpus.library:
        engines = [engine for engine in ENGINES if reranker or engine != "reranked"]
        runs = {
            engine: _search(corpus, benchmark, engine, reranker, progress) for engine in engines
        }
    runs.update({engine: _plain(runs, fusion) for engine, fusion in PLAIN.items()})
    scores = {engine: measure_run(run, benchmark.qrels) for engine, (run, _, _) in runs.items()}
    rows = []
    for engine, (run, times, _) in runs.items():
        if out is not None:
            write_run(out / f"{benchmark.name}.{engine}.run", run, f"citewell-{engine}")
        rows.append(
            EngineRow(
                engine,
                _measures(benchmark, scores[engine], seed=seed),
                None if engine == "hybrid" else _difference(benchmark, scores, engine, seed=seed),
                percentile(times, 50) or 0.0,
                percentile(times, 95) or 0.0,
                largest_difference(run, benchmark.qrels) if check_trec else None,
            )
        )
    return RetrievalTable(
        benchmark.name,
        benchmark.qrels_name,
        corpus.facts.papers,
        len(corpus.facts.merged),
        corpus.facts.failed,
        len(benchmark.judged),
        max(unasked for _, _, unasked in runs.values()),
        corpus.facts.seconds,
        tuple(rows),
    )


def _search(
    corpus: Corpus,
    benchmark: Benchmark,
    engine: Engine,
    reranker: Reranker | None,
    progress: Progress,
) -> tuple[Scores, list[float], int]:
    """Return a run in the benchmark's ids, the time of each search, and how many had to be left."""
    library = corpus.library
    mode = "hybrid" if engine == "reranked" else engine
    library.settings = library.settings.model_copy(update={"retrieval": mode})
    library.search("warm up")  # loads what the engine needs, so that no query pays for it
    run: Scores = {}
    times: list[float] = []
    judged = benchmark.judged
    for done, query in enumerate(judged, start=1):
        began = time.perf_counter()
        try:
            found = library.search(benchmark.queries[query])
        except QuestionError:
            continue
        scores = [ranked.score for ranked in found]
        if engine == "reranked" and reranker is not None:
            scores = reranker.scores(benchmark.queries[query], found)
        times.append(1000 * (time.perf_counter() - began))
        run[query] = {
            original: score
            for ranked, score in zip(found, scores, strict=True)
            for original in corpus.originals.get(ranked.paper.id, ())
        }
        progress(f"{benchmark.name}: {engine}", done, len(judged))
    return run, times, len(judged) - len(times)


def _plain(
    runs: Mapping[Engine, tuple[Scores, list[float], int]], fusion: Callable[..., dict[str, float]]
) -> tuple[Scores, list[float], int]:
    """Return the run of a plain hybrid; it takes as long as the two searches together."""
    (words, first, unasked), (vectors, second, _) = runs["lexical"], runs["dense"]
    run = {query: fusion(words[query], vectors.get(query, {})) for query in words}
    return run, [a + b for a, b in zip(first, second, strict=False)], unasked


def _measures(
    benchmark: Benchmark, scores: Mapping[str, Mapping[str, float]], *, seed: int
) -> dict[str, Measure]:
    found = {}
    for name in SHOWN:
        values = _values(benchmark, scores, name)
        low, high = bootstrap_interval(values, seed=seed) or (None, None)
        found[name] = Measure(name, float(np.mean(values)), len(values), len(values), low, high)
    return found


def _values(
    benchmark: Benchmark, scores: Mapping[str, Mapping[str, float]], name: str
) -> Sequence[float]:
    return [scores[query][name] for query in benchmark.judged]


def _difference(
    benchmark: Benchmark, scores: Mapping[Engine, Scores], engine: Engine, *, seed: int
) -> Difference | None:
    """Return how the hybrid differs from an engine, query by query."""
    mine, hybrid = (_values(benchmark, scores[e], DECISIVE) for e in (engine, "hybrid"))
    return paired_difference(mine, hybrid, seed=seed)
