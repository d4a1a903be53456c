"""A finished run: its cases, rows and figures, and the folder it lives in."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.errors import RecordError

from ..cases import Case, load_cases
from ..measures import Measure
from ..outcome import Outcome, read_outcomes
from ..summary import summarise

CASES, ANSWERS, MANIFEST = "cases.jsonl", "answers.jsonl", "manifest.json"


@dataclass(frozen=True, slots=True)
class Run:
    """Everything a report shows.

    Attributes:
        cases: In the order of the question file.
        outcomes: In the order of the cases.
        measures: As ``summarise`` gives them.
        manifest: How the run was made: corpus hash, settings, versions, seeds, prompts.
    """

    cases: Sequence[Case]
    outcomes: Sequence[Outcome]
    measures: Sequence[Measure]
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @property
    def overall(self) -> list[Measure]:
        """Return the measures over all cases."""
        return [measure for measure in self.measures if measure.kind is None]

    @property
    def pending(self) -> int:
        """Return how many cases have no row yet."""
        return len(self.cases) - len(self.outcomes)

    @property
    def pairs(self) -> list[tuple[Case | None, Outcome]]:
        """Return each row with its case, None where the question file did not have it."""
        known = {case.id: case for case in self.cases}
        return [(known.get(outcome.case_id), outcome) for outcome in self.outcomes]


def build_run(
    cases: Iterable[Case],
    outcomes: Iterable[Outcome],
    manifest: Mapping[str, Any] | None = None,
    *,
    seed: int = 0,
) -> Run:
    """Return a run with its figures; rows are put in the order of the cases.

    Args:
        cases: All cases of the run.
        outcomes: The rows so far, in any order, at most one a case.
        manifest: How the run was made.
        seed: Seed of the bootstrap.
    """
    cases = list(cases)
    place = {case.id: number for number, case in enumerate(cases)}
    rows = sorted(outcomes, key=lambda o: (place.get(o.case_id, len(place)), o.case_id))
    return Run(cases, rows, summarise(rows, cases, seed=seed), manifest or {})


def load_run(folder: Path, *, seed: int = 0) -> Run:
    """Read a run folder, also one of a run that was stopped.

    Raises:
        RecordError: The folder has no cases or rows, or one of its files is malformed.
    """
    if not (folder / ANSWERS).is_file():
        raise RecordError(
            f"{str(folder)!r} holds no {ANSWERS!r}, so it is no run. "
            "Name a folder that citewell eval has written."
        )
    outcomes = read_outcomes(folder / ANSWERS)
    return build_run(load_cases(folder / CASES), outcomes, _manifest(folder), seed=seed)


def _manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / MANIFEST
    if not path.is_file():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise RecordError(
            f"{str(path)!r} cannot be read. It must be a JSON object. Remove it or run again."
        ) from exc
    return value if isinstance(value, dict) else {}
