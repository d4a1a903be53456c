"""The measures: pure functions of labels and answers, each with its formula and source.

A measure whose label is missing is None, never 0.
"""

from .abstention import (
    RiskPoint,
    abstention_f1,
    abstention_precision,
    abstention_recall,
    area_under_roc,
    aurc,
    risk_coverage,
)
from .answers import contains_all, exact_match, missing_items, rouge_l, token_f1
from .citations import (
    cited_share,
    marker_validity,
    support_shares,
    words_per_statement,
)
from .ranking import (
    average_precision,
    ndcg_at,
    order_by_score,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from .sets import evidence_scores, f1, same_sentence, set_precision, set_recall
from .vectors import cosine, percentile

__all__ = [
    "RiskPoint",
    "abstention_f1",
    "abstention_precision",
    "abstention_recall",
    "area_under_roc",
    "aurc",
    "average_precision",
    "cited_share",
    "contains_all",
    "cosine",
    "evidence_scores",
    "exact_match",
    "f1",
    "marker_validity",
    "missing_items",
    "ndcg_at",
    "order_by_score",
    "percentile",
    "precision_at",
    "recall_at",
    "reciprocal_rank",
    "risk_coverage",
    "rouge_l",
    "same_sentence",
    "set_precision",
    "set_recall",
    "support_shares",
    "token_f1",
    "words_per_statement",
]
