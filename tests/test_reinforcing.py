"""Papers that resemble other well-ranked papers are raised, and nothing else is moved."""

import numpy as np
import pytest

from rag.reinforcing import NEIGHBOURS, POOL, reinforce


def towards(*numbers):
    vector = np.asarray(numbers, np.float32)
    return vector / np.linalg.norm(vector)


MOSS, TOO, BELL = towards(1, 0, 0), towards(1, 0.1, 0), towards(0, 0, 1)


def test_a_paper_like_a_better_one_is_raised_half_way_and_one_that_stands_alone_is_not():
    scores = {"moss": 0.9, "too": 0.3, "bell": 0.5}
    found = reinforce(scores, {"moss": MOSS, "too": TOO, "bell": BELL})
    assert found["moss"] == 0.9
    assert found["bell"] == pytest.approx(0.5)
    assert found["too"] == pytest.approx(0.6, abs=0.01)
    assert list(found) == list(scores)


def test_no_paper_is_lowered_and_the_first_stays_first():
    draw = np.random.default_rng(5)
    for _ in range(50):
        names = [f"p{n}" for n in range(40)]
        scores = dict(zip(names, draw.random(40).tolist(), strict=True))
        vectors = {name: towards(*draw.normal(size=8)) for name in names}
        found = reinforce(scores, vectors)
        assert all(found[name] >= scores[name] for name in names)
        assert max(found, key=found.get) == max(scores, key=scores.get)
        assert max(found.values()) <= 1


def test_only_the_best_papers_are_compared():
    scores = {f"p{n:02}": 1 - n / 100 for n in range(POOL + 5)}
    found = reinforce(scores, dict.fromkeys(scores, MOSS))
    outside = [f"p{n:02}" for n in range(POOL, POOL + 5)]
    assert {name: found[name] for name in outside} == {name: scores[name] for name in outside}
    assert found[f"p{POOL - 1:02}"] > scores[f"p{POOL - 1:02}"]


def test_papers_without_a_vector_keep_their_scores():
    scores = {"moss": 0.9, "too": 0.3, "new": 0.4}
    found = reinforce(scores, {"moss": MOSS, "too": TOO})
    assert found["new"] == 0.4
    assert found["too"] > 0.3
    assert reinforce(scores, {"moss": MOSS}) == scores
    assert reinforce({}, {}) == {}


def test_only_the_nearest_speak_for_a_paper():
    near = {f"near{n}": 0.8 for n in range(NEIGHBOURS)}
    far = {f"far{n}": 0.2 for n in range(10)}
    scores = {**near, **far, "asked": 0.5}
    vectors = {**dict.fromkeys(near, MOSS), **dict.fromkeys(far, BELL), "asked": TOO}
    assert reinforce(scores, vectors)["asked"] == pytest.approx(0.65)


def test_opposite_papers_say_nothing():
    scores = {"moss": 0.9, "anti": 0.3}
    assert reinforce(scores, {"moss": MOSS, "anti": -MOSS}) == scores


def test_a_lift_of_nothing_changes_nothing():
    scores = {"moss": 0.9, "too": 0.3}
    assert reinforce(scores, {"moss": MOSS, "too": TOO}, lift=0.0) == pytest.approx(scores)
