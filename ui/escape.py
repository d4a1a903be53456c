"""Untrusted text → HTML that shows exactly this text, formulas apart. Pure.

The chat renders Markdown with HTML and formulas. A text goes into one HTML block without a line
break, where Markdown means nothing, and every sign that HTML or KaTeX could read is defused.
"""

import html
import re
from urllib.parse import quote, urlsplit

from .maths import pieces

# Control characters, marks that turn the direction of writing, and half surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff"
    "\ud800-\udfff]"
)
_BREAK = re.compile(r"\r\n|[\r\n\u2028\u2029]")
_DELIMITER = re.compile(r"\\(?=[(\[)\]])")
LONGEST_ADDRESS = 2000


def plain(text: str) -> str:
    """Return a text as HTML: nothing in it is a tag, a formula or Markdown."""
    shown = html.escape(_UNSEEN.sub("�", text), quote=True)
    # A backslash and a bracket apart: KaTeX looks for its marks inside one text node.
    shown = _DELIMITER.sub(r"\\<wbr>", shown).replace("%%%", "%%<wbr>%")
    return _BREAK.sub("<br>", shown)


def with_maths(text: str) -> str:
    r"""Return a text as HTML in which formulas are marked ``\(…\)`` or ``\[…\]`` for KaTeX."""
    return "".join(
        plain(piece.raw) if piece.kind == "text" else _formula(piece.kind, piece.text)
        for piece in pieces(text)
    )


def _formula(kind: str, inside: str) -> str:
    opening, closing = ("\\(", "\\)") if kind == "inline" else ("\\[", "\\]")
    flat = " ".join(_UNSEEN.sub(" ", inside).split())
    return f"{opening}{html.escape(flat, quote=False)}{closing}"


def attribute(text: str, longest: int = 300) -> str:
    """Return a text for an HTML attribute, on one line and not too long."""
    flat = " ".join(_UNSEEN.sub(" ", text).split())
    shown = flat if len(flat) <= longest else flat[: longest - 1] + "…"
    return html.escape(shown, quote=True).replace("\\", "&#92;").replace("%%%", "% %%")


def address(url: str | None) -> str | None:
    """Return an address that may become a link, escaped; None for anything but http and https."""
    if not url or len(url) > LONGEST_ADDRESS or any(c.isspace() for c in url):
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return None
    if not usable or "@" in parts.netloc or not url.isprintable():
        return None
    return html.escape(quote(url, safe="/:?#[]!$&'()*+,;=%~@"), quote=True).replace("\\", "%5C")


def link(url: str | None, words: str, css: str = "cw-link") -> str:
    """Return a link that opens in a new tab and tells the other side nothing; "" if unsafe."""
    safe = address(url)
    if safe is None:
        return ""
    return (
        f'<a class="{css}" href="{safe}" target="_blank" rel="noopener noreferrer">'
        f"{plain(words)}</a>"
    )
