"""Whether two numbers of a statement belong to the things they belong to in the source. Pure."""

from collections.abc import Sequence
from itertools import combinations

from ..quantities import Quantity, quantities
from . import Finding
from .amounts import fits_unit, same_value, unsigned
from .reading import Text
from .stems import akin

MOST_NUMBERS = 12  # of a statement that are compared with one another
_FARTHEST = 10  # tokens between a number and what it belongs to
_CROSSING = 3  # a comma or bracket counts like so many tokens


def compare_roles(statement: Text, source: Text) -> list[Finding]:
    """Look for numbers that changed places: "13 languages and 19 data sets" for the reverse.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding.
    """
    known = [unsigned(one, statement) for one in quantities(source)]
    pairs = [
        (said, matches[0])
        for said in quantities(statement)
        if said.value and not (said.spelt and said.value <= 1)
        if len(matches := [one for one in known if same_value(said, one) and fits_unit(said, one)])
        == 1
    ]
    for one, other in combinations(pairs[:MOST_NUMBERS], 2):
        if one[0].dimension != other[0].dimension:
            continue
        if _listed(one[0], other[0]) or _listed(one[1], other[1]):
            continue
        if _swapped(statement, source, one, other):
            numbers = f"“{one[0].text}” and “{other[0].text}”"
            return [Finding(f"{numbers} belong to other things in the source")]
    return []


def _listed(one: Quantity, other: Quantity) -> bool:
    """Say whether two numbers are one, or stand side by side: "13 and 28 %"."""
    return other.index - one.end <= 1 and one.index - other.end <= 1


def _swapped(
    statement: Text,
    source: Text,
    one: tuple[Quantity, Quantity],
    other: tuple[Quantity, Quantity],
) -> bool:
    straight = crossed = 0
    for anchor in statement.stems:
        here = _nearer(statement, anchor, one[0], other[0])
        there = _nearer(source, anchor, one[1], other[1])
        straight += here * there > 0
        crossed += here * there < 0
    return crossed > straight


def _nearer(text: Text, anchor: str, one: Quantity, other: Quantity) -> int:
    """Return 1 if a word is nearer to the first number, -1 if to the second, 0 if to neither."""
    places = [
        i for i, token in enumerate(text.tokens) if token.content and akin(token.stem, anchor)
    ]
    if len(places) != 1:
        return 0
    first, second = (_distance(text, places[0], number) for number in (one, other))
    if min(first, second) > _FARTHEST or first == second:
        return 0
    return 1 if first < second else -1


def _distance(text: Text, place: int, number: Quantity) -> int:
    low, high = (place, number.index) if place < number.index else (number.end, place)
    between: Sequence[str] = [token.text for token in text.tokens[low:high]]
    return len(between) + _CROSSING * sum(word in (",", ";", ")", ".") for word in between)
