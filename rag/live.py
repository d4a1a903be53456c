"""Markers of a streamed answer, renumbered while the text is still coming. Pure."""

import re

from .citations import normalise_markers

_OPEN = "[【"
_CLOSED = re.compile(r"[\[【][^\[\]【】]{1,24}[\]】]")
LONGEST = 26  # characters of a bracket that may still become a marker


class LiveMarkers:
    """Numbers markers in order of first use, as the finished answer will.

    A bracket is held back until it closes or grows too long to be a marker. Markers that stand for
    no source are left out; the finished answer reports them.

    Args:
        sources: How many numbered sources the model was given.
    """

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._order: dict[int, int] = {}
        self._held = ""

    def feed(self, piece: str) -> str:
        """Take the next piece and return what can be shown."""
        text = self._held + piece
        cut = max(text.rfind(mark) for mark in _OPEN)
        open_ended = cut >= 0 and not _CLOSED.match(text, cut) and len(text) - cut < LONGEST
        self._held = text[cut:] if open_ended else ""
        return self._renumber(text[:cut] if open_ended else text)

    def finish(self) -> str:
        """Return what was still held back."""
        rest, self._held = self._held, ""
        return rest

    def _renumber(self, text: str) -> str:
        return _CLOSED.sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        numbers = re.fullmatch(r"(?:\[\d+\])+", normalise_markers(match[0]).replace(" ", ""))
        if numbers is None:
            return match[0]
        used = [int(n) for n in re.findall(r"\d+", numbers[0])]
        valid = [n for n in used if 1 <= n <= self._sources]
        return "".join(f"[{self._order.setdefault(n, len(self._order) + 1)}]" for n in valid)
