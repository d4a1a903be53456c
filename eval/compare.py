"""Compare two runs of the same questions: what differs, how surely, and which cases flipped."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from rag.errors import RecordError

from . import plots
from .cases import Case
from .measures import INFO, group_of, sort_key
from .outcome import Outcome
from .report.explain import explain
from .report.markdown import chance, number
from .report.page import as_markup, render_page
from .report.run import Run, load_run
from .report.write import replace_file
from .stats import Difference, paired_difference
from .summary import SET_MEASURES, SetMeasure, metric_names, values_by_case

_PLOTTED = {"Verdict", "Retrieval", "Evidence", "Citations", "Answer", "Abstention"}
_SURE = 0.05


@dataclass(frozen=True, slots=True)
class Flip:
    """A case that passed in one run and not in the other, and why not in that one."""

    case_id: str
    question: str
    kind: str
    a: str
    b: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How run B differs from run A.

    Attributes:
        name_a: What to call the first run.
        name_b: What to call the second.
        shared: Number of cases that both runs finished, with the same question.
        differences: Measure name to its difference on the cases that both scored.
        flips: Cases that passed in one run alone: first those gained in B, then those lost.
        notes: Plain sentences on cases that could not be compared.
    """

    name_a: str
    name_b: str
    shared: int
    differences: Mapping[str, Difference]
    flips: Sequence[Flip]
    notes: Sequence[str] = ()

    @property
    def gained(self) -> list[Flip]:
        """Return the cases that pass in B alone."""
        return [flip for flip in self.flips if flip.b == "passed"]

    @property
    def lost(self) -> list[Flip]:
        """Return the cases that pass in A alone."""
        return [flip for flip in self.flips if flip.a == "passed"]

    def better(self, name: str) -> str:
        """Return which run a measure favours: A, B, or a dash.

        A run is named only where the interval leaves out 0 and p is below 0.05.
        """
        difference = self.differences[name]
        low, high = difference.low, difference.high
        way = INFO[name].better if name in INFO else "higher"
        if low is None or high is None or low <= 0 <= high:
            return "–"
        if way == "neither" or difference.p is None or difference.p >= _SURE:
            return "–"
        return "B" if (low > 0) == (way == "higher") else "A"


def compare_runs(
    a: Run, b: Run, *, name_a: str = "A", name_b: str = "B", seed: int = 0
) -> Comparison:
    """Compare two runs on the cases that both finished.

    Args:
        a: The run to compare with.
        b: The other run.
        name_a: What to call the first.
        name_b: What to call the second.
        seed: Seed of bootstrap and randomisation.

    Returns:
        The comparison; labels are taken from ``a`` where both have the case.

    Raises:
        RecordError: The runs share no case.
    """
    rows_a = {outcome.case_id: outcome for outcome in a.outcomes}
    rows_b = {outcome.case_id: outcome for outcome in b.outcomes}
    shared = [i for i in rows_a if i in rows_b and rows_a[i].question == rows_b[i].question]
    if not shared:
        raise RecordError(
            f"{name_a!r} and {name_b!r} share no case. Cases are matched by id and question. "
            "Compare two runs of one question file."
        )
    cases = {case.id: case for case in (*b.cases, *a.cases)}
    pairs = [(cases.get(i), rows_a[i], rows_b[i]) for i in shared]
    return Comparison(
        name_a,
        name_b,
        len(shared),
        dict(_differences(pairs, seed=seed)),
        _flips(pairs),
        _notes(rows_a, rows_b, shared),
    )


def compare_folders(a: Path, b: Path, *, seed: int = 0) -> Comparison:
    """Compare two run folders; they are called by their names.

    Raises:
        RecordError: A folder holds no run, or the runs share no case.
    """
    names = (a.name, b.name) if a.name != b.name else (str(a), str(b))
    return compare_runs(load_run(a), load_run(b), name_a=names[0], name_b=names[1], seed=seed)


def write_comparison(folder: Path, comparison: Comparison) -> list[Path]:
    """Write ``compare.txt``, ``compare.json`` and ``compare.html`` and return their paths."""
    texts = {
        "compare.txt": render_text(comparison),
        "compare.json": render_json(comparison),
        "compare.html": render_html(comparison),
    }
    for name, text in texts.items():
        replace_file(folder / name, text)
    return [folder / name for name in texts]


