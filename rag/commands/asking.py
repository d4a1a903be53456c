"""Commands that ask and search."""

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
    from ..library import Library
    from ..schema import Answer, Filters


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
    from .. import as_json as json_of

    bibtex, ris = flags.pop("bibtex"), flags.pop("ris")
    filters = take_filters(flags)
    check_first(question, **flags)
    with open_named(**flags) as library:
        answer = _streamed(library, question, filters, show=not as_json)
        if as_json:
            print_json(json_of.answer_json(answer))
        cited = [citation.paper for citation in answer.citations]
        for file, format_ in ((bibtex, "bibtex"), (ris, "ris")):
            if file is not None:
                write_text(file, library.export(cited, format_))
    if answer.error:
        raise RagError(answer.error)


def _streamed(
    library: "Library", question: str, filters: "Filters | None", *, show: bool
) -> "Answer":
    """Ask; show a model's words as they come, and the whole answer at the end."""
    from .. import render
    from ..schema import Answer

    live = show and library.settings.llm != "quote"
    streamed = ""
    for piece in library.stream(question, filters=filters):
        if isinstance(piece, Answer):
            if live and render.is_changed(piece, streamed):
                click.echo("\n\nAfter checking:\n\n" + render.answer_text(piece))
            elif live:
                click.echo("\n\n" + render.sources_text(piece))
            elif show:
                click.echo(render.answer_text(piece))
            return piece
        streamed += piece
        if live:
            click.echo(render.plain(piece), nl=False)
    raise RuntimeError("a stream ends with its answer")


def _ask_all(file: Path, flags: dict[str, Any]) -> None:
    from ..batch import answer_all, failed, read_questions

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
@embedder_option
@filter_options
@library_option
def search(query: str, as_json: bool, **flags: Any) -> None:
    """Rank the papers of a library for a query, without answering.

    \b
    Example:
      citewell search "stable matching with ties" --top-k 5
    """
    from .. import as_json as json_of
    from .. import render

    filters = take_filters(flags)
    check_first(query, **flags)
    with open_named(**flags) as library:
        found = library.search(query, filters=filters)
    if as_json:
        print_json([json_of.ranked_json(ranked) for ranked in found])
    else:
        click.echo(render.ranked_text(found))


COMMANDS = (ask, search)
