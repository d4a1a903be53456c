"""Where the papers found say opposite things about the same matter."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from .evidence import Reading
from .schema import Evidence
from .verify.direction import compare_directions
from .verify.negation import compare_negation
from .verify.reading import Text, read

LOOKED_AT = 8  # best sentences that are compared with each other
SAME_MATTER = 0.55  # cosine of two sentences above which they speak of the same thing
SHARED_STEMS = 3  # words that they must have in common


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sentences of different papers that cannot both hold as they stand, and why."""

    one: Evidence
    other: Evidence
    reason: str

    def note(self) -> str:
        """Say it in one sentence."""
        return (
            f"Two papers seem to disagree: “{self.one.text}” ({self.one.paper.label}) against "
            f"“{self.other.text}” ({self.other.paper.label}). Read both before you quote one."
        )


def disagreement(reading: Reading) -> Disagreement | None:
    """Return the first pair among the best sentences whose papers say opposite things.

    Sentences of two papers are compared when their vectors and words show that they speak of the
    same matter; opposite are a denial against none, and a rise against a fall. Numbers are not
    compared: two papers measure different things.

    Args:
        reading: What reading the papers gave.
    """
    return next(_pairs(reading), None)


def with_both(evidence: Sequence[Evidence], opposed: Disagreement) -> tuple[Evidence, ...]:
    """Return the chosen sentences with both sides of a disagreement among them.

    A missing side takes the place of the last sentence that is on neither side; where there is none
    left, it is added, so that at least these two are returned.
    """
    sides = (opposed.one, opposed.other)
    missing = [side for side in sides if side not in evidence]
    others = [one for one in evidence if one not in sides]
    kept = others[: max(0, len(evidence) - len(sides))]
    if not missing:
        return tuple(evidence)
    return tuple([*(one for one in evidence if one in sides or one in kept), *missing])


def _pairs(reading: Reading) -> Iterator[Disagreement]:
    best = reading.sentences[:LOOKED_AT]
    if not reading.vectors.shape[1] or len({one.paper.id for one in best}) < 2:
        return
    texts = [read(one.text) for one in best]
    for a, b in combinations(range(len(best)), 2):
        if best[a].paper.id == best[b].paper.id:
            continue
        if float(reading.vectors[a] @ reading.vectors[b]) < SAME_MATTER:
            continue
        if reason := _opposite(texts[a], texts[b]):
            yield Disagreement(best[a], best[b], reason)


def _opposite(one: Text, other: Text) -> str:
    """Say why two sentences oppose each other, seen from either; empty if they do not."""
    if len(set(one.stems) & set(other.stems)) < SHARED_STEMS:
        return ""
    for compare in (compare_directions, compare_negation):
        found = [f for f in compare(one, other) if f.wrong]
        back = [f for f in compare(other, one) if f.wrong]
        if found and back:
            return found[0].reason
    return ""