def render_text(comparison: Comparison) -> str:
    """Return the comparison for a terminal."""
    c = comparison
    lines = [f"A = {c.name_a}, B = {c.name_b}; {c.shared} cases in both", *c.notes, ""]
    lines.append(
        f"{'measure':28} {'A':>8} {'B':>8} {'B - A':>8}  {'95 % interval':>18} {'p':>6}  n"
    )
    for name, d in c.differences.items():
        span = "–" if d.low is None else f"{number(d.low)} to {number(d.high)}"
        lines.append(
            f"{name:28} {number(d.a):>8} {number(d.b):>8} {number(d.value):>8}  {span:>18} "
            f"{chance(d.p):>6}  {d.n} {'' if c.better(name) == '–' else c.better(name)}".rstrip()
        )
    for heading, flips in (("Gained in B", c.gained), ("Lost in B", c.lost)):
        lines += ["", f"{heading}: {len(flips)}", *map(_line, flips)]
    return "\n".join(lines) + "\n"


def render_json(comparison: Comparison) -> str:
    """Return the comparison as JSON, numbers rounded to 10 decimals."""
    value = asdict(comparison)
    for row in value["differences"].values():
        row.update({k: round(v, 10) for k, v in row.items() if isinstance(v, float)})
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def render_html(comparison: Comparison) -> str:
    """Return the comparison as one self-contained HTML page."""
    rows = [
        (name, d.value, d.low, d.high, f"{d.n} cases")
        for name, d in comparison.differences.items()
        if group_of(name) in _PLOTTED
    ]
    plot = plots.differences(rows, title="Differences with 95 % intervals")
    return render_page("compare.html", c=comparison, plot=as_markup(plot))


Triple = tuple[Case | None, Outcome, Outcome]


def _differences(pairs: Sequence[Triple], *, seed: int) -> Iterator[tuple[str, Difference]]:
    """Yield each measure with its difference, in the order of ``INFO``."""
    left, right = [a for _, a, _ in pairs], [b for _, _, b in pairs]
    means = set(metric_names(left)) & set(metric_names(right))
    for name in sorted(means | set(SET_MEASURES), key=sort_key):
        if name in SET_MEASURES:
            found = _set_difference(pairs, SET_MEASURES[name], seed=seed)
        else:
            a, b = values_by_case(left, name), values_by_case(right, name)
            both = [case_id for case_id in a if case_id in b]
            found = paired_difference([a[i] for i in both], [b[i] for i in both], seed=seed)
        if found:
            yield name, found


def _set_difference(
    pairs: Iterable[Triple], measure: SetMeasure, *, seed: int
) -> Difference | None:
    rows = []
    for case, a, b in pairs:
        if a.failed or b.failed:
            continue
        left, right = measure.cells(case, a), measure.cells(case, b)
        if left is not None and right is not None:
            rows.append((left, right))
    if not rows:
        return None
    table = np.array(rows, dtype=np.float64)
    return paired_difference(table[:, 0], table[:, 1], measure.statistic, seed=seed)


def _flips(pairs: Iterable[Triple]) -> list[Flip]:
    flips = []
    for case, a, b in pairs:
        if (a.verdict == "passed") == (b.verdict == "passed"):
            continue
        failing = a if b.verdict == "passed" else b
        why = tuple(explain(case, failing))
        flips.append(Flip(a.case_id, a.question, a.kind, a.verdict, b.verdict, why))
    return sorted(flips, key=lambda flip: flip.b != "passed")


def _notes(
    a: Mapping[str, Outcome], b: Mapping[str, Outcome], shared: Sequence[str]
) -> tuple[str, ...]:
    changed = len(a.keys() & b.keys()) - len(shared)
    counts = {
        "in A alone": len(a.keys() - b.keys()),
        "in B alone": len(b.keys() - a.keys()),
        "under one id with different questions": changed,
    }
    return tuple(f"{n} cases are {what} and are left out." for what, n in counts.items() if n)


def _line(flip: Flip) -> str:
    kind = f" ({flip.kind})" if flip.kind else ""
    head = _printable(f"{flip.case_id}{kind}: {flip.question}")
    return f"  {head}\n    {_printable(' '.join(flip.why))}".rstrip()


def _printable(text: str) -> str:
    """Return untrusted text on one line without what a terminal would obey."""
    return "".join(c if c.isprintable() else "�" for c in " ".join(text.split()))
