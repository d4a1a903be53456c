"""Two measures of plain numbers: the angle between vectors, and percentiles."""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from numpy.typing import NDArray


def cosine(left: Sequence[float], right: Sequence[float]) -> float | None:
    """Return the cosine of two vectors, -1 to 1; None where one has length 0.

    ``a·b / (|a||b|)``; between the embeddings of answer and gold it is the embedding similarity.
    """
    size = sqrt(sum(x * x for x in left)) * sqrt(sum(x * x for x in right))
    return sum(x * y for x, y in zip(left, right, strict=True)) / size if size else None


def percentile(values: Sequence[float] | NDArray[np.float64], percent: float) -> float | None:
    """Return the value below which ``percent`` of the values lie, between two by a straight line.

    Type 7 of Hyndman and Fan, The American Statistician 50(4), 1996. None for no values.
    """
    if not len(values):
        return None
    ordered = np.sort(np.asarray(values, dtype=np.float64))  # np.percentile is 20 times slower
    place = (len(ordered) - 1) * percent / 100
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return float(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
