"""Paper → rows of passages, and passages → vectors that can be trusted, with any embedder."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .chunking import CountTokens, embedding_text, passages
from .embedders import Embedded, Embedder
from .errors import RagError
from .passages import Lacking, PassageRow
from .schema import Paper, Passage, Span
from .sentences import sentence_spans

LONGEST_MEASURED = 20_000  # characters of a text that is measured together with others


@dataclass(frozen=True, slots=True)
class Made:
    """The vectors of a paper's passages, made from the paper as it was at that time.

    ``cut`` says that ``rows`` are all its passages, in place of the abstract not yet cut.
    """

    paper: Paper
    rows: tuple[PassageRow, ...]
    vectors: tuple[Embedded, ...]
    cut: bool


def rows_of(paper: Paper, embedder: Embedder) -> list[PassageRow]:
    """Cut a paper into passages for an embedder, each with the hash of what is embedded."""
    return rows_of_many([paper], embedder)[0]


def rows_of_many(papers: Sequence[Paper], embedder: Embedder) -> list[list[PassageRow]]:
    """Cut papers into passages, as ``rows_of`` each of them, measuring their texts together."""
    count = _measured(papers, embedder)
    return [
        [
            PassageRow(passage, _hash(_text(paper, passage, count, embedder.max_tokens)))
            for passage in passages(paper, count, embedder.max_tokens)
        ]
        for paper in papers
    ]


def _measured(papers: Sequence[Paper], embedder: Embedder) -> CountTokens:
    """Return a token counter that knows already what cutting these papers will ask for."""
    known: dict[str, int] = {}

    def count(text: str) -> int:
        return known[text] if text in known else embedder.count_tokens(text)

    def measure(texts: Iterable[str]) -> None:
        new = [t for t in dict.fromkeys(texts) if len(t) <= LONGEST_MEASURED and t not in known]
        known.update(zip(new, embedder.count_many(new), strict=True))

    measure(["", *(" ".join(paper.title.split()) for paper in papers)])
    most = embedder.max_tokens
    heads = [embedding_text(paper.title, "|", count, most)[:-1] for paper in papers]
    wholes = [head + p.abstract.strip() for head, p in zip(heads, papers, strict=True)]
    measure(wholes)
    long = [n for n, whole in enumerate(wholes) if known.get(whole, most + 1) > most]
    measure(heads[n] for n in long)
    measure(
        papers[n].abstract[span.start : span.end]
        for n in long
        for span in sentence_spans(papers[n].abstract)
    )
    return count


def make(lacking: Sequence[Lacking], embedder: Embedder) -> list[Made]:
    """Embed what a few papers lack, cutting those that are not cut yet.

    Raises:
        RagError: A vector cannot be trusted.
        Exception: Whatever the embedder raises.
    """
    uncut = [one for one in lacking if one.uncut]
    fresh = dict(
        zip(
            (one.paper.id for one in uncut),
            rows_of_many([one.paper for one in uncut], embedder),
            strict=True,
        )
    )
    rows = [tuple(fresh.get(one.paper.id, one.rows)) for one in lacking]
    batch = [
        (row.passage, one.paper) for one, its in zip(lacking, rows, strict=True) for row in its
    ]
    found = iter(vectors_of(batch, embedder))
    return [
        Made(one.paper, its, tuple(next(found) for _ in its), one.uncut)
        for one, its in zip(lacking, rows, strict=True)
    ]


def vectors_of(batch: Sequence[tuple[Passage, Paper]], embedder: Embedder) -> list[Embedded]:
    """Return one ``Embedded`` a passage, in order.

    Raises:
        RagError: A vector is of zeros, holds NaN or has a wrong length, or one is missing.
        Exception: Whatever the embedder raises.
    """
    if not batch:
        return []
    texts = [
        _text(paper, passage, embedder.count_tokens, embedder.max_tokens)
        for passage, paper in batch
    ]
    spans = [
        _sentences_in(text, passage.text) for text, (passage, _) in zip(texts, batch, strict=True)
    ]
    found = embedder.embed_passages(texts, spans)
    if len(found) != len(batch):
        raise RagError(f"The embedder returned {len(found)} vectors for {len(batch)} texts.")
    return [_checked(one, embedder.dim) for one in found]


def _text(paper: Paper, passage: Passage, count: CountTokens, max_tokens: int) -> str:
    return embedding_text(paper.title, passage.text, count, max_tokens)


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
