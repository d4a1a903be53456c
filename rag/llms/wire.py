"""HTTP clients whose requests can be cut off from another thread, and keys that are never shown."""

import socket
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, TypedDict

import httpx

from .provider import is_loopback

CONNECT_TIMEOUT_S = 10.0
_NEW_SOCKET = ("connect_tcp.complete", "start_tls.complete")


class Call:
    """One answer under way. ``cut()`` ends its HTTP request, whichever thread is reading it.

    Closing a socket does not wake a thread that waits on it; shutting it down does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._responses: list[httpx.Response] = []
        self.is_cut = False

    def cut(self) -> None:
        """End the request now, or as soon as it has connected."""
        with self._lock:
            self.is_cut = True
            self._shut_down()

    def watch(self, event: str, info: dict[str, Any]) -> None:
        """Take note of a new connection (the ``trace`` extension of httpcore)."""
        if event.endswith(_NEW_SOCKET):
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self.is_cut:
                    self._shut_down()

    def keep(self, response: httpx.Response) -> None:
        """Take note of a response, to be closed at the end."""
        self._responses.append(response)

    def end(self) -> None:
        """Close what the client libraries left open; for the reading thread only."""
        while self._responses:
            self._responses.pop().close()
        with self._lock:
            self._socket = None

    def _shut_down(self) -> None:
        if self._socket is None:
            return
        try:
            # Not SSLSocket.shutdown: that would drop the encryption under the reading thread.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        except OSError:
            self._socket = None  # it had ended already


current_call: ContextVar[Call | None] = ContextVar("current_call", default=None)


class BearerKey(httpx.Auth):
    """Sends an API key without keeping it where a model's repr or settings dump would show it."""

    def __init__(self, key: str) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Put the key into the request."""
        request.headers["Authorization"] = f"Bearer {self._key}"
        yield request


class ClientOptions(TypedDict):
    """Arguments that httpx.Client and httpx.AsyncClient share."""

    timeout: httpx.Timeout
    trust_env: bool
    follow_redirects: bool
    limits: httpx.Limits
    auth: httpx.Auth | None


def client_options(url: str, timeout_s: float, *, key: str | None) -> ClientOptions:
    """Return how to talk to a server: no proxy for this machine, no redirect to another one.

    Args:
        url: Address of the server.
        timeout_s: Longest silence, in seconds.
        key: API key, or None to send none.
    """
    return ClientOptions(
        timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, CONNECT_TIMEOUT_S)),
        trust_env=not is_loopback(url),
        follow_redirects=False,
        # A new connection for each answer, so that its socket is known to the Call.
        limits=httpx.Limits(max_keepalive_connections=0),
        auth=BearerKey(key) if key else None,
    )


def event_hooks() -> dict[str, list[Callable[..., None]]]:
    """Return the hooks by which httpx.Client ties its requests to the Call of the thread."""
    return {"request": [_watch], "response": [_keep]}


def _watch(request: httpx.Request) -> None:
    call = current_call.get()
    if call is not None:
        request.extensions["trace"] = call.watch


def _keep(response: httpx.Response) -> None:
    call = current_call.get()
    if call is not None:
        call.keep(response)
