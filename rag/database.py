"""The SQLite file of a library: one connection a thread, whole transactions, WAL for readers."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import IndexMismatchError

FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS papers (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    record TEXT NOT NULL,          -- the whole Paper as JSON
    authors TEXT NOT NULL,         -- folded, for filters and browsing
    topic TEXT NOT NULL,
    venue TEXT NOT NULL,
    title TEXT NOT NULL,
    year INTEGER,
    source TEXT NOT NULL,
    import_id INTEGER,
    terms INTEGER NOT NULL DEFAULT 0  -- 1: its words are in the lexical index
);
CREATE INDEX IF NOT EXISTS papers_without_terms ON papers(seq) WHERE terms = 0;
CREATE INDEX IF NOT EXISTS papers_import ON papers(import_id);
CREATE TABLE IF NOT EXISTS identities (
    key TEXT NOT NULL,
    paper_id TEXT NOT NULL,
    PRIMARY KEY (key, paper_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS identities_paper ON identities(paper_id);
CREATE TABLE IF NOT EXISTS passages (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    paper_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    hash TEXT NOT NULL,            -- of the text that is embedded
    vector BLOB,                   -- float32; NULL until embedded
    sentences BLOB,                -- float16, one row a sentence
    stored INTEGER NOT NULL DEFAULT 0  -- 1: this vector is in Chroma
);
CREATE INDEX IF NOT EXISTS passages_paper ON passages(paper_id);
CREATE INDEX IF NOT EXISTS passages_unembedded ON passages(seq) WHERE vector IS NULL;
CREATE INDEX IF NOT EXISTS passages_unstored ON passages(seq) WHERE stored = 0;
CREATE TABLE IF NOT EXISTS updates (paper_id TEXT PRIMARY KEY, record TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS gone (
    kind TEXT NOT NULL,            -- 'paper' (lexical index) or 'passage' (Chroma)
    id TEXT NOT NULL,
    PRIMARY KEY (kind, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS imports (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT NOT NULL,
    at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
);
"""
MANY = 500  # ids in one SQL statement


class Database:
    """Connections to a library's SQLite file.

    Each thread gets its own, so readers never wait for a writer (WAL).

    Args:
        path: The database file; created when missing.

    Raises:
        IndexMismatchError: The file is damaged, or a newer version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._guard = threading.Lock()
        try:
            self._prepare()
        except sqlite3.DatabaseError as exc:
            raise IndexMismatchError(
                f"The catalogue '{path}' cannot be read: {exc}. It is damaged or not a library. "
                "Restore it from a backup: citewell restore FILE"
            ) from exc

    def _prepare(self) -> None:
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise IndexMismatchError(
                f"The library at '{self.path.parent}' has format {version}; this version of "
                f"Citewell reads up to {FORMAT}. Install a newer Citewell."
            )
        if version == 0:
            self.connection.executescript(SCHEMA)
            self.connection.execute(f"PRAGMA user_version = {FORMAT}")

    @property
    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(
                self.path, timeout=30, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._local.connection = connection
            with self._guard:
                self._open.append(connection)
        return connection

    def close(self) -> None:
        """Close every thread's connection."""
        with self._guard:
            for connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything inside happen whole or not at all."""
        self.connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.connection.execute("ROLLBACK")
            raise
        self.connection.execute("COMMIT")

    def integrity(self) -> list[str]:
        """Return what SQLite finds wrong with the file; empty when it is sound."""
        rows = self.connection.execute("PRAGMA integrity_check(5)").fetchall()
        return [row[0] for row in rows if row[0] != "ok"]

    def for_ids(self, sql: str, ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Run a query with ``IN ({})`` over any number of ids."""
        for start in range(0, len(ids), MANY):
            part = list(ids[start : start + MANY])
            yield from self.connection.execute(sql.format(",".join("?" * len(part))), part)
