"""The sentence of each ranked paper that is nearest to a query, without reading anything deeply."""

import logging
from collections.abc import Sequence

import numpy as np

from .embedders import Vectors
from .index import Index
from .injection import flags_for
from .schema import Passage, RankedPaper, Span
from .sentences import spans_of

log = logging.getLogger(__name__)

MOST_TRIED = 3  # sentences of a paper that are looked at until one reports something


def best_sentences(index: Index, query: str, ranked: Sequence[RankedPaper]) -> dict[str, Span]:
    """Return where the nearest sentence of each paper stands in its abstract.

    Sentences are compared by their kept vectors, or, where there are none, by the query's words,
    rare ones counting more. One that gives orders to its reader is passed over.

    Args:
        index: The library's index.
        query: Plain text.
        ranked: What a search found.

    Returns:
        Paper id → span; papers without an abstract, or in which nothing is like the query, are left
        out.
    """
    ids = [one.paper.id for one in ranked]
    passages = index.passages.of(ids)
    vectors = index.sentence_vectors(ids)
    asked = _asked(index, query) if vectors else None
    words = index.terms.weights(list(dict.fromkeys(index.terms.terms(query))))
    found = {}
    for name in ids:
        scored = [
            pair
            for passage in passages.get(name, [])
            for pair in _scored(index, passage, words, asked, vectors.get(passage.id))
        ]
        if (best := _best(scored)) is not None:
            found[name] = best
    return found


def _asked(index: Index, query: str) -> Vectors | None:
    """Return the query's vector, or None where the embedder fails: words must do then."""
    try:
        return index.embed_query(query)
    except Exception as exc:  # an embedder may fail in any way
        log.warning("Sentences are compared by words: %s", exc)
        return None


def _scored(
    index: Index,
    passage: Passage,
    words: dict[str, float],
    asked: Vectors | None,
    vectors: Vectors | None,
) -> list[tuple[float, str, Span]]:
    """Return score, text and place of every sentence of a passage."""
    spans = spans_of(passage)
    texts = [passage.text[s.start - passage.span.start : s.end - passage.span.start] for s in spans]
    if asked is not None and vectors is not None and vectors.shape == (len(spans), len(asked)):
        scores = np.asarray(vectors @ asked).tolist()
    else:
        held = (set(index.terms.terms(text)) for text in texts)
        scores = [sum(w for word, w in words.items() if word in terms) for terms in held]
    return list(zip(scores, texts, spans, strict=True))


def _best(scored: Sequence[tuple[float, str, Span]]) -> Span | None:
    order = sorted(scored, key=lambda one: (-one[0], one[2].start))
    for score, text, span in order[:MOST_TRIED]:
        if score > 0 and not any(flags_for([text])):
            return span
    return None
