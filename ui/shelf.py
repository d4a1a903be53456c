"""The libraries of this process: each opened once, shared by all sessions, loaded in a thread."""

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import suppress
from typing import TYPE_CHECKING

from rag.errors import RagError
from rag.schema import Answer

from .asking import Line
from .background import Background

if TYPE_CHECKING:
    from rag.library import Library
    from rag.settings import Settings

log = logging.getLogger(__name__)

SAMPLE = "sample"
QUOTE = "quote"
LOADED_WITHIN_S = 60.0
QUOTED_AT_ONCE = 4  # quoting is work for the processor: more at once makes all slower


class Shelf:
    """Opens libraries and keeps them open.

    Args:
        settings: The settings in force.
        first: The library that a new page shows.
    """

    def __init__(self, settings: "Settings", first: str = SAMPLE) -> None:
        self.settings = settings
        self.first = first
        self.background = Background()
        self._futures: dict[str, Future[Library]] = {}
        self._lines: dict[str, Line] = {}
        self._guard = threading.Lock()

    def names(self) -> list[str]:
        """Return the names of all libraries, the sample among them.

        Raises:
            SettingsError: The folder of the libraries cannot be read.
        """
        from rag.library import libraries

        return sorted({SAMPLE, self.first, *(name for name, _ in libraries(self.settings))})

    def begin(self, name: str) -> "Future[Library]":
        """Begin to open a library unless it is open, and return what will hold it."""
        with self._guard:
            known = self._futures.get(name)
            if known is not None and not _failed(known):
                return known
            future: Future[Library] = Future()
            self._futures[name] = future
        threading.Thread(
            target=self._open, args=(name, future), name="citewell-load", daemon=True
        ).start()
        return future

    def begin_first(self) -> None:
        """Begin to open the library that a new page shows."""
        self.begin(self.first)

    def is_ready(self, name: str, wait_s: float = 0) -> bool:
        """Wait at most so many seconds and say whether a library is open, or has failed to."""
        try:
            self.begin(name).exception(wait_s)
        except NotYet:
            return False
        return True

    def library(self, name: str) -> "Library":
        """Return a library, waiting until it is open.

        Raises:
            RagError: It cannot be opened.
        """
        return self.begin(name).result()

    def holds(self, name: str) -> bool:
        """Say whether a library is open here, or being opened."""
        with self._guard:
            known = self._futures.get(name)
        return known is not None and not _failed(known)

    def leave(self, name: str) -> None:
        """Stop making vectors in a library that a visitor turned away from.

        Whoever still looks at it starts that again with the next look.
        """
        with self._guard:
            future = self._futures.get(name)
        if future is not None and future.done() and not _failed(future):
            self.background.rest(future.result())

    def line(self, llm: str | None) -> Line:
        """Return the line of people who wait for a model."""
        name = llm or self.settings.llm
        with self._guard:
            if name not in self._lines:
                self._lines[name] = Line(QUOTED_AT_ONCE if name == QUOTE else 1)
            return self._lines[name]

    def create(self, name: str) -> "Library":
        """Make an empty library, or open the one of that name.

        Raises:
            SettingsError: The name cannot be used.
        """
        from rag.library import open_library

        open_library(name, settings=self.settings, create=True, finish=False).close()
        return self.library(name)

    def close(self) -> None:
        """Close all libraries; one that is being loaded is waited for.

        A process that ends while a thread loads models is aborted by their libraries.
        """
        with self._guard:
            futures, self._futures = list(self._futures.values()), {}
        for future in futures:
            with suppress(RagError, NotYet):
                future.result(LOADED_WITHIN_S).close()

    def _open(self, name: str, future: "Future[Library]") -> None:
        try:
            library = self._opened(name)
            _warm(library)
            self.background.start(library)
            future.set_result(library)
        except BaseException as exc:  # whoever waits must hear of it
            if not isinstance(exc, RagError):
                log.exception("The library '%s' cannot be opened", name)
            future.set_exception(exc)

    def _opened(self, name: str) -> "Library":
        if name == SAMPLE:
            from rag.samples import open_sample

            return open_sample(self.settings)
        from rag.library import open_library

        return open_library(name, settings=self.settings)


def _failed(future: "Future[Library]") -> bool:
    return future.done() and future.exception() is not None


def _warm(library: "Library") -> None:
    """Load everything that the first question would wait for."""
    stream: Iterator[str | Answer] = library.stream("What is studied here?", llm=QUOTE)
    for _ in stream:
        continue
