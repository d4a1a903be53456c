"""Praise for blame: whether a statement speaks ill of what its source praises. Pure."""

from functools import cache

from . import Finding, listed
from .negation import may_deny
from .opposites import opposites
from .reading import Text, Token

# Groups of opposites whose first side is welcome in a paper and whose second is not.
_VALUING = frozenset(
    listed(
        "quality change grade help virtue attraction attitude strength correctness outcome "
        "robustness"
    )
)
_BAD = frozenset(
    listed(
        "hinder difficult difficulty hard challenging challenge challenges expensive costly cost "
        "costs bad error errors fails fail failure limited limitation"
    )
)
_RANKS = frozenset(["best", "worst"])  # the best of a bad lot is no praise


def compare_valence(statement: Text, source: Text) -> list[Finding]:
    """Look for praise in one text and blame in the other.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one finding, which is not certain. Texts that deny anything give none.
    """
    theirs = {_value(token) for token in source.tokens} - {0}
    if len(theirs) != 1 or _denies(statement) or _denies(source):
        return []
    for token in statement.tokens:
        value = _value(token)
        if value and value not in theirs and token.lower not in source.lowers:
            rival = next(one for one in source.tokens if _value(one))
            return [Finding(f"says “{token.text}”, the source says “{rival.text}”", wrong=False)]
    return []


def _denies(text: Text) -> bool:
    return any(may_deny(t) for t in text.tokens if t.kind == "word" and not _value(t))


def _value(token: Token) -> int:
    return _values().get(token.lower, 0) if token.kind == "word" else 0


@cache
def _values() -> dict[str, int]:
    """Return +1 or -1 for every word that is always welcome, or never."""
    found = {word: -1 for word in _BAD}
    for word, groups in opposites().items():
        sides = {side for group, side in groups if group in _VALUING}
        if len(sides) == 1 and word not in found and word not in _RANKS:
            found[word] = sides.pop()
    return found
