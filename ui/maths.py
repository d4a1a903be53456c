"""Text → stretches of text and formulas: which dollars are maths and which are prices. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "inline", "display"]

LONGEST = 1000  # characters of a formula; what is longer stays text
_OPEN = re.compile(r"\\[\\$]|\\\(|\\\[|\$\$|\$")
_CLOSE = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)
_MACRO = re.compile(r"\\[A-Za-z]+|\\.", re.DOTALL)
_PROSE = re.compile(r"[^\W\d_]{3,}\s|\s[^\W\d_]{2,}\s")
_NAMES = re.compile(r"\\(?:text|mathrm|operatorname|mathit|mathbf|textbf)\s?\{[^{}]*\}")
# What could load something, change later formulas or grow without bound is shown as it stands.
_REFUSED = re.compile(
    r"\\(?:href|url|includegraphics|html|def|gdef|edef|xdef|let|newcommand|renewcommand|"
    r"providecommand|rule|kern|mkern|hskip|mskip|raisebox|global|futurelet|char|csname)"
)


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text. For a formula, ``text`` is its inside; ``raw`` is always what stood."""

    kind: Kind
    text: str
    raw: str


def pieces(text: str) -> list[Piece]:
    r"""Split a text into plain text and formulas, in linear time; nothing is lost.

    Args:
        text: Any text. ``\(x\)``, ``\[x\]`` and ``$$x$$`` are formulas; ``$x$`` is one unless it
            reads like prices or prose: a blank inside the dollars, a digit after them, or words.

    Returns:
        Pieces whose ``raw`` joined give the text again.

    Example:
        >>> [p.kind for p in pieces("from $3000 to $25 with $E=mc^2$")]
        ['text', 'inline']
    """
    found: list[Piece] = []
    at = 0
    for start, end, kind, inside in _formulas(text):
        if start > at:
            found.append(Piece("text", text[at:start], text[at:start]))
        found.append(Piece(kind, inside, text[start:end]))
        at = end
    if at < len(text):
        found.append(Piece("text", text[at:], text[at:]))
    return found


def _formulas(text: str) -> Iterator[tuple[int, int, Kind, str]]:
    """Yield start, end, kind and inside of every formula."""
    at = 0
    while opening := _OPEN.search(text, at):
        at = opening.end()
        mark = opening[0]
        if mark in ("\\\\", "\\$"):
            continue
        end = _single(text, at) if mark == "$" else text.find(_CLOSE[mark], at, at + LONGEST)
        if end < 0:
            continue
        inside = text[at:end]
        if not _usable(inside):
            continue
        close = end + (1 if mark == "$" else 2)
        yield opening.start(), close, "inline" if mark in ("$", "\\(") else "display", inside
        at = close


def _single(text: str, start: int) -> int:
    """Return where a formula that opened with one dollar ends, or -1 for a price."""
    for found in _DOLLAR.finditer(text, start, start + LONGEST):
        if found[0] == "$":
            end = found.start()
            return end if _is_math(text, start, end) else -1
    return -1


def _is_math(text: str, start: int, end: int) -> bool:
    inside = text[start:end]
    if not inside or inside[0].isspace() or inside[-1].isspace():
        return False
    if text[end + 1 : end + 2].isdigit() or "\n" in inside:
        return False
    return not _PROSE.search(_MACRO.sub(" ", _NAMES.sub(" ", inside)) + " ")


def _usable(inside: str) -> bool:
    return bool(inside.strip()) and "\n\n" not in inside and not _REFUSED.search(inside)
