"""From scored sentences to the few that are shown: one paper or several, both sides, no repeats."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .composing import own_name
from .evidence import Reading
from .question import Question
from .schema import Evidence

LIST_SHARE = 0.65  # a paper stays in a list while its score is this share of the best one's
CONTRIBUTION = 1.5  # in a list, a sentence that says what its paper does counts so much more


def choose(
    question: Question, reading: Reading, *, most: int, whole: bool = False
) -> tuple[Evidence, ...]:
    """Choose the sentences of an answer.

    Args:
        question: The question as understood.
        reading: The scored sentences.
        most: At most so many, 1 or more.
        whole: Every paper read belongs to a list, since the question's own words filtered them.

    Returns:
        The chosen sentences, best first. A question about several papers gets one sentence from
        each, in the order of the papers; a comparison one from each side before any second one.
    """
    distinct = list(_without_repeats(reading.sentences))
    if question.many:
        least = LIST_SHARE * max((r.own_score for r in reading.papers), default=0.0)
        listed = [r.paper.id for r in reading.papers if whole or r.own_score >= least]
        best = _one_a_paper(_contributions_up(reading))
        return tuple(best[name] for name in listed if name in best)[:most]
    if question.compare:
        sides = list(_one_a_paper(_of_the_named(distinct, reading)).values())[:2]
        rest = [one for one in distinct if one not in sides]
        return tuple([*sides, *rest][:most])
    return tuple(_of_their_own(distinct, reading)[:most])


def _of_their_own(sentences: Sequence[Evidence], reading: Reading) -> list[Evidence]:
    """Keep the papers that present what the question names, when one of them was read.

    What another paper says of a system is second-hand, and may be said to mislead.
    """
    allowed: set[str] = set()
    for name, holders in reading.named.items():
        owners = {
            one.paper.id
            for one in reading.papers
            if one.paper.id in holders and own_name(one.paper) == name
        }
        allowed |= owners or set(holders)
    owned = any(own_name(one.paper) in reading.named for one in reading.papers)
    if not owned:
        return list(sentences)
    return [one for one in sentences if one.paper.id in allowed] or list(sentences)


def _contributions_up(reading: Reading) -> list[Evidence]:
    """Sort the sentences so that those that say what their paper does come earlier."""
    raised = [
        replace(one, score=one.score + CONTRIBUTION * float(ours))
        for one, ours in zip(reading.sentences, reading.feature("ours"), strict=True)
    ]
    return sorted(_without_repeats(raised), key=lambda one: -one.score)


def _of_the_named(sentences: Sequence[Evidence], reading: Reading) -> list[Evidence]:
    """Keep the papers that the question names, when it names at least two."""
    named = {paper_id for ids in reading.named.values() for paper_id in ids}
    if len(named) < 2:
        return list(sentences)
    return [one for one in sentences if one.paper.id in named]


def _one_a_paper(sentences: Sequence[Evidence]) -> dict[str, Evidence]:
    """Return paper id → its best sentence, best first."""
    best: dict[str, Evidence] = {}
    for one in sentences:
        best.setdefault(one.paper.id, one)
    return best


def _without_repeats(sentences: Iterable[Evidence]) -> Iterable[Evidence]:
    """Yield each sentence once, also when two papers share it."""
    seen: set[str] = set()
    for one in sentences:
        words = " ".join(one.text.casefold().split())
        if words not in seen:
            seen.add(words)
            yield one
