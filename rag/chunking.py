"""Paper → Passages, cut at sentence ends and measured with the embedder's own tokenizer. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from .schema import Paper, Passage, Span
from .sentences import sentence_spans

CountTokens = Callable[[str], int]

TITLE_SHARE = 4  # a title takes at most a quarter of the window
_USUAL_WINDOW = 256
# Some tokenizers see one token in any stretch without spaces; a passage is bounded all the same.
_MAX_CHARS_PER_TOKEN = 16

_SPACE = re.compile(r"\s*")
_PIECE = re.compile(r"[A-Za-z0-9]{1,6}|[^\sA-Za-z0-9]")  # about one token, seldom more


def embedding_text(
    title: str,
    text: str,
    count_tokens: CountTokens | None = None,
    max_tokens: int = _USUAL_WINDOW,
) -> str:
    r"""Return what the embedder is given for a passage: the title and the passage, nothing else.

    Args:
        title: The paper's title; it is shortened at a word's end where it would take more than a
            quarter of the window, or, alone, more than all of it.
        text: The passage; empty for a paper without an abstract. It is never shortened.
        count_tokens: The embedder's counter. None shortens by an estimate, which for ordinary
            titles and windows from 256 tokens gives the same text.
        max_tokens: The embedder's window.

    Returns:
        A text that ends with ``text``.

    Example:
        >>> embedding_text("A title", "The passage.")
        'A title\nThe passage.'
    """
    limit = max(1, max_tokens // TITLE_SHARE) if text else max_tokens
    short = _shorten(" ".join(title[: limit * _MAX_CHARS_PER_TOKEN].split()), limit, count_tokens)
    return f"{short}\n{text}" if short and text else short or text


def passages(paper: Paper, count_tokens: CountTokens, max_tokens: int) -> list[Passage]:
    """Cut the abstract of a paper into passages that the embedder reads whole.

    Args:
        paper: The paper; only its title and abstract are used.
        count_tokens: Length of a text as the embedder counts it, special tokens and prefix
            included.
        max_tokens: The embedder's window; ``embedding_text`` of each passage keeps within it.

    Returns:
        As few passages as the window allows, of about equal length, each from the beginning of a
        sentence to the end of one, in order and together holding every sentence once. A sentence
        longer than the window is cut at white space or, without any, anywhere. One passage of
        length 0 for a paper that has only a title; none for one that has neither.
    """
    if not paper.abstract.strip():
        return [_passage(paper, 0, Span(0, 0))] if paper.title.strip() else []
    spans = _Cutter(paper, count_tokens, max_tokens).cut()
    return [_passage(paper, position, span) for position, span in enumerate(spans)]


def whole_passage(paper: Paper) -> Passage | None:
    """Return a paper's abstract as one passage, whatever its length; None without any words."""
    text = paper.abstract
    if not text.strip():
        return _passage(paper, 0, Span(0, 0)) if paper.title.strip() else None
    return _passage(paper, 0, Span(len(text) - len(text.lstrip()), len(text.rstrip())))


def _passage(paper: Paper, position: int, span: Span) -> Passage:
    text = paper.abstract[span.start : span.end]
    return Passage(f"{paper.id}#{position}", paper.id, position, span, text)


