"""The plain hybrids that ours is compared with."""

import pytest

from eval.bench.fusions import equal_shares, reciprocal_ranks


def test_reciprocal_ranks_count_places_and_not_scores():
    found = reciprocal_ranks({"a": 9.0, "b": 1.0}, {"b": 0.2, "c": 0.1})
    assert found == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 62})


def test_equal_scores_share_a_rank():
    assert reciprocal_ranks({"a": 2.0, "b": 2.0, "c": 1.0}) == pytest.approx(
        {"a": 1 / 61, "b": 1 / 61, "c": 1 / 62}
    )


def test_equal_shares_bring_scores_to_one_range_first():
    found = equal_shares({"a": 9.0, "b": 1.0, "d": 5.0}, {"b": 0.3, "c": 0.1})
    assert found == pytest.approx({"a": 0.5, "b": 0.5, "d": 0.25, "c": 0.0})
    assert equal_shares({"a": 2.0}, {}) == {"a": 0.5}


def test_nothing_comes_of_nothing():
    assert reciprocal_ranks() == equal_shares() == {}
    assert reciprocal_ranks({}, {}) == equal_shares({}, {}) == {}
