"""How a running server is found and known: private files beside the libraries, and proofs.

A file names port and secret of one server. Both sides prove that they know the secret; it never
travels, so that a stranger who took the port of a server that died learns nothing.
"""

import hmac
import json
import logging
import os
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from . import __version__
from .errors import RagError

log = logging.getLogger(__name__)

FOLDER = ".serving"  # begins with a dot, as no library's folder does
LARGEST = 4096  # bytes of a file
HOST = "127.0.0.1"
NONCE, PROOF = "Citewell-Nonce", "Citewell-Proof"


@dataclass(frozen=True, slots=True)
class Announcement:
    """One running server: where it listens, its secret, and which program it is.

    ``folder`` is the one it was started in: names of files that are given relative to it mean the
    same to a caller in that folder only.
    """

    port: int
    token: str
    pid: int
    folder: str
    version: str = __version__
    program: str = str(Path(__file__).parent)

    @property
    def is_ours(self) -> bool:
        """Say whether it is the very program that asks, in the same version."""
        return (self.version, self.program) == (__version__, str(Path(__file__).parent))


def new_announcement(port: int) -> Announcement:
    """Return what this process's server says of itself, with a new secret."""
    return Announcement(port, secrets.token_urlsafe(32), os.getpid(), here())


def here() -> str:
    """Return the current folder; empty where it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def announce(home: Path, announcement: Announcement) -> None:
    """Write the file of a server unless it is there.

    Raises:
        RagError: The folder cannot be made, or others can read it.
    """
    path = file_of(home, announcement)
    if path.exists():
        return
    make_private(path.parent)
    draft = path.with_suffix(f".{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(announcement), file)
        draft.replace(path)
    except OSError as exc:
        raise _unwritable(path.parent, exc) from exc


def make_private(folder: Path) -> None:
    """Make the folder of the announcements, for this user alone.

    Raises:
        RagError: It cannot be made, or is not private.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as exc:
        raise _unwritable(folder, exc) from exc
    if not stat.S_ISDIR(found.st_mode) or not _is_private(found):
        raise RagError(
            f"The folder '{folder}' cannot hold what a server has to keep private: other users may "
            "read or write it. Delete it, or give it to yourself with mode 700."
        )


def _unwritable(folder: Path, exc: OSError) -> RagError:
    return RagError(
        f"The folder '{folder}', in which a server says where it is, cannot be written: "
        f"{exc.strerror or exc}. Change its permissions, or copy the libraries to a folder of "
        "yours and set CITEWELL_HOME; all commands work without a server too."
    )


def file_of(home: Path, announcement: Announcement) -> Path:
    """Return the file of a server."""
    return home / FOLDER / f"{announcement.pid}.json"


def withdraw(home: Path, announcement: Announcement) -> None:
    """Delete the file of a server that ends, or that no longer answers."""
    with suppress(OSError):
        file_of(home, announcement).unlink()


def announced(home: Path) -> list[Announcement]:
    """Return the servers of this user that may be running, newest first.

    Files of other users, files that others can read and files that hold something else are passed
    over. The file of a process that is gone is deleted.
    """
    try:
        with os.scandir(home / FOLDER) as entries:
            paths = [Path(entry.path) for entry in entries if entry.name.endswith(".json")]
    except OSError:
        return []
    found = [(when, one) for path in paths for when, one in _read(path)]
    for _, one in found:
        if not _is_alive(one.pid):
            withdraw(home, one)
    living = [pair for pair in found if _is_alive(pair[1].pid)]
    return [one for _, one in sorted(living, key=lambda pair: pair[0], reverse=True)]


def _read(path: Path) -> list[tuple[float, Announcement]]:
    """Return when a file was written and what it says; nothing where it is not to be trusted."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode) or not _is_private(found):
                return []
            one = Announcement(**json.loads(file.read(LARGEST)))
    except (OSError, ValueError, TypeError, RecursionError):
        log.debug("The file '%s' names no server", path)
        return []
    return [(found.st_mtime, one)] if _is_whole(one, path) else []


def _is_whole(one: Announcement, path: Path) -> bool:
    """Say whether every value is of its kind."""
    numbers = (one.port, one.pid)
    texts = (one.token, one.folder, one.version, one.program)
    return (
        all(type(number) is int for number in numbers)
        and all(isinstance(text, str) for text in texts)
        and 0 < one.port < 65536
        and path.stem == str(one.pid)
        and len(one.token) >= 32
    )


def _is_private(found: os.stat_result) -> bool:
    """Say whether only this user can use a file; on Windows the user's own folder sees to it."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _is_alive(pid: int) -> bool:
    """Say whether a process may be running; on Windows only connecting tells."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def new_nonce() -> str:
    """Return a text that was never used before."""
    return secrets.token_urlsafe(16)


def proof(token: str, side: str, nonce: str, path: str) -> str:
    """Return what only somebody who knows the secret can say.

    Args:
        token: The secret.
        side: ``"caller"`` or ``"server"``.
        nonce: The caller's new text.
        path: What is asked for.
    """
    said = f"{side}\n{nonce}\n{path}".encode("utf-8", "replace")
    return hmac.digest(token.encode(), said, "sha256").hex()


def is_proof(given: str, token: str, side: str, nonce: str, path: str) -> bool:
    """Compare a proof in a time that tells nothing about it."""
    expected = proof(token, side, nonce, path)
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())
