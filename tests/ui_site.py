"""A running page for tests: the real server, the real sample library, the real embedder."""

import contextlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from rag.settings import load_settings
from ui.server import Address, bind, make_app
from ui.shelf import Shelf


@dataclass(frozen=True)
class Site:
    """Where the page runs, and what it is made of."""

    url: str
    shelf: Shelf
    uploads: Path


@contextlib.contextmanager
def running(home, *, first="sample", auth=None, **flags):
    """Run a page in a thread on a free port until the block ends."""
    shelf = Shelf(load_settings(home=home, **flags), first)
    uploads = home / "uploads"
    uploads.mkdir(parents=True, exist_ok=True)
    listener = bind(Address(port=0))
    address = Address(port=listener.getsockname()[1], auth=auth)
    config = uvicorn.Config(
        make_app(shelf, address, uploads),
        log_level="critical",
        timeout_graceful_shutdown=1,
        ws="none",
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_for(lambda: httpx.get(f"{address.url}/config").status_code in (200, 401))
        yield Site(address.url, shelf, uploads)
    finally:
        server.should_exit = True
        thread.join(90)


def wait_for(fact, timeout_s=60):
    """Wait until something is true; connection errors mean not yet."""
    until = time.monotonic() + timeout_s
    while time.monotonic() < until:
        with contextlib.suppress(httpx.TransportError):
            if fact():
                return
        time.sleep(0.05)
    raise AssertionError("it did not become true in time")
