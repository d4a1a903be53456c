"""Numbers with their units, signs and bounds: found in texts, and compared. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .verify.reading import MOST, Text, Token
from .verify.stems import stem
from .verify.units import (
    AFTER,
    BEFORE,
    CASED,
    FACTORS,
    FRACTIONS,
    NUMBERS,
    ORDINALS,
    POINTS,
    SCALES,
    UNITS,
)

_AND_A_HALF = ["and", "a", "half"]
_BOUND_WORDS = 3  # in "from 2 to more than 20"
_HEDGES = ("about", "up", "to", "roughly", "nearly", "around", "over", "almost", "approximately")
NEAR = 4  # tokens behind a number in which what it counts is looked for


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text.

    ``value`` is in the smallest unit of its ``dimension``: "count", "percent", "points", "factor",
    "ordinal", or a physical one. ``bound`` is "=", "~", "~>" ("over"), "<", "<=", ">" or ">=".
    ``counted`` holds the stems of the words that follow it. ``step`` is the value of its last
    written digit.
    """

    value: float
    dimension: str
    bound: str
    step: float
    index: int  # of its first token
    end: int  # behind its last token
    text: str
    counted: tuple[str, ...] = ()
    relative: bool = False
    top: float | None = None  # the upper end, when it begins a range
    bottom: float | None = None  # the lower end, when it ends one
    spelt: bool = False


def quantities(text: Text) -> list[Quantity]:
    """Find the numbers of a text, in order; numbers inside names ("GPT-4") are no quantities."""
    found: list[Quantity] = []
    index = 0
    while index < len(text.tokens) and len(found) < MOST:
        one = _quantity(text, index)
        if one:
            found.append(one)
        index = one.end if one else index + 1
    return _ranges(text, found)


def _quantity(text: Text, index: int) -> Quantity | None:
    tokens = text.tokens
    number = _number(tokens, index, text.plain)
    if number is None:
        return None
    value, step, end, dimension = number
    if dimension == "count":
        dimension, scale, end = _unit(tokens, end)
        value, step = value * scale, step * scale
    head, around = tokens[index], tokens[max(0, index - 4) : end + 4]
    if dimension == "count" and _of_a_factor(tokens, index):
        dimension = "factor"
    if dimension == "percent" and any(t.lower == "absolute" for t in around):
        dimension = "points"
    last = tokens[end - 1]
    written = text.plain[head.start : last.start + len(last.text)]
    return Quantity(
        value, dimension, _bound(tokens, index, end), step, index, end, written.strip(),
        tuple(_counted(tokens, end, last.clause)),
        relative=_is_relative(tokens, max(0, index - 4), end + 4),
        spelt=head.kind == "word",
    )  # fmt: skip


def _of_a_factor(tokens: Sequence[Token], index: int) -> bool:
    """Say whether a number stands behind "by a factor of"."""
    before = [t.lower for t in tokens[max(0, index - 4) : index] if t.lower not in _HEDGES]
    return before[-2:] == ["factor", "of"]


def _is_relative(tokens: Sequence[Token], low: int, high: int) -> bool:
    """Say whether a change is named a relative one; "relative to X" names none."""
    return any(
        token.lower == "relatively"
        or (token.lower == "relative" and _lower(tokens, at + 1) != "to")
        for at, token in enumerate(tokens[low:high], start=low)
    )


def _number(
    tokens: Sequence[Token], index: int, plain: str
) -> tuple[float, float, int, str] | None:
    """Return value, value of the last digit, the end, and the dimension if it is settled."""
    token = tokens[index]
    if token.kind == "number":
        return _digits(tokens, index, plain)
    if token.kind != "word":
        return None
    if token.lower in FACTORS:
        return FACTORS[token.lower], 1e-9, index + 1, "factor"
    if token.lower == "half" and not _glued(tokens, index, plain):
        return 50.0, 1.0, index + 1, "percent"
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if token.lower in NUMBERS and [t.lower for t in tokens[index + 1 : index + 4]] == _AND_A_HALF:
        return NUMBERS[token.lower] + 0.5, 0.1, index + 4, "count"
    if token.lower in NUMBERS or token.lower in SCALES:
        if index and tokens[index - 1].lower == "minus":
            value, step, end, dimension = _spelt(tokens, index)
            return -value, step, end, dimension
        if following and following.lower in FRACTIONS and following.lower != "half":
            share = NUMBERS.get(token.lower, 1.0) * FRACTIONS[following.lower]
            return share, 1.0, index + 2, "percent"
        return _spelt(tokens, index)
    if token.lower in ORDINALS and following and following.kind == "word":
        return ORDINALS[token.lower], 1e-9, index + 1, "ordinal"
    return None


