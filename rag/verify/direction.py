"""More or less, better or worse, before or after: the same way round as in the source? Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from . import Finding, listed
from .lexicon import STRONG
from .negation import reaches
from .opposites import COSTS, opposites
from .reading import MOST, Text, Token
from .sides import compares, sides_of
from .stems import akin, stem

_REACH = 4  # words on either side that a direction is said of
_SIGHT = 40  # tokens on either side in which these are looked for
_NEXT_TO = 2
_NUMBERS = 16  # tokens behind a direction in which its number is looked for
_HEAD_COUNTS = 3
_MUCH = 2  # words in common that make two changes one of the same thing
_FOCUS = ("sufficiency", "completeness", "share", "frequency", "grade")  # what a denial turns
_NEVER_SOLE = frozenset(listed("order choice coverage extreme size effort structure"))
# Groups whose words have an opposite before this word only: "lower bound", "zero-shot".
_BEFORE = {
    "bound": "bound", "shots": "shot", "box": "box", "supervision": stem("supervised"),
    "phase": stem("time"), "case": "case", "kind of attention": stem("attention"),
}  # fmt: skip
_GAPS = frozenset(map(stem, listed("gap difference distance divide disparity discrepancy")))
_SET_WITH_NEXT = frozenset(
    [("few", "shot"), ("few", "step")]
    + [(fall, after) for fall in listed("fall falls fell falling fallen")
       for after in listed("short into under back")]
)  # fmt: skip
_SET_WITH_LAST = frozenset(
    [("or", "more"), ("no", "more"), ("or", "less"), ("no", "less"), ("as", "long")]
)
_LESS = frozenset(["less", "least"])
_DEGREES = _LESS | {"more", "most"}
_OF_COSTS = ("amount", "quality", "change")


@dataclass(frozen=True, slots=True)
class Direction:
    """One word with an opposite, which way it points, and what it is said of."""

    index: int
    word: str
    group: str
    side: int  # +1 or -1, turned round by a denial
    near: frozenset[str]
    next_to: frozenset[str]
    head: str | None  # the word right behind it
    before: frozenset[str]
    after: frozenset[str]
    compares: bool
    of_costs: bool  # "reduces the error"
    denied: bool
    degree: int  # -1 behind "less", else 1
    following: str  # the word right behind it, as it is written


def directions(text: Text) -> list[Direction]:
    """Return the words of a text that have an opposite, once for each group they belong to."""
    return list(islice(_directions(text), MOST))


def _directions(text: Text) -> Iterator[Direction]:
    tokens = text.tokens
    denied, in_scope = _denied(text), _in_scope(text)
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        groups = opposites().get(token.lower)
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        for group, side in groups or ():
            if not _means_it(token, group, following, tokens, index):
                continue
            is_turned = index in denied or (group in _FOCUS and index in in_scope)
            turned = -side if is_turned else side
            before, after = sides_of(tokens, index)
            yield Direction(
                index,
                token.lower,
                group,
                turned,
                _near(tokens, index, _REACH),
                _near(tokens, index, _NEXT_TO),
                following.stem if following and following.content else None,
                before,
                after,
                compares(tokens, index),
                _of_costs(tokens, index),
                index in denied,
                -1 if index and tokens[index - 1].lower in _LESS else 1,
                following.lower if following else "",
            )


def _denied(text: Text) -> set[int]:
    """Return the positions of the words that a strong denial stands right before."""
    return {
        place
        for index, reached in reaches(text)
        if text.tokens[index].lower in STRONG
        for place in _first_words(text, index, reached)
    }


def _in_scope(text: Text) -> set[int]:
    """Return the positions behind a strong denial in its clause: "not explored … enough"."""
    found: set[int] = set()
    for index, _ in reaches(text):
        if text.tokens[index].lower in STRONG:
            clause = text.tokens[index].clause
            behind = range(index + 1, min(index + 1 + _SIGHT, len(text.tokens)))
            found.update(n for n in behind if text.tokens[n].clause == clause)
    return found


def _first_words(text: Text, index: int, reached: list[int]) -> range:
    """Return the positions from a denial to the second word that it reaches."""
    last = reached[:_NEXT_TO][-1] if reached else index
    return range(index + 1, last + 1)


def _means_it(
    token: Token, group: str, following: Token | None, tokens: tuple[Token, ...], index: int
) -> bool:
    """Leave out words that point nowhere: "lower bound", "more", "loss function", "few-shot"."""
    after = following.stem if following else ""
    before = tokens[index - 1].lower if index else ""
    if group in _BEFORE:
        return (after if after != "-" else _stem(tokens, index + 2)) == _BEFORE[group]
    if token.lower in ("lower", "upper", "above", "below") and (
        after == "bound" or group == "height"
    ):
        return False
    if (token.lower, after) in _SET_WITH_NEXT or (before, token.lower) in _SET_WITH_LAST:
        return False
    if group == "gap" and not any(one.stem in _GAPS for one in _around(tokens, index, _REACH)):
        return False
    if token.lower == "following" or (after == "than" and _is_number(tokens, index + 2)):
        return False  # "more than 5" is compared with its number
    if token.lower in ("loss", "losses"):
        return (
            before in ("performance", "accuracy", "efficiency", "no", "a") and after != "function"
        )
    if token.lower in ("most", "least"):
        return before != "at" and following is not None and following.kind == "word"
    return not (token.lower == "first" and group == "order" and after not in ("layer", "step"))


def _is_number(tokens: tuple[Token, ...], index: int) -> bool:
    return index < len(tokens) and tokens[index].kind == "number"


def _stem(tokens: tuple[Token, ...], index: int) -> str:
    return tokens[index].stem if index < len(tokens) else ""


def _near(tokens: tuple[Token, ...], index: int, reach: int) -> frozenset[str]:
    """Return the stems of the few words around, inside the clause, and the numbers behind."""
    around = _around(tokens, index, reach)
    behind = tokens[index + 1 : index + 1 + _NUMBERS]
    return frozenset(t.stem for t in around) | {t.text for t in behind if t.kind == "number"}


def _around(tokens: tuple[Token, ...], index: int, reach: int) -> list[Token]:
    clause = tokens[index].clause
    left = [
        t for t in tokens[max(0, index - 2 * _REACH) : index] if t.clause == clause and t.content
    ]
    right = [
        t for t in tokens[index + 1 : index + 1 + 2 * _REACH] if t.clause == clause and t.content
    ]
    return [*left[-reach:], *right[:reach]]


def _of_costs(tokens: tuple[Token, ...], index: int) -> bool:
    return any(token.lower in COSTS for token in _around(tokens, index, _REACH))


def _common(one: frozenset[str], other: frozenset[str]) -> int:
    return sum(any(akin(a, b) for b in other) for a in one)


def _order(one: Direction, other: Direction) -> int:
    """Return -1 where two comparisons name their sides the other way round, else 1."""
    if not (one.compares and other.compares):
        return 1
    straight = _common(one.before, other.before) + _common(one.after, other.after)
    crossed_first = _common(one.before, other.after)
    crossed_last = _common(one.after, other.before)
    crossed = crossed_first + crossed_last
    return -1 if crossed > straight and min(crossed_first, crossed_last) > 0 else 1


def compare_directions(statement: Text, source: Text) -> list[Finding]:
    """Compare which way a statement and its source point.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        A wrong finding for the first word whose opposite the source says of the same thing.
    """
    known = directions(source)
    said = directions(statement)
    source_denies = any(True for _ in reaches(source))
    for one in said:
        if one.denied and one.group in _OF_COSTS and source_denies:
            continue  # "does not suffer" tells of no change
        alike = [other for other in known if other.group == one.group]
        rival = _rival(one, alike, statement, source)
        taken = rival is None or _is_taken(rival, one, said, alike)
        if rival is not None and _of_opposites(one, rival):
            continue
        if rival is not None and not taken and not _agrees_elsewhere(one, rival, said, known):
            return [Finding(f"says “{one.word}”, the source says “{rival.word}”")]
    return []


def _of_opposites(one: Direction, rival: Direction) -> bool:
    """Say whether "less" and "more" stand before opposites: "less fragile", "more robust"."""
    if not {one.word, rival.word} <= _DEGREES:
        return False
    sides = set(opposites().get(one.following, ()))
    return any((group, -side) in sides for group, side in opposites().get(rival.following, ()))


def _agrees_elsewhere(
    one: Direction, rival: Direction, said: list[Direction], known: list[Direction]
) -> bool:
    """Say whether the same word agrees with the source in another sense: "rises", "improves"."""
    senses = [other for other in said if other.index == one.index and other.group != one.group]
    return any(
        mine.group == other.group and _agree(mine, other) and _nearness(mine, other) >= near
        for near in [max(1, _nearness(one, rival))]
        for mine in senses
        for other in known
    )


def _is_taken(
    rival: Direction, one: Direction, said: list[Direction], known: list[Direction]
) -> bool:
    """Say whether another word of the statement says what the rival says, and is nearest to it."""
    near = _nearness(one, rival)
    for other in said:
        if other is one or other.group != rival.group or not _agree(other, rival):
            continue
        best = max(_nearness(other, each) for each in known)
        fits = _nearness(other, rival)
        if fits == best and (fits >= near or _same_head(other, rival)):
            return True
    return False


def _rival(
    one: Direction, known: list[Direction], statement: Text, source: Text
) -> Direction | None:
    """Return the source's word that says the opposite of the same thing; None if there is none."""
    if not known:
        return None
    turned = _turned_round(one, known)
    if turned is not None:
        return turned
    scored = [(_nearness(one, other), other) for other in known]
    best = max(score for score, _ in scored)
    nearest = [other for score, other in scored if score == best]
    if any(_agree(one, other) for other in nearest):
        return None
    rival = nearest[0]
    agreeing = [other for other in known if _agree(one, other)]
    if one.group not in _OF_COSTS and agreeing and not _has_its_head(one, rival, agreeing):
        return None
    if best == 0:
        return rival if _is_sole(one, known, statement, source) else None
    if one.group not in _OF_COSTS or _order(one, rival) < 0:
        return rival
    same_thing = _common(one.next_to, rival.next_to) or _common(one.near, rival.near) >= _MUCH
    return rival if same_thing and one.of_costs == rival.of_costs else None


