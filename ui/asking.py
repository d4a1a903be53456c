"""One answer in a thread of its own: waits its turn, is read as it comes, can be stopped."""

import asyncio
import ctypes
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from rag.errors import RagError
from rag.schema import Answer

log = logging.getLogger(__name__)

_POLL_S = 0.1
_GATHER_S = 0.03  # pieces that come within this time are shown together
BROKEN = "Something went wrong inside Citewell; its log holds the details. Ask again."


@dataclass(frozen=True, slots=True)
class Waiting:
    """So many are to be answered before this one."""

    before: int


@dataclass(frozen=True, slots=True)
class Loading:
    """The library and its models are being loaded."""


@dataclass(frozen=True, slots=True)
class Failed:
    """There is no answer; the message says why."""

    message: str


Event = Waiting | Loading | Failed | Answer | str
Start = Callable[[], Iterator[str | Answer]]


class Line:
    """People who wait for one model, first come, first served.

    Args:
        width: How many are served at once.
    """

    def __init__(self, width: int = 1) -> None:
        self._width = width
        self._tickets: list[object] = []
        self._moved = threading.Condition()

    def join(self) -> object:
        """Return a ticket at the end of the line; give it back with ``leave``."""
        ticket = object()
        with self._moved:
            self._tickets.append(ticket)
        return ticket

    def before(self, ticket: object) -> int:
        """Return how many must finish before this ticket is served; 0: now."""
        with self._moved:
            return max(0, self._tickets.index(ticket) + 1 - self._width)

    def wait(self) -> None:
        """Wait until somebody leaves, or a moment."""
        with self._moved:
            self._moved.wait(_POLL_S)

    def leave(self, ticket: object) -> None:
        """Leave the line, served or not."""
        with self._moved:
            self._tickets.remove(ticket)
            self._moved.notify_all()


class _Stopped(BaseException):
    """Raised inside the thread of an answer that nobody waits for any more."""


class Job:
    """An answer in the making. ``events`` starts it; ``cancel`` ends it from any thread.

    Args:
        start: Gives the answer's stream; called in the job's thread when its turn has come.
        line: Whose turn it is.
        is_ready: Waits at most so many seconds and says whether everything is loaded.
    """

    def __init__(self, start: Start, line: Line, is_ready: Callable[[float], bool]) -> None:
        self._start, self._line, self._is_ready = start, line, is_ready
        self._cancelled = threading.Event()
        self._streaming = False
        self._guard = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="citewell-ask", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._items: asyncio.Queue[Event | None] = asyncio.Queue()

    def __deepcopy__(self, memo: object) -> "Job":
        return self

    @property
    def cancelled(self) -> bool:
        """Say whether somebody ended it."""
        return self._cancelled.is_set()

    @property
    def is_over(self) -> bool:
        """Say whether its thread has ended and the model is free."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End the answer, whatever it waits for; the model is free within a second."""
        with self._guard:
            if self._cancelled.is_set():
                return
            self._cancelled.set()
            if self._streaming:
                _interrupt(self._thread)
        self._send(None)

    async def events(self) -> AsyncIterator[Event]:
        """Yield what happens; pieces of text that come together are joined.

        Leaving the loop early, by an exception or by closing, cancels the answer.
        """
        self._loop = asyncio.get_running_loop()
        self._thread.start()
        try:
            while (item := await self._items.get()) is not None:
                if not isinstance(item, str):
                    yield item
                    continue
                text, after, ended = await self._gather(item)
                yield text
                if after is not None:
                    yield after
                if ended:
                    return
        finally:
            self.cancel()

    async def _gather(self, text: str) -> tuple[str, Event | None, bool]:
        """Join pieces with those that follow at once; return also what came instead of one."""
        await asyncio.sleep(_GATHER_S)
        while not self._items.empty():
            item = self._items.get_nowait()
            if not isinstance(item, str):
                return text, item, item is None
            text += item
        return text, None, False

    def _send(self, item: Event | None) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)

    def _work(self) -> None:
        ticket = self._line.join()
        try:
            if self._wait_until_ready() and self._wait_for_turn(ticket):
                self._read()
        except _Stopped:
            log.debug("An answer was stopped")
        except RagError as exc:
            self._send(Failed(str(exc)))
        except Exception:
            log.exception("An answer failed")
            self._send(Failed(BROKEN))
        finally:
            self._line.leave(ticket)
            self._send(None)

    def _wait_until_ready(self) -> bool:
        if not self._is_ready(0):
            self._send(Loading())
        while not self.cancelled:
            if self._is_ready(_POLL_S):
                return True
        return False

    def _wait_for_turn(self, ticket: object) -> bool:
        told = 0
        while not self.cancelled and (before := self._line.before(ticket)):
            if before != told:
                told = before
                self._send(Waiting(before))
            self._line.wait()
        return not self.cancelled

    def _read(self) -> None:
        stream = self._start()
        with self._guard:
            if self._cancelled.is_set():
                return
            self._streaming = True
        try:
            for item in stream:
                self._send(item)
        finally:
            with self._guard:
                self._streaming = False


def _interrupt(thread: threading.Thread) -> None:
    """Raise ``_Stopped`` inside a thread that waits for a model.

    A generator that is running cannot be closed from outside, and a model may think for half a
    minute before its next word. The engine waits in steps of a tenth of a second, so that the
    exception is seen at once; it ends the request on its way out.
    """
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(_Stopped))
