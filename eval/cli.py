"""The commands ``citewell eval`` and ``citewell bench``: parse, call, print. Nothing heavy here."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import click

from rag.commands.options import embedder_option, json_option, library_option, llm_options
from rag.errors import RagError

from .bench.speed_commands import COMMANDS

if TYPE_CHECKING:
    from .bench.results import Results
    from .report import GateResult, Run

F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


class RunCommand(click.Command):
    """``citewell eval`` itself; its help lists the commands beside it."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the other commands."""
        super().format_options(ctx, formatter)
        evaluate.format_commands(ctx, formatter)


class EvaluateGroup(click.Group):
    """Runs questions unless the first word names another command."""

    run: click.Command

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Return the context of the command that the words are for."""
        if args and args[0] in self.commands:
            return super().make_context(info_name, args, parent, **extra)
        return self.run.make_context(info_name, args, parent, **extra)


@click.group(
    cls=EvaluateGroup, name="eval", short_help="Measure the answers to a file of questions."
)
def evaluate() -> None:
    """Ask a file of questions and measure the answers."""


def _retrieval_option(command: F) -> F:
    return click.option(
        "--retrieval",
        type=click.Choice(["hybrid", "lexical", "dense"]),
        help="How papers are found (default hybrid).",
    )(command)


@click.command(cls=RunCommand, name="eval")
@click.argument("questions", required=False, type=_FILE)
@click.option("--sample", is_flag=True, help="Run our own questions on the sample library.")
@click.option("--out", type=_FOLDER, help="Folder of the run (default: eval-runs/NAME-TIME).")
@click.option("--resume", is_flag=True, help="Go on where the run in that folder stopped.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="Questions asked at once.")
@click.option(
    "--min", "lower", multiple=True, metavar="METRIC=VALUE", help="Fail when a measure is lower."
)
@click.option(
    "--max", "upper", multiple=True, metavar="METRIC=VALUE", help="Fail when a measure is higher."
)
@click.option("--top-k", type=int, help="Papers in the ranked list (default 10).")
@click.option("--max-statements", type=int, help="Statements in a quoted answer (default 3).")
@click.option("--judge", metavar="LLM", help="Let this model judge too, spelt as for --llm.")
@_retrieval_option
@json_option
@llm_options
@embedder_option
@library_option
def run(
    questions: Path | None,
    sample: bool,
    out: Path | None,
    resume: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    """Ask a file of questions and say how good the answers are.

    Every measure compares the answers with the labels in the file; no model is needed to judge
    them. The run's folder gets the answers, the figures, a report to read and one for build
    servers. docs/evaluation.md explains the file and the measures.

    \b
    Examples:
      citewell eval --sample
      citewell eval questions.jsonl --library papers --out run-1 --min must_contain=0.6
      citewell eval questions.xlsx --retrieval lexical --out run-2
      citewell eval compare run-1 run-2
    """
    if questions is None and not sample:
        raise click.UsageError("Give a file of questions, or --sample.")
    if resume and out is None:
        raise click.UsageError("--resume needs the folder of the run: --out DIR.")
    _run(questions, out, sample=sample, resume=resume, as_json=as_json, flags=flags)


evaluate.run = run


def _run(
    questions: Path | None,
    out: Path | None,
    *,
    sample: bool,
    resume: bool,
    as_json: bool,
    flags: dict[str, Any],
) -> None:
    from rag.commands.options import open_named

    from . import session
    from .cases import load_cases
    from .run import run_cases
    from .samples import sample_questions

    workers, judge = flags.pop("workers"), flags.pop("judge")
    gates = session.read_gates(flags.pop("lower"), flags.pop("upper"))
    path = questions or sample_questions()
    cases = load_cases(path)
    out = out or session.new_folder(path.stem)
    with open_named(sample=sample, **flags) as library, _Bar("asking") as bar:
        job = session.prepare(library, cases, name=path.name, judge=judge, workers=workers)
        if job.judge_calls:
            click.echo(f"The judge '{judge}' is called up to {job.judge_calls} times.", err=True)
        done, results = run_cases(
            job, out, gates=gates, resume=resume, progress=lambda n, of, _: bar.step(n, of)
        )
    _show(done, results, out, as_json=as_json)


class _Bar:
    """The shared progress bar, told of a run's steps."""

    def __init__(self, stage: str) -> None:
        from rag.commands.options import progress_bar

        self._bar, self._stage = progress_bar(), stage

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.__exit__(*exc)

    def step(self, done: int, total: int) -> None:
        self._bar(self._stage, done, total)


def _show(done: "Run", gates: "list[GateResult]", out: Path, *, as_json: bool) -> None:
    from . import summary_text

    if as_json:
        click.echo(summary_text.as_json(done, gates, out))
    else:
        click.echo(summary_text.as_text(done, gates, out), nl=False)
    problem = summary_text.problem(done, gates, out)
    if problem:
        raise RagError(problem)


