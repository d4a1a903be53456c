"""From scored sentences to the few that are shown: one paper or several, both sides, no repeats."""

from collections.abc import Iterable, Sequence

from .question import Question
from .schema import Evidence

LIST_MARGIN = 2.5  # a paper stays in a list while its best sentence is this near the best (logits)


def choose(question: Question, sentences: Sequence[Evidence], *, most: int) -> tuple[Evidence, ...]:
    """Choose the sentences of an answer.

    Args:
        question: The question as understood.
        sentences: Sentences, best first.
        most: At most so many, 1 or more.

    Returns:
        The chosen sentences, best first; for a question about several papers one from each.
    """
    distinct = list(_without_repeats(sentences))
    if question.many:
        return tuple(_one_a_paper(distinct)[:most])
    if question.compare:
        sides = _one_a_paper(distinct)[:2]
        rest = [one for one in distinct if one not in sides]
        return tuple([*sides, *rest][:most])
    return tuple(distinct[:most])


def _one_a_paper(sentences: Sequence[Evidence]) -> list[Evidence]:
    """Return the best sentence of each paper that comes near the best of all."""
    best: dict[str, Evidence] = {}
    for one in sentences:
        best.setdefault(one.paper.id, one)
    floor = sentences[0].score - LIST_MARGIN if sentences else 0.0
    return [one for one in best.values() if one.score >= floor]


def _without_repeats(sentences: Iterable[Evidence]) -> Iterable[Evidence]:
    """Yield each sentence once, also when two papers share it."""
    seen: set[str] = set()
    for one in sentences:
        words = " ".join(one.text.casefold().split())
        if words not in seen:
            seen.add(words)
            yield one
