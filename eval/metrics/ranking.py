"""Measures of a ranked list, defined as trec_eval defines them.

``ranked`` is document ids, best first; a repeated id counts once, at its first place. ``judged``
maps a document id to its grade; a grade of 1 or more is relevant, 0 or less is not. Without a
relevant document a question has no label, so every measure is None (trec_eval says 0).
"""

from collections.abc import Mapping, Sequence
from math import log2

import numpy as np


def order_by_score(scores: Mapping[str, float]) -> list[str]:
    """Return document ids as trec_eval ranks them.

    Scores are compared as float32, highest first; equal scores by document id, last in the
    alphabet first. Two scores that differ only beyond float32 are therefore equal.

    Args:
        scores: Document id to finite score.

    Returns:
        The ids, best first.
    """
    with np.errstate(over="ignore"):
        single = np.asarray(list(scores.values()), dtype=np.float64).astype(np.float32)
    pairs = zip(single.tolist(), scores, strict=True)
    return [doc for _, doc in sorted(pairs, reverse=True)]


def recall_at(ranked: Sequence[str], judged: Mapping[str, int], k: int) -> float | None:
    """Return the share of the relevant documents that stand among the first ``k``.

    ``|relevant ∩ first k| / |relevant|`` (trec_eval ``recall_k``).
    """
    relevant = _relevant(judged)
    if not relevant:
        return None
    return len(relevant.intersection(_unique(ranked)[:k])) / len(relevant)


def precision_at(ranked: Sequence[str], judged: Mapping[str, int], k: int) -> float | None:
    """Return the share of the first ``k`` places that hold a relevant document.

    ``|relevant ∩ first k| / k``, also where fewer than ``k`` were returned (trec_eval ``P_k``).
    """
    relevant = _relevant(judged)
    if not relevant:
        return None
    return len(relevant.intersection(_unique(ranked)[:k])) / k


def reciprocal_rank(ranked: Sequence[str], judged: Mapping[str, int]) -> float | None:
    """Return one over the rank of the first relevant document, 0 where none was returned.

    Its mean over questions is MRR (Voorhees, TREC-8 QA track, 1999; trec_eval ``recip_rank``).
    """
    relevant = _relevant(judged)
    if not relevant:
        return None
    for rank, doc in enumerate(_unique(ranked), start=1):
        if doc in relevant:
            return 1 / rank
    return 0.0


def average_precision(ranked: Sequence[str], judged: Mapping[str, int]) -> float | None:
    """Return the mean, over all relevant documents, of the precision where each one stands.

    ``Σ precision@rank(d) / |relevant|``; a document that was not returned adds 0. Its mean over
    questions is MAP (Buckley and Voorhees, TREC, 2005; trec_eval ``map``).
    """
    relevant = _relevant(judged)
    if not relevant:
        return None
    found, total = 0, 0.0
    for rank, doc in enumerate(_unique(ranked), start=1):
        if doc in relevant:
            found += 1
            total += found / rank
    return total / len(relevant)


def ndcg_at(ranked: Sequence[str], judged: Mapping[str, int], k: int) -> float | None:
    """Return the discounted gain of the first ``k`` over that of the best order there is.

    ``DCG = Σ grade / log2(rank + 1)``, with the grade itself as gain; a negative grade gains 0
    (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002; trec_eval ``ndcg_cut_k``).
    """
    grades = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
    if not grades:
        return None
    gains = [max(judged.get(doc, 0), 0) for doc in _unique(ranked)[:k]]
    return _dcg(gains) / _dcg(grades[:k])


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _relevant(judged: Mapping[str, int]) -> set[str]:
    return {doc for doc, grade in judged.items() if grade > 0}


def _unique(ranked: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(ranked))
