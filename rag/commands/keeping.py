"""Commands that add, list, show, remove and keep papers."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from ..errors import RagError
from .options import (
    embedder_option,
    filter_options,
    json_option,
    library_option,
    open_as_it_is,
    open_named,
    print_json,
    profile_option,
    progress_bar,
    take_filters,
    write_text,
)


@click.command(short_help="Add files of papers to a library.")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, readable=False))
@click.option("--format", "format_", help="listing, bibtex, ris or jsonl (default: find out).")
@click.option("--encoding", help="Text encoding of the files (default: find out).")
@click.option("--wait", is_flag=True, help="Make all vectors now, which takes minutes for many.")
@json_option
@embedder_option
@profile_option
@library_option
def add(
    files: tuple[Path, ...],
    format_: str | None,
    encoding: str | None,
    wait: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Add files of papers to a library, which is made when there is none.

    Read are BibTeX, RIS, JSON lines and paper-search listings. Adding a file again changes only
    what changed in it. A bad record is named and the others are stored. The papers can be asked at
    once; vectors are made when a question wants them, in the chat page, or by `citewell embed`.

    \b
    Examples:
      citewell add export.bib more.ris
      citewell add papers.jsonl --library neurips
    """
    from .. import as_json as json_of
    from .. import render

    with open_named(create=True, **flags) as library, progress_bar() as bar:
        report = library.add(files, format=format_, encoding=encoding, wait=wait, progress=bar)
    if as_json:
        print_json(json_of.report_json(report))
    else:
        click.echo(render.report_text(report, library=library.name), err=not report.stored)
    if not report.stored or (wait and report.pending):
        sys.exit(1)


def stand_back() -> None:
    """Let every other program come first, where the system can."""
    with suppress(OSError, AttributeError):
        os.nice(10)


@click.command()
@embedder_option
@profile_option
@library_option
def embed(**flags: Any) -> None:
    """Make the vectors that papers still wait for.

    Papers are found by their words before that, and a question makes the vectors it wants itself.
    Others may ask and add meanwhile. Stop it at any time: what is made stays.

    \b
    Example:
      citewell embed --library neurips
    """
    stand_back()
    with open_named(noted=False, **flags) as library, progress_bar() as bar:
        done = library.embed(progress=bar)
    if done.error:
        raise RagError(
            f"{done.done} passages were embedded; {done.waiting} papers still wait: {done.error}"
        )
    click.echo(f"{done.done} passages were embedded. Every paper has its vectors.")


@click.command("list")
@click.option("--limit", type=click.IntRange(min=1), help="Show at most so many.")
@json_option
@filter_options
@library_option
def list_papers(limit: int | None, as_json: bool, **flags: Any) -> None:
    """List the papers of a library.

    \b
    Example:
      citewell list --topic "Game Theory" --limit 10
    """
    from .. import as_json as json_of
    from .. import render

    filters = take_filters(flags)
    with open_as_it_is(**flags) as library:
        for paper in library.papers(filters, limit=limit or -1):
            if as_json:
                print_json(json_of.paper_json(paper))
            else:
                click.echo(render.paper_line(paper))


@click.command()
@click.argument("paper_id")
@json_option
@library_option
def show(paper_id: str, as_json: bool, **flags: Any) -> None:
    """Show one paper with its whole abstract.

    \b
    Example:
      citewell show doi:10.1000/xyz
    """
    from .. import as_json as json_of
    from .. import render

    with open_as_it_is(**flags) as library:
        paper = library.paper(paper_id)
    if as_json:
        print_json(json_of.paper_json(paper))
    else:
        click.echo(render.paper_text(paper))


@click.command()
@click.argument("paper_ids", nargs=-1)
@click.option("--import", "import_id", type=int, help="Remove what this import added (undo).")
@click.option("--all", "whole", is_flag=True, help="Delete the whole library.")
@click.option("--yes", is_flag=True, help="Do not ask back.")
@library_option
def remove(
    paper_ids: tuple[str, ...], import_id: int | None, whole: bool, yes: bool, **flags: Any
) -> None:
    """Remove papers, one import, or a whole library.

    \b
    Examples:
      citewell remove doi:10.1000/xyz
      citewell remove --import 3
      citewell remove --all --library old
    """
    if (bool(paper_ids), import_id is not None, whole).count(True) != 1:
        raise click.UsageError("Name papers by their ids, or one of --import and --all.")
    if whole:
        _delete(yes=yes, **flags)
        return
    with open_as_it_is(**flags) as library:
        if import_id is None:
            count = library.remove(list(paper_ids))
        else:
            count = library.undo_import(import_id)
    click.echo(f"Removed {count} {'paper' if count == 1 else 'papers'}.")
    if not count:
        sys.exit(1)


