"""The commands ``citewell bench speed``, ``on-demand`` and ``llm``: parse, call, print."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rag.commands.options import embedder_option, json_option, llm_options

F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)
_PARTS = ("add", "embed", "readd", "search", "answer", "indexer")


def _common(command: F) -> F:
    """Add what the three commands share."""
    for option in (
        click.option("--seed", type=int, default=0, help="Seed of samples and intervals."),
        click.option(
            "--markdown", type=_FILE, help="Put the table between the marks of this file."
        ),
        click.option("--out", type=_FOLDER, help="Write the results as JSON here."),
        click.option("--home", type=_FOLDER, help="Folder that holds the libraries."),
        click.option(
            "--library", "of_library", metavar="NAME",
            help="Measure this library, which holds the corpus; it is copied, not changed.",
        ),
        json_option,
        embedder_option,
    ):  # fmt: skip
        command = option(command)
    return command


@click.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option(
    "--part", "parts", multiple=True, type=click.Choice([*_PARTS, "all"]), default=("all",),
    help="Measure this alone; may be given several times.",
)  # fmt: skip
@click.option("--repeats", type=click.IntRange(1), default=5, help="Rounds of both sides in turn.")
@click.option("--limit", type=click.IntRange(1), help="Only the first records of the corpus.")
@click.option("--starter", type=_FILE, help="Compare with this starter instead of our own.")
@click.option(
    "--starter-python", metavar="PYTHON", help="The Python of the environment that it needs."
)
@click.option(
    "--starter-limit", type=click.IntRange(1), default=300,
    help="Records that it adds a round (default 300: its speed is steady).",
)  # fmt: skip
@click.option("--questions", type=_FILE, help="Ask these instead of the folder's queries.")
@click.option(
    "--queries", type=click.IntRange(2), default=400, help="Questions of each part, at most."
)
@_common
def speed(folder: Path, parts: tuple[str, ...], **flags: Any) -> None:
    """Compare adding, searching and asking with a plain LlamaIndex + Chroma starter.

    Both sides take turns on the same corpus in the same run; the table gives medians of the rounds,
    their ratio, and the least and greatest round. What is measured is described in
    docs/benchmarks.md. The machine should do nothing else meanwhile.

    \b
    Examples:
      citewell bench speed benchmarks/scifact --markdown docs/benchmarks.md
      citewell bench speed benchmarks/scifact --part search --part answer --library scifact
      citewell bench speed benchmarks/scifact --starter starter.py --starter-python venv/bin/python
      citewell bench speed benchmarks/scifact --limit 50 --repeats 1 --queries 8
    """
    from . import speed as module
    from . import speed_rows, speed_table

    wanted = [part for part in speed_rows.PARTS if part in parts or "all" in parts]
    settings, output, own = _split(flags)
    wishes = module.SpeedWishes(parts=wanted, **own)
    with _bar() as told:
        found = module.run(folder, settings, wishes, progress=told)
    if output["markdown"] is not None:
        text = speed_table.as_markdown(found)
        speed_table.put_between(output["markdown"], module.MARKS, text)
    render = speed_table.as_json if output["as_json"] else speed_table.as_text
    click.echo(render(found).rstrip())


@click.command(name="on-demand")
@click.argument("folders", nargs=-1, required=True, type=_FOLDER, metavar="DIR...")
@click.option(
    "--budget", "budgets", multiple=True, type=float, default=(0.5, 1.5),
    help="Seconds a question may embed (default 0.5 and 1.5; without a limit is always measured).",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1), help="A sample of so many queries of each folder.")
@click.option(
    "--simulate", is_flag=True,
    help="Faster: make each vector once and remember it; a clock that counts embedding at --rate "
    "keeps the budget.",
)  # fmt: skip
@click.option(
    "--rate",
    type=click.FloatRange(min=0.1),
    help="With --simulate: passages embedded a second (default: measured).",
)
@_common
def on_demand(folders: tuple[Path, ...], **flags: Any) -> None:
    """Measure nDCG@10 right after adding, before anything is embedded in the background.

    Every query starts cold, with no vector made for another one; its best candidates are embedded
    within the budget. Compared are the fully embedded library and words alone.

    \b
    Examples:
      citewell bench on-demand benchmarks/cranfield benchmarks/cisi --limit 100
      citewell bench on-demand benchmarks/* --simulate --rate 12 --markdown docs/benchmarks.md
    """
    from . import on_demand as module
    from . import speed_table

    if flags["of_library"] and len(folders) != 1:
        raise click.UsageError("--library goes with one folder.")
    settings, output, own = _split(flags)
    wishes = module.DemandWishes(**own)
    with _bar() as told:
        found = module.run(folders, settings, wishes, progress=told)
    if output["markdown"] is not None:
        speed_table.put_between(output["markdown"], module.MARKS, module.as_markdown(found))
    click.echo(module.as_json(found) if output["as_json"] else module.as_text(found))


@click.command(name="llm")
@click.option("--questions", type=_FILE, required=True, help="Questions, one a line of JSON.")
@click.option("--limit", type=click.IntRange(1), default=10, help="Questions (default 10).")
@click.option(
    "--abstracts", type=click.IntRange(1), default=3, help="Abstracts in the other engine's prompt."
)
@_common
@llm_options
def llm_speed(**flags: Any) -> None:
    """Compare what a language model reads, and how soon it answers, with LlamaIndex's own engine.

    Both ask the same model about the same library, question by question in turn: Citewell with its
    numbered sentences, LlamaIndex's CitationQueryEngine with whole abstracts.

    \b
    Example:
      citewell bench llm --library papers --questions questions.jsonl --llm gguf:model.gguf
    """
    from . import llm_speed as module
    from . import speed_table

    settings, output, own = _split(flags)
    wishes = module.LLMWishes(**own)
    with _bar() as told:
        found = module.run(settings, wishes, progress=told)
    if output["markdown"] is not None:
        text = speed_table.as_markdown(found)
        speed_table.put_between(output["markdown"], module.MARKS, text)
    render = speed_table.as_json if output["as_json"] else speed_table.as_text
    click.echo(render(found).rstrip())


def _split(flags: dict[str, Any]) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the settings, how to show the results, and what is left: the wishes."""
    from rag.settings import Settings, load_settings

    output = {name: flags.pop(name) for name in ("markdown", "as_json")}
    own = {"library": flags.pop("of_library")}
    known = {name: flags.pop(name) for name in list(flags) if name in Settings.model_fields}
    return load_settings(**known), output, {**flags, **own}


def _bar() -> Any:
    from rag.commands.options import progress_bar

    return progress_bar()


COMMANDS = (speed, on_demand, llm_speed)
