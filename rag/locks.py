"""Who may write to a library, and who holds its Chroma folder: lock files that name their holder.

The operating system frees a lock when its holder dies, so no lock is ever stale.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import LibraryBusyError, RagError

PATIENCE_S = 0.5  # long enough for a holder that is just finishing


class HolderLock:
    """A lock that one process holds, with its process id in a file beside it.

    Args:
        path: The lock file; created when missing.
    """

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path, thread_local=False)
        self._path = path
        self._note = path.with_suffix(".pid")

    @property
    def held(self) -> bool:
        """Say whether this object holds the lock."""
        return bool(self._lock.is_locked)

    def take(self, timeout_s: float = 0.0) -> bool:
        """Try to take the lock for at most so many seconds and say whether it was had.

        Raises:
            RagError: The lock file cannot be written.
        """
        try:
            self._path.parent.stat()  # a lock would make the folder of a library that is gone
            self._lock.acquire(timeout=timeout_s, poll_interval=0.05)
        except Timeout:
            return False
        except OSError as exc:
            raise RagError(
                f"The lock '{self._path}' cannot be taken: {exc.strerror}. The library's folder "
                "has to be writable. Change its permissions, or copy it and set CITEWELL_HOME."
            ) from exc
        with suppress(OSError):  # a full disk: the lock holds, only its holder's name is missing
            self._note.write_text(str(os.getpid()))
        return True

    def free(self) -> None:
        """Give the lock back."""
        if self.held:
            with suppress(OSError):
                self._note.unlink()
            self._lock.release()

    def holder(self) -> str:
        """Name the holder as far as it is known, e.g. ``"process 4711"``."""
        try:
            return f"process {int(self._note.read_text())}"
        except (OSError, ValueError):
            return "another process"


class WriterLock:
    """The lock of whoever writes to a library: one process, and one thread in it.

    A thread may take it again inside itself, for a step of a longer write.

    Args:
        path: The lock file; created when missing.
        name: The library's display name, for messages.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._file = HolderLock(path)
        self._name = name
        self._thread = threading.RLock()
        self._depth = 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock.

        Raises:
            LibraryBusyError: Somebody else holds it; refused within a second.
            RagError: The lock file cannot be written.
        """
        if not self._take(PATIENCE_S):
            raise self._busy()
        try:
            yield
        finally:
            self._give_back()

    @contextmanager
    def writing_if_free(self) -> Iterator[bool]:
        """Hold the lock if nobody else does, without waiting; yield whether it is held.

        Raises:
            RagError: The lock file cannot be written.
        """
        taken = self._take(0.0)
        try:
            yield taken
        finally:
            if taken:
                self._give_back()

    def _take(self, timeout_s: float) -> bool:
        until = time.monotonic() + timeout_s
        if not self._thread.acquire(timeout=timeout_s):
            return False
        try:
            if not self._depth and not self._file.take(max(0.0, until - time.monotonic())):
                self._thread.release()
                return False
        except BaseException:
            self._thread.release()
            raise
        self._depth += 1
        return True

    def _give_back(self) -> None:
        self._depth -= 1
        try:
            if not self._depth:
                self._file.free()
        finally:
            self._thread.release()

    def _busy(self) -> LibraryBusyError:
        return LibraryBusyError(
            f"The library '{self._name}' is being written to by {self._file.holder()}. Only one "
            "writes at a time; asking still works. Wait for it to finish, or stop it, and try "
            "again."
        )
