"""Evidence → an answer's statements: quoted as they stand, or written by a language model.

Both are LlamaIndex response synthesizers and share one interface, ``write``.
"""

from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.prompt_helper import ChatPromptHelper, PromptHelper
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.response_synthesizers.base import BaseSynthesizer

from .citations import ReasoningFilter, parse, render
from .errors import ProviderError
from .live import LiveMarkers
from .llms.streaming import neutralise, stream_text
from .schema import Evidence, Paper, Span, Statement

NOT_FOUND = "NOT IN THE PAPERS"
OPEN_REASONING = (
    "The model stopped inside its reasoning and gave no answer. Give it more room with "
    "--llm-max-tokens, or choose another model."
)
NO_TEXT = "The model returned no text. Ask again, or choose another model with --llm."


@dataclass(frozen=True, slots=True)
class Draft:
    """What a synthesizer made of the evidence.

    ``sources[n - 1]`` is what marker ``[n]`` stands for. ``found`` is False when a model says that
    the evidence holds no answer. ``error`` says why the text is incomplete.
    """

    statements: tuple[Statement, ...]
    sources: tuple[Evidence, ...]
    invented: tuple[int, ...] = ()
    raw: str | None = None
    found: bool = True
    error: str | None = None

    @property
    def text(self) -> str:
        """Return the answer with its markers."""
        return render(self.statements)


class Synthesizer(BaseSynthesizer):
    """Makes an answer of numbered evidence.

    Args:
        llm: The model that writes; None for a synthesizer that needs none.
    """

    def __init__(self, llm: LLM | None = None) -> None:
        # Everything is passed, so that LlamaIndex never looks for a default (remote) model.
        super().__init__(
            llm=llm or MockLLM(),
            callback_manager=CallbackManager([]),
            prompt_helper=PromptHelper(tokenizer=str.split),
            chat_prompt_helper=ChatPromptHelper(tokenizer=str.split),
        )

    @abstractmethod
    def write(self, question: str, evidence: Sequence[Evidence]) -> Iterator[str | Draft]:
        """Yield the answer's text in pieces as it comes, then, last, the whole ``Draft``."""

    def get_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str:
        """Answer from plain texts, as LlamaIndex calls it; marker ``[n]`` is the n-th text."""
        last = list(self.write(query_str, [_plain(text) for text in text_chunks]))[-1]
        return last.text if isinstance(last, Draft) else last

    async def aget_response(
        self, query_str: str, text_chunks: Sequence[str], **response_kwargs: Any
    ) -> str | AsyncGenerator[str, None]:
        """Answer from plain texts; the work is not asynchronous."""
        return self.get_response(query_str, text_chunks, **response_kwargs)

    def _get_prompts(self) -> dict[str, Any]:
        return {}

    def _update_prompts(self, prompts: dict[str, Any]) -> None:
        """There is nothing to update: prompts are files, and papers never pass a template."""


class QuoteSynthesizer(Synthesizer):
    """Answers with the evidence itself: each sentence a statement that cites itself."""

    def write(self, question: str, evidence: Sequence[Evidence]) -> Iterator[str | Draft]:
        """Yield one quoted sentence after the other, then the draft."""
        statements = tuple(
            Statement(one.text, (n,), "verbatim") for n, one in enumerate(evidence, start=1)
        )
        for n, statement in enumerate(statements):
            yield ("\n" if n else "") + render([statement])
        yield Draft(statements, tuple(evidence))


class LLMSynthesizer(Synthesizer):
    """Lets a language model put the evidence into words, and binds its markers to the sentences.

    Args:
        llm: Any LlamaIndex language model.
    """

    def __init__(self, llm: LLM) -> None:
        super().__init__(llm)
        self._model = llm

    def write(self, question: str, evidence: Sequence[Evidence]) -> Iterator[str | Draft]:
        """Yield the model's text as it comes, markers renumbered, then the draft.

        Raises:
            ProviderError: The model failed before it said anything.
        """
        reasoning, live = ReasoningFilter(), LiveMarkers(len(evidence))
        reply, error = "", None
        pieces = stream_text(self._model, system_prompt(), user_prompt(question, evidence))
        try:
            for piece in pieces:
                reply += piece
                if shown := live.feed(reasoning.feed(piece)):
                    yield shown
        except ProviderError as exc:
            if not reply:
                raise
            error = str(exc)
        if shown := live.feed(reasoning.finish()) + live.finish():
            yield shown
        yield read_reply(reply, evidence, error)


def read_reply(reply: str, evidence: Sequence[Evidence], error: str | None = None) -> Draft:
    """Bind a model's reply to the evidence it was given.

    Args:
        reply: The whole reply, reasoning and markers included.
        evidence: The numbered sentences of the prompt.
        error: Why the reply is incomplete, if it is.

    Returns:
        The draft; its sources are in order of first use.
    """
    parsed = parse(reply, evidence)
    if parsed.reasoning_open:
        error = error or OPEN_REASONING
    elif not parsed.statements:
        error = error or NO_TEXT
    return Draft(
        statements=parsed.statements,
        sources=tuple(evidence[i] for i in parsed.order),
        invented=parsed.invented,
        raw=reply,
        found=NOT_FOUND not in reply.upper() or bool(parsed.order),
        error=error,
    )


@cache
def system_prompt() -> str:
    """Return the instructions for a language model; the same for every question."""
    return resources.files(__package__).joinpath("prompts/answer.md").read_text("utf-8").strip()


def user_prompt(question: str, evidence: Sequence[Evidence]) -> str:
    """Return the numbered sentences and the question.

    Nothing passes a template: braces arrive unchanged. Role markers inside papers are broken up.
    """
    lines = [
        f"[{n}] {neutralise(' '.join(one.text.split()))}" for n, one in enumerate(evidence, start=1)
    ]
    return "\n".join(["Sentences:", *lines, "", f"Question: {neutralise(question)}"])


def _plain(text: str) -> Evidence:
    """Make evidence of a text that belongs to no paper we know."""
    return Evidence(Paper(id="", abstract=text), "", Span(0, len(text)), 0.0)
