"""Opposites from a dictionary: "cooperation" for "competition", "tractable" for "intractable"."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

from . import Finding, listed
from .lexicon import DENIES_NEXT
from .reading import Text, Token
from .stems import akin

TABLE = "antonyms.json"  # made by ``python -m eval.bench.antonyms``, under WordNet's licence
_REACH = 4  # words on either side that an opposite is said of
_DENIED_WITHIN = 4  # tokens from a denial to what it turns round
_TURNING = DENIES_NEXT | frozenset(listed("less least free than instead versus vs or"))
# Beginnings of words that make opposites of the same rest.
_BEGINNINGS = tuple(
    tuple(pair.split(":"))
    for pair in listed(
        "over:under up:down pre:post intra:inter homo:hetero mono:multi uni:multi uni:bi sub:super "
        "micro:macro in:out hypo:hyper endo:exo on:off"
    )
)
_REST = 4  # letters that must follow


def compare_antonyms(statement: Text, source: Text) -> list[Finding]:
    """Look for a word whose opposite the source says of the same thing.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding. Where either text holds both words, or denies one of them,
        there is none.
    """
    for index, token in enumerate(statement.tokens):
        if not token.content or source.has(token.stem):
            continue
        for place, rival in enumerate(source.tokens):
            if (
                rival.content
                and _are_opposite(token.lower, rival.lower)
                and not statement.has(rival.stem)
                and _same_thing(statement.tokens, index, source.tokens, place)
                and not _is_turned(statement.tokens, index)
                and not _is_turned(source.tokens, place)
            ):
                return [Finding(f"says “{token.text}”, the source says “{rival.text}”")]
    return []


def _are_opposite(one: str, other: str) -> bool:
    return other in antonyms().get(one, ()) or _begin_apart(one, other)


def _begin_apart(one: str, other: str) -> bool:
    """Say whether two words differ only in beginnings that are opposites: "pre-", "post-"."""
    for pair in _BEGINNINGS:
        for here, there in (pair, pair[::-1]):
            rest, same = one.removeprefix(here), other.removeprefix(there)
            if rest == same and len(rest) >= _REST and rest != one and same != other:
                return True
    return False


def _same_thing(mine: tuple[Token, ...], index: int, theirs: tuple[Token, ...], place: int) -> bool:
    here, there = list(_around(mine, index)), list(_around(theirs, place))
    return any(akin(one, other) for one in here for other in there)


def _around(tokens: tuple[Token, ...], index: int) -> Iterator[str]:
    """Yield the stems of the few words around, inside the clause."""
    left = [t for t in tokens[max(0, index - 2 * _REACH) : index] if t.content]
    right = [t for t in tokens[index + 1 : index + 1 + 2 * _REACH] if t.content]
    for token in (*left[-_REACH:], *right[:_REACH]):
        if token.clause == tokens[index].clause:
            yield token.stem


def _is_turned(tokens: tuple[Token, ...], index: int) -> bool:
    before = tokens[max(0, index - _DENIED_WITHIN) : index]
    return any(one.lower in _TURNING and one.clause == tokens[index].clause for one in before)


@cache
def antonyms() -> Mapping[str, frozenset[str]]:
    """Return the opposites of every word of the table, with the forms of both."""
    file = resources.files("rag").joinpath("weights", TABLE)
    table = json.loads(file.read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for kind in ("adj", "adv", "noun", "verb"):
        for pair in table[kind].split():
            one, other = pair.split(":")
            for here, there in ((one, other), (other, one)):
                for group, rivals in zip(_forms(here, kind), _forms(there, kind), strict=True):
                    for form in group:
                        found.setdefault(form, set()).update(rivals)
    return {word: frozenset(words) for word, words in found.items()}


def _forms(word: str, kind: str) -> list[list[str]]:
    """Return a word's forms in groups that may be opposed to those of another word.

    "Incomplete" denies "complete"; "completely" may only say how much.
    """
    bare = word.removesuffix("e")
    if kind == "adv":
        return [[word]]
    if kind == "adj":
        return [[word, f"{bare}er", f"{bare}est"], [f"{word}ly"]]
    plural = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return [[word, plural, *([f"{bare}ed", f"{bare}ing"] if kind == "verb" else [])]]
