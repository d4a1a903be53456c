"""Evidence → an answer's statements: quoted as they stand, or written by a language model.

Both are LlamaIndex response synthesizers and share one interface, ``write``.
"""

import re
from abc import abstractmethod
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.prompt_helper import ChatPromptHelper, PromptHelper
from llama_index.core.llms import LLM, MockLLM
from llama_index.core.response_synthesizers.base import BaseSynthesizer

from .citations import ReasoningFilter, parse, render
from .composing import statement_text
from .errors import ProviderError
from .live import HeldPhrase, LiveMarkers
from .llms.streaming import neutralise, stream_text
from .schema import Evidence, Paper, Span, Statement
from .sentences import MATHS
from .verification import Verifier

NOT_FOUND = "NOT IN THE PAPERS"
OPEN_REASONING = (
    "The model stopped inside its reasoning and gave no answer. Give it more room with "
    "--llm-max-tokens, or choose another model."
)
LONGEST_SENTENCE = 800  # characters of one sentence in a prompt: about 200 tokens
_NUMBERED = re.compile(
    rf"{MATHS.pattern}|(?P<marker>[\[【][ ^]?[1-9]\d{{0,2}}(?: ?[,;–-] ?\d{{1,3}})*[\]】])"
)
_OTHER_BRACKETS = str.maketrans("[]【】", "⟨⟩⟨⟩")
ALSO = "The papers also say:"
NO_TEXT = "The model returned no text. Ask again, or choose another model with --llm."


@dataclass(frozen=True, slots=True)
class Draft:
    """What a synthesizer made of the evidence.

    ``sources[n - 1]`` is what marker ``[n]`` stands for. ``found`` is False when a model says that
    the evidence holds no answer, where there is no evidence, and where strict checking left
    nothing. ``error`` says why the text is incomplete; ``notes`` says what the reader should know
    besides.
    """

    statements: tuple[Statement, ...]
    sources: tuple[Evidence, ...]
    invented: tuple[int, ...] = ()
    raw: str | None = None
    found: bool = True
    error: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Return the answer with its markers; quotes stand below a model's words."""
        said = [one for one in self.statements if one.support != "verbatim"]
        quotes = [one for one in self.statements if one.support == "verbatim"]
        if not said or not quotes:
            return render(self.statements)
        return f"{render(said)}\n\n{lead_in(quotes)}"


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
            Statement(statement_text(one), (n,), "verbatim")
            for n, one in enumerate(evidence, start=1)
        )
        for n, statement in enumerate(statements):
            yield ("\n" if n else "") + render([statement])
        yield Draft(statements, tuple(evidence), found=bool(statements))


class LLMSynthesizer(Synthesizer):
    """Lets a language model put the evidence into words, and binds its markers to the sentences.

    Args:
        llm: Any LlamaIndex language model.
        verifier: Checks what it said at the end; None leaves every statement unchecked.
    """

    def __init__(self, llm: LLM, verifier: Verifier | None = None) -> None:
        super().__init__(llm)
        self._model = llm
        self._verifier = verifier

    def write(self, question: str, evidence: Sequence[Evidence]) -> Iterator[str | Draft]:
        """Yield the model's text as it comes, markers renumbered, then the draft.

        What was streamed stays; the draft may cite other sentences, or, where the verifier is
        strict, say less.

        Raises:
            ProviderError: The model failed before it said anything.
        """
        if not evidence:  # a model would answer from what it happens to know
            yield Draft((), (), found=False)
            return
        live, refusal = _Live(len(evidence)), HeldPhrase(NOT_FOUND)
        reply, error = "", None
        with stream_text(self._model, system_prompt(), user_prompt(question, evidence)) as pieces:
            try:
                for piece in pieces:
                    reply += piece
                    if shown := refusal.feed(live.feed(piece)):
                        yield shown
            except ProviderError as exc:
                if not reply:
                    raise
                error = str(exc)
        draft = read_reply(reply, evidence, error)
        rest = refusal.feed(live.finish())
        if draft.found and (rest := rest + refusal.finish()):
            yield rest
        yield checked(draft, question, evidence, self._verifier) if self._verifier else draft


