"""The door of a server for the command line: who may come in, and with how much. Pure ASGI."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .serving_files import HOST, NONCE, PROOF, is_proof, proof

LARGEST = 1_000_000  # bytes of a request
SLOWEST_S = 10.0  # until a request is there as a whole
LONGEST_NONCE = 100
PATHS: Mapping[str, str] = {"/hello": "GET", "/ask": "POST", "/search": "POST", "/status": "POST"}
FROM_A_PAGE = ("origin", "referer", "sec-fetch-site", "sec-fetch-mode", "cookie")
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

Refusal = tuple[int, str]


class Door:
    """Lets callers in who know the secret, and no web page.

    Args:
        app: What is behind the door.
        port: Where the server listens.
        token: The secret.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._names = {f"{HOST}:{port}", f"localhost:{port}"}
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it with a refusal."""
        if scope["type"] != "http":
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, self._proving(scope, send))
        else:
            status, words = refusal
            headers = {**HEADERS, "Connection": "close"}  # what follows of it is not read
            await PlainTextResponse(words, status, headers)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        headers, path = Headers(scope=scope), scope["path"]
        if headers.getlist("host") not in ([name] for name in self._names):
            return 421, "This server does not answer under that name."
        if any(name in headers for name in FROM_A_PAGE):
            return 403, "A web page may not use this server."
        if not self._is_known(headers, path):
            return 401, "This server answers only who knows its secret."
        if path not in PATHS:
            return 404, "There is nothing here."
        if scope["method"] != PATHS[path]:
            return 405, f"Use {PATHS[path]}."
        return None if scope["method"] == "GET" else _refused_body(headers)

    def _is_known(self, headers: Headers, path: str) -> bool:
        nonce, given = headers.get(NONCE, ""), headers.get(PROOF, "")
        fits = 0 < len(nonce) <= LONGEST_NONCE
        return is_proof(given, self._token, "caller", nonce, path) and fits

    def _proving(self, scope: Scope, send: Send) -> Send:
        """Add our own proof to a reply."""
        ours = proof(self._token, "server", Headers(scope=scope).get(NONCE, ""), scope["path"])

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**HEADERS, PROOF: ours})
            await send(message)

        return sending


def _refused_body(headers: Headers) -> Refusal | None:
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return 415, "A request is JSON."
    length = headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()) or "transfer-encoding" in headers:
        return 411, "A request says how long it is."
    if len(length) > 9 or int(length) > LARGEST:
        return 413, f"A request has at most {LARGEST:,} bytes."
    return None


async def read_json(receive: Receive) -> dict[str, Any]:
    """Return the body of a request.

    Raises:
        ValueError: It is no JSON object, or too large.
        TimeoutError: It does not come.
    """
    body = bytearray()
    async with asyncio.timeout(SLOWEST_S):
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > LARGEST or message["type"] == "http.disconnect":
                raise ValueError("The request is too large, or broke off.")
            if not message.get("more_body"):
                break
    try:
        found = json.loads(bytes(body))
    except RecursionError as exc:
        raise ValueError("The request is nested too deeply.") from exc
    if not isinstance(found, dict):
        raise ValueError("The request is no JSON object.")
    return found
