"""What the command line shows of a question, as plain events: made here or in a server, the same.

An event is a dictionary of JSON values with one key that says what it is: ``piece`` (text of a
model as it comes) or ``end`` (all the rest, last). A server adds ``note`` (for stderr),
``progress`` (stage, done, total), ``refused`` (an error of the user's), ``broken`` (one of ours).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import as_json, render
from .schema import Answer, Filters

if TYPE_CHECKING:
    from .library import Library

Event = dict[str, Any]


def answer_events(
    library: "Library",
    question: str,
    *,
    filters: Filters | None = None,
    show: bool = True,
    formats: Sequence[str] = (),
) -> Iterator[Event]:
    """Answer a question.

    Args:
        library: The library that is asked.
        question: The question as typed.
        filters: Only papers that match may be used.
        show: Make the text for a terminal; a model's words come as pieces then.
        formats: Bibliographies of the cited papers that are wanted: ``"bibtex"``, ``"ris"``.

    Yields:
        Pieces, then ``end`` with ``text`` (what still has to be printed), ``answer`` (as
        ``answer_json`` gives it), ``files`` (a bibliography by format) and ``error``.

    Raises:
        RagError: The question cannot be answered.
    """
    live = show and library.settings.llm != "quote"
    streamed = ""
    for piece in library.stream(question, filters=filters):
        if isinstance(piece, Answer):
            cited = [citation.paper for citation in piece.citations]
            yield {
                "end": {
                    "text": _ending(piece, streamed if live else None),
                    "answer": as_json.answer_json(piece),
                    "files": {format_: library.export(cited, format_) for format_ in formats},
                    "error": piece.error,
                }
            }
            return
        streamed += piece
        if live:
            yield {"piece": render.plain(piece)}
    raise RuntimeError("a stream ends with its answer")


def _ending(answer: Answer, streamed: str | None) -> str:
    """Return what is printed at the end: below what was streamed, or all where nothing was."""
    if streamed is None:
        return render.answer_text(answer)
    if render.is_changed(answer, streamed):
        return "\n\nAfter checking:\n\n" + render.answer_text(answer)
    return "\n\n" + render.sources_text(answer)


def search_events(
    library: "Library", query: str, *, filters: Filters | None = None
) -> Iterator[Event]:
    """Rank papers for a query.

    Yields:
        ``end`` with ``text`` for a terminal and ``papers`` as ``ranked_json`` gives them.

    Raises:
        RagError: The query cannot be searched.
    """
    found = library.search(query, filters=filters, sentences=True)
    papers = [as_json.ranked_json(ranked) for ranked in found]
    yield {"end": {"text": render.ranked_text(found), "papers": papers}}


def status_events(library: "Library") -> Iterator[Event]:
    """Say how a library is.

    Yields:
        ``end`` with ``text`` for a terminal and ``status`` as ``status_json`` gives it.
    """
    status = library.status()
    yield {"end": {"text": render.status_text(status), "status": as_json.status_json(status)}}


def waiting_note(papers: int, library: str) -> str:
    """Say that papers of a library still lack their vectors."""
    wait = "1 paper still waits for its" if papers == 1 else f"{papers} papers still wait for their"
    command = render.embed_command(library)
    return f"note: {wait} vectors; a question makes those it wants. Make all: {command}"
