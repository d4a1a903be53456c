"""The SQLite file of a library: one connection a thread, whole transactions, WAL for readers."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import IndexMismatchError, LibraryBusyError, RagError

FILE = "catalogue.sqlite"
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
LATER = """
CREATE TABLE IF NOT EXISTS reads (  -- files that were added to their end
    digest TEXT PRIMARY KEY,
    found TEXT NOT NULL            -- what they held, as JSON
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS read_papers (
    digest TEXT NOT NULL,
    paper_id TEXT NOT NULL,
    PRIMARY KEY (digest, paper_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS read_papers_paper ON read_papers(paper_id);
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT OR IGNORE INTO state VALUES ('vectors', 0);  -- counts changes of vectors
"""
_FORGET = """BEGIN
    DELETE FROM reads WHERE digest IN (SELECT digest FROM read_papers WHERE paper_id = {0});
    DELETE FROM read_papers
        WHERE digest IN (SELECT digest FROM read_papers WHERE paper_id = {0});
END;"""
_COUNT = "BEGIN UPDATE state SET value = value + 1 WHERE name = 'vectors'; END;"
TRIGGERS = f"""
CREATE TRIGGER IF NOT EXISTS paper_changed AFTER UPDATE OF record ON papers
    {_FORGET.format("old.id")}
CREATE TRIGGER IF NOT EXISTS paper_removed AFTER DELETE ON papers
    {_FORGET.format("old.id")}
CREATE TRIGGER IF NOT EXISTS paper_updated AFTER INSERT ON updates
    {_FORGET.format("new.paper_id")}
CREATE TRIGGER IF NOT EXISTS vector_made AFTER UPDATE OF vector ON passages {_COUNT}
CREATE TRIGGER IF NOT EXISTS vector_added AFTER INSERT ON passages
    WHEN new.vector IS NOT NULL {_COUNT}
CREATE TRIGGER IF NOT EXISTS vector_removed AFTER DELETE ON passages
    WHEN old.vector IS NOT NULL {_COUNT}
"""
MANY = 500  # ids in one SQL statement
WAIT_S = 30  # for another process's transaction to end


class Database:
    """Connections to a library's SQLite file.

    Each thread gets its own, so readers never wait for a writer (WAL). The connections of threads
    that have ended are closed when a new one is made.

    Args:
        path: The database file; created when missing.

    Raises:
        IndexMismatchError: The file is damaged, or a newer version wrote it.
        RagError: The file cannot be opened: its folder cannot be written, or the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._open: list[tuple[threading.Thread, sqlite3.Connection]] = []
        self._guard = threading.Lock()
        self._closed = False
        try:
            with self._told():
                self._prepare()
        except BaseException:
            self.close()
            raise

    def _prepare(self) -> None:
        version = self.connection.execute("PRAGMA user_version").fetchone()[0]
        if version > FORMAT:
            raise IndexMismatchError(
                f"The library at '{self.path.parent}' has format {version}; this version of "
                f"Citewell reads up to {FORMAT}. Install a newer Citewell."
            )
        if version == 0:
            self.connection.executescript(
                f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;"
            )
        if not self.connection.execute(
            "SELECT 1 FROM sqlite_master WHERE name = 'vector_removed'"
        ).fetchone():  # a new library, or one from before these were added
            self.connection.executescript(f"BEGIN IMMEDIATE; {LATER} {TRIGGERS} COMMIT;")

    @property
    def connection(self) -> sqlite3.Connection:
        """Return this thread's connection.

        Raises:
            RagError: The library was closed.
        """
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
        return connection

    def _connect(self) -> sqlite3.Connection:
        with self._guard:
            if self._closed:
                raise RagError(
                    f"The library at '{self.path.parent}' is closed. Nothing can be read from it "
                    "any more. Open it again: open_library(name)"
                )
            self._close_those_of_dead_threads()
            connection = sqlite3.connect(
                self.path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
            )
            self._open.append((threading.current_thread(), connection))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA trusted_schema = OFF")
        return connection

    def _close_those_of_dead_threads(self) -> None:
        for thread, connection in self._open:
            if not thread.is_alive():
                connection.close()
        self._open = [pair for pair in self._open if pair[0].is_alive()]

    @property
    def closed(self) -> bool:
        """Say whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Close every thread's connection for good."""
        with self._guard:
            self._closed = True
            for _, connection in self._open:
                connection.close()
            self._open.clear()
        self._local = threading.local()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make everything inside happen whole or not at all.

        Raises:
            RagError: The disk is full, cannot be written, or another process keeps the file locked.
        """
        connection = self.connection
        with self._told():
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself may have rolled back
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite says of the file and the disk into plain sentences."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise  # ours to mend, not the user's
        except sqlite3.DatabaseError as exc:
            explained = _explained(exc, self.path)
            if explained is None:
                raise
            raise explained from exc

    def integrity(self) -> list[str]:
        """Return what SQLite finds wrong with the file; empty when it is sound."""
        try:
            rows = self.connection.execute("PRAGMA integrity_check(5)").fetchall()
        except sqlite3.DatabaseError as exc:
            return [str(exc)]
        return [row[0] for row in rows if row[0] != "ok"]

    def for_ids(self, sql: str, ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Run a query with ``IN ({})`` over any number of ids."""
        for start in range(0, len(ids), MANY):
            part = list(ids[start : start + MANY])
            yield from self.connection.execute(sql.format(",".join("?" * len(part))), part)


def _explained(exc: sqlite3.DatabaseError, path: Path) -> RagError | None:
    """Return the sentence for an error of SQLite, or None where it is a bug of ours."""
    code = getattr(exc, "sqlite_errorcode", None)
    primary = None if code is None else code & 0xFF
    folder = path.parent
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LibraryBusyError(
            f"The catalogue '{path}' stayed locked for {WAIT_S} s. Another program holds it open. "
            "Wait for it to finish, or stop it, and try again."
        )
    if primary in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return RagError(
            f"The library at '{folder}' cannot be written: {exc}. Its folder has to be writable, "
            "also for reading. Change its permissions, or copy it and set CITEWELL_HOME."
        )
    if primary in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return RagError(
            f"The library at '{folder}' could not be written: {exc}. What was stored before is "
            "safe. Free some room on the disk and run the command again."
        )
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return IndexMismatchError(
            f"The catalogue '{path}' cannot be read: {exc}. It is damaged or not a library. "
            "Restore it from a backup: citewell restore FILE"
        )
    return None
