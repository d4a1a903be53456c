"""Makes the vectors that wait, in the background: what questions wanted first, then the newest.

It embeds outside the writer lock and takes it only to write, if it is free. While somebody asks or
adds, in whichever process, it pauses.
"""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from .embedding import Made
from .errors import IndexMissingError, RagError
from .fine import PASS, write_if_free
from .index import Index, Progress, no_progress
from .passages import Lacking
from .syncing import PATIENCE, Syncer, reason
from .vectors import SMALL, STORE_BATCH

log = logging.getLogger(__name__)

QUIET_S = 1.0  # after a question, before it goes on
LOOK_S = 0.1  # between looks at whether it may go on
IDLE_S = 2.0  # between looks for papers, when none waits
WRITE_BATCH = 32  # papers written together
LOOK_AHEAD = 16 * PASS  # papers taken at once, so that those of a pass are of about one length
PATIENT_S = 10.0  # for its thread to end


@dataclass(frozen=True, slots=True)
class Indexing:
    """How far it is. ``error`` says why it gave up; ``seconds_left`` is None while not known."""

    running: bool = False
    paused: bool = False
    done: int = 0  # passages embedded since it started
    waiting: int = 0  # papers that lack a vector
    seconds_left: float | None = None
    error: str | None = None


class Indexer:
    """Embeds what waits until it is stopped or the embedder gives up.

    Args:
        index: The library's index.
    """

    def __init__(self, index: Index) -> None:
        self._index = index
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()
        self._reset()

    def _reset(self) -> None:
        self._done = self._papers = self._refused = 0
        self._busy_s = 0.0
        self._paused = False
        self._error: str | None = None
        self._updated: str | None = ""  # the last changed paper that was seen to
        self._queue: list[Lacking] = []
        self._made: list[Made] = []
        self._index.fine.forgive()

    # ---- from outside --------------------------------------------------------------------------

    def start(self) -> None:
        """Work in a thread of its own; does nothing while it works already."""
        with self._guard:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stop.clear()
            self._reset()
            self._thread = threading.Thread(target=self._quietly, name="indexer", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End after the pass that is being made; what is made is written if the lock is free."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(PATIENT_S)

    def progress(self) -> Indexing:
        """Say how far it is."""
        running = self._thread is not None and self._thread.is_alive()
        waiting = 0 if self._index.database.closed else self._index.catalogue.waiting()
        left = waiting * self._busy_s / self._papers if self._papers else None
        return Indexing(running, self._paused, self._done, waiting, left, self._error)

    def run(
        self, progress: Progress = no_progress, stop: Callable[[], bool] = lambda: False
    ) -> Indexing:
        """Work to the end in this thread, then bring Chroma up to date.

        Args:
            progress: Told how many passages are embedded.
            stop: Asked between passes whether to stop.
        """
        self._stop.clear()
        self._reset()
        try:
            self._work(progress, stop)
            if not (self._error or stop()):
                work = self._index.sync(progress)
                self._done += work.embedded
                self._error = work.error
        except Exception as exc:  # an embedder may fail in any way
            self._error = reason(exc)
        return self.progress()

    # ---- in its thread -------------------------------------------------------------------------

    def _quietly(self) -> None:
        if sys.platform == "linux":  # behind everybody else
            with suppress(OSError):  # on others the number may be that of a foreign process
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
        try:
            while not self._stop.is_set() and self._error is None:
                self._work(no_progress, lambda: False)
                self._stop.wait(IDLE_S)  # others may add in the meantime
        except IndexMissingError as exc:
            log.info("Embedding in the background ended: %s", exc)
            self._error = str(exc)
        except Exception as exc:  # it may not take the page down with it
            if not self._stop.is_set():
                log.warning("Embedding in the background stopped", exc_info=exc)
                self._error = reason(exc)
        finally:
            self._paused = False

    def _work(self, progress: Progress, stop: Callable[[], bool]) -> None:
        def ends() -> bool:
            return self._stop.is_set() or stop()

        self._prepare()
        while not ends() and self._error is None:
            if self._must_wait():
                self._paused = True
                self._stop.wait(LOOK_S)
                continue
            self._paused = False
            if self._updated is not None:
                self._update()
                continue
            if not (some := self._next()):
                break
            self._pass(some)
            if len(self._made) >= WRITE_BATCH:
                self._write()
            progress("embedding", self._done, self._done + self._left())
        self._paused = False
        while self._made and not self._write() and not ends():
            self._stop.wait(LOOK_S)
        self._index.fine.flush()

    def _left(self) -> int:
        """Return how many passages are still to be made, as far as their papers are cut."""
        made = sum(1 if one.cut else len(one.rows) for one in self._made)
        return max(0, self._index.passages.count_unembedded() - made)

    def _must_wait(self) -> bool:
        """Say whether somebody asks or writes; write what is made before a pause."""
        if self._index.asking.within(QUIET_S):
            self._write()
            return True
        with self._index.writing_if_free() as free:
            return not free

    def _prepare(self) -> None:
        """Do what needs the lock before a vector can be made: see to the embedder."""
        self._updated = ""
        with self._index.writing_if_free() as free:
            if free and self._index.catalogue.waiting():
                syncer = Syncer(self._index, no_progress)
                if not syncer.prepare():
                    self._error = syncer.work.error

    def _update(self) -> None:
        """Swap a few changed papers in, which needs the lock while their vectors are made."""
        with self._index.writing_if_free() as free:
            if free:
                syncer = Syncer(self._index, no_progress)
                if not syncer.prepare():
                    self._error = syncer.work.error
                    return
                self._updated = syncer.updates(PASS, after=self._updated or "")
                self._index.words.sync()
                self._done += syncer.work.embedded

    def _next(self) -> list[Lacking]:
        """Return the papers of the next pass."""
        fine, passages = self._index.fine, self._index.passages
        if asked := fine.most_asked(PASS):
            fine.forget_asked(asked)
            if found := fine.open(passages.lacking(asked)):
                return found
        if not self._queue:
            self._queue = sorted(self._newest(), key=lambda one: len(one.paper.abstract))
        some, self._queue = self._queue[:PASS], self._queue[PASS:]
        return some

    def _newest(self) -> list[Lacking]:
        """Return the newest papers that are neither made nor refused, looking ever further back."""
        fine, passages = self._index.fine, self._index.passages
        known = {made.paper.id for made in self._made}
        look, seen = LOOK_AHEAD, -1
        while len(ids := passages.newest_lacking(look)) > seen:
            fresh = [one for one in ids[max(seen, 0) :] if one not in known]
            lacking = passages.lacking(fresh)
            if found := fine.open({one: lacking[one] for one in fresh if one in lacking}):
                return found[:LOOK_AHEAD]
            look, seen = 4 * look, len(ids)
        return []

    def _pass(self, papers: Sequence[Lacking]) -> None:
        began = time.monotonic()
        made = self._index.fine.make(papers)
        self._busy_s += time.monotonic() - began
        self._papers += len(papers)
        self._refused = 0 if made else self._refused + len(papers)
        if self._refused >= PATIENCE:
            self._error = self._index.fine.failure
        self._made += made
        self._done += sum(len(one.rows) for one in made)

    def _write(self) -> bool:
        """Write what is made if nobody else writes now, and say whether nothing is left."""
        if not self._made:
            return True
        written = write_if_free(self._index, self._made)
        if written is None:
            return False
        self._made = []
        if not written:  # all changed meanwhile, or cut for another embedder by who was killed
            self._prepare()
        self._store()
        return True

    def _store(self) -> None:
        """Hand vectors to Chroma, many at once, where the library is too big to do without."""
        passages = self._index.passages
        if passages.count_unstored() < STORE_BATCH or passages.count_vectors() <= SMALL:
            return
        with self._index.writing_if_free() as free:
            if free:
                try:
                    self._index.vectors.sync(lambda done: None)
                except RagError as exc:  # SQLite has them: they are compared exactly meanwhile
                    log.warning("Chroma was not brought up to date: %s", exc)
