"""Whether a statement denies what its source says, or says what its source denies. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from . import Finding, listed
from .lexicon import DENIES_NEXT, NEARLY_DENIES, SOFT, STRONG, stems_of
from .reading import MOST, Text, Token
from .stems import akin, stem

_PREFIXES = ("un", "in", "im", "ir", "il", "non", "dis", "de", "sub", "a", "mis")
_OTHER_WORDS = frozenset(
    listed("until unless under unlike union unions unite united unity unit units universe")
)
_REFERRING = frozenset(listed("its their this whose such"))
_ABSENCE = frozenset(listed("absence lack scarcity paucity dearth shortage removal"))
_TAKES_AWAY = stems_of(
    frozenset(listed("alleviate obviate eliminate remove bypass circumvent lift relax"))
)
_NEEDS = frozenset(listed("need needs necessity requirement requirements reliance dependence"))
_NEED_WITHIN = 3  # words from "alleviates" to "need"
_LESSENING = frozenset(
    listed("lower low less reduced little weak weaker poor limited insufficient")
)
# What these begin with is no negative prefix: "improve" does not deny "prove".
_NO_PREFIX = (
    "improv", "inform", "impress", "import", "impl", "inter", "discuss", "discover", "display",
    "distrib", "distinct", "design", "detect", "deriv", "deploy", "describ", "subject", "depend",
)  # fmt: skip
_NOT_ONLY = frozenset(listed("only just merely simply solely necessarily"))
_VERBS = {
    stem(verb): verb for verb in listed("prevent avoid ignore neglect overlook disregard eliminate")
}
_WITHIN = 4  # tokens from a denial to the verb that it denies
_HEADS = 2  # words behind a denial that carry it
_ANEW = frozenset(["no", "without"])  # "cannot be reached with no help" denies twice
_FARTHEST = 20  # tokens behind a denial that are looked at
_BESIDE = 3  # words between "limited" and what it is said of
_REACH = 4  # words behind a denial that it may turn round
_BEFORE = 5  # words before a denial that it may be said of
_SHORTEST, _SHORTEST_UN = 5, 4  # letters that are left without "in-", without "un-"


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies, with the stems it is said of, nearest first."""

    word: str
    strong: bool
    scope: tuple[str, ...]
    behind: frozenset[str]  # the stems of the few words before it
    sentence: int

    @property
    def heads(self) -> tuple[str, ...]:
        """Return the stems that carry the denial."""
        return self.scope[:_HEADS]


def denials(text: Text) -> list[Denial]:
    """Return the denials of a text, each with the words of its clause that it reaches."""
    return list(islice(_denials(text), MOST))


def _denials(text: Text) -> Iterator[Denial]:
    tokens = text.tokens
    for index, reached in reaches(text):
        token = tokens[index]
        scope = tuple(tokens[place].stem for place in reached)
        left = [
            t.stem
            for t in tokens[max(0, index - _FARTHEST) : index]
            if t.clause == token.clause and t.content
        ]
        behind = frozenset(left[-_BEFORE:])
        yield Denial(token.lower, _is_strong(token), scope, behind, token.sentence)


def _is_strong(token: Token) -> bool:
    return (
        token.lower in STRONG or token.lower in ("non", "free", "less") or token.stem in _TAKES_AWAY
    )


def reaches(text: Text) -> Iterator[tuple[int, list[int]]]:
    """Yield the position of every denial with the positions of the words that it reaches."""
    tokens = text.tokens
    for index, token in enumerate(tokens):
        if token.lower in ("free", "less") and (place := _freed(text, index)) is not None:
            yield index, [place]
        if token.stem in _TAKES_AWAY and (place := _need(tokens, index)) is not None:
            yield index, _reached(tokens, place)
        if token.kind != "word" or token.lower not in DENIES_NEXT:
            continue
        following = tokens[index + 1].lower if index + 1 < len(tokens) else ""
        before = tokens[index - 1].lower if index else ""
        if following not in _NOT_ONLY and not _is_harmless(token, before, following, tokens, index):
            yield index, _reached(tokens, index)


def _need(tokens: tuple[Token, ...], index: int) -> int | None:
    """Return the position of the "need" that is taken away: "alleviating the need for labels"."""
    for place in range(index + 1, min(index + 1 + _NEED_WITHIN, len(tokens))):
        if tokens[place].lower in _NEEDS:
            return place
    return None


def _freed(text: Text, index: int) -> int | None:
    """Return the position of what something is free of: "pose-free", "free of poses"."""
    tokens = text.tokens
    if index and tokens[index - 1].content and text.plain[tokens[index].start - 1] == "-":
        return index - 1
    follows = index + 2 < len(tokens) and tokens[index + 1].lower in ("of", "from")
    if follows and tokens[index].lower == "free":
        return index + 2 if tokens[index + 2].content else None
    return None


