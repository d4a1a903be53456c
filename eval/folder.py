"""The folder of a run while it is written: rows on the disk at once, one writer, resumable."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from filelock import FileLock, Timeout

from rag.errors import RagError, RecordError

from . import manifest as manifests
from .cases import Case, dump_cases
from .outcome import Outcome, dump_outcome, dump_outcomes, read_outcomes
from .report import ANSWERS, CASES, MANIFEST, replace_file

_LOCK = ".lock"


class RunFolder:
    """Holds a run's folder. Use it in a ``with`` block; only one process can.

    Args:
        folder: The folder; made where there is none.
        cases: The cases of the run.
        manifest: How the run is made.
        resume: Take the rows over that are there.

    Raises:
        RecordError: The folder holds a run and ``resume`` is False, or the run was made otherwise.
        RagError: The folder cannot be written, or another process writes to it.
    """

    def __init__(
        self, folder: Path, cases: Sequence[Case], manifest: Mapping[str, Any], *, resume: bool
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self.finished: dict[str, Outcome] = {}
        self._file: IO[str] | None = None
        self._lock = FileLock(folder / _LOCK)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as exc:
            raise RecordError(
                f"Another run is writing to {str(folder)!r}. Two runs cannot share a folder. "
                "Wait for it, or name another folder with --out."
            ) from exc
        except OSError as exc:
            raise _unwritable(folder, exc) from exc
        try:
            self._begin(cases, resume=resume)
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *exc: object) -> None:
        self._release()

    def append(self, outcome: Outcome) -> None:
        """Put a row on the disk; when this returns, a kill does not lose it.

        Raises:
            RagError: It cannot be written, for example because the disk is full.
        """
        if self._file is None:
            raise RuntimeError("the run's folder is closed")
        try:
            self._file.write(dump_outcome(outcome))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as exc:
            raise _unwritable(self.folder, exc) from exc
        self.finished[outcome.case_id] = outcome

    def _begin(self, cases: Sequence[Case], *, resume: bool) -> None:
        there = [name for name in (ANSWERS, MANIFEST) if (self.folder / name).exists()]
        if there and not resume:
            raise RecordError(
                f"{str(self.folder)!r} holds a run already ({there[0]}). A run is never "
                "overwritten. Go on with it by --resume, or name another folder with --out."
            )
        if MANIFEST in there:
            self._take_over(cases)
        elif there:
            raise RecordError(
                f"{str(self.folder)!r} has no {MANIFEST!r}, so it cannot be told how its run was "
                "made. Name another folder with --out."
            )
        try:
            if not there:
                replace_file(self.folder / CASES, dump_cases(cases))
                replace_file(self.folder / MANIFEST, _dumped(self.manifest))
            replace_file(self.folder / ANSWERS, dump_outcomes(self.finished.values()))
            self._file = (self.folder / ANSWERS).open(
                "a", encoding="utf-8", errors="replace", newline="\n"
            )
        except OSError as exc:
            raise _unwritable(self.folder, exc) from exc

    def _take_over(self, cases: Sequence[Case]) -> None:
        """Keep the rows of a run that was made the same way; those that failed are asked again."""
        before = manifests.read(self.folder / MANIFEST)
        differs = manifests.differences(before, self.manifest)
        if differs:
            raise RecordError(
                f"The run in {str(self.folder)!r} was started otherwise: {'; '.join(differs)}. "
                "Figures of two set-ups cannot be mixed. Start it as before, or name another "
                "folder with --out."
            )
        self.manifest = before
        if (self.folder / ANSWERS).exists():
            known = {case.id for case in cases}
            rows = read_outcomes(self.folder / ANSWERS)
            self.finished = {row.case_id: row for row in rows if row.case_id in known and row.whole}

    def _release(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._lock.release()


def _dumped(manifest: Mapping[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def _unwritable(folder: Path, exc: OSError) -> RagError:
    return RagError(
        f"{str(folder)!r} cannot be written: {exc.strerror}. A run keeps its rows there. Name a "
        "folder that you may write to, on a disk with room, with --out."
    )