@evaluate.command()
@click.argument("run_a", type=_FOLDER)
@click.argument("run_b", type=_FOLDER)
@click.option("--html", type=_FILE, help="Write the comparison as a page here too.")
@json_option
def compare(run_a: Path, run_b: Path, html: Path | None, as_json: bool) -> None:
    """Say how two runs of the same questions differ, how surely, and which cases flipped.

    \b
    Example:
      citewell eval compare run-lexical run-hybrid --html compare.html
    """
    from rag.commands.options import write_text

    from . import compare as comparing

    found = comparing.compare_folders(run_a, run_b)
    if html is not None:
        write_text(html, comparing.render_html(found))
    render = comparing.render_json if as_json else comparing.render_text
    click.echo(render(found), nl=False)


# ---- benchmarks ----------------------------------------------------------------------------------


@click.group(short_help="Measure on public benchmarks in BEIR's layout.")
def bench() -> None:
    """Measure searching and answering on benchmark folders.

    A folder holds corpus.jsonl[.gz], queries.jsonl and qrels/*.tsv (BEIR's layout), and qa.jsonl
    for questions with answers. Its corpus is added once, to a library that is kept beside yours.
    """


def _bench_options(command: F) -> F:
    """Add what all benchmark commands share."""
    for option in (
        click.option(
            "--markdown", type=_FILE, help="Put the table between the marks of this file."
        ),
        click.option("--out", type=_FOLDER, help="Write results (and TREC run files) here."),
        click.option("--seed", type=int, default=0, help="Seed of intervals, tests and samples."),
        click.option("--home", type=_FOLDER, help="Folder that holds the libraries."),
        json_option,
        embedder_option,
    ):
        command = option(command)
    return click.argument("folders", nargs=-1, required=True, type=_FOLDER, metavar="DIR...")(
        command
    )


def _qa_options(command: F) -> F:
    for option in (
        click.option(
            "--questions", type=_FILE, multiple=True,
            help="More questions for the corpus of the (one) folder.",
        ),
        click.option("--limit", type=click.IntRange(1), help="A sample of so many of each file."),
        llm_options,
    ):  # fmt: skip
        command = option(command)
    return command


_check_option = click.option(
    "--check-trec", is_flag=True, help="Compare each measure with pytrec_eval's."
)


_reranker_option = click.option(
    "--reranker",
    type=_FOLDER,
    help="Folder of a cross-encoder: a fourth engine that sorts the hybrid's papers anew.",
)


@bench.command()
@_check_option
@_reranker_option
@_bench_options
def retrieval(folders: tuple[Path, ...], **flags: Any) -> None:
    """Compare lexical, dense and hybrid search: one table with 95 % intervals.

    \b
    Example:
      citewell bench retrieval benchmarks/cranfield benchmarks/cisi --out runs
    """
    _bench(folders, flags, ("retrieval",))


@bench.command()
@_qa_options
@_bench_options
def qa(folders: tuple[Path, ...], **flags: Any) -> None:
    """Measure abstention and evidence sentences, and yes/no verdicts with --llm.

    \b
    Examples:
      citewell bench qa benchmarks/scifact
      citewell bench qa benchmarks/pubmedqa --llm gguf:model.gguf --limit 50
    """
    _bench(folders, flags, ("qa",))


@bench.command(name="all")
@_check_option
@_reranker_option
@_qa_options
@_bench_options
def everything(folders: tuple[Path, ...], **flags: Any) -> None:
    """Run whatever each folder has labels for; makes the table of docs/benchmarks.md.

    \b
    Example:
      citewell bench all benchmarks/* --markdown docs/benchmarks.md
    """
    _bench(folders, flags, ("retrieval", "qa"))


for _command in COMMANDS:
    bench.add_command(_command)


def _bench(folders: tuple[Path, ...], flags: dict[str, Any], parts: tuple[str, ...]) -> None:
    from rag.settings import load_settings

    from .bench import measure

    names = ("out", "seed", "as_json", "markdown", "questions", "limit", "check_trec", "reranker")
    own = {name: flags.pop(name, None) for name in names}
    if own["questions"] and len(folders) != 1:
        raise click.UsageError("--questions goes with one folder.")
    settings = load_settings(**flags)
    with _Bench() as told:
        results = measure.run(
            folders,
            settings,
            measure.Wishes(
                parts=parts,
                out=own["out"],
                seed=own["seed"],
                questions=tuple(own["questions"] or ()),
                limit=own["limit"],
                check_trec=bool(own["check_trec"]),
                reranker=own["reranker"],
            ),
            progress=told,
        )
    _show_bench(results, own["markdown"], as_json=own["as_json"])


class _Bench(_Bar):
    """A bar for each benchmark and engine."""

    def __init__(self) -> None:
        super().__init__("")

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._bar(stage, done, total)


def _show_bench(results: "Results", markdown: Path | None, *, as_json: bool) -> None:
    from .bench import table

    if markdown is not None:
        table.put_between_marks(markdown, results)
    click.echo(table.as_json(results) if as_json else table.as_text(results), nl=False)
    if results.problems:
        raise RagError("\n".join(results.problems))
