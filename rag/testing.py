"""Stand-ins for tests and demos: real interfaces, no downloads, no network."""

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseGen, LLMMetadata
from llama_index.core.llms.custom import CustomLLM
from pydantic import ConfigDict, Field

from .settings import Settings


class WordHashEmbedding(BaseEmbedding):
    """Deterministic bag-of-words vectors: shared words make vectors similar."""

    model_name: str = "word-hash"
    dim: int = 256

    def _get_text_embedding(self, text: str) -> list[float]:
        vector = [0.0] * self.dim
        for word in re.findall(r"\w+", text.lower()):
            digest = hashlib.blake2b(word.encode(), digest_size=4).digest()
            vector[int.from_bytes(digest) % self.dim] += 1.0
        length = sum(x * x for x in vector) ** 0.5 or 1.0
        return [x / length for x in vector]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


class ScriptedLLM(CustomLLM):
    """A language model that replies from a list, in order, and keeps the prompts it was given.

    A reply that is an exception is raised. ``pieces`` splits a reply for streaming; by default it
    is streamed word by word. The last reply repeats when the list is used up.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    replies: list[str | Exception] = Field(min_length=1)
    prompts: list[str] = Field(default_factory=list)

    @property
    def metadata(self) -> LLMMetadata:
        """Describe the model to LlamaIndex."""
        return LLMMetadata(model_name="scripted", context_window=4096, num_output=256)

    def _next(self, prompt: str) -> str:
        reply = self.replies[min(len(self.prompts), len(self.replies) - 1)]
        self.prompts.append(prompt)
        if isinstance(reply, Exception):
            raise reply
        return reply

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the next reply of the script."""
        return CompletionResponse(text=self._next(prompt))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Yield the next reply of the script word by word."""
        reply = self._next(prompt)

        def pieces() -> CompletionResponseGen:
            text = ""
            for piece in re.findall(r"\s*\S+|\s+$", reply):
                text += piece
                yield CompletionResponse(text=text, delta=piece)

        return pieces()


def build_word_hash(argument: str, settings: Settings) -> BaseEmbedding:
    """Build the bag-of-words embedder (``word-hash``)."""
    return WordHashEmbedding()


def build_scripted(argument: str, settings: Settings) -> CustomLLM:
    """Build a model that always replies with ``argument`` (``scripted:TEXT``)."""
    replies: Sequence[str | Exception] = [argument or "Scripted answer [1]."]
    return ScriptedLLM(replies=list(replies))
