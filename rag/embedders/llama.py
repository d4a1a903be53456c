"""Any embedder of Citewell as a LlamaIndex embedding, for those who use LlamaIndex by itself."""

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from . import Embedder


class EmbedderEmbedding(BaseEmbedding):
    """An ``Embedder`` behind LlamaIndex's own interface.

    Args:
        embedder: What embeds, e.g. ``rag.embedders.build(settings)``.

    Example:
        >>> from rag.embedders import build
        >>> from rag.settings import load_settings
        >>> model = EmbedderEmbedding(build(load_settings(embedder="word-hash")))
        >>> len(model.get_text_embedding("a text"))
        256
    """

    _embedder: Embedder = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name)
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        found: list[float] = self._embedder.embed_query(query).tolist()
        return found

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        found: list[list[float]] = self._embedder.embed_texts(texts).tolist()
        return found
