"""Citewell beside the plain LlamaIndex + Chroma starter, on the same corpus in the same run.

Machines are noisy, so nothing is measured once: both sides take turns, and what counts is the
median of the ratios of the rounds, given with the least and the greatest.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.embedders.minilm import packaged_minilm
from rag.errors import RecordError
from rag.index import Progress, no_progress
from rag.library import Library
from rag.settings import Settings

from ..manifest import versions
from ..report import replace_file
from ..trec import corpus_path
from . import speed_table
from .speed_adding import Adding, measure_adding
from .speed_asking import Asking, askable, measure_answers, measure_search
from .speed_corpus import (
    Slice,
    embedded_library,
    limited,
    read_questions,
    read_records,
    slices,
    write_slice,
)
from .speed_indexer import measure_indexer
from .speed_peer import Starter
from .speed_processes import measure_processes
from .speed_rows import PARTS, Part, Row, SpeedResults, machine

ADDING: tuple[Part, ...] = ("add", "embed", "readd")
IN_A_LIBRARY: tuple[Part, ...] = ("readd", "search", "answer", "indexer")
MARKS = "citewell bench speed"


@dataclass(frozen=True, slots=True)
class SpeedWishes:
    """What to measure.

    Attributes:
        parts: Some of ``PARTS``.
        repeats: Rounds; at least 5 where the figures are to be quoted.
        limit: Only the first records of the corpus; None takes all.
        starter: Another starter's file; None takes our own.
        starter_python: The Python that runs it; None takes this one.
        starter_limit: Records that the starter adds a round.
        questions: A file of questions; None takes the folder's queries.
        queries: At most so many questions for each part.
        library: A library that holds the corpus already; None makes one and keeps it.
        seed: Seed of the order of the questions.
        out: Where ``speed.json`` goes; None writes none.
    """

    parts: Sequence[Part] = PARTS
    repeats: int = 5
    limit: int | None = None
    starter: Path | None = None
    starter_python: str | None = None
    starter_limit: int = 300
    questions: Path | None = None
    queries: int = 400
    library: str | None = None
    seed: int = 0
    out: Path | None = None


def run(
    folder: Path, settings: Settings, wishes: SpeedWishes, *, progress: Progress = no_progress
) -> SpeedResults:
    """Measure one benchmark folder.

    Args:
        folder: In BEIR's layout: ``corpus.jsonl[.gz]``, and ``queries.jsonl`` unless questions are
            given.
        settings: The settings in force.
        wishes: What to measure.
        progress: Told of every step.

    Returns:
        A row a figure. What was finished before an error is in ``speed.json``.

    Raises:
        RecordError: The folder holds no corpus, or no questions.
        RagError: A process that is measured failed.
    """
    if wishes.limit and wishes.library:
        raise RecordError(
            "A named library holds the whole corpus, and --limit asks for a part of it. Both sides "
            "have to hold the same. Leave one of the two out."
        )
    with tempfile.TemporaryDirectory(prefix="citewell-speed-") as work:
        return _Run(folder, settings, wishes, Path(work), progress).measured()


class _Run:
    """One run: what it was asked for and what it has found so far."""

    def __init__(
        self, folder: Path, settings: Settings, wishes: SpeedWishes, work: Path, progress: Progress
    ) -> None:
        self._settings, self._wishes, self._work = settings, wishes, work
        self._progress = progress
        records = read_records(folder, wishes.limit)
        self._folder = limited(folder, records, work) if wishes.limit else folder
        self._whole = Slice(corpus_path(self._folder), records)
        self._starter = _starter(wishes)
        self._results = SpeedResults(made=_made(folder, len(records), wishes))
        self._parts = set(wishes.parts)

    def measured(self) -> SpeedResults:
        if self._parts.isdisjoint(IN_A_LIBRARY):
            self._add(None)
        else:
            questions = self._questions()
            with embedded_library(
                self._folder, self._settings, self._wishes.library, self._progress
            ) as library:
                self._add(library)
                self._ask(library, askable(library, questions))
        self._results.made["after"] = machine()
        self._keep([])
        return self._results

    def _questions(self) -> list[str]:
        if self._parts.isdisjoint(IN_A_LIBRARY[1:]):
            return []
        wishes = self._wishes
        return read_questions(self._folder, wishes.questions, wishes.queries, wishes.seed)

    def _add(self, library: Library | None) -> None:
        parts = [part for part in ADDING if part in self._parts]
        if not parts:
            return
        job = Adding(
            self._whole,
            slices(self._work, self._whole.records, self._wishes.repeats),
            self._starter,
            self._wishes.starter_limit,
            self._settings,
            self._work,
            self._progress,
        )
        self._keep(measure_adding(job, parts, library))

    def _ask(self, library: Library, questions: Sequence[str]) -> None:
        repeats, settings = self._wishes.repeats, library.settings
        job = Asking(library, questions, repeats, self._progress)
        if "search" in self._parts:
            corpus = write_slice(self._work / "starter-all.jsonl", self._whole.records)
            self._keep(measure_search(job, self._starter, corpus.path))
        if "answer" in self._parts:
            self._keep(measure_answers(job))
        library.close()  # what follows wants its files for itself
        if "answer" in self._parts:
            self._keep(measure_processes(settings, questions, repeats, self._progress))
        if "indexer" in self._parts:
            self._keep(measure_indexer(settings, self._whole, questions, repeats, self._progress))

    def _keep(self, rows: Sequence[Row]) -> None:
        """Take rows in, and write what there is."""
        self._results.rows += rows
        if self._wishes.out is not None:
            self._wishes.out.mkdir(parents=True, exist_ok=True)
            replace_file(self._wishes.out / "speed.json", speed_table.as_json(self._results) + "\n")


def _starter(wishes: SpeedWishes) -> Starter:
    """Return the program to compare with."""
    own = Starter(packaged_minilm())
    file, python = wishes.starter or own.file, wishes.starter_python or own.python
    if not file.is_file():
        raise RecordError(
            f"There is no starter at '{file}'. It is a Python program that takes MODEL CORPUS. "
            "Name its file, or leave out --starter: our own is run."
        )
    return Starter(own.model, file.absolute(), python)


def _made(folder: Path, records: int, wishes: SpeedWishes) -> dict[str, object]:
    return {
        "corpus": folder.resolve().name,
        "records": records,
        "repeats": wishes.repeats,
        "seed": wishes.seed,
        "starter": "our own" if wishes.starter is None else wishes.starter.name,
        "starter_limit": wishes.starter_limit,
        "versions": versions(),
        "before": machine(),
    }
