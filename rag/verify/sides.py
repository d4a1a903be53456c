"""Who is compared with whom: what stands on either side of "outperforms", "better … than". Pure."""

from collections.abc import Iterator, Sequence

from . import listed
from .opposites import COMPARING
from .reading import Token

_SIGHT = 40  # tokens on either side of a comparison that are looked at
_SIDE = 12  # words of a side
_PIVOT_WITHIN = 14  # tokens from "improvement" to its "over"
_ENDS = frozenset(listed("in on with by for at under using , ; ) while"))
_BEGINS = frozenset(["that", ";"])  # what a side begins behind
_PIVOTS = frozenset(listed("over to than upon against"))
# "prefer A to B", "A is favoured over B": the sides lie around the word that follows.
_CHOOSING = frozenset(
    listed(
        "prefer prefers preferred preferring favor favors favored favoring favour favours "
        "favoured favouring like likes liked"
    )
)
# "a gain over B": a comparison only with the word that follows.
_GAINING = frozenset(
    listed(
        "improvement improvements gain gains speedup speedups advantage advantages improve "
        "improves improved improving increase increases boost boosts acceleration reduction "
        "reductions superiority lead win wins"
    )
)
_LOSING = frozenset(listed("lose loses lost losing"))  # "A loses to B"
_OWN = frozenset(listed("we our ours us"))
_WORKS = frozenset(
    listed(
        "method methods approach approaches model models framework frameworks algorithm "
        "algorithms system systems technique techniques scheme architecture estimator solution"
    )
)
_POINTING = frozenset(listed("our the this these proposed novel new their its introduced"))
SELF = "§self"
"""Stands for what a paper proposes, however it is called."""


def compares(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a word sets one thing against another.

    Args:
        tokens: The tokens of a text.
        index: The word.
    """
    lower = tokens[index].lower
    if lower in _LOSING:
        return index + 1 < len(tokens) and tokens[index + 1].lower == "to"
    if lower in _GAINING or lower == "like":
        return _pivot(tokens, index) is not None
    return lower in COMPARING or lower in _CHOOSING


def sides_of(tokens: Sequence[Token], index: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of what is ahead in a comparison, and of what it is compared with.

    Args:
        tokens: The tokens of a text.
        index: The word that compares.
    """
    left, right = _left(tokens, index), _right(tokens, index)
    pivot = _pivot(tokens, index)
    if pivot is not None and tokens[index].lower in _CHOOSING | _GAINING:
        chosen = tokens[index + 1 : pivot]
        active = tokens[index].lower in _CHOOSING and _has_object(chosen)
        first = _stems(chosen) if active else left
        return first, _right(tokens, pivot)
    passive = index + 1 < len(tokens) and tokens[index + 1].lower == "by"
    return (_right(tokens, index + 1), left) if passive else (left, right)


def _has_object(words: Sequence[Token]) -> bool:
    return any(one.content for one in words) and words[0].lower not in ("by", "in", "for")


def _pivot(tokens: Sequence[Token], index: int) -> int | None:
    """Return the position of the "over" that belongs to a word, of "to" only behind a choice."""
    chooses = tokens[index].lower in _CHOOSING
    for place in range(index + 1, min(index + 1 + _PIVOT_WITHIN, len(tokens))):
        token = tokens[place]
        if token.sentence != tokens[index].sentence or token.text in ";,":
            return None
        if token.lower in _PIVOTS and (chooses or token.lower in ("over", "upon")):
            following = tokens[place + 1] if place + 1 < len(tokens) else None
            if following is not None and following.kind == "word":
                return place
    return None


def _left(tokens: Sequence[Token], index: int) -> frozenset[str]:
    found: list[Token] = []
    for token in reversed(tokens[max(0, index - _SIGHT) : index]):
        if token.sentence != tokens[index].sentence or (found and token.lower in _BEGINS):
            break
        found.append(token)
    return _stems(found[::-1], last=True)


def _right(tokens: Sequence[Token], index: int) -> frozenset[str]:
    found: list[Token] = []
    for token in tokens[index + 1 : index + 1 + _SIGHT]:
        ended = token.lower in _ENDS and any(one.content or _is_own(one) for one in found)
        if token.sentence != tokens[index].sentence or ended:
            break
        found.append(token)
    return _stems(found)


def _stems(tokens: Sequence[Token], *, last: bool = False) -> frozenset[str]:
    """Return the stems of the first or last few words."""
    words = list(_words(tokens))
    return frozenset(words[-_SIDE:] if last else words[:_SIDE])


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for index, token in enumerate(tokens):
        if _is_own(token) or _is_work(tokens, index):
            yield SELF
        elif token.content:
            yield token.stem


def _is_own(token: Token) -> bool:
    return token.lower in _OWN


def _is_work(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a word is the "method" of "the proposed method"."""
    pointed = index > 0 and tokens[index - 1].lower in _POINTING
    return pointed and tokens[index].lower in _WORKS