def _turned_round(one: Direction, known: list[Direction]) -> Direction | None:
    """Return the comparison that names the same two sides the other way round, if that is all."""
    comparisons = [other for other in known if one.compares and other.compares]
    crossed = [other for other in comparisons if _order(one, other) < 0]
    if not crossed or any(_names_both(one, other) for other in comparisons):
        return None
    return next((other for other in crossed if one.side == other.side), None)


def _names_both(one: Direction, other: Direction) -> bool:
    """Say whether both sides of a comparison stand where they do in another one."""
    return bool(
        _order(one, other) > 0
        and _common(one.before, other.before)
        and _common(one.after, other.after)
    )


def _same_head(one: Direction, other: Direction) -> bool:
    return one.head is not None and other.head is not None and akin(one.head, other.head)


def _has_its_head(one: Direction, rival: Direction, agreeing: list[Direction]) -> bool:
    """Say whether the two, and none that agrees, stand before the same word."""
    return _same_head(one, rival) and not any(_same_head(one, other) for other in agreeing)


def _nearness(one: Direction, other: Direction) -> int:
    """Return how much two words are said of the same; the word right behind counts most."""
    return _common(one.near, other.near) + _HEAD_COUNTS * _same_head(one, other)


def _agree(one: Direction, other: Direction) -> bool:
    order = _order(one, other)
    if stem(one.word) == stem(other.word) and order > 0:
        return True  # what a denial does to it is for ``compare_negation``
    return one.side * one.degree == other.side * other.degree * order


def _is_sole(one: Direction, known: list[Direction], statement: Text, source: Text) -> bool:
    """Say whether the whole source points one way only, and the two speak of the same things."""
    if one.group in _NEVER_SOLE:
        return False
    shared = sum(source.has(stem) for stem in statement.stems)
    return shared * 2 >= len(statement.stems) and len({other.side for other in known}) == 1
