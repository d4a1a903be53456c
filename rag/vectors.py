"""The vectors of a library: Chroma where this process may hold it, else an exact comparison.

SQLite holds every vector, so Chroma is a cache: while another process holds it, or when it is
damaged, the same question is answered from SQLite, and ``sync`` makes Chroma anew.
"""

import heapq
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from .catalogue import Catalogue
from .database import Database
from .embedders import Vectors
from .errors import IndexMismatchError, LibraryBusyError
from .locks import HolderLock
from .passages import Block, PassageTable
from .stores.chroma import VectorStore, discard

log = logging.getLogger(__name__)

STORE_BATCH = 2000  # vectors in one go to Chroma
SMALL = (
    20_000  # vectors that are compared exactly: faster than opening Chroma, as fast as asking it
)
NEAR_1 = 1e-3  # a vector read back from Chroma may differ so much in any number

Hit = tuple[str, str, float]
"""(passage id, paper id, cosine)"""


class VectorIndex:
    """One library's vectors, kept in step with the catalogue.

    Args:
        folder: The library's folder.
        database: Its SQLite file.
    """

    def __init__(self, folder: Path, database: Database) -> None:
        self._folder = folder / "chroma"
        self._lock = HolderLock(folder / "chroma.lock")
        self._database = database
        self._catalogue = Catalogue(database)
        self._passages = PassageTable(database)
        self._store: VectorStore | None = None
        self._damage: str | None = None
        self._whole: _Whole | None = None  # the vectors of a small library
        self._guard = threading.RLock()

    def close(self) -> None:
        """Give Chroma back, so that another process may hold it."""
        with self._guard:
            self._drop_store()
            self._lock.free()

    def holder(self) -> str | None:
        """Name the other process that holds Chroma; None when this one may."""
        with self._guard:
            return None if self._held() else self._lock.holder()

    def _held(self) -> bool:
        return self._lock.held or self._lock.take()

    def _drop_store(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _open(self) -> VectorStore | None:
        """Return Chroma, or None while another process holds it (two at once corrupt it).

        Raises:
            IndexMismatchError: It is damaged or out of step with the catalogue.
        """
        with self._guard:
            if self._damage:
                raise IndexMismatchError(self._damage)
            if self._store is None and self._held():
                self._store = self._opened()
            return self._store

    def _opened(self) -> VectorStore:
        store = VectorStore(self._folder)
        try:
            held, wanted = store.count(), self._passages.count_stored()
            if held < wanted:
                raise IndexMismatchError(
                    f"Chroma holds {held} vectors, the catalogue marks {wanted}. Answers come "
                    "from the catalogue meanwhile. Rebuild, which embeds nothing: citewell rebuild"
                )
        except BaseException:
            store.close()
            raise
        return store

    def _distrust(self, exc: IndexMismatchError, store: VectorStore | None = None) -> None:
        """Use Chroma no more until ``sync`` has made it anew.

        Args:
            exc: What was found.
            store: Where it was found; one that was replaced meanwhile says nothing of the new one.
        """
        with self._guard:
            if store is not None and store is not self._store:
                return
            if self._damage is None:
                log.warning("Chroma is passed over: %s", exc)
            self._damage = str(exc)
            self._drop_store()

    # ---- writing -------------------------------------------------------------------------------

    def has_work(self) -> bool:
        """Say whether Chroma lacks a vector or holds one that is gone."""
        return bool(self._passages.unstored(1) or self._catalogue.gone("passage", limit=1))

    def sync(self, progress: Callable[[int], None]) -> int:
        """Bring Chroma up to date and return how many vectors were written.

        Another process that holds it keeps it as it is. A damaged one is made anew.

        Args:
            progress: Told how many vectors are written.
        """
        if self._damage is None and not self.has_work():
            return 0
        try:
            return self._sync(progress)
        except IndexMismatchError as exc:
            log.warning("Chroma is made anew: %s", exc)
            self.remake()
            return self._sync(progress)

    def _sync(self, progress: Callable[[int], None]) -> int:
        store = self._open()
        if store is None:
            return 0
        if gone := self._catalogue.gone("passage"):
            store.delete(gone)
            with self._database.transaction():
                self._passages.unmark_stored(gone)
                self._catalogue.forget_gone("passage", gone)
        written = 0
        while rows := self._passages.unstored(STORE_BATCH):
            ids, paper_ids, hashes, vectors = zip(*rows, strict=True)
            store.upsert(ids, paper_ids, np.stack(vectors))
            with self._database.transaction():
                self._passages.mark_stored(zip(ids, hashes, strict=True))
            written += len(ids)
            progress(written)
        return written

    def remake(self) -> None:
        """Throw Chroma away; ``sync`` fills it again from the catalogue.

        Raises:
            LibraryBusyError: Another process holds it.
            IndexMismatchError: It cannot be deleted.
        """
        with self._guard:
            if not self._held():
                raise LibraryBusyError(
                    f"Chroma's folder '{self._folder}' is in use by {self._lock.holder()}. It "
                    "cannot be made anew meanwhile. Stop that process and run: citewell rebuild"
                )
            self._drop_store()
            with self._database.transaction():
                self._passages.unmark_all()
            discard(self._folder)
            self._damage = None

    # ---- searching -----------------------------------------------------------------------------

    def nearest(
        self, vector: Vectors, limit: int, *, allowed: Sequence[str] | None = None
    ) -> list[Hit]:
        """Return the passages nearest to a query vector.

        A small library, a subset of papers, and a library that another process holds are compared
        exactly. Chroma answers for a big one; vectors that have not reached it are compared too.

        Args:
            vector: ``(dim,)`` float32 of length 1.
            limit: At most so many.
            allowed: Only passages of these papers; None means all.

        Returns:
            (passage id, paper id, cosine), each passage once, best first; empty when nothing is
            embedded.
        """
        if (whole := self._small()) is not None:
            part = whole.block if allowed is None else whole.of(allowed)
            return _best(_nearest_in(part, vector, limit), limit)
        store = None if allowed is not None else self._usable()
        if store is None:
            return self._exact(vector, limit, allowed=allowed)
        waiting = self._exact(vector, limit, unstored=True)  # first: they may be stored meanwhile
        try:
            hits = store.search(vector, limit)
        except IndexMismatchError as exc:
            self._distrust(exc, store)
            return self._exact(vector, limit)
        owners = self._passages.stored_owners([passage_id for passage_id, _ in hits])
        found = {name: (name, owners[name], cosine) for name, cosine in hits if name in owners}
        return _best(({hit[0]: hit for hit in waiting} | found).values(), limit)

    def paper_sums(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return paper id → the sum of its passages' vectors, for those that have any."""
        whole = self._small()
        return self._passages.paper_sums(paper_ids) if whole is None else whole.sums(paper_ids)

    def _small(self) -> "_Whole | None":
        """Return all vectors of a small library, kept until any of them changes; else None."""
        version = self._passages.vectors_version()
        kept = self._whole
        if kept is not None and kept.version == version and len(kept.block.ids) <= SMALL:
            return kept
        self._whole = None
        if self._passages.count_vectors() > SMALL:
            return None
        blocks = [*self._passages.blocks(), Block((), (), np.zeros(0, np.float32))]
        self._whole = _Whole(version, blocks[0])
        return self._whole

    def _usable(self) -> VectorStore | None:
        """Return Chroma, or None while another process holds it or it is damaged."""
        try:
            return self._open()
        except IndexMismatchError as exc:
            self._distrust(exc)
            return None

    def _exact(
        self,
        vector: Vectors,
        limit: int,
        *,
        allowed: Sequence[str] | None = None,
        unstored: bool = False,
    ) -> list[Hit]:
        """Compare a query with every vector, a bounded number at a time."""
        best: list[Hit] = []
        for block in self._passages.blocks(allowed, unstored=unstored):
            best = _best([*best, *_nearest_in(block, vector, limit)], limit)
        return best

    # ---- checking ------------------------------------------------------------------------------

    def check(self, dim: int) -> list[str]:
        """Return plain sentences on what is wrong with the vectors."""
        problems = self._bad_vectors(dim)
        try:
            store = self._open()
            if store is None:
                return [
                    *problems,
                    f"Chroma is held by {self._lock.holder()} and was not checked. Check again "
                    "when that process has ended.",
                ]
            return problems + self._differences(store)
        except IndexMismatchError as exc:
            self._distrust(exc)
            return [*problems, str(exc)]

    def _bad_vectors(self, dim: int) -> list[str]:
        bad = sum(
            len(block.ids)
            if block.flat.size != dim * len(block.ids)
            else _count_unsound(block.matrix(dim))
            for block in self._passages.blocks()
        )
        if not bad:
            return []
        return [
            f"{bad} vectors in the catalogue are zero, not numbers or of a wrong length. "
            "Make them anew: citewell rebuild --embed"
        ]

    def _differences(self, store: VectorStore) -> list[str]:
        held, wanted = store.count(), self._passages.count_stored()
        if held < wanted or (held > wanted and not self.has_work()):
            return [
                f"Chroma holds {held} vectors, the catalogue marks {wanted}. "
                "Rebuild, which embeds nothing: citewell rebuild"
            ]
        after, wrong = 0, 0
        while True:
            after, ours = self._passages.stored(STORE_BATCH, after=after)
            if not ours:
                break
            theirs = store.get(list(ours))
            wrong += sum(
                name not in theirs or bool(np.abs(theirs[name] - vector).max() > NEAR_1)
                for name, vector in ours.items()
            )
        if not wrong:
            return []
        return [
            f"Chroma holds {wrong} vectors that differ from the catalogue's. "
            "Rebuild, which embeds nothing: citewell rebuild"
        ]


def _best(hits: Iterable[Hit], limit: int) -> list[Hit]:
    return heapq.nsmallest(limit, hits, key=lambda hit: (-hit[2], hit[0]))


class _Whole:
    """All vectors of a small library, and which belong to which paper."""

    def __init__(self, version: int, block: Block) -> None:
        self.version, self.block = version, block
        self._rows: dict[str, list[int]] = {}
        for row, owner in enumerate(block.paper_ids):
            self._rows.setdefault(owner, []).append(row)

    def of(self, paper_ids: Sequence[str]) -> Block:
        """Return the vectors of some papers alone."""
        rows = [row for name in dict.fromkeys(paper_ids) for row in self._rows.get(name, ())]
        if not rows:
            return Block((), (), np.zeros(0, np.float32))
        matrix = self.block.flat.reshape(len(self.block.ids), -1)[rows]
        ids, owners = self.block.ids, self.block.paper_ids
        return Block([ids[i] for i in rows], [owners[i] for i in rows], matrix.reshape(-1))

    def sums(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return paper id → the sum of its vectors, for those that have any."""
        rows = {name: self._rows[name] for name in paper_ids if name in self._rows}
        matrix = self.block.flat.reshape(len(self.block.ids), -1) if rows else self.block.flat
        return {name: matrix[its].sum(axis=0) for name, its in rows.items()}


def _nearest_in(block: Block, vector: Vectors, limit: int) -> list[Hit]:
    try:
        matrix = block.matrix(len(vector))
    except ValueError as exc:
        raise IndexMismatchError(
            f"The query's vector has {len(vector)} numbers, those of the library have another "
            "length. It was built with another embedder. Use that one with --embedder, or embed "
            "everything again: citewell rebuild --embed"
        ) from exc
    cosines = np.clip(matrix @ vector, -1.0, 1.0)
    rank = len(cosines) - limit
    least = np.partition(cosines, rank)[rank] if rank > 0 else -1.0
    # with all that tie for the last place
    best = np.flatnonzero(cosines >= least)
    return [(block.ids[i], block.paper_ids[i], float(cosines[i])) for i in map(int, best)]


def _count_unsound(matrix: Vectors) -> int:
    """Return how many rows are zero or hold NaN or infinity."""
    sound = np.isfinite(matrix).all(axis=1) & matrix.any(axis=1)
    return len(matrix) - int(np.count_nonzero(sound))