def _reached(tokens: tuple[Token, ...], index: int) -> list[int]:
    """Return the positions of the next few words of the clause; of one behind "non-"."""
    most = 1 if tokens[index].lower == "non" else _REACH
    found: list[int] = []
    for place in range(index + 1, min(index + 1 + _FARTHEST, len(tokens))):
        if tokens[place].clause != tokens[index].clause or len(found) == most:
            break
        if found and tokens[place].lower in _ANEW:
            break
        if tokens[place].content:
            found.append(place)
    return found


def _is_harmless(
    token: Token, before: str, following: str, tokens: tuple[Token, ...], index: int
) -> bool:
    """Tell apart "no more than", "whether or not", "with and without", "a little", "No. 3"."""
    if token.lower == "no" and following in ("more", "less", "fewer", "longer"):
        third = tokens[index + 2].lower if index + 2 < len(tokens) else ""
        return third == "than"
    if token.lower == "few":
        return before in ("a", "as", "the") or following in ("-", "shot", "step")
    if before in ("and", "or") and index > 1:
        pair = (tokens[index - 2].lower, token.lower)
        if pair in (("with", "without"), ("can", "cannot")):
            return True
    return (before == "or" and token.lower == "not") or (before == "a" and token.lower == "little")


def _signs(text: Text) -> dict[str, set[int]]:
    """Return for every stem whether it is said (+1) or denied (-1), or both."""
    turned = [1] * len(text.tokens)
    for _, reached in reaches(text):
        for position in reached:
            turned[position] *= -1
    signs: dict[str, set[int]] = {}
    for position, token in enumerate(text.tokens):
        if token.content:
            signs.setdefault(token.stem, set()).add(turned[position])
    return signs


def compare_negation(statement: Text, source: Text) -> list[Finding]:
    """Compare what a statement and its source deny, clause by clause.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding.
    """
    said, known = _signs(statement), _signs(source)
    mine, theirs = denials(statement), denials(source)
    for one in mine:
        if _is_answered(one, theirs) or _is_nearly_denied(one, source, statement):
            continue
        if _contradicted(one, said, known) and (one.strong or not _denies_anything(source)):
            return [
                Finding(f"denies (“{one.word} {_spoken(statement, one)}”) what the source says")
            ]
    for one in theirs:
        if (
            _is_answered(one, mine)
            or _denies_by_reference(statement)
            or _is_nearly_denied(one, statement, source)
        ):
            continue
        if _contradicted(one, known, said) and (one.strong or not _denies_anything(statement)):
            return [Finding(f"the source denies it (“{one.word} {_spoken(source, one)}”)")]
    turned = _turned_word(statement, source) or _denied_denial(statement, source)
    if turned:
        return [Finding(f"says “{turned[0]}”, the source says “{turned[1]}”")]
    alone = next((one for one in mine if one.word in STRONG), None)
    if alone and not _denies_anything(source):
        said_so = f"“{alone.word} {_spoken(statement, alone)}”"
        return [Finding(f"denies something ({said_so}), the source does not")]
    return []


def _is_answered(denial: Denial, others: list[Denial]) -> bool:
    """Say whether the other text denies it with the word behind: "X is not considered"."""
    return any(
        akin(head, one)
        for head in denial.heads
        for other in others
        if other.strong and denial.strong
        for one in other.behind - set(other.scope)
    )


def _denies_by_reference(text: Text) -> bool:
    """Say whether a text names what is denied before it denies it: "its absence"."""
    pairs = zip(text.tokens, text.tokens[1:], strict=False)
    return any(a.lower in _REFERRING and b.lower in _ABSENCE for a, b in pairs)


def _is_nearly_denied(denial: Denial, there: Text, here: Text) -> bool:
    """Say whether "limited", "insufficient", "impractical" stand there for a denial here."""
    words = there.content
    meant = [
        place
        for place, word in enumerate(words)
        if any(akin(word.stem, head) for head in denial.heads)
    ]
    for place, word in enumerate(words):
        if word.stem in here.stems:
            continue
        bare = _bare_of(word)
        if bare and any(akin(bare, one) for one in denial.scope) and not there.has(bare):
            return True
        close = any(
            abs(place - one) <= _BESIDE and word.clause == words[one].clause for one in meant
        )
        if close and (word.lower in NEARLY_DENIES or word.stem in _known_negative()):
            return True
    return False


