"""Conversations kept in the library: saved as they grow, listed, reopened, rated, exported."""

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from rag.errors import RagError
from rag.library import Library
from rag.schema import Answer
from rag.transcript import cited_papers, markdown

from .escape import attribute, plain
from .session import MOST_TURNS, Exchange, Session

log = logging.getLogger(__name__)

LISTED = 30
FORMATS = {
    "Markdown": ("md", "markdown"),
    "BibTeX": ("bib", "bibtex"),
    "RIS": ("ris", "ris"),
    "CSL-JSON": ("json", "csl-json"),
    "Rated answers (evaluation cases)": ("jsonl", "cases"),
}
_NAME = re.compile(r"[^\w-]+")


async def save(library: Library, session: Session, exchange: Exchange) -> Exchange:
    """Add an answer to the session's conversation, begun where there is none.

    Returns:
        The exchange with its number in the library; unchanged where it could not be saved, which
        is logged: an answer is worth more than its copy.
    """
    if exchange.answer is None or exchange.stopped:
        return exchange
    try:
        number = await asyncio.to_thread(_append, library, session, exchange.answer)
    except RagError as exc:
        log.warning("An answer could not be saved: %s", exc)
        return exchange
    return replace(exchange, saved=number)


def _append(library: Library, session: Session, answer: Answer) -> int:
    if session.saved_as is None:
        session.saved_as = library.conversations.create().id
    return library.conversations.append(session.saved_as, answer)


def reopen(library: Library, session: Session, conversation_id: str) -> None:
    """Put a saved conversation onto the page; it goes on where it ended.

    Raises:
        IndexMissingError: There is no such conversation.
    """
    kept = library.conversations.load(conversation_id)
    session.clear()
    session.saved_as = kept.id
    for turn in kept.turns[-MOST_TURNS:]:
        thumb = 0 if turn.rating is None else 1 if turn.rating.up else -1
        answer = turn.answer
        session.keep(
            Exchange(session.number(), answer.question, answer, saved=turn.number, thumb=thumb)
        )


def listed_html(library: Library, session: Session, search: str = "") -> str:
    """Return the saved conversations, the newest first; the session learns what is listed."""
    found = library.conversations.list(limit=LISTED, search=search)
    session.listed = tuple(one.id for one in found)
    if not found:
        words = "Nothing holds these words." if search else "Nothing is kept yet."
        return f'<p class="cw-note">{words}</p>'
    rows = "".join(
        f'<li><button type="button" class="cw-kept{" cw-on" if one.id == session.saved_as else ""}"'
        f' data-kept="open-{n}" title="{attribute(one.title)}"><span>{plain(one.title)}</span>'
        f'<span class="cw-by">{one.turn_count} question{"" if one.turn_count == 1 else "s"}, '
        f"{plain(one.changed[:10])}</span></button></li>"
        for n, one in enumerate(found, 1)
    )
    return f'<ul class="cw-papers">{rows}</ul>'


def exported(library: Library, session: Session, kind: object) -> dict[str, str]:
    """Return a file of the conversation on the page.

    Args:
        library: The library that is asked.
        session: The session.
        kind: One of ``FORMATS``; anything else is refused.

    Returns:
        ``name`` and ``text`` of the file.

    Raises:
        RagError: The kind is unknown, or there is nothing to export.
    """
    ending, name = FORMATS.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
    if not ending:
        raise RagError("There is no such format to export. Choose one of the list.")
    answers = [one.answer for one in session.exchanges if one.answer is not None]
    if name == "cases":
        text = "".join(
            json.dumps(case, ensure_ascii=False) + "\n" for case in library.conversations.cases()
        )
    elif name == "markdown":
        text = markdown(_title(answers), answers) if answers else ""
    else:
        papers = cited_papers(answers)
        text = library.export(papers, name) if papers else ""
    if not text:
        raise RagError("There is nothing to export yet. Ask something first, or rate an answer.")
    return {"name": f"{_file_name(answers)}.{ending}", "text": text}


def _title(answers: Sequence[Answer]) -> str:
    return " ".join(answers[0].question.split())[:80] if answers else "Conversation"


def _file_name(answers: Sequence[Answer]) -> str:
    return _NAME.sub("-", _title(answers)).strip("-").lower()[:40] or "conversation"
