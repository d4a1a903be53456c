"""Vectors in an embedded Chroma collection: explicit cosine space, upsert, our own vectors only."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..embedders import Vectors
from ..errors import IndexMismatchError

COLLECTION = "passages"  # generated name; a library's display name never reaches Chroma


class VectorStore:
    """One library's vectors. Only one process may hold it open: see ``rag.locks``.

    No embedding function is ever set or built from what is stored: a folder from somebody else
    cannot make us load a model or run code.

    Args:
        folder: Chroma's folder; created when missing.

    Raises:
        IndexMismatchError: The folder is damaged, or its collection is not in cosine space.
    """

    def __init__(self, folder: Path) -> None:
        import chromadb
        from chromadb.config import Settings

        self.folder = folder
        self._client: Any = chromadb.PersistentClient(
            path=str(folder), settings=Settings(anonymized_telemetry=False)
        )
        self._batch = int(self._client.get_max_batch_size())
        try:
            self._collection = self._client.get_or_create_collection(
                COLLECTION, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        except Exception as exc:
            self.close()
            raise _damaged(folder, exc) from exc
        self._check_space()

    def _check_space(self) -> None:
        configuration = self._collection.configuration_json
        space = (configuration.get("hnsw") or {}).get("space")
        if space != "cosine":
            self.close()
            raise IndexMismatchError(
                f"The vectors at '{self.folder}' are in the space '{space}'; Citewell compares by "
                "cosine. Rebuild them, which embeds nothing: citewell rebuild"
            )

    def close(self) -> None:
        """Give the folder back, so that another process may open it."""
        self._client.close()

    def count(self) -> int:
        """Return how many vectors are stored."""
        return int(self._collection.count())

    def upsert(self, ids: Sequence[str], paper_ids: Sequence[str], vectors: Vectors) -> None:
        """Write vectors, replacing those with the same id, in batches that Chroma accepts."""
        for start in range(0, len(ids), self._batch):
            part = slice(start, start + self._batch)
            self._collection.upsert(
                ids=list(ids[part]),
                embeddings=np.asarray(vectors[part], dtype=np.float32),
                metadatas=[{"paper_id": paper_id} for paper_id in paper_ids[part]],
            )

    def delete(self, ids: Sequence[str]) -> None:
        """Forget vectors; unknown ids are ignored."""
        for start in range(0, len(ids), self._batch):
            self._collection.delete(ids=list(ids[start : start + self._batch]))

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return the nearest passages.

        Args:
            vector: ``(dim,)`` float32 of length 1.
            limit: At most so many.

        Returns:
            (passage id, cosine -1..1), best first; empty when nothing is stored.
        """
        most = min(limit, self.count())
        if most == 0:
            return []
        found = self._collection.query(
            query_embeddings=np.asarray([vector], dtype=np.float32),
            n_results=most,
            include=["distances"],
        )
        distances = (found["distances"] or [[]])[0]
        return [
            (name, 1.0 - float(distance))
            for name, distance in zip(found["ids"][0], distances, strict=True)
        ]


def _damaged(folder: Path, exc: Exception) -> IndexMismatchError:
    return IndexMismatchError(
        f"The vectors at '{folder}' cannot be opened: {str(exc).splitlines()[0][:200]}. The papers "
        "and their vectors are safe in the catalogue. Rebuild: citewell rebuild"
    )