def _delete(*, yes: bool, **flags: Any) -> None:
    """Delete a whole library, also one that cannot be opened."""
    from ..library import delete_library
    from ..settings import load_settings

    settings = load_settings(**flags)
    if not yes and not click.confirm(f"Delete the library '{settings.library}'?"):
        click.echo("Nothing was deleted.", err=True)
        sys.exit(1)
    delete_library(settings.library, settings=settings)
    click.echo(f"Deleted the library '{settings.library}'.")


@click.command()
@click.option("--embed", is_flag=True, help="Also make every vector anew, with --embedder.")
@embedder_option
@library_option
def rebuild(embed: bool, **flags: Any) -> None:
    """Make the indexes of a library anew from its catalogue.

    Nothing is embedded again unless --embed is given.
    """
    with open_as_it_is(any_embedder=embed, **flags) as library, progress_bar() as bar:
        work = library.rebuild(embed=embed, progress=bar)
    click.echo(
        f"Indexed the words of {work.terms} papers and stored {work.vectors} vectors; "
        f"{work.embedded} passages were embedded."
    )
    if work.error:
        raise RagError(f"Some papers still wait for their vectors: {work.error}")


@click.command()
@click.option("--check", is_flag=True, help="Compare catalogue, terms and vectors.")
@json_option
@library_option
def status(check: bool, as_json: bool, **flags: Any) -> None:
    """Say what a library holds and whether it is sound.

    With --check, problems give exit code 1.
    """
    from .. import as_json as json_of
    from .. import render

    with open_as_it_is(**flags) as library:
        found = library.status(check=check)
    if as_json:
        print_json(json_of.status_json(found))
    else:
        click.echo(render.status_text(found))
    if check and found.problems:
        sys.exit(1)


@click.command("libraries")
@json_option
@click.option("--home", type=click.Path(path_type=Path), help="Folder that holds the libraries.")
def list_libraries(as_json: bool, home: Path | None) -> None:
    """List the libraries."""
    from ..library import libraries
    from ..settings import load_settings

    for name, folder in libraries(load_settings(home=home)):
        if as_json:
            print_json({"name": name, "path": str(folder)})
        else:
            click.echo(f"{name}  ({folder})")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@library_option
def backup(file: Path, **flags: Any) -> None:
    """Write a whole library to one file.

    \b
    Example:
      citewell backup neurips.citewell --library neurips
    """
    with open_as_it_is(**flags) as library:
        papers = library.status().papers
        written = library.backup(file)
        click.echo(f"Wrote the {papers} papers of the library '{library.name}' to {written}.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, readable=False))
@library_option
def restore(file: Path, **flags: Any) -> None:
    """Make a library from a backup file; nothing is embedded.

    \b
    Example:
      citewell restore neurips.citewell --library neurips
    """
    from ..library import restore as restore_library
    from ..settings import load_settings

    settings = load_settings(**flags)
    with restore_library(file, settings.library, settings=settings) as library:
        papers = library.status().papers
        click.echo(f"Restored {papers} papers to the library '{library.name}'.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format", "format_", type=click.Choice(["bibtex", "ris", "csl-json"]), default="bibtex",
    help="Of the bibliography.",
)  # fmt: skip
@filter_options
@library_option
def export(file: Path, format_: str, **flags: Any) -> None:
    """Write the papers of a library as a bibliography.

    \b
    Example:
      citewell export papers.ris --format ris --author Lin
    """
    filters = take_filters(flags)
    with open_as_it_is(**flags) as library:
        papers = library.papers(filters)
        write_text(file, library.export(papers, format_))
    click.echo(f"Wrote {len(papers)} papers to {file}.")


COMMANDS = (
    add,
    list_papers,
    show,
    remove,
    embed,
    rebuild,
    status,
    list_libraries,
    backup,
    restore,
    export,
)
