"""Vectors in the background of the page: one indexer a library, for all visitors."""

import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .vectors import Making

if TYPE_CHECKING:
    from rag.library import Library

FRESH_S = 1.0  # visitors who look within it see the same
STALLED_S = 60.0  # without a vector, though nobody asks or writes: the rest is refused


@dataclass(frozen=True, slots=True)
class _Seen:
    making: Making
    at: float
    step: tuple[int, int]  # passages made, papers waiting
    moved: float  # when that changed last


class Background:
    """Starts and stops the indexers of libraries, and says how far they are."""

    def __init__(self) -> None:
        self._seen: dict[Path, _Seen] = {}
        self._guard = threading.Lock()

    def start(self, library: "Library", *, again: bool = False) -> bool:
        """Make what waits in a library, unless that goes on already or is not wanted.

        Args:
            library: An open library.
            again: Also where it ended with an error.

        Returns:
            Whether it goes on now.
        """
        if library.settings.profile == "fast":
            return False
        with self._guard:
            state = library.indexing()
            if again:
                self._seen.pop(library.folder, None)
            if state.running:
                return True
            if not state.waiting or (state.error is not None and not again):
                return False
            library.start_indexer()
            return True

    def rest(self, library: "Library") -> None:
        """Stop for now, without waiting for the end; the next look starts it again."""
        threading.Thread(target=library.stop_indexer, name="citewell-rest", daemon=True).start()

    def look(self, library: "Library") -> Making:
        """Say how far a library's vectors are; where some wait and nobody makes them, start."""
        now = time.monotonic()
        seen = self._seen.get(library.folder)
        if seen is not None and now - seen.at < FRESH_S:
            return seen.making
        self.start(library)
        seen = self._seen[library.folder] = _read(library, seen, now)
        return seen.making


def _read(library: "Library", before: _Seen | None, now: float) -> _Seen:
    state = library.indexing()
    step = (state.done, state.waiting)
    goes_on = before is None or before.step != step or state.paused or not state.running
    moved = now if before is None or goes_on else before.moved
    making = Making(
        papers=library.status().papers if state.waiting else 0,
        waiting=state.waiting,
        seconds_left=state.seconds_left,
        error=None if state.running else state.error,
        stalled=now - moved >= STALLED_S,
        in_background=library.settings.profile != "fast",
    )
    return _Seen(making, now, step, moved)
