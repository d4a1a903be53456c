"""The page: its parts, where they stand, and what happens when somebody touches them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.events import api

from rag.errors import RagError

from .api import Api
from .chat import Chat
from .escape import plain
from .session import Session
from .shelf import SAMPLE, Shelf
from .sources import EMPTY

MATHS: list[dict[str, str | bool]] = [
    {"left": "\\(", "right": "\\)", "display": False},
    {"left": "\\[", "right": "\\]", "display": True},
]
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
BRIDGE = """
window.citewell.send = (value) => trigger('click', { value: value });
"""


def asset(name: str) -> str:
    """Return the text of a packaged asset."""
    return resources.files(__package__).joinpath("assets", name).read_text("utf-8")


def theme() -> gr.themes.Base:
    """Return the theme: system fonts only, nothing is fetched."""
    fonts = ["system-ui", "-apple-system", "Segoe UI", "Noto Sans", "sans-serif"]
    mono = ["ui-monospace", "DejaVu Sans Mono", "monospace"]
    return gr.themes.Base(
        primary_hue="teal", neutral_hue="slate", font=fonts, font_mono=mono, radius_size="md"
    )


def head() -> str:
    """Return what goes into the page's head: our script."""
    return f"<script>{asset('page.js')}</script>"


def css_file() -> Path:
    """Return the path of the page's style sheet."""
    return Path(str(resources.files(__package__).joinpath("assets", "page.css")))


class Page:
    """Builds the page once; sessions differ only in their ``Session``.

    Args:
        shelf: The libraries of this process.
    """

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.chat = Chat(shelf)
        self.api = Api(shelf)

    def build(self) -> gr.Blocks:
        """Return the page as Gradio's Blocks, its queue set up."""
        blocks: gr.Blocks
        with gr.Blocks(title="Citewell", analytics_enabled=False, fill_width=True) as blocks:
            self.session = gr.State(Session(), time_to_live=None)
            self._header()
            with gr.Tabs(elem_id="cw-tabs"), gr.Tab("Ask", id="ask"):
                self._ask_tab()
            self._wire(blocks)
        blocks.queue(default_concurrency_limit=64, max_size=512)
        return blocks

    def _header(self) -> None:
        with gr.Row(elem_id="cw-header", equal_height=True):
            gr.HTML(KNOWS, elem_id="cw-brand")
            self.state_line = gr.HTML(_loading("…"), elem_id="cw-state")
            theme_button = gr.Button("◐ Theme", elem_id="cw-theme", size="sm", scale=0)
        theme_button.click(None, js="() => window.citewell.theme()", api_visibility="private")

    def _ask_tab(self) -> None:
        with gr.Row(elem_id="cw-ask"):
            with gr.Column(scale=3, min_width=320, elem_id="cw-left"):
                self.chatbot = _chatbot(EXAMPLES if self.shelf.first == SAMPLE else ())
                self._question_row()
            with gr.Column(scale=2, min_width=320, elem_id="cw-right"):
                self.panel = gr.Markdown(
                    EMPTY, elem_id="cw-sources", latex_delimiters=MATHS, container=False
                )
        self.bridge = gr.HTML("", elem_id="cw-bridge", js_on_load=BRIDGE)

    def _question_row(self) -> None:
        with gr.Row(elem_id="cw-asking", equal_height=True):
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
            self.new = gr.Button("New chat", scale=0, min_width=80, elem_id="cw-new")

    def _wire(self, blocks: gr.Blocks) -> None:
        chat, session = self.chat, self.session
        gr.on(
            [self.box.submit, self.send.click], chat.ask, [self.box, session],
            [self.chatbot, self.box, self.panel, self.send, self.stop],
            show_progress="hidden", concurrency_limit=64, trigger_mode="multiple",
            api_name="page_ask", api_visibility="private",
        )  # fmt: skip
        light: dict[str, Any] = {
            "queue": False,
            "show_progress": "hidden",
            "api_visibility": "private",
        }
        self.stop.click(chat.stop, [session], None, **light)
        self.new.click(chat.clear, [session], [self.chatbot, self.box, self.panel], **light)
        self.bridge.click(
            self._follow, [session], [self.box, self.panel], api_name="page_follow", **light
        )
        self.chatbot.example_select(_example, None, [self.box], **light)
        blocks.load(self._tell_state, [session], [self.state_line], show_progress="hidden",
                    concurrency_limit=64, api_visibility="private")  # fmt: skip
        api(self.api.ask, api_name="ask")
        api(self.api.libraries, api_name="libraries")

    def _follow(self, event: gr.EventData, session: Session) -> tuple[Any, ...]:
        return self.chat.follow(getattr(event, "value", None), session)

    async def _tell_state(self, session: Session) -> AsyncIterator[str]:
        """Say that the models are being loaded, then what there is to ask."""
        name = session.library or self.shelf.first
        while not self.shelf.is_ready(name):
            yield _loading(name)
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
