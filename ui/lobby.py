"""Answers at once while the page is being built, then hands every request to the page."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Receive, Scope, Send

if TYPE_CHECKING:
    from fastapi import FastAPI

log = logging.getLogger(__name__)

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Citewell</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="{seconds}">
<link rel="icon" href="data:,">
<style>:root {{ color-scheme: light dark; }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 20vh auto; }}
</style></head><body><h1>Citewell</h1><p role="status">{words}</p></body></html>
"""
STARTING = "Starting: the page opens by itself in a few seconds."
FAILED = "The page could not be built. The terminal it was started from says why; start it again."


class Lobby:
    """An application that becomes another one.

    Args:
        build: Makes the page; called in a thread, since it takes seconds.
        opened: Called when the page is there.
        closed: Called when the server ends.
    """

    def __init__(
        self,
        build: "Callable[[], FastAPI]",
        opened: Callable[[], None],
        closed: Callable[[], None],
    ) -> None:
        self._build, self._opened, self._closed = build, opened, closed
        self._page: FastAPI | None = None
        self._failed = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or live through the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._page is not None:
            await self._page(scope, receive, send)
        else:
            await self._starting(scope["path"])(scope, receive, send)

    def _starting(self, path: str) -> Response:
        if path != "/":
            return PlainTextResponse(STARTING, 503, {"Retry-After": "1"})
        words, seconds = (FAILED, 3600) if self._failed else (STARTING, 1)
        return HTMLResponse(_PAGE.format(words=words, seconds=seconds))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        async with AsyncExitStack() as stack:
            making = asyncio.create_task(self._make(stack))
            await receive()
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)
        await asyncio.to_thread(self._closed)
        await send({"type": "lifespan.shutdown.complete"})

    async def _make(self, stack: AsyncExitStack) -> None:
        try:
            page = await asyncio.to_thread(self._build)
            await stack.enter_async_context(page.router.lifespan_context(page))
        except Exception:
            log.exception("The page could not be built")
            self._failed = True
            return
        self._page = page
        self._opened()
