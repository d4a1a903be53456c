"""Vectors of sentences from the token vectors of the text around them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..schema import Span
from . import Vectors, normalised


def pool_spans(tokens: Vectors, offsets: Any, spans: Sequence[Span]) -> Vectors:
    """Return one row a span: the mean of the tokens that overlap it, of length 1.

    Args:
        tokens: ``(tokens, dim)`` float32, special ones included.
        offsets: ``(tokens, 2)``: where each begins and ends in the text; special ones are empty.
        spans: Sentences, as offsets in the same text. One without tokens gets the first token's.

    Returns:
        ``(len(spans), dim)`` float32.
    """
    starts, ends = offsets[:, 0], offsets[:, 1]
    real = ends > starts
    rows = []
    for span in spans:
        inside = real & (starts < span.end) & (ends > span.start)
        chosen = tokens[inside] if inside.any() else tokens[:1]
        rows.append(chosen.mean(axis=0))
    return normalised(rows) if rows else np.zeros((0, tokens.shape[1]), np.float32)
