"""Who may write to a library, and who holds its Chroma folder: lock files that name their holder.

The operating system frees a lock when its holder dies, so no lock is ever stale.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from .errors import LibraryBusyError

PATIENCE_S = 0.5  # long enough for a holder that is just finishing


class HolderLock:
    """A lock that one process holds, with its process id in a file beside it.

    Args:
        path: The lock file; created when missing.
    """

    def __init__(self, path: Path) -> None:
        self._lock = FileLock(path, thread_local=False)
        self._note = path.with_suffix(".pid")

    @property
    def held(self) -> bool:
        """Say whether this object holds the lock."""
        return bool(self._lock.is_locked)

    def take(self, timeout_s: float = 0.0) -> bool:
        """Try to take the lock for at most so many seconds and say whether it was had."""
        try:
            self._lock.acquire(timeout=timeout_s, poll_interval=0.05)
        except Timeout:
            return False
        self._note.write_text(str(os.getpid()))
        return True

    def free(self) -> None:
        """Give the lock back."""
        if self.held:
            with suppress(FileNotFoundError):
                self._note.unlink()
            self._lock.release()

    def holder(self) -> str:
        """Name the holder as far as it is known, e.g. ``"process 4711"``."""
        try:
            return f"process {int(self._note.read_text())}"
        except (OSError, ValueError):
            return "another process"


@contextmanager
def writing(lock: HolderLock, name: str) -> Iterator[None]:
    """Hold a library's writer lock.

    Raises:
        LibraryBusyError: Somebody else holds it; refused within a second.
    """
    if lock.held:  # a step of a longer write
        yield
        return
    if not lock.take(PATIENCE_S):
        raise LibraryBusyError(
            f"The library '{name}' is being written to by {lock.holder()}. Only one process writes "
            "at a time; asking still works. Wait for it to finish, or stop it, and try again."
        )
    try:
        yield
    finally:
        lock.free()
