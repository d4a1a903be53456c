"""The numbers of a statement against those of its source. Pure."""

import math
from collections.abc import Sequence
from dataclasses import replace

from ..quantities import Quantity, quantities
from . import Finding
from .direction import directions
from .reading import Text
from .stems import akin

_HEDGED = 0.03  # relative room that "about" gives
_HEDGED_SHARE = 4.0  # percentage points that "about half" gives
_ABOUT = ("~", "~>")
MOST_OF_RATIO = 12  # numbers of a source whose ratios are looked at
_PAIR = 2.0  # "one … another"
_UP, _DOWN = (">", ">="), ("<", "<=")


def same_value(said: Quantity, known: Quantity) -> bool:
    """Say whether a number may stand for another: equal, rounded, or as near as "about" allows."""
    if math.isclose(said.value, known.value, rel_tol=1e-6, abs_tol=1e-9):
        return True
    if _is_decade(said) and _is_decade(known):
        return (said.value - known.value) % 100 == 0 and min(said.value, known.value) < 100
    room = 0.5 * said.step if said.step > known.step * 1.5 else 0.0
    if said.bound in _ABOUT or known.bound in _ABOUT:
        room = max(room, _HEDGED * abs(known.value))
    if said.bound == "~" and said.spelt and said.dimension == known.dimension == "percent":
        room = max(room, _HEDGED_SHARE)
    if said.dimension not in ("count", "percent", "points", "factor", "ordinal"):
        room = max(room, 0.02 * abs(known.value))  # a month has 30 or 31 days
    return abs(said.value - known.value) <= room + 1e-9


def _is_decade(one: Quantity) -> bool:
    return one.text.endswith("0s") and one.text[:-1].isdigit()


def fits_unit(said: Quantity, known: Quantity) -> bool:
    """Say whether two numbers measure in the same way."""
    if said.dimension == known.dimension:
        return not (said.dimension == "points" and known.relative)
    pair = {said.dimension, known.dimension}
    if pair == {"percent", "points"}:
        return not (said.relative or known.relative)
    return pair == {"count", "points"}  # "1.7 higher mAP" and "1.7 points"


def fits_bound(said: Quantity, known: Quantity) -> bool:
    """Say whether a bound of the statement does not contradict the one of its source."""
    if said.bound in _UP:
        return known.bound not in _DOWN and known.bottom is None
    if said.bound == "~>":
        return known.bound not in _DOWN
    above = known.bound in (*_UP, "~>") or known.top is not None
    return not (said.bound in _DOWN and above)


def holds(said: Quantity, known: Quantity) -> bool:
    """Say whether "more than 95 %" holds of a number near it, such as 95.16 %."""
    if said.dimension != known.dimension or known.bound not in ("=", *_ABOUT):
        return False
    near = abs(said.value - known.value) <= 0.2 * abs(known.value)
    above = said.bound in (">", ">=") and known.value > said.value
    below = said.bound in ("<", "<=") and known.value < said.value
    return near and (above or below)


def compare_quantities(
    statement: Text, source: Text, elsewhere: Sequence[Text] = ()
) -> list[Finding]:
    """Compare every number of a statement with those of its source.

    Args:
        statement: What was said.
        source: What it rests on.
        elsewhere: The rest of the source's abstract, and the question.

    Returns:
        What speaks against the statement; empty when all its numbers are in the source.
    """
    known = [unsigned(one, statement) for one in quantities(source)]
    others = [one for text in elsewhere for one in quantities(text)]
    found = (_judge(one, known, others, statement, source) for one in quantities(statement))
    return [finding for finding in found if finding]


def _judge(
    said: Quantity,
    known: Sequence[Quantity],
    others: Sequence[Quantity],
    statement: Text,
    source: Text,
) -> Finding | None:
    if _is_in_a_name(said, source) or _is_ratio(said, known) or _is_magnitude(said, source):
        return None
    equal = [one for one in known if same_value(said, one)]
    fitting = [one for one in equal if fits_unit(said, one)]
    if any(holds(said, one) for one in known) or _is_idle(said, statement, source):
        return None
    if fitting and all(_is_turned(said, one) for one in fitting):
        return Finding(f"“{said.text}” is at the other end of a change in the source")
    if fitting:
        return _judge_points(said, fitting) or _judge_bound(said, fitting)
    if equal and not said.spelt:
        return Finding(f"says “{said.text}”, the source says “{equal[0].text}”")
    rival = _rival(said, known)
    if rival:
        return Finding(f"says “{_shown(said)}”, the source says “{_shown(rival)}”")
    if any(same_value(said, one) and fits_unit(said, one) for one in others):
        return Finding(f"“{said.text}” is not in the sentence, but elsewhere in its paper", False)
    if _is_list_count(said) and _lists(source, round(said.value)):
        return None
    return Finding(f"“{said.text}” is not in the source", not _is_list_count(said))


def _judge_points(said: Quantity, fitting: Sequence[Quantity]) -> Finding | None:
    """Doubt "points" where the source says per cent and not of what."""
    in_words = any(token in said.text for token in ("point", "pp", "pt"))
    if in_words and all(one.dimension == "percent" for one in fitting):
        return Finding(f"says “{said.text}”, the source says “{fitting[0].text}”", False)
    return None


