"""What the chat does when somebody asks, stops, clears, or follows a link in an answer."""

import logging
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr

from rag.errors import RagError
from rag.question import check
from rag.schema import Answer

from . import asking, saving
from .asking import Job
from .render import partial_html
from .session import Exchange, Message, Session, exchange_messages
from .shelf import Shelf
from .sources import EMPTY, sources_html

log = logging.getLogger(__name__)

SEARCHING = "Searching the abstracts …"
LOADING = "The models are being loaded; your question is asked as soon as they are there …"
_ACTION = re.compile(r"(source|sources|near|edit|retry|up|down)-(\d{1,7})(?:-(\d{1,4}))?")
Update = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """A link of an answer that was followed, e.g. ``source-3-1``."""

    verb: str
    turn: int
    item: int


def parse_action(value: object) -> Action | None:
    """Read what a link asks for; None for anything else, since any page can send anything."""
    found = _ACTION.fullmatch(value) if isinstance(value, str) else None
    return Action(found[1], int(found[2]), int(found[3] or 0)) if found else None


class Chat:
    """The handlers of the chat, for all sessions; what belongs to one travels as its argument.

    Args:
        shelf: The libraries of this process.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf

    async def ask(self, question: object, session: Session) -> AsyncIterator[Update]:
        """Ask a question and show the answer as it comes.

        Yields:
            New values for the chat, the question box, the panel of sources, Ask and Stop.
        """
        text = question if isinstance(question, str) else ""
        if session.job is not None and not session.job.is_over:
            gr.Info("An answer is being made. Stop it first, or wait for its end.")
            yield _only_box(text)
            return
        if not text.strip():
            yield _only_box("")
            return
        number = session.number()
        refusal = self._refusal(text)
        if refusal:
            session.keep(Exchange(number, text[:400], error=refusal))
            yield session.messages(), gr.skip(), gr.skip(), *_buttons(busy=False)
            return
        async for update in self._answer(text, number, session):
            yield update

    async def _answer(self, text: str, number: int, session: Session) -> AsyncIterator[Update]:
        job = session.job = self._job(text, session)
        said, answer, error = "", None, None
        earlier = session.messages()
        first = [*earlier, *_coming(text, said, SEARCHING)]
        yield first, "", gr.skip(), *_buttons(busy=True)
        try:
            async for event in job.events():
                if isinstance(event, Answer):
                    answer = event
                elif isinstance(event, asking.Failed):
                    error = event.message
                else:
                    said += event if isinstance(event, str) else ""
                    shown = _coming(text, said, _state(event))
                    yield [*earlier, *shown], *[gr.skip()] * 4
        finally:
            job.cancel()
        session.job, session.standalone = None, False
        stopped = answer is None and error is None
        exchange = Exchange(number, text, answer, error, stopped, said)
        session.keep(await self._saved(session, exchange))
        panel = sources_html(answer, number) if answer is not None else gr.skip()
        yield session.messages(), gr.skip(), panel, *_buttons(busy=False)

    async def _saved(self, session: Session, exchange: Exchange) -> Exchange:
        if exchange.answer is None:
            return exchange
        library = self.shelf.library(session.library or self.shelf.first)
        return await saving.save(library, session, exchange)

    def _refusal(self, text: str) -> str | None:
        try:
            check(text, max_chars=self.shelf.settings.max_question_chars)
        except RagError as exc:
            return str(exc)
        return None

    def _job(self, text: str, session: Session) -> Job:
        name, llm = session.library or self.shelf.first, session.llm
        history, filters = session.history(), session.filters or None

        def start() -> Iterator[str | Answer]:
            library = self.shelf.library(name)
            return library.stream(text, history=history, filters=filters, llm=llm)

        return Job(start, self.shelf.line(llm), lambda wait_s: self.shelf.is_ready(name, wait_s))

    def stop(self, session: Session) -> None:
        """End the answer that is being made; what has come of it stays on the page."""
        session.stop()

    def leave(self, session: Session) -> None:
        """Free the model when a page is closed."""
        session.stop()

    def clear(self, session: Session) -> Update:
        """Begin a new conversation."""
        session.clear()
        return session.messages(), "", EMPTY

    def follow(self, value: object, session: Session) -> Update:
        """Do what a link in an answer asks for; the page does the rest by itself.

        Returns:
            New values for the question box, the panel, the chat, the row of the note, the note.
        """
        action = parse_action(value)
        found = session.find(action.turn) if action else None
        nothing = [gr.skip()] * 5
        if action is None or found is None:
            return tuple(nothing)
        if action.verb == "retry":
            return found.question, *nothing[1:]
        if found.answer is None:
            return tuple(nothing)
        if action.verb == "edit":
            session.standalone = True
            return found.answer.searched, *nothing[1:]
        if action.verb in ("up", "down"):
            return *nothing[:2], *self._rate(found, session, up=action.verb == "up")
        return nothing[0], sources_html(found.answer, found.number), *nothing[2:]

    def _rate(self, found: Exchange, session: Session, *, up: bool) -> Update:
        """Keep a thumb; the same one again takes it back. Returns chat, row of the note, note."""
        thumb = 0 if found.thumb == (1 if up else -1) else 1 if up else -1
        if not self._rated(found, session, thumb, ""):
            return gr.skip(), gr.skip(), gr.skip()
        session.rated = found.number if thumb else None
        session.change(replace(found, thumb=thumb))
        return session.messages(), gr.update(visible=bool(thumb)), ""

    def keep_note(self, note: object, session: Session) -> Any:
        """Keep a note to the answer that was rated last; the row of the note goes away."""
        found = session.find(session.rated) if session.rated is not None else None
        if found is not None and isinstance(note, str) and note.strip():
            self._rated(found, session, found.thumb, note)
        session.rated = None
        return gr.update(visible=False)

    def _rated(self, found: Exchange, session: Session, thumb: int, note: str) -> bool:
        library = self.shelf.library(session.library or self.shelf.first)
        if session.saved_as is None or not found.saved:
            gr.Warning("This answer is not kept in the library, so it cannot be rated.")
            return False
        try:
            up = None if thumb == 0 else thumb > 0
            library.conversations.rate(session.saved_as, found.saved, up, note)
        except RagError as exc:
            gr.Warning(str(exc))
            return False
        return True

    def export(self, kind: object, session: Session) -> Any:
        """Return the conversation as a file for the page to hand out."""
        try:
            library = self.shelf.library(session.library or self.shelf.first)
            return saving.exported(library, session, kind)
        except RagError as exc:
            gr.Warning(str(exc))
            return None


def _only_box(text: str) -> Update:
    return gr.skip(), text, *[gr.skip()] * 3


def _buttons(*, busy: bool) -> Update:
    return gr.update(visible=not busy), gr.update(visible=busy)


def _coming(question: str, said: str, state: str) -> list[Message]:
    return exchange_messages(question, partial_html(said, state))


def _state(event: object) -> str:
    if isinstance(event, asking.Waiting):
        ahead = "1 question is" if event.before == 1 else f"{event.before} questions are"
        return f"Waiting for the model: {ahead} before yours …"
    if isinstance(event, asking.Loading):
        return LOADING
    return ""