class _Cutter:
    """Cuts one abstract; token counts add up from sentences and are checked on the result."""

    def __init__(self, paper: Paper, count_tokens: CountTokens, max_tokens: int) -> None:
        self._text = paper.abstract
        self._count = count_tokens
        self._max = max_tokens
        self._head = embedding_text(paper.title, "|", count_tokens, max_tokens)[:-1]
        self._special = count_tokens("")  # counted with every text, needed once

    def cut(self) -> list[Span]:
        start = len(self._text) - len(self._text.lstrip())
        whole = Span(start, len(self._text.rstrip()))
        if self._fits([whole]):
            return [whole]
        sentences = sentence_spans(self._text)
        costs = [self._cost(span) for span in sentences]
        room = self._max - self._count(self._head)
        while True:
            room = max(1, room)
            spans = self._pack(sentences, costs, room)
            if room == 1 or self._fits(spans):
                return spans
            room -= 1 + room // 8  # the counts did not add up: a few tokens were joined anew

    def _fits(self, spans: Sequence[Span]) -> bool:
        texts = (self._text[span.start : span.end] for span in spans)
        return all(
            len(text) <= self._max * _MAX_CHARS_PER_TOKEN
            and self._count(self._head + text) <= self._max
            for text in texts
        )

    def _cost(self, span: Span) -> int:
        """Return the tokens of a stretch, special ones left out, and at least a share of 16."""
        text = self._text[span.start : span.end]
        return max(self._count(text) - self._special, 1 + len(text) // _MAX_CHARS_PER_TOKEN)

    def _pack(self, sentences: Sequence[Span], costs: Sequence[int], room: int) -> list[Span]:
        """Join sentences into as few passages as the room allows, the longest one being short."""
        units: list[tuple[Span, int]] = []
        for span, cost in zip(sentences, costs, strict=True):
            units.extend([(span, cost)] if cost <= room else self._split(span, cost, room))
        loads = [cost for _, cost in units]
        starts = [*_starts(loads, _evenest(loads, room)), len(units)]
        return [Span(units[i][0].start, units[j - 1][0].end) for i, j in pairwise(starts)]

    def _split(self, span: Span, cost: int, room: int) -> Iterator[tuple[Span, int]]:
        """Cut one overlong sentence; each piece is measured about twice, whatever its length."""
        start, size = span.start, max(1, (span.end - span.start) * room // cost)
        while start < span.end:
            piece = Span(start, self._cut_point(start, min(start + size, span.end), span.end))
            cost = self._cost(piece)
            length = piece.end - piece.start
            if cost > room and length > 1:
                size = max(1, min(length * room // cost, length - 1))
                continue
            yield piece, min(cost, room)
            size = max(1, 2 * length)
            gap = _SPACE.match(self._text, piece.end)
            start = gap.end() if gap else piece.end

    def _cut_point(self, start: int, stop: int, end: int) -> int:
        """Return the last white space before ``stop``, or ``stop`` where there is none."""
        if stop == end:
            return end
        piece = self._text[start : stop + 1]
        head = piece.rstrip() if piece[-1].isspace() else piece.rsplit(None, 1)[0]
        return stop if head == piece else start + len(head)


def _starts(loads: Sequence[int], room: int) -> list[int]:
    """Fill passages one after another; return the index at which each begins."""
    starts, load = [0], 0
    for index, cost in enumerate(loads):
        if load + cost > room and index > starts[-1]:
            starts.append(index)
            load = 0
        load += cost
    return starts


def _evenest(loads: Sequence[int], room: int) -> int:
    """Return the least room that needs no more passages than ``room`` does."""
    fewest = len(_starts(loads, room))
    low, high = max(loads), room
    while low < high:
        middle = (low + high) // 2
        if len(_starts(loads, middle)) > fewest:
            low = middle + 1
        else:
            high = middle
    return high


def _shorten(title: str, limit: int, count_tokens: CountTokens | None) -> str:
    """Return the longest beginning of a title that keeps within a limit of tokens."""
    ends = [piece.end() for piece in _PIECE.finditer(title)]
    end = len(title) if len(ends) <= limit else ends[limit - 1]
    if count_tokens and count_tokens(title[:end]) > limit:
        low, high = 0, end - 1
        while low < high:
            middle = (low + high + 1) // 2
            if count_tokens(title[:middle]) <= limit:
                low = middle
            else:
                high = middle - 1
        end = low
    if end == len(title) or title[end].isspace():
        return title[:end].rstrip()
    return title[:end].rsplit(None, 1)[0] if " " in title[:end].strip() else title[:end]
