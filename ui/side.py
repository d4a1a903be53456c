"""The side bar: which library, who answers, conversations that are kept."""

import asyncio
import re
from typing import Any

import gradio as gr

from rag.errors import RagError
from rag.schema import Filters

from . import saving
from .escape import plain
from .models import QUOTE, Choice, choices
from .session import Session
from .shelf import Shelf
from .sources import EMPTY, sources_html

LONGEST = 200
BRIDGE = "window.citewell.kept = (value) => trigger('click', { value: value });"
_ACTION = re.compile(r"open-(\d{1,3})")
Update = tuple[Any, ...]


class Side:
    """Layout and handlers of the side bar.

    Args:
        shelf: The libraries of this process.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self._choices = [Choice(QUOTE, "Quotes only")]
        if (name := shelf.settings.llm) != QUOTE:
            self._choices.append(Choice(name, f"{name.partition(':')[0]} (configured)"))

    def build(self) -> None:
        """Put the parts into the side bar that is open."""
        names = self.shelf.names()
        self.library = gr.Dropdown(
            names, value=self.shelf.first, label="Library", elem_id="cw-pick-library"
        )
        with gr.Accordion("New library", open=False, elem_id="cw-new-library"):
            self.name = gr.Textbox(label="Name", max_lines=1)
            self.create = gr.Button("Create", size="sm")
        self.answerer = gr.Dropdown(
            [(one.label, one.name) for one in self._choices], value=self.shelf.settings.llm,
            label="Answers by", elem_id="cw-pick-llm", allow_custom_value=False,
        )  # fmt: skip
        with gr.Accordion("Why not others?", open=False):
            self.reasons = gr.HTML("", apply_default_css=False)
            self.look = gr.Button("Look again", size="sm", elem_id="cw-look")
        with gr.Accordion("Kept conversations", open=True, elem_id="cw-kept"):
            self.search = gr.Textbox(
                placeholder="Search …", label="Search", show_label=False, max_lines=1
            )
            self.kept = gr.HTML("", elem_id="cw-kept-list", apply_default_css=False)
            self.title = gr.Textbox(label="Rename the open one", max_lines=1, elem_id="cw-title")
            self.delete = gr.Button("Delete the open one", size="sm", elem_id="cw-delete")
        self.bridge = gr.HTML("", elem_classes="cw-bridge", js_on_load=BRIDGE)

    # ---- libraries -----------------------------------------------------------------------------

    def switch(self, name: object, session: Session) -> Update:
        """Turn to another library: a new conversation, no restriction.

        Returns:
            New values for the chat, the panel, the scope and the choice.
        """
        names = self.shelf.names()
        if not isinstance(name, str) or name not in names:
            gr.Warning("There is no such library. Choose one of the list.")
            return gr.skip(), gr.skip(), gr.skip(), gr.skip()
        session.clear()
        session.restrict_to_nothing()
        left = session.library or self.shelf.first
        if left != name:
            self.shelf.leave(left)
        session.library = name
        self.shelf.begin(name)
        return [], EMPTY, "", gr.update(choices=names, value=name)

    def make(self, name: object, session: Session) -> Update:
        """Create a library and turn to it; returns what ``switch`` does, and the emptied name."""
        try:
            library = self.shelf.create(name[:LONGEST] if isinstance(name, str) else "")
        except RagError as exc:
            gr.Warning(str(exc))
            return *[gr.skip()] * 4, gr.skip()
        return *self.switch(library.name, session), ""

    # ---- who answers ---------------------------------------------------------------------------

    def choose(self, name: object, session: Session) -> None:
        """Let another model answer from the next question on; only offered ones are taken."""
        if isinstance(name, str) and name and name in {one.name for one in self._choices}:
            session.llm = name
        else:
            gr.Warning("That model is not offered here. Choose one of the list.")

    async def refresh(self, session: Session) -> Update:
        """Look which models there are; returns the list and why others cannot be had."""
        found = await asyncio.to_thread(choices, self.shelf.settings)
        self._choices = [one for one in found if one.why_not is None]
        value = session.llm or self.shelf.settings.llm
        known = value in {one.name for one in self._choices}
        listed = gr.update(
            choices=[(one.label, one.name) for one in self._choices],
            value=value if known else None,
        )
        reasons = "".join(
            f"<li><strong>{plain(one.label)}</strong>: {plain(one.why_not)}</li>"
            for one in found
            if one.why_not
        )
        return listed, f'<ul class="cw-note">{reasons}</ul>'

    # ---- kept conversations --------------------------------------------------------------------

    def list_kept(self, search: object, session: Session) -> str:
        """Return the kept conversations that hold some words."""
        words = search[:LONGEST] if isinstance(search, str) else ""
        name = session.library or self.shelf.first
        if not self.shelf.is_ready(name):
            return ""
        try:
            return saving.listed_html(self.shelf.library(name), session, words)
        except RagError as exc:
            return f'<p class="cw-bad">{plain(str(exc))}</p>'

    def open_kept(self, event: gr.EventData, session: Session) -> Update:
        """Reopen a conversation of the list; returns chat, panel, list and title."""
        value = getattr(event, "value", None)
        found = _ACTION.fullmatch(value) if isinstance(value, str) else None
        number = int(found[1]) if found else 0
        if not 0 < number <= len(session.listed):
            return (*[gr.skip()] * 4,)
        try:
            library = self.shelf.library(session.library or self.shelf.first)
            saving.reopen(library, session, session.listed[number - 1])
        except RagError as exc:
            gr.Warning(str(exc))
            return (*[gr.skip()] * 4,)
        session.filters = Filters()
        last = session.exchanges[-1] if session.exchanges else None
        panel = sources_html(last.answer, last.number) if last and last.answer else EMPTY
        return session.messages(), panel, self.list_kept("", session), ""

    def rename(self, title: object, session: Session) -> Update:
        """Name the open conversation; returns list and title."""
        library = self.shelf.library(session.library or self.shelf.first)
        if session.saved_as is None or not isinstance(title, str):
            gr.Info("Ask something, or open a conversation, to name it.")
            return gr.skip(), gr.skip()
        try:
            library.conversations.rename(session.saved_as, title)
        except RagError as exc:
            gr.Warning(str(exc))
        return self.list_kept("", session), ""

    def remove(self, session: Session) -> Update:
        """Delete the open conversation; returns chat, panel and list."""
        library = self.shelf.library(session.library or self.shelf.first)
        if session.saved_as is None:
            gr.Info("No conversation is open.")
            return gr.skip(), gr.skip(), gr.skip()
        try:
            library.conversations.delete(session.saved_as)
        except RagError as exc:
            gr.Warning(str(exc))
        session.clear()
        return [], EMPTY, self.list_kept("", session)
