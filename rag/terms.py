"""The words of a library, kept in step with the catalogue; a damaged lexical index is made anew."""

import logging
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from . import spelling
from .catalogue import Catalogue
from .database import Database
from .errors import IndexMismatchError
from .schema import Paper
from .stores.lexical import TermStore, TermWriter

log = logging.getLogger(__name__)

TERMS_BATCH = 1000  # papers in one commit of the lexical index
ADDED_BATCH = 10_000  # the same while papers are being added


class TermIndex:
    """One library's lexical index.

    Args:
        folder: The library's folder.
        database: Its SQLite file.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder / "lexical"
        self._database = database
        self._catalogue = Catalogue(database)
        self._store: TermStore | None = None
        self._guard = threading.Lock()

    @property
    def store(self) -> TermStore:
        """Return the lexical index itself.

        Raises:
            IndexMismatchError: It is damaged; ``sync`` makes it anew.
        """
        with self._guard:
            if self._store is None:
                self._store = TermStore(self._folder)
            return self._store

    def close(self) -> None:
        """Let go of the folder."""
        with self._guard:
            self._store = None

    def corrections(self, text: str) -> tuple[tuple[str, str], ...]:
        """Return the mistyped words of a question with the words of the papers to read instead.

        See ``rag.spelling.corrections``; ``rag.question.respelled`` takes what this returns.
        """
        store = self.store

        def texts(term: str) -> list[str]:
            papers = self._catalogue.papers(store.with_term(term, spelling.PAPERS_READ))
            return [f"{paper.title} {paper.abstract}" for paper in papers.values()]

        return spelling.corrections(text, store, texts)

    def in_step(self) -> bool:
        """Say whether it can be read and, with nothing waiting, holds as many papers as it should.

        Whoever deleted the folder by hand left marks in the catalogue that are no longer true.
        """
        try:
            held = self.store.count()
        except IndexMismatchError:
            return False
        waits = self._catalogue.without_terms(1) or self._catalogue.gone("paper", limit=1)
        return bool(waits) or held == self._catalogue.count()

    def sync(self) -> int:
        """Make the words of new papers searchable, forget others; return how many were written.

        Raises:
            IndexMismatchError: The disk is full or cannot be written.
        """
        written = self._sync() if self.in_step() else 0
        if self.in_step():
            return written
        log.warning("The lexical index at '%s' is made anew.", self._folder)
        return self.remake()

    @contextmanager
    def adding(self) -> Iterator[Callable[[Sequence[Paper]], int]]:
        """Index papers while they are being read: yields what takes papers just stored.

        What is yielded returns how many papers it took.

        Tantivy works beside the reading and commits at the end, however that comes. What a kill
        leaves out, or an index that is out of step, is done by ``sync``.

        Raises:
            IndexMismatchError: The disk is full or cannot be written.
        """
        if not self.in_step():
            yield lambda papers: 0
            return
        with ExitStack() as stack:
            adder = _Adder(self.store, stack, self._mark)
            try:
                yield adder.take
            finally:
                adder.finish()

    def _mark(self, ids: Sequence[str]) -> None:
        with self._database.transaction():
            self._catalogue.mark_terms(ids)

    def _sync(self) -> int:
        if gone := self._catalogue.gone("paper"):
            self.store.write([], forget=gone)
            with self._database.transaction():
                self._catalogue.unmark_terms(gone)  # those that were added again
                self._catalogue.forget_gone("paper", gone)
        written = 0
        while papers := self._catalogue.without_terms(TERMS_BATCH):
            written += self.store.write(papers)
            with self._database.transaction():
                self._catalogue.mark_terms([paper.id for paper in papers])
        return written

    def remake(self, *, discard: bool = False) -> int:
        """Write it anew from the catalogue and return how many papers were written.

        Searches find what they found before until the new one is whole.

        Args:
            discard: Delete its folder first, whether it can be read or not.

        Raises:
            IndexMismatchError: The disk is full or cannot be written.
        """
        with self._database.transaction():
            self._catalogue.unmark_all_terms()
        if discard:
            self._discard()
        try:
            written = self.store.rewrite(self._catalogue.each())
        except IndexMismatchError:
            self._discard()
            written = self.store.rewrite(self._catalogue.each())
        with self._database.transaction():
            self._catalogue.mark_all_terms()
        return written

    def _discard(self) -> None:
        with self._guard:
            self._store = None
            shutil.rmtree(self._folder, ignore_errors=True)

    def check(self) -> list[str]:
        """Return plain sentences on what differs from the catalogue."""
        waiting = {paper.id for paper in self._catalogue.without_terms(-1)}
        searchable = self._catalogue.ids() - waiting
        try:
            held, count = self.store.ids(), self.store.count()
        except IndexMismatchError as exc:
            return [str(exc)]
        foreign = held - searchable - waiting - set(self._catalogue.gone("paper"))
        if searchable <= held and not foreign and count == len(held):
            return []
        return [
            f"The lexical index holds {count} papers, the catalogue marks {len(searchable)}. "
            "Rebuild, which embeds nothing: citewell rebuild"
        ]


class _Adder:
    """Gives papers to Tantivy while others are being read; nothing is opened before the first."""

    def __init__(
        self, store: TermStore, stack: ExitStack, mark: Callable[[Sequence[str]], None]
    ) -> None:
        self._store = store
        self._stack = stack
        self._mark = mark
        self._writer: TermWriter | None = None
        self._waiting: list[str] = []

    def take(self, papers: Sequence[Paper]) -> int:
        """Take papers that were just stored and return how many."""
        if not papers:
            return 0
        if self._writer is None:
            self._writer = self._stack.enter_context(self._store.writing())
        self._writer.put(papers)
        self._waiting += [paper.id for paper in papers]
        if len(self._waiting) >= ADDED_BATCH:
            self.finish()
        return len(papers)

    def finish(self) -> None:
        """Let readers see them, and mark them in the catalogue after that."""
        if self._writer is not None and self._waiting:
            self._writer.commit()
            self._mark(self._waiting)
            self._waiting = []
