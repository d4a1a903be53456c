"""Evaluation for a page: start a run, see how far it is, stop it, get its figures.

Found by name, since ``ui`` and ``eval`` import neither the other: the entry point ``default`` of
the group ``citewell.evaluation`` is ``start``.
"""

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from rag.errors import RagError
from rag.library import Library

from . import session
from .cases import Case, load_cases
from .outcome import Outcome
from .report import Run, explain
from .report.markdown import verdict_counts
from .run import run_cases
from .samples import sample_questions

log = logging.getLogger(__name__)

Phase = Literal["loading", "asking", "finished", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    Attributes:
        phase: ``loading`` until the first question is asked; the last three are final.
        done: Questions that have an answer.
        total: All questions.
        passed: Answers with everything that their labels ask for.
        failed: Questions that ended in an error.
        seconds: Since the start, or how long it took.
        error: Why the run failed, as sentences to show; None where it did not.
    """

    phase: Phase
    done: int
    total: int
    passed: int
    failed: int
    seconds: float
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will happen."""
        return self.phase in {"finished", "cancelled", "failed"}


@dataclass(frozen=True, slots=True)
class Result:
    """What a run gave, in plain values.

    Attributes:
        folder: The run's folder; it can be compared with another and resumed.
        report: The page to open or to hand out.
        outcomes: How many cases ended in each way.
        measures: Name, value, n, total, low, high, kind, over all cases and by kind.
        cases: Id, kind, question, outcome and, in ``why``, what is wrong; in order.
    """

    folder: Path
    report: Path
    outcomes: Mapping[str, int]
    measures: Sequence[Mapping[str, Any]]
    cases: Sequence[Mapping[str, Any]]


class Evaluation:
    """One run in a thread of its own, which starts at once. Make one with ``start``."""

    def __init__(
        self, library: Library, cases: Sequence[Case], name: str, folder: Path, workers: int
    ) -> None:
        self._library, self._cases, self._name = library, cases, name
        self._folder, self._workers = folder, workers
        self._cancelled = threading.Event()
        self._guard = threading.Lock()
        self._began = time.monotonic()
        self._state = Progress("loading", 0, len(cases), 0, 0, 0.0)
        self._run: Run | None = None
        self._thread = threading.Thread(target=self._work, name="citewell-eval", daemon=True)
        self._thread.start()

    def progress(self) -> Progress:
        """Return how far the run is; cheap, from any thread."""
        with self._guard:
            return self._state if self._state.is_over else self._timed(self._state)

    def cancel(self) -> None:
        """Ask no further question; those being asked are finished, and the rest is kept."""
        self._cancelled.set()

    def wait(self, timeout_s: float | None = None) -> Progress:
        """Wait for the end, at most so long, and return how far the run is."""
        self._thread.join(timeout_s)
        return self.progress()

    def result(self) -> Result | None:
        """Return the figures; None while the run goes on, or where it failed as a whole."""
        with self._guard:
            run = self._run if self._state.is_over else None
        return None if run is None else _result(run, self._folder)

    def _work(self) -> None:
        try:
            job = session.prepare(
                self._library, self._cases, name=self._name, workers=self._workers
            )
            self._run, _ = run_cases(
                job,
                self._folder,
                resume=True,
                progress=self._told,
                cancelled=self._cancelled,
            )
        except Exception as exc:  # the page must show it, whatever it is
            if not isinstance(exc, RagError):
                log.exception("The evaluation failed")
            self._set(phase="failed", error=_shown(exc))
        else:
            self._set(phase="cancelled" if self._run.pending else "finished")

    def _told(self, done: int, total: int, fresh: Sequence[Outcome]) -> None:
        passed = sum(outcome.verdict == "passed" for outcome in fresh)
        failed = sum(outcome.failed for outcome in fresh)
        now = self._state
        self._set("asking", done=done, passed=now.passed + passed, failed=now.failed + failed)

    def _set(self, phase: Phase, **changed: Any) -> None:
        with self._guard:
            self._state = self._timed(replace(self._state, phase=phase, **changed))

    def _timed(self, state: Progress) -> Progress:
        return replace(state, seconds=round(time.monotonic() - self._began, 1))


def start(
    library: Library,
    questions: str | Path | None = None,
    *,
    folder: str | Path,
    workers: int = 1,
) -> Evaluation:
    """Start a run in the background.

    Args:
        library: The library to ask, with the settings to measure; open until the run is over.
        questions: A file of questions; None takes our own on the sample library.
        folder: Where the run is kept. A run of the same questions and settings that was stopped
            there is gone on with.
        workers: Questions asked at once.

    Returns:
        The run; ask it for ``progress()``, stop it with ``cancel()``, read its ``result()``.

    Raises:
        RecordError: The file cannot be read, or has bad lines; nothing was started.
    """
    path = Path(questions) if questions is not None else sample_questions()
    return Evaluation(library, load_cases(path), path.name, Path(folder), workers)


def _result(run: Run, folder: Path) -> Result:
    return Result(
        folder,
        folder / "report.html",
        verdict_counts(run),
        [measure.to_json() for measure in run.measures if measure.value is not None],
        [
            {
                "id": outcome.case_id,
                "kind": outcome.kind,
                "question": outcome.question,
                "outcome": outcome.verdict,
                "why": explain(case, outcome),
            }
            for case, outcome in run.pairs
        ],
    )


def _shown(exc: Exception) -> str:
    if isinstance(exc, RagError):
        return str(exc)
    return f"The evaluation stopped: {type(exc).__name__}. The log holds the details."
