"""Two words that changed places: "A for B and C for D" said as "C for B and A for D". Pure."""

from collections import Counter

from . import Finding
from .direction import directions
from .reading import Text, Token

# "A is done by B", "replaces A with B", "B in place of A", "B instead of A".
_TURN = frozenset({"by", "instead", "replac", "place", "rather", "substitut"})
FEWEST = 5  # words that both texts hold once, in all
_MOST_NEW = 0.45  # share of a statement's words that may be new
_APART = 2  # neighbours in a list may be named in any order


def compare_places(statement: Text, source: Text) -> list[Finding]:
    """Look for two words whose exchange would put a statement's words into its source's order.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding. Texts that share few words, or whose words stand in quite
        another order, give none; nor do a passive, or the opposite word with the sides exchanged.
    """
    if _turners(statement) != _turners(source):
        return []
    mine = _once(statement)
    places = {key: place for place, key in enumerate(_once(source))}
    shared = [(token, places[key]) for key, token in mine.items() if key in places]
    if len(shared) < max(FEWEST, (1 - _MOST_NEW) * len(mine)) or _turned_round(statement, source):
        return []
    order = [place for _, place in shared]
    exchanged = _exchanged(order)
    if exchanged is None or _is_compound(source, order[exchanged[0]], order[exchanged[1]]):
        return []
    one, other = shared[exchanged[0]][0], shared[exchanged[1]][0]
    if not _may_matter(one, other, exchanged):
        return []
    return [Finding(f"“{one.text}” and “{other.text}” have changed places in it")]


def _turners(text: Text) -> frozenset[str]:
    """Return the words that exchange the sides of a sentence: "replaces A by B", "B for A"."""
    return _TURN & frozenset(one for token in text.tokens for one in (token.lower, token.stem))


def _once(text: Text) -> dict[str, Token]:
    """Return the words and numbers that a text holds once, in order."""
    found = [t for t in text.tokens if t.content or t.kind == "number"]
    counts = Counter(token.stem for token in found)
    return {token.stem: token for token in found if counts[token.stem] == 1}


def _is_compound(source: Text, one: int, other: int) -> bool:
    """Say whether only names lie between two words: "data corruption robustness"."""
    tokens = list(_once(source).values())
    first, last = sorted((tokens[one].start, tokens[other].start))
    return all(t.content or t.text == "-" for t in source.tokens if first <= t.start <= last)


def _exchanged(order: list[int]) -> tuple[int, int] | None:
    """Return the two positions whose exchange sorts a list; None if it is sorted or needs more."""
    wrong = [
        n for n, (here, there) in enumerate(zip(order, sorted(order), strict=True)) if here != there
    ]
    return (wrong[0], wrong[1]) if len(wrong) == 2 else None


def _may_matter(one: Token, other: Token, places: tuple[int, int]) -> bool:
    """Say whether two words are more than neighbours in a list; the order of numbers counts."""
    return places[1] - places[0] >= _APART or one.kind == other.kind == "number"


def _turned_round(statement: Text, source: Text) -> bool:
    """Say whether one of the two compares with the opposite word of the other's."""
    mine = {(one.group, one.side) for one in directions(statement) if one.compares}
    theirs = {(one.group, -one.side) for one in directions(source) if one.compares}
    return bool((mine & theirs) - {(group, -side) for group, side in theirs})
