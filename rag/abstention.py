"""When the library holds no answer: what is said instead, and what the nearest paper does tell."""

from collections.abc import Sequence

from .evidence import Reading
from .schema import Citation, Evidence, RankedPaper

ABSTENTION = "The papers in this library do not answer this question."
TELLING = 2  # sentences of the nearest paper that are shown
NEAR_COSINE = 0.55  # of question and paper: above it they speak of the same thing
NEAR_NAME = 0.3  # how rare a name of the question must be that the paper holds, 0 to 1

UNKNOWN_NAME = 0.9  # how rare a name of the question may be that no paper holds, 0 to 1


def nearest_told(reading: Reading) -> tuple[Evidence, ...]:
    """Return what the nearest paper tells about the matter, where it is the right paper.

    Args:
        reading: What reading the papers gave.

    Returns:
        The paper's best sentences, in the order of its abstract; none where even the nearest paper
        is about something else, so that nothing foreign is offered, or has only a title.
    """
    if not reading.papers or not reading.sentences or not _is_near(reading):
        return ()
    nearest = reading.sentences[0].paper.id
    said = [one for one in reading.sentences if one.paper.id == nearest and one.paper.abstract]
    return tuple(sorted(said[:TELLING], key=lambda one: one.span.start))


def _is_near(reading: Reading) -> bool:
    """Say whether the best sentence's paper is about what was asked."""
    nearest = reading.sentences[0].paper.id
    held = {paper_id for ids in reading.named.values() for paper_id in ids}
    if reading.named:
        return nearest in held and reading.signals.get("name_met", 0.0) >= NEAR_NAME
    if reading.signals.get("name_unknown", 0.0) >= UNKNOWN_NAME:
        return False
    return _cosine(reading.papers, nearest) >= NEAR_COSINE


def _cosine(papers: Sequence[RankedPaper], paper_id: str) -> float:
    return next((one.cosine or 0.0 for one in papers if one.paper.id == paper_id), 0.0)


def abstention_text(told: Sequence[Evidence], *, said: str = ABSTENTION) -> str:
    """Return what an abstention says: that there is no answer, then what the paper does tell."""
    if not told:
        return said
    quotes = " ".join(f"“{one.text}”" for one in told)
    return f"{said}\nWhat the nearest paper, {told[0].paper.label}, does say: {quotes}"


def as_citations(told: Sequence[Evidence]) -> tuple[Citation, ...]:
    """Return the sentences as quotes with their places."""
    return tuple(
        Citation(n, one.paper, one.passage_id, one.span, one.text)
        for n, one in enumerate(told, start=1)
    )
