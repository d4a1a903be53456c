"""Run cases: ask, measure, keep each row as it finishes, go on where a run stopped."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rag.errors import RagError

from .cases import Case
from .folder import RunFolder
from .labels import PaperIndex
from .outcome import Outcome
from .report import Gate, GateResult, Run, build_run, check_gates, write_report
from .score import score

log = logging.getLogger(__name__)

Asker = Callable[[Case], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Marks:
    """Scores beyond those of labels, with the reason for each one that is missing.

    Attributes:
        scores: Measure name to value, None where there is no score.
        notes: Measure name to why it has no score.
        broken: Whether a part failed that may work the next time; the run counts as failed, and
            the case is asked again when it is resumed.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)
    broken: bool = False


Scorer = Callable[[Case, Mapping[str, Any]], Marks]


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that is settled before the first question is asked.

    Attributes:
        cases: The questions, in order.
        ask: Answers one case with the object of ``citewell ask --json``. Called from several
            threads where there are several workers.
        papers: Finds the papers that labels name.
        manifest: How the run is made; see ``manifest.build``.
        scorers: Further measures of an answer, such as a judge's.
        workers: Questions asked at once, 1 or more. No measure but the time depends on it.
        seed: Seed of the bootstrap.
        judge_calls: How often a language model is asked to judge, at most.
    """

    cases: Sequence[Case]
    ask: Asker
    papers: PaperIndex
    manifest: Mapping[str, Any]
    scorers: Sequence[Scorer] = ()
    workers: int = 1
    seed: int = 0
    judge_calls: int = 0


Progress = Callable[[int, int, Sequence[Outcome]], None]


def no_progress(done: int, total: int, fresh: Sequence[Outcome]) -> None:
    """Tell nobody."""


def run_cases(
    job: Job,
    folder: Path,
    *,
    gates: Sequence[Gate] = (),
    resume: bool = False,
    progress: Progress = no_progress,
    cancelled: threading.Event | None = None,
) -> tuple[Run, list[GateResult]]:
    """Ask every case that has no row yet, then write the reports.

    Each row is on the disk before the next one is reported, so that a kill loses at most the
    questions that were being asked.

    Args:
        job: What to run.
        folder: The run's folder; made where there is none.
        gates: Conditions that the figures must meet.
        resume: Go on with the run that is in the folder.
        progress: Called in this thread with the number of cases that have a row, the number of all
            cases, and the rows that are new, in the order of the cases, whoever finished first.
        cancelled: Once set, no further question is asked; the reports show what there is.

    Returns:
        The run, its rows in the order of the cases, and the result of each gate.

    Raises:
        RecordError: The folder holds another run, or one and ``resume`` is False.
        SettingsError: A gate names no measure.
    """
    stop = cancelled or threading.Event()
    with RunFolder(folder, job.cases, job.manifest, resume=resume) as rows:
        pending = [case for case in job.cases if case.id not in rows.finished]
        done = len(job.cases) - len(pending)
        progress(done, len(job.cases), ())
        for fresh in _in_order(_finished(job, pending, rows, stop)):
            done += len(fresh)
            progress(done, len(job.cases), fresh)
        run = build_run(job.cases, rows.finished.values(), rows.manifest, seed=job.seed)
        results = check_gates(gates, run.measures)
        write_report(folder, run, results)
    return run, results


def _finished(
    job: Job, cases: Sequence[Case], rows: RunFolder, stop: threading.Event
) -> Iterator[tuple[int, Outcome]]:
    """Yield the place and row of each case as it finishes, once the row is on the disk."""
    with _workers(job.workers, stop) as pool:
        futures: dict[Future[Outcome | None], int] = {
            pool.submit(_unless, stop, job, case): place for place, case in enumerate(cases)
        }
        for future in as_completed(futures):
            try:
                outcome = future.result()
            except CancelledError:
                continue
            if outcome is not None:
                rows.append(outcome)
                yield futures[future], outcome


@contextmanager
def _workers(count: int, stop: threading.Event) -> Iterator[ThreadPoolExecutor]:
    """Give threads that start nothing more when the block is left early."""
    pool = ThreadPoolExecutor(count, thread_name_prefix="citewell-eval")
    try:
        yield pool
    except BaseException:
        stop.set()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _in_order(found: Iterator[tuple[int, Outcome]]) -> Iterator[tuple[Outcome, ...]]:
    """Yield rows in the order of the cases: each time those whose predecessors are all there.

    A case that was cancelled leaves a gap, so what waits behind gaps comes last.
    """
    waiting: dict[int, Outcome] = {}
    following = 0
    for place, outcome in found:
        waiting[place] = outcome
        ready = []
        while following in waiting:
            ready.append(waiting.pop(following))
            following += 1
        if ready:
            yield tuple(ready)
    if waiting:
        yield tuple(waiting[place] for place in sorted(waiting))


def _unless(stop: threading.Event, job: Job, case: Case) -> Outcome | None:
    return None if stop.is_set() else run_case(job, case)


def run_case(job: Job, case: Case) -> Outcome:
    """Ask one case and measure the answer; whatever goes wrong becomes the row's error."""
    relevant = job.papers.resolve(case.relevant)
    blank = Outcome(
        case.id,
        case.question,
        case.kind,
        relevant_ids=relevant.paper_ids,
        missing_labels=relevant.missing,
    )
    try:
        began = time.perf_counter()
        answer = job.ask(case)
        latency_ms = round(1000 * (time.perf_counter() - began), 2)
        if answer.get("error"):  # cut in the middle: what there is of it is kept
            return replace(blank, answer=answer, error=str(answer["error"]), latency_ms=latency_ms)
        marks = [scorer(case, answer) for scorer in job.scorers]
        return replace(
            blank,
            answer=answer,
            latency_ms=latency_ms,
            metrics={
                **score(case, answer, relevant),
                **_tokens(answer),
                **{name: value for mark in marks for name, value in mark.scores.items()},
            },
            notes={name: note for mark in marks for name, note in mark.notes.items()},
            again=any(mark.broken for mark in marks),
        )
    except Exception as exc:  # one broken question must not lose the others
        if not isinstance(exc, RagError):
            log.exception("Case %s failed", case.id)
        return replace(blank, error=_reason(exc))


def _tokens(answer: Mapping[str, Any]) -> dict[str, float | None]:
    """Return what a language model read and wrote, where the answer tells."""
    counts = {name: answer.get(name) for name in ("tokens_in", "tokens_out")}
    return {name: float(n) for name, n in counts.items() if isinstance(n, int)}


def _reason(exc: Exception) -> str:
    return str(exc) if isinstance(exc, RagError) else f"{type(exc).__name__}: {exc}"
