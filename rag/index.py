"""Keeps catalogue, terms and vectors in step.

``sync`` is the one road forward: whatever a crash, a failure or an ``add`` left undone is read from
the catalogue and finished in the same order: words, then vectors, then Chroma.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from . import manifest as manifests
from .asking import Asking
from .bilingual import for_embedder
from .catalogue import Catalogue
from .chunking import whole_passage
from .database import FILE, Database
from .embedders import Embedder, Vectors, normalised
from .errors import IndexMismatchError, IndexMissingError
from .fine import Fine
from .identity import keys_of
from .locks import WriterLock
from .passages import UNCUT, PassageRow, PassageTable
from .schema import Paper
from .stores.lexical import TermStore
from .syncing import Progress, Syncer, Work, no_progress
from .terms import TermIndex
from .vectors import STORE_BATCH, VectorIndex

__all__ = ["Index", "Progress", "Work", "no_progress"]

EMBED_BUDGET_S = 1.5
QUERIES_KEPT = 64  # vectors of recent queries that are remembered


class Index:
    """One library's folder: catalogue, lexical index, Chroma and the locks around them.

    Args:
        folder: The library's folder, with a manifest in it.
        load_embedder: Called once, when something has to be embedded or a query searched.
        embed_budget_s: Longest time, in seconds, in which a search makes missing vectors.

    Raises:
        IndexMismatchError: The manifest or the catalogue is damaged, missing or newer.
    """

    def __init__(
        self,
        folder: Path,
        load_embedder: Callable[[], Embedder],
        *,
        embed_budget_s: float = EMBED_BUDGET_S,
    ) -> None:
        self.folder = folder
        self.manifest = manifests.read(folder)
        _check_catalogue(folder, self.manifest)
        self.database = Database(folder / FILE)
        self._place = _place(folder)
        self.catalogue = Catalogue(self.database)
        self.passages = PassageTable(self.database)
        self.vectors = VectorIndex(folder, self.database)
        self.words = TermIndex(folder, self.database)
        self.fine = Fine(self)
        self.asking = Asking(folder / "asking")
        self.embed_budget_s = embed_budget_s
        self._load_embedder = load_embedder
        self._embedder: Embedder | None = None
        self._writer = WriterLock(folder / "writer.lock", self.manifest.name)
        self._queries: dict[str, Vectors] = {}
        self._checked = -1  # the version of the vectors that the embedder was compared with
        self._guard = threading.RLock()

    def close(self) -> None:
        """Close every file and give the locks back."""
        if self._embedder is not None and not self.database.closed:
            self.fine.flush()
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

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the writer lock; refused within a second while somebody else does.

        Raises:
            IndexMissingError: The library was deleted since it was opened.
            LibraryBusyError: Somebody else holds the lock.
        """
        self._check_place()
        with self._writer.writing():
            self._check_place()
            yield

    @contextmanager
    def writing_if_free(self) -> Iterator[bool]:
        """Hold the writer lock if nobody else does, without waiting; yield whether it is held.

        Raises:
            IndexMissingError: The library was deleted since it was opened.
        """
        self._check_place()
        with self._writer.writing_if_free() as free:
            self._check_place()
            yield free

    @property
    def is_there(self) -> bool:
        """Say whether the folder still holds the library that was opened."""
        return _place(self.folder) == self._place

    def _check_place(self) -> None:
        """Refuse to write where the library was: its folder is gone, or is another library's."""
        if not self.is_there:
            raise IndexMissingError(
                f"The library '{self.manifest.name}' was deleted or moved from '{self.folder}' "
                "while it was open. Open it again, or add its papers anew: citewell add FILE"
            )

    def has_work(self) -> bool:
        """Say whether anything waits to be embedded, indexed, forgotten or repaired."""
        return (
            self.catalogue.has_work()
            or self.manifest.chunking == manifests.TO_CHUNK
            or self._words_wait()
        )

    def _words_wait(self) -> bool:
        return (
            self.manifest.terms != manifests.TERMS
            or self.catalogue.words_wait()
            or not self.words.in_step()
        )

    # ---- writing -------------------------------------------------------------------------------

    def add_new(self, papers: Sequence[tuple[Paper, Sequence[str]]], import_id: int | None) -> None:
        """Put new papers with their identity keys into the catalogue (inside a transaction)."""
        self.catalogue.put_many(papers, import_id)
        self.passages.put_uncut([one for paper, _ in papers if (one := whole_passage(paper))])

    def change(self, paper: Paper) -> None:
        """Put a newer version in a paper's place at once (inside a transaction).

        Where its text is another, its words answer alone until new vectors are made.
        """
        old = self.catalogue.get(paper.id)
        self.catalogue.put(paper, keys_of(paper), None)
        self.catalogue.drop_update(paper.id)
        if old and (old.title, old.abstract) == (paper.title, paper.abstract):
            return
        whole = whole_passage(paper)
        self.passages.put(paper.id, [PassageRow(whole, UNCUT)] if whole else [])

    def sync(
        self, progress: Progress = no_progress, *, embed: bool = True, store: bool = True
    ) -> Work:
        """Finish whatever waits: words, changed papers, vectors, Chroma.

        Args:
            progress: Told of every step.
            embed: Also do what needs the embedder.
            store: Also bring Chroma up to date.

        Returns:
            What was done. A failing embedder or Chroma stops nothing else; ``error`` says why.

        Raises:
            LibraryBusyError: Somebody else is writing.
        """
        syncer = Syncer(self, progress)
        with self.writing():
            self.manifest = manifests.read(self.folder)
            syncer.terms()
            if embed:
                syncer.vectors()
            if store:
                syncer.chroma()
        return syncer.work

    def catch_up(self, progress: Progress = no_progress) -> Work:
        """Finish what an open does: words that wait, and Chroma where very much waits for it.

        Raises:
            LibraryBusyError: Somebody else is writing.
        """
        much = self.passages.count_unstored() >= STORE_BATCH
        if not (much or self._words_wait()):
            return Work()
        return self.sync(progress, embed=False, store=much)

    def write_manifest(self, manifest: manifests.Manifest) -> None:
        """Write the manifest; the caller holds the writer lock."""
        self.manifest = manifest
        manifests.write(self.folder, manifest)

    def use(self, embedder: Embedder) -> None:
        """Use another embedder from now on."""
        with self._guard:
            self._embedder = embedder
            self._queries.clear()
            self.fine.clear()

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
        syncer = Syncer(self, progress)
        with self.writing():
            self.vectors.remake()
            syncer.terms(remake=True)
            if embed:
                syncer.embed_anew(self._load_embedder())
            done = self.sync(progress)
        return replace(done, terms=done.terms + syncer.work.terms)

    # ---- searching -----------------------------------------------------------------------------

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a query; the last few are remembered.

        An embedder that knows only English is not given Chinese, where other words are left.

        Raises:
            IndexMismatchError: Another process gave the library another embedder meanwhile.
        """
        with self._guard:
            self._check_vectors()
            query = for_embedder(query, self.manifest.embedder)
            if query not in self._queries:
                self._remember([query], self.embedder.embed_query(query)[None])
            return self._queries[query]

    def _check_vectors(self) -> None:
        """Compare the embedder with the manifest again where vectors have changed."""
        version = self.passages.vectors_version()
        if version != self._checked:
            manifests.check_embedder(manifests.read(self.folder), self.embedder.fingerprint)
            self._checked = version

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
        """Return the passages nearest to a query vector: see ``VectorIndex.nearest``.

        Those whose vectors were just made for a question are among them.
        """
        made = self.fine.nearest(vector, limit, allowed=allowed)  # first: they may be written now
        hits = self.vectors.nearest(vector, limit, allowed=allowed)
        if not made:
            return hits
        both = {hit[0]: hit for hit in (*made, *hits)}.values()
        return sorted(both, key=lambda hit: (-hit[2], hit[0]))[:limit]

    def any_vectors(self) -> bool:
        """Say whether a query's vector can be compared with anything."""
        return self.fine.any() or self.passages.any_vectors()

    def sentence_vectors(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return passage id → ``(n_sentences, dim)``, stored or made for a question just now."""
        made = self.fine.sentence_vectors(paper_ids)  # first: they may be written now
        return made | self.passages.sentence_vectors(paper_ids)

    def paper_vectors(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return paper id → ``(dim,)`` of length 1: the mean of its passages' vectors.

        Papers without a vector are left out.
        """
        sums = self.fine.paper_sums(paper_ids) | self.vectors.paper_sums(paper_ids)
        if not sums:
            return {}
        return dict(zip(sums, normalised(list(sums.values())), strict=True))

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


def _place(folder: Path) -> tuple[int, int] | None:
    """Return what tells a library's catalogue from that of a later library of the same name."""
    try:
        found = (folder / FILE).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _check_catalogue(folder: Path, manifest: manifests.Manifest) -> None:
    """Refuse a library whose catalogue is gone: a new, empty one would hide the loss."""
    path = folder / FILE
    if path.is_file() and path.stat().st_size:
        return
    raise IndexMismatchError(
        f"The catalogue '{path}' of the library '{manifest.name}' is missing or empty. It holds "
        "the papers. Restore it from a backup: citewell restore FILE"
    )
