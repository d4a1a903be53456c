"""Units without a number, orders of growth, and "only", which a source must hold too. Pure."""

from collections.abc import Iterator, Sequence

from . import Finding, listed
from .lexicon import stems_of
from .negation import denials
from .reading import Text, Token
from .units import NUMBERS, UNITS

_LONGEST = 60  # tokens of one order of growth
# Units that are no other word in the plural.
_NAMED = frozenset(
    listed(
        "nanoseconds microseconds milliseconds seconds minutes hours days weeks months years "
        "decades meters metres kilometers kilometres miles inches grams kilograms tons tonnes "
        "megabytes gigabytes terabytes watts kilowatts joules dollars euros"
    )
)
_EACH = frozenset(listed("every each per last past"))
_ONLY = frozenset(listed("only solely exclusively"))
_RESTRICTS = _ONLY | frozenset(
    listed(
        "just merely purely uniquely entirely alone single sole unless until limited restricted "
        "confined few little mere fully sufficient suffice suffices partial partially partly"
    )
)
# "only very few" stresses that it is little, and restricts nothing.
_LITTLE = frozenset(listed("a an very few small slight slightly little minimal limited about"))
_ADDS = (" in addition to ", " besides ", " as well as ", " also ")
_EVERY = frozenset(listed("all every always any whole entire everywhere universally"))
_SOME = frozenset(
    listed("only some certain example examples instance sometimes often several most mainly partly")
)
_PRICES = (" at the expense of ", " at the cost of ", " at the price of ", " expense of ")
_BOUNDED = ("distribution", "domain", "sample")
_LOSES = stems_of(
    frozenset(
        listed(
            "expense cost price sacrifice drop loss lose decline degrade degradation decrease "
            "reduce trade tradeoff compromise lower worse suffer harm hurt penalty impair"
        )
    )
)


def compare_restrictions(
    statement: Text, source: Text, around: Sequence[Text] = ()
) -> list[Finding]:
    """Look for units, orders of growth and an "only" that the source does not have.

    Args:
        statement: What was said.
        source: The sentences it rests on.
        around: Title and abstract of their papers, and the question.

    Returns:
        Wrong findings where the source has another unit or order of growth, others are doubts.
    """
    return [
        *_units(statement, source, around),
        *_growth(statement, source, around),
        *_only(statement, source),
        *_besides(statement, source),
        *_every(statement, source),
        *_price(statement, source),
        *_outside(statement, source),
    ]


def _units(statement: Text, source: Text, around: Sequence[Text]) -> Iterator[Finding]:
    """Find "takes hours" where the source has "takes days"; numbers are compared elsewhere."""
    theirs = {_unit(token): token for token in source.tokens if _unit(token)}
    known = {_unit(token) for text in around for token in text.tokens}
    for place, token in enumerate(statement.tokens):
        unit = _unit(token)
        before = statement.tokens[max(0, place - 2) : place]  # "836 square metres"
        counted = any(one.kind == "number" or one.lower in NUMBERS for one in before)
        named = token.lower in _NAMED or _is_each(statement.tokens, place)
        if not named or counted or unit in theirs or unit in known:
            continue
        rival = next((word for one, word in theirs.items() if _alike(one, unit)), None)
        if rival is None:
            yield Finding(f"“{token.text}” is not in the source", wrong=False)
        elif rival.lower not in statement.lowers:
            yield Finding(f"says “{token.text}”, the source says “{rival.text}”")


def _is_each(tokens: Sequence[Token], place: int) -> bool:
    """Say whether a word is the unit of "every week", "per day", "in the last year"."""
    return bool(_unit(tokens[place])) and place > 0 and tokens[place - 1].lower in _EACH


def _unit(token: Token) -> str:
    single = token.lower.removesuffix("s")
    return single if f"{single}s" in _NAMED else ""


def _alike(one: str, other: str) -> bool:
    return UNITS[one][0] == UNITS[other][0]


def _growth(statement: Text, source: Text, around: Sequence[Text]) -> Iterator[Finding]:
    """Find "O(log log n)" where the source has "O(log n)"."""
    theirs = list(_orders(source))
    known = {one for text in (source, *around) for one in _orders(text)}
    for one in _orders(statement):
        if theirs and one not in known:
            yield Finding(f"says “O({one})”, the source says “O({theirs[0]})”")


def _orders(text: Text) -> Iterator[str]:
    """Yield what stands in the brackets behind an O, without spaces and brackets."""
    tokens = text.tokens
    for index, token in enumerate(tokens[:-1]):
        if token.text != "O" or tokens[index + 1].text != "(":
            continue
        depth = 0
        inner: list[str] = []
        for one in tokens[index + 1 : index + 1 + _LONGEST]:
            depth += (one.text == "(") - (one.text == ")")
            if depth == 0:
                yield "".join(inner)
                break
            inner.append("".join(char for char in one.lower if char.isalnum() or char in "-+/"))


def _only(statement: Text, source: Text) -> Iterator[Finding]:
    """Doubt "only X" where the source restricts and denies nothing."""
    if _RESTRICTS & source.lowers or denials(source):
        return
    for token, following in zip(statement.tokens, statement.tokens[1:], strict=False):
        if token.lower in _ONLY and following.kind == "word" and following.lower not in _LITTLE:
            yield Finding(f"says “{token.text} {following.text}”, the source does not", False)
            return


def _besides(statement: Text, source: Text) -> Iterator[Finding]:
    """Doubt "X in addition to Y" where the source has "only Y"."""
    pairs = zip(source.tokens, source.tokens[1:], strict=False)
    restricts = next((b for a, b in pairs if b.lower in _ONLY and a.lower != "not"), None)
    adds = next((one for one in _ADDS if one in _run(statement)), None)
    if restricts and adds and not _RESTRICTS & statement.lowers and adds not in _run(source):
        yield Finding(f"says “{adds.strip()}”, the source says “{restricts.text}”", wrong=False)


def _every(statement: Text, source: Text) -> Iterator[Finding]:
    """Doubt "in all cases" where the source speaks of some or of an example."""
    if _EVERY & source.lowers or not (_SOME & source.lowers or "e.g" in source.plain):
        return
    token = next((token for token in statement.tokens if token.lower in _EVERY), None)
    if token and not denials(statement) and not _SOME & statement.lowers:
        yield Finding(f"says “{token.text}”, the source speaks of some", wrong=False)


def _price(statement: Text, source: Text) -> Iterator[Finding]:
    """Find "at the expense of X" where the source names nothing that is lost."""
    priced = next((one for one in _PRICES if one in _run(statement)), None)
    if priced and not _LOSES & source.stems and not any(one in _run(source) for one in _PRICES):
        yield Finding(f"says “{priced.strip()}”, the source names nothing that is lost")
    if priced and denials(source) and not denials(statement) and _LOSES & source.stems:
        yield Finding(f"says “{priced.strip()}”, the source denies it")


def _outside(statement: Text, source: Text) -> Iterator[Finding]:
    """Find "out of distribution" where the source has "in distribution", and the reverse."""
    mine, theirs = _run(statement), _run(source)
    for bounds in _BOUNDED:
        out, within = f" out of {bounds} ", f" in {bounds} "
        says = [one in mine.replace(" - ", " ") for one in (out, within)]
        known = [one in theirs.replace(" - ", " ") for one in (out, within)]
        if sum(known) == 1 and says == known[::-1]:
            yield Finding(f"says “{(out if says[0] else within).strip()}”, the source the reverse")


def _run(text: Text) -> str:
    return f" {' '.join(token.lower for token in text.tokens)} "
