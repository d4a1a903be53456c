"""Paper → rows of passages, and passages → vectors that can be trusted, with any embedder."""

import hashlib
from collections.abc import Sequence

import numpy as np

from .chunking import embedding_text, passages
from .embedders import Embedded, Embedder
from .errors import RagError
from .passages import PassageRow
from .schema import Paper, Passage, Span
from .sentences import sentence_spans


def rows_of(paper: Paper, embedder: Embedder) -> list[PassageRow]:
    """Cut a paper into passages for an embedder, each with the hash of what is embedded."""
    found = passages(paper, embedder.count_tokens, embedder.max_tokens)
    return [PassageRow(passage, _hash(_text(paper, passage, embedder))) for passage in found]


def vectors_of(batch: Sequence[tuple[Passage, Paper]], embedder: Embedder) -> list[Embedded]:
    """Return one ``Embedded`` a passage, in order.

    Raises:
        RagError: A vector is of zeros, holds NaN or has a wrong length, or one is missing.
        Exception: Whatever the embedder raises.
    """
    if not batch:
        return []
    texts = [_text(paper, passage, embedder) for passage, paper in batch]
    spans = [
        _sentences_in(text, passage.text) for text, (passage, _) in zip(texts, batch, strict=True)
    ]
    found = embedder.embed_passages(texts, spans)
    if len(found) != len(batch):
        raise RagError(f"The embedder returned {len(found)} vectors for {len(batch)} texts.")
    return [_checked(one, embedder.dim) for one in found]


def _text(paper: Paper, passage: Passage, embedder: Embedder) -> str:
    return embedding_text(paper.title, passage.text, embedder.count_tokens, embedder.max_tokens)


def _sentences_in(whole: str, text: str) -> list[Span]:
    """Return the sentences of a passage as offsets in its embedded text, which ends with it."""
    shift = len(whole) - len(text)
    return [Span(span.start + shift, span.end + shift) for span in sentence_spans(text)]


def _checked(embedded: Embedded, dim: int) -> Embedded:
    """Refuse a vector of zeros, with NaN or of a wrong length: it would poison every comparison."""
    vector, sentences = embedded.vector, embedded.sentences
    if vector.shape != (dim,) or not np.isfinite(vector).all() or not vector.any():
        raise RagError("The embedder returned a vector of zeros, with NaN or of a wrong length.")
    if sentences is not None and not np.isfinite(sentences).all():
        raise RagError("The embedder returned a sentence's vector with NaN.")
    return embedded


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
