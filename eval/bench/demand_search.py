"""The ways to search that ``citewell bench on-demand`` compares, each as a function of a query."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from rag import embedders
from rag.embedders import Embedder
from rag.library import Library, open_library
from rag.retrieval import fuse
from rag.schema import Filters
from rag.settings import Settings

from ..trec import corpus_path

DEPTH = 20  # papers of a run; nDCG looks at ten
WARM_TEXTS = 24  # embedded once to see how fast that goes
COLD = "cold"
_LONGEST_QUESTION = 100_000  # characters; some benchmarks ask with whole abstracts

Scores = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Search:
    """One way to search.

    Attributes:
        name: What the table calls it.
        search: Paper id → score of a query's best papers.
        candidates: How many papers have a vector, where that is simulated; else None.
    """

    name: str
    search: Callable[[str], Scores]
    candidates: int | None = None


def whole(name: str, library: Library, mode: Literal["hybrid", "lexical"]) -> Search:
    """Return the search of a library as it is."""
    return Search(name, partial(_search, library, mode=mode))


def _search(
    library: Library,
    query: str,
    *,
    mode: Literal["hybrid", "lexical", "dense"],
    top_k: int = DEPTH,
    filters: Filters | None = None,
) -> dict[str, float]:
    wanted = {"retrieval": mode, "max_question_chars": _LONGEST_QUESTION}
    library.settings = library.settings.model_copy(update=wanted)
    found = library.search(query, top_k=top_k, filters=filters)
    return {one.paper.id: one.score for one in found}


# ---- really cold ---------------------------------------------------------------------------------


def cold(folder: Path, settings: Settings, budgets: Sequence[float], work: Path) -> list[Search]:
    """Add a corpus, embed nothing, and return a search a budget that finds it so for every query.

    Args:
        folder: Holds the corpus.
        settings: The settings in force.
        budgets: Seconds a question may embed; ``inf`` for no limit.
        work: A folder for the library and its copies.
    """
    own = settings.model_copy(
        update={"home": work / "home", "library": COLD, "max_question_chars": _LONGEST_QUESTION}
    )
    with open_library(settings=own, create=True) as library:
        library.add(corpus_path(folder))
        added = library.folder
    embedder = embedders.build(own)
    embedder.embed_query("warm up")
    return [
        Search(_named(budget), partial(_cold_search, own, added, embedder, budget))
        for budget in budgets
    ]


def _named(budget: float) -> str:
    return "on demand, no limit" if budget == float("inf") else f"on demand, {budget:g} s"


def _cold_search(
    settings: Settings, added: Path, embedder: Embedder, budget: float, query: str
) -> dict[str, float]:
    """Search a new copy of the library, so that no vector is there that another query made."""
    home = settings.home.parent / "copy"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(added, home / added.name)
    own = settings.model_copy(update={"home": home, "embed_budget": budget})
    with _sharing(embedder), open_library(settings=own, finish=False) as library:
        return _search(library, query, mode="hybrid")


@contextmanager
def _sharing(embedder: Embedder) -> Iterator[None]:
    """Let libraries use an embedder that is loaded already: loading is no part of a question."""
    usual = embedders.build
    embedders.build = lambda settings: embedder
    try:
        yield
    finally:
        embedders.build = usual


# ---- simulated -----------------------------------------------------------------------------------


def simulated(
    library: Library, budgets: Sequence[float], rate: float | None = None
) -> list[Search]:
    """Return a search a budget that takes the vectors it would make from an embedded library.

    A budget buys as many of the papers that the words rank best as the embedder reads in that time;
    the others count by their words.

    Args:
        library: Fully embedded.
        budgets: Seconds; ``inf`` for all candidates.
        rate: Papers embedded a second; None measures it.
    """
    each_second = measured_rate(library) if rate is None else rate
    most = library.settings.candidates
    found = []
    for budget in budgets:
        count = most if budget == float("inf") else min(most, int(budget * each_second))
        name = f"{_named(budget)} (simulated: {count} candidates)"
        found.append(Search(name, partial(_simulated_search, library, count), count))
    return found


def _simulated_search(library: Library, count: int, query: str) -> dict[str, float]:
    words = _search(library, query, mode="lexical", top_k=library.settings.candidates)
    first = tuple(words)[:count]
    if not first:
        return dict(words)
    filters = Filters(paper_ids=first)
    near = _search(library, query, mode="dense", top_k=count, filters=filters)
    scores = fuse(words, near) if near else words
    return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:DEPTH])


def measured_rate(library: Library) -> float:
    """Return how many papers a second the library's embedder reads, from some of its own."""
    papers = library.papers(limit=WARM_TEXTS)
    texts = [f"{paper.title}\n{paper.abstract}" for paper in papers]
    embedder = library.engine("quote").index.embedder
    embedder.embed_texts(texts[:2])  # the first call is slower
    began = time.perf_counter()
    embedder.embed_texts(texts)
    return len(texts) / (time.perf_counter() - began)
