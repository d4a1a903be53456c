"""The comparisons behind ``rag.verification``: numbers, names, negation, direction, words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that speaks against a statement.

    ``wrong`` findings make it unsupported, the others make it weak. ``reason`` is a plain
    sentence without its full stop.
    """

    reason: str
    wrong: bool = True


def listed(text: str) -> tuple[str, ...]:
    """Return the words of a table that is written as one text."""
    return tuple(text.split())
