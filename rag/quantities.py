"""Numbers with their units, signs and bounds: found in texts, and compared. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from .verify import Finding, listed
from .verify.reading import Text, Token
from .verify.stems import akin, stem

_SMALL = listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen seventeen eighteen nineteen"
)
_TENS = listed("twenty thirty forty fifty sixty seventy eighty ninety")
_NUMBERS = {word: float(n) for n, word in enumerate(_SMALL)}
_NUMBERS |= {word: 10.0 * n for n, word in enumerate(_TENS, start=2)} | {"dozen": 12.0}
_SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_LETTERS = {"k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_ORDINALS = {
    word: float(n)
    for n, word in enumerate(
        listed("first second third fourth fifth sixth seventh eighth"), start=1
    )
}
_FRACTIONS = {"half": 50.0, "third": 100 / 3, "thirds": 100 / 3, "quarter": 25.0, "quarters": 25.0}
_FACTORS = {
    "twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "doubling": 2.0, "triple": 3.0,
    "triples": 3.0, "tripled": 3.0, "thrice": 3.0, "twofold": 2.0, "threefold": 3.0,
    "fourfold": 4.0, "fivefold": 5.0, "tenfold": 10.0, "quadruple": 4.0, "halve": 0.5,
    "halves": 0.5, "halved": 0.5,
}  # fmt: skip
# Unit → (dimension, how many of the smallest of its kind).
_UNITS: dict[str, tuple[str, float]] = {
    **{w: ("time", 1e-9) for w in ("ns", "nanosecond")},
    **{w: ("time", 1e-6) for w in ("us", "µs", "μs", "microsecond")},
    **{w: ("time", 1e-3) for w in ("ms", "msec", "millisecond")},
    **{w: ("time", 1.0) for w in ("s", "sec", "second")},
    **{w: ("time", 60.0) for w in ("min", "minute")},
    **{w: ("time", 3600.0) for w in ("h", "hr", "hour")},
    **{w: ("time", 86400.0) for w in ("d", "day")},
    "week": ("time", 604800.0), "month": ("time", 2629800.0), "year": ("time", 31557600.0),
    "decade": ("time", 315576000.0), "yr": ("time", 31557600.0),
    "nm": ("length", 1e-9), "um": ("length", 1e-6), "mm": ("length", 1e-3), "cm": ("length", 1e-2),
    "m": ("length", 1.0), "meter": ("length", 1.0), "metre": ("length", 1.0), "km": ("length", 1e3),
    "kilometer": ("length", 1e3), "kilometre": ("length", 1e3), "mile": ("length", 1609.344),
    "centimeter": ("length", 1e-2), "millimeter": ("length", 1e-3), "inch": ("length", 0.0254),
    "m^2": ("area", 1.0), "km^2": ("area", 1e6), "cm^2": ("area", 1e-4), "mm^2": ("area", 1e-6),
    "mg": ("mass", 1e-6), "g": ("mass", 1e-3), "gram": ("mass", 1e-3), "kg": ("mass", 1.0),
    "kilogram": ("mass", 1.0), "ton": ("mass", 1e3), "tonne": ("mass", 1e3), "µg": ("mass", 1e-9),
    "kb": ("memory", 1e3), "mb": ("memory", 1e6), "gb": ("memory", 1e9), "tb": ("memory", 1e12),
    "gib": ("memory", 1.073741824e9), "mib": ("memory", 1048576.0), "byte": ("memory", 1.0),
    "megabyte": ("memory", 1e6), "gigabyte": ("memory", 1e9), "terabyte": ("memory", 1e12),
    "hz": ("frequency", 1.0), "khz": ("frequency", 1e3), "mhz": ("frequency", 1e6),
    "ghz": ("frequency", 1e9), "fps": ("frame rate", 1.0), "db": ("level", 1.0),
    "v": ("voltage", 1.0), "mv": ("voltage", 1e-3), "w": ("power", 1.0), "mw": ("power", 1e-3),
    "kw": ("power", 1e3), "watt": ("power", 1.0), "kilowatt": ("power", 1e3),
    "j": ("energy", 1.0), "mj": ("energy", 1e-3), "kwh": ("energy", 3.6e6), "joule": ("energy", 1.0),
    "degree": ("angle", 1.0), "°": ("angle", 1.0), "rad": ("angle", 57.29578),
    "radian": ("angle", 57.29578), "dollar": ("money", 1.0), "usd": ("money", 1.0),
    "euro": ("euros", 1.0), "bit": ("bits", 1.0), "kbps": ("bit rate", 1e3),
    "mbps": ("bit rate", 1e6), "gbps": ("bit rate", 1e9),
}  # fmt: skip
_CASED = {"M": 1e6, "K": 1e3, "B": 1e9, "T": 1e12, "k": 1e3}
_POINTS = frozenset(["point", "pp", "pt"])
_BEFORE: tuple[tuple[str, str], ...] = (
    ("up to", "<="), ("at most", "<="), ("no more than", "<="), ("not more than", "<="),
    ("as many as", "<="), ("as much as", "<="), ("as high as", "<="), ("maximum of", "<="),
    ("at least", ">="), ("no less than", ">="), ("no fewer than", ">="), ("not less than", ">="),
    ("minimum of", ">="), ("as few as", ">="), ("as little as", ">="), ("as low as", ">="),
    ("more than", ">"), ("above", ">"), ("exceeding", ">"), ("exceeds", ">"),
    ("exceed", ">"), ("greater than", ">"), ("larger than", ">"), ("higher than", ">"),
    ("beyond", ">"), (">", ">"), ("≥", ">="), ("≤", "<="), ("<", "<"),
    ("less than", "<"), ("under", "<"), ("below", "<"), ("fewer than", "<"), ("lower than", "<"),
    ("smaller than", "<"), ("within", "<="),
    ("over", "~"), ("about", "~"), ("around", "~"), ("approximately", "~"), ("roughly", "~"), ("nearly", "~"),
    ("almost", "~"), ("close to", "~"), ("some", "~"), ("~", "~"), ("≈", "~"), ("circa", "~"),
)  # fmt: skip
_AFTER = {"or more": ">=", "and more": ">=", "and above": ">=", "or less": "<=", "or fewer": "<="}
NEAR = 4  # tokens behind a number in which what it counts is looked for
_HEDGED = 0.03  # relative room that "about" gives


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number in a text.

    ``value`` is in the smallest unit of its ``dimension``: "count", "percent", "points", "factor",
    "ordinal", or a physical one. ``bound`` is "=", "~", "<", "<=", ">" or ">=". ``counted`` holds
    the stems of the words that follow it. ``step`` is the value of its last written digit.
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
    while index < len(text.tokens):
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
        dimension, scale, end = _unit(tokens, end, text.plain)
        value, step = value * scale, step * scale
    head = tokens[index]
    last = tokens[end - 1]
    written = text.plain[head.start : last.start + len(last.text)]
    return Quantity(
        value, dimension, _bound(tokens, index, end), step, index, end, written.strip(),
        tuple(_counted(tokens, end, last.clause)),
        relative=any(t.lower in ("relative", "relatively") for t in tokens[max(0, index - 4) : end + 4]),
        spelt=head.kind == "word",
    )  # fmt: skip


def _number(
    tokens: Sequence[Token], index: int, plain: str
) -> tuple[float, float, int, str] | None:
    """Return value, value of the last digit, the end, and the dimension if it is settled."""
    token = tokens[index]
    if token.kind == "number":
        return _digits(tokens, index, plain)
    if token.kind != "word":
        return None
    if token.lower in _FACTORS:
        return _FACTORS[token.lower], 1e-9, index + 1, "factor"
    if token.lower == "half" and not _glued(tokens, index, plain):
        return 50.0, 1.0, index + 1, "percent"
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if token.lower in _NUMBERS or token.lower in _SCALES:
        if following and following.lower in _FRACTIONS and following.lower != "half":
            share = _NUMBERS.get(token.lower, 1.0) * _FRACTIONS[following.lower]
            return share, 1.0, index + 2, "percent"
        return _spelt(tokens, index)
    if token.lower in _ORDINALS and following and following.kind == "word":
        return _ORDINALS[token.lower], 1e-9, index + 1, "ordinal"
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
    if end < len(tokens) and tokens[end].lower in _SCALES:
        scale = _SCALES[tokens[end].lower]
        return value * scale, step * scale, end + 1, "count"
    following = tokens[end] if end < len(tokens) else None
    if following and following.lower in ("st", "nd", "rd", "th") and _touch(tokens, end):
        return value, 1e-9, end + 1, "ordinal"
    if following and following.text in _CASED and _touch(tokens, end):
        scale = _CASED[following.text]
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
    while end < len(tokens) and (tokens[end].lower in _NUMBERS or tokens[end].lower in _SCALES):
        word = tokens[end].lower
        total = (total or 1.0) * _SCALES[word] if word in _SCALES else total + _NUMBERS[word]
        end += 1
    return total, 1.0, end, "count"


def _touch(tokens: Sequence[Token], index: int) -> bool:
    before = tokens[index - 1]
    return before.start + len(before.text) == tokens[index].start


def _glued(tokens: Sequence[Token], index: int, plain: str) -> bool:
    """Say whether a word is part of a compound: "half-precision"."""
    token = tokens[index]
    return plain[token.start + len(token.text) :][:1] == "-" or plain[: token.start][-1:] == "-"


def _unit(tokens: Sequence[Token], end: int, plain: str) -> tuple[str, float, int]:
    """Return dimension, scale and new end for what follows a number."""
    at = end
    if at < len(tokens) and tokens[at].text == "-":
        at += 1
    if at >= len(tokens):
        return "count", 1.0, end
    token = tokens[at]
    word = token.lower
    if word in ("%", "percent", "percentage") or (
        word == "per" and _lower(tokens, at + 1) == "cent"
    ):
        behind = at + 1 + (word == "per")
        if stem(_lower(tokens, behind)) in _POINTS or _lower(tokens, behind) == "absolute":
            return "points", 1.0, behind + 1
        return "percent", 1.0, behind
    if stem(word) in _POINTS and word != "pointer":
        return "points", 1.0, at + 1
    if word in ("×", "x", "times", "fold") and (word != "x" or token.text == "x"):
        return "factor", 1.0, at + 1
    if word in ("order", "orders") and _lower(tokens, at + 2).startswith("magnitude"):
        return "orders of magnitude", 1.0, at + 3
    squared = _lower(tokens, at + 1) == "^" and _lower(tokens, at + 2) == "2"
    if squared and f"{word}^2" in _UNITS:
        return (*_UNITS[f"{word}^2"], at + 3)
    if word == "square" and stem(_lower(tokens, at + 1)) in ("met", "meter", "metr"):
        return "area", 1.0, at + 2
    if token.text == "D":
        return "space", 1.0, at + 1
    if word == "s" and _is_decade(tokens, at):
        return "count", 1.0, at + 1
    known = (
        _UNITS.get(word) or (word.endswith("s") and len(word) > 3 and _UNITS.get(word[:-1])) or None
    )
    if known and (len(word) > 1 or _fits_letter(tokens, at)):
        return known[0], known[1], at + 1
    return "count", 1.0, end


def _fits_letter(tokens: Sequence[Token], at: int) -> bool:
    """Take "5 m" for metres, but not "B" or "x" for a unit."""
    return tokens[at].text in ("s", "m", "h", "g", "d", "V", "W", "J", "°")


def _is_decade(tokens: Sequence[Token], at: int) -> bool:
    """Say whether an "s" belongs to "the 1920s"."""
    return _touch(tokens, at) and len(tokens[at - 1].text) == 4 and tokens[at - 1].text.isdigit()


def _lower(tokens: Sequence[Token], index: int) -> str:
    return tokens[index].lower if index < len(tokens) else ""


def _bound(tokens: Sequence[Token], index: int, end: int) -> str:
    before = " ".join(t.lower for t in tokens[max(0, index - 4) : index])
    after = " ".join(t.lower for t in tokens[end : end + 2])
    if after in _AFTER:
        return _AFTER[after]
    for words, bound in _BEFORE:
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


# ---- comparing -------------------------------------------------------------------------------


def same_value(said: Quantity, known: Quantity) -> bool:
    """Say whether a number may stand for another: equal, rounded, or as near as "about" allows."""
    if math.isclose(said.value, known.value, rel_tol=1e-6, abs_tol=1e-9):
        return True
    room = 0.5 * said.step if said.step > known.step * 1.5 else 0.0
    if said.bound == "~" or known.bound == "~":
        room = max(room, _HEDGED * abs(known.value))
    if said.dimension not in ("count", "percent", "points", "factor", "ordinal"):
        room = max(room, 0.02 * abs(known.value))  # a month has 30 or 31 days
    return abs(said.value - known.value) <= room + 1e-9


def fits_unit(said: Quantity, known: Quantity) -> bool:
    """Say whether two numbers measure in the same way."""
    if said.dimension == known.dimension:
        return not (said.dimension == "points" and known.relative)
    pair = {said.dimension, known.dimension}
    if pair == {"percent", "points"}:
        return not (said.relative or known.relative)
    if pair == {"count", "points"}:
        return True  # "1.7 higher mAP" and "1.7 points"
    return False


def fits_bound(said: Quantity, known: Quantity) -> bool:
    """Say whether a bound of the statement does not contradict the one of its source."""
    up, down = (">", ">="), ("<", "<=")
    if said.bound in up:
        return known.bound not in down and known.bottom is None
    return not (said.bound in down and (known.bound in up or known.top is not None))


def holds(said: Quantity, known: Quantity) -> bool:
    """Say whether "more than 95 %" holds of a number near it, such as 95.16 %."""
    if said.dimension != known.dimension or known.bound not in ("=", "~"):
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
    known = quantities(source)
    others = [one for text in elsewhere for one in quantities(text)]
    found = (_judge(one, known, others, source) for one in quantities(statement))
    return [finding for finding in found if finding]


def _judge(
    said: Quantity, known: Sequence[Quantity], others: Sequence[Quantity], source: Text
) -> Finding | None:
    equal = [one for one in known if same_value(said, one)]
    fitting = [one for one in equal if fits_unit(said, one)]
    if fitting:
        return _judge_bound(said, fitting)
    if any(holds(said, one) for one in known) or _is_idle(said, source):
        return None
    if equal and not said.spelt:
        return Finding(f"says “{said.text}”, the source says “{equal[0].text}”")
    rival = _rival(said, known)
    if rival:
        return Finding(f"says “{_shown(said)}”, the source says “{_shown(rival)}”")
    if any(same_value(said, one) and fits_unit(said, one) for one in others):
        return Finding(f"“{said.text}” is not in the sentence, but elsewhere in its paper", False)
    return Finding(f"“{said.text}” is not in the source", not _is_list_count(said))


def _judge_bound(said: Quantity, fitting: Sequence[Quantity]) -> Finding | None:
    if any(said.bound == one.bound for one in fitting):
        return None
    agreeing = [one for one in fitting if fits_bound(said, one)]
    if not agreeing:
        return Finding(f"bounds “{said.text}” otherwise than the source")
    loose = {said.bound, agreeing[0].bound} <= {"=", "~"}
    hedged = said.bound == "~" or agreeing[0].bound == "~"
    in_range = agreeing[0].top is not None or agreeing[0].bottom is not None
    if loose or hedged or in_range:
        return None
    return Finding(f"the source bounds “{agreeing[0].text}” in another way", False)


def _is_idle(said: Quantity, source: Text) -> bool:
    """Say whether a number word counts nothing: "one of", "the first", "two-fold"."""
    if said.dimension == "ordinal":
        return not any(one.dimension == "ordinal" for one in quantities(source)) and not _nth(
            source
        )
    return said.spelt and said.value <= 1


def _nth(source: Text) -> bool:
    return any(a.lower in ("k", "n", "i", "j") and b.lower == "th" for a, b in zip(
        source.tokens, source.tokens[1:], strict=False))  # fmt: skip


def _is_list_count(said: Quantity) -> bool:
    """Say whether a count may sum up a list that the source spells out."""
    return said.spelt and said.dimension == "count" and said.value <= 5


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
