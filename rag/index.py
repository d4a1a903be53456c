"""Keeps catalogue, terms and vectors in step.

``sync`` is the one road forward: whatever a crash, a failure or an ``add`` left undone is read from
the catalogue and finished in the same order: words, then vectors, then Chroma.
"""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from . import manifest as manifests
from .bilingual import for_embedder
from .catalogue import Catalogue
from .database import FILE, Database
from .embedders import Embedded, Embedder, Vectors
from .embedding import rows_of, vectors_of
from .errors import IndexMismatchError, RagError
from .identity import keys_of
from .locks import WriterLock
from .passages import PassageRow, PassageTable
from .schema import Paper, Passage
from .stores.lexical import TermStore
from .terms import TermIndex
from .vectors import STORE_BATCH, VectorIndex

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with the stage ("reading", "embedding", "storing"), how many are done, and of how many (0:
not known)."""

EMBED_BATCH = 128  # passages embedded and stored in one transaction
UPDATE_BATCH = 32  # changed papers embedded together
QUERIES_KEPT = 64  # vectors of recent queries that are remembered
PATIENCE = 20  # passages refused one after another until the embedder is taken for broken


def no_progress(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


@dataclass
class Work:
    """What a ``sync`` did. ``error`` is the first reason why something still waits."""

    embedded: int = 0
    terms: int = 0
    vectors: int = 0
    error: str | None = None
    refused: int = 0  # passages one after another, up to now

    @property
    def gave_up(self) -> bool:
        """Say whether the embedder is taken for broken."""
        return self.refused >= PATIENCE

    def refuse(self, exc: Exception) -> None:
        """Note that one more passage was refused, and why."""
        self.refused += 1
        self.error = self.error or _reason(exc)


@dataclass(frozen=True, slots=True)
class _Change:
    """A newer version of a paper; ``rows`` is None where its passages stay as they are."""

    paper: Paper
    rows: list[PassageRow] | None
    fresh: list[Passage]


class Index:
    """One library's folder: catalogue, lexical index, Chroma and the locks around them.

    Args:
        folder: The library's folder, with a manifest in it.
        load_embedder: Called once, when something has to be embedded or a query searched.

    Raises:
        IndexMismatchError: The manifest or the catalogue is damaged, missing or newer.
    """

    def __init__(self, folder: Path, load_embedder: Callable[[], Embedder]) -> None:
        self.folder = folder
        self.manifest = manifests.read(folder)
        _check_catalogue(folder, self.manifest)
        self.database = Database(folder / FILE)
        self.catalogue = Catalogue(self.database)
        self.passages = PassageTable(self.database)
        self.vectors = VectorIndex(folder, self.database)
        self.words = TermIndex(folder, self.database)
        self._load_embedder = load_embedder
        self._embedder: Embedder | None = None
        self._writer = WriterLock(folder / "writer.lock", self.manifest.name)
        self._queries: dict[str, Vectors] = {}
        self._guard = threading.RLock()

    def close(self) -> None:
        """Close every file and give the locks back."""
        self.vectors.close()
        self.words.close()
        self.database.close()

    # ---- parts that are opened when needed -----------------------------------------------------

    @property
    def embedder(self) -> Embedder:
        """Return the embedder, loaded once and checked against the manifest.

        Raises:
            IndexMismatchError: It is not the one that the library was built with.
        """
        with self._guard:
            if self._embedder is None:
                embedder = self._load_embedder()
                manifests.check_embedder(manifests.read(self.folder), embedder.fingerprint)
                self._embedder = embedder
            return self._embedder

    @property
    def terms(self) -> TermStore:
        """Return the lexical index.

        Raises:
            IndexMismatchError: It is damaged; ``sync`` makes it anew.
        """
        return self.words.store

    def writing(self) -> AbstractContextManager[None]:
        """Hold the writer lock; refused within a second while somebody else does."""
        return self._writer.writing()

    def has_work(self) -> bool:
        """Say whether anything waits to be embedded, indexed, forgotten or repaired."""
        return (
            self.catalogue.has_work()
            or self.manifest.chunking == manifests.TO_CHUNK
            or self.manifest.terms != manifests.TERMS
            or not self.words.in_step()
        )

    # ---- writing -------------------------------------------------------------------------------

    def add_new(self, paper: Paper, import_id: int | None) -> None:
        """Put a new paper and its passages into the catalogue (inside a transaction)."""
        self.catalogue.put(paper, keys_of(paper), import_id)
        self.passages.put(paper.id, rows_of(paper, self.embedder))

    def sync(self, progress: Progress = no_progress, *, embed: bool = True) -> Work:
        """Finish whatever waits: words, changed papers, vectors, Chroma.

        Args:
            progress: Told of every step.
            embed: Also do what needs the embedder.

        Returns:
            What was done. A failing embedder or Chroma stops nothing else; ``error`` says why.

        Raises:
            LibraryBusyError: Somebody else is writing.
        """
        work = Work()
        with self.writing():
            self.manifest = manifests.read(self.folder)
            self._sync_terms(work)
            if embed:
                self._sync_with_embedder(work, progress)
            self._sync_chroma(work, progress)
        return work

    def _sync_with_embedder(self, work: Work, progress: Progress) -> None:
        try:
            if self.manifest.chunking == manifests.TO_CHUNK:
                self._chunk_again()
            self._pin_embedder()
        except RagError as exc:  # no embedder, or another one: words are searched meanwhile
            work.error = _reason(exc)
            return
        self._sync_updates(work)
        work.terms += self.words.sync()
        self._sync_embeddings(work, progress)

    def _sync_terms(self, work: Work, *, remake: bool = False) -> None:
        old = self.manifest.terms != manifests.TERMS
        work.terms += self.words.remake(discard=old) if old or remake else self.words.sync()
        if old:
            self.manifest = replace(self.manifest, terms=manifests.TERMS)
            manifests.write(self.folder, self.manifest)

    def _pin_embedder(self) -> None:
        """Note the whole fingerprint in the manifest before the first vector is made."""
        if self.manifest.pinned or not self.catalogue.waiting():
            return
        self._write_manifest(self.embedder)

    def _write_manifest(self, embedder: Embedder, *, chunking: int = manifests.CHUNKING) -> None:
        self.manifest = replace(
            self.manifest,
            embedder=embedder.fingerprint,
            max_tokens=embedder.max_tokens,
            chunking=chunking,
        )
        manifests.write(self.folder, self.manifest)

    # ---- vectors -------------------------------------------------------------------------------

    def _sync_updates(self, work: Work) -> None:
        """Embed changed papers and swap each in one step; until then the old one answers."""
        after = ""
        while papers := self.catalogue.updates(UPDATE_BATCH, after=after):
            after = papers[-1].id
            self._update(papers, work)

    def _update(self, papers: Sequence[Paper], work: Work) -> None:
        """Swap newer versions in; one that the embedder refuses stays as it was."""
        if work.gave_up:
            return
        try:
            changes = [self._change(paper) for paper in papers]
            batch = [(p, change.paper) for change in changes for p in change.fresh]
            found = vectors_of(batch, self.embedder) if batch else []
        except Exception as exc:  # an embedder may fail in any way
            if len(papers) > 1:
                for paper in papers:
                    self._update([paper], work)
                return
            work.refuse(exc)
            return
        vectors = iter(found)
        for change in changes:
            self._swap(change, [next(vectors) for _ in change.fresh])
            work.embedded += len(change.fresh)
        work.refused = 0

    def _change(self, paper: Paper) -> _Change:
        old = self.catalogue.get(paper.id)
        if old and (old.title, old.abstract) == (paper.title, paper.abstract):
            return _Change(paper, None, [])
        rows = rows_of(paper, self.embedder)
        known = self.passages.hashes(paper.id)
        return _Change(paper, rows, [row.passage for row in rows if row.hash not in known])

    def _swap(self, change: _Change, found: Sequence[Embedded]) -> None:
        paper = change.paper
        with self.database.transaction():
            self.catalogue.put(paper, keys_of(paper), None)
            if change.rows is not None:
                self.passages.put(paper.id, change.rows)
                self.passages.put_vectors(zip((p.id for p in change.fresh), found, strict=True))
            self.catalogue.drop_update(paper.id)

    def _sync_embeddings(self, work: Work, progress: Progress) -> None:
        total, done, after = self.passages.count_unembedded(), 0, 0
        while batch := self.passages.unembedded(EMBED_BATCH, after=after):
            after = batch[-1][0]
            stored = self._embed_what_works([(p, paper) for _, p, paper in batch], work)
            if (done + stored) // STORE_BATCH > done // STORE_BATCH:
                self._sync_chroma(work, no_progress)  # so that little has to be compared exactly
            done += stored
            progress("embedding", done, total)
            if work.gave_up:
                return

    def _embed_what_works(self, batch: Sequence[tuple[Passage, Paper]], work: Work) -> int:
        """Embed a batch, or, when that fails, every part of it that can be; store the vectors."""
        if work.gave_up:
            return 0
        try:
            found = vectors_of(batch, self.embedder)
        except Exception as exc:  # an embedder may fail in any way; what it refuses stays pending
            if len(batch) == 1:
                log.warning("Passage %s was not embedded", batch[0][0].id, exc_info=exc)
                work.refuse(exc)
                return 0
            middle = len(batch) // 2
            return sum(
                self._embed_what_works(half, work) for half in (batch[:middle], batch[middle:])
            )
        with self.database.transaction():
            self.passages.put_vectors(
                (passage.id, one) for (passage, _), one in zip(batch, found, strict=True)
            )
        work.refused = 0
        work.embedded += len(batch)
        return len(batch)

    def _sync_chroma(self, work: Work, progress: Progress) -> None:
        try:
            work.vectors += self.vectors.sync(lambda done: progress("storing", done, 0))
        except RagError as exc:  # SQLite has the vectors: they are compared exactly meanwhile
            work.error = work.error or _reason(exc)

    def remove(self, paper_ids: Sequence[str]) -> int:
        """Delete papers everywhere and return how many there were."""
        with self.writing():
            with self.database.transaction():
                for paper_id in paper_ids:
                    self.passages.forget(paper_id)
                count = self.catalogue.delete(paper_ids)
            self.sync(embed=False)
        return count

    def rebuild(self, *, embed: bool = False, progress: Progress = no_progress) -> Work:
        """Make the lexical index and Chroma anew from the catalogue.

        Args:
            embed: Also make every vector anew, with the embedder of the settings.
            progress: Told of every step.

        Returns:
            What was done; nothing is embedded unless asked for or still pending.

        Raises:
            LibraryBusyError: Another process is writing, or holds Chroma.
        """
        work = Work()
        with self.writing():
            self.vectors.remake()
            self._sync_terms(work, remake=True)
            if embed:
                self._embed_anew()
            done = self.sync(progress)
        return replace(done, terms=done.terms + work.terms)

    def _embed_anew(self) -> None:
        """Drop all vectors and cut all abstracts for the embedder of the settings.

        A kill in between leaves either the old embedder without vectors, or the new one with the
        note that its passages are still to be cut.
        """
        embedder = self._load_embedder()
        with self.database.transaction():
            self.passages.drop_vectors()
        self._write_manifest(embedder, chunking=manifests.TO_CHUNK)
        with self._guard:
            self._embedder = embedder
            self._queries.clear()
        self._chunk_again()

    def _chunk_again(self) -> None:
        for paper in self.catalogue.each():
            rows = rows_of(paper, self.embedder)
            with self.database.transaction():
                self.passages.put(paper.id, rows)
        self._write_manifest(self.embedder)

    # ---- searching -----------------------------------------------------------------------------

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a query; the last few are remembered.

        An embedder that knows only English is not given Chinese, where other words are left.
        """
        with self._guard:
            query = for_embedder(query, self.manifest.embedder)
            if query not in self._queries:
                self._remember([query], self.embedder.embed_query(query)[None])
            return self._queries[query]

    def prepare_queries(self, queries: Sequence[str]) -> None:
        """Embed the next queries at once, at most ``QUERIES_KEPT``: faster than one by one."""
        with self._guard:
            read = [for_embedder(one, self.manifest.embedder) for one in queries]
            fresh = [one for one in dict.fromkeys(read) if one not in self._queries]
            fresh = fresh[:QUERIES_KEPT]
            self._remember(fresh, self.embedder.embed_queries(fresh))

    def _remember(self, queries: Sequence[str], vectors: Vectors) -> None:
        for query, vector in zip(queries, vectors, strict=True):
            while len(self._queries) >= QUERIES_KEPT:
                self._queries.pop(next(iter(self._queries)))
            self._queries[query] = vector

    def nearest(
        self, vector: Vectors, limit: int, *, allowed: Sequence[str] | None = None
    ) -> list[tuple[str, str, float]]:
        """Return the passages nearest to a query vector: see ``VectorIndex.nearest``."""
        return self.vectors.nearest(vector, limit, allowed=allowed)

    # ---- checking ------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Return plain sentences on what differs between catalogue, lexical index and Chroma."""
        damage = self.database.integrity()
        if damage:
            return [
                f"The catalogue is damaged: {line}. Restore a backup: citewell restore FILE"
                for line in damage
            ]
        dim = int(self.manifest.embedder.get("dim", 0))
        return [*self.words.check(), *self.vectors.check(dim)]


def _check_catalogue(folder: Path, manifest: manifests.Manifest) -> None:
    """Refuse a library whose catalogue is gone: a new, empty one would hide the loss."""
    path = folder / FILE
    if path.is_file() and path.stat().st_size:
        return
    raise IndexMismatchError(
        f"The catalogue '{path}' of the library '{manifest.name}' is missing or empty. It holds "
        "the papers. Restore it from a backup: citewell restore FILE"
    )


def _reason(exc: Exception) -> str:
    return str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
