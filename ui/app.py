"""The page: its parts, where they stand, and what happens when somebody touches them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.events import api

from rag.errors import RagError

from .api import Api
from .chat import Chat
from .escape import plain
from .evaluate_tab import EvaluateTab
from .library_tab import NOTHING, LibraryTab
from .looks import MATHS
from .saving import FORMATS
from .session import Session
from .shelf import SAMPLE, Shelf
from .side import Side
from .sources import EMPTY

WELCOME = (
    "### Ask your papers\n\nEvery sentence of an answer is bound to the sentence of an abstract it "
    "rests on. Where the papers hold no answer, you are told so."
)
KNOWS = (
    '<div class="cw-head"><div class="cw-name">Citewell</div><p>Knows the <strong>abstracts'
    "</strong> of your papers, not their full texts.</p></div>"
)
EXAMPLES = (
    "How does 4D3R refine camera poses?",
    "Which papers use diffusion models?",
    "Which benchmark evaluates causal inference?",
)
POLL_S = 0.2
AT_ONCE = 64
BRIDGE = "window.citewell.send = (value) => trigger('click', { value: value });"
LIGHT: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}


class Page:
    """Builds the page once; sessions differ only in their ``Session``.

    Args:
        shelf: The libraries of this process.
        uploads: The folder of uploaded files.
    """

    def __init__(self, shelf: Shelf, uploads: Path) -> None:
        self.shelf = shelf
        self.chat = Chat(shelf)
        self.api = Api(shelf)
        self.side = Side(shelf)
        self.library = LibraryTab(shelf, uploads)
        self.evaluate = EvaluateTab(shelf, uploads)

    def build(self) -> gr.Blocks:
        """Return the page as Gradio's Blocks, its queue set up."""
        blocks: gr.Blocks
        with gr.Blocks(title="Citewell", analytics_enabled=False, fill_width=True) as blocks:
            self.session = gr.State(Session(), time_to_live=None)
            with gr.Sidebar(open=False, width=300, elem_id="cw-side"):
                self.side.build()
            self._header()
            with gr.Tabs(elem_id="cw-tabs") as self.tabs:
                with gr.Tab("Ask", id="ask"):
                    self._ask_tab()
                with gr.Tab("Library", id="library") as self.library_tab:
                    self.library.build()
                with gr.Tab("Evaluate", id="evaluate"):
                    self.evaluate.build()
            self._wire_chat()
            self._wire_tools()
            self._wire_side(blocks)
        blocks.queue(default_concurrency_limit=AT_ONCE, max_size=512)
        return blocks

    # ---- layout --------------------------------------------------------------------------------

    def _header(self) -> None:
        with gr.Row(elem_id="cw-header", equal_height=True):
            gr.HTML(KNOWS, elem_id="cw-brand")
            self.brief = gr.HTML("", elem_id="cw-brief", apply_default_css=False)
            self.state_line = gr.HTML(_loading(self.shelf.first), elem_id="cw-state")
            self.theme = gr.Button("◐ Theme", elem_id="cw-theme", size="sm", scale=0)
        self.spoken = gr.HTML("", elem_id="cw-spoken", apply_default_css=False)

    def _ask_tab(self) -> None:
        with gr.Row(elem_id="cw-ask"):
            with gr.Column(scale=3, min_width=320, elem_id="cw-left"):
                self.chatbot = _chatbot(EXAMPLES if self.shelf.first == SAMPLE else ())
                self._note_row()
                self.scope = gr.HTML("", elem_id="cw-scope", apply_default_css=False)
                self._question_row()
            with gr.Column(scale=2, min_width=320, elem_id="cw-right"):
                self.panel = gr.Markdown(
                    EMPTY, elem_id="cw-sources", latex_delimiters=MATHS, container=False
                )
        self.bridge = gr.HTML("", elem_classes="cw-bridge", js_on_load=BRIDGE)

    def _note_row(self) -> None:
        with gr.Row(visible=False, elem_id="cw-noting") as self.noting:
            self.note = gr.Textbox(
                placeholder="What was good or wrong? (optional)", label="Note to the answer",
                show_label=False, container=False, max_lines=2, scale=6,
            )  # fmt: skip
            self.keep_note = gr.Button("Save note", scale=0, min_width=120, size="sm")

    def _question_row(self) -> None:
        with gr.Row(elem_id="cw-asking"):
            self.box = gr.Textbox(
                placeholder="Ask a question about the papers …", label="Your question",
                show_label=False, lines=1, max_lines=6, autofocus=True, scale=6,
                elem_id="cw-question", container=False,
            )  # fmt: skip
            self.send = gr.Button(
                "Ask", variant="primary", scale=0, min_width=80, elem_id="cw-send"
            )
            self.stop = gr.Button(
                "Stop", variant="stop", scale=0, min_width=80, elem_id="cw-stop", visible=False
            )
            self.new = gr.Button("New chat", scale=0, min_width=120, elem_id="cw-new")
        with gr.Row(elem_id="cw-exporting"):
            self.format = gr.Dropdown(
                list(FORMATS), value="Markdown", show_label=False, label="Format", container=False,
                scale=0, min_width=220, elem_id="cw-format",
            )  # fmt: skip
            self.export = gr.Button("Export", scale=0, min_width=90, size="sm", elem_id="cw-export")
        self.file = gr.JSON(visible=False)

    # ---- events --------------------------------------------------------------------------------

    def _wire_chat(self) -> None:
        chat, session = self.chat, self.session
        asked = gr.on(
            [self.box.submit, self.send.click], chat.ask, [self.box, session],
            [self.chatbot, self.box, self.panel, self.send, self.stop], concurrency_limit=AT_ONCE,
            trigger_mode="multiple", api_name="page_ask", **LIGHT,
        )  # fmt: skip
        self.asked = asked
        asked.then(self.side.list_kept, [self.side.search, session], [self.side.kept], **LIGHT)
        self.stop.click(chat.stop, [session], None, queue=False, **LIGHT)
        self.new.click(
            chat.clear, [session], [self.chatbot, self.box, self.panel], queue=False, **LIGHT
        )
        self.bridge.click(
            self._follow, [session], [self.box, self.panel, self.chatbot, self.noting, self.note],
            queue=False, api_name="page_follow", **LIGHT,
        )  # fmt: skip
        self.chatbot.example_select(_example, None, [self.box], queue=False, **LIGHT)

    def _wire_tools(self) -> None:
        gr.on(
            [self.keep_note.click, self.note.submit], self.chat.keep_note,
            [self.note, self.session], [self.noting], api_name="page_note", **LIGHT,
        )  # fmt: skip
        made = self.export.click(
            self.chat.export, [self.format, self.session], [self.file], api_name="page_export",
            **LIGHT,
        )  # fmt: skip
        made.then(None, [self.file], None, js="(file) => window.citewell.download(file)", **LIGHT)
        self.theme.click(None, js="() => window.citewell.theme()", api_visibility="private")

    def _wire_side(self, blocks: gr.Blocks) -> None:
        side, session = self.side, self.session
        self.library.wire(session, self.scope)
        self.evaluate.wire(session, self.box, self.tabs)
        turned = [self.chatbot, self.panel, self.scope, side.library]
        kept: dict[str, Any] = {
            "fn": side.list_kept, "inputs": [side.search, session], "outputs": [side.kept], **LIGHT
        }  # fmt: skip
        state: dict[str, Any] = {
            "fn": self._tell_state, "inputs": [session], "outputs": [self.state_line],
            "concurrency_limit": AT_ONCE, **LIGHT,
        }  # fmt: skip
        listed: dict[str, Any] = {
            "fn": self._list_papers, "inputs": [session],
            "outputs": [self.library.listed, self.library.detail], **LIGHT,
        }  # fmt: skip
        vectors: dict[str, Any] = {
            "fn": self.library.tell, "inputs": [session],
            "outputs": [self.library.timer, self.library.vectors, self.library.again, self.brief,
                        self.spoken],
            "queue": False, **LIGHT,
        }  # fmt: skip
        models = [side.answerer, side.reasons]
        loaded = blocks.load(**state)
        loaded.then(**kept)
        self._wire_vectors(vectors, loaded)
        blocks.load(side.refresh, [session], models, **LIGHT)
        switched = side.library.input(
            side.switch, [side.library, session], turned, api_name="page_switch", **LIGHT
        )
        made = side.create.click(side.make, [side.name, session], [*turned, side.name], **LIGHT)
        for event in (switched, made):
            event.then(**vectors).then(**state).then(**kept).then(**listed).then(**vectors)
            event.then(_hidden, None, [self.noting], **LIGHT)
        self.new.click(_hidden, None, [self.noting], **LIGHT)
        side.answerer.input(
            side.choose, [side.answerer, session], None, api_name="page_choose", **LIGHT
        )
        side.look.click(side.refresh, [session], models, **LIGHT)
        side.search.change(**kept)
        self.new.click(**kept)
        self.library_tab.select(**listed)
        for done in (self.library.added, self.library.undone):
            done.then(**state).then(**vectors)
        side.bridge.click(
            side.open_kept, [session], [self.chatbot, self.panel, side.kept, side.title],
            api_name="page_open", **LIGHT,
        )  # fmt: skip
        side.title.submit(side.rename, [side.title, session], [side.kept, side.title], **LIGHT)
        side.delete.click(side.remove, [session], [self.chatbot, self.panel, side.kept], **LIGHT)
        api(self.api.ask, api_name="ask")
        api(self.api.libraries, api_name="libraries")

    def _wire_vectors(self, vectors: dict[str, Any], loaded: Any) -> None:
        """Look how far the vectors are when that may be news, and by the timer while they come."""
        library, session = self.library, self.session
        for event in (loaded, self.asked):
            event.then(**vectors)
        library.timer.tick(**vectors)
        self.library_tab.select(**vectors)
        library.again.click(library.try_again, [session], None, queue=False, **LIGHT).then(
            **vectors
        )

    def _follow(self, event: gr.EventData, session: Session) -> tuple[Any, ...]:
        return self.chat.follow(getattr(event, "value", None), session)

    def _list_papers(self, session: Session) -> tuple[str, str]:
        try:
            return self.library.page(session), NOTHING
        except RagError as exc:
            return f'<p class="cw-bad" role="alert">✗ {plain(str(exc))}</p>', NOTHING

    async def _tell_state(self, session: Session) -> AsyncIterator[str]:
        """Say that the models are being loaded, then what there is to ask."""
        name = session.library or self.shelf.first
        while not self.shelf.is_ready(name):
            yield _loading(name)
            await asyncio.sleep(POLL_S)
        while session.importing is not None and not session.importing.state.is_over:
            await asyncio.sleep(POLL_S)
        yield await asyncio.to_thread(self._state, name)

    def _state(self, name: str) -> str:
        try:
            library = self.shelf.library(name)
            papers = library.status().papers
        except RagError as exc:
            return f'<p class="cw-state cw-bad" role="alert">✗ {plain(str(exc))}</p>'
        return (
            f'<p class="cw-state cw-ready" role="status">● <strong>{plain(library.name)}</strong>, '
            f"{papers:,} abstract{'' if papers == 1 else 's'}</p>"
        )


def _loading(name: str) -> str:
    return (
        '<p class="cw-state cw-loading" role="status"><span class="cw-spin"></span> Loading the '
        f"models and the library “{plain(name)}” …</p>"
    )


def _hidden() -> Any:
    return gr.update(visible=False)


def _example(event: gr.SelectData) -> str:
    """Return the text of the example that was chosen."""
    value = event.value
    return str(value.get("text", "")) if isinstance(value, dict) else ""


def _chatbot(examples: Sequence[str]) -> gr.Chatbot:
    return gr.Chatbot(
        elem_id="chat", show_label=False, label="Conversation", height=None, buttons=[],
        latex_delimiters=MATHS, layout="bubble", placeholder=WELCOME, feedback_options=None,
        examples=[{"text": text} for text in examples], sanitize_html=True,
        allow_file_downloads=False, container=False, editable=None,
    )  # fmt: skip
