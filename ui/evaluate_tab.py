"""The tab that measures: run a file of questions, watch, cancel, look at what failed.

The work is done by whoever registers the entry point ``default`` in ``citewell.evaluation``: a
function ``start(library, questions, folder=…)`` that returns a run with ``progress()``,
``cancel()`` and ``result()``.
"""

import asyncio
import html
import logging
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import gradio as gr

from rag.errors import RagError

from .escape import plain
from .imports import take_uploads
from .session import Session
from .shelf import Shelf

log = logging.getLogger(__name__)

GROUP = "citewell.evaluation"
POLL_S = 0.3
MOST_CASES = 100
LARGEST_REPORT = 20_000_000  # characters
BRIDGE = "window.citewell.cases = (value) => trigger('click', { value: value });"
_ACTION = re.compile(r"case-(\d{1,3})")
MISSING = (
    "Nothing that evaluates is installed with this page. Install the whole of Citewell anew, or "
    "run: citewell eval"
)
Start = Callable[..., Any]
Update = tuple[Any, ...]


def find_start() -> Start:
    """Return the function that starts an evaluation.

    Raises:
        RagError: None is registered, or it cannot be imported.
    """
    found = [point for point in entry_points(group=GROUP) if point.name == "default"]
    if not found:
        raise RagError(MISSING)
    try:
        start: Start = found[0].load()
    except ImportError as exc:
        raise RagError(f"{MISSING} ({exc})") from exc
    return start


class EvaluateTab:
    """Layout and handlers of the tab; a run belongs to its session.

    Args:
        shelf: The libraries of this process.
        uploads: The folder of uploaded files and of runs; both go when the server ends.
    """

    def __init__(self, shelf: Shelf, uploads: Path) -> None:
        self.shelf, self.uploads = shelf, uploads

    def build(self) -> None:
        """Put the parts into the tab that is open."""
        gr.Markdown(
            "Ask a file of questions (JSONL, as `citewell eval` reads it) and see what failed. "
            "Without a file, our own questions on the sample library are asked."
        )
        with gr.Row():
            with gr.Column(scale=2, min_width=300):
                self.file = gr.File(
                    label="Questions", file_count="multiple", height=110, elem_id="cw-questions"
                )
            with gr.Column(scale=1, min_width=200):
                self.run = gr.Button("Run", variant="primary", elem_id="cw-run")
                self.cancel = gr.Button("Cancel", elem_id="cw-run-cancel")
                self.download = gr.Button("Download the report", elem_id="cw-report")
        self.result = gr.HTML("", elem_id="cw-result", apply_default_css=False)
        self.report = gr.JSON(visible=False)
        self.bridge = gr.HTML("", elem_classes="cw-bridge", js_on_load=BRIDGE)

    def wire(self, session: gr.State, box: gr.Textbox, tabs: gr.Tabs) -> None:
        """Bind the handlers; ``box`` and ``tabs`` take a case that is opened in the chat."""
        light: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        self.run.click(
            self.measure, [session, self.file], [self.result, self.file],
            api_name="page_measure", concurrency_limit=8, **light,
        )  # fmt: skip
        self.cancel.click(self.stop, [session], None, queue=False, **light)
        made = self.download.click(self.hand_out, [session], [self.report], **light)
        made.then(None, [self.report], None, js="(f) => window.citewell.download(f)", **light)
        self.bridge.click(self.open_case, [session], [box, tabs], api_name="page_case", **light)

    async def measure(self, session: Session, files: object) -> AsyncIterator[Update]:
        """Run an evaluation and show how far it is."""
        if session.run is not None and not session.run.progress().is_over:
            gr.Info("An evaluation is running. Wait for its end, or cancel it.")
            return
        folder = self.uploads / f"run-{secrets.token_hex(8)}"
        try:
            taken = take_uploads(files if isinstance(files, list) else [], self.uploads)
            run = await asyncio.to_thread(self._start, session, taken, folder)
        except RagError as exc:
            yield f'<p class="cw-bad" role="alert">✗ {plain(str(exc))}</p>', None
            return
        session.run, session.cases = run, ()
        while not (state := run.progress()).is_over:
            yield progress_html(state), gr.skip()
            await asyncio.sleep(POLL_S)
        yield self._shown(session, state), None

    def _start(self, session: Session, taken: Sequence[Path], folder: Path) -> Any:
        try:
            start = find_start()
            library = self.shelf.library(session.library or self.shelf.first)
            return start(library, taken[0] if taken else None, folder=folder)
        finally:
            for path in taken:  # the questions were read, or refused
                shutil.rmtree(path.parent, ignore_errors=True)

    def _shown(self, session: Session, state: Any) -> str:
        result = session.run.result() if session.run is not None else None
        if result is None:
            return f'<p class="cw-bad" role="alert">✗ {plain(state.error or "No result.")}</p>'
        bad = [case for case in result.cases if case["outcome"] != "passed"][:MOST_CASES]
        session.cases = tuple(str(case["question"]) for case in bad)
        return result_html(state, result, bad, _report(result.report))

    def stop(self, session: Session) -> None:
        """Ask no further question."""
        if session.run is not None:
            session.run.cancel()

    def hand_out(self, session: Session) -> Any:
        """Return the report as a file for the page to hand out."""
        result = session.run.result() if session.run is not None else None
        text = _report(result.report) if result is not None else ""
        if not text:
            gr.Info("There is no finished evaluation on this page.")
            return None
        return {"name": "citewell-report.html", "text": text}

    def open_case(self, event: gr.EventData, session: Session) -> Update:
        """Put the question of a failed case into the chat."""
        value = getattr(event, "value", None)
        found = _ACTION.fullmatch(value) if isinstance(value, str) else None
        number = int(found[1]) if found else 0
        if not 0 < number <= len(session.cases):
            return gr.skip(), gr.skip()
        return session.cases[number - 1], gr.update(selected="ask")


