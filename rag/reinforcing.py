"""Papers that resemble other well-ranked papers are raised: score regularisation (Diaz 2005)."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

POOL = 30  # best fused papers that are compared with each other; measured: see docs/benchmarks.md
NEIGHBOURS = 5  # papers most alike that speak for a paper
LIFT = 0.5  # how far a paper moves towards its neighbours' mean score
SHARPNESS = 4  # power of the cosine: the most alike count most


def reinforce(
    scores: Mapping[str, float], vectors: Mapping[str, Vectors], *, lift: float = LIFT
) -> dict[str, float]:
    """Raise each of the best papers towards the scores of the papers it resembles.

    Papers about the same thing tend to answer the same question (Diaz, CIKM 2005). Of the ``POOL``
    best, each is compared with the others; where the mean score of its ``NEIGHBOURS`` nearest,
    weighted by cosine, is above its own, it moves up by ``lift`` of the way. None is lowered, so
    that the one paper that a question names stays first.

    Args:
        scores: Paper id → fused score, 0 to 1.
        vectors: Paper id → its vector of length 1 (its passages' mean, scaled); a paper without one
            keeps its score.
        lift: Share of the way, 0 to 1.

    Returns:
        Paper id → score, 0 to 1, over the same papers.
    """
    names = [name for name in best_of(scores) if name in vectors]
    if len(names) < 2:
        return dict(scores)
    own = np.asarray([scores[name] for name in names], np.float64)
    around = _neighbours_mean(np.stack([vectors[name] for name in names]), own)
    raised = own + lift * np.maximum(around - own, 0.0)
    return {**scores, **dict(zip(names, raised.tolist(), strict=True))}


def best_of(scores: Mapping[str, float]) -> list[str]:
    """Return the papers that ``reinforce`` compares, best first."""
    return sorted(scores, key=lambda name: (-scores[name], name))[:POOL]


def _neighbours_mean(vectors: Vectors, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean score of each paper's nearest others, weighted by a power of the cosine."""
    alike = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(alike, -1.0)
    count = min(NEIGHBOURS, len(scores) - 1)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :count]
    weights = np.maximum(np.take_along_axis(alike, nearest, axis=1), 0.0) ** SHARPNESS
    total = weights.sum(axis=1)
    weighted: NDArray[np.float64] = (weights * scores[nearest]).sum(axis=1)
    return np.where(total > 0, weighted / np.where(total > 0, total, 1.0), 0.0)
