"""How fast papers become searchable and embedded, and how fast an unchanged file is passed over."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag.errors import RagError
from rag.index import Progress
from rag.library import Library
from rag.settings import Settings

from .speed_corpus import Slice, TokenCounter, text_of, write_slice
from .speed_peer import Added, Starter, run_citewell, run_starter
from .speed_rows import Part, Row, compare


@dataclass(frozen=True, slots=True)
class Adding:
    """What the rounds of adding need.

    Attributes:
        whole: The whole corpus.
        parts: The same cut into one slice a round.
        starter: What Citewell is compared with.
        starter_limit: The starter adds so many records of a round's slice: its speed is steady.
        settings: The settings in force.
        work: A folder for what is made.
        progress: Told of every step.
    """

    whole: Slice
    parts: Sequence[Slice]
    starter: Starter
    starter_limit: int
    settings: Settings
    work: Path
    progress: Progress


@dataclass(slots=True)
class _Figures:
    """One figure a round of both sides."""

    theirs: list[float] = field(default_factory=list)
    their_tokens: list[float] = field(default_factory=list)
    searchable: list[float] = field(default_factory=list)
    embedded: list[float] = field(default_factory=list)
    tokens: list[float] = field(default_factory=list)
    passed: list[float] = field(default_factory=list)
    made_again: int = 0


def measure_adding(job: Adding, parts: Sequence[Part], library: Library | None) -> list[Row]:
    """Let both sides add, in turn, once a round.

    Each round the starter adds the first records of one slice. Citewell, each time as a whole
    process with an empty home, adds the whole corpus until it is searchable, and the slice until it
    is embedded to the end.

    Args:
        job: What to add.
        parts: Which of ``add``, ``embed`` and ``readd`` to measure.
        library: A fully embedded library of the corpus, for ``readd``.

    Raises:
        RagError: A process failed, or an unchanged file made embeddings.
    """
    found, counter = _Figures(), TokenCounter(job.starter.model)
    for number, one in enumerate(job.parts):
        job.progress("rounds of adding", number, len(job.parts))
        if "add" in parts:
            seconds = _add(job, job.whole, f"searchable-{number}")
            found.searchable.append(len(job.whole.records) / seconds)
        _their_turn(job, one, counter, found)
        if "embed" in parts:
            _embed(job, one, counter, found, number)
        if "readd" in parts and library is not None:
            _add_again(job, library, found)
    job.progress("rounds of adding", len(job.parts), len(job.parts))
    return _rows(job, found)


def _add(job: Adding, one: Slice, name: str, *options: str) -> float:
    """Add a file in a process of its own, to a new library, and return its seconds."""
    home = job.work / name
    words = ["add", str(one.path), "--home", str(home), "--library", "speed", "--json"]
    ran = run_citewell(*words, "--embedder", job.settings.embedder, *options)
    report = ran.json
    if report["read"] - report["failed"] != len(one.records):
        raise RagError(
            f"Citewell added {report['read'] - report['failed']} records of {len(one.records)}. "
            "What is measured has to be the same on both sides. Correct the corpus: citewell add "
            "names the lines."
        )
    return ran.seconds


def _their_turn(job: Adding, one: Slice, counter: TokenCounter, found: _Figures) -> None:
    records = one.first(job.starter_limit)
    added = run_starter(job.starter, write_slice(job.work / "starter.jsonl", records).path)
    _check_all(added, len(records))
    texts = added.texts or tuple(text_of(record) for record in records)
    found.theirs.append(added.records / added.seconds)
    found.their_tokens.append(counter.cut(texts) / added.seconds)


def _check_all(added: Added, wanted: int) -> None:
    if added.records != wanted:
        raise RagError(
            f"The starter added {added.records} records of {wanted}. What is measured has to be "
            "the same on both sides. Name a starter that adds them all."
        )


def _embed(job: Adding, one: Slice, counter: TokenCounter, found: _Figures, number: int) -> None:
    seconds = _add(job, one, f"embedded-{number}", "--wait")
    found.embedded.append(len(one.records) / seconds)
    found.tokens.append(counter.whole([text_of(record) for record in one.records]) / seconds)


def _add_again(job: Adding, library: Library, found: _Figures) -> None:
    began = time.perf_counter()
    report = library.add(job.whole.path, wait=True)
    found.passed.append(report.read / (time.perf_counter() - began))
    found.made_again += report.embedded
    if report.embedded or report.added or report.updated:
        raise RagError(
            f"Adding the unchanged file again added {report.added}, changed {report.updated} and "
            f"embedded {report.embedded}. Nothing of it is new, so that is a fault of Citewell. "
            "Report it."
        )


def _rows(job: Adding, found: _Figures) -> list[Row]:
    rows: list[Row] = []
    all_of = len(job.whole.records)
    if found.searchable:
        rows.append(
            compare(
                "add", "searchable, whole process", "records/s", ours=found.searchable,
                theirs=found.theirs, n=all_of * len(found.searchable),
                note="the starter's clock leaves its start out, ours holds everything",
            )
        )  # fmt: skip
    if found.tokens:
        note = "ours uncut, with the title once a record; the starter's as far as its model reads"
        pairs = (("tokens/s", found.tokens, found.their_tokens),
                 ("records/s", found.embedded, found.theirs))  # fmt: skip
        rows += [
            compare(
                "embed", "embedded to the end, whole process", unit, ours=ours, theirs=theirs,
                n=sum(len(part.records) for part in job.parts), note=note,
            )
            for unit, ours, theirs in pairs
        ]  # fmt: skip
    if found.passed:
        rows.append(
            compare(
                "readd", "the unchanged file again, in process", "records/s", ours=found.passed,
                theirs=found.theirs, n=all_of * len(found.passed),
                note=f"{found.made_again} embeddings made; the starter adds for the first time",
            )
        )  # fmt: skip
    return rows
