"""How fast papers are found and questions answered, in this process."""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rag import evidence, question
from rag.errors import QuestionError
from rag.index import Progress
from rag.library import Library
from rag.schema import Answer, RankedPaper

from .speed_peer import PacedStarter, Starter
from .speed_rows import Row, percentiles, rounds_of

WARM = "What is measured here?"
READ_AT_MOST: tuple[int | None, ...] = (None, 1, 3, 6)  # None: as many as by default


@dataclass(frozen=True, slots=True)
class Asking:
    """What the rounds of asking need.

    Attributes:
        library: The fully embedded library of the corpus.
        questions: Distinct, so that nothing remembered makes one faster.
        repeats: Rounds that the questions are dealt into.
        progress: Told of every step.
    """

    library: Library
    questions: Sequence[str]
    repeats: int
    progress: Progress


# ---- searching -----------------------------------------------------------------------------------


def measure_search(job: Asking, starter: Starter, corpus: Path) -> list[Row]:
    """Search each question on both sides, in turn; who begins changes from one to the next.

    Citewell finds papers and their best sentences, before any evidence model; the starter retrieves
    its ten passages.

    Args:
        job: The library and the questions.
        starter: What Citewell is compared with; it adds the whole corpus first.
        corpus: The records as a file.

    Raises:
        RagError: The starter failed.
    """
    rounds = rounds_of(job.questions, job.repeats)
    asked = [text for one in rounds for text in one]
    best_sentences(job.library, WARM)
    with tempfile.TemporaryDirectory(prefix="citewell-speed-") as work:
        queries = Path(work) / "queries.jsonl"
        queries.write_text(
            "".join(json.dumps({"_id": str(n), "text": q}) + "\n" for n, q in enumerate(
                [WARM, *asked])), "utf-8",
        )  # fmt: skip
        with PacedStarter(starter, corpus, queries=queries) as peer:
            job.progress("the starter adds the corpus", 0, 0)
            peer.wait_ready()
            peer.retrieve()  # the first one loads what it needs
            times = [_in_turn(job, peer, n, text) for n, text in enumerate(asked)]
            peer.finish()
    ours, theirs = [], []
    for one in rounds:
        part, times = times[: len(one)], times[len(one) :]
        ours.append([own for own, _ in part])
        theirs.append([their for _, their in part])
    return percentiles(
        "search", "ranked papers with their best sentences", ours=ours, theirs=theirs,
        note="the starter's bare retrieval of ten passages beside it, query by query",
    )  # fmt: skip


def _in_turn(job: Asking, peer: PacedStarter, number: int, text: str) -> tuple[float, float]:
    """Return both sides' milliseconds for one question."""
    job.progress("searching in turn", number + 1, 0)
    peer.wait_ready()
    if number % 2:
        theirs = peer.retrieve()
        return _timed_search(job.library, text), theirs
    return _timed_search(job.library, text), peer.retrieve()


def _timed_search(library: Library, text: str) -> float:
    began = time.perf_counter()
    best_sentences(library, text)
    return 1000 * (time.perf_counter() - began)


def best_sentences(library: Library, text: str) -> tuple[RankedPaper, ...]:
    """Return the ranked papers of a question, each with its nearest sentence, read by no model."""
    return library.search(text, sentences=True)


# ---- answering -----------------------------------------------------------------------------------


def measure_answers(job: Asking) -> list[Row]:
    """Ask every question once: as by default, and with at most one, three and six papers read.

    The questions go round between the four, so that a busy minute hits all of them. Those of the
    default are then asked once more.
    """
    times: dict[int | None, list[list[float]]] = {most: [] for most in READ_AT_MOST}
    again: list[list[float]] = []
    stages: list[Answer] = []
    for most in READ_AT_MOST:  # so that nobody pays for loading
        timed_answer(job.library, f"{WARM} {most}", most)
    for number, one in enumerate(rounds_of(job.questions, job.repeats)):
        job.progress("rounds of answering", number, job.repeats)
        for most in READ_AT_MOST:
            times[most].append([])
        for place, text in enumerate(one):
            most = READ_AT_MOST[place % len(READ_AT_MOST)]
            seconds, answer = timed_answer(job.library, text, most)
            times[most][-1].append(seconds)
            stages += [answer] if most is None else []
        own = one[:: len(READ_AT_MOST)]
        again.append([timed_answer(job.library, text, None)[0] for text in own])
    rows = []
    for most, found in times.items():
        if all(found):
            note = _stages(stages) if most is None else ""
            rows += percentiles("answer", _named(most), ours=found, note=note)
    return [*rows, *percentiles("answer", "whole answer, asked again", ours=again)]


def _named(most: int | None) -> str:
    if most is None:
        return "whole quoted answer"
    return f"whole quoted answer, at most {most} {'paper' if most == 1 else 'papers'} read"


def timed_answer(library: Library, text: str, most: int | None) -> tuple[float, Answer]:
    """Return how long a whole answer took, in milliseconds, and the answer."""
    with reading_at_most(most):
        began = time.perf_counter()
        answer = library.ask(text)
        return 1000 * (time.perf_counter() - began), answer


@contextmanager
def reading_at_most(most: int | None) -> Iterator[None]:
    """Let the evidence model see so many papers of a question at most; None changes nothing."""
    usual = evidence.PAPERS_READ, evidence.PAPERS_READ_FOR_MANY
    if most is not None:
        evidence.PAPERS_READ = evidence.PAPERS_READ_FOR_MANY = most
    try:
        yield
    finally:
        evidence.PAPERS_READ, evidence.PAPERS_READ_FOR_MANY = usual


def _stages(answers: Sequence[Answer]) -> str:
    """Say how long the median of each stage took."""
    names = dict.fromkeys(name for answer in answers for name in answer.timings_ms)
    parts = []
    for name in names:
        taken = [a.timings_ms[name] for a in answers if name in a.timings_ms]
        parts.append(f"{name} {statistics.median(taken):.0f}")
    return f"median ms of its stages: {', '.join(parts)}" if parts else ""


def askable(library: Library, questions: Sequence[str]) -> list[str]:
    """Return the questions that can be asked at all: not too long, and with words."""
    found = []
    for text in questions:
        try:
            question.check(text, max_chars=library.settings.max_question_chars)
        except QuestionError:
            continue
        found.append(text)
    return found
