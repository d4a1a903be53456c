"""The HTML pages: one file with nothing outside it, every text escaped by the template engine."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .. import plots
from ..measures import INFO, Measure, group_of
from ..reply import Reply
from ..summary import risk_points
from .explain import explain
from .gates import GateResult
from .markdown import KIND_COLUMNS, chance, how_made, kinds_of, number, verdict_counts
from .run import Run

if TYPE_CHECKING:
    from jinja2 import Environment

CASE_COLUMNS = ("mrr", "evidence_f1", "must_contain")
_NOT_PLOTTED = {"Length", "Judge", "Cost", "Other"}  # groups whose measures are not shares


def render_html(run: Run, gates: Sequence[GateResult]) -> str:
    """Return the report as one HTML page that asks for nothing outside it."""
    reported = [(c.id, o.missing_labels) for c, o in run.pairs if c and o.missing_labels]
    return render_page(
        "report.html",
        run=run,
        made=how_made(run.manifest),
        gates=gates,
        missing=reported,
        verdicts=verdict_counts(run),
        unscored=[measure.name for measure in run.overall if measure.value is None],
        kinds=kinds_of(run),
        kind_names=sorted({outcome.kind for outcome in run.outcomes}),
        kind_columns=KIND_COLUMNS,
        case_columns=CASE_COLUMNS,
        rows=_rows(run),
        plots=_plots(run),
        manifest=json.dumps(run.manifest, indent=2, ensure_ascii=False) if run.manifest else "",
    )


def render_page(template: str, **values: Any) -> str:
    """Return a template of this folder filled in; ``Markup`` values alone are not escaped."""
    from markupsafe import Markup

    script = _asset("script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = _environment().get_template(template)
    return page.render(
        style=Markup(_asset("style.css")),
        script=Markup(script),
        script_hash=Markup(f"sha256-{digest}"),
        **values,
    )


def as_markup(svg: str) -> Any:
    """Return a plot of ``plots``, which escapes its texts, as markup for a template."""
    from markupsafe import Markup

    return Markup(svg)


def _rows(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "case": case,
            "outcome": outcome,
            "reply": None if outcome.answer is None else Reply.from_json(outcome.answer),
            "reasons": explain(case, outcome),
        }
        for case, outcome in run.pairs
    ]


def _plots(run: Run) -> dict[str, Any]:
    shares = [m for m in run.overall if m.value is not None and _is_share(m)]
    grouped = {
        group: as_markup(plots.intervals(list(members), title=f"{group} with 95 % intervals"))
        for group, members in groupby(shares, key=lambda measure: group_of(measure.name))
    }
    times = [o.latency_ms for o in run.outcomes if o.latency_ms is not None and not o.failed]
    passed = [m for m in run.measures if m.kind is not None and m.name == "passed"]
    return {
        "groups": grouped,
        "risk": as_markup(plots.risk_coverage(risk_points(run.pairs), title="Risk–coverage")),
        "latency": as_markup(plots.latency(times, title="Latency")),
        "kinds": as_markup(plots.by_kind({"passed": passed}, title="Passed by kind")),
    }


def _is_share(measure: Measure) -> bool:
    return group_of(measure.name) not in _NOT_PLOTTED


def _environment() -> "Environment":
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, loader=FunctionLoader(_asset), trim_blocks=True
    )
    environment.filters.update(
        number=number,
        chance=chance,
        group=group_of,
        about=lambda name: INFO[name].about if name in INFO else "",
    )
    return environment


def _asset(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")
