"""Files that a visitor dropped → papers in a library, in a thread, with progress and cancel."""

import logging
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from rag.errors import RagError, RecordError
from rag.library import Library
from rag.schema import ImportReport

from .papers import ImportState

log = logging.getLogger(__name__)

MOST_FILES = 50
OLD_S = 600.0
_UNSAFE = re.compile(r"[^\w.-]+")
BROKEN = "Something went wrong inside Citewell; its log holds the details."


class _Cancelled(RagError):
    """Raised out of a library's progress when the visitor cancels."""


def take_uploads(paths: Sequence[object], uploads: Path) -> list[Path]:
    """Move uploaded files into a new folder with a name of ours.

    Args:
        paths: What the page sent; it may be anything.
        uploads: The folder that holds uploads; a path outside is refused.

    Returns:
        The files. Their last part is the name they had, without anything that means something to a
        file system; the folder's name is random.

    Raises:
        RecordError: A path is not that of an uploaded file, or there are too many.
    """
    if len(paths) > MOST_FILES:
        raise RecordError(
            f"{len(paths)} files were dropped; at most {MOST_FILES} are taken at once. "
            "Drop fewer, or join them."
        )
    found = [_uploaded(path, uploads) for path in paths]
    _sweep(uploads)
    taken = []
    for path in found:
        folder = uploads / f"import-{secrets.token_hex(8)}"
        folder.mkdir()
        taken.append(Path(shutil.move(path, folder / safe_name(path.name))))
    return taken


def _sweep(uploads: Path) -> None:
    """Delete the empty files that Gradio leaves for every upload, once nobody can need them."""
    before = time.time() - OLD_S
    for path in uploads.glob("tmp*"):
        with suppress(OSError):
            about = path.stat()
            if about.st_size == 0 and about.st_mtime < before and path.is_file():
                path.unlink()


def safe_name(name: str) -> str:
    """Return a file name that is a name everywhere: no separators, no leading dot, not too long."""
    stem, dot, suffix = name.rpartition(".")
    plain = _UNSAFE.sub("_", stem if dot else suffix).strip("._") or "papers"
    ending = _UNSAFE.sub("", suffix)[:10] if dot else ""
    return f"{plain[:80]}.{ending}" if ending else plain[:80]


def _uploaded(path: object, uploads: Path) -> Path:
    if isinstance(path, str):
        real = Path(path).resolve()
        if real.is_relative_to(uploads.resolve()) and real.is_file():
            return real
    raise RecordError("This is not a file that was uploaded here. Drop the file onto the page.")


class ImportJob:
    """An import in a thread of its own, which starts at once.

    It ends when the papers can be asked; their vectors are made by others.

    Args:
        library: Where the papers go.
        files: Files of ``take_uploads``; they are deleted at the end.
        then: Called at the end, also after a cancel, to have the vectors made; returns whether
            that goes on in the background.
    """

    def __init__(
        self,
        library: Library,
        files: Sequence[Path],
        then: Callable[[], bool] = lambda: False,
    ) -> None:
        self._library, self._files, self._then = library, list(files), then
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._state = ImportState(names=tuple(path.name for path in files))
        self._thread = threading.Thread(target=self._work, name="citewell-import", daemon=True)
        self._thread.start()

    def __deepcopy__(self, memo: object) -> "ImportJob":
        return self

    @property
    def state(self) -> ImportState:
        """Return how far it is."""
        with self._guard:
            return self._state

    @property
    def import_ids(self) -> tuple[int, ...]:
        """Return the numbers of the imports that stored something, for ``undo``."""
        found = (report.import_id for _, report in self.state.begun)
        return tuple(number for number in found if number is not None)

    def cancel(self) -> None:
        """Stop after the batch at work; what is stored stays."""
        self._cancelled.set()

    def wait(self, timeout_s: float) -> None:
        """Wait for the end, at most so many seconds."""
        self._thread.join(timeout_s)

    def undo(self) -> int:
        """Delete the papers that this import added, and return how many there were.

        Raises:
            LibraryBusyError: Another process is writing to the library.
        """
        return sum(self._library.undo_import(number) for number in self.import_ids)

    def _set(self, **changed: object) -> None:
        with self._guard:
            self._state = replace(self._state, **changed)  # type: ignore[arg-type]  # our own fields

    def _told(self, stage: str, done: int, total: int) -> None:
        self._set(stage=stage, done=done, total=total)
        if self._cancelled.is_set():
            raise _Cancelled("The import was cancelled.")

    def _seen(self, name: str, report: ImportReport) -> None:
        self._set(running=(name, report))

    def _work(self) -> None:
        try:
            self._add_all()
        except _Cancelled:
            log.info("An import was cancelled")
        except RagError as exc:
            self._set(error=str(exc))
        except Exception:
            log.exception("An import failed")
            self._set(error=BROKEN)
        finally:
            for path in self._files:
                shutil.rmtree(path.parent, ignore_errors=True)
            background = self._goes_on()
            cancelled = self._cancelled.is_set()
            self._set(is_over=True, cancelled=cancelled, in_background=background)

    def _goes_on(self) -> bool:
        try:
            return self._then()
        except Exception:  # the papers are there: only their vectors come later
            log.exception("The vectors of an import are not made in the background")
            return False

    def _add_all(self) -> None:
        for path in self._files:
            if self._cancelled.is_set():
                return
            before = self.state.reports
            report = self._library.add(
                path, progress=self._told, watch=partial(self._seen, path.name)
            )
            self._set(reports=(*before, (path.name, report)), running=None, stage="")
