"""One way to get text out of any model: piece by piece, stoppable, with plain errors."""

import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ProviderError
from .provider import HasProvider, Provider

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from .wire import Call

MAX_CHARS = 200_000
_POLL_S = 0.1
_CLOSE_WAIT_S = 1.0

_ANGLE_BAR = re.compile(r"<(?=[|｜])|(?<=[|｜])(?=>)")
_TAG = re.compile(r"<(/?[A-Za-z_][\w:.\-]{0,60}/?)>")
_BRACKET = re.compile(r"\[(/?(?:[A-Z_]{2,40}|gMASK))\]")


def neutralise(text: str) -> str:
    """Return a text whose role markers no model can take for its own control tokens.

    ``<|im_start|>``, ``</s>``, ``<think>``, ``<start_of_turn>``, ``[INST]`` and the like get a
    space inside, so that a reader still sees what stood there. Everything else stays as it is.

    Example:
        >>> neutralise("a<b, <|im_start|>system [/INST] </s>")
        'a<b, < |im_start| >system [ /INST ] < /s >'
    """
    text = _ANGLE_BAR.sub(lambda found: found.group() + " ", text)
    return _BRACKET.sub(r"[ \1 ]", _TAG.sub(r"< \1 >", text))


def stream_text(llm: "LLM", system: str, user: str) -> "TextStream":
    """Ask a model and get its reply piece by piece.

    The texts reach the model unchanged: nothing in them is taken for a template. The request
    starts when the first piece is asked for.

    Args:
        llm: A model from ``rag.llms.build``, or any LlamaIndex model.
        system: Instructions; empty for none.
        user: What to answer.

    Returns:
        An iterator over the raw pieces. Closing it, from any thread, ends the request.

    Raises:
        ProviderError: While iterating: the model or its server failed, was silent for too long, or
            ended before the answer was finished.
    """
    return TextStream(llm, system, user)


class TextStream(Iterator[str]):
    """The reply of a model, read by a thread of its own so that silence and Stop are noticed.

    ``finish_reason`` is what the server gave when it ended (``"stop"``, ``"length"`` for an answer
    cut at its longest), or None.
    """

    def __init__(self, llm: "LLM", system: str, user: str) -> None:
        self._feed = _Feed(llm, system, user)
        self._thread: threading.Thread | None = None
        self._received = 0

    @property
    def finish_reason(self) -> str | None:
        """Return why the reply ended, once it has."""
        return self._feed.finish_reason

    def __next__(self) -> str:
        while True:
            piece = self.next_sign()
            if piece is None:
                raise StopIteration
            if piece:
                return piece

    def next_sign(self) -> str | None:
        """Wait for the next sign of life: a piece, ``""`` for one without text, None at the end."""
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._feed.run, name="citewell-answer", daemon=True
            )
            self._thread.start()
        try:
            piece = self._feed.take()
            self._received += len(piece or "")
            if self._received > MAX_CHARS:
                from .failures import endless

                raise endless(self._feed.provider, MAX_CHARS)
        except BaseException:
            self.close()
            raise
        return piece

    def close(self) -> None:
        """End the request; returns within about a second. Safe from any thread, and twice."""
        self._feed.stop()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_CLOSE_WAIT_S)

    def __enter__(self) -> "TextStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        feed: _Feed | None = getattr(self, "_feed", None)  # absent when __init__ raised
        if feed is not None:
            feed.stop()


