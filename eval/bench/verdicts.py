"""Yes, no or maybe: a language model decides from the sentences that the library quotes."""

import re
from typing import ClassVar

from rag.library import Library

from ..cases import Case

SYSTEM = (
    "Decide a research question from sentences of abstracts. Use nothing but these sentences. "
    "Reply with one word: yes, no or maybe."
)
_WORD = re.compile(r"\W*(?:the\s+answer\W+(?:is\W+)?)?(yes|no|maybe)\b", re.IGNORECASE)


def read_verdict(reply: str) -> str | None:
    """Return the verdict that a reply opens with, or None.

    Example:
        >>> read_verdict("Yes."), read_verdict("The answer is: maybe"), read_verdict("It may be")
        ('yes', 'maybe', None)
    """
    found = _WORD.match(reply.strip()[:200])
    return found[1].lower() if found else None


class Decider:
    """Decides questions with the language model of a library's settings.

    Args:
        library: Its quotes are the evidence.

    Raises:
        SettingsError: The model's name is not understood.
        ProviderError: The model cannot be had.
    """

    VERDICTS: ClassVar = frozenset({"yes", "no", "maybe"})

    def __init__(self, library: Library) -> None:
        from rag import llms

        self._library = library
        self._model = llms.build(library.settings)

    def __call__(self, case: Case) -> str | None:
        """Return the verdict on a question; None where the reply holds none.

        Raises:
            ProviderError: The model failed.
        """
        from rag.llms.streaming import neutralise, stream_text
        from rag.reasoning import split_reasoning

        answer = self._library.ask(case.question, llm="quote")
        quotes = [f"- {neutralise(citation.quote)}" for citation in answer.citations]
        user = "\n".join(["Sentences:", *quotes, "", f"Question: {neutralise(case.question)}"])
        return read_verdict(split_reasoning("".join(stream_text(self._model, SYSTEM, user))).answer)
