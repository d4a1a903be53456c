"""Papers, a watched embedder and small libraries for the tests of storage."""

import json
import random
import re
import sqlite3
from collections.abc import Callable

from pydantic import Field

from rag import manifest as manifests
from rag.database import FILE
from rag.embedders import wrap
from rag.folders import create
from rag.importing import add_records
from rag.index import Index
from rag.schema import Paper, Source
from rag.settings import Settings
from rag.testing import WordHashEmbedding

_WORDS = [f"{a}{b}{c}" for a in "bdfklm" for b in "aeiou" for c in ("ral", "sten", "vik", "tom")]


class WatchedEmbedding(WordHashEmbedding):
    """Keeps the texts it embedded, and fails on those that ``refuses`` names."""

    seen: list[str] = Field(default_factory=list)
    refuses: Callable[[str], bool] | None = None

    @property
    def profile(self):
        return {"dim": self.dim}

    def _get_text_embedding(self, text):
        if self.refuses and self.refuses(text):
            raise ConnectionError("the embedder is out of order")
        self.seen.append(text)
        return super()._get_text_embedding(text)


def sentence(rng, words=12):
    return " ".join(rng.choices(_WORDS, k=words)).capitalize() + "."


def paper(number, *, sentences=3, **fields):
    """Return one paper as a reader gives it: no id, and words that no other number has."""
    rng = random.Random(number)
    title = f"Paper number {number} on {rng.choice(_WORDS)} and {rng.choice(_WORDS)}"
    abstract = " ".join(sentence(rng) for _ in range(sentences)) + f" The mark is mark{number}."
    values = {
        "title": title,
        "abstract": abstract,
        "raw_abstract": abstract,
        "authors": ("A. Author", "B. Writer"),
        "year": 2000 + number % 20,
        "source": Source("papers.jsonl", number + 1),
    }
    return Paper(**{"id": "", **values, **fields})


def papers(count, **fields):
    return [paper(number, **fields) for number in range(count)]


def write_jsonl(path, records):
    """Write papers to a file that the JSONL reader gives back as they are."""
    names = ("title", "abstract", "authors", "year", "venue", "topic", "doi")
    lines = [json.dumps({n: getattr(record, n) for n in names}) for record in records]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def settings_for(tmp_path, **values):
    return Settings(home=tmp_path / "libraries", embedder="word-hash", **values)


def new_index(folder, model=None):
    """Make or open a library's index with an embedder that can be watched."""
    if not folder.exists():
        create(folder, manifests.Manifest("test", {"name": "word-hash"}))
    model = model or WatchedEmbedding()
    return Index(folder, lambda: wrap(model, "word-hash"))


def add(index, records):
    return add_records(index, "papers.jsonl", records, wait=True)


def counts_of(report):
    """Return (added, updated, unchanged, duplicate, failed) and check that they add up."""
    parts = (report.added, report.updated, report.unchanged, report.duplicate, report.failed)
    assert sum(parts) == report.read
    return parts


def dump(folder):
    """Return everything that the catalogue holds, as SQL."""
    connection = sqlite3.connect(folder / FILE)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def files_of(folder):
    """Return name → content of every file in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not re.search(r"\.lock$|\.pid$", path.name)
    }


def content_of(index):
    """Return what a library means: papers, passages with vectors, indexed ids, Chroma's vectors."""
    rows = index.database.connection.execute(
        "SELECT id, hash, start, end, vector, stored FROM passages ORDER BY id"
    ).fetchall()
    stored = index.vectors._open().get([row[0] for row in rows])
    return {
        "papers": sorted(index.catalogue.each(), key=lambda one: one.id),
        "passages": rows,
        "terms": index.terms.ids(),
        "chroma": {name: vector.tobytes() for name, vector in stored.items()},
    }


def nearest_papers(index, text, limit=10):
    """Return (paper id, cosine) of the passages nearest to a text."""
    return [(paper, cosine) for _, paper, cosine in index.nearest(index.embed_query(text), limit)]
