"""What one visitor's page holds. It lives in ``gr.State``: every session has its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rag.schema import Answer, Filters, Turn

from .asking import Job
from .imports import ImportJob
from .papers import Shown
from .render import answer_html, failure_html, partial_html, question_html

MOST_TURNS = 60  # shown on the page; older ones leave it
REMEMBERED = 6  # earlier turns given to the library
PAPERS_KEPT = 10
MOST_PICKED = 1000
Message = dict[str, str]


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question on the page and what became of it.

    ``answer`` is None where it failed; ``error`` says why. ``stopped`` is set where the user ended
    it, and ``text`` then holds what had come.
    """

    number: int
    question: str
    answer: Answer | None = None
    error: str | None = None
    stopped: bool = False
    text: str = ""
    thumb: int = 0  # 1 up, -1 down
    saved: int = 0  # its number in the library's conversation; 0: not kept

    @property
    def is_whole(self) -> bool:
        """Say whether the turn may be built upon: it has an answer, and a complete one."""
        return self.answer is not None and not self.stopped and self.answer.error is None

    @property
    def html(self) -> str:
        """Return the answer's side as the chat shows it."""
        if self.answer is not None:
            return answer_html(self.answer, self.number, stopped=self.stopped, thumb=self.thumb)
        if self.stopped:
            return partial_html(self.text) + '<p class="cw-note">You stopped this answer.</p>'
        return failure_html(self.error or "The answer was lost.", self.number)


@dataclass
class Session:
    """The state of one page: library, model, restrictions, the conversation."""

    library: str | None = None
    llm: str | None = None
    filters: Filters = field(default_factory=Filters)
    exchanges: list[Exchange] = field(default_factory=list)
    asked: int = 0
    standalone: bool = False  # the next question was edited: it is searched as it stands
    job: Job | None = None
    saved_as: str | None = None  # the conversation in the library
    listed: tuple[str, ...] = ()  # ids of the kept conversations that are shown
    rated: int | None = None  # the exchange that the next note is for
    listing: tuple[str, Filters] = ("", Filters())  # words and filters of the list of papers
    page: int = 0
    shown: Shown = field(default_factory=Shown)
    picked: dict[str, None] = field(default_factory=dict)
    making: bool = False  # vectors were being made when the page last looked
    importing: ImportJob | None = None
    run: Any = None  # an evaluation, as whoever is registered makes it
    cases: tuple[str, ...] = ()  # questions that did not pass, as listed

    def pick(self, paper_id: str) -> None:
        """Pick a paper, or drop it from those picked."""
        if paper_id in self.picked:
            del self.picked[paper_id]
        elif len(self.picked) < MOST_PICKED:
            self.picked[paper_id] = None

    def restrict_to_nothing(self) -> None:
        """Look at all papers again, and ask all."""
        self.listing, self.page, self.filters = ("", Filters()), 0, Filters()
        self.picked.clear()

    def history(self) -> tuple[Turn, ...]:
        """Return the whole earlier turns, oldest first; cut answers are left out."""
        if self.standalone:
            return ()
        whole = [one for one in self.exchanges if one.is_whole]
        return tuple(_turn(one) for one in whole[-REMEMBERED:])

    def number(self) -> int:
        """Return a number for the next exchange; it is never used twice on a page."""
        self.asked += 1
        return self.asked

    def keep(self, exchange: Exchange) -> None:
        """Add a finished exchange; the oldest leaves a full page."""
        if exchange.answer is not None:
            papers = exchange.answer.papers[:PAPERS_KEPT]
            exchange = replace(exchange, answer=replace(exchange.answer, papers=papers))
        self.exchanges.append(exchange)
        del self.exchanges[:-MOST_TURNS]

    def find(self, number: int) -> Exchange | None:
        """Return an exchange by its number."""
        return next((one for one in self.exchanges if one.number == number), None)

    def change(self, exchange: Exchange) -> None:
        """Put an exchange in the place of the one with its number."""
        self.exchanges = [
            exchange if one.number == exchange.number else one for one in self.exchanges
        ]

    def clear(self) -> None:
        """Begin a new conversation; library, model and restrictions stay."""
        self.stop()
        self.exchanges.clear()
        self.standalone, self.saved_as, self.rated = False, None, None

    def stop(self) -> None:
        """End the answer that is being made, if there is one."""
        job, self.job = self.job, None
        if job is not None:
            job.cancel()

    def messages(self, extra: Sequence[Message] = ()) -> list[Message]:
        """Return the conversation as Gradio's Chatbot takes it."""
        shown: list[Message] = []
        for one in self.exchanges:
            shown += exchange_messages(one.question, one.html)
        return [*shown, *extra]


def exchange_messages(question: str, html: str) -> list[Message]:
    """Return a question and the answer's HTML as two messages."""
    return [
        {"role": "user", "content": question_html(question)},
        {"role": "assistant", "content": html},
    ]


def _turn(one: Exchange) -> Turn:
    answer = one.answer
    if answer is None:
        return Turn(one.question)
    ids = dict.fromkeys(citation.paper.id for citation in answer.citations)
    return Turn(one.question, answer.text, tuple(ids))