def _digits(
    tokens: Sequence[Token], index: int, plain: str
) -> tuple[float, float, int, str] | None:
    digits = tokens[index].text.lstrip("+").replace(",", "")
    value = float(digits)
    decimals = len(digits.partition(".")[2])
    if digits.startswith("-") and index and tokens[index - 1].kind == "number":
        value = -value  # "36-60": a range, not a sign
    step = 10.0**-decimals
    end = index + 1
    power = _power(tokens, end)
    if power:
        return value * power[0], step * power[0], power[1], "count"
    if end < len(tokens) and tokens[end].lower in SCALES:
        scale = SCALES[tokens[end].lower]
        return value * scale, step * scale, end + 1, "count"
    following = tokens[end] if end < len(tokens) else None
    if following and following.lower in ("st", "nd", "rd", "th") and _touch(tokens, end):
        return value, 1e-9, end + 1, "ordinal"
    if following and following.text.rstrip("+") in CASED and _touch(tokens, end):
        scale = CASED[following.text.rstrip("+")]
        return value * scale, step * scale, end + 1, "count"
    return value, step, end, "count"


def _power(tokens: Sequence[Token], end: int) -> tuple[float, int] | None:
    """Read "× 10^5" behind a number."""
    words = [t.text for t in tokens[end : end + 4]]
    if len(words) == 4 and words[0] in "×x·" and words[1] == "10" and words[2] == "^":
        try:
            return 10.0 ** max(-300, min(300, int(words[3]))), end + 4
        except ValueError:
            return None
    return None


def _spelt(tokens: Sequence[Token], index: int) -> tuple[float, float, int, str]:
    """Read "twenty five", "three hundred", "two million"."""
    total = 0.0
    end = index
    while end < len(tokens) and (tokens[end].lower in NUMBERS or tokens[end].lower in SCALES):
        word = tokens[end].lower
        total = (total or 1.0) * SCALES[word] if word in SCALES else total + NUMBERS[word]
        end += 1
    return total, 1.0, end, "count"


def _touch(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1]
    return before.start + len(before.text) == tokens[index].start


def _glued(tokens: Sequence[Token], index: int, plain: str) -> bool:
    """Say whether a word is part of a compound: "half-precision"."""
    token = tokens[index]
    return plain[token.start + len(token.text) :][:1] == "-" or plain[: token.start][-1:] == "-"


def _unit(tokens: Sequence[Token], end: int) -> tuple[str, float, int]:
    """Return dimension, scale and new end for what follows a number."""
    at = end + (_lower(tokens, end) == "-")
    if at >= len(tokens):
        return "count", 1.0, end
    return _share(tokens, at) or _times(tokens, at) or _measure(tokens, at) or ("count", 1.0, end)


def _share(tokens: Sequence[Token], at: int) -> tuple[str, float, int] | None:
    """Read "%", "per cent" and points."""
    word, following = tokens[at].lower, _lower(tokens, at + 1)
    if word in ("%", "percent", "percentage") or (word, following) == ("per", "cent"):
        behind = at + 1 + (word == "per")
        if stem(_lower(tokens, behind)) in POINTS or _lower(tokens, behind) == "absolute":
            return "points", 1.0, behind + 1
        return "percent", 1.0, behind
    return ("points", 1.0, at + 1) if stem(word) in POINTS else None


def _times(tokens: Sequence[Token], at: int) -> tuple[str, float, int] | None:
    """Read "×", "times", "-fold" and orders of magnitude."""
    if tokens[at].text in ("×", "x", "times", "fold"):
        return "factor", 1.0, at + 1
    if tokens[at].lower in ("order", "orders") and _lower(tokens, at + 2) == "magnitude":
        return "orders of magnitude", 1.0, at + 3
    return None


