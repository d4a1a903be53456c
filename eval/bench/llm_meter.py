"""A language model that notes what each of its calls read and how soon it wrote."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    ChatResponseGen,
    CompletionResponse,
    CompletionResponseGen,
    LLMMetadata,
    MessageRole,
)
from llama_index.core.llms import LLM
from llama_index.core.llms.custom import CustomLLM
from pydantic import PrivateAttr

from rag.llms.provider import HasProvider, Provider

USAGE = {"stream_options": {"include_usage": True}}  # a server sends its counts only when asked


@dataclass(slots=True)
class Call:
    """One call. Times are those of ``time.perf_counter``; counts are None where none was told."""

    began: float
    first: float | None = None
    last: float | None = None
    prompt_tokens: int | None = None  # the whole prompt
    computed_tokens: int | None = None  # of it, what was not in the engine's cache
    written_tokens: int | None = None

    def see(self, response: ChatResponse) -> None:
        """Take in one piece of the reply."""
        if response.delta:
            self.last = time.perf_counter()
            self.first = self.first or self.last
        usage = _get(response.raw, "usage")
        timings = _get(response.raw, "timings")
        self.prompt_tokens = _count(usage, "prompt_tokens", self.prompt_tokens)
        self.written_tokens = _count(usage, "completion_tokens", self.written_tokens)
        self.computed_tokens = _count(timings, "prompt_n", self.computed_tokens)


class MeteredLLM(CustomLLM):
    """Hands everything to another model, streaming, and notes each call.

    Args:
        inner: The model that answers.
    """

    _inner: LLM = PrivateAttr()
    _calls: list[Call] = PrivateAttr(default_factory=list)

    def __init__(self, inner: LLM) -> None:
        super().__init__()
        self._inner = inner

    @property
    def metadata(self) -> LLMMetadata:
        """Return what the model itself says."""
        return self._inner.metadata

    @property
    def provider(self) -> Provider:
        """Say where the model runs.

        Raises:
            AttributeError: It is none of ours.
        """
        if isinstance(self._inner, HasProvider):
            return self._inner.provider
        raise AttributeError("provider")

    def take_calls(self) -> list[Call]:
        """Return the calls since the last time, and forget them."""
        found, self._calls = self._calls, []
        return found

    def stream_chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponseGen:
        """Stream the model's reply."""
        call = Call(time.perf_counter())
        self._calls.append(call)
        options = {**(USAGE if _speaks_openai(self._inner) else {}), **kwargs}
        for response in self._inner.stream_chat(messages, **options):
            call.see(response)
            yield response

    def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
        """Return the whole reply."""
        pieces = list(self.stream_chat(messages, **kwargs))
        text = "".join(piece.delta or "" for piece in pieces)
        return ChatResponse(message=ChatMessage(role=MessageRole.ASSISTANT, content=text))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponseGen:
        """Stream the reply to a plain text."""
        text = ""
        for piece in self.stream_chat([_as_user(prompt)], **kwargs):
            text += piece.delta or ""
            yield CompletionResponse(text=text, delta=piece.delta, raw=piece.raw)

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        """Return the whole reply to a plain text."""
        return CompletionResponse(text=str(self.chat([_as_user(prompt)], **kwargs).message.content))


def _as_user(prompt: str) -> ChatMessage:
    return ChatMessage(role=MessageRole.USER, content=prompt)


def _speaks_openai(model: LLM) -> bool:
    return isinstance(model, HasProvider) and model.provider.kind in ("gguf", "hf", "openai")


def _get(raw: object, name: str) -> object:
    """Return a part of a server's reply, be it a mapping or an object; None where it lacks it."""
    if isinstance(raw, Mapping):
        return raw.get(name)
    return getattr(raw, name, None)


def _count(part: object, name: str, known: int | None) -> int | None:
    value = _get(part, name)
    return value if isinstance(value, int) and not isinstance(value, bool) else known
