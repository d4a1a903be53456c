"""Finishing what waits: words, changed papers, passages, vectors, Chroma, from whatever state.

Each mark of something missing is removed after the work is done, so that a kill at any moment is
nothing special: the next run goes on.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from . import manifest as manifests
from .embedders import Embedded, Embedder
from .embedding import rows_of_many, vectors_of
from .errors import RagError
from .identity import keys_of
from .passages import PassageRow
from .schema import Paper, Passage
from .vectors import STORE_BATCH

if TYPE_CHECKING:
    from .index import Index

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with the stage ("reading", "embedding", "storing"), how many are done, and of how many (0:
not known)."""

CUT_BATCH = 256  # papers cut into passages in one transaction
EMBED_BATCH = 128  # passages embedded and stored in one transaction
UPDATE_BATCH = 32  # changed papers embedded together
PATIENCE = 20  # passages refused one after another until the embedder is taken for broken


_Batch = Sequence[tuple[Passage, Paper]]
_Found = Sequence[Embedded | None]  # None for a passage that the embedder refused


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
        self.error = self.error or reason(exc)


@dataclass(frozen=True, slots=True)
class _Change:
    """A newer version of a paper; ``rows`` is None where its passages stay as they are."""

    paper: Paper
    rows: list[PassageRow] | None
    fresh: list[Passage]


