"""Text → vectors: one interface over any LlamaIndex embedding model, and over the packaged one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import plugins
from ..errors import ProviderError
from ..schema import Span
from ..settings import Settings

Vectors = NDArray[np.float32]
CHARS_PER_TOKEN = 3  # a cautious guess for a model that does not show its tokenizer
DEFAULT_MAX_TOKENS = 256


def normalised(rows: Any) -> Vectors:
    """Return rows of length 1 as float32; a row of zeros stays zeros."""
    array = np.atleast_2d(np.asarray(rows, dtype=np.float32))
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    return np.asarray(array / np.where(lengths == 0, 1.0, lengths), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of one passage.

    ``vector`` is ``(dim,)`` float32 of length 1. ``sentences`` is ``(n_sentences, dim)``, one row a
    sentence read in the context of its passage, or None where the model cannot give these.
    """

    vector: Vectors
    sentences: Vectors | None


class Model(Protocol):
    """What is needed of a model: every LlamaIndex ``BaseEmbedding`` has it.

    It may have more, and then that is used: ``profile`` (see ``wrap``), ``embed_queries``,
    ``embed_in_context``.
    """

    def get_query_embedding(self, query: str) -> list[float]:
        """Return the vector of a query."""

    def get_text_embedding(self, text: str) -> list[float]:
        """Return the vector of a text."""

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts, in order."""


@dataclass
class Embedder:
    """An embedding model with what chunking and the manifest need to know of it.

    Args:
        model: Any LlamaIndex embedding model, or one with the same methods.
        name: The spelling in the settings, e.g. ``"minilm"``.
        fingerprint: What makes two vectors comparable: name, revision, prefixes, dimension.
        max_tokens: Longest input that the model reads whole, special tokens included.
        count_tokens: Length of a text for that limit; by default a cautious guess.
        counter: The same for many texts at once; by default one after the other.
    """

    model: Model
    name: str
    fingerprint: dict[str, str | int]
    max_tokens: int = DEFAULT_MAX_TOKENS
    count_tokens: Callable[[str], int] = field(
        default=lambda text: len(text) // CHARS_PER_TOKEN + 2
    )
    counter: Callable[[Sequence[str]], list[int]] | None = None

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Return ``count_tokens`` of each text, at once where the model can."""
        return self.counter(texts) if self.counter else [self.count_tokens(one) for one in texts]

    @property
    def dim(self) -> int:
        """Return the length of a vector."""
        return int(self.fingerprint["dim"])

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a query: ``(dim,)`` float32 of length 1."""
        return np.asarray(normalised(self.model.get_query_embedding(query))[0], dtype=np.float32)

    def embed_queries(self, queries: Sequence[str]) -> Vectors:
        """Return ``(len(queries), dim)`` float32, rows of length 1; at once where the model can."""
        at_once = getattr(self.model, "embed_queries", None)
        if at_once is not None and queries:
            return np.asarray(at_once(queries), dtype=np.float32)
        rows = [self.embed_query(query) for query in queries]
        return np.stack(rows) if rows else np.zeros((0, self.dim), dtype=np.float32)

    def embed_texts(self, texts: Sequence[str]) -> Vectors:
        """Return ``(len(texts), dim)`` float32, rows of length 1, for texts of papers."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return normalised(self.model.get_text_embedding_batch(list(texts)))

    def embed_passages(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[Embedded]:
        """Embed passages and, in the same pass, the sentences inside them.

        Args:
            texts: What is embedded for each passage (title and text).
            spans: For each text, the sentences in it, as offsets in that text.

        Returns:
            One ``Embedded`` a text, in order.
        """
        in_context = getattr(self.model, "embed_in_context", None)
        if in_context is not None:
            found: list[Embedded] = in_context(texts, spans)
            return found
        return [Embedded(vector, None) for vector in self.embed_texts(texts)]


def wrap(model: Model, name: str) -> Embedder:
    """Make an ``Embedder`` of a model.

    Args:
        model: Any LlamaIndex embedding model. Its ``profile``, if it has one, may tell
            ``revision``, ``query_prefix``, ``passage_prefix``, ``dim``, ``max_tokens``,
            ``count_tokens`` and ``count_many``; a dimension that is not told is asked for.
        name: The spelling in the settings.

    Raises:
        ProviderError: The model does not answer.
    """
    extra: dict[str, Any] = getattr(model, "profile", None) or {}
    dim = extra.get("dim") or _asked_dim(model, name)
    fingerprint: dict[str, str | int] = {
        "name": name,
        "revision": str(extra.get("revision", "")),
        "query_prefix": str(extra.get("query_prefix", "")),
        "passage_prefix": str(extra.get("passage_prefix", "")),
        "dim": int(dim),
    }
    known = {key: extra[key] for key in ("max_tokens", "count_tokens") if key in extra}
    return Embedder(model, name, fingerprint, **known, counter=extra.get("count_many"))


def _asked_dim(model: Model, name: str) -> int:
    try:
        return len(model.get_text_embedding("dimension"))
    except Exception as exc:  # a foreign model may fail in any way
        raise ProviderError(
            f"The embedder '{name}' does not embed: {type(exc).__name__}: {exc}. See that what it "
            "needs is there, or choose another with --embedder."
        ) from exc


def build(settings: Settings) -> Embedder:
    """Build the embedder that the settings name: ``kind`` or ``kind:argument``.

    Raises:
        SettingsError: The kind is unknown, or the model is not there or not the expected file.
    """
    kind, _, argument = settings.embedder.partition(":")
    model = plugins.load("embedder", kind)(argument, settings)
    return wrap(model, settings.embedder)
