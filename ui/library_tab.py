"""The tab of the library: browse, search, filter, pick; add files, undo."""

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from rag.errors import RagError, SettingsError
from rag.schema import Filters

from .imports import ImportJob, take_uploads
from .looks import MATHS
from .papers import ImportState, Shown, import_html, papers_html, scope_html
from .session import Session
from .shelf import Shelf
from .sources import paper_html
from .vectors import Making, brief_html, spoken_html, vectors_html

PAGE = 20
FOUND = 200  # papers of a search that can be paged through
LONGEST = 200  # characters of a filter
POLL_S = 0.25
LOOK_S = 2.5  # between looks at how far the vectors are, while some are made
_ACTION = re.compile(r"(paper|pick|page|all)-(\d{1,4})")
NOTHING = '<div class="cw-panel cw-empty"><h2>Abstract</h2><p>Choose a paper in the list.</p></div>'
BRIDGE = "window.citewell.papers = (value) => trigger('click', { value: value });"
Update = tuple[Any, ...]


class LibraryTab:
    """Layout and handlers of the tab; what belongs to a visitor travels as its session.

    Args:
        shelf: The libraries of this process.
        uploads: The folder of uploaded files.
    """

    def __init__(self, shelf: Shelf, uploads: Path) -> None:
        self.shelf, self.uploads = shelf, uploads

    def build(self) -> None:
        """Put the parts into the tab that is open."""
        with gr.Row(elem_id="cw-library"):
            with gr.Column(scale=3, min_width=320):
                self._filter_rows()
                self._vectors_row()
                self.listed = gr.HTML("", elem_id="cw-papers", apply_default_css=False)
                self.bridge = gr.HTML("", elem_classes="cw-bridge", js_on_load=BRIDGE)
            with gr.Column(scale=2, min_width=320):
                self._import_box()
                self.detail = gr.Markdown(
                    NOTHING, elem_id="cw-detail", latex_delimiters=MATHS, container=False
                )

    def _filter_rows(self) -> None:
        with gr.Row():
            self.words = gr.Textbox(label="Search", placeholder="words, or empty for all", scale=3)
            self.author = gr.Textbox(label="Author", scale=2)
            self.topic = gr.Textbox(label="Topic", scale=2)
        with gr.Row():
            self.venue = gr.Textbox(label="Venue", scale=2, min_width=110)
            self.source = gr.Textbox(label="File", scale=2, min_width=110)
            self.since = gr.Textbox(label="Year from", scale=1, min_width=90, max_lines=1)
            self.until = gr.Textbox(label="Year to", scale=1, min_width=90, max_lines=1)
        with gr.Row():
            self.show = gr.Button("Show", variant="primary", elem_id="cw-show", min_width=90)
            self.only = gr.Button("Ask only these", elem_id="cw-only", min_width=90)
            self.none = gr.Button("Reset", elem_id="cw-none", min_width=90)

    def _vectors_row(self) -> None:
        with gr.Row(elem_id="cw-vectors", equal_height=True):
            self.vectors = gr.HTML("", elem_id="cw-made", apply_default_css=False)
            self.again = gr.Button(
                "Try again", size="sm", scale=0, min_width=110, visible=False, elem_id="cw-again"
            )
        self.timer = gr.Timer(LOOK_S, active=False)

    def _import_box(self) -> None:
        with gr.Accordion("Add papers", open=False, elem_id="cw-add"):
            gr.Markdown("BibTeX, RIS, JSONL or listings. Files are deleted here after reading.")
            self.files = gr.File(
                label="Drop files here", file_count="multiple", elem_id="cw-files", height=120
            )
            with gr.Row():
                self.start = gr.Button("Add", variant="primary", elem_id="cw-start", min_width=80)
                self.cancel = gr.Button("Cancel", elem_id="cw-cancel", min_width=80)
                self.undo = gr.Button("Undo", elem_id="cw-undo", min_width=80)
            self.progress = gr.HTML("", elem_id="cw-progress", apply_default_css=False)

    def wire(self, session: gr.State, scope: gr.HTML) -> None:
        """Bind the handlers.

        Args:
            session: The visitor's session.
            scope: The line that says which papers are asked.
        """
        fields = [
            *(self.words, self.author, self.topic, self.venue),
            *(self.source, self.since, self.until),
        ]
        light: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
        gr.on(
            [self.show.click, *(box.submit for box in fields)], self.browse, [session, *fields],
            [self.listed, self.progress], api_name="page_browse", **light,
        )  # fmt: skip
        self.only.click(self.restrict, [session, *fields], [scope], api_name="page_only", **light)
        self.none.click(self.reset, [session], [*fields, self.listed, scope], **light)
        self.bridge.click(
            self.follow, [session], [self.listed, self.detail, scope],
            api_name="page_papers", **light,
        )  # fmt: skip
        self.added = self.start.click(
            self.add, [session, self.files], [self.progress, self.files, self.listed],
            api_name="page_add", concurrency_limit=8, **light,
        )  # fmt: skip
        self.cancel.click(self.stop, [session], None, queue=False, **light)
        self.undone = self.undo.click(
            self.take_back, [session], [self.progress, self.listed], **light
        )

    # ---- browsing ------------------------------------------------------------------------------

    def browse(self, session: Session, words: object, *fields: object) -> Update:
        """Show the first page of the papers that match."""
        try:
            session.listing = (_text(words) or "", _filters(*fields))
            session.page = 0
            return self.page(session), gr.skip()
        except RagError as exc:
            gr.Warning(str(exc))
            return gr.skip(), gr.skip()

    def page(self, session: Session) -> str:
        """Return the page of papers that the session looks at."""
        session.shown = self._shown(session)
        return papers_html(session.shown, session.picked)

    def _shown(self, session: Session) -> Shown:
        library = self.shelf.library(session.library or self.shelf.first)
        words, filters = session.listing
        first = session.page * PAGE
        if words:
            ranked = library.search(words, top_k=FOUND, filters=filters or None)
            papers = [one.paper for one in ranked[first : first + PAGE + 1]]
        else:
            papers = library.papers(filters or None, limit=PAGE + 1, offset=first)
        return Shown(tuple(papers[:PAGE]), session.page, len(papers) > PAGE, bool(words))

    def restrict(self, session: Session, words: object, *fields: object) -> str:
        """Ask only the picked papers, or those that match the filters where none is picked."""
        try:
            filters = _filters(*fields)
        except RagError as exc:
            gr.Warning(str(exc))
            return scope_html(session.filters)
        if session.picked:
            filters = Filters(paper_ids=tuple(session.picked))
        elif not filters:
            gr.Info("Pick papers in the list, or fill in a filter, to ask only some.")
        session.filters = filters
        return scope_html(filters)

    def reset(self, session: Session) -> Update:
        """Drop filters and picks; all papers are asked again."""
        session.restrict_to_nothing()
        return *("",) * 7, self.page(session), ""

    def follow(self, event: gr.EventData, session: Session) -> Update:
        """Open a paper, pick it, or turn the page."""
        value = getattr(event, "value", None)
        found = _ACTION.fullmatch(value) if isinstance(value, str) else None
        verb, number = (found[1], int(found[2])) if found else ("", 0)
        papers = session.shown.papers
        if verb == "all":
            session.filters = Filters()
            return gr.skip(), gr.skip(), ""
        if verb == "page":
            session.page = max(0, session.page + (1 if number else -1))
            return self.page(session), gr.skip(), gr.skip()
        if not 0 < number <= len(papers):
            return gr.skip(), gr.skip(), gr.skip()
        paper = papers[number - 1]
        if verb == "paper":
            return gr.skip(), paper_html(paper), gr.skip()
        session.pick(paper.id)
        return papers_html(session.shown, session.picked), gr.skip(), gr.skip()

    # ---- adding --------------------------------------------------------------------------------

    async def add(self, session: Session, files: object) -> AsyncIterator[Update]:
        """Add uploaded files and show how far it is; leaving the page does not stop it."""
        if session.importing is not None and not session.importing.state.is_over:
            gr.Info("An import is running. Wait for its end, or cancel it.")
            return
        try:
            taken = take_uploads(files if isinstance(files, list) else [], self.uploads)
            library = await asyncio.to_thread(
                self.shelf.library, session.library or self.shelf.first
            )
        except RagError as exc:
            yield import_html(ImportState(error=str(exc), is_over=True)), None, gr.skip()
            return
        if not taken:
            gr.Info("Drop files into the box first.")
            return
        then = partial(self.shelf.background.start, library, again=True)
        job = session.importing = ImportJob(library, taken, then)
        last = None
        while not (state := job.state).is_over:
            if state != last:
                last = state
                yield import_html(state), gr.skip(), gr.skip()
            await asyncio.sleep(POLL_S)
        yield import_html(job.state), None, await asyncio.to_thread(self.page, session)

    def stop(self, session: Session) -> None:
        """Cancel the running import."""
        if session.importing is not None:
            session.importing.cancel()

    def take_back(self, session: Session) -> Update:
        """Delete what the last import of this page added."""
        job = session.importing
        if job is None or not job.state.is_over or not job.import_ids:
            gr.Info("There is no finished import on this page that could be undone.")
            return gr.skip(), gr.skip()
        try:
            count = job.undo()
        except RagError as exc:
            gr.Warning(str(exc))
            return gr.skip(), gr.skip()
        session.importing = None
        words = f"{count:,} paper{'' if count == 1 else 's'} deleted again."
        return f'<p role="status">{words}</p>', self.page(session)

    # ---- vectors in the background -------------------------------------------------------------

    def tell(self, session: Session) -> Update:
        """Say how far the vectors are; the timer goes on only while that changes.

        Returns:
            New values for the timer, the line of this tab, its button, the line at the top, and
            what screen readers are told.
        """
        making = self._making(session.library or self.shelf.first)
        spoken = spoken_html(making, was_going_on=session.making)
        session.making = making.is_going_on
        failed = making.is_shown and making.error is not None
        return (
            gr.Timer(LOOK_S, active=making.is_going_on), vectors_html(making),
            gr.update(visible=failed), brief_html(making), spoken,
        )  # fmt: skip

    def _making(self, name: str) -> Making:
        """Look how far a library is; one that is not open has nothing to tell."""
        if not self.shelf.is_ready(name):
            return Making()
        try:
            return self.shelf.background.look(self.shelf.library(name))
        except RagError:  # it cannot be opened, which the line at the top says
            return Making()

    def try_again(self, session: Session) -> None:
        """Make the vectors that wait after something kept them from being made."""
        try:
            library = self.shelf.library(session.library or self.shelf.first)
        except RagError as exc:
            gr.Warning(str(exc))
            return
        self.shelf.background.start(library, again=True)


def _filters(
    author: object = None, topic: object = None, venue: object = None, source: object = None,
    since: object = None, until: object = None,
) -> Filters:  # fmt: skip
    return Filters(
        author=_text(author), topic=_text(topic), venue=_text(venue), source=_text(source),
        year_from=_year(since), year_to=_year(until),
    )  # fmt: skip


def _text(value: object) -> str | None:
    text = value.strip()[:LONGEST] if isinstance(value, str) else ""
    return text.encode("utf-8", "replace").decode() or None


def _year(value: object) -> int | None:
    text = _text(value)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) == 4):
        raise SettingsError(f"The year {text[:20]!r} is not a year. Write four digits, or nothing.")
    return int(text)
