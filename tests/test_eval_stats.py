"""Intervals and tests: known cases, repeatability, and the exact test by hand."""

import numpy as np
import pytest

from eval.metrics import area_under_roc
from eval.stats import bootstrap_interval, paired_bootstrap, paired_difference, randomisation_test
from eval.summary import SET_MEASURES


def test_the_interval_of_a_mean_is_close_to_the_normal_one():
    values = np.arange(400) % 2  # mean 0.5, standard error 0.025
    low, high = bootstrap_interval(values.astype(float))
    assert low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.006)
    assert high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.006)


def test_the_interval_is_the_same_for_the_same_seed_and_another_for_another():
    values = [0.1, 0.4, 0.7, 0.9, 0.3]
    assert bootstrap_interval(values) == bootstrap_interval(values, seed=0)
    assert bootstrap_interval(values) != bootstrap_interval(values, seed=1)


def test_a_lower_level_gives_a_narrower_interval():
    values = np.random.default_rng(3).random(50)
    wide, narrow = bootstrap_interval(values), bootstrap_interval(values, level=0.5)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("values", [[], [0.5]], ids=["none", "one"])
def test_too_few_values_have_no_interval(values):
    assert bootstrap_interval(values) is None


def test_resamples_without_a_value_are_left_out():
    rows = np.array([[0.9, 1.0], [0.1, 0.0], [0.8, 1.0], [0.2, 0.0]])
    low, high = bootstrap_interval(rows, lambda r: area_under_roc(r[:, 0], r[:, 1]))
    assert (low, high) == (1.0, 1.0)
    assert bootstrap_interval(rows, lambda r: None) is None


def test_the_exact_randomisation_test_by_hand():
    # Differences 1, 1, 1 and 0: of the 8 sign patterns of the three, +++ and --- are as large.
    assert randomisation_test([0, 0, 0, 1], [1, 1, 1, 1]) == 2 / 8
    assert randomisation_test([1, 0], [1, 0]) == 1.0
    assert randomisation_test([1], [0]) is None


def test_the_random_test_agrees_with_the_exact_one():
    # 13 differences of 1: exactly 2 of 8192 patterns are as large; 2000 draws rarely see one.
    p = randomisation_test([0] * 13, [1] * 13)
    assert 1 / 2001 <= p < 0.005
    rng = np.random.default_rng(0)
    assert randomisation_test(rng.random(60), rng.random(60)) > 0.05


def test_a_pure_shift_is_certain():
    a = np.random.default_rng(1).random(30)
    found = paired_difference(a, a + 0.1)
    assert found.value == pytest.approx(0.1)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))
    assert found.p < 0.001
    assert found.n == 30


def test_pairing_matters():
    rng = np.random.default_rng(2)
    a = rng.random(100)
    b = a + rng.normal(0.02, 0.01, 100)
    low, _ = paired_bootstrap(a, b)
    assert low > 0  # although the two means have intervals that overlap widely
    assert bootstrap_interval(a)[1] > bootstrap_interval(b)[0]


def test_statistics_of_several_columns_are_paired_by_case():
    a = np.array([[0.2, 1.0], [0.6, 0.0], [0.3, 1.0], [0.7, 0.0]])
    b = np.array([[0.9, 1.0], [0.1, 0.0], [0.8, 1.0], [0.2, 0.0]])
    found = paired_difference(a, b, lambda r: area_under_roc(r[:, 0], r[:, 1]))
    assert (found.a, found.b, found.value) == (0.0, 1.0, 1.0)
    assert (found.low, found.high) == (1.0, 1.0)
    assert 0 < found.p < 1


def test_no_value_on_one_side_gives_no_difference():
    assert paired_difference([1.0, 2.0], [1.0, 2.0], lambda r: None) is None


def test_runs_that_are_not_paired_are_refused():
    with pytest.raises(ValueError, match="not paired"):
        paired_difference([1.0], [1.0, 2.0])


@pytest.mark.parametrize("name", SET_MEASURES)
def test_a_set_measure_of_many_resamples_is_that_of_each(name):
    rng = np.random.default_rng(1)
    statistic = SET_MEASURES[name].statistic
    for size in (1, 2, 7, 30):
        columns = [rng.integers(0, 6, size=size) / 5, rng.integers(0, 2, size=size)]
        if name.startswith("abstention"):
            columns[0] = rng.integers(0, 2, size=size)
        rows = np.stack(columns[: 1 if name.startswith("latency") else 2], axis=1).astype(float)
        drawn = rng.integers(size, size=(40, size))
        counts = np.stack([np.bincount(one, minlength=size) for one in drawn]).astype(float)
        each = [statistic(rows[one]) for one in drawn]
        expected = [np.nan if value is None else value for value in each]
        np.testing.assert_allclose(statistic.many(rows, counts), expected, atol=1e-12)


def test_the_paired_interval_of_a_set_measure_draws_the_same_cases_from_both():
    rng = np.random.default_rng(2)
    rows = np.stack([rng.random(40), rng.integers(0, 2, size=40)], axis=1)
    worse = np.stack([rng.random(40), rows[:, 1]], axis=1)
    weighted = SET_MEASURES["answerability_auc"].statistic
    assert paired_bootstrap(rows, rows, weighted) == (0.0, 0.0)
    assert paired_bootstrap(worse, rows, weighted) == pytest.approx(
        paired_bootstrap(worse, rows, weighted.one), abs=0.03
    )
