"""Answers the command line from one process that has libraries and models loaded.

A server listens on loopback only and is announced to its user alone (``serving_files``). Loopback
and a secret, not a Unix socket: Python on Windows has none, and a socket's path may have about a
hundred characters only.
"""

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from . import __version__, question, replies, serving_files
from .errors import LibraryBusyError, RagError
from .locks import HolderLock
from .replies import Event
from .serving_door import Door, read_json
from .serving_files import HOST, Announcement
from .serving_requests import Wanted, wanted
from .serving_shelf import Opened
from .serving_work import Work

if TYPE_CHECKING:
    import uvicorn

    from .library import Library

log = logging.getLogger(__name__)

MOST_AT_ONCE = 32  # requests; whoever comes then answers without us
QUOTED_AT_ONCE = 4  # quoting is work for the processor: more at once makes all slower
ALIVE_S = 2.0  # between two signs of life
SWEEP_S = 60.0
STOP_S = 5.0
POLL_S = 0.1
SAMPLE = "sample"


class Service:
    """The application behind the door: asks libraries and streams events as JSON lines.

    Args:
        opened: The libraries of this process.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._quoting = threading.BoundedSemaphore(QUOTED_AT_ONCE)
        self._at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that the door let pass."""
        if scope["path"] == "/hello":
            await JSONResponse({"version": __version__})(scope, receive, send)
            return
        if self._at_work >= MOST_AT_ONCE:
            await PlainTextResponse("Too much is asked at once.", 503)(scope, receive, send)
            return
        self._at_work += 1
        try:
            await self._answer(scope, receive, send)
        finally:
            self._at_work -= 1

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            asked = wanted(await read_json(receive), self._opened.home)
        except (ValueError, TimeoutError) as exc:
            await PlainTextResponse(str(exc), 400)(scope, receive, send)
            return
        work = Work(lambda work: self._events(work, asked, MAKERS[scope["path"]]))
        gone = asyncio.create_task(_cancel_when_gone(work, receive))
        try:
            await send(START)
            async for event in work.events(ALIVE_S):
                await send(_line(event))
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()
            work.cancel()

    def _events(self, work: Work, asked: Wanted, make: "Maker") -> Generator[Event]:
        """Yield the events of a request, in its thread."""
        if make is not _status:
            question.check(asked.question, max_chars=asked.settings.max_question_chars)
        with self._lent(work, asked) as library, self._turn(work, asked.settings.llm):
            if not asked.sample and (waiting := library.waiting):
                yield {"note": replies.waiting_note(waiting, library.name)}
            with work.interruptible():
                yield from make(library, asked)

    def _lent(self, work: Work, asked: Wanted) -> AbstractContextManager["Library"]:
        return self._opened.lend(
            SAMPLE if asked.sample else asked.settings.library,
            asked.settings,
            check=work.check,
            progress=lambda *step: work.tell({"progress": step}),
            sample=asked.sample,
        )

    @contextmanager
    def _turn(self, work: Work, llm: str) -> Iterator[None]:
        """Wait until a quoting request may work; models keep their own lines."""
        if llm != "quote":
            yield
            return
        while not self._quoting.acquire(timeout=POLL_S):
            work.check()
        try:
            yield
        finally:
            self._quoting.release()


def _ask(library: "Library", asked: Wanted) -> Iterator[Event]:
    return replies.answer_events(
        library, asked.question, filters=asked.filters, show=asked.show, formats=asked.formats
    )


def _search(library: "Library", asked: Wanted) -> Iterator[Event]:
    return replies.search_events(library, asked.question, filters=asked.filters)


def _status(library: "Library", asked: Wanted) -> Iterator[Event]:
    return replies.status_events(library)


Maker = Callable[["Library", Wanted], Iterator[Event]]
MAKERS: dict[str, Maker] = {"/ask": _ask, "/search": _search, "/status": _status}
START: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/jsonl")],
}


def _line(event: Event | None) -> Message:
    """Return an event as one line; a sign of life is a blank one."""
    text = "" if event is None else json.dumps(event)
    return {"type": "http.response.body", "body": f"{text}\n".encode(), "more_body": True}


def _listener() -> socket.socket:
    """Listen at a free port."""
    # With its protocol named: asyncio sends small packets at once (TCP_NODELAY) only where it is.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.bind((HOST, 0))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


async def _cancel_when_gone(work: Work, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue
    work.cancel()


class Server:
    """A running service: starts in a thread, is announced, ends cleanly.

    Args:
        opened: The libraries of this process; closed at the end.
    """

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._home = opened.home
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._server: uvicorn.Server | None = None
        self._announcement: Announcement | None = None
        self._lock: HolderLock | None = None

    @property
    def port(self) -> int:
        """Return where it listens; 0 while it does not."""
        return self._announcement.port if self._announcement else 0

    def start(self) -> None:
        """Listen, and announce it.

        Raises:
            LibraryBusyError: A server runs on this home already.
            RagError: The folder of the announcements cannot be used.
        """
        folder = self._home / serving_files.FOLDER
        serving_files.make_private(folder)
        lock = HolderLock(folder / "server.lock")
        if not lock.take():
            raise LibraryBusyError(
                f"A server for the libraries in '{self._home}' runs already ({lock.holder()}). "
                "One is enough: citewell ask uses it. To start another, stop that one first."
            )
        self._lock = lock
        try:
            self._listen()
        except BaseException:
            self.stop()
            raise

    def _listen(self) -> None:
        import uvicorn

        listener = _listener()
        self._announcement = serving_files.new_announcement(listener.getsockname()[1])
        config = uvicorn.Config(
            Door(Service(self._opened), self.port, self._announcement.token),
            loop="asyncio", lifespan="off", ws="none", log_config=None, access_log=False,
            server_header=False, timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        self._begin(self._server.run, sockets=[listener])
        # First without what a killed process of the same number left, as there are in containers.
        serving_files.withdraw(self._home, self._announcement)
        serving_files.announce(self._home, self._announcement)
        self._begin(self._look_after)

    def _begin(self, work: Callable[..., None], **options: object) -> None:
        thread = threading.Thread(target=work, kwargs=options, name="citewell-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _look_after(self) -> None:
        """Close what is idle; write the announcement again where somebody deleted it."""
        while self._announcement is not None and not self._ended.wait(SWEEP_S):
            with suppress(RagError):
                self._opened.sweep()
            with suppress(RagError):
                serving_files.announce(self._home, self._announcement)

    def stop(self) -> None:
        """End: what is being answered is stopped, libraries are closed."""
        self._ended.set()
        if self._announcement is not None:
            serving_files.withdraw(self._home, self._announcement)
        if self._server is not None:
            self._server.should_exit = True
        for thread in self._threads:
            thread.join(STOP_S)
        self._opened.close()
        if self._lock is not None:
            self._lock.free()
