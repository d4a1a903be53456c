"""How the page looks: theme, style sheet, script, marks of formulas."""

from importlib import resources
from pathlib import Path

import gradio as gr

MATHS: list[dict[str, str | bool]] = [
    {"left": "\\(", "right": "\\)", "display": False},
    {"left": "\\[", "right": "\\]", "display": True},
]


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