def progress_html(state: Any) -> str:
    """Return how far a run is."""
    return (
        f'<div class="cw-import"><p role="status"><span class="cw-spin"></span>'
        f"{plain(str(state.phase))}: {state.done} of {state.total}, {state.passed} passed, "
        f"{state.failed} ended in an error, {state.seconds:.0f} s</p>"
        f'<progress value="{int(state.done)}" max="{max(1, int(state.total))}"></progress></div>'
    )


def result_html(state: Any, result: Any, bad: Sequence[Mapping[str, Any]], report: str) -> str:
    """Return outcomes, measures, the cases that did not pass, and the report with its plots.

    The report is shown in a frame that may run nothing.
    """
    outcomes = ", ".join(f"{count} {plain(str(name))}" for name, count in result.outcomes.items())
    word = "Cancelled" if state.phase == "cancelled" else "Finished"
    cases = "".join(_case(case, n) for n, case in enumerate(bad, 1))
    failing = f"<h3>Not passed</h3><ul class='cw-papers'>{cases}</ul>" if bad else ""
    frame = (
        f'<iframe class="cw-frame" sandbox="" title="The report" '
        f'srcdoc="{html.escape(report, quote=True)}"></iframe>'
        if report
        else ""
    )
    return (
        f'<div class="cw-import"><p role="status"><strong>{word} in {state.seconds:.0f} s:'
        f"</strong> {outcomes}</p>{failing}<details><summary>All measures</summary>"
        f"{_table(result.measures)}</details>{frame}</div>"
    )


def _case(case: Mapping[str, Any], n: int) -> str:
    why = case.get("why")
    words = "; ".join(map(str, why)) if isinstance(why, list | tuple) else str(why or "")
    return (
        f'<li><button type="button" class="cw-paper" data-cases="case-{n}" title="Open it in the '
        f'chat"><span>{plain(str(case["question"]))}</span><span class="cw-by">'
        f"{plain(str(case['outcome']))}: {plain(words)}</span></button></li>"
    )


def _table(measures: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(
        f"<tr><td>{plain(str(one.get('name', '')))}</td><td>{_number(one.get('value'))}</td>"
        f"<td>{_number(one.get('low'))}–{_number(one.get('high'))}</td>"
        f"<td>{one.get('n', '')}</td></tr>"
        for one in measures
        if not one.get("kind")
    )
    head = "<tr><th>Measure</th><th>Value</th><th>95 % interval</th><th>Questions</th></tr>"
    return f'<table class="cw-table"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _number(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, int | float) else "–"


def _report(path: Path) -> str:
    try:
        text = path.read_text("utf-8")
    except OSError as exc:
        log.info("The report '%s' cannot be read: %s", path, exc)
        return ""
    return text if len(text) <= LARGEST_REPORT else ""
