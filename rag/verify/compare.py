"""One statement against the sentences it may rest on: findings, closeness, verdict. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ..schema import Evidence, Paper
from . import Finding
from .amounts import compare_quantities
from .antonyms import compare_antonyms
from .causes import compare_causes
from .counted import compare_counted
from .direction import compare_directions
from .fields import compare_fields
from .kinds import compare_kinds
from .names import compare_names
from .negation import compare_negation
from .neighbours import compare_neighbours
from .places import compare_places
from .reading import Text, read
from .restrictions import compare_restrictions
from .roles import compare_roles
from .terms import compare_terms
from .valence import compare_valence

Verdict = Literal["supported", "weak", "unsupported"]
Similarity = Callable[[str, str], float]
"""(statement, sentence) → cosine, -1 to 1."""
Entailment = Callable[[str, str], float]
"""(statement, sentence) → probability, 0 to 1, that the statement follows from the sentence."""

RANK: dict[str, int] = {"unsupported": 0, "weak": 1, "supported": 2}
# Fitted on our own paraphrases and on SciFact's claims, see docs/verification.md.
WORDS_SHARE = 0.6  # of closeness; the cosine has the rest
SUPPORTED_FROM = 0.5
WEAK_FROM = 0.3
FOREIGN_SUPPORTED_FROM = 0.6  # cosine, where statement and source share no script
ENTAILED_FROM, WEAKLY_ENTAILED_FROM = 0.5, 0.2


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comparing a statement with some sentences gave.

    ``closeness`` is 0 to 1: how many of the statement's words the sentences hold, mixed with their
    cosine. ``reason`` is empty for a supported statement.
    """

    verdict: Verdict
    reason: str
    closeness: float
    sources: tuple[Evidence, ...]

    @property
    def order(self) -> tuple[int, float]:
        """Return what comparisons are sorted by, best last."""
        return RANK[self.verdict], self.closeness


def compare(
    statement: str,
    sources: Sequence[Evidence],
    *,
    question: str = "",
    similarity: Similarity | None = None,
    entailment: Entailment | None = None,
) -> Comparison:
    """Compare a statement with sentences that together may support it.

    Args:
        statement: One sentence, without markers.
        sources: At least one sentence.
        question: What was asked; names in it need no source.
        similarity: Cosine of two texts; None leaves it out.
        entailment: Probability that a statement follows; None leaves it out.

    Returns:
        The verdict, with its reason.
    """
    said, known = read(statement), read(" ".join(one.text for one in sources))
    papers = {one.paper.id: one.paper for one in sources}.values()
    around = [read(_whole(paper)) for paper in papers]
    asked = read(question) if question else None
    close = _closeness(said, known, statement, sources, similarity)
    verdict, reason = _by_findings(_findings(said, known, around, asked, similarity))
    for other, why in (
        _by_closeness(said, known, close),
        _by_entailment(statement, sources, entailment),
    ):
        if RANK[other] < RANK[verdict]:
            verdict, reason = other, why
    return Comparison(verdict, reason, close, tuple(sources))


def _whole(paper: Paper) -> str:
    return f"{paper.title}. {paper.abstract}"


def _findings(
    said: Text,
    known: Text,
    around: Sequence[Text],
    asked: Text | None,
    similarity: Similarity | None,
) -> list[Finding]:
    elsewhere = [*around, *([asked] if asked else [])]
    found = [
        *compare_quantities(said, known, elsewhere),
        *compare_names(said, known, around, asked),
    ]
    if said.is_foreign != known.is_foreign:
        return found
    return [
        *found,
        *compare_roles(said, known),
        *compare_counted(said, known),
        *compare_directions(said, known),
        *compare_negation(said, known),
        *compare_antonyms(said, known),
        *compare_causes(said, known),
        *compare_places(said, known),
        *compare_neighbours(said, known),
        *compare_restrictions(said, known, elsewhere),
        *compare_kinds(said, known, elsewhere),
        *compare_terms(said, known, elsewhere, similarity),
        *compare_valence(said, known),
        *compare_fields(said, known, elsewhere),
    ]


def _by_findings(findings: Sequence[Finding]) -> tuple[Verdict, str]:
    wrong = next((one for one in findings if one.wrong), None)
    if wrong:
        return "unsupported", wrong.reason
    return ("weak", findings[0].reason) if findings else ("supported", "")


def _closeness(
    said: Text,
    known: Text,
    statement: str,
    sources: Sequence[Evidence],
    similarity: Similarity | None,
) -> float:
    covered = sum(map(known.has, said.stems)) / len(said.stems) if said.stems else 0.0
    if similarity is None:
        return round(covered, 4)
    cosine = max(0.0, *(similarity(statement, one.text) for one in sources), 0.0)
    if said.is_foreign != known.is_foreign:
        return round(cosine, 4)
    return round(WORDS_SHARE * covered + (1 - WORDS_SHARE) * cosine, 4)


def _by_closeness(said: Text, known: Text, close: float) -> tuple[Verdict, str]:
    if said.is_foreign != known.is_foreign:
        if close >= FOREIGN_SUPPORTED_FROM:
            return "supported", ""
        return (
            "weak",
            "it is in another script than its source; only numbers and names could be compared",
        )
    if not said.stems:
        return "weak", "it holds nothing that could be compared"
    if close >= SUPPORTED_FROM:
        return "supported", ""
    if close >= WEAK_FROM:
        return "weak", "the source covers it only in part"
    return "unsupported", "the source speaks of something else"


def _by_entailment(
    statement: str, sources: Sequence[Evidence], entailment: Entailment | None
) -> tuple[Verdict, str]:
    if entailment is None:
        return "supported", ""
    chance = entailment(statement, " ".join(one.text for one in sources))
    if chance >= ENTAILED_FROM:
        return "supported", ""
    reason = f"the model of --verifier gives it {chance:.0%} to follow from its source"
    return ("weak" if chance >= WEAKLY_ENTAILED_FROM else "unsupported"), reason
