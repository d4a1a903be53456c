"""Two measures of plain numbers: the angle between vectors, and percentiles."""

from collections.abc import Sequence
from math import sqrt

import numpy as np


def cosine(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return the cosine of two vectors, -1 to 1; None where one has length 0.

    ``a·b / (|a||b|)``; between the embeddings of answer and gold it is the embedding similarity.
    """
    size = sqrt(sum(x * x for x in left)) * sqrt(sum(x * x for x in right))
    return sum(x * y for x, y in zip(left, right, strict=True)) / size if size else None


def percentile(values: Sequence[float], percent: float) -> float | None:
    """Return the value below which ``percent`` of the values lie, between two by a straight line.

    Type 7 of Hyndman and Fan, The American Statistician 50(4), 1996. None for no values.
    """
    return float(np.percentile(np.asarray(values), percent)) if len(values) else None
