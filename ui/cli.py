"""The command ``citewell chat``: parse, call. Nothing heavy is imported before it runs."""

from pathlib import Path
from typing import Any

import click

from rag.commands.options import embedder_option, library_option, llm_options, profile_option
from rag.errors import SettingsError

DEFAULT_PORT = 7860


@click.command()
@library_option
@click.option("--sample", is_flag=True, help="Open the sample library (the default).")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=DEFAULT_PORT, show_default=True,
    help="Port to listen on.",
)  # fmt: skip
@click.option(
    "--auth", metavar="USER:PASSWORD", help="Ask for a password; or a file with that one line."
)
@click.option("--no-browser", is_flag=True, help="Do not open the page in a browser.")
@embedder_option
@profile_option
@llm_options
def chat(
    sample: bool, host: str, port: int, auth: str | None, no_browser: bool, **flags: Any
) -> None:
    """Open the chat page in a browser.

    It opens on the sample library, or on the one that --library names. Only this machine can reach
    it unless --host says otherwise, which needs --auth. While it runs, it also answers citewell ask
    and citewell search, at once.

    \b
    Examples:
      citewell chat
      citewell chat --library thesis --port 8000
    """
    from rag.settings import load_settings

    from .server import Address, bind, check_address, serve
    from .shelf import SAMPLE, Shelf

    named = flags["library"]
    if sample and named:
        raise click.UsageError("Give either --sample or --library, not both.")
    address = Address(host, port, read_auth(auth))
    check_address(address)
    settings = load_settings(**flags)
    shelf = Shelf(settings, SAMPLE if sample or not named else settings.library)
    listener = bind(address)
    click.echo(f"Citewell runs at {address.url}  (stop it with Ctrl+C)")
    if not no_browser:
        _open_browser(address.url)
    serve(shelf, address, listener)


def read_auth(value: str | None) -> tuple[str, str] | None:
    """Return user and password from ``USER:PASSWORD`` or from a file that holds it.

    Raises:
        SettingsError: There is no user or no password; the value is not repeated.
    """
    if value is None:
        return None
    text = value
    if ":" not in value or Path(value).is_file():
        try:
            text = Path(value).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingsError(
                "The value of --auth is neither USER:PASSWORD nor a file that can be read. "
                "Give one of the two."
            ) from exc
    user, _, password = text.partition(":")
    if not user or not password or "\n" in password:
        raise SettingsError(
            "The value of --auth holds no user or no password. It has the form USER:PASSWORD."
        )
    return user, password


def _open_browser(url: str) -> None:
    """Open the page; the port is taken already, so that the browser waits for the server."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
