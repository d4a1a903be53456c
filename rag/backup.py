"""A library as one file: catalogue, vectors, conversations, manifest. Indexes are remade."""

import os
import shutil
import sqlite3
import tempfile
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
from pydantic import TypeAdapter

from . import conversation_file
from . import manifest as manifests
from .database import FILE, LATER, SCHEMA, TRIGGERS, Database
from .errors import IndexMismatchError, RagError, SettingsError
from .folders import cannot_make, draft_in, put_in_place
from .schema import Paper

ROOM = 2**26  # bytes of the disk that stay free
MISTYPED = """
    SELECT 1 FROM passages s LEFT JOIN papers p ON p.id = s.paper_id
    WHERE p.id IS NULL OR typeof(s.start) != 'integer' OR typeof(s.end) != 'integer'
        OR typeof(s.position) != 'integer' OR s.start < 0 OR s.end < s.start
"""


def save(folder: Path, database: Database, file: Path) -> Path:
    """Write a library to one file.

    The copy is consistent even while another process writes.

    Args:
        folder: The library's folder.
        database: Its open database.
        file: Where to write; replaced only when the whole backup is made.

    Returns:
        The file.

    Raises:
        SettingsError: The file cannot be written.
    """
    try:
        with tempfile.TemporaryDirectory(dir=file.resolve().parent, prefix=".backup-") as scratch:
            draft = _pack(folder, database, Path(scratch))
            with draft.open("rb") as packed:
                os.fsync(packed.fileno())
            draft.replace(file)
    except (OSError, sqlite3.OperationalError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise SettingsError(
            f"The backup cannot be written to '{file}': {reason}. Name a file in a folder "
            "that exists and has room."
        ) from exc
    return file


def _pack(folder: Path, database: Database, scratch: Path) -> Path:
    draft = scratch / "backup"
    _copy(database.connection, scratch / FILE)
    members = [FILE]
    if (folder / conversation_file.FILE).exists():
        with conversation_file.opened(folder / conversation_file.FILE) as kept:
            _copy(kept, scratch / conversation_file.FILE)
        members.append(conversation_file.FILE)
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        archive.write(folder / manifests.NAME, manifests.NAME)
        for member in members:
            archive.write(scratch / member, member)
    return draft


def _copy(source: sqlite3.Connection, file: Path) -> None:
    """Copy a database as it is at one moment, whoever is writing to it."""
    with closing(sqlite3.connect(file)) as target:
        source.backup(target)


def load(file: Path, folder: Path, name: str) -> None:
    """Unpack a backup into a new library folder, which appears only when it is whole and checked.

    Only the known members are read, whatever else the file holds. Databases with anything but our
    own tables are refused, and so is a catalogue with a record or a vector that cannot be read.

    Args:
        file: A file made by ``save``.
        folder: The library's folder; must not exist.
        name: The display name it gets.

    Raises:
        SettingsError: The file is missing or is not a backup, or the library exists.
        IndexMismatchError: A newer version made it, or its catalogue is foreign or damaged.
    """
    if (folder / manifests.NAME).exists():
        raise _exists(name)
    try:
        with draft_in(folder.parent) as draft:
            _unpack(file, draft)
            _adopt(draft, name)
            if not put_in_place(draft, folder):
                raise _exists(name)
    except OSError as exc:
        raise cannot_make(name, folder, exc) from exc


def _exists(name: str) -> SettingsError:
    return SettingsError(
        f"A library '{name}' exists already. A restore does not overwrite. Choose another name "
        "with --library, or remove that one."
    )


def _adopt(folder: Path, name: str) -> None:
    """Check an unpacked library and note that it has no indexes yet."""
    manifest = manifests.read(folder)
    _check_tables(folder / FILE, SCHEMA + LATER + TRIGGERS, SCHEMA)
    if (folder / conversation_file.FILE).exists():
        _check_tables(folder / conversation_file.FILE, conversation_file.SCHEMA)
    database = Database(folder / FILE)
    try:
        _check_rows(database.connection, int(manifest.embedder.get("dim", 0)))
        with database.transaction():
            database.connection.execute("UPDATE papers SET terms = 0")
            database.connection.execute("UPDATE passages SET stored = 0")
            for table in ("gone", "reads", "read_papers"):
                database.connection.execute(f"DELETE FROM {table}")
            database.connection.execute("INSERT OR REPLACE INTO state VALUES ('vectors', 0)")
    finally:
        database.close()
    manifests.write(folder, manifests.renamed(manifest, name))


def _unpack(file: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            members = [manifests.NAME, FILE]
            if conversation_file.FILE in archive.namelist():
                members.append(conversation_file.FILE)
            sizes = {member: archive.getinfo(member).file_size for member in members}
            free = shutil.disk_usage(folder).free - ROOM
            if sum(sizes.values()) > free or sizes[manifests.NAME] > manifests.BIGGEST:
                raise SettingsError(
                    f"'{file}' unpacks to {sum(sizes.values()):,} bytes, for which there is no "
                    f"room ({max(free, 0):,} bytes free). Free some, or check the file."
                )
            for member in sizes:
                with archive.open(member) as source, (folder / member).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except (KeyError, ValueError, RuntimeError, EOFError, zipfile.BadZipFile, zlib.error) as exc:
        raise SettingsError(
            f"'{file}' is not a backup of a library. One is made by: citewell backup FILE"
        ) from exc
    except OSError as exc:
        raise SettingsError(
            f"The backup '{file}' cannot be read: {exc.strerror}. Check the name of the file."
        ) from exc


def _check_tables(path: Path, *schemas: str) -> None:
    """Refuse a database whose tables are not exactly those of a schema, of one at least."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        found = _parts(connection)
    except sqlite3.DatabaseError as exc:
        raise _damaged(str(exc)) from exc
    finally:
        connection.close()
    foreign = min((_differences(found, schema) for schema in schemas), key=len)
    if foreign:
        raise IndexMismatchError(
            f"The backup's '{path.name}' holds foreign parts ({', '.join(foreign[:3])}). It was "
            "not made by Citewell and is not opened. Make a new backup: citewell backup FILE"
        )


def _differences(found: set[tuple[str, str, str]], schema: str) -> list[str]:
    """Return the names of what a database has and a schema has not, or the reverse."""
    reference = sqlite3.connect(":memory:")
    try:
        reference.executescript(schema)
        return sorted(name for _, name, _ in found ^ _parts(reference))
    finally:
        reference.close()


def _parts(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    return set(connection.execute("SELECT type, name, coalesce(sql, '') FROM sqlite_master"))


def _check_rows(connection: sqlite3.Connection, dim: int) -> None:
    """Read every record and vector once, so that a damaged backup is refused as a whole."""
    papers = TypeAdapter(Paper)
    try:
        for (line,) in connection.execute("PRAGMA quick_check(1)"):
            if line != "ok":
                raise _damaged(line)
        for table in ("papers", "updates"):
            for (record,) in connection.execute(f"SELECT record FROM {table}"):
                papers.validate_json(record)
        for vector, sentences in connection.execute("SELECT vector, sentences FROM passages"):
            _check_vectors(vector, sentences, dim)
        if connection.execute(f"SELECT EXISTS ({MISTYPED})").fetchone()[0]:
            raise ValueError("a passage has no paper, or no offsets in it")
    except (sqlite3.DatabaseError, ValueError, TypeError) as exc:
        raise _damaged(f"{type(exc).__name__}: {exc}") from exc


def _check_vectors(vector: bytes | None, sentences: bytes | None, dim: int) -> None:
    if vector is None:
        return
    made = np.frombuffer(vector, np.float32)
    within = np.frombuffer(sentences or b"", np.float16)
    if made.size != dim or not np.isfinite(made).all() or not made.any() or within.size % dim:
        raise ValueError(f"a vector is not {dim} numbers")


def _damaged(reason: str) -> RagError:
    return IndexMismatchError(
        f"The backup's catalogue is damaged: {reason[:200]}. Nothing was restored. Use another one."
    )
