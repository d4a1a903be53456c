"""A mark in a library's folder that somebody asks: who works in the background then pauses."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Asking:
    """When a question was last asked of a library, in whichever process.

    Args:
        path: The file whose time says so; created when missing.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._running = 0
        self._guard = threading.Lock()

    @contextmanager
    def marked(self) -> Iterator[None]:
        """Mark that a question is being asked, now and at the end."""
        self._count(1)
        try:
            yield
        finally:
            self._count(-1)

    def _count(self, by: int) -> None:
        with self._guard:
            self._running += by
        self.touch()

    def touch(self) -> None:
        """Mark that a question is being asked now."""
        with suppress(OSError):  # a folder that cannot be written: nobody writes vectors either
            try:
                os.utime(self._path)
            except FileNotFoundError:
                self._path.touch()

    def within(self, seconds: float) -> bool:
        """Say whether a question is being asked, or was within the last few seconds."""
        if self._running > 0:
            return True
        try:
            return abs(time.time() - self._path.stat().st_mtime) < seconds
        except OSError:
            return False
