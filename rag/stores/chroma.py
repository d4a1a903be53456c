"""Vectors in an embedded Chroma collection: explicit cosine space, upsert, our own vectors only."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..embedders import Vectors
from ..errors import IndexMismatchError

COLLECTION = "passages"  # generated name; a library's display name never reaches Chroma
SEAL = "citewell-seal.json"  # lies in the folder while nothing is half written
GRAPH_FILES = (".bin", ".pickle")  # Chroma writes these in place; SQLite guards its own file
WRITTEN_BY_CHROMA = "chroma.sqlite3"


class VectorStore:
    """One library's vectors. Only one process may hold it open: see ``rag.locks``.

    Chroma writes its graph files in place, and reading half-written ones can end the whole process.
    So a seal with the sizes of these files is taken away before every write and put back after it;
    a folder without its seal is not opened.

    No embedding function is ever set or built from what is stored: a folder from somebody else
    cannot make us load a model or run code.

    Args:
        folder: Chroma's folder; created when missing.

    Raises:
        IndexMismatchError: The folder is damaged, or its collection is not in cosine space.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._client: Any = None
        self._check_seal()
        try:
            with self._told():
                self._open()
            self._check_space()
            self._seal()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.PersistentClient(
            path=str(self.folder), settings=Settings(anonymized_telemetry=False)
        )
        self._batch = int(self._client.get_max_batch_size())
        self._collection = self._client.get_or_create_collection(
            COLLECTION, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
        )

    def _check_seal(self) -> None:
        if not (self.folder / WRITTEN_BY_CHROMA).exists() and not self._graph():
            return
        try:
            sealed = json.loads((self.folder / SEAL).read_text("utf-8"))
        except (OSError, ValueError):
            sealed = None
        if sealed != self._graph():
            raise self._damaged("its files are not as they were left")

    def _check_space(self) -> None:
        configuration = self._collection.configuration_json
        space = (configuration.get("hnsw") or {}).get("space")
        if space != "cosine":
            raise IndexMismatchError(
                f"The vectors at '{self.folder}' are in the space '{space}'; Citewell compares by "
                "cosine. Rebuild them, which embeds nothing: citewell rebuild"
            )

    def _graph(self) -> dict[str, int]:
        """Return the sizes of the graph files by their names inside the folder."""
        return {
            str(path.relative_to(self.folder)): path.stat().st_size
            for path in sorted(self.folder.rglob("*"))
            if path.suffix in GRAPH_FILES
        }

    def _seal(self) -> None:
        with self._told():
            (self.folder / SEAL).write_text(json.dumps(self._graph()), "utf-8")

    def close(self) -> None:
        """Give the folder back, so that another process may open it."""
        if self._client is not None:
            self._client.close()

    def count(self) -> int:
        """Return how many vectors are stored.

        Raises:
            IndexMismatchError: The folder is damaged.
        """
        with self._told():
            return int(self._collection.count())

    def upsert(self, ids: Sequence[str], paper_ids: Sequence[str], vectors: Vectors) -> None:
        """Write vectors, replacing those with the same id, in batches that Chroma accepts.

        Raises:
            IndexMismatchError: The folder is damaged, or the disk is full.
        """
        with self._writing():
            for start in range(0, len(ids), self._batch):
                part = slice(start, start + self._batch)
                self._collection.upsert(
                    ids=list(ids[part]),
                    embeddings=np.asarray(vectors[part], dtype=np.float32),
                    metadatas=[{"paper_id": paper_id} for paper_id in paper_ids[part]],
                )

    def delete(self, ids: Sequence[str]) -> None:
        """Forget vectors; unknown ids are ignored.

        Raises:
            IndexMismatchError: The folder is damaged, or the disk is full.
        """
        with self._writing():
            for start in range(0, len(ids), self._batch):
                self._collection.delete(ids=list(ids[start : start + self._batch]))

    def get(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the stored vectors of those ids that are there.

        Raises:
            IndexMismatchError: The folder is damaged.
        """
        if not ids:
            return {}
        with self._told():
            found = self._collection.get(ids=list(ids), include=["embeddings"])
            return dict(zip(found["ids"], np.asarray(found["embeddings"], np.float32), strict=True))

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return the nearest passages.

        Args:
            vector: ``(dim,)`` float32 of length 1.
            limit: At most so many.

        Returns:
            (passage id, cosine -1..1), best first; empty when nothing is stored.

        Raises:
            IndexMismatchError: The folder is damaged.
        """
        most = min(limit, self.count())
        if most < 1:
            return []
        with self._told():
            found = self._collection.query(
                query_embeddings=[np.asarray(vector, dtype=np.float32)],
                n_results=most,
                include=["distances"],
            )
        distances = (found["distances"] or [[]])[0]
        return [
            (name, max(-1.0, min(1.0, 1.0 - float(distance))))
            for name, distance in zip(found["ids"][0], distances, strict=True)
        ]

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._told():
            (self.folder / SEAL).unlink(missing_ok=True)
            yield
        self._seal()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn whatever Chroma raises into one plain sentence."""
        try:
            yield
        except Exception as exc:  # Chroma's own errors, SQLite's and the disk's
            raise self._damaged(str(exc).splitlines()[0][:200] if str(exc) else "?") from exc

    def _damaged(self, reason: str) -> IndexMismatchError:
        return IndexMismatchError(
            f"The vectors at '{self.folder}' cannot be used: {reason}. The papers and their "
            "vectors are safe in the catalogue. Rebuild, which embeds nothing: citewell rebuild"
        )


def discard(folder: Path) -> None:
    """Delete Chroma's folder; nobody may hold it open.

    Raises:
        IndexMismatchError: It cannot be deleted.
    """
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except OSError as exc:
        raise IndexMismatchError(
            f"The folder '{folder}' cannot be deleted: {exc.strerror}. A rebuild makes it anew. "
            "Delete it by hand and run: citewell rebuild"
        ) from exc
