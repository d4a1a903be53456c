"""The plain hybrids that others use, from two engines' rankings, to compare ours with. Pure."""

from collections.abc import Mapping

RANK_CONSTANT = 60  # as in Cormack, Clarke and Büttcher, SIGIR 2009

Ranking = Mapping[str, float]


def reciprocal_ranks(*rankings: Ranking) -> dict[str, float]:
    """Add up 1 / (60 + rank) over rankings.

    Args:
        rankings: Document → score; equal scores share a rank, as the records of one paper do.

    Returns:
        Document → score over all of them; empty for none.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        places = {
            score: n for n, score in enumerate(sorted(set(ranking.values()), reverse=True), 1)
        }
        for name, score in ranking.items():
            total[name] = total.get(name, 0.0) + 1 / (RANK_CONSTANT + places[score])
    return total


def equal_shares(*rankings: Ranking) -> dict[str, float]:
    """Add up scores that were brought to 0..1 by least and greatest, all rankings alike.

    Args:
        rankings: Document → score; what one lacks gets 0 from it.

    Returns:
        Document → score, 0 to 1; empty for none.
    """
    total: dict[str, float] = {}
    for ranking in rankings:
        low, high = min(ranking.values(), default=0.0), max(ranking.values(), default=0.0)
        for name, score in ranking.items():
            one = (score - low) / (high - low) if high > low else 1.0
            total[name] = total.get(name, 0.0) + one / len(rankings)
    return total
