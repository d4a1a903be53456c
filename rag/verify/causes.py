"""What causes what, and what is taken rather than what: the same way round? Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from . import Finding, listed
from .reading import Text, Token
from .stems import akin

_SIDE = 12  # words of a side
_GAP = 5  # tokens from "leads" to its "to"
_ENDS = frozenset(listed("; but whereas although however"))
# What comes first is the cause: "A causes B", "A leads to B".
_CAUSING = frozenset(
    listed("cause causes caused causing trigger triggers triggered triggering induces")
)
_LEADING = {
    **dict.fromkeys(listed("lead leads led leading"), "to"),
    **dict.fromkeys(listed("result results resulted resulting"), "in"),
    **dict.fromkeys(listed("give gives giving gave"), "rise"),
}
# What comes last is the cause: "B due to A", "B stems from A".
_OWED = {
    "due": "to", "owing": "to", "thanks": "to", "because": "of", "attributed": "to",
    "attributable": "to",
    **dict.fromkeys(
        listed(
            "result results resulted resulting stem stems stemmed stemming arise arises arose "
            "arising originate originates"
        ),
        "from",
    ),
}  # fmt: skip
# What comes first is taken, and what comes last is not.
_CHOICES = (("rather", "than"), ("instead", "of"), ("as", "opposed"), ("in", "lieu"))
_CHOSEN = 4  # words of a side of a choice


@dataclass(frozen=True, slots=True)
class Sides:
    """The stems on the two sides of a relation that cannot be turned round, and its words."""

    words: str
    first: frozenset[str]
    last: frozenset[str]


def compare_causes(statement: Text, source: Text) -> list[Finding]:
    """Look for causes and effects, or for what is taken and what is not, that changed places.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding.
    """
    for relations in (_causes, _choices):
        known = list(relations(source.tokens))
        for one in relations(statement.tokens):
            straight = max((_fit(one, other) for other in known), default=0)
            for other in known:
                crossed = Sides(other.words, other.last, other.first)
                if straight < _fit(one, crossed):
                    return [Finding(f"the two sides of “{one.words}” have changed places in it")]
    return []


def _fit(one: Sides, other: Sides) -> int:
    """Return how many words two relations share side by side; 0 unless both sides share one."""
    first = _common(one.first - one.last, other.first - other.last)
    last = _common(one.last - one.first, other.last - other.first)
    return first + last if first and last else 0


def _common(one: frozenset[str], other: frozenset[str]) -> int:
    return sum(any(akin(a, b) for b in other) for a in one)


def _causes(tokens: Sequence[Token]) -> Iterator[Sides]:
    for index, token in enumerate(tokens):
        found = _pivot(tokens, index)
        if found is None:
            continue
        last, turned = found
        left, right = _left(tokens, index, last), _right(tokens, last)
        words = f"{token.text} {tokens[last].text}" if last > index else token.text
        yield Sides(words, right, left) if turned else Sides(words, left, right)


def _pivot(tokens: Sequence[Token], index: int) -> tuple[int, bool] | None:
    """Return where a relation's words end, and whether the cause comes last; None if none."""
    lower = tokens[index].lower
    following = tokens[index + 1].lower if index + 1 < len(tokens) else ""
    if _OWED.get(lower) == following:
        return index + 1, True
    if lower in _CAUSING:
        return (index + 1, True) if following == "by" else (index, False)
    wanted = _LEADING.get(lower)
    if wanted and wanted in [one.lower for one in tokens[index + 1 : index + 1 + _GAP]]:
        return index, False
    return None


def _left(tokens: Sequence[Token], index: int, last: int) -> frozenset[str]:
    """Return what stands before a relation; behind it up to a comma where it begins a sentence."""
    found = _until(reversed(tokens[:index]), tokens[index], _SIDE)
    if found:
        return found
    comma = next((n for n in range(last, len(tokens)) if tokens[n].text == ","), len(tokens))
    return _until(tokens[comma + 1 :], tokens[index], _SIDE)


def _right(tokens: Sequence[Token], last: int) -> frozenset[str]:
    """Return what stands behind a relation, up to the next one, or to a comma in a fronted one."""
    found: list[Token] = []
    for place in range(last + 1, len(tokens)):
        if _pivot(tokens, place) is not None or tokens[place].text == ",":
            break
        found.append(tokens[place])
    return _until(found, tokens[last], _SIDE)


def _until(tokens: Iterator[Token] | Sequence[Token], at: Token, most: int) -> frozenset[str]:
    found: list[str] = []
    for token in tokens:
        if token.sentence != at.sentence or token.lower in _ENDS or len(found) == most:
            break
        if token.content:
            found.append(token.stem)
    return frozenset(found)


def _choices(tokens: Sequence[Token]) -> Iterator[Sides]:
    for index in range(len(tokens) - 1):
        pair = (tokens[index].lower, tokens[index + 1].lower)
        if pair not in _CHOICES:
            continue
        left = _until(reversed(tokens[:index]), tokens[index], _CHOSEN)
        behind = tokens[index + 2 :]
        comma = next((n for n, one in enumerate(behind) if one.text == ","), len(behind))
        right = _until(behind[:comma], tokens[index], _CHOSEN)
        first = left or _until(behind[comma + 1 :], tokens[index], _SIDE)
        yield Sides(" ".join(pair), first, right)
