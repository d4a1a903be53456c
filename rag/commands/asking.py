"""Commands that ask and search."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import RagError
from .options import (
    FILTERS,
    check_first,
    embedder_option,
    filter_options,
    json_option,
    library_option,
    llm_options,
    open_named,
    print_json,
    progress_bar,
    take_filters,
    write_text,
)

if TYPE_CHECKING:
    from ..remote import Reply
    from ..replies import Event
    from ..schema import Filters

server_option = click.option(
    "--no-server", is_flag=True, help="Answer here, also where a server runs (citewell serve)."
)


@click.command(short_help="Answer a question from a library.")
@click.argument("question", required=False)
@click.option(
    "--questions", type=click.Path(path_type=Path, readable=False),
    help="Ask every line of a JSONL file ('question', optional 'id' and 'history'); with --json.",
)  # fmt: skip
@click.option("--sample", is_flag=True, help="Ask the sample library of 40 abstracts.")
@click.option("--top-k", type=int, help="Papers in the ranked list (default 10).")
@click.option("--max-statements", type=int, help="Statements in a quoted answer (default 3).")
@click.option("--bibtex", type=click.Path(path_type=Path), help="Write the cited papers here.")
@click.option("--ris", type=click.Path(path_type=Path), help="Write the cited papers here.")
@json_option
@server_option
@llm_options
@embedder_option
@filter_options
@library_option
def ask(question: str | None, questions: Path | None, as_json: bool, **flags: Any) -> None:
    """Answer a question from the papers of a library, with the sentences it rests on.

    Without --llm the answer quotes. What the papers do not hold is not answered.

    \b
    Examples:
      citewell ask "Which papers use diffusion models?"
      citewell ask "What is the regret of VAC?" --json
      citewell ask "How is EDGE trained?" --llm gguf:model.gguf --bibtex cited.bib
      citewell ask --questions questions.jsonl --json > answers.jsonl
    """
    if (question is None) == (questions is None):
        raise click.UsageError("Give one question, or a file with --questions.")
    if questions is not None:
        _ask_all(questions, flags)
    else:
        _ask_one(question or "", as_json, flags)


def _ask_one(question: str, as_json: bool, flags: dict[str, Any]) -> None:
    wanted = {name: flags.pop(name) for name in ("bibtex", "ris")}
    files = {format_: file for format_, file in wanted.items() if file is not None}
    filters, no_server = take_filters(flags), flags.pop("no_server")
    asked = {"question": question, "filters": filters, "show": not as_json, "formats": [*files]}
    served = None if no_server else _served("/ask", asked, flags)

    def tell(end: "Event") -> None:
        if as_json:
            print_json(end["answer"])
        else:
            click.echo(end["text"])
        for format_, file in files.items():
            write_text(file, end["files"][format_])
        if end["error"]:
            raise RagError(end["error"])

    _show(_either(served, lambda: _answered(question, filters, not as_json, files, flags)), tell)


def _answered(
    question: str,
    filters: "Filters | None",
    show: bool,
    formats: Iterable[str],
    flags: dict[str, Any],
) -> "Generator[Event]":
    """Answer in this process."""
    check_first(question, **flags)
    from ..replies import answer_events

    with open_named(**flags) as library:
        yield from answer_events(library, question, filters=filters, show=show, formats=[*formats])


def _served(path: str, wanted: dict[str, Any], flags: dict[str, Any]) -> "Reply | None":
    """Ask a running server; None where there is none that can be asked."""
    from .. import remote

    settings = {**flags}
    sample, filters = settings.pop("sample"), wanted["filters"]
    given = None if filters is None else {name: getattr(filters, name) for name in FILTERS}
    return remote.events(path, {**wanted, "filters": given, "sample": sample}, settings)


def _either(served: "Reply | None", alone: "Callable[[], Generator[Event]]") -> "Generator[Event]":
    """Yield what a server says; what this process finds where there is none, or it fails."""
    from ..remote import Lost

    begun = False
    if served is not None:
        try:
            with closing(served):
                for event in served:
                    begun = begun or "piece" in event
                    yield event
            return
        except Lost as exc:
            if begun:
                raise RagError(
                    "The server ended in the middle of the answer. Ask again: without it, the "
                    "answer is made here."
                ) from exc
    yield from alone()


def _show(events: "Generator[Event]", tell: "Callable[[Event], None]") -> None:
    """Show what comes before the end, and then the end, before anything is closed."""
    with closing(events), progress_bar() as bar:
        for event in events:
            if "piece" in event:
                click.echo(event["piece"], nl=False)
            elif "progress" in event:
                bar(*event["progress"])
            elif "note" in event:
                click.echo(event["note"], err=True)
            elif "refused" in event:
                raise RagError(event["refused"])
            else:
                tell(event["end"])


def _ask_all(file: Path, flags: dict[str, Any]) -> None:
    from ..batch import answer_all, failed, read_questions

    del flags["no_server"]  # many questions load the models once anyway
    for name in ("bibtex", "ris", *FILTERS):
        if flags.pop(name) is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} does not go with --questions.")
    asked = read_questions(file)
    failures = 0
    with open_named(**flags) as library, progress_bar() as bar:
        for done, row in enumerate(answer_all(library, asked), start=1):
            print_json(row)
            failures += failed(row)
            bar("asking", done, len(asked))
    if failures:
        raise RagError(
            f"{failures} of {len(asked)} questions got no whole answer; their lines hold 'error'."
        )


@click.command()
@click.argument("query")
@click.option("--sample", is_flag=True, help="Search the sample library of 40 abstracts.")
@click.option("--top-k", type=int, help="At most so many papers (default 10).")
@json_option
@server_option
@embedder_option
@filter_options
@library_option
def search(query: str, as_json: bool, **flags: Any) -> None:
    """Rank the papers of a library for a query, without answering.

    \b
    Example:
      citewell search "stable matching with ties" --top-k 5
    """
    filters, no_server = take_filters(flags), flags.pop("no_server")
    asked = {"question": query, "filters": filters}
    served = None if no_server else _served("/search", asked, flags)

    def tell(end: "Event") -> None:
        if as_json:
            print_json(end["papers"])
        else:
            click.echo(end["text"])

    _show(_either(served, lambda: _found(query, filters, flags)), tell)


def _found(query: str, filters: "Filters | None", flags: dict[str, Any]) -> "Generator[Event]":
    """Search in this process."""
    check_first(query, **flags)
    from ..replies import search_events

    with open_named(**flags) as library:
        yield from search_events(library, query, filters=filters)


COMMANDS = (ask, search)
