"""Files that were added to their end: adding one again unchanged needs neither reading nor merging.

An entry stands as long as none of its file's papers is changed or removed: triggers of the
catalogue drop it then, whoever does so, and the file is read again.
"""

import hashlib
import json
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import __version__
from .database import Database
from .schema import BadRecord, Note

MOST_PAPERS = 500_000  # of a file that is remembered
CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Held:
    """What a file held: a paper's id for each record that was stored, and the rest."""

    ids: Sequence[str] = ()
    failed: int = 0
    bad: Sequence[BadRecord] = ()
    notes: Sequence[Note] = ()


class Ledger:
    """The files that a library knows whole.

    Args:
        database: The library's SQLite file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, digest: str) -> Held | None:
        """Return what a file held, or None where it has to be read."""
        row = self._database.connection.execute(
            "SELECT found FROM reads WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            return None
        found = json.loads(row[0])
        return Held(
            found["ids"],
            found["failed"],
            [BadRecord(*one) for one in found["bad"]],
            [Note(*one) for one in found["notes"]],
        )

    def note(self, digest: str, held: Held) -> None:
        """Remember a file that was added to its end."""
        if len(held.ids) > MOST_PAPERS:
            return
        found = {
            "ids": list(held.ids),
            "failed": held.failed,
            "bad": [(one.file, one.line, one.reason) for one in held.bad],
            "notes": [(one.file, one.text, one.line) for one in held.notes],
        }
        with self._database.transaction():
            connection = self._database.connection
            connection.execute(
                "INSERT OR REPLACE INTO reads VALUES (?, ?)", (digest, json.dumps(found))
            )
            connection.executemany(
                "INSERT OR IGNORE INTO read_papers VALUES (?, ?)",
                [(digest, paper_id) for paper_id in held.ids],
            )


def state_of(path: Path) -> tuple[int, ...] | None:
    """Return what shows that a file was changed; None for what is no regular file."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def digest_of(path: Path, *options: str | None) -> str | None:
    """Return a digest of a file's name and content and of how it is read; None if it cannot be."""
    digest = hashlib.blake2b(digest_size=20)
    digest.update(json.dumps([path.name, __version__, *options]).encode())
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK):
                digest.update(chunk)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()
