"""A streamed answer as it may be shown: markers renumbered, a refusal held back. Pure."""

import re

from .citations import normalise_markers
from .sentences import MATHS

_OPEN = re.compile(r"[\[【(]|\$|\\[(\[]")
_BRACKET = re.compile(r"\[[^\[\]【】]{1,24}\]|【[^\[\]【】]{1,24}】|\([^()\[\]【】]{1,24}\)")
_TOKEN = re.compile(rf"{MATHS.pattern}|(?P<bracket>{_BRACKET.pattern})")
_MARKS = re.compile(r"(?:\[\d{1,6}\])+")
LONGEST = 26  # characters of a bracket that may still become a marker
LONGEST_FORMULA = 200  # characters of a formula that are waited for
_CONTEXT = 12  # characters before a bracket that tell an interval from a marker


class LiveMarkers:
    """Numbers markers in order of first use, as the finished answer will.

    A bracket is held back until it closes or grows too long to be a marker, a formula until it
    ends: ``[2]`` inside one is no marker. Markers that stand for no source are left out; the
    finished answer reports them.

    Args:
        sources: How many numbered sources the model was given.
    """

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._order: dict[int, int] = {}
        self._held = ""
        self._before = ""  # the end of what was let through, as the model wrote it

    def feed(self, piece: str) -> str:
        """Take the next piece and return what can be shown."""
        text = self._held + piece
        cut = _certain(text)
        self._held = text[cut:]
        return self._renumber(text[:cut])

    def finish(self) -> str:
        """Return what was still held back."""
        rest, self._held = self._held, ""
        return self._renumber(rest)

    def _renumber(self, text: str) -> str:
        whole, at = self._before + text, len(self._before)
        shown = []
        for token in _TOKEN.finditer(whole, at):
            shown.append(whole[at : token.start()])
            shown.append(self._replace(token) if token["bracket"] else token[0])
            at = token.end()
        self._before = whole[-_CONTEXT:]
        return "".join([*shown, whole[at:]])

    def _replace(self, token: re.Match[str]) -> str:
        before = token.string[max(0, token.start() - _CONTEXT) : token.start()]
        before = re.sub(r"[^\w\s∈=]", ".", before)  # nothing in it is a marker of its own
        marks = normalise_markers(before + token[0])[len(before) :].replace(" ", "")
        if not _MARKS.fullmatch(marks):
            return token[0]
        valid = [n for n in map(int, re.findall(r"\d+", marks)) if 1 <= n <= self._sources]
        return "".join(f"[{self._order.setdefault(n, len(self._order) + 1)}]" for n in valid)


def _certain(text: str) -> int:
    """Return up to where a text cannot change its meaning any more, whatever comes next."""
    at = 0
    while opened := _OPEN.search(text, at):
        start = opened.start()
        token = _TOKEN.match(text, start)
        if token and (token["bracket"] or token.end() < len(text)):
            at = token.end()
            continue
        limit = LONGEST_FORMULA if opened[0][0] in "$\\" else LONGEST
        if len(text) - start < limit and not text[start + 1 : start + 2].isspace():
            return start
        at = start + 1
    return len(text) - text.endswith("\\")


class HeldPhrase:
    """Holds a stream back while it may be a fixed phrase that is not to be shown.

    Args:
        phrase: What the stream may begin with, in capitals; case does not matter.
    """

    def __init__(self, phrase: str) -> None:
        self._phrase = phrase
        self._held = ""
        self._is_other = False

    def feed(self, piece: str) -> str:
        """Take the next piece and return what can be shown."""
        if self._is_other:
            return piece
        self._held += piece
        opening = self._held.lstrip("\"'“*`_ \t\n").upper()[: len(self._phrase)]
        self._is_other = not self._phrase.startswith(opening)
        return self.finish() if self._is_other else ""

    def finish(self) -> str:
        """Return what was held back."""
        rest, self._held = self._held, ""
        return rest