def _measure(tokens: Sequence[Token], at: int) -> tuple[str, float, int] | None:
    """Read a physical unit."""
    token, word = tokens[at], tokens[at].lower
    if f"{word}^2" in UNITS and (_lower(tokens, at + 1), _lower(tokens, at + 2)) == ("^", "2"):
        return (*UNITS[f"{word}^2"], at + 3)
    if word == "square" and _lower(tokens, at + 1).startswith(("meter", "metre")):
        return (*UNITS["m^2"], at + 2)
    if token.text == "D":
        return "space", 1.0, at + 1
    if word == "s" and _is_decade(tokens, at):
        return "count", 1.0, at + 1
    known = UNITS.get(word) or (UNITS.get(word.removesuffix("s")) if len(word) > 3 else None)
    if known and (len(word) > 1 or _fits_letter(tokens, at)):
        return known[0], known[1], at + 1
    return None


def _fits_letter(tokens: Sequence[Token], at: int) -> bool:
    """Take "5 m" for metres, but not "B" or "x" for a unit."""
    return tokens[at].text in ("s", "m", "h", "g", "d", "V", "W", "J", "°")


def _is_decade(tokens: Sequence[Token], at: int) -> bool:
    """Say whether an "s" belongs to "the 1920s" or "the 90s"."""
    digits = tokens[at - 1].text
    if not (_touch(tokens, at) and digits.isdigit() and digits.endswith("0")):
        return False
    before = tokens[at - 2].lower if at > 1 else ""
    return len(digits) == 4 or (len(digits) == 2 and before in ("the", "early", "late", "mid"))


def _lower(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].lower if index < len(tokens) else ""


def _bound(tokens: Sequence[Token], index: int, end: int) -> str:
    last = index - (index > 0 and tokens[index - 1].lower in ("a", "an", "the"))
    before = " ".join(t.lower for t in tokens[max(0, last - 4) : last])
    after = " ".join(t.lower for t in tokens[end : end + 2])
    if tokens[end - 1].text.endswith("+") or (end < len(tokens) and tokens[end].text == "+"):
        return "~>"
    if after in AFTER:
        return AFTER[after]
    for words, bound in BEFORE:
        if words == "under" and tokens[index].kind == "word":
            continue  # "under three metrics"
        if before == words or before.endswith(f" {words}"):
            return bound
    return "="


def _counted(tokens: Sequence[Token], end: int, clause: int) -> Iterator[str]:
    for token in tokens[end : end + NEAR]:
        if token.clause != clause or token.kind == "number":
            return
        if token.content:
            yield token.stem


def _ranges(text: Text, found: list[Quantity]) -> list[Quantity]:
    """Join "36-60 %" and "from 10 to 20 s": both ends get the unit, the first knows the second."""
    for place in range(len(found) - 1):
        low, high = found[place], found[place + 1]
        between = [t.lower for t in text.tokens[low.end : high.index]]
        if between[:1] == ["to"] and _lower(text.tokens, low.index - 1) == "from":
            between = between[: 1 + (len(between) > _BOUND_WORDS)]  # "to more than"
        if between in (["and"], ["or"]) and _lower(text.tokens, low.index - 1) != "between":
            found[place] = _with_unit_of(low, high, text)
            continue
        joined = between in (["-"], ["–"], ["to"], ["and"]) or (
            not between and text.tokens[high.index].text.startswith("-")
        )
        if not joined or (between == ["and"] and _lower(text.tokens, low.index - 1) != "between"):
            continue
        low = _with_unit_of(low, high, text)
        found[place] = replace(low, top=high.value, counted=low.counted or high.counted)
        found[place + 1] = replace(high, bottom=low.value)
    return found


def _with_unit_of(low: Quantity, high: Quantity, text: Text) -> Quantity:
    """Give the first of "5 and 3 times" the unit of the second."""
    if low.dimension != "count" or high.dimension in ("count", "ordinal"):
        return low
    written = _plain_value(text, high)
    scale = abs(high.value) / written if written else 1.0
    return replace(low, value=low.value * scale, dimension=high.dimension)


def _plain_value(text: Text, one: Quantity) -> float:
    try:
        return abs(float(text.tokens[one.index].text.replace(",", "")))
    except ValueError:
        return 0.0
