"""Run benchmarks one after the other and collect their tables."""

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag.errors import RecordError
from rag.index import Progress, no_progress
from rag.settings import Settings

from ..manifest import versions
from ..report import replace_file
from . import qa, retrieval, table
from .check_trec import TOLERANCE
from .rerank import Reranker
from .results import Results


@dataclass(frozen=True, slots=True)
class Wishes:
    """What to run.

    Attributes:
        parts: ``retrieval``, ``qa`` or both. Where both are asked for, a folder that lacks the
            files of one is measured by the other alone.
        out: Where ``results.json`` and TREC run files go; None writes none.
        seed: Seed of intervals, tests and samples.
        questions: More files of questions for the corpus of the one folder.
        limit: A sample of so many questions a file; None asks all.
        check_trec: Compare every ranking measure with pytrec_eval's.
        reranker: Folder of a cross-encoder that sorts the hybrid's papers anew; None leaves it out.
    """

    parts: Sequence[str]
    out: Path | None = None
    seed: int = 0
    questions: Sequence[Path] = ()
    limit: int | None = None
    check_trec: bool = False
    reranker: Path | None = None


def run(
    folders: Sequence[Path], settings: Settings, wishes: Wishes, *, progress: Progress = no_progress
) -> Results:
    """Measure benchmark folders in their order.

    Args:
        folders: In BEIR's layout.
        settings: The settings in force.
        wishes: What to run.
        progress: Told of every step.

    Returns:
        The tables; a measure that differs from trec_eval's is named in ``problems``.

    Raises:
        RecordError: A folder is no benchmark, or a file in it is malformed. What was finished
            before is in ``results.json``.
    """
    results = Results(made=_made(settings, wishes))
    _check_names(folders)
    if wishes.out is not None:
        wishes.out.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        _measure(folder, settings, wishes, results, progress)
        if wishes.out is not None:
            replace_file(wishes.out / "results.json", table.as_json(results) + "\n")
    return results


def _check_names(folders: Sequence[Path]) -> None:
    """Refuse two folders of one name: their rows and run files could not be told apart."""
    names = [folder.resolve().name for folder in folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecordError(
            f"Two folders are called {twice!r}. Rows and run files bear the folder's name. "
            "Measure them one after the other, or rename one."
        )


def _measure(
    folder: Path, settings: Settings, wishes: Wishes, results: Results, progress: Progress
) -> None:
    has_qrels = any((folder / "qrels").glob("*.tsv"))
    files = [*qa.find_questions(folder), *wishes.questions]
    if len(wishes.parts) > 1 and not (has_qrels or files):
        raise RecordError(
            f"{str(folder)!r} holds neither qrels/*.tsv nor qa*.jsonl, so there is nothing to "
            "measure. Name a benchmark folder."
        )
    several = len(wishes.parts) > 1
    if "retrieval" in wishes.parts and (has_qrels or not several):
        found = retrieval.measure(
            folder,
            settings,
            out=wishes.out,
            seed=wishes.seed,
            check_trec=wishes.check_trec,
            reranker=None if wishes.reranker is None else Reranker(wishes.reranker),
            progress=progress,
        )
        results.retrieval.append(found)
        results.problems += [
            f"{found.benchmark}, {row.engine}: a measure differs from trec_eval's by "
            f"{row.trec_difference:.1e}. Report it as a bug of Citewell."
            for row in found.rows
            if row.trec_difference is not None and row.trec_difference >= TOLERANCE
        ]
    if "qa" in wishes.parts and (files or not several):
        results.answers += qa.measure(
            folder, settings, files, limit=wishes.limit, seed=wishes.seed, progress=progress
        )


def _made(settings: Settings, wishes: Wishes) -> dict[str, object]:
    return {
        "embedder": settings.embedder,
        **({} if wishes.reranker is None else {"reranker": wishes.reranker.name}),
        "seed": wishes.seed,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "versions": versions(),
    }