class _Feed:
    """What the reading thread and the consumer share."""

    def __init__(self, llm: "LLM", system: str, user: str) -> None:
        self.llm, self.system, self.user = llm, system, user
        self.provider = _provider_of(llm)
        self.finish_reason: str | None = None
        self._items: queue.Queue[str | Exception | None] = queue.Queue(maxsize=256)
        self._stopped = threading.Event()
        self._running = threading.Event()  # the model is loaded and it is our turn
        self._call: Call | None = None
        self._has_turn = False

    def take(self) -> str | None:
        """Return the next item, or raise what the reading thread met, or what silence means."""
        last_sign = time.monotonic()
        while not self._stopped.is_set():
            try:
                item = self._items.get(timeout=_POLL_S)
            except queue.Empty:
                if not self._running.is_set():
                    last_sign = time.monotonic()
                if time.monotonic() - last_sign > self.provider.timeout_s:
                    from .failures import silent

                    raise silent(self.provider) from None
                continue
            if isinstance(item, Exception):
                raise item
            if item is None:
                self._stopped.set()
            return item
        return None

    def stop(self) -> None:
        """Make the reading thread end, whatever it waits for."""
        self._stopped.set()
        if self._call is not None:
            self._call.cut()

    def run(self) -> None:
        """Read the whole reply (the reading thread's life)."""
        from .wire import Call, current_call

        self._call = Call()
        if self._stopped.is_set():
            return
        current_call.set(self._call)
        try:
            self._wait_for_turn()
            self._read()
            self._put(None)
        except Exception as exc:
            self._put(self._translated(exc))
        finally:
            self._call.end()
            self._leave_turn()

    def _wait_for_turn(self) -> None:
        if self.provider.prepare is not None:
            self.provider.prepare()
        turn = self.provider.turn
        while turn is not None and not self._has_turn and not self._stopped.is_set():
            self._has_turn = turn.acquire(timeout=_POLL_S)
        self._running.set()

    def _leave_turn(self) -> None:
        if self.provider.turn is not None and self._has_turn:
            self._has_turn = False
            self.provider.turn.release()

    def _read(self) -> None:
        if self._stopped.is_set():
            return
        for response in _ask(self.llm, self.system, self.user):
            self.finish_reason = _finish_of(response.raw) or self.finish_reason
            self._put(response.delta or "")
            if self._stopped.is_set():
                return
        if self.finish_reason is None and isinstance(self.llm, HasProvider):
            from .failures import broken_off

            raise broken_off(self.provider)

    def _put(self, item: str | Exception | None) -> None:
        while not self._stopped.is_set():
            try:
                self._items.put(item, timeout=_POLL_S)
            except queue.Full:
                continue
            return

    def _translated(self, exc: Exception) -> Exception:
        from .failures import translate

        error = translate(exc, self.provider)
        if error is None or error is exc:
            return exc
        error.__cause__ = exc
        return error


def _ask(llm: "LLM", system: str, user: str) -> Iterator[Any]:
    """Yield LlamaIndex's responses; a model without a chat interface gets one plain text."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole

    system, user = _sendable(system), _sendable(user)
    if not llm.metadata.is_chat_model:
        prompt = f"{system}\n\n{user}" if system else user
        yield from llm.stream_complete(prompt, formatted=True)
        return
    messages = [ChatMessage(role=MessageRole.USER, content=user)]
    if system:
        messages.insert(0, ChatMessage(role=MessageRole.SYSTEM, content=system))
    yield from llm.stream_chat(messages)


def _sendable(text: str) -> str:
    """Replace half surrogates, which no request can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _provider_of(llm: "LLM") -> Provider:
    """Return what is known of a model that may not be ours."""
    if isinstance(llm, HasProvider):
        return llm.provider
    name = llm.metadata.model_name
    advice = "Choose another model with --llm."
    return Provider(
        kind=name, model=name, address=name, timeout_s=600.0, off=advice, key=advice, missing=advice
    )


def _finish_of(raw: object) -> str | None:
    """Return why a reply ended, from an OpenAI chunk or an Ollama message."""
    choices = getattr(raw, "choices", None)
    if choices:
        reason = choices[0].finish_reason
        return str(reason) if reason else None
    if isinstance(raw, Mapping) and raw.get("done"):
        return str(raw.get("done_reason") or "stop")
    return None


def first_sign(llm: "LLM") -> None:
    """Make a model write the beginning of something, then stop it.

    Raises:
        ProviderError: It cannot.
    """
    with stream_text(llm, "", "Say: yes") as stream:
        if stream.next_sign() is None and stream.finish_reason is None:
            raise ProviderError(
                f"The model {llm.metadata.model_name!r} sent nothing. Choose another with --llm."
            )
