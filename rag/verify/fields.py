"""Terms of a field that a statement uses and the whole paper of its source does not."""

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from . import Finding
from .names import is_spelt_out
from .opposites import opposites
from .reading import Text, Token

TERMS = "field_terms.json"  # made by ``python -m eval.bench.field_terms``


def compare_fields(statement: Text, source: Text, around: Sequence[Text] = ()) -> list[Finding]:
    """Look for a term of art that is nowhere: "semantic segmentation" where all speaks of edges.

    Args:
        statement: What was said.
        source: The sentences it rests on.
        around: Title and abstract of their papers, and the question.

    Returns:
        At most one finding, which is not certain: it may be a synonym.
    """
    texts = (source, *around)
    for token in statement.content:
        known = any(text.has(token.stem) for text in texts)
        if not known and _is_term(token) and not is_spelt_out(token, texts):
            return [Finding(f"the source does not speak of “{token.text}”", wrong=False)]
    return []


def _is_term(token: Token) -> bool:
    """Leave out names and directions, which are compared elsewhere, and adverbs."""
    if any(char.isupper() for char in token.text[1:]) or token.lower.endswith("ly"):
        return False
    return token.stem in _stems() and token.lower not in opposites()


@cache
def _stems() -> frozenset[str]:
    """Return the stems that belong to one field of research."""
    file = resources.files("rag").joinpath("weights", TERMS)
    return frozenset(json.loads(file.read_text("utf-8"))["stems"].split())
