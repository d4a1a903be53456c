"""The server: the page behind the door, on one port, with everything local."""

import asyncio
import logging
import os
import shutil
import socket
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import SettingsError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rag.serving import Server

    from .guard import Guard
    from .shelf import Shelf

log = logging.getLogger(__name__)

MAX_UPLOAD = 200 * 1024 * 1024
QUIET = {
    "GRADIO_ANALYTICS_ENABLED": "False",
    # Statistics of its queue that nobody reads, made with pandas after every event.
    "GRADIO_ANALYTICS_CACHE_FREQUENCY": str(10**9),
}
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """Where the page listens, and who may come in (user, password) if not everybody."""

    host: str = "127.0.0.1"
    port: int = 7860
    auth: tuple[str, str] | None = None

    @property
    def url(self) -> str:
        """Return what to type into a browser on this machine."""
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def check_address(address: Address) -> None:
    """Make sure that a page which others can reach has a password.

    Raises:
        SettingsError: It has none.
    """
    if address.host not in LOOPBACK and address.auth is None:
        raise SettingsError(
            f"The host '{address.host}' can be reached from other machines, so the page needs a "
            "password. Give one: citewell chat --host HOST --auth USER:PASSWORD, or --auth FILE "
            "with one line USER:PASSWORD."
        )


def bind(address: Address) -> socket.socket:
    """Take the port before anything slow is loaded.

    Raises:
        SettingsError: It is taken, or the host is not an address of this machine.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # With its protocol named: asyncio sends small packets at once (TCP_NODELAY) only where it is.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(128)
    except (OSError, OverflowError) as exc:
        listener.close()
        raise SettingsError(
            f"The page cannot listen on '{address.host}' port {address.port}: {exc}. "
            "Close the program that uses it, or choose another with --port."
        ) from exc
    return listener


def make_app(
    shelf: "Shelf", address: Address, uploads: Path, beside: "Beside | None" = None
) -> "Guard":
    """Return the whole application: door, lobby, page.

    The page takes seconds to build. Until then the lobby answers, so that nobody meets a closed
    port; the libraries are loaded when the page is there.

    Args:
        shelf: The libraries of this process.
        address: Where it will listen.
        uploads: A folder for files that are being added; nothing in it is ever served.
        beside: Answers the command line from the time when the page is there.
    """
    from . import guard
    from .lobby import Lobby

    def build() -> "FastAPI":
        # Inside a loop: outside one, Gradio opens event loops that it never closes.
        page = asyncio.run(_page(shelf, address, uploads))
        if beside is not None:
            beside.start()
        return page

    def close() -> None:
        if beside is not None:
            beside.stop()
        shelf.close()

    lobby = Lobby(build, shelf.begin_first, close)
    beyond = address.host not in LOOPBACK
    return guard.Guard(lobby, guard.names_for(address.host), any_address=beyond)


class Beside:
    """Answers the command line in the process of the page, with the page's libraries.

    Args:
        shelf: The libraries of the page.
    """

    def __init__(self, shelf: "Shelf") -> None:
        self._shelf = shelf
        self._guard = threading.Lock()
        self._is_over = False
        self._server: Server | None = None

    def start(self) -> None:
        """Start, unless it was stopped already; the page does without where it cannot."""
        from rag.errors import RagError
        from rag.serving import Server

        from .beside import PageLibraries

        with self._guard:
            if self._is_over:
                return
            server = Server(PageLibraries(self._shelf))
            try:
                server.start()
            except RagError as exc:
                log.info("The command line is not served: %s", exc)
            else:
                self._server = server

    def stop(self) -> None:
        """End, for good; the page's libraries stay open."""
        with self._guard:
            self._is_over = True
            if self._server is not None:
                self._server.stop()


async def _page(shelf: "Shelf", address: Address, uploads: Path) -> "FastAPI":
    """Build the page as an application; imports Gradio."""
    os.environ.update(GRADIO_TEMP_DIR=str(uploads), **QUIET)
    from fastapi import FastAPI
    from gradio import mount_gradio_app

    from .app import Page
    from .looks import css_file, head, theme

    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    mount_gradio_app(
        outer, Page(shelf, uploads).build(), path="/",
        server_name=address.host, server_port=address.port, auth=address.auth,
        max_file_size=MAX_UPLOAD, ssr_mode=False, mcp_server=False, pwa=False,
        enable_monitoring=False, show_error=False, run_history=False, footer_links=[],
        theme=theme(), css_paths=[css_file()], head=head(),
    )  # fmt: skip
    return outer


def serve(shelf: "Shelf", address: Address, listener: socket.socket) -> None:
    """Serve the page, and the command line beside it, until the process is told to end."""
    import uvicorn

    uploads = Path(tempfile.mkdtemp(prefix="citewell-"))
    beside = Beside(shelf)
    try:
        config = uvicorn.Config(
            make_app(shelf, address, uploads, beside), log_level="error", access_log=False,
            server_header=False, timeout_graceful_shutdown=2, ws="none",
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        beside.stop()
        shutil.rmtree(uploads, ignore_errors=True)
