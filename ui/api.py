"""The page's interface for programs: ask and list, with the same checks as the page."""

from collections import deque
from typing import Any

import gradio as gr

from rag.as_json import answer_json
from rag.errors import RagError
from rag.schema import Answer

from .shelf import Shelf


class Api:
    """What ``gradio_client`` may call.

    Args:
        shelf: The libraries of this process.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    def ask(self, question: str, library: str = "") -> dict[str, Any]:
        """Answer a question without a page.

        Args:
            question: The question.
            library: Name of a library; empty for the page's first.

        Returns:
            What ``citewell ask --json`` prints.

        Raises:
            gr.Error: The question cannot be asked or the library is not there.
        """
        name = library or self.shelf.first
        try:
            known = name if name in self.shelf.names() else None
            if known is None:
                raise gr.Error(
                    "There is no such library. List them with: libraries", print_exception=False
                )
            stream = self.shelf.library(known).stream(question)
            (last,) = deque(stream, maxlen=1)
        except RagError as exc:
            raise gr.Error(str(exc), print_exception=False) from exc
        return answer_json(last) if isinstance(last, Answer) else {}

    def libraries(self) -> list[str]:
        """Return the names of all libraries."""
        return self.shelf.names()
