"""The plain LlamaIndex + Chroma starter that ``citewell bench speed`` compares Citewell with.

A program of its own: it builds a ``VectorStoreIndex`` on a persistent Chroma collection with the
default settings of both libraries, as their guides teach it, and asks it. The two adapters that
LlamaIndex keeps in packages of their own are written out here with their defaults, so that nothing
more has to be installed. Its last line of output is JSON, and any other starter may be measured in
its place that takes the same arguments and writes the same line.
"""

import argparse
import gzip
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")

import chromadb
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import BaseNode, MetadataMode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryResult,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from pydantic import PrivateAttr
from sentence_transformers import SentenceTransformer

NEAREST = 10
BATCH = 10  # texts in a pass: LlamaIndex's default


class SentenceEmbedding(BaseEmbedding):
    """A sentence-transformers model with the defaults that LlamaIndex's adapter has."""

    _model: Any = PrivateAttr()

    def __init__(self, folder: str) -> None:
        super().__init__(model_name=folder, embed_batch_size=BATCH)
        self._model = SentenceTransformer(folder, device="cpu")

    def _encode(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._model.encode(
            texts, batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False
        ).tolist()
        return rows

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._encode([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encode(texts)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._encode([query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class ChromaStore(BasePydanticVectorStore):
    """A Chroma collection as a vector store that keeps the nodes' texts too."""

    stores_text: bool = True
    flat_metadata: bool = True
    _collection: Any = PrivateAttr()

    def __init__(self, collection: Any) -> None:
        super().__init__(stores_text=True)
        self._collection = collection

    @property
    def client(self) -> Any:
        """Return the collection."""
        return self._collection

    def add(self, nodes: list[BaseNode], **kwargs: Any) -> list[str]:  # type: ignore[override]  # the base names a Sequence, its index gives lists
        """Store nodes with their vectors."""
        ids = [node.node_id for node in nodes]
        self._collection.add(
            ids=ids,
            embeddings=[node.get_embedding() for node in nodes],
            documents=[node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes],
            metadatas=[_flat(node) for node in nodes],
        )
        return ids

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        """Delete the nodes of a document."""
        self._collection.delete(where={"document_id": ref_doc_id})

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the nodes nearest to a vector."""
        found = self._collection.query(
            query_embeddings=query.query_embedding, n_results=query.similarity_top_k
        )
        nodes = []
        for text, metadata in zip(found["documents"][0], found["metadatas"][0], strict=True):
            node = metadata_dict_to_node(metadata)
            node.set_content(text)
            nodes.append(node)
        near = [math.exp(-distance) for distance in found["distances"][0]]
        return VectorStoreQueryResult(nodes=nodes, similarities=near, ids=found["ids"][0])


def _flat(node: BaseNode) -> dict[str, Any]:
    metadata = node_to_metadata_dict(node, remove_text=True, flat_metadata=True)
    return {key: "" if value is None else value for key, value in metadata.items()}


def records(path: str, limit: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of a JSON-lines file, packed or not."""
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if limit is not None and number >= limit:
                return
            if line.strip():
                yield json.loads(line)


def build(args: argparse.Namespace, folder: str) -> tuple[VectorStoreIndex, dict[str, float]]:
    """Add the corpus and return the index with what it took."""
    embedding = SentenceEmbedding(args.model)
    documents = [
        Document(text=f"{r.get('title') or ''}\n{r['text']}".strip(), metadata={"_id": r["_id"]})
        for r in records(args.corpus, args.limit)
    ]
    client = chromadb.PersistentClient(path=folder)
    store = ChromaStore(client.get_or_create_collection("papers"))
    context = StorageContext.from_defaults(vector_store=store)
    began = time.perf_counter()
    index = VectorStoreIndex.from_documents(
        documents, storage_context=context, embed_model=embedding
    )
    seconds = time.perf_counter() - began
    size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file()) / 1e6
    report = {
        "records": len(documents),
        "add_s": seconds,
        "records_per_s": len(documents) / seconds,
        "mb": size,
    }
    return index, report


def ask(index: VectorStoreIndex, queries: str) -> dict[str, float]:
    """Ask every query of a file and return how long the median and the 95th percentile took."""
    retriever = index.as_retriever(similarity_top_k=NEAREST)
    times = []
    for query in records(queries):
        began = time.perf_counter()
        retriever.retrieve(query["text"])
        times.append(1000 * (time.perf_counter() - began))
    high = statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
    return {"query_ms_p50": statistics.median(times), "query_ms_p95": high}


def main() -> None:
    """Add a corpus, ask it, and write one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="Folder of a sentence-transformers model.")
    parser.add_argument("corpus", help="Records with _id, title and text, one JSON object a line.")
    parser.add_argument("--limit", type=int, help="Only the first records.")
    parser.add_argument("--queries", help="Queries with _id and text, one JSON object a line.")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index, report = build(args, folder)
        if args.queries:
            report |= ask(index, args.queries)
    sys.stdout.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