class _Live:
    """The answer in a reply that is still coming: no reasoning, markers numbered anew."""

    def __init__(self, sources: int) -> None:
        self._reasoning, self._markers = ReasoningFilter(), LiveMarkers(sources)

    def feed(self, piece: str) -> str:
        return self._markers.feed(self._reasoning.feed(piece))

    def finish(self) -> str:
        return self._markers.feed(self._reasoning.finish()) + self._markers.finish()


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
    draft = Draft(
        statements=parsed.statements,
        sources=tuple(evidence[i] for i in parsed.order),
        invented=parsed.invented,
        raw=reply,
        found=bool(parsed.order) or NOT_FOUND not in render(parsed.statements).upper(),
        error=error,
    )
    kept = [one for one in draft.statements if not _says_only_not_found(one)]
    return _with_only(kept, draft) if len(kept) < len(draft.statements) else draft


def _says_only_not_found(statement: Statement) -> bool:
    return statement.text.strip(" \"'“”*`_.-:").upper() == NOT_FOUND


def checked(draft: Draft, question: str, evidence: Sequence[Evidence], verifier: Verifier) -> Draft:
    """Return a draft whose statements were compared with the evidence.

    Args:
        draft: What a model said. One that found nothing is returned as it is.
        question: What was asked.
        evidence: Every sentence that the model was given.
        verifier: Compares; if it is strict, unsupported statements are left out.

    Returns:
        The draft with verdicts and, where needed, other markers; not found where strict checking
        left nothing.
    """
    if not draft.found or not draft.statements:
        return draft
    found = verifier.check(question, draft.statements, draft.sources, evidence)
    draft = replace(draft, statements=found.statements, sources=found.sources)
    return _without_unsupported(draft) if verifier.strict else draft


def _without_unsupported(draft: Draft) -> Draft:
    """Leave out what nothing supports, and say how much that was."""
    kept = [one for one in draft.statements if one.support != "unsupported"]
    dropped = len(draft.statements) - len(kept)
    if not dropped:
        return draft
    draft = _with_only(kept, draft)
    return replace(draft, notes=(*draft.notes, left_out(dropped)))


def _with_only(kept: Sequence[Statement], draft: Draft) -> Draft:
    """Leave out the other statements and their sources; nothing left is nothing found."""
    used = dict.fromkeys(n for one in kept for n in one.citations)
    number = {old: new for new, old in enumerate(used, start=1)}
    statements = tuple(
        replace(one, citations=tuple(number[n] for n in one.citations)) for one in kept
    )
    return replace(
        draft,
        statements=statements,
        sources=tuple(draft.sources[n - 1] for n in used),
        found=draft.found and bool(kept),
    )


def lead_in(quotes: Sequence[Statement]) -> str:
    """Return quotes as they stand below a model's words: one a line, introduced by another."""
    return "\n".join([ALSO, *(render([one]) for one in quotes)])


def left_out(count: int) -> str:
    """Say how many statements strict checking left out."""
    if count == 1:
        return "1 statement of the model was left out: no sentence it was given supports it."
    return f"{count} statements of the model were left out: no sentence it was given supports them."


@cache
def system_prompt() -> str:
    """Return the instructions for a language model; the same for every question."""
    return resources.files(__package__).joinpath("prompts/answer.md").read_text("utf-8").strip()


def user_prompt(question: str, evidence: Sequence[Evidence]) -> str:
    """Return the numbered sentences and the question.

    Nothing passes a template: braces arrive unchanged. Inside papers, role markers are broken up
    and ``[2]`` becomes ``⟨2⟩``, so that a number copied from a paper is not taken for a source. A
    sentence is cut after ``LONGEST_SENTENCE`` characters.
    """
    lines = [f"[{n}] {_prompted(one.text)}" for n, one in enumerate(evidence, start=1)]
    return "\n".join(["Sentences:", *lines, "", f"Question: {neutralise(question)}"])


def _prompted(text: str) -> str:
    """Return a paper's sentence as a model may read it: one line, and no marker but ours."""
    line = " ".join(text.split())
    if len(line) > LONGEST_SENTENCE:
        line = line[:LONGEST_SENTENCE].rsplit(" ", 1)[0] + " …"
    return neutralise(_NUMBERED.sub(_not_a_marker, line))


def _not_a_marker(found: re.Match[str]) -> str:
    return found[0].translate(_OTHER_BRACKETS) if found["marker"] else found[0]


def _plain(text: str) -> Evidence:
    """Make evidence of a text that belongs to no paper we know."""
    return Evidence(Paper(id="", abstract=text), "", Span(0, len(text)), 0.0)
