"""Two alike words that changed places, told by the words around each of them. Pure."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from . import Finding, listed
from .opposites import opposites
from .reading import Text, Token

MOST_ALIKE = 25  # words that are looked at in pairs
_WINDOWS = ((3, 3), (5, 5), (0, 3))  # words before and behind
_GAINED = 2  # words around that belong to the other one in the source
_PASSED_OVER = frozenset(
    listed(
        "the a an of to and or in on for by with is are was were be been as that this these those "
        "it its from at which than their his her we our can may while whereas but also such has "
        "have"
    )
)


def compare_neighbours(statement: Text, source: Text) -> list[Finding]:
    """Look for "past" where the source has "future", and the reverse.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding, about two numbers or two opposites that stand among each
        other's words of the source.
    """
    mine, theirs = _words(statement), _words(source)
    pairs = _pairs(mine, theirs)
    for before, behind in _WINDOWS if pairs else ():
        here, there = _around(mine, before, behind), _around(theirs, before, behind)
        for one, other in pairs:
            if _are_exchanged(_key(one), _key(other), here, there):
                return [Finding(f"“{one.text}” and “{other.text}” have changed places in it")]
    return []


def _words(text: Text) -> list[Token]:
    return [t for t in text.tokens if t.kind != "mark" and t.lower not in _PASSED_OVER]


def _key(token: Token) -> str:
    return token.stem if token.kind == "word" else token.text


def _pairs(mine: Sequence[Token], theirs: Sequence[Token]) -> list[tuple[Token, Token]]:
    """Return the pairs of alike words that both texts hold once."""
    here, there = Counter(map(_key, mine)), Counter(map(_key, theirs))
    alike = [one for one in mine if _is_of_a_kind(one)]
    once = [one for one in alike if here[_key(one)] == there[_key(one)] == 1]
    return [pair for pair in combinations(once[:MOST_ALIKE], 2) if _are_alike(*pair)]


def _is_of_a_kind(token: Token) -> bool:
    return token.kind == "number" or token.lower in opposites()


def _are_alike(one: Token, other: Token) -> bool:
    if one.kind == "number" or other.kind == "number":
        return one.kind == other.kind
    sides = set(opposites().get(one.lower, ()))
    return any((group, -side) in sides for group, side in opposites().get(other.lower, ()))


def _around(words: Sequence[Token], before: int, behind: int) -> dict[str, frozenset[str]]:
    """Return for every word the few words around its first place."""
    keys = [_key(one) for one in words]
    found: dict[str, frozenset[str]] = {}
    for place, key in enumerate(keys):
        beside = keys[max(0, place - before) : place] + keys[place + 1 : place + 1 + behind]
        found.setdefault(key, frozenset(beside))
    return found


def _are_exchanged(
    one: str, other: str, here: dict[str, frozenset[str]], there: dict[str, frozenset[str]]
) -> bool:
    """Say whether each stands among words that the source has around the other, and no own ones."""
    only_one = here[one] - here[other] - {other}
    only_other = here[other] - here[one] - {one}
    gained = (
        len((only_one & there[other]) - there[one]),
        len((only_other & there[one]) - there[other]),
    )
    kept = (only_one & there[one]) - there[other] | (only_other & there[other]) - there[one]
    return min(gained) > 0 and sum(gained) >= _GAINED and not kept
