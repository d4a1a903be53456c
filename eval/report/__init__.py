"""Reports of a run: Markdown, HTML, JSON and JUnit, and the gates a run must meet."""

from .explain import explain
from .gates import Gate, GateResult, check_gates, parse_gate
from .run import ANSWERS, CASES, MANIFEST, Run, build_run, load_run
from .write import replace_file, write_report

__all__ = [
    "ANSWERS",
    "CASES",
    "MANIFEST",
    "Gate",
    "GateResult",
    "Run",
    "build_run",
    "check_gates",
    "explain",
    "load_run",
    "parse_gate",
    "replace_file",
    "write_report",
]
