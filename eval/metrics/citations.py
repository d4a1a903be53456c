"""Measures of how an answer cites, without any label."""

from collections.abc import Collection, Sequence
from typing import get_args

from rag.schema import Support

SUPPORTS: tuple[str, ...] = get_args(Support)


def marker_validity(markers: Sequence[int], known: Collection[int]) -> float | None:
    """Return the share of the markers that stand for a citation; None where there is no marker.

    Args:
        markers: Every marker of the answer: as written in the text, as bound to a statement, and
            those that were reported as invented. Each distinct number counts once.
        known: The numbers that have a citation.
    """
    distinct = set(markers)
    if not distinct:
        return None
    return len(distinct & set(known)) / len(distinct)


def cited_share(cited: Sequence[Collection[int]], known: Collection[int]) -> float | None:
    """Return the share of the statements with at least one valid citation.

    Args:
        cited: The markers of each statement.
        known: The numbers that have a citation.

    Returns:
        0 to 1; None where there is no statement.
    """
    if not cited:
        return None
    return sum(1 for markers in cited if set(markers) & set(known)) / len(cited)


def support_shares(supports: Sequence[str]) -> dict[str, float | None]:
    """Return, for each degree of support, the share of the statements that have it.

    Args:
        supports: The answer's own word on each statement, see ``rag.schema.Support``.

    Returns:
        One share for every degree, adding up to 1; all None where there is no statement.
    """
    if not supports:
        return dict.fromkeys(SUPPORTS)
    return {name: supports.count(name) / len(supports) for name in SUPPORTS}


def words_per_statement(statements: Sequence[str]) -> float | None:
    """Return the mean number of words (cut at white space) of a statement; None without one.

    Shown beside ``must_contain``, because a longer answer contains more.
    """
    if not statements:
        return None
    return sum(len(text.split()) for text in statements) / len(statements)
