"""The folders of libraries: safe names, made whole, deleted whole, listed."""

import hashlib
import re
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import manifest as manifests
from .database import FILE, Database
from .errors import IndexMismatchError, LibraryBusyError, RagError, SettingsError
from .locks import HolderLock, WriterLock
from .text import fold

LONGEST_NAME = 200
PASSING = frozenset({"writer.lock", "writer.pid", "chroma.lock", "chroma.pid", "asking"})
_PLAIN = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_SUMMED = re.compile(r".*-[0-9a-f]{8}")  # ends as the folder of an unusual name does


def display_name(name: str) -> str:
    """Return a library's name as it is shown: composed Unicode, no blanks around it.

    Raises:
        SettingsError: The name is empty, too long or holds control characters.
    """
    shown = unicodedata.normalize("NFC", name.strip()) if name.isprintable() else ""
    if not shown or len(shown) > LONGEST_NAME:
        raise SettingsError(
            f"The library name {name[:40]!r} cannot be used. A name has 1 to {LONGEST_NAME} "
            "printable characters. Choose another with --library."
        )
    return shown


def folder_for(home: Path, name: str) -> Path:
    """Return the folder of a library.

    A plain name such as ``neurips-2025`` is its own folder; any other is shortened and gets a
    checksum, so that two names never share a folder and no name leads out of ``home``.

    Raises:
        SettingsError: The name is empty, too long or holds control characters.
    """
    shown = display_name(name)
    if _PLAIN.fullmatch(shown) and not _SUMMED.fullmatch(shown):
        return home / shown
    slug = re.sub(r"[^a-z0-9]+", "-", fold(shown)).strip("-")[:32] or "library"
    return home / f"{slug}-{hashlib.sha256(shown.encode()).hexdigest()[:8]}"


@contextmanager
def draft_in(home: Path) -> Iterator[Path]:
    """Yield a new folder beside the libraries; what is left of it at the end is deleted."""
    home.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home, prefix=".draft-") as scratch:
        draft = Path(scratch) / "library"
        draft.mkdir()
        yield draft


def put_in_place(draft: Path, folder: Path) -> bool:
    """Move a finished library to its place in one step; False where there is one already."""
    try:
        _move(draft, folder)
    except OSError:
        if not (folder / manifests.NAME).exists():
            raise
        return False
    return True


def _move(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError:
        if not _clear(folder):
            raise
        draft.rename(folder)


def _clear(folder: Path) -> bool:
    """Delete a folder that holds locks and marks alone, and say whether it did.

    A lock makes its folder: who still has a library open that was moved away may leave one behind,
    and then learns that the library is gone.
    """
    try:
        left = list(folder.iterdir())
        if not all(one.name in PASSING for one in left):
            return False
        for one in left:
            one.unlink(missing_ok=True)
        folder.rmdir()
    except OSError:
        return False
    return True


def create(folder: Path, manifest: manifests.Manifest) -> None:
    """Make an empty library; whoever comes second finds the first one's.

    Raises:
        SettingsError: The folder cannot be made.
    """
    try:
        with draft_in(folder.parent) as draft:
            Database(draft / FILE).close()
            manifests.write(draft, manifest)
            put_in_place(draft, folder)
    except OSError as exc:
        raise cannot_make(manifest.name, folder, exc) from exc


def cannot_make(name: str, folder: Path, exc: OSError) -> SettingsError:
    """Return the error for a library whose folder cannot be made."""
    return SettingsError(
        f"The library '{name}' cannot be made in '{folder}': {exc.strerror}. Choose another "
        "place with CITEWELL_HOME, or free this one."
    )


def destroy(folder: Path, name: str) -> None:
    """Delete a library that nobody uses, so that a kill leaves all of it or no library.

    Raises:
        LibraryBusyError: A process is writing to it, or holds its Chroma folder.
        RagError: It cannot be deleted.
    """
    chroma = HolderLock(folder / "chroma.lock")
    with WriterLock(folder / "writer.lock", name).writing():
        if not chroma.take():
            raise LibraryBusyError(
                f"The library '{name}' is in use by {chroma.holder()}. It cannot be deleted "
                "meanwhile. Stop that process and try again."
            )
        try:
            with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".gone-") as scratch:
                folder.rename(Path(scratch) / "library")
        except OSError as exc:
            raise RagError(
                f"The library '{name}' cannot be deleted from '{folder}': {exc.strerror}. Change "
                "the folder's permissions, or delete it by hand."
            ) from exc
        finally:
            chroma.free()


def libraries(home: Path) -> list[tuple[str, Path]]:
    """Return (display name, folder) of every library, by name; a damaged one by its folder's name.

    Raises:
        SettingsError: The folder of the libraries cannot be read.
    """
    if not home.is_dir():
        return []
    try:
        found = [folder for folder in home.iterdir() if (folder / manifests.NAME).is_file()]
    except OSError as exc:
        raise SettingsError(
            f"The folder of the libraries '{home}' cannot be read: {exc.strerror}. Change its "
            "permissions, or name another with CITEWELL_HOME."
        ) from exc
    return sorted((_name_of(folder), folder) for folder in found)


def _name_of(folder: Path) -> str:
    try:
        return manifests.read(folder).name
    except IndexMismatchError:  # damaged or newer: it is there all the same
        return folder.name