class Syncer:
    """Does one round of finishing; the caller holds the writer lock.

    Args:
        index: What is brought up to date.
        progress: Told of every step.
    """

    def __init__(self, index: "Index", progress: Progress) -> None:
        self._index = index
        self._progress = progress
        self.work = Work()

    def terms(self, *, remake: bool = False) -> None:
        """Index the words of papers, all of them anew where the index is of an older kind."""
        index = self._index
        old = index.manifest.terms != manifests.TERMS
        self.work.terms += index.words.remake(discard=old) if old or remake else index.words.sync()
        if old:
            index.write_manifest(replace(index.manifest, terms=manifests.TERMS))

    def vectors(self) -> None:
        """Do what needs the embedder: changed papers, passages, vectors."""
        if self.prepare():
            self._updates()
            self._embeddings()

    def prepare(self) -> bool:
        """See to the embedder: cut passages for another one, note its fingerprint.

        The manifest is read again: another process may have given the library another embedder.

        Returns:
            Whether there is one; ``work.error`` says why not.

        Raises:
            IndexMismatchError: Its vectors were made by another one.
        """
        index = self._index
        index.manifest = manifests.read(index.folder)
        uncut = index.manifest.chunking == manifests.TO_CHUNK
        if index.manifest.pinned and not uncut and index.catalogue.waiting():
            manifests.check_embedder(index.manifest, index.embedder.fingerprint)
        try:
            if uncut:
                manifests.check_embedder(index.manifest, index.embedder.fingerprint)
                self.chunk_again()
            pin_embedder(index)
        except RagError as exc:  # no embedder, or another one: words are searched meanwhile
            self.work.error = reason(exc)
            return False
        return True

    def _updates(self) -> None:
        """Embed changed papers and swap each in one step; until then the old one answers."""
        after: str | None = ""
        while after is not None:
            after = self.updates(UPDATE_BATCH, after=after)
        self.work.terms += self._index.words.sync()

    def updates(self, limit: int, *, after: str) -> str | None:
        """Embed a few changed papers and swap them in; return the last one's id, or None."""
        papers = self._index.catalogue.updates(limit, after=after)
        if not papers:
            return None
        self._update(papers)
        return papers[-1].id

    def _update(self, papers: Sequence[Paper]) -> None:
        """Swap newer versions in; one that the embedder refuses stays as it was."""
        if self.work.gave_up:
            return
        try:
            changes = [self._change(paper) for paper in papers]
            batch = [(p, change.paper) for change in changes for p in change.fresh]
            found = vectors_of(batch, self._index.embedder) if batch else []
        except Exception as exc:  # an embedder may fail in any way
            if len(papers) > 1:
                for paper in papers:
                    self._update([paper])
                return
            self.work.refuse(exc)
            return
        vectors = iter(found)
        for change in changes:
            self._swap(change, [next(vectors) for _ in change.fresh])
            self.work.embedded += len(change.fresh)
        self.work.refused = 0

    def _change(self, paper: Paper) -> _Change:
        old = self._index.catalogue.get(paper.id)
        if old and (old.title, old.abstract) == (paper.title, paper.abstract):
            return _Change(paper, None, [])
        rows = rows_of_many([paper], self._index.embedder)[0]
        known = self._index.passages.hashes(paper.id)
        return _Change(paper, rows, [row.passage for row in rows if row.hash not in known])

    def _swap(self, change: _Change, found: Sequence[Embedded]) -> None:
        paper = change.paper
        with self._index.database.transaction():
            self._index.catalogue.put(paper, keys_of(paper), None)
            if change.rows is not None:
                self._index.passages.put(paper.id, change.rows)
                self._index.passages.put_vectors(
                    zip((p.id for p in change.fresh), found, strict=True)
                )
            self._index.catalogue.drop_update(paper.id)

    def _cut(self) -> None:
        """Cut some abstracts of papers that were added without an embedder."""
        passages = self._index.passages
        if papers := passages.uncut(CUT_BATCH):
            cut = rows_of_many(papers, self._index.embedder)
            with self._index.database.transaction():
                for paper, rows in zip(papers, cut, strict=True):
                    passages.put(paper.id, rows)

    def _embeddings(self) -> None:
        """Embed what waits: while one batch is embedded, the last is stored, the next one cut."""
        done = 0
        with ThreadPoolExecutor(1, "citewell-embed") as beside:
            for batch, making in _one_ahead(self._batches(), beside, self._vectors_of_some):
                stored = self._store(batch, making.result())
                if (done + stored) // STORE_BATCH > done // STORE_BATCH:
                    self.chroma()  # so that little has to be compared exactly
                done += stored
                total = done + self._index.passages.count_unembedded()
                self._progress("embedding", done, total)

    def _batches(self) -> Iterator[_Batch]:
        """Yield passages without a vector, oldest first. More are cut than taken each time."""
        after = 0
        while not self.work.gave_up:
            self._cut()
            batch = self._index.passages.unembedded(EMBED_BATCH, after=after)
            if not batch:
                return
            after = batch[-1][0]
            yield [(passage, paper) for _, passage, paper in batch]

    def _vectors_of_some(self, batch: _Batch) -> _Found:
        """Embed a batch, or, when that fails, every part of it that can be; None for the rest."""
        if self.work.gave_up:
            return [None] * len(batch)
        try:
            found = vectors_of(batch, self._index.embedder)
        except Exception as exc:  # an embedder may fail in any way; what it refuses stays pending
            if len(batch) == 1:
                log.warning("Passage %s was not embedded", batch[0][0].id, exc_info=exc)
                self.work.refuse(exc)
                return [None]
            middle = len(batch) // 2
            halves = (batch[:middle], batch[middle:])
            return [one for half in halves for one in self._vectors_of_some(half)]
        self.work.refused = 0
        return found

    def _store(self, batch: _Batch, found: _Found) -> int:
        """Store the vectors that could be made; return how many."""
        made = [(p.id, one) for (p, _), one in zip(batch, found, strict=True) if one is not None]
        with self._index.database.transaction():
            self._index.passages.put_vectors(made)
        self.work.embedded += len(made)
        return len(made)

    def chroma(self) -> None:
        """Bring Chroma up to date."""
        try:
            self.work.vectors += self._index.vectors.sync(
                lambda done: self._progress("storing", done, 0)
            )
        except RagError as exc:  # SQLite has the vectors: they are compared exactly meanwhile
            self.work.error = self.work.error or reason(exc)

    def embed_anew(self, embedder: Embedder) -> None:
        """Drop all vectors and cut all abstracts for another embedder.

        A kill in between leaves either the old embedder without vectors, or the new one with the
        note that its passages are still to be cut.
        """
        index = self._index
        with index.database.transaction():
            index.passages.drop_vectors()
        index.write_manifest(_built_with(index.manifest, embedder, chunking=manifests.TO_CHUNK))
        index.use(embedder)
        self.chunk_again()

    def chunk_again(self) -> None:
        """Cut every abstract for the embedder in use."""
        index = self._index
        for papers in _some(index.catalogue.each(), CUT_BATCH):
            cut = rows_of_many(papers, index.embedder)
            with index.database.transaction():
                for paper, rows in zip(papers, cut, strict=True):
                    index.passages.put(paper.id, rows)
        index.write_manifest(_built_with(index.manifest, index.embedder))


def _one_ahead(
    batches: Iterable[_Batch], executor: Executor, make: Callable[[_Batch], _Found]
) -> Iterator[tuple[_Batch, Future[_Found]]]:
    """Yield each batch with its result to come, the next one being begun before."""
    before: tuple[_Batch, Future[_Found]] | None = None
    for batch in batches:
        coming = (batch, executor.submit(make, batch))
        if before:
            yield before
        before = coming
    if before:
        yield before


def pin_embedder(index: "Index") -> None:
    """Note the whole fingerprint in the manifest before the first vector is stored."""
    if not index.manifest.pinned and index.catalogue.waiting():
        index.write_manifest(_built_with(index.manifest, index.embedder))


def _built_with(
    manifest: manifests.Manifest, embedder: Embedder, *, chunking: int = manifests.CHUNKING
) -> manifests.Manifest:
    return replace(
        manifest,
        embedder=embedder.fingerprint,
        max_tokens=embedder.max_tokens,
        chunking=chunking,
    )


def _some(papers: Iterator[Paper], count: int) -> Iterator[list[Paper]]:
    """Yield papers so many at a time."""
    while batch := list(islice(papers, count)):
        yield batch


def reason(exc: Exception) -> str:
    """Return what went wrong as a sentence."""
    return str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