def _contradicted(denial: Denial, here: dict[str, set[int]], there: dict[str, set[int]]) -> bool:
    """Say whether what is denied here is said there, and more of its clause is than is not."""
    against = agreeing = 0
    head_against = False
    for place, wanted in enumerate(denial.scope):
        other = next((signs for one, signs in there.items() if akin(one, wanted)), None)
        mine = here.get(wanted)
        if other is None or mine is None or len(mine) > 1:
            continue
        if other & mine:
            if place == 0:
                return False
            agreeing += 1
        else:
            against += 1
            head_against = head_against or place < _HEADS
    return head_against and against > agreeing


def _denied_denial(statement: Text, source: Text) -> tuple[str, str] | None:
    """Find "is not able to prevent" against "prevents", and the reverse."""
    said, known = _denials_denied(statement), _denials_denied(source)
    for one, signs in said.items():
        other = known.get(one, set())
        if len(signs) == len(other) == 1 and signs != other:
            denied = f"not {one}"
            return (denied, one) if True in signs else (one, denied)
    return None


def _denials_denied(text: Text) -> dict[str, set[bool]]:
    """Return for every verb that denies, such as "prevent", whether it is denied itself."""
    found: dict[str, set[bool]] = {}
    for place, token in enumerate(text.tokens):
        if token.stem in _VERBS:
            before = text.tokens[max(0, place - _WITHIN) : place]
            denied = any(t.lower in STRONG and t.clause == token.clause for t in before)
            found.setdefault(_VERBS[token.stem], set()).add(denied)
    return found


def _turned_word(statement: Text, source: Text) -> tuple[str, str] | None:
    """Find "uniform" against "non-uniform", "observed" against "unobserved"."""
    turned = _turned(source, statement)
    return _turned(statement, source) or (turned and (turned[1], turned[0]))


def _turned(here: Text, there: Text) -> tuple[str, str] | None:
    """Find a word with a negative prefix here whose bare form stands there."""
    denied = {s for one in (*denials(here), *denials(there)) for s in one.scope}
    for token in here.content:
        if token.stem in there.stems or token.lower in there.lowers:
            continue
        bare = _bare_of(token)
        if bare is None:
            continue
        alike = (t for t in there.content if _same_base(bare, t))
        match = next(
            (t for t in alike if _same_kind(token, t) and not _is_lessened(there, t)), None
        )
        if match and match.stem not in denied and token.stem not in denied:
            twice = any(_bare_of(t) == bare for t in there.content)
            if not twice and not any(_same_base(bare, t) for t in here.content):
                return token.lower, match.lower
    return None


def _is_lessened(text: Text, token: Token) -> bool:
    """Say whether a word stands behind one that takes from it: "lower similarity"."""
    place = text.tokens.index(token)
    return any(one.lower in _LESSENING for one in text.tokens[max(0, place - 2) : place])


def _bare_of(token: Token) -> str | None:
    """Return a word without its negative prefix."""
    if token.lower.startswith(_NO_PREFIX):
        return None
    for prefix in _PREFIXES:
        rest = token.lower.removeprefix(prefix)
        least = _SHORTEST_UN if prefix == "un" and token.lower not in _OTHER_WORDS else _SHORTEST
        if rest != token.lower and len(rest) >= least:
            return stem(rest)
    return None


def _same_kind(one: Token, other: Token) -> bool:
    """Tell "completely absent" from "incomplete": an adverb is of something else."""
    return one.lower.endswith("ly") == other.lower.endswith("ly")


def _same_base(bare: str, token: Token) -> bool:
    return akin(bare, token.stem) and abs(len(bare) - len(token.stem)) <= 3


def _denies_anything(text: Text) -> bool:
    """Say whether anything in a text may stand for a denial."""
    return any(may_deny(token) for token in text.tokens if token.kind == "word")


def may_deny(token: Token) -> bool:
    """Say whether a word may stand for a denial.

    Args:
        token: A word.
    """
    if _is_strong(token) or token.lower in SOFT | NEARLY_DENIES or token.stem in stems_of(SOFT):
        return True
    if token.lower.startswith("un") and _bare_of(token) and not token.lower.startswith("under"):
        return True
    if len(token.lower) > 7 and token.lower.startswith(("un", "non")):
        return True
    return token.stem in _known_negative() or (
        len(token.lower) > 6 and token.lower.endswith("less")
    )


def _known_negative() -> frozenset[str]:
    return stems_of(
        frozenset(
            listed(
                "independent insufficient inaccurate inconsistent incomplete inefficient "
                "infeasible intractable inadequate impossible impractical irrelevant irrespective "
                "invariant disagree disconnect disallow dissimilar disregard inability invalid"
            )
        )
    )


def _spoken(text: Text, denial: Denial) -> str:
    """Return the words behind a denial as they were written."""
    for token in text.tokens:
        if token.stem in denial.scope[:1] and token.sentence == denial.sentence:
            return token.text
    return "…"
