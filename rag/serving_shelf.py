"""The libraries of a server: each opened once, kept while it is used, asked with any settings."""

import copy
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from . import folders
from . import manifest as manifests
from .errors import RagError
from .index import Progress, no_progress
from .library import Library, open_library
from .serving_work import Stopped
from .settings import Settings

log = logging.getLogger(__name__)

MOST_OPEN = 4  # libraries; those in use are never closed
MOST_VIEWS = 8  # settings that a library is asked with, kept with their engines
MOST_MODELS = 2  # files of language models held in memory
IDLE_S = 1800.0
CLOSED_WITHIN_S = 60.0
POLL_S = 0.1

OF_THE_INDEX = ("embedder", "embed_batch", "embed_budget")

Key = tuple[str, *tuple[object, ...]]
Check = Callable[[], None]
"""Raises where nobody waits for the answer any more."""


def nobody_leaves() -> None:
    """Never raise."""


@dataclass(eq=False)
class _Slot:
    """One library: opened or being opened."""

    mark: "_Mark | None"
    future: "Future[Library]" = field(default_factory=Future)
    users: int = 0
    last: float = field(default_factory=time.monotonic)
    kept: bool = False
    views: "OrderedDict[str, Library]" = field(default_factory=OrderedDict)
    pin: int | None = None  # the open folder: its number is given to no other meanwhile

    @property
    def library(self) -> Library | None:
        """Return the library if it is open."""
        failed = not self.future.done() or self.future.exception() is not None
        return None if failed else self.future.result()

    @property
    def is_gone(self) -> bool:
        """Say whether it cannot be used again: it could not be opened, or was deleted since."""
        return self.library is None or not self.library.is_there

    def is_good(self, folder: Path) -> bool:
        """Say whether it may be used: being opened, or open and still the same on disk."""
        if not self.future.done():
            return True
        return self.library is not None and self.mark is not None and self.mark == _mark(folder)

    def is_idle(self, idle_s: float) -> bool:
        """Say whether nobody has used it for so many seconds, and nothing is made for it."""
        return not self.users and time.monotonic() - self.last >= idle_s and not self.is_indexing

    @property
    def is_indexing(self) -> bool:
        """Say whether vectors are being made in the background."""
        if self.library is None:
            return False
        background = self.library.indexing()
        return background.running and background.waiting > 0


@dataclass(frozen=True, slots=True)
class _Mark:
    """Tells a library's folder from one of the same name that was made later."""

    device: int
    inode: int
    embedder: object


@dataclass(frozen=True, slots=True)
class Opening:
    """Which library is to be opened, and how."""

    name: str
    settings: Settings
    progress: Progress = no_progress
    sample: bool = False

    @property
    def key(self) -> "Key":
        """Return what an open library is found by: settings that it is opened with are part."""
        return self.name, *(getattr(self.settings, name, None) for name in OF_THE_INDEX)


