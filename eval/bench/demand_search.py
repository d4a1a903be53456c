"""The ways to search that ``citewell bench on-demand`` compares, each as a function of a query."""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rag import embedders, fine
from rag.embedders import Embedded, Embedder
from rag.library import Library, open_library
from rag.schema import Span
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
        simulated: Whether the clock of its budget is not the real one.
    """

    name: str
    search: Callable[[str], Scores]
    simulated: bool = False


def whole(name: str, library: Library, mode: Literal["hybrid", "lexical"]) -> Search:
    """Return the search of a library as it is."""
    return Search(name, partial(_search, library, mode=mode))


def _search(
    library: Library, query: str, *, mode: Literal["hybrid", "lexical"]
) -> dict[str, float]:
    wanted = {"retrieval": mode, "max_question_chars": _LONGEST_QUESTION}
    library.settings = library.settings.model_copy(update=wanted)
    found = library.search(query, top_k=DEPTH)
    return {one.paper.id: one.score for one in found}


# ---- right after adding --------------------------------------------------------------------------


def cold(
    folder: Path,
    settings: Settings,
    budgets: Sequence[float],
    work: Path,
    *,
    simulate: bool = False,
    rate: float | None = None,
) -> list[Search]:
    """Add a corpus, embed nothing, and return a search a budget that finds it so for every query.

    Args:
        folder: Holds the corpus.
        settings: The settings in force.
        budgets: Seconds a question may embed; ``inf`` for no limit.
        work: A folder for the library and its copies.
        simulate: Remember vectors from query to query, and let embedding take as long by the
            question's clock as it would at ``rate``, so that a budget buys what it would buy.
        rate: With ``simulate``: passages embedded a second; None measures it.
    """
    own = settings.model_copy(
        update={"home": work / "home", "library": COLD, "max_question_chars": _LONGEST_QUESTION}
    )
    with open_library(settings=own, create=True) as library:
        library.add(corpus_path(folder))
        added = library.folder
        papers = library.papers(limit=WARM_TEXTS)
    embedder, clock, how = embedders.build(own), None, ""
    embedder.embed_query("warm up")
    if simulate:
        texts = [f"{paper.title}\n{paper.abstract}" for paper in papers]
        clock = SimulatedClock(rate or measured_rate(embedder, texts))
        embedder = remembering(embedder, clock)
        how = f" (simulated: {clock.rate:.3g} passages a second)"
    return [
        Search(
            _named(budget) + how,
            partial(_cold_search, own, added, embedder, clock, budget),
            simulate,
        )
        for budget in budgets
    ]


def _named(budget: float) -> str:
    return "on demand, no limit" if budget == float("inf") else f"on demand, {budget:g} s"


def _cold_search(
    settings: Settings,
    added: Path,
    embedder: Embedder,
    clock: "SimulatedClock | None",
    budget: float,
    query: str,
) -> dict[str, float]:
    """Search a new copy of the library, so that no vector is there that another query made."""
    home = settings.home.parent / "copy"
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(added, home / added.name)
    own = settings.model_copy(update={"home": home, "embed_budget": budget})
    with _using(embedder, clock), open_library(settings=own, finish=False) as library:
        return _search(library, query, mode="hybrid")


@contextmanager
def _using(embedder: Embedder, clock: "SimulatedClock | None") -> Iterator[None]:
    """Let libraries use an embedder that is loaded already, and their questions a clock.

    Loading is no part of a question.
    """
    budgets: Any = fine  # the module that keeps the budget; of its time it needs monotonic()
    usual = embedders.build, budgets.time
    embedders.build = lambda settings: embedder
    budgets.time = clock or budgets.time
    try:
        yield
    finally:
        embedders.build, budgets.time = usual


# ---- simulated -----------------------------------------------------------------------------------


@dataclass
class SimulatedClock:
    """A clock by which embedding takes as long as at a given rate, and all else as long as it does.

    Attributes:
        rate: Passages embedded a second.
        ahead_s: Seconds by which it is ahead of the real one.
    """

    rate: float
    ahead_s: float = 0.0

    def monotonic(self) -> float:
        """Return seconds, as ``time.monotonic`` does."""
        return time.monotonic() + self.ahead_s

    @contextmanager
    def embedding(self, passages: int) -> Iterator[None]:
        """Count what is done inside as the embedding of so many passages."""
        began = time.monotonic()
        yield
        self.ahead_s += passages / self.rate - (time.monotonic() - began)


@dataclass
class RememberingEmbedder(Embedder):
    """An embedder that makes the vectors of a text once; its clock counts every time."""

    clock: SimulatedClock = field(default_factory=lambda: SimulatedClock(1.0))
    known: dict[str, Embedded] = field(default_factory=dict)

    def embed_passages(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[Embedded]:
        """Return one ``Embedded`` a text, in order."""
        with self.clock.embedding(len(texts)):
            new = [i for i, text in enumerate(texts) if text not in self.known]
            if new:
                made = super().embed_passages([texts[i] for i in new], [spans[i] for i in new])
                self.known.update(zip((texts[i] for i in new), made, strict=True))
            return [self.known[text] for text in texts]


def remembering(embedder: Embedder, clock: SimulatedClock) -> RememberingEmbedder:
    """Return an embedder that makes the same vectors and remembers them."""
    same = {one.name: getattr(embedder, one.name) for one in fields(embedder)}
    return RememberingEmbedder(**same, clock=clock)


def measured_rate(embedder: Embedder, texts: Sequence[str]) -> float:
    """Return how many passages a second an embedder reads."""
    embedder.embed_texts(texts[:2])  # the first call is slower
    began = time.perf_counter()
    embedder.embed_texts(texts)
    return len(texts) / (time.perf_counter() - began)
