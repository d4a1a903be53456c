"""Join a library, a file of questions and a run: what the command and the page both need."""

import threading
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from rag.as_json import answer_json
from rag.errors import SettingsError
from rag.library import Library

from . import manifest as manifests
from .cases import Case
from .judge import JUDGED, Judge
from .labels import PaperIndex
from .measures import INFO
from .reply import Reply
from .report import Gate, parse_gate
from .run import Job, Marks, Scorer

RUNS = Path("eval-runs")
_WARM_UP = "What do these papers say?"


def prepare(
    library: Library,
    cases: Sequence[Case],
    *,
    name: str,
    judge: str | None = None,
    workers: int = 1,
) -> Job:
    """Make a job that asks a library, and load what the first answer needs.

    Args:
        library: Open as long as the job runs.
        cases: The questions.
        name: Name of the question file, for the manifest.
        judge: A judging model, spelt as for ``--llm``; None for none.
        workers: Questions asked at once.

    Raises:
        SettingsError: The answering or the judging model's name is not understood.
        ProviderError: A model cannot be had.
    """
    papers = library.papers()
    settings = library.settings
    judging = Judge(settings, judge) if judge else None
    library.engine()  # a wrong model name is told now, not once a case
    library.ask(_WARM_UP, llm="quote")  # loads the embedder, so that no case pays for it
    return Job(
        cases=cases,
        ask=lambda case: answer_json(library.ask(case.question, history=case.history)),
        papers=PaperIndex(papers),
        manifest=manifests.build(
            cases,
            papers,
            settings,
            questions=name,
            library=library.name,
            judge=judge,
            workers=workers,
        ),
        scorers=[Similarity(library), *([judging] if judging else [])],
        workers=workers,
        judge_calls=judging.calls(cases) if judging else 0,
    )


def read_gates(lower: Iterable[str], upper: Iterable[str]) -> list[Gate]:
    """Read the gates of ``--min`` and ``--max`` before anything is asked.

    Raises:
        SettingsError: One has another form or names no measure.
    """
    gates = [parse_gate(text) for text in lower]
    gates += [parse_gate(text, is_upper=True) for text in upper]
    for gate in gates:
        if gate.metric not in INFO:
            raise SettingsError(
                f"There is no measure {gate.metric!r}. Known: {', '.join(INFO)}. "
                "Choose one of these."
            )
    return gates


def new_folder(stem: str, runs: Path = RUNS) -> Path:
    """Return the name of a folder that does not exist: the question file and the time."""
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in stem)[:60] or "questions"
    base = f"{plain}-{datetime.now():%Y%m%d-%H%M%S}"
    names = (base, *(f"{base}-{number}" for number in range(2, 1000)))
    return next(runs / name for name in names if not (runs / name).exists())


class Similarity:
    """Compares answer and model answer by the library's embedder: ``answer_similarity``.

    Args:
        library: Whose embedder is used.
    """

    def __init__(self, library: Library) -> None:
        self._settings = library.settings
        self._guard = threading.Lock()
        self._embedder: Any = None

    def __call__(self, case: Case, answer: Mapping[str, Any]) -> Marks:
        """Return the cosine; nothing without a model answer, 0 for an abstention."""
        if not case.answer or case.answerable is False:
            return Marks({"answer_similarity": None})
        reply = Reply.from_json(answer)
        if reply.abstained or not reply.prose.strip():
            return Marks({"answer_similarity": 0.0})
        with self._guard:
            said, wanted = (self._embed(text) for text in (reply.prose, case.answer))
        return Marks({"answer_similarity": float(np.dot(said, wanted))})

    def _embed(self, text: str) -> Any:
        """Return one vector; texts go one by one, so that no batch changes the figures."""
        if self._embedder is None:
            from rag.embedders import build

            self._embedder = build(self._settings)
        return self._embedder.embed_texts([text])[0]


__all__ = ["JUDGED", "RUNS", "Scorer", "Similarity", "new_folder", "prepare", "read_gates"]
