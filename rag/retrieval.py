"""Which papers a query finds: words and vectors, fused, filtered, as a LlamaIndex retriever.

Vectors that the best papers lack are made for the query, within a budget of time.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

from .embedders import Vectors
from .embedding import Made
from .guide import Guide
from .index import Index
from .reinforcing import best_of, reinforce
from .schema import Filters, RankedPaper

log = logging.getLogger(__name__)

Mode = Literal["hybrid", "lexical", "dense"]
MOST_GUIDED = 200  # candidates whose texts are compared with each other
LEXICAL_SHARE = 0.4  # measured on the open benchmarks: see docs/benchmarks.md


@dataclass(frozen=True, slots=True)
class Found:
    """A ranked list and how long its parts took, in milliseconds.

    Timed are ``terms``, ``question`` (its vector), ``embedding`` (vectors made for it),
    ``vectors`` (comparing) and ``fusing``.
    """

    papers: tuple[RankedPaper, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Dense:
    """A paper's nearest passage."""

    passage_id: str
    cosine: float


class Searcher:
    """Ranks the papers of an index for a query.

    Args:
        index: The library's index.
        candidates: Papers taken from each engine before fusing.
        mode: ``"hybrid"``, ``"lexical"`` or ``"dense"``.
        budget_s: Longest time in which missing vectors are made; None takes it from the index.
    """

    def __init__(
        self,
        index: Index,
        *,
        candidates: int = 100,
        mode: Mode = "hybrid",
        budget_s: float | None = None,
    ) -> None:
        self._index = index
        self._candidates = candidates
        self._mode = mode
        self._budget_s = index.embed_budget_s if budget_s is None else budget_s

    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        filters: Filters | None = None,
        alike: bool = True,
    ) -> Found:
        """Rank papers.

        Args:
            query: Plain text.
            top_k: At most so many papers, 1 or more.
            filters: Only papers that match; None means all.
            alike: Raise papers that resemble other well-ranked ones, and score the words of papers
                that only vectors found: right for a topic. Questions that one paper answers go
                without, as the models that read them were fitted.

        Returns:
            Papers by falling score, 0 to 1 for a hybrid. Empty when nothing matches.
        """
        allowed = self._index.catalogue.matching(filters) if filters else None
        if allowed is not None and not allowed:
            return Found()
        with self._index.asking.marked():
            return self._search(query, top_k, allowed, alike=alike)

    def _search(
        self, query: str, top_k: int, allowed: Sequence[str] | None, *, alike: bool
    ) -> Found:
        clock = _Clock()
        lexical = self._lexical(query, allowed)
        clock.lap("terms")
        dense = self._dense(query, allowed, lexical, clock)
        clock.lap("vectors")
        cosines = {name: hit.cosine for name, hit in dense.items()}
        if alike:
            lexical = self._completed(query, lexical, list(cosines))
        mixed = self._fuse(lexical, cosines)
        scores = mixed
        if alike and self._mode == "hybrid" and dense:
            scores = reinforce(mixed, self._index.paper_vectors(best_of(mixed)))
        clock.lap("fusing")
        best = sorted(scores, key=lambda name: (-scores[name], name))[:top_k]
        papers = self._ranked(best, scores, mixed, dense)
        self._index.fine.flush()
        return Found(papers, clock.laps)

    def _lexical(self, query: str, allowed: Sequence[str] | None) -> dict[str, float]:
        if self._mode == "dense":
            return {}
        return dict(self._index.terms.search(query, self._candidates, allowed=allowed))

    def _dense(
        self,
        query: str,
        allowed: Sequence[str] | None,
        lexical: Mapping[str, float],
        clock: "_Clock",
    ) -> dict[str, _Dense]:
        """Return the nearest passage of each candidate, those that the words found included."""
        if self._mode == "lexical":
            return {}
        vector = self._vector(query, lexical, clock)
        if vector is None:
            return {}
        hits = self._index.nearest(vector, self._candidates, allowed=allowed)
        known = {paper_id for _, paper_id, _ in hits}
        missing = [paper_id for paper_id in lexical if paper_id not in known]
        if missing:
            hits += self._index.nearest(vector, len(missing) * 50, allowed=missing)
        best: dict[str, _Dense] = {}
        for passage_id, paper_id, cosine in hits:
            if paper_id not in best or cosine > best[paper_id].cosine:
                best[paper_id] = _Dense(passage_id, cosine)
        return best

    def _vector(self, query: str, lexical: Mapping[str, float], clock: "_Clock") -> Vectors | None:
        """Return the query's vector, after making those that the words' best papers lack.

        None where there is nothing to compare it with.
        """
        index = self._index
        wanted = bool(lexical) and index.passages.any_lacking()
        if not index.any_vectors() and not (wanted and self._budget_s):
            return None
        try:
            vector = index.embed_query(query)
        except Exception as exc:  # an embedder may fail in any way; words are searched then
            if index.any_vectors():
                raise
            log.warning("Only words are searched: %s", exc)
            return None
        clock.lap("question")
        if wanted:
            self._complete(vector, lexical)
            clock.lap("embedding")
        return vector if index.any_vectors() else None

    def _complete(self, vector: Vectors, lexical: Mapping[str, float]) -> None:
        """Make the vectors that the words' best papers lack, the most promising first."""
        index, best = self._index, list(lexical)
        near: dict[str, float] = {}
        guide: Guide | None = None

        def choose(rest: list[str], made: Sequence[Made]) -> Sequence[str]:
            """Order what is left by what was made so far."""
            nonlocal guide
            if guide is None:
                for _, paper_id, cosine in index.nearest(vector, len(best) * 50, allowed=best):
                    near[paper_id] = max(cosine, near.get(paper_id, -1.0))
                guide = Guide(index.terms, lexical, _texts(index, best[:MOST_GUIDED]))
            for one in made:
                near[one.paper.id] = max(float(its.vector @ vector) for its in one.vectors)
            return guide.order(rest, near)

        index.fine.complete(best, self._budget_s, choose=choose)

    def _completed(
        self, query: str, lexical: dict[str, float], found: Sequence[str]
    ) -> dict[str, float]:
        """Return the words' scores with those of papers that only vectors found."""
        missing = [name for name in found if name not in lexical]
        if self._mode != "hybrid" or not missing:
            return lexical
        more = self._index.terms.search(query, len(missing), allowed=missing)
        return {**lexical, **dict(more)}

    def _fuse(self, lexical: dict[str, float], dense: dict[str, float]) -> dict[str, float]:
        if self._mode == "lexical" or not dense:
            return lexical
        if self._mode == "dense":
            return dense
        return fuse(lexical, dense)

    def _ranked(
        self,
        ids: Sequence[str],
        scores: Mapping[str, float],
        mixed: Mapping[str, float],
        dense: Mapping[str, _Dense],
    ) -> tuple[RankedPaper, ...]:
        papers = self._index.catalogue.papers(ids)
        present = [name for name in ids if name in papers]  # one may be removed meanwhile
        return tuple(
            RankedPaper(
                paper=papers[name],
                rank=rank,
                score=scores[name],
                cosine=dense[name].cosine if name in dense else None,
                passage_id=dense[name].passage_id if name in dense else f"{name}#0",
                mixed=mixed[name],
            )
            for rank, name in enumerate(present, start=1)
        )


