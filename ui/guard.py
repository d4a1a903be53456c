"""The door of the server: who may come in, what may be fetched, what a page may load."""

import ipaddress
import socket
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
PAGES = frozenset({"/", "/config", "/theme.css", "/manifest.json", "/favicon.ico", "/robots.txt"})
LOGIN = frozenset({"/login", "/login/", "/logout"})
FILES = ("/assets/", "/static/", "/svelte/")
CALLS = frozenset(
    {
        *("info", "config", "theme.css", "upload", "upload_progress", "startup-events", "reset"),
        *("cancel", "queue", "call", "heartbeat", "run", "api", "app_id", "login_check", "user"),
        "openapi.json",
    }
)
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "connect-src 'self'; media-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; "
    "frame-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Refuses requests from other sites and for anything that the page does not need.

    Args:
        app: The application behind the door.
        hosts: Host names, without port, under which the page may be called.
        any_address: Also accept a plain IP address as the name: for a page that listens beyond this
            machine behind a password. A name that is not ours may be a trick to reach it.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], *, any_address: bool = False) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._any_address = any_address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, _hardened(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            status, words = refusal
            await PlainTextResponse(words, status, HEADERS)(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(hosts[0]):
            return 421, "This page does not answer under that name."
        if not _same_origin(headers, hosts[0]):
            return 403, "Another site may not use this page."
        if not allowed_path(scope["path"]):
            return 404, "There is nothing here."
        return None

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return name in self._hosts or (self._any_address and _is_address(name))


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port; empty where it is malformed."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises where it is no number
    except ValueError:
        return ""
    if parts.netloc != host or parts.username is not None:
        return ""
    return (parts.hostname or "").rstrip(".")


def allowed_path(path: str) -> bool:
    """Say whether a path is part of the page; files, proxies and the like are not."""
    if path in PAGES or path in LOGIN:
        return True
    if ".." in path or "\\" in path or "\0" in path or "//" in path:
        return False
    if path.startswith("/gradio_api/"):
        return path.split("/")[2] in CALLS
    return path.startswith(FILES)


def names_for(host: str) -> frozenset[str]:
    """Return the host names under which a page that listens on an address may be called."""
    if host in LOOPBACK:
        return LOOPBACK
    return LOOPBACK | {host.lower(), socket.gethostname().lower()}


def _same_origin(headers: Headers, host: str) -> bool:
    """Say whether the request was made by our own page, or by no page at all."""
    if (
        headers.get("sec-fetch-site") == "cross-site"
        and headers.get("sec-fetch-mode") != "navigate"
    ):
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _hardened(send: Send) -> Send:
    """Add headers that forbid the page to load anything from outside."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending
