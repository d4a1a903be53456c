"""Which papers a query finds: words and vectors, fused, filtered, as a LlamaIndex retriever."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from pydantic import Field

from .index import Index
from .schema import Filters, RankedPaper

Mode = Literal["hybrid", "lexical", "dense"]
LEXICAL_SHARE = 0.4  # measured on the open benchmarks: see docs/benchmarks.md


@dataclass(frozen=True, slots=True)
class Found:
    """A ranked list and how long its parts took, in milliseconds."""

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
    """

    def __init__(self, index: Index, *, candidates: int = 100, mode: Mode = "hybrid") -> None:
        self._index = index
        self._candidates = candidates
        self._mode = mode

    def search(self, query: str, *, top_k: int = 10, filters: Filters | None = None) -> Found:
        """Rank papers.

        Args:
            query: Plain text.
            top_k: At most so many papers, 1 or more.
            filters: Only papers that match; None means all.

        Returns:
            Papers by falling score, 0 to 1 for a hybrid. Empty when nothing matches.
        """
        began = time.perf_counter()
        allowed = self._index.catalogue.matching(filters) if filters else None
        if allowed is not None and not allowed:
            return Found()
        lexical = self._lexical(query, allowed)
        words = time.perf_counter()
        dense = self._dense(query, allowed, list(lexical))
        vectors = time.perf_counter()
        scores = self._fuse(lexical, {name: hit.cosine for name, hit in dense.items()})
        best = sorted(scores, key=lambda name: (-scores[name], name))[:top_k]
        papers = self._ranked(best, scores, dense)
        return Found(
            papers,
            {"terms": 1000 * (words - began), "vectors": 1000 * (vectors - words)},
        )

    def _lexical(self, query: str, allowed: Sequence[str] | None) -> dict[str, float]:
        if self._mode == "dense":
            return {}
        return dict(self._index.terms.search(query, self._candidates, allowed=allowed))

    def _dense(
        self, query: str, allowed: Sequence[str] | None, also: Sequence[str]
    ) -> dict[str, _Dense]:
        """Return the nearest passage of each candidate, those that the words found included."""
        if self._mode == "lexical" or not self._index.passages.any_vectors():
            return {}
        vector = self._index.embed_query(query)
        hits = self._index.nearest(vector, self._candidates, allowed=allowed)
        known = {paper_id for _, paper_id, _ in hits}
        missing = [paper_id for paper_id in also if paper_id not in known]
        if missing:
            hits += self._index.nearest(vector, len(missing) * 50, allowed=missing)
        best: dict[str, _Dense] = {}
        for passage_id, paper_id, cosine in hits:
            if paper_id not in best or cosine > best[paper_id].cosine:
                best[paper_id] = _Dense(passage_id, cosine)
        return best

    def _fuse(self, lexical: dict[str, float], dense: dict[str, float]) -> dict[str, float]:
        if self._mode == "lexical" or not dense:
            return lexical
        if self._mode == "dense":
            return dense
        return fuse(lexical, dense)

    def _ranked(
        self, ids: Sequence[str], scores: Mapping[str, float], dense: Mapping[str, _Dense]
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
            )
            for rank, name in enumerate(present, start=1)
        )


def fuse(
    lexical: Mapping[str, float], dense: Mapping[str, float], *, share: float = LEXICAL_SHARE
) -> dict[str, float]:
    """Mix two rankings by their scores, each brought to 0..1 first.

    BM25 is divided by its best score (no match is 0); cosines are brought from their range over the
    candidates to 0..1 (min–max; all are 1 where they are equal). A paper that one engine lacks gets
    0 from it.

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
    """

    def __init__(
        self, searcher: Searcher, *, top_k: int = 10, filters: Filters | None = None
    ) -> None:
        super().__init__(callback_manager=CallbackManager([]))
        self._searcher = searcher
        self._top_k = top_k
        self._filters = filters

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._searcher.search(
            query_bundle.query_str, top_k=self._top_k, filters=self._filters
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
