"""Keeps catalogue, terms and vectors in step.

``sync`` is the one road forward: whatever a crash, a failure or an ``add`` left undone is read from
the catalogue and finished in the same order: words, then vectors, then Chroma.
"""

import hashlib
import logging
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from . import manifest as manifests
from .catalogue import Catalogue
from .chunking import embedding_text, passages
from .database import Database
from .embedders import Embedded, Embedder, Vectors
from .errors import RagError
from .identity import keys
from .locks import HolderLock, writing
from .passages import PassageRow, PassageTable
from .schema import Paper, Passage, Span
from .sentences import sentence_spans
from .stores.chroma import VectorStore
from .stores.lexical import TermStore

log = logging.getLogger(__name__)

Progress = Callable[[str, int, int], None]
"""Called with the stage ("reading", "embedding", "storing"), how many are done, and of how many (0:
not known)."""

TERMS_BATCH = 1000  # papers in one commit of the lexical index
EMBED_BATCH = 128  # passages embedded and stored in one transaction
STORE_BATCH = 2000  # vectors in one go to Chroma
QUERIES_KEPT = 64  # vectors of recent queries that are remembered


def no_progress(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


@dataclass
class Work:
    """What a ``sync`` did. ``error`` is the first reason why something still waits."""

    embedded: int = 0
    terms: int = 0
    vectors: int = 0
    error: str | None = None


class Index:
    """One library's folder: catalogue, lexical index, Chroma and the locks around them.

    Args:
        folder: The library's folder, with a manifest in it.
        load_embedder: Called once, when something has to be embedded or a query searched.
    """

    def __init__(self, folder: Path, load_embedder: Callable[[], Embedder]) -> None:
        self.folder = folder
        self.manifest = manifests.read(folder)
        self.database = Database(folder / "catalogue.sqlite")
        self.catalogue = Catalogue(self.database)
        self.passages = PassageTable(self.database)
        self.terms = TermStore(folder / "lexical")
        self._load_embedder = load_embedder
        self._embedder: Embedder | None = None
        self._vectors: VectorStore | None = None
        self._writer = HolderLock(folder / "writer.lock")
        self._chroma = HolderLock(folder / "chroma.lock")
        self._queries: dict[str, Vectors] = {}
        self._guard = threading.RLock()

    def close(self) -> None:
        """Close every file and give the locks back."""
        with self._guard:
            self._release_vectors()
            self.database.close()
            self._writer.free()

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
                manifests.check_embedder(self.manifest, embedder.fingerprint)
                self._embedder = embedder
            return self._embedder

    def vectors(self) -> VectorStore | None:
        """Return Chroma, or None while another process holds it (two at once corrupt it)."""
        with self._guard:
            if self._vectors is None and self._chroma.take():
                try:
                    self._vectors = VectorStore(self.folder / "chroma")
                except BaseException:
                    self._chroma.free()
                    raise
            return self._vectors

    def _release_vectors(self) -> None:
        if self._vectors is not None:
            self._vectors.close()
            self._vectors = None
        self._chroma.free()

    def writing(self) -> AbstractContextManager[None]:
        """Hold the writer lock; refused within a second while somebody else does."""
        return writing(self._writer, self.manifest.name)

    # ---- writing -------------------------------------------------------------------------------

    def add_new(self, paper: Paper, import_id: int | None) -> None:
        """Put a new paper and its passages into the catalogue (inside a transaction)."""
        self.catalogue.put(paper, keys_of(paper), import_id)
        self.passages.put(paper.id, self._rows(paper))

    def _rows(self, paper: Paper) -> list[PassageRow]:
        embedder = self.embedder
        found = passages(paper, embedder.count_tokens, embedder.max_tokens)
        return [PassageRow(p, _hash(self._embedded_text(paper, p))) for p in found]

    def _embedded_text(self, paper: Paper, passage: Passage) -> str:
        embedder = self.embedder
        return embedding_text(paper.title, passage.text, embedder.count_tokens, embedder.max_tokens)

    def sync(self, progress: Progress = no_progress) -> Work:
        """Finish whatever waits: words, changed papers, vectors, Chroma.

        Args:
            progress: Told of every step.

        Returns:
            What was done. A failing embedder stops nothing else; ``error`` says why it failed.
        """
        work = Work()
        with self.writing():
            self._pin_embedder()
            self._sync_terms(work)
            self._sync_updates(work)
            self._sync_terms(work)
            self._sync_embeddings(work, progress)
            self._sync_chroma(work, progress)
        return work

    def _pin_embedder(self) -> None:
        """Note the whole fingerprint in the manifest before the first vector is made."""
        if "dim" in self.manifest.embedder or not self.catalogue.waiting():
            return
        embedder = self.embedder
        self.manifest = replace(
            self.manifest, embedder=embedder.fingerprint, max_tokens=embedder.max_tokens
        )
        manifests.write(self.folder, self.manifest)

    def sync_terms(self) -> int:
        """Make the words of new papers searchable and return how many papers were written."""
        work = Work()
        self._sync_terms(work)
        return work.terms

    def _sync_terms(self, work: Work) -> None:
        gone = self.catalogue.gone("paper")
        if gone:
            self.terms.write([], forget=gone)
            back = [paper_id for paper_id in gone if self.catalogue.get(paper_id)]
            self.catalogue.unmark_terms(back)
            self.catalogue.forget_gone("paper", gone)
        while papers := self.catalogue.without_terms(TERMS_BATCH):
            work.terms += self.terms.write(papers)
            with self.database.transaction():
                self.catalogue.mark_terms([paper.id for paper in papers])

    def _sync_updates(self, work: Work) -> None:
        """Embed changed papers and swap each in one step; until then the old one answers."""
        for paper in self.catalogue.updates():
            try:
                rows = self._rows(paper)
                known = self.passages.hashes(paper.id)
                fresh = [row.passage for row in rows if row.hash not in known]
                found = self._embed(paper, fresh)
            except Exception as exc:  # an embedder may fail in any way; the old version stays
                work.error = work.error or _reason(exc)
                continue
            work.embedded += len(fresh)
            with self.database.transaction():
                self.catalogue.put(paper, keys_of(paper), None)
                self.passages.put(paper.id, rows)
                self.passages.put_vectors(zip((p.id for p in fresh), found, strict=True))
                self.catalogue.drop_update(paper.id)

    def _embed(self, paper: Paper, found: Sequence[Passage]) -> list[Embedded]:
        return self._embed_all([(passage, paper) for passage in found])

    def _embed_all(self, batch: Sequence[tuple[Passage, Paper]]) -> list[Embedded]:
        texts = [self._embedded_text(paper, passage) for passage, paper in batch]
        spans = [
            _sentences_in(text, passage.text)
            for text, (passage, _) in zip(texts, batch, strict=True)
        ]
        return [_checked(one) for one in self.embedder.embed_passages(texts, spans)]

    def _sync_embeddings(self, work: Work, progress: Progress) -> None:
        total, done, after = self.passages.count_unembedded(), 0, 0
        while batch := self.passages.unembedded(EMBED_BATCH, after=after):
            after = batch[-1][0]
            pairs = [(passage, paper) for _, passage, paper in batch]
            stored = self._embed_what_works(pairs, work)
            done += stored
            work.embedded += stored
            progress("embedding", done, total)

    def _embed_what_works(self, batch: Sequence[tuple[Passage, Paper]], work: Work) -> int:
        """Embed a batch, or, when that fails, every part of it that can be; store the vectors."""
        try:
            found = self._embed_all(batch)
        except Exception as exc:  # an embedder may fail in any way; what it refuses stays pending
            if len(batch) == 1:
                log.warning("Passage %s was not embedded", batch[0][0].id, exc_info=exc)
                work.error = work.error or _reason(exc)
                return 0
            middle = len(batch) // 2
            return sum(
                self._embed_what_works(half, work) for half in (batch[:middle], batch[middle:])
            )
        with self.database.transaction():
            self.passages.put_vectors(
                (passage.id, one) for (passage, _), one in zip(batch, found, strict=True)
            )
        return len(batch)

    def _sync_chroma(self, work: Work, progress: Progress) -> None:
        """Bring Chroma up to date, unless another process holds it: that one will."""
        gone = self.catalogue.gone("passage")
        if not gone and not self.passages.unstored(1):
            return
        store = self.vectors()
        if store is None:
            return
        if gone:
            store.delete(gone)
            with self.database.transaction():
                self.passages.unmark_stored(gone)
                self.catalogue.forget_gone("passage", gone)
        while rows := self.passages.unstored(STORE_BATCH):
            ids, paper_ids, hashes, vectors = zip(*rows, strict=True)
            store.upsert(ids, paper_ids, np.stack(vectors))
            with self.database.transaction():
                self.passages.mark_stored(zip(ids, hashes, strict=True))
            work.vectors += len(ids)
            progress("storing", work.vectors, 0)

    def remove(self, paper_ids: Sequence[str]) -> int:
        """Delete papers everywhere and return how many there were."""
        with self.writing():
            with self.database.transaction():
                for paper_id in paper_ids:
                    self.passages.forget(paper_id)
                count = self.catalogue.delete(paper_ids)
            self.sync()
        return count

    def rebuild(self, *, embed: bool = False, progress: Progress = no_progress) -> Work:
        """Make the lexical index and Chroma anew from the catalogue.

        Args:
            embed: Also make every vector anew, with the embedder of the settings.
            progress: Told of every step.

        Returns:
            What was done; nothing is embedded unless asked for or still pending.
        """
        with self.writing():
            if self.vectors() is None:
                raise RagError(
                    f"The vectors of the library '{self.manifest.name}' are in use by "
                    f"{self._chroma.holder()}. A rebuild replaces them. Stop that process first."
                )
            self._release_vectors()
            for name in ("chroma", "lexical"):
                shutil.rmtree(self.folder / name, ignore_errors=True)
            self.terms = TermStore(self.folder / "lexical")
            with self.database.transaction():
                self.catalogue.reset_marks()
            if embed:
                self._chunk_again()
            return self.sync(progress)

    def _chunk_again(self) -> None:
        """Drop all vectors and cut all abstracts for the embedder of the settings."""
        self._embedder = self._load_embedder()
        self.manifest = replace(
            self.manifest,
            embedder=self._embedder.fingerprint,
            max_tokens=self._embedder.max_tokens,
            chunking=manifests.CHUNKING,
        )
        with self.database.transaction():
            self.passages.drop_vectors()
            for paper in self.catalogue.browse():
                self.passages.put(paper.id, self._rows(paper))
        manifests.write(self.folder, self.manifest)

    # ---- searching -----------------------------------------------------------------------------

    def embed_query(self, query: str) -> Vectors:
        """Return the vector of a query; the last few are remembered."""
        with self._guard:
            if query not in self._queries:
                if len(self._queries) >= QUERIES_KEPT:
                    self._queries.pop(next(iter(self._queries)))
                self._queries[query] = self.embedder.embed_query(query)
            return self._queries[query]

    def nearest(
        self, vector: Vectors, limit: int, *, allowed: Sequence[str] | None = None
    ) -> list[tuple[str, str, float]]:
        """Return the passages nearest to a query vector.

        Chroma answers where this process may hold it; vectors that have not reached it, a subset
        of papers, and a library that another process holds are compared exactly.

        Args:
            vector: ``(dim,)`` float32 of length 1.
            limit: At most so many.
            allowed: Only passages of these papers; None means all.

        Returns:
            (passage id, paper id, cosine), best first; empty when nothing is embedded.
        """
        store = None if allowed is not None else self.vectors()
        if store is None:
            return _exact(self.passages.vectors(allowed), vector, limit)
        waiting = self.passages.unstored(STORE_BATCH)
        hits = store.search(vector, limit)
        owners = self.passages.stored_owners([passage_id for passage_id, _ in hits])
        found = [
            (passage_id, owners[passage_id], cosine)
            for passage_id, cosine in hits
            if passage_id in owners
        ]
        if waiting:
            ids, paper_ids, _, rows = zip(*waiting, strict=True)
            found += _exact((list(ids), list(paper_ids), np.stack(rows)), vector, limit)
            found.sort(key=lambda hit: -hit[2])
        return found[:limit]

    # ---- checking ------------------------------------------------------------------------------

    def check(self) -> list[str]:
        """Return plain sentences on what differs between catalogue, lexical index and Chroma."""
        counts = self.catalogue.counts()
        problems = [f"The catalogue is damaged: {line}." for line in self.database.integrity()]
        terms = self.terms.count()
        if terms != counts["searchable"]:
            problems.append(
                f"The lexical index holds {terms} papers, the catalogue marks "
                f"{counts['searchable']}. Rebuild it: citewell rebuild"
            )
        store = self.vectors()
        if store is None:
            problems.append(
                f"Chroma is held by {self._chroma.holder()} and was not checked. "
                "Check again when that process has ended."
            )
        elif store.count() != counts["stored"]:
            problems.append(
                f"Chroma holds {store.count()} vectors, the catalogue marks {counts['stored']}. "
                "Rebuild it, which embeds nothing: citewell rebuild"
            )
        return problems


def keys_of(paper: Paper) -> tuple[str, ...]:
    """Return what a paper is known by, strongest first; empty without title and abstract."""
    return keys(paper.title, paper.year, paper.abstract, paper.doi, paper.arxiv_id)


def _sentences_in(whole: str, text: str) -> list[Span]:
    """Return the sentences of a passage as offsets in its embedded text, which ends with it."""
    shift = len(whole) - len(text)
    return [Span(span.start + shift, span.end + shift) for span in sentence_spans(text)]


def _checked(embedded: Embedded) -> Embedded:
    """Refuse a vector of zeros or with NaN: it would poison every comparison."""
    if not np.isfinite(embedded.vector).all() or not embedded.vector.any():
        raise RagError("The embedder returned a vector of zeros or with NaN.")
    return embedded


def _exact(
    stored: tuple[list[str], list[str], Vectors], vector: Vectors, limit: int
) -> list[tuple[str, str, float]]:
    """Compare a query with every given vector."""
    ids, paper_ids, matrix = stored
    if not ids:
        return []
    cosines = matrix @ vector
    best = np.argsort(-cosines, kind="stable")[:limit]
    return [(ids[i], paper_ids[i], float(cosines[i])) for i in best]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _reason(exc: Exception) -> str:
    return str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