def _judge_bound(said: Quantity, fitting: Sequence[Quantity]) -> Finding | None:
    if any(said.bound == one.bound for one in fitting):
        return None
    agreeing = [one for one in fitting if fits_bound(said, one)]
    if not agreeing:
        return Finding(f"bounds “{said.text}” otherwise than the source")
    loose = {said.bound, agreeing[0].bound} <= {"=", *_ABOUT}
    hedged = said.bound in _ABOUT or agreeing[0].bound in _ABOUT
    ends = (said.top, said.bottom, agreeing[0].top, agreeing[0].bottom)
    in_range = any(end is not None for end in ends)
    if loose or hedged or in_range:
        return None
    return Finding(f"the source bounds “{agreeing[0].text}” in another way", False)


def unsigned(known: Quantity, statement: Text) -> Quantity:
    """Take "-62 % toxicity" for 62 where the statement says in a word that it fell.

    Args:
        known: A number of the source.
        statement: What was said.
    """
    if known.value >= 0 or known.dimension not in ("percent", "points"):
        return known
    fell = any(one.group in ("amount", "change") and one.side < 0 for one in directions(statement))
    return replace(known, value=-known.value) if fell else known


def _lists(source: Text, wanted: int) -> bool:
    """Say whether a sentence may list so many things: commas and "and" set them apart."""
    for clause in {token.sentence for token in source.tokens}:
        words = [t.lower for t in source.tokens if t.sentence == clause]
        joins = [
            word in (",", ";") or (word in ("and", "or") and before != ",")
            for before, word in zip(["", *words], words, strict=False)
        ]
        if sum(joins) >= wanted - 1:
            return True
    return False


def _is_idle(said: Quantity, statement: Text, source: Text) -> bool:
    """Say whether a number word counts nothing: "one of", "the first", "two-fold"."""
    if said.dimension == "ordinal":
        return not any(one.dimension == "ordinal" for one in quantities(source)) and not _nth(
            source
        )
    if said.spelt and said.value == _PAIR and {"one", "another"} <= source.lowers:
        return True
    before = statement.tokens[said.index - 1].lower if said.index else ""
    return said.spelt and 0 <= said.value <= 1 and before not in ("exactly", "precisely")


def _nth(source: Text) -> bool:
    return any(a.lower in ("k", "n", "i", "j") and b.lower == "th" for a, b in zip(
        source.tokens, source.tokens[1:], strict=False))  # fmt: skip


def _is_turned(said: Quantity, known: Quantity) -> bool:
    """Say whether "from 20 to 2" stands for "from 2 to 20"."""
    up = said.top is not None and said.top == known.bottom and said.top != said.value
    down = said.bottom is not None and said.bottom == known.top and said.bottom != said.value
    return up or down


def _is_in_a_name(said: Quantity, source: Text) -> bool:
    """Say whether a size belongs to a name of the source: "7B" to "Llama2-7B"."""
    size = said.text.replace(" ", "").lower()
    if not size or not size[0].isdigit() or size.isdigit():
        return False
    return any(token.lower.endswith(f"-{size}") for token in source.tokens)


def _is_magnitude(said: Quantity, source: Text) -> bool:
    """Say whether "ten times" stands for "an order of magnitude"."""
    if said.dimension != "factor" or said.value <= 0:
        return False
    orders = [one.value for one in quantities(source) if one.dimension == "orders of magnitude"]
    if "an order of magnitude" in source.plain.lower():
        orders.append(1.0)
    return any(math.isclose(math.log10(said.value), one) for one in orders)


def _is_ratio(said: Quantity, known: Sequence[Quantity]) -> bool:
    """Say whether "ten times" is how two numbers of the source compare: 300M against 3B."""
    if said.dimension != "factor" or any(one.dimension == "factor" for one in known):
        return False
    sizes = [one for one in known if one.value > 0][:MOST_OF_RATIO]
    return any(
        one.dimension == other.dimension
        and math.isclose(one.value, said.value * other.value, rel_tol=_HEDGED)
        for one in sizes
        for other in sizes
    )


def _is_list_count(said: Quantity) -> bool:
    """Say whether a count may sum up a list that the source spells out."""
    return said.spelt and said.dimension == "count" and 0 < said.value <= 5


def _rival(said: Quantity, known: Sequence[Quantity]) -> Quantity | None:
    """Return the number that the source has in place of the statement's."""
    alike = [one for one in known if fits_unit(said, one) or said.dimension == one.dimension]
    same = [
        one
        for one in alike
        if any(akin(mine, theirs) for mine in said.counted[:2] for theirs in one.counted[:2])
    ]
    if same:
        return same[0]
    return alike[0] if len(alike) == 1 and said.dimension != "count" else None


def _shown(one: Quantity) -> str:
    return (
        f"{one.text} {one.counted[0]}…" if one.dimension == "ordinal" and one.counted else one.text
    )