class Opened:
    """Opens libraries and lends them.

    Args:
        home: Folder of the libraries.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self._slots: dict[Key, _Slot] = {}
        self._models: set[str] = set()
        self._guard = threading.Lock()
        self._closed = False

    @contextmanager
    def lend(
        self,
        name: str,
        settings: Settings,
        *,
        check: Check = nobody_leaves,
        progress: Progress = no_progress,
        sample: bool = False,
        keep: bool = False,
    ) -> Iterator[Library]:
        """Open a library unless it is open, and hold it open in a ``with`` block.

        Args:
            name: Its display name.
            settings: The settings to ask with.
            check: Called several times a second while waiting.
            progress: Told what is being finished, by whoever comes first.
            sample: It is the sample library, to be built where it is missing.
            keep: Never close it for being idle.

        Raises:
            RagError: It cannot be opened.
            Stopped: The server is ending.
        """
        opening = Opening(folders.display_name(name), settings, progress, sample)
        slot = self._taken(opening)
        slot.kept = slot.kept or keep
        try:
            yield self._view(slot, _waited_for(slot.future, check), settings)
        finally:
            self._give_back(slot)

    def names(self) -> list[str]:
        """Return the names of the libraries that are open."""
        with self._guard:
            return sorted(str(key[0]) for key, slot in self._slots.items() if slot.library)

    def sweep(self, *, idle_s: float = IDLE_S) -> None:
        """Close what nobody uses: deleted and idle libraries, what is beyond the most."""
        with self._guard:
            for key in self._surplus(idle_s):
                self._close(self._slots.pop(key))
            slots = self._slots.values()
            idle = all(slot.is_idle(idle_s) for slot in slots)
            free = not any(slot.users for slot in slots)
            if self._models and free and (idle or len(self._models) > MOST_MODELS):
                self._models.clear()
                for slot in slots:
                    slot.views.clear()
                self.stop_models()

    def close(self) -> None:
        """Close everything; what is being opened is waited for.

        A process that ends while a thread loads models is aborted by their libraries.
        """
        with self._guard:
            self._closed = True
            slots, self._slots = list(self._slots.values()), {}
        for slot in slots:
            self._close(slot)

    # ---- opening -------------------------------------------------------------------------------

    def _taken(self, opening: Opening) -> _Slot:
        """Return a library's slot with one user more."""
        folder = folders.folder_for(self.home, opening.name)
        with self._guard:
            if self._closed:
                raise Stopped  # the caller answers without us
            slot = self._slots.get(opening.key)
            if slot is not None and slot.is_good(folder):
                slot.users += 1
                return slot
            if slot is not None and not slot.users:
                self._close(slot)
            slot = self._slots[opening.key] = _Slot(_mark(folder), users=1)
        threading.Thread(
            target=self._fill, args=(slot, opening), name="citewell-load", daemon=True
        ).start()
        return slot

    def _give_back(self, slot: _Slot) -> None:
        with self._guard:
            slot.users -= 1
            slot.last = time.monotonic()
            if not slot.users and slot not in self._slots.values() and not self._closed:
                self._close(slot)  # it was replaced meanwhile
        self.sweep()

    def _fill(self, slot: _Slot, opening: Opening) -> None:
        try:
            library = self.opened(opening)
            slot.mark = _mark(library.folder)
            slot.pin = _pin(library.folder)
            slot.future.set_result(library)
        except BaseException as exc:  # whoever waits must hear of it
            slot.future.set_exception(exc)

    def opened(self, opening: Opening) -> Library:
        """Open a library and go on with it in the background.

        Replaced by whoever has libraries open already.
        """
        settings, progress = opening.settings, opening.progress
        if opening.sample:
            from .samples import open_sample

            library = open_sample(settings, progress=progress)
        else:
            library = open_library(opening.name, settings=settings, progress=progress)
        library.start_indexer()
        return library

    def _view(self, slot: _Slot, library: Library, settings: Settings) -> Library:
        """Return the library as it is asked with some settings; engines are kept."""
        key = settings.model_dump_json(exclude={"home", "library", "llm_api_key"})
        secret = settings.llm_api_key
        key += str(hash(secret.get_secret_value()) if secret else "")
        with self._guard:
            self._models |= {settings.llm} if settings.llm.startswith(("gguf:", "hf:")) else set()
            if key not in slot.views:
                slot.views[key] = _with_settings(library, settings)
            slot.views.move_to_end(key)
            while len(slot.views) > MOST_VIEWS:
                slot.views.popitem(last=False)
            return slot.views[key]

    # ---- closing -------------------------------------------------------------------------------

    def _surplus(self, idle_s: float) -> list[Key]:
        """Return the libraries to close, those first that nobody asked for longest."""
        free = {key: s for key, s in self._slots.items() if not s.users and s.future.done()}
        gone = [
            key
            for key, slot in free.items()
            if slot.is_gone or (slot.is_idle(idle_s) and not slot.kept)
        ]
        left = sorted(free.keys() - set(gone), key=lambda key: free[key].last)
        unkept = [key for key in left if not free[key].kept]
        return gone + unkept[: max(0, len(self._slots) - len(gone) - MOST_OPEN)]

    def _close(self, slot: _Slot) -> None:
        """Close a library; one that is being opened is waited for."""
        with suppress(NotYet):
            slot.future.exception(CLOSED_WITHIN_S)
        if slot.library is not None:
            self.release(slot.library)
        if slot.pin is not None:
            os.close(slot.pin)
            slot.pin = None

    def release(self, library: Library) -> None:
        """Close a library; may be replaced as ``opened`` may."""
        library.close()

    def stop_models(self) -> None:
        """Stop the processes of language models; asking again loads them again."""
        from .llms.engine import close_all

        close_all()


def _waited_for(future: "Future[Library]", check: Check) -> Library:
    while not future.done():
        check()
        with suppress(NotYet):
            future.exception(POLL_S)
    return future.result()


def _with_settings(library: Library, settings: Settings) -> Library:
    """Return the same open library with other settings and engines of its own."""
    other = copy.copy(library)
    other.settings = settings
    other._engines = {}
    return other


def _mark(folder: Path) -> _Mark | None:
    """Return what tells this folder from a later one; None where there is no library."""
    try:
        found = folder.stat()
        embedder = manifests.read(folder).embedder["name"]
    except (OSError, RagError):
        return None
    return _Mark(found.st_dev, found.st_ino, embedder)


def _pin(folder: Path) -> int | None:
    """Hold a folder open, so that no later one is given its number."""
    with suppress(OSError):  # Windows opens no folders; its numbers are not used again
        return os.open(folder, os.O_RDONLY)
    return None