def _texts(index: Index, paper_ids: Sequence[str]) -> dict[str, str]:
    """Return paper id → its title and abstract."""
    papers = index.catalogue.papers(paper_ids)
    return {name: f"{paper.title}\n{paper.abstract}" for name, paper in papers.items()}


class _Clock:
    """Measures one step after another."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        """Count the time since the last step as that of this one."""
        now = time.perf_counter()
        self.laps[name] = self.laps.get(name, 0.0) + 1000 * (now - self._last)
        self._last = now


def fuse(
    lexical: Mapping[str, float], dense: Mapping[str, float], *, share: float = LEXICAL_SHARE
) -> dict[str, float]:
    """Mix two rankings by their scores, each brought to 0..1 first.

    BM25 is divided by its best score (no match is 0); cosines are brought from their range over the
    candidates to 0..1 (min–max; all are 1 where they are equal). A paper that one engine lacks gets
    0 from it, so one whose vector was not made in time counts as far as the farthest candidate. (An
    estimate from its words was measured and ranks no better.)

    Args:
        lexical: Paper id → BM25 score.
        dense: Paper id → cosine.
        share: Weight of the lexical part, 0 to 1.

    Returns:
        Paper id → score, 0 to 1, over both rankings.
    """
    top = max(lexical.values(), default=1.0) or 1.0
    low, high = min(dense.values(), default=0.0), max(dense.values(), default=1.0)
    width = high - low
    near = {name: (cosine - low) / width if width else 1.0 for name, cosine in dense.items()}
    return {
        name: share * lexical.get(name, 0.0) / top + (1 - share) * near.get(name, 0.0)
        for name in {**lexical, **dense}
    }


class PaperNode(TextNode):
    """A LlamaIndex node that stands for one ranked paper; its text is the paper's abstract.

    ``ranked`` is the paper itself, for whoever is in the same process; it is not serialised.
    """

    ranked: Any = Field(default=None, exclude=True)


class PaperRetriever(BaseRetriever):
    """The hybrid search of a library as a LlamaIndex retriever: one node a paper, best first.

    Args:
        searcher: Ranks the papers.
        top_k: At most so many nodes.
        filters: Only papers that match; None means all.
        alike: As in ``Searcher.search``.
    """

    def __init__(
        self,
        searcher: Searcher,
        *,
        top_k: int = 10,
        filters: Filters | None = None,
        alike: bool = True,
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._searcher = searcher
        self._top_k = top_k
        self._filters = filters
        self._alike = alike

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._searcher.search(
            query_bundle.query_str, top_k=self._top_k, filters=self._filters, alike=self._alike
        )
        return nodes_of(found.papers)


def nodes_of(papers: Sequence[RankedPaper]) -> list[NodeWithScore]:
    """Return ranked papers as LlamaIndex nodes, in their order."""
    return [NodeWithScore(node=_node(ranked), score=ranked.score) for ranked in papers]


def _node(ranked: RankedPaper) -> PaperNode:
    paper = ranked.paper
    metadata: dict[str, Any] = {
        "paper_id": paper.id,
        "label": paper.label,
        "authors": "; ".join(paper.authors),
        "topic": paper.topic,
        "year": paper.year,
        "venue": paper.venue,
        "cosine": ranked.cosine,
    }
    known = {key: value for key, value in metadata.items() if value not in (None, "")}
    return PaperNode(
        id_=paper.id,
        text=paper.abstract or paper.title,
        extra_info=known,
        # A synthesizer quotes a node's text as it stands, so nothing may be put before it.
        excluded_llm_metadata_keys=list(known),
        excluded_embed_metadata_keys=list(known),
        ranked=ranked,
    )
