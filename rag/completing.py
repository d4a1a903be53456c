"""What a model left out or lost on the way, quoted after its words. Pure.

The sentences that would answer the question without a model are compared with what the model said:
one that no supported statement rests on, or whose content the statement lost, is quoted as it
stands in its paper.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from .citations import render
from .composing import statement_text
from .names import systems_in
from .quantities import Quantity, quantities
from .schema import Evidence, Statement
from .synthesis import Draft, lead_in
from .verify.amounts import fits_unit, same_value, unsigned
from .verify.reading import Text, read

KEPT_SHARE = 0.4  # of a sentence's words that the question does not hold; less has lost something
FAR_BEHIND = 3.0  # of a sentence's score below the best one's: its odds are a twentieth
UNFOUND = (
    "The model found no answer in the sentences it was given; the nearest are quoted. "
    "Read them before you rely on them."
)
_PART = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\w[A-Z]|\d[A-Za-z]|[A-Za-z]\d")
_EXPLAINED = re.compile(r"\([^\s()]{2,24}\)")  # a short form behind what it stands for
_DOUBTFUL = ("weak", "unsupported")


def completed(
    draft: Draft, question: str, chosen: Sequence[Evidence], *, every: bool = True
) -> Draft:
    """Return a draft with the chosen sentences that it leaves out, as quoted statements.

    Args:
        draft: What a model said, checked.
        question: What was asked; what stands in it need not be repeated.
        chosen: The sentences that answer the question without a model, best first.
        every: Whether all of them count. If not, those far behind the best one are left out once
            the draft keeps that one.

    Returns:
        The draft with a quoted statement for each chosen sentence that no statement rests on, or
        whose numbers, names or words the statements that rest on it do not keep. A draft that
        found nothing consists of the quotes alone, and says so in its notes; without any it is
        returned as it is.
    """
    if not draft.found and chosen:
        draft = replace(draft, statements=(), sources=(), found=True, notes=(*draft.notes, UNFOUND))
    if not every and chosen and _is_told(chosen[0], draft, question):
        chosen = [one for one in chosen if one.score >= chosen[0].score - FAR_BEHIND]
    sources, quotes = list(draft.sources), []
    for one in chosen:
        if _is_told(one, draft, question):
            continue
        at = next((n for n, known in enumerate(sources) if _is_same(one, known)), len(sources))
        sources[at:] = sources[at:] or [one]
        quotes.append(Statement(statement_text(one), (at + 1,), "verbatim"))
    return replace(draft, statements=(*draft.statements, *quotes), sources=tuple(sources))


def added_text(before: Draft, after: Draft) -> str:
    """Return what completing a draft adds to its text, as it is streamed; empty for nothing."""
    was = before.statements if before.found else ()
    quotes = after.statements[len(was) :]
    if not quotes:
        return ""
    return lead_in(quotes) if was else render(quotes)


def _is_told(one: Evidence, draft: Draft, question: str) -> bool:
    """Say whether statements that nothing speaks against rest on a sentence, and keep it."""
    said = [
        statement.text
        for statement in draft.statements
        if statement.support not in _DOUBTFUL
        and any(_is_same(one, draft.sources[n - 1]) for n in statement.citations)
    ]
    return bool(said) and keeps(" ".join(said), one.text, question)


def _is_same(one: Evidence, other: Evidence) -> bool:
    """Say whether two pieces of evidence are the same sentence, whatever their scores."""
    return (one.paper.id, one.span) == (other.paper.id, other.span)


def keeps(said: str, sentence: str, question: str = "") -> bool:
    """Say whether a statement keeps what a sentence tells beyond the question.

    Args:
        said: A statement, or several that rest on the sentence.
        sentence: What they rest on.
        question: What was asked.

    Returns:
        True if every number and every name of the sentence, and most of its words, stand in the
        statement or the question. In another script words are not compared.

    Example:
        >>> keeps("Lead fell by half.", "Lead in moss fell by half within five years.")
        False
    """
    words, known, asked = read(said), read(sentence), read(question)
    return (
        not any(_lost_numbers(words, known, asked))
        and not _lost_names(sentence, f"{said} {question}")
        and (words.is_foreign != known.is_foreign or kept_share(words, known, asked) >= KEPT_SHARE)
    )


def _lost_numbers(said: Text, known: Text, asked: Text) -> Iterator[Quantity]:
    heard = [*quantities(said), *quantities(asked)]
    for one in quantities(known):
        one = unsigned(one, said)
        if not _is_idle(one, known) and not any(
            same_value(other, one) and fits_unit(other, one) for other in heard
        ):
            yield one


def _is_idle(one: Quantity, text: Text) -> bool:
    """Say whether a number counts nothing: "one of", "the first", "(2)" before a list's item."""
    around = [token.text for token in text.tokens[max(0, one.index - 1) : one.end + 1]]
    return (
        one.dimension == "ordinal"
        or (one.spelt and math.isclose(one.value, 1))
        or (around[0] == "(" and around[-1] == ")")
    )


def _lost_names(sentence: str, heard: str) -> list[str]:
    """Return the names of a sentence that are not heard; "CoF-T2I" has two, "(RL)" is explained."""
    known = set(_PART.findall(heard.casefold()))
    plain = _EXPLAINED.sub(" ", sentence)
    parts = [part for name in systems_in(f"– {plain}") for part in _PART.findall(name)]
    return [
        part
        for part in parts
        if _NAME.search(part) and not {part.casefold(), part.casefold().removesuffix("s")} & known
    ]


def kept_share(said: Text, known: Text, asked: Text) -> float:
    """Return which share of a sentence's words that the question lacks a statement holds."""
    new = [stem for stem in known.stems if not asked.has(stem)]
    return sum(map(said.has, new)) / len(new) if new else 1.0
