"""How good a search is right after adding, when a question embeds its best candidates itself."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rag.errors import QuestionError
from rag.index import Progress, no_progress
from rag.library import Library
from rag.settings import Settings

from ..manifest import versions
from ..report import replace_file
from ..trec import Benchmark, load_benchmark, measure_run
from . import demand_search
from .corpus import Corpus, open_corpus
from .demand_search import Search
from .demand_table import DemandResults, DemandRow, as_json, as_markdown, as_text, share
from .retrieval import DECISIVE
from .speed_corpus import embedded_library, finish
from .speed_rows import machine

__all__ = ["MARKS", "DemandWishes", "as_json", "as_markdown", "as_text", "run"]

MARKS = "citewell bench on-demand"
UNLIMITED = float("inf")
EMBEDDED, WORDS = "fully embedded", "words alone"


@dataclass(frozen=True, slots=True)
class DemandWishes:
    """What to measure.

    Attributes:
        budgets: Seconds a question may embed; without a limit is always measured too.
        limit: A seeded sample of so many queries of each folder; None takes all.
        simulate: Make each vector once, and keep the budget by a clock that counts embedding at
            a rate.
        rate: With ``simulate``: passages embedded a second; None measures it.
        library: A library that holds the corpus already; None makes one and keeps it.
        seed: Seed of samples and intervals.
        out: Where ``on-demand.json`` goes; None writes none.
    """

    budgets: Sequence[float] = (0.5, 1.5)
    limit: int | None = None
    simulate: bool = False
    rate: float | None = None
    library: str | None = None
    seed: int = 0
    out: Path | None = None


def run(
    folders: Sequence[Path],
    settings: Settings,
    wishes: DemandWishes,
    *,
    progress: Progress = no_progress,
) -> DemandResults:
    """Measure benchmark folders in their order.

    Args:
        folders: In BEIR's layout, with judgments.
        settings: The settings in force; ``embed_budget`` is set for each row.
        wishes: What to measure.
        progress: Told of every step.

    Returns:
        For each folder a row a budget, one without a limit, the fully embedded library, and words
        alone. What was finished before an error is in ``on-demand.json``.

    Raises:
        RecordError: A folder is no benchmark, or a file in it is malformed.
    """
    results = DemandResults(
        made={
            "simulated": wishes.simulate,
            "limit": wishes.limit,
            "seed": wishes.seed,
            "versions": versions(),
            "machine": machine(),
        }
    )
    for folder in folders:
        results.rows += _measured(folder, settings, wishes, progress)
        if wishes.out is not None:
            wishes.out.mkdir(parents=True, exist_ok=True)
            replace_file(wishes.out / "on-demand.json", as_json(results) + "\n")
    return results


def _measured(
    folder: Path, settings: Settings, wishes: DemandWishes, progress: Progress
) -> list[DemandRow]:
    benchmark = load_benchmark(folder)
    queries = _sample(benchmark.judged, wishes.limit, wishes.seed)
    with _embedded(folder, settings, wishes.library, progress) as corpus:
        ways = [
            demand_search.whole(EMBEDDED, corpus.library, "hybrid"),
            demand_search.whole(WORDS, corpus.library, "lexical"),
        ]
        with tempfile.TemporaryDirectory(prefix="citewell-demand-") as work:
            budgets = [*sorted(set(wishes.budgets)), UNLIMITED]
            ways += demand_search.cold(
                folder,
                settings,
                budgets,
                Path(work),
                simulate=wishes.simulate,
                rate=wishes.rate,
            )
            scores = {
                way: _scores(way, benchmark, queries, corpus.originals, progress) for way in ways
            }
    return _rows(benchmark.name, scores, wishes.seed)


@contextmanager
def _embedded(
    folder: Path, settings: Settings, name: str | None, progress: Progress
) -> Iterator[Corpus]:
    """Yield the fully embedded library of a folder's corpus, with the ids of the benchmark."""
    if name is None:
        corpus = open_corpus(folder, settings, progress)
        with corpus.library:
            finish(corpus.library, progress)
            yield corpus
        return
    with embedded_library(folder, settings, name, progress) as library:
        yield _known(library)


def _known(library: Library) -> Corpus:
    from .corpus import Facts, own_id

    papers = library.papers()
    originals = {paper.id: (own_id(paper),) for paper in papers}
    return Corpus(library, Facts(len(papers), len(papers), 0, 0.0), originals)


def _sample(queries: Sequence[str], limit: int | None, seed: int) -> list[str]:
    if limit is None or limit >= len(queries):
        return list(queries)
    chosen = np.random.default_rng(seed).choice(len(queries), size=limit, replace=False)
    return [queries[i] for i in sorted(chosen)]


def _scores(
    way: Search,
    benchmark: Benchmark,
    queries: Sequence[str],
    originals: Mapping[str, Sequence[str]],
    progress: Progress,
) -> list[float]:
    """Return nDCG@10 of each query; 0 for one that cannot be asked."""
    ranked: dict[str, dict[str, float]] = {}
    for done, query in enumerate(queries, start=1):
        try:
            found = way.search(benchmark.queries[query])
        except QuestionError:
            found = {}
        ranked[query] = {
            name: score for paper, score in found.items() for name in originals.get(paper, ())
        }
        progress(f"{benchmark.name}: {way.name}", done, len(queries))
    measured = measure_run(ranked, {query: benchmark.qrels[query] for query in queries})
    return [measured[query][DECISIVE] for query in queries]


def _rows(benchmark: str, scores: Mapping[Search, Sequence[float]], seed: int) -> list[DemandRow]:
    by_name = {way.name: values for way, values in scores.items()}
    return [
        DemandRow(
            benchmark,
            way.name,
            len(values),
            float(np.mean(values)),
            None if way.name == EMBEDDED else share(values, by_name[EMBEDDED], seed=seed),
            None if way.name == WORDS else share(values, by_name[WORDS], seed=seed),
            way.simulated,
        )
        for way, values in scores.items()
    ]
