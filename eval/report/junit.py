"""JUnit XML: gates that fail are failures, cases that broke are errors."""

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from ..cases import Case
from ..outcome import Outcome
from .explain import explain
from .gates import GateResult
from .run import Run

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render_junit(run: Run, gates: Sequence[GateResult]) -> str:
    """Return a run as JUnit XML.

    A case that got a poor answer is a passed test with the reasons as its output: whether the
    whole is good enough is for the gates to say.
    """
    broken = sum(outcome.failed for outcome in run.outcomes)
    missed = sum(not gate.passed for gate in gates)
    total = len(gates) + len(run.outcomes)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="citewell eval" tests="{total}" failures="{missed}" errors="{broken}">\n'
        f'  <testsuite name="gates" tests="{len(gates)}" failures="{missed}" errors="0">\n'
        f"{''.join(_gate(gate) for gate in gates)}  </testsuite>\n"
        f'  <testsuite name="cases" tests="{len(run.outcomes)}" failures="0" errors="{broken}">\n'
        f"{''.join(_case(case, outcome) for case, outcome in run.pairs)}  </testsuite>\n"
        "</testsuites>\n"
    )


def _gate(result: GateResult) -> str:
    body = "" if result.passed else f"<failure message={_attr(result.text)}/>"
    return _test("gates", result.gate.text, 0.0, body)


def _case(case: Case | None, outcome: Outcome) -> str:
    reasons = "\n".join(explain(case, outcome))
    if outcome.failed:
        body = f"<error message={_attr(reasons)}/>"
    else:
        body = f"<system-out>{escape(_clean(reasons))}</system-out>" if reasons else ""
    suite = f"cases.{outcome.kind}" if outcome.kind else "cases"
    return _test(suite, f"{outcome.case_id}: {outcome.question}", outcome.latency_ms or 0.0, body)


def _test(suite: str, name: str, ms: float, body: str) -> str:
    return (
        f"    <testcase classname={_attr(suite)} name={_attr(name[:300])} "
        f'time="{ms / 1000:.3f}">{body}</testcase>\n'
    )


def _attr(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    """Replace what XML 1.0 cannot hold."""
    return _NOT_XML.sub("�", text)
