"""Options that several commands share, and the few steps that all of them take."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ..errors import RagError

if TYPE_CHECKING:
    from ..library import Library
    from ..progress import Bar
    from ..schema import Filters

F = TypeVar("F", bound=Callable[..., Any])
FILTERS = ("author", "topic", "venue", "year_from", "year_to", "source")


def library_option(command: F) -> F:
    """Add --library and --home."""
    command = click.option(
        "--home", type=click.Path(path_type=Path), help="Folder that holds the libraries."
    )(command)
    return click.option("--library", "-l", help="Name of the library (default: 'default').")(
        command
    )


def embedder_option(command: F) -> F:
    """Add --embedder."""
    return click.option("--embedder", help="'minilm' (default) or 'st:FOLDER'.")(command)


def profile_option(command: F) -> F:
    """Add --profile."""
    return click.option(
        "--profile", help="'fast' (no vectors in the background), 'balanced' or 'best'."
    )(command)


def filter_options(command: F) -> F:
    """Add the options that restrict which papers are used."""
    for option in (
        click.option("--source", help="Only papers from this imported file."),
        click.option("--year-to", type=int, help="Only papers up to this year."),
        click.option("--year-from", type=int, help="Only papers from this year on."),
        click.option("--venue", help="Only papers whose venue contains this."),
        click.option("--topic", help="Only papers whose topic contains this."),
        click.option("--author", help="Only papers with an author whose name contains this."),
    ):
        command = option(command)
    return command


def llm_options(command: F) -> F:
    """Add the options that choose a language model and how strictly it is checked."""
    for option in (
        click.option(
            "--verifier",
            metavar="FOLDER",
            help="Also judge the model's statements with this cross-encoder of your own.",
        ),
        click.option(
            "--strict",
            is_flag=True,
            default=None,
            help="Leave out what the model says and no given sentence supports.",
        ),
        click.option("--llm-max-tokens", type=int, help="Longest answer (default 300 tokens)."),
        click.option("--llm-timeout-s", type=float, help="Longest silence (default 120 s)."),
        click.option("--llm-api-key", help="Key for that server; better in CITEWELL_LLM_API_KEY."),
        click.option("--llm-base-url", help="Address of the model's server."),
        click.option(
            "--llm",
            help="'quote' (default, no model), gguf:PATH, hf:REPO[/FILE], ollama:MODEL or "
            "openai:MODEL.",
        ),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")


def take_filters(flags: dict[str, Any]) -> "Filters | None":
    """Take the filter options out of the flags; None when none was given."""
    from ..schema import Filters

    return Filters(**{name: flags.pop(name) for name in FILTERS}) or None


def open_named(
    *, create: bool = False, sample: bool = False, noted: bool = True, **flags: Any
) -> "Library":
    """Open the library that the flags name; ``noted``: say where papers wait for vectors."""
    from ..library import open_library
    from ..settings import load_settings

    settings = load_settings(**flags)
    if sample:
        from ..samples import open_sample

        with progress_bar() as bar:
            return open_sample(settings, progress=bar)
    with progress_bar() as bar:
        library = open_library(settings=settings, create=create, progress=bar)
    if noted and not create and (waiting := library.waiting):
        from ..replies import waiting_note

        click.echo(waiting_note(waiting, library.name), err=True)
    return library


def open_as_it_is(*, any_embedder: bool = True, **flags: Any) -> "Library":
    """Open the library that the flags name; finish nothing, and load no embedder."""
    from ..library import open_library
    from ..settings import load_settings

    return open_library(settings=load_settings(**flags), finish=False, any_embedder=any_embedder)


def check_first(question: str, *, sample: bool = False, **flags: Any) -> None:
    """Refuse a question that cannot be asked before anything slow is loaded."""
    from ..question import check
    from ..settings import load_settings

    check(question, max_chars=load_settings(**flags).max_question_chars)


def progress_bar() -> "Bar":
    """Return a progress bar for stderr, to be used in a ``with`` block."""
    from ..progress import Bar

    return Bar()


def print_json(value: Any) -> None:
    """Print one JSON value on a line of stdout; escaped where stdout cannot show it."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:  # half a surrogate, or a terminal without Unicode
        text = json.dumps(value)
    click.echo(text)


def write_text(file: Path, text: str) -> None:
    """Write a file of the user's choice; an error is a sentence."""
    try:
        file.write_text(text, "utf-8")
    except OSError as exc:
        raise RagError(
            f"The file '{file}' cannot be written: {exc.strerror}. Name one in a folder that "
            "exists and that you may write to."
        ) from exc
