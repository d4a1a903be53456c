"""The command line: parse, call, print. Nothing heavy is imported before a command needs it."""

import errno
import io
import logging
import os
import sys
from pathlib import Path
from typing import Any

import click

from . import __version__
from .commands import asking, care, keeping, serving
from .errors import RagError

QUIET = {  # set before any library loads, so that nothing calls out
    "ANONYMIZED_TELEMETRY": "False",
    "GRADIO_ANALYTICS_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# NumPy's threads wait awake for more work and take a core from the encoder, which needs both: with
# them a question took half as long again. What NumPy computes here is done in a millisecond.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
INTERRUPTED = 130


class Commands(click.Group):
    """Our commands, and those that other parts register in the group ``citewell.commands``."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*super().list_commands(ctx), *_registered()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return one command; a registered one is imported only now."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in _registered():
            return own
        try:
            found: click.Command = _registered()[cmd_name].load()
        except Exception as exc:  # somebody else's code must not break ours, nor --help
            return _broken(cmd_name, exc)
        return found


def _broken(name: str, exc: Exception) -> click.Command:
    """Return a command in the place of one that cannot be imported; it says why."""

    def callback() -> None:
        raise RagError(
            f"The command '{name}' cannot be loaded: {type(exc).__name__}: {exc}. "
            "Install the package that it comes from anew, or remove it."
        ) from exc

    options = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(
        name, callback=callback, context_settings=options, short_help="(cannot be loaded)"
    )


def _registered() -> dict[str, Any]:
    from importlib.metadata import entry_points  # slow to import, and our own commands need it not

    return {point.name: point for point in entry_points(group="citewell.commands")}


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"citewell {__version__} from {Path(__file__).parent}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version,
    help="Print the version and where it runs from.",
)  # fmt: skip
@click.option("-v", "--verbose", is_flag=True, help="Show what happens inside, on stderr.")
def cli(verbose: bool) -> None:
    """Answer questions about a pile of paper abstracts, each sentence bound to its source.

    \b
    Start here:
      citewell ask --sample "How does 4D3R refine camera poses?"
      citewell add papers.bib
      citewell ask "Which papers use diffusion models?"
    """
    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, stream=sys.stderr)


for _module in (keeping, asking, care, serving):
    for _command in _module.COMMANDS:
        cli.add_command(_command)


def main() -> None:
    """Run the program; errors are sentences on stderr with exit code 1, wrong usage is 2."""
    for name, value in (QUIET | ONE_THREAD).items():
        os.environ.setdefault(name, value)
    if isinstance(sys.stdout, io.TextIOWrapper):  # a terminal without Unicode shows "?"
        sys.stdout.reconfigure(errors="replace")
    try:
        code = cli.main(standalone_mode=False)  # an exit code where a command asked for one
    except click.Abort:  # Ctrl-C, or a question that nobody could answer
        click.echo("error: Stopped. What was stored stays stored.", err=True)
        code = INTERRUPTED
    except click.ClickException as exc:
        exc.show()
        code = exc.exit_code
    except RagError as exc:
        click.echo(f"error: {exc}", err=True)
        code = 1
    except OSError as exc:
        if exc.errno != errno.ENOSPC:
            raise
        click.echo(
            f"error: The output cannot be written: {exc.strerror}. Free some room.", err=True
        )
        code = 1
    sys.exit(code if isinstance(code, int) else 0)
