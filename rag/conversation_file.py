"""The SQLite file of a library's conversations: its tables, one transaction a call, its errors.

It is apart from the catalogue, so that asking never depends on it, nor it on the writer lock.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from .errors import IndexMismatchError, LibraryBusyError, RagError

FILE = "conversations.sqlite"
FORMAT = 1
SCHEMA = """
CREATE TABLE IF NOT EXISTS conversations (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,           -- as the user named it; empty: the opening stands for it
    opening TEXT NOT NULL,         -- the first question, shortened
    folded TEXT NOT NULL,          -- the title, for searching
    created TEXT NOT NULL,
    changed TEXT NOT NULL,
    activity INTEGER NOT NULL      -- grows with every turn of any conversation
);
CREATE INDEX IF NOT EXISTS conversations_activity ON conversations(activity);
CREATE TABLE IF NOT EXISTS turns (
    conversation INTEGER NOT NULL,
    number INTEGER NOT NULL,       -- from 1
    folded TEXT NOT NULL,          -- question and answer, for searching
    at TEXT NOT NULL,
    question TEXT NOT NULL,
    answer TEXT NOT NULL,
    cited TEXT NOT NULL,           -- ids of the cited papers, as JSON
    whole INTEGER NOT NULL,        -- 0: the answer was cut off
    record TEXT NOT NULL,          -- the answer as JSON, and which papers it shows
    up INTEGER,                    -- 1, 0, or NULL where it was not rated
    note TEXT NOT NULL DEFAULT '',
    rated TEXT,
    PRIMARY KEY (conversation, number)
);
CREATE INDEX IF NOT EXISTS turns_rated ON turns(rated) WHERE up IS NOT NULL;
CREATE TABLE IF NOT EXISTS papers (
    hash TEXT PRIMARY KEY,
    record TEXT NOT NULL           -- a paper as it was when it was shown
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shown (
    conversation INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (conversation, hash)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS shown_hash ON shown(hash);
"""
WAIT_S = 10  # for another connection's transaction to end
_UNWRITABLE = (
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
)

_DAMAGE = (ValueError, KeyError, TypeError, RecursionError)  # what reading a damaged row raises


@contextmanager
def opened(path: Path, *, write: bool = False) -> Iterator[sqlite3.Connection]:
    """Yield a connection in a transaction that is kept only if the block ends well.

    Args:
        path: The file. Writing makes it; for reading, one that is missing holds nothing.
        write: Take the file for writing, waiting ``WAIT_S`` seconds for others to finish.

    Raises:
        LibraryBusyError: Another connection keeps the file locked.
        IndexMismatchError: The file is damaged, or a newer version wrote it.
        RagError: The file cannot be opened or written.
    """
    try:
        file = path if write or path.exists() else ":memory:"
        with closing(sqlite3.connect(file, timeout=WAIT_S, isolation_level=None)) as db:
            _prepare(db, path)
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield db
            db.execute("COMMIT")
    except (sqlite3.DatabaseError, OSError) as exc:
        raise _explained(exc, path) from exc
    except _DAMAGE as exc:
        if write:
            raise
        raise _damaged(exc, path) from exc


def _prepare(db: sqlite3.Connection, path: Path) -> None:
    try:
        db.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as exc:
        if exc.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # another connection is setting it
            raise
    db.execute("PRAGMA trusted_schema = OFF")
    db.execute("PRAGMA secure_delete = ON")  # what the user deletes does not stay in the file
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version > FORMAT:
        raise IndexMismatchError(
            f"The conversations in '{path}' have format {version}; this version of Citewell reads "
            f"up to {FORMAT}. Asking still works. Install a newer Citewell."
        )
    if version < FORMAT:
        db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} PRAGMA user_version = {FORMAT}; COMMIT;")


def _explained(exc: sqlite3.DatabaseError | OSError, path: Path) -> RagError:
    """Return the sentence for what SQLite or the disk says."""
    primary = getattr(exc, "sqlite_errorcode", sqlite3.SQLITE_IOERR) & 0xFF
    if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return LibraryBusyError(
            f"The conversations in '{path}' stayed locked for {WAIT_S} s. Another program holds "
            "them open. Asking still works. Wait for it to finish and try again."
        )
    if primary in _UNWRITABLE:
        return RagError(
            f"The conversations in '{path}' cannot be opened or kept: {exc}. The library's folder "
            "has to be writable and its disk to have room. Asking still works. Change its "
            "permissions or free some room."
        )
    return _damaged(exc, path)


def _damaged(exc: Exception, path: Path) -> RagError:
    reason = (str(exc).splitlines() or [type(exc).__name__])[0][:200]
    return IndexMismatchError(
        f"The conversations in '{path}' cannot be read: {reason}. The file is damaged or "
        "holds something else. Asking still works. Move the file away to begin a new one."
    )
