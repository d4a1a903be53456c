"""A language model as judge: LlamaIndex's evaluators, read with care.

A reply that holds no verdict is no score, with the reply as the reason; it is never a 0.
"""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.errors import SettingsError
from rag.settings import Settings

from .cases import Case
from .reply import Reply
from .run import Marks

if TYPE_CHECKING:
    from llama_index.core.evaluation import BaseEvaluator
    from llama_index.core.llms import LLM

log = logging.getLogger(__name__)

FAITHFULNESS, RELEVANCY, CORRECTNESS = (
    "judge_faithfulness",
    "judge_relevancy",
    "judge_correctness",
)
JUDGED = (FAITHFULNESS, RELEVANCY, CORRECTNESS)
_SHOWN = 200  # characters of a reply in a note

_YES_NO = re.compile(
    r"\W*(?:the\s+)?(?:(?:answer|verdict|response)\W+(?:is\W+)?)?(yes|no)\b", re.IGNORECASE
)
_GRADE = re.compile(
    r"\W*(?:(?:the\s+)?(?:score|rating|grade)\W+(?:is\W+)?)?(\d(?:\.\d{1,3})?)"
    r"\s*(?:/\s*5(?:\.0)?|out of 5)?(?!\.?\d|[\w%/])",
    re.IGNORECASE,
)


def read_yes_no(reply: str) -> float | None:
    """Return 1 for a reply that opens with yes, 0 for no, None for any other.

    Example:
        >>> read_yes_no("YES, it is."), read_yes_no("Answer: no"), read_yes_no("I think yes")
        (1.0, 0.0, None)
    """
    found = _YES_NO.match(reply.strip()[:200])
    return None if found is None else float(found[1].lower() == "yes")


def read_grade(reply: str) -> float | None:
    """Return the grade, 1 to 5, that the first line of a reply gives, or None.

    Example:
        >>> read_grade("4.5"), read_grade("Score: 4/5\\nok"), read_grade("I would say four")
        (4.5, 4.0, None)
    """
    first = next((line for line in reply.splitlines() if line.strip()), "")
    found = _GRADE.match(first.strip()[:200])
    grade = float(found[1]) if found else 0.0
    return grade if 1 <= grade <= 5 else None


class Judge:
    """Judges answers with a language model.

    Args:
        settings: The settings in force; their ``llm_*`` values apply to the judge too.
        llm: The model, spelt as for ``--llm``.

    Raises:
        SettingsError: The model's name is not understood, or it is ``quote``.
        ProviderError: The model cannot be had.
    """

    def __init__(self, settings: Settings, llm: str) -> None:
        from rag import llms

        if llm == llms.QUOTE:
            raise SettingsError(
                "--judge 'quote' names no language model, and quoting judges nothing. Name a "
                "model, as in --judge ollama:MODEL."
            )
        self._evaluators = _evaluators(_whole(llms.build(settings.model_copy(update={"llm": llm}))))

    def calls(self, cases: Sequence[Case]) -> int:
        """Return how often the model is called at most: an abstention is not judged."""
        return sum(3 if case.answer else 2 for case in cases)

    def __call__(self, case: Case, answer: Mapping[str, Any]) -> Marks:
        """Return the verdicts on one answer; 0 or 1, for correctness 1 to 5."""
        reply = Reply.from_json(answer)
        if reply.abstained:
            return Marks(dict.fromkeys(JUDGED))
        scores: dict[str, float | None] = dict.fromkeys(JUDGED)
        notes: dict[str, str] = {}
        broken = False
        for name, evaluator in self._evaluators.items():
            if name == CORRECTNESS and not case.answer:
                continue
            try:
                text = _asked(evaluator, case, reply)
            except Exception as exc:  # a judge may fail in any way; the answer stays
                log.warning("The judge failed on case %s", case.id, exc_info=exc)
                notes[name] = f"the judge failed: {_short(str(exc) or type(exc).__name__)}"
                broken = True
                continue
            scores[name] = read_grade(text) if name == CORRECTNESS else read_yes_no(text)
            if scores[name] is None:
                notes[name] = f"the judge's reply holds no verdict: “{_short(text)}”"
        return Marks(scores, notes, broken)


def _asked(evaluator: "BaseEvaluator", case: Case, reply: Reply) -> str:
    """Return what the model replied to an evaluator's question."""
    from rag.llms.streaming import neutralise

    quotes = [neutralise(citation.quote) for citation in reply.citations]
    judging = evaluator.aevaluate(  # its evaluate() hides what went wrong
        query=neutralise(case.question),
        response=neutralise(reply.prose),
        contexts=["\n\n".join(quotes) or "(nothing was cited)"],
        **({"reference": neutralise(case.answer)} if case.answer else {}),
    )
    return asyncio.run(judging).feedback or ""


def _evaluators(llm: "LLM") -> dict[str, "BaseEvaluator"]:
    from llama_index.core.evaluation import (
        CorrectnessEvaluator,
        FaithfulnessEvaluator,
        RelevancyEvaluator,
    )

    return {
        FAITHFULNESS: FaithfulnessEvaluator(llm=llm),
        RELEVANCY: RelevancyEvaluator(llm=llm),
        # Its own reader breaks on a reply of one line; ours reads the whole reply afterwards.
        CORRECTNESS: CorrectnessEvaluator(llm=llm, parser_function=lambda text: (None, text)),
    }


def _whole(model: "LLM") -> "LLM":
    """Return the model behind our own streaming: its errors, time limits and no reasoning."""
    from llama_index.core.base.llms.types import (
        ChatMessage,
        ChatResponse,
        CompletionResponse,
        CompletionResponseGen,
        LLMMetadata,
    )
    from llama_index.core.llms.custom import CustomLLM

    from rag.llms.streaming import stream_text
    from rag.reasoning import split_reasoning

    def ask(system: str, user: str) -> str:
        return split_reasoning("".join(stream_text(model, system, user))).answer

    class Whole(CustomLLM):
        """Gives whole replies."""

        @property
        def metadata(self) -> LLMMetadata:
            return model.metadata.model_copy(update={"is_chat_model": True})

        def chat(self, messages: Sequence[ChatMessage], **kwargs: Any) -> ChatResponse:
            system = "\n".join(m.content or "" for m in messages if m.role == "system")
            user = "\n".join(m.content or "" for m in messages if m.role != "system")
            return ChatResponse(message=ChatMessage(role="assistant", content=ask(system, user)))

        def complete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> CompletionResponse:
            return CompletionResponse(text=ask("", prompt))

        def stream_complete(
            self, prompt: str, formatted: bool = False, **kwargs: Any
        ) -> CompletionResponseGen:
            yield self.complete(prompt)

    return Whole()


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 1]}…"
