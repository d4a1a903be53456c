"""Fit the linear models that mix features: rows one by one, or list by list."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.fitted import Linear

SHRINK = 0.02  # weight of the squared weights beside the loss of the lists

Floats = NDArray[np.float64]
List = tuple[NDArray[Any], NDArray[Any]]
"""``(rows, features)`` and which of the rows are right, 1 or 0."""


def logistic(features: Floats, labels: Floats, *, balanced: bool = False) -> tuple[Floats, float]:
    """Fit a logistic regression (L2, C = 1) on columns brought to unit deviation.

    Returns:
        (weights for the columns as they come, bias).
    """
    from sklearn.linear_model import LogisticRegression

    scale = features.std(axis=0) + 1e-6
    model = LogisticRegression(max_iter=3000, class_weight="balanced" if balanced else None)
    model.fit(features / scale, labels)
    return model.coef_[0] / scale, float(model.intercept_[0])


def fit_lists(lists: Sequence[List]) -> Linear:
    """Fit a model that puts the right rows of each list first; lists without one are left out.

    The order is fitted list by list (softmax over the rows of a list, as ListNet does: Cao et al.
    2007), then brought to probabilities by a logistic regression on its own scores.

    Raises:
        ValueError: No list holds a right row.
    """
    from scipy.optimize import minimize

    lists = [(rows, right) for rows, right in lists if right.any()]
    if not lists:
        raise ValueError("no list holds a right row")
    scale = np.concatenate([rows for rows, _ in lists]).std(axis=0) + 1e-6

    def loss(weights: Floats) -> tuple[float, Floats]:
        total, gradient = SHRINK * weights @ weights, 2 * SHRINK * weights
        for rows, right in lists:
            scores = rows / scale @ weights
            chance = np.exp(scores - scores.max())
            chance, wanted = chance / chance.sum(), right / right.sum()
            total -= wanted @ np.log(chance + 1e-12) / len(lists)
            gradient = gradient + (rows / scale).T @ (chance - wanted) / len(lists)
        return float(total), gradient

    found = minimize(loss, np.zeros(len(scale)), jac=True).x / scale
    scores = np.concatenate([rows @ found for rows, _ in lists])[:, None]
    slope, bias = logistic(scores, np.concatenate([right for _, right in lists]))
    return Linear(tuple(float(w * slope[0]) for w in found), bias)


def linear_by_name(model: Linear, names: Sequence[str]) -> dict[str, Any]:
    """Return a model as it is stored: its weights by the names of its features."""
    values = zip(names, model.weights, strict=True)
    return {"weights": {n: round(w, 4) for n, w in values}, "bias": round(model.bias, 4)}
