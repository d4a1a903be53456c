"""Measures of knowing when not to answer. Arrays have one row a question."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """One step of a risk–coverage curve: answer only where confidence reaches ``threshold``."""

    coverage: float
    risk: float
    threshold: float


def abstention_precision(abstained: Floats, unanswerable: Floats) -> float | None:
    """Return the share of the abstentions that were right: ``TP / (TP + FP)``.

    None where nothing was abstained from. Both arguments hold 0 or 1 a question.
    """
    return _ratio(float((abstained * unanswerable).sum()), float(abstained.sum()))


def abstention_recall(abstained: Floats, unanswerable: Floats) -> float | None:
    """Return the share of the unanswerable questions that got no answer: ``TP / (TP + FN)``.

    None where every question can be answered.
    """
    return _ratio(float((abstained * unanswerable).sum()), float(unanswerable.sum()))


def abstention_f1(abstained: Floats, unanswerable: Floats) -> float | None:
    """Return ``2TP / (2TP + FP + FN)``; None where nothing is unanswerable."""
    if not unanswerable.any():
        return None
    right = float((abstained * unanswerable).sum())
    return _ratio(2 * right, float(abstained.sum() + unanswerable.sum()))


def risk_coverage(confidence: Floats, loss: Floats, total: int | None = None) -> list[RiskPoint]:
    """Return the risk–coverage curve (El-Yaniv and Wiener, JMLR 11, 2010).

    At each threshold, coverage is the share of all questions that are still answered and risk is
    their mean loss. Questions of equal confidence come and go together.

    Args:
        confidence: How sure the system is that it can answer; higher is surer, any scale.
        loss: 0 for a right answer to 1 for a wrong one, of the same length.
        total: Number of all questions; those beyond ``len(confidence)`` are never answered. None
            means there are no others.

    Returns:
        One point a distinct confidence, coverage rising; empty for empty input.
    """
    order = np.argsort(-confidence, kind="stable")
    sure, losses = confidence[order], loss[order]
    answered = np.cumsum(losses)
    return [
        RiskPoint((i + 1) / (total or len(sure)), float(answered[i]) / (i + 1), float(sure[i]))
        for i in map(int, _group_ends(sure))
    ]


def aurc(confidence: Floats, loss: Floats) -> float | None:
    """Return the area under the risk–coverage curve, 0 (best) to 1.

    ``(1/n) Σ risk(i)``, the mean over the questions, surest first, of the risk of answering that
    far (Geifman, Uziel and El-Yaniv, ICLR 2019). Equal confidences share the risk of their last
    one. None for empty input.
    """
    if not len(confidence):
        return None
    order = np.argsort(-confidence, kind="stable")
    ends = _group_ends(confidence[order])
    risks = np.cumsum(loss[order])[ends] / (ends + 1)
    sizes = np.diff(ends, prepend=-1)
    return float((sizes * risks).sum() / len(confidence))


def area_under_roc(confidence: Floats, answerable: Floats) -> float | None:
    """Return the chance that an answerable question has more confidence than an unanswerable one.

    ``U / (n₁n₀)`` with Mann and Whitney's U; equal confidences count one half (Hanley and McNeil,
    Radiology 143, 1982). None unless there are questions of both sorts.
    """
    positive = answerable > 0.5
    n_pos = int(positive.sum())
    n_neg = len(positive) - n_pos
    if not n_pos or not n_neg:
        return None
    _, place, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * n_neg))


def _group_ends(ordered: Floats) -> NDArray[np.intp]:
    """Return the last place of each run of equal values."""
    return np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)[: len(ordered)])


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
