"""The passages of a library and the vectors made for them, with what Chroma still lacks."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from .catalogue import load_paper
from .database import Database
from .embedders import Embedded, Vectors
from .schema import Paper, Passage, Span

BLOCK = 20_000  # vectors held in memory at once
UNCUT = ""  # hash of a passage that is a whole abstract, to be cut before it is embedded


@dataclass(frozen=True, slots=True)
class Block:
    """Some passages with their vectors, one after another in ``flat``."""

    ids: Sequence[str]
    paper_ids: Sequence[str]
    flat: Vectors

    def matrix(self, dim: int) -> Vectors:
        """Return ``(len(ids), dim)`` float32.

        Raises:
            ValueError: The vectors have another length.
        """
        return self.flat.reshape(len(self.ids), dim)


@dataclass(frozen=True, slots=True)
class PassageRow:
    """One passage as stored: what to embed is identified by ``hash``, ``UNCUT`` until it is cut."""

    passage: Passage
    hash: str


@dataclass(frozen=True, slots=True)
class Lacking:
    """A paper with those of its passages that have no vector, in order of position."""

    paper: Paper
    rows: tuple[PassageRow, ...]

    @property
    def uncut(self) -> bool:
        """Say whether its abstract is still to be cut into passages."""
        return any(row.hash == UNCUT for row in self.rows)


class PassageTable:
    """Passages, vectors and sentence vectors.

    Args:
        database: The library's SQLite file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def db(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        return self._database.connection

    def put(self, paper_id: str, rows: Sequence[PassageRow]) -> None:
        """Replace a paper's passages; what is embedded as before keeps its vector."""
        old = {
            row[0]: row[1:]
            for row in self.db.execute(
                "SELECT id, hash, vector, sentences FROM passages WHERE paper_id = ?", (paper_id,)
            )
        }
        same = {
            row.passage.id
            for row in rows
            if old.get(row.passage.id, (None,))[0] in (row.hash, UNCUT)
        }
        self._drop([passage_id for passage_id in old if passage_id not in same])
        self.db.executemany(
            "UPDATE passages SET position = ?, start = ?, end = ?, hash = ? WHERE id = ?",
            [
                (p.position, p.span.start, p.span.end, digest, p.id)
                for p, digest in ((row.passage, row.hash) for row in rows)
                if p.id in same
            ],
        )
        kept = {digest: made for digest, *made in old.values() if made[0] is not None}
        self._insert([row for row in rows if row.passage.id not in same], kept)

    def put_uncut(self, passages: Sequence[Passage]) -> None:
        """Insert the whole abstracts of new papers, to be cut before they are embedded."""
        self._insert([PassageRow(passage, UNCUT) for passage in passages], {})

    def _insert(self, rows: Sequence[PassageRow], kept: Mapping[str, Sequence[object]]) -> None:
        self.db.executemany(
            "INSERT INTO passages (id, paper_id, position, start, end, hash, vector, sentences)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (p.id, p.paper_id, p.position, p.span.start, p.span.end, digest, *made)
                for p, digest, made in (
                    (row.passage, row.hash, kept.get(row.hash, (None, None))) for row in rows
                )
            ],
        )

    def _drop(self, ids: Sequence[str]) -> None:
        """Delete passages and note that Chroma has to forget those that had a vector."""
        self.db.executemany(
            "INSERT OR IGNORE INTO gone SELECT 'passage', id FROM passages"
            " WHERE id = ? AND vector IS NOT NULL",
            [(i,) for i in ids],
        )
        self.db.executemany("DELETE FROM passages WHERE id = ?", [(i,) for i in ids])

    def forget(self, paper_id: str) -> None:
        """Delete a paper's passages and note that Chroma has to forget them."""
        rows = self.db.execute("SELECT id FROM passages WHERE paper_id = ?", (paper_id,))
        self._drop([row[0] for row in rows.fetchall()])

    def of(self, paper_ids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return paper id → its passages, in order of position."""
        rows = self._database.for_ids(
            "SELECT s.id, s.paper_id, s.position, s.start, s.end, p.record FROM passages s"
            " JOIN papers p ON p.id = s.paper_id WHERE s.paper_id IN ({}) ORDER BY s.position",
            paper_ids,
        )
        found: dict[str, list[Passage]] = {}
        abstracts: dict[str, str] = {}
        for row in rows:
            if row[1] not in abstracts:
                abstracts[row[1]] = json.loads(row[5])["abstract"]
            found.setdefault(row[1], []).append(_cut_from(abstracts[row[1]], row))
        return found

    # ---- vectors -------------------------------------------------------------------------------

    def any_vectors(self) -> bool:
        """Say whether anything is embedded."""
        return bool(
            self.db.execute(
                "SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NOT NULL)"
            ).fetchone()[0]
        )

    def uncut(self, limit: int) -> list[Paper]:
        """Return papers whose abstracts are still to be cut into passages, oldest first."""
        rows = self.db.execute(
            "SELECT p.record FROM passages s JOIN papers p ON p.id = s.paper_id"
            " WHERE s.vector IS NULL AND s.hash = ? ORDER BY s.seq LIMIT ?",
            (UNCUT, limit),
        )
        return [load_paper(row[0]) for row in rows]

    def any_lacking(self) -> bool:
        """Say whether any passage has no vector."""
        return bool(
            self.db.execute(
                "SELECT EXISTS (SELECT 1 FROM passages WHERE vector IS NULL)"
            ).fetchone()[0]
        )

    def lacking(self, paper_ids: Sequence[str]) -> dict[str, Lacking]:
        """Return paper id → what of it has no vector; papers that lack nothing are left out."""
        rows = self._database.for_ids(
            "SELECT s.id, s.paper_id, s.position, s.start, s.end, p.record, s.hash FROM passages s"
            " JOIN papers p ON p.id = s.paper_id WHERE s.vector IS NULL AND s.paper_id IN ({})"
            " ORDER BY s.position",
            paper_ids,
        )
        found: dict[str, list[tuple[str, PassageRow]]] = {}
        for row in rows:
            found.setdefault(row[1], []).append((row[5], PassageRow(_passage(row), row[6])))
        return {
            paper_id: Lacking(load_paper(parts[0][0]), tuple(row for _, row in parts))
            for paper_id, parts in found.items()
        }

    def newest_lacking(self, limit: int) -> list[str]:
        """Return the ids of papers that have a passage without a vector, the newest first."""
        rows = self.db.execute(
            "SELECT paper_id, max(seq) AS last FROM (SELECT paper_id, seq FROM passages"
            " WHERE vector IS NULL ORDER BY seq DESC LIMIT ?) GROUP BY paper_id ORDER BY last DESC",
            (limit,),
        )
        return [row[0] for row in rows]

    def count_unembedded(self) -> int:
        """Return how many passages have no vector."""
        return int(
            self.db.execute("SELECT count(*) FROM passages WHERE vector IS NULL").fetchone()[0]
        )

    def unembedded(self, limit: int, *, after: int = 0) -> list[tuple[int, Passage, Paper]]:
        """Return passages without a vector, oldest first.

        Args:
            limit: At most so many.
            after: Only those whose sequence number is greater.

        Returns:
            (sequence number, passage, its paper).
        """
        rows = self.db.execute(
            "SELECT s.id, s.paper_id, s.position, s.start, s.end, p.record, s.seq FROM passages s"
            " JOIN papers p ON p.id = s.paper_id WHERE s.vector IS NULL AND s.seq > ?"
            " ORDER BY s.seq LIMIT ?",
            (after, limit),
        )
        return [(row[6], _passage(row), load_paper(row[5])) for row in rows]

    def hashes(self, paper_id: str) -> set[str]:
        """Return the hashes of a paper's embedded passages."""
        rows = self.db.execute(
            "SELECT hash FROM passages WHERE paper_id = ? AND vector IS NOT NULL", (paper_id,)
        )
        return {row[0] for row in rows}

    def put_vectors(self, vectors: Iterable[tuple[str, Embedded]]) -> None:
        """Store vectors of passages; they still have to reach Chroma."""
        self.db.executemany(
            "UPDATE passages SET vector = ?, sentences = ?, stored = 0 WHERE id = ?",
            [(*_blobs(embedded), passage_id) for passage_id, embedded in vectors],
        )

    def fill_vectors(self, vectors: Iterable[tuple[PassageRow, Embedded]]) -> None:
        """Store vectors of passages that lack one and still are as they were when embedded."""
        self.db.executemany(
            "UPDATE passages SET vector = ?, sentences = ?, stored = 0"
            " WHERE id = ? AND hash = ? AND vector IS NULL",
            [(*_blobs(embedded), row.passage.id, row.hash) for row, embedded in vectors],
        )

    def count_vectors(self) -> int:
        """Return how many passages have a vector."""
        return int(
            self.db.execute(
                "SELECT (SELECT count(*) FROM passages)"
                " - (SELECT count(*) FROM passages WHERE vector IS NULL)"
            ).fetchone()[0]
        )

    def vectors_version(self) -> int:
        """Return a number that grows with every change of a vector, in whichever process."""
        return int(self.db.execute("SELECT value FROM state WHERE name = 'vectors'").fetchone()[0])

    def count_unstored(self) -> int:
        """Return how many vectors are not in Chroma yet."""
        sql = "SELECT count(*) FROM passages WHERE stored = 0 AND vector IS NOT NULL"
        return int(self.db.execute(sql).fetchone()[0])

    def drop_vectors(self) -> None:
        """Forget every vector, so that all is embedded again."""
        self.db.execute("UPDATE passages SET vector = NULL, sentences = NULL, stored = 0")

    def blocks(
        self, paper_ids: Sequence[str] | None = None, *, unstored: bool = False
    ) -> Iterator[Block]:
        """Yield the vectors of all papers or of some, a bounded number at a time.

        Args:
            paper_ids: Only these papers; None means all.
            unstored: Only vectors that are not in Chroma yet.
        """
        sql = "SELECT id, paper_id, vector FROM passages WHERE vector IS NOT NULL"
        sql += " AND stored = 0" if unstored else ""
        if paper_ids is None:
            rows: Iterator[tuple[Any, ...]] = self.db.execute(sql)
        else:
            rows = self._database.for_ids(sql + " AND paper_id IN ({})", paper_ids)
        while part := list(islice(rows, BLOCK)):
            ids, papers, vectors = zip(*part, strict=True)
            yield Block(ids, papers, np.frombuffer(b"".join(vectors), np.float32))

    def paper_sums(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return paper id → the sum of its passages' vectors, for those that have any."""
        sums: dict[str, Vectors] = {}
        for block in self.blocks(paper_ids):
            rows = block.flat.reshape(len(block.ids), -1)
            for name, row in zip(block.paper_ids, rows, strict=True):
                sums[name] = sums[name] + row if name in sums else row
        return sums

    def sentence_vectors(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return passage id → ``(n_sentences, dim)`` float32, where sentence vectors are kept."""
        rows = self._database.for_ids(
            "SELECT id, sentences, length(vector) / 4 FROM passages"
            " WHERE sentences IS NOT NULL AND paper_id IN ({})",
            paper_ids,
        )
        return {
            row[0]: np.frombuffer(row[1], np.float16).reshape(-1, row[2]).astype(np.float32)
            for row in rows
        }

    # ---- what Chroma holds -----------------------------------------------------------------------

    def unstored(self, limit: int) -> list[tuple[str, str, str, Vectors]]:
        """Return (passage id, paper id, hash, vector) of vectors that are not in Chroma yet."""
        rows = self.db.execute(
            "SELECT id, paper_id, hash, vector FROM passages"
            " WHERE stored = 0 AND vector IS NOT NULL ORDER BY seq LIMIT ?",
            (limit,),
        )
        return [(row[0], row[1], row[2], np.frombuffer(row[3], np.float32)) for row in rows]

    def stored(self, limit: int, *, after: int = 0) -> tuple[int, dict[str, Vectors]]:
        """Return vectors that Chroma should hold, oldest first, and the last sequence number."""
        rows = self.db.execute(
            "SELECT seq, id, vector FROM passages WHERE stored = 1 AND seq > ? ORDER BY seq"
            " LIMIT ?",
            (after, limit),
        ).fetchall()
        found = {row[1]: np.frombuffer(row[2], np.float32) for row in rows}
        return (rows[-1][0] if rows else after), found

    def count_stored(self) -> int:
        """Return how many vectors Chroma should hold."""
        return int(
            self.db.execute(
                "SELECT (SELECT count(*) FROM passages)"
                " - (SELECT count(*) FROM passages WHERE stored = 0)"
            ).fetchone()[0]
        )

    def unmark_all(self) -> None:
        """Note that Chroma holds nothing, so that it is filled again from here."""
        self.db.execute("UPDATE passages SET stored = 0 WHERE stored = 1")
        self.db.execute("DELETE FROM gone WHERE kind = 'passage'")

    def mark_stored(self, passages: Iterable[tuple[str, str]]) -> None:
        """Note that Chroma holds the vectors of these (passage id, hash) pairs."""
        self.db.executemany(
            "UPDATE passages SET stored = 1 WHERE id = ? AND hash = ? AND vector IS NOT NULL",
            list(passages),
        )

    def unmark_stored(self, ids: Sequence[str]) -> None:
        """Note that Chroma no longer holds these passages."""
        self.db.executemany("UPDATE passages SET stored = 0 WHERE id = ?", [(i,) for i in ids])

    def stored_owners(self, ids: Sequence[str]) -> dict[str, str]:
        """Return passage id → paper id for those whose present vector Chroma holds."""
        rows = self._database.for_ids(
            "SELECT id, paper_id FROM passages WHERE stored = 1 AND id IN ({})", ids
        )
        return {row[0]: row[1] for row in rows}


def _blobs(embedded: Embedded) -> tuple[bytes, bytes | None]:
    vector = np.ascontiguousarray(embedded.vector, np.float32).tobytes()
    if embedded.sentences is None:
        return vector, None
    return vector, np.ascontiguousarray(embedded.sentences, np.float16).tobytes()


def _passage(row: tuple[Any, ...]) -> Passage:
    return _cut_from(json.loads(row[5])["abstract"], row)


def _cut_from(abstract: str, row: tuple[Any, ...]) -> Passage:
    span = Span(row[3], row[4])
    return Passage(row[0], row[1], row[2], span, abstract[span.start : span.end])
