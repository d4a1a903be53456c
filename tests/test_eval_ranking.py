"""Ranking measures: worked out by hand, and against trec_eval's own code."""

import random
from math import log2

import pytest

from eval.metrics import (
    average_precision,
    ndcg_at,
    order_by_score,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from eval.trec import measure_run

RANKED = ["a", "b", "c", "d"]
JUDGED = {"b": 1, "d": 2, "x": 1, "a": 0, "c": -1}


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        pytest.param(recall_at(RANKED, JUDGED, 2), 1 / 3, id="recall: b of b, d, x"),
        pytest.param(recall_at(RANKED, JUDGED, 10), 2 / 3, id="recall: x was never returned"),
        pytest.param(precision_at(RANKED, JUDGED, 2), 1 / 2, id="precision"),
        pytest.param(precision_at(RANKED, JUDGED, 10), 2 / 10, id="precision: short lists pay"),
        pytest.param(reciprocal_rank(RANKED, JUDGED), 1 / 2, id="first relevant at rank 2"),
        pytest.param(reciprocal_rank(["a"], JUDGED), 0.0, id="none returned"),
        pytest.param(average_precision(RANKED, JUDGED), (1 / 2 + 2 / 4) / 3, id="map"),
        pytest.param(
            ndcg_at(RANKED, JUDGED, 10),
            (1 / log2(3) + 2 / log2(5)) / (2 + 1 / log2(3) + 1 / log2(4)),
            id="ndcg: grades 0 1 0 2 against 2 1 1",
        ),
        pytest.param(
            ndcg_at(RANKED, JUDGED, 2), (1 / log2(3)) / (2 + 1 / log2(3)), id="ndcg: cut at 2"
        ),
        pytest.param(ndcg_at([], JUDGED, 10), 0.0, id="nothing returned"),
        pytest.param(recall_at(["b", "b", "d"], JUDGED, 2), 2 / 3, id="a repeated id counts once"),
    ],
)
def test_ranking_measures(measured, expected):
    assert measured == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("judged", [{}, {"a": 0}, {"a": -1}], ids=["none", "zero", "negative"])
def test_without_a_relevant_document_there_is_no_score(judged):
    values = [
        recall_at(RANKED, judged, 5),
        precision_at(RANKED, judged, 5),
        reciprocal_rank(RANKED, judged),
        average_precision(RANKED, judged),
        ndcg_at(RANKED, judged, 10),
    ]
    assert values == [None] * 5


def test_scores_that_differ_only_beyond_float32_are_ordered_by_id():
    assert order_by_score({"d1": 1.00000001, "d2": 1.0, "d3": 2.0}) == ["d3", "d2", "d1"]
    assert order_by_score({"d1": 1.000001, "d2": 1.0}) == ["d1", "d2"]


def test_scores_beyond_float32_do_not_warn():
    assert order_by_score({"a": 1e300, "b": -1e300, "c": 0.0}) == ["a", "c", "b"]


NAMES = {
    "ndcg@10": "ndcg_cut_10",
    "map": "map",
    "mrr": "recip_rank",
    "recall@5": "recall_5",
    "recall@100": "recall_100",
    "precision@1": "P_1",
    "precision@10": "P_10",
}


@pytest.mark.parametrize("seed", range(5))
def test_measures_equal_trec_eval_on_runs_with_float32_ties(seed):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pip install pytrec-eval-terrier")
    rng = random.Random(seed)
    docs = [f"doc{n}" for n in range(60)] + ["Ü", "z z".replace(" ", "_"), "001", "01"]
    qrels, run = {}, {}
    for q in range(40):
        qrels[f"q{q}"] = {d: rng.choice([-1, 0, 0, 1, 1, 2, 3]) for d in rng.sample(docs, 15)}
        qrels[f"q{q}"]["doc0"] = 1  # trec_eval scores a query without a relevant document 0
        base = rng.random() * 30
        run[f"q{q}"] = {
            d: base + rng.randrange(12) / 4 + rng.choice([0, 1e-9, -1e-9])
            for d in rng.sample(docs, rng.randrange(1, len(docs)))
        }
    assert any(len(set(s.values())) > len({round(v, 4) for v in s.values()}) for s in run.values())
    theirs = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg_cut.10", "map", "recip_rank", "recall.5,100", "P.1,10"}
    ).evaluate(run)
    ours = measure_run(run, qrels)
    assert ours.keys() == theirs.keys()
    for query, scores in theirs.items():
        for name, their_name in NAMES.items():
            assert ours[query][name] == pytest.approx(scores[their_name], abs=1e-6), (query, name)
