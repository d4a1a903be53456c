"""Take the reasoning blocks out of what a language model writes, streamed or whole. Pure."""

import re
from dataclasses import dataclass

_TAG = re.compile(r"<(/?)(?:think|thinking|thought|reasoning)\s{0,3}>", re.IGNORECASE)
_PART_OF_TAG = re.compile(r"<(?:/?[a-z]{0,9}\s{0,3})?$", re.IGNORECASE)
_LONGEST_TAG = 16
_QUOTES = tuple("`'\"“‘«")


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A reply taken apart. ``is_open``: a reasoning block never ended, so the answer is cut off."""

    answer: str
    reasoning: str
    is_open: bool


class ReasoningFilter:
    """Keeps ``<think>…</think>`` blocks out of a stream, wherever its pieces are cut.

    A tag in quotes or backticks is text. A block that opens within a sentence and never closes
    turns out to be text as well, and is given back by ``finish``.

    Args:
        inside: Whether the stream begins inside a block, as with prompt templates that open it.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._buffer = ""
        self._tail = ""  # the end of what was let through
        self._inside = inside
        self._opened_by = ""  # the tag, if it came within a sentence and may yet be text
        self._held: list[str] = []
        self._reasoning: list[str] = []
        self._skip_space = True

    @property
    def is_open(self) -> bool:
        """Say whether a block has begun and not ended."""
        return self._inside

    @property
    def reasoning(self) -> str:
        """Return what stood in the blocks so far."""
        return "".join(self._reasoning + self._held)

    def feed(self, piece: str) -> str:
        """Take the next piece of the stream; return what of the answer is certain by now."""
        text = self._buffer + piece
        out, position = [], 0
        for tag in _TAG.finditer(text):
            out.append(self._pass(text[position : tag.start()]))
            out.append(self._turn(tag))
            position = tag.end()
        kept = _PART_OF_TAG.search(text, max(position, len(text) - _LONGEST_TAG))
        cut = kept.start() if kept else len(text)
        out.append(self._pass(text[position:cut]))
        self._buffer = text[cut:]
        return "".join(out)

    def finish(self) -> str:
        """End the stream; return the rest of the answer."""
        rest = self._pass(self._buffer)
        self._buffer = ""
        if self._inside and self._opened_by:
            self._inside = False
            rest, self._held = self._opened_by + "".join(self._held), []
        return rest

    def _pass(self, text: str) -> str:
        if self._inside:
            self._held.append(text)
            return ""
        if self._skip_space:
            text = text.lstrip()
        if text:
            self._skip_space = False
            self._tail = (self._tail + text)[-_LONGEST_TAG:]
        return text

    def _turn(self, tag: re.Match[str]) -> str:
        """Go into or out of a block; return the tag where it is text."""
        if self._inside:
            if tag[1]:
                self._inside = False
                self._reasoning += self._held
                self._held = []
                self._skip_space = not self._tail or self._tail[-1].isspace()
            return ""
        if self._tail.endswith(_QUOTES):
            return self._pass(tag.group())
        if not tag[1]:
            self._inside = True
            before = self._tail.rstrip(" \t")[-1:]
            is_within = before.isalnum() or before in tuple(",;-")
            self._opened_by = tag.group() if is_within else ""
        return ""


def split_reasoning(text: str) -> Reasoned:
    """Take the reasoning blocks out of a whole reply.

    Args:
        text: The reply. If a closing tag comes first, the block began in the prompt, and all before
            that tag is reasoning.

    Returns:
        The answer and the reasoning, both without outer white space.

    Example:
        >>> split_reasoning("<think>cite [3]</think>A [1]").answer
        'A [1]'
    """
    first = _TAG.search(text)
    began_before = bool(first and first[1] and not text[: first.start()].endswith(_QUOTES))
    stream = ReasoningFilter(inside=began_before)
    answer = stream.feed(text) + stream.finish()
    return Reasoned(answer.strip(), stream.reasoning.strip(), stream.is_open)
