"""One request at work: events are made in a thread, read by a loop, and ended when nobody waits."""

import asyncio
import ctypes
import logging
import threading
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import closing, contextmanager

from .errors import RagError
from .replies import Event

log = logging.getLogger(__name__)

POLL_S = 0.1


class Stopped(BaseException):
    """Raised inside the thread of a request that nobody waits for, or can be answered, any more."""


class Work:
    """Events in the making. ``events`` starts it; ``cancel`` ends it from any thread.

    Args:
        make: Yields the events; called in the thread with this object.
    """

    def __init__(self, make: "Callable[[Work], Generator[Event]]") -> None:
        self._make = make
        self._guard = threading.Lock()
        self._cancelled = False
        self._interruptible = False
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Event | None] = asyncio.Queue()
        self._thread = threading.Thread(target=self._run, name="citewell-serve", daemon=True)

    @property
    def is_over(self) -> bool:
        """Say whether its thread has ended."""
        return not self._thread.is_alive()

    def check(self) -> None:
        """Raise ``Stopped`` where nobody waits any more; called while waiting for something."""
        if self._cancelled:
            raise Stopped

    def tell(self, event: Event | None) -> None:
        """Send an event to whoever reads; None is the end. Safe from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._items.put_nowait, event)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let ``cancel`` break off what is done in this block, in the work's own thread."""
        with self._guard:
            self.check()
            self._interruptible = True
        try:
            yield
        finally:
            with self._guard:
                self._interruptible = False

    def cancel(self) -> None:
        """End the work, whatever it waits for; a model is free within a second."""
        with self._guard:
            if self._cancelled:
                return
            self._cancelled = True
            if self._interruptible:
                _interrupt(self._thread)
        self.tell(None)

    async def events(self, alive_s: float) -> AsyncIterator[Event | None]:
        """Yield the events, and None where nothing happened for so many seconds."""
        self._thread.start()
        try:
            while True:
                try:
                    item = await asyncio.wait_for(self._items.get(), alive_s)
                except TimeoutError:
                    yield None
                    continue
                if item is None:
                    return
                yield item
        finally:
            self.cancel()

    def _run(self) -> None:
        try:
            with closing(self._make(self)) as events:
                for event in events:
                    self.tell(event)
        except Stopped:
            log.debug("A request was stopped")
        except RagError as exc:
            self.tell({"refused": str(exc)})
        except Exception:
            log.exception("A request failed")
            self.tell({"broken": True})
        finally:
            self.tell(None)


def _interrupt(thread: threading.Thread) -> None:
    """Raise ``Stopped`` inside a thread that waits for a model.

    A generator that is running cannot be closed from outside. The engine waits in steps of a tenth
    of a second, so that the exception is seen at once; it ends the request on its way out.
    """
    ident = ctypes.c_ulong(thread.ident or 0)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Stopped))
