"""A library as one file: the catalogue with its vectors, and the manifest. Indexes are remade."""

import os
import shutil
import sqlite3
import tempfile
import zipfile
from pathlib import Path

from . import manifest as manifests
from .database import Database
from .errors import IndexMismatchError, SettingsError

DATABASE = "catalogue.sqlite"
TABLES = {"papers", "identities", "passages", "updates", "gone", "imports", "sqlite_sequence"}
BIGGEST = 200 * 2**30  # bytes of an unpacked catalogue


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
        with tempfile.TemporaryDirectory(dir=file.resolve().parent) as scratch:
            copy = Path(scratch) / DATABASE
            target = sqlite3.connect(copy)
            try:
                database.connection.backup(target)
            finally:
                target.close()
            draft = Path(scratch) / "backup"
            with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
                archive.write(folder / manifests.NAME, manifests.NAME)
                archive.write(copy, DATABASE)
            os.replace(draft, file)
    except OSError as exc:
        raise SettingsError(
            f"The backup cannot be written to '{file}': {exc.strerror}. Name a file in a folder "
            "that exists and has room."
        ) from exc
    return file


def load(file: Path, folder: Path, name: str) -> None:
    """Unpack a backup into a new library folder.

    Only the two known members are read, whatever else the file holds, and a catalogue with
    anything but our own tables is refused.

    Args:
        file: A file made by ``save``.
        folder: The library's folder; must not hold a library.
        name: The display name it gets.

    Raises:
        SettingsError: The file is missing or is not a backup, or the library exists.
        IndexMismatchError: A newer version made it, or its catalogue holds foreign parts.
    """
    if (folder / manifests.NAME).exists():
        raise SettingsError(
            f"A library '{name}' exists already. A restore does not overwrite. Choose another "
            "name with --library, or remove that one."
        )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        _unpack(file, folder)
        manifest = manifests.read(folder)
        _check_tables(folder / DATABASE)
        database = Database(folder / DATABASE)
        with database.transaction():
            database.connection.execute("UPDATE papers SET terms = 0")
            database.connection.execute("UPDATE passages SET stored = 0")
        database.close()
        manifests.write(folder, manifests.renamed(manifest, name))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _unpack(file: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            for member in (manifests.NAME, DATABASE):
                if archive.getinfo(member).file_size > BIGGEST:
                    raise SettingsError(f"'{file}' is too big to be a backup. Check the file.")
                with archive.open(member) as source, (folder / member).open("wb") as target:
                    shutil.copyfileobj(source, target)
    except (KeyError, zipfile.BadZipFile) as exc:
        raise SettingsError(
            f"'{file}' is not a backup of a library. One is made by: citewell backup FILE"
        ) from exc
    except OSError as exc:
        raise SettingsError(
            f"The backup '{file}' cannot be read: {exc.strerror}. Check the name of the file."
        ) from exc


def _check_tables(path: Path) -> None:
    """Refuse a catalogue that brings triggers, views or tables of its own."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        rows = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    except sqlite3.DatabaseError as exc:
        raise SettingsError(f"The backup's catalogue is damaged: {exc}. Use another one.") from exc
    finally:
        connection.close()
    foreign = [
        name
        for kind, name, sql in rows
        if kind in ("trigger", "view")
        or (kind == "table" and name not in TABLES)
        or "VIRTUAL" in (sql or "").upper()
    ]
    if foreign:
        raise IndexMismatchError(
            f"The backup's catalogue holds foreign parts ({', '.join(foreign[:3])}). It was not "
            "made by Citewell and is not opened. Make a new backup: citewell backup FILE"
        )
