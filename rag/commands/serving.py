"""The command that answers for all others from one process."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from .options import embedder_option, library_option, profile_option, progress_bar

if TYPE_CHECKING:
    from ..serving_shelf import Opened
    from ..settings import Settings

QUESTION = "What is studied here?"


@click.command(short_help="Stay loaded, so that ask and search answer at once.")
@profile_option
@embedder_option
@library_option
def serve(**flags: Any) -> None:
    """Stay in the foreground with libraries and models loaded, and answer ask and search.

    They find it by themselves and answer in a fraction of a second; without it they load all that
    they need. A running chat page does the same. Only you, on this machine, can reach it.

    \b
    Examples:
      citewell serve
      citewell serve --library thesis
    """
    from ..serving import Server
    from ..serving_shelf import Opened
    from ..settings import load_settings

    settings = load_settings(**flags)
    opened = Opened(settings.home)
    server = Server(opened)
    with _until_told() as told:
        server.start()
        try:
            click.echo(
                f"Citewell answers at 127.0.0.1, port {server.port}, for the libraries in "
                f"'{settings.home}'  (stop it with Ctrl+C)"
            )
            with told.breaking_off():
                load(opened, settings, named=flags["library"] is not None)
            while not told.ended.wait(0.5):  # without a time, Ctrl+C is not seen on Windows
                continue
        finally:
            server.stop()
    click.echo("Stopped.")


class _Told:
    """Whether this process was told to end."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self._breaks = False

    def __call__(self, *signal_and_frame: object) -> None:
        """Take note of a signal; break off what may be."""
        self.ended.set()
        if self._breaks:
            self._breaks = False
            raise KeyboardInterrupt

    @contextmanager
    def breaking_off(self) -> Iterator[None]:
        """Let a signal end what is done in this block: loading a model may take minutes."""
        with suppress(KeyboardInterrupt):
            self._breaks = True
            try:
                yield
            finally:
                self._breaks = False


@contextmanager
def _until_told() -> Iterator[_Told]:
    """Take the signals that end a process, and give them back."""
    told = _Told()
    names = [name for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {name: signal.signal(getattr(signal, name), told) for name in names}
    try:
        yield told
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def load(opened: "Opened", settings: "Settings", *, named: bool) -> None:
    """Load everything that the first question would wait for, and say so.

    Args:
        opened: Keeps the library open.
        settings: Name the library and, perhaps, a model file.
        named: The user asked for this library: one that is missing is an error.

    Raises:
        RagError: The library cannot be opened, or the model cannot be loaded.
    """
    from ..errors import IndexMissingError

    try:
        with (
            progress_bar() as bar,
            opened.lend(settings.library, settings, progress=bar, keep=True) as library,
        ):
            for _ in library.stream(QUESTION, llm="quote"):
                continue
    except IndexMissingError:
        if named:
            raise
        click.echo("Nothing is loaded yet: a library is opened when it is first asked.")
        return
    _load_model(settings)
    click.echo(f"Loaded: '{library.name}'")


def _load_model(settings: "Settings") -> None:
    """Load a model file that the settings name; servers elsewhere are left alone."""
    if settings.llm.startswith(("gguf:", "hf:")):
        from .. import llms
        from ..llms.streaming import first_sign

        first_sign(llms.build(settings))


COMMANDS = (serve,)
