"""Write the files of a run folder. The same run gives the same bytes."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from ..outcome import dump_outcomes
from .gates import GateResult
from .junit import render_junit
from .markdown import render_markdown
from .page import render_html
from .run import ANSWERS, Run


def write_report(folder: Path, run: Run, gates: Sequence[GateResult] = ()) -> list[Path]:
    """Write all reports of a run.

    ``metrics.json`` holds what depends on the answers alone, so a run that was stopped and resumed
    has the same one; times and tokens are in ``timings.json``.

    Args:
        folder: An existing folder; files of these names are replaced.
        run: The run.
        gates: Results of the gates, shown in each report.

    Returns:
        The files, in the order written.
    """
    texts = {
        ANSWERS: dump_outcomes(run.outcomes),
        "metrics.json": render_metrics(run, costs=False),
        "timings.json": render_metrics(run, costs=True),
        "report.md": render_markdown(run, gates),
        "report.html": render_html(run, gates),
        "junit.xml": render_junit(run, gates),
    }
    for name, text in texts.items():
        replace_file(folder / name, text)
    return [folder / name for name in texts]


def render_metrics(run: Run, *, costs: bool) -> str:
    """Return the measures as JSON: those of time and tokens, or all others.

    The object holds ``cases``, ``finished`` and ``measures``, a list of name, value, n, total, low,
    high and kind.
    """
    kept = [measure.to_json() for measure in run.measures if measure.is_cost is costs]
    value = {"cases": len(run.cases), "finished": len(run.outcomes), "measures": kept}
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def replace_file(path: Path, text: str) -> None:
    """Write a file whole or not at all, so that a kill leaves the old one."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", errors="replace", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
