from itertools import permutations

import numpy as np
import pytest

from rag.agreement import LOOKED_AT, SAME_MATTER, Disagreement, disagreement, with_both
from rag.evidence import Reading
from tests.answering import sentences

RISE = "Moss cover increases the lead in city soil."
FALL = "Moss cover reduces the lead in city soil."
DENIED = "Moss cover does not filter the dust of city roads."
SAID = "Moss cover filters the dust of city roads."


def evidence(*texts, names=None):
    """Return one sentence each of papers called a, b, c …"""
    return [
        sentences(name, text, title=f"Paper {name}")[0]
        for name, text in zip(names or "abcdefghij", texts, strict=False)
    ]


def reading(*texts, names=None, cosine=1.0):
    """Return a reading of one sentence a paper; any two vectors have a given cosine."""
    found = evidence(*texts, names=names)
    own = np.eye(len(found), dtype=np.float32) * np.sqrt(1 - cosine)
    shared = np.full((len(found), 1), np.sqrt(cosine), np.float32)
    return Reading(sentences=tuple(found), vectors=np.hstack([shared, own]).astype(np.float32))


def sides(found):
    return found and {found.one.text, found.other.text}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(RISE, FALL, id="a rise against a fall"),
        pytest.param(DENIED, SAID, id="a denial against none"),
    ],
)
def test_two_papers_that_say_opposite_things_disagree_in_either_order(one, other):
    for first, second in permutations((one, other)):
        found = disagreement(reading(first, second))
        assert (found.one.text, found.other.text) == (first, second)
        assert found.reason


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(RISE, RISE, id="the same"),
        pytest.param(DENIED, DENIED, id="the same denial"),
        pytest.param("Lead fell by 10 % in moss.", "Lead fell by 70 % in moss.", id="numbers"),
        pytest.param(RISE, "Moss cover reduces noise.", id="few words in common"),
        pytest.param("Herons do not leave.", SAID, id="a denial of something else"),
        pytest.param("海草在低潮时生长缓慢。", "海草不生长。", id="Chinese"),
        pytest.param("$x$ > 1", "$x$ < 1", id="maths"),
    ],
)
def test_papers_that_do_not_oppose_each_other_do_not_disagree(one, other):
    assert disagreement(reading(one, other)) is None


def test_a_paper_does_not_disagree_with_itself():
    assert disagreement(reading(RISE, FALL, names="aa")) is None
    found = disagreement(reading(RISE, FALL, FALL, names="aab"))
    assert {found.one.paper.id, found.other.paper.id} == {"a", "b"}


@pytest.mark.parametrize(("cosine", "opposed"), [(SAME_MATTER + 0.01, True), (0.5, False)])
def test_only_sentences_about_the_same_matter_are_compared(cosine, opposed):
    assert bool(disagreement(reading(RISE, FALL, cosine=cosine))) is opposed


@pytest.mark.parametrize(("before", "opposed"), [(LOOKED_AT - 2, True), (LOOKED_AT - 1, False)])
def test_only_the_best_sentences_are_compared(before, opposed):
    found = disagreement(reading(RISE, *["Herons leave early."] * before, FALL))
    assert sides(found) == ({RISE, FALL} if opposed else None)


def test_the_best_pair_comes_first():
    found = disagreement(reading(RISE, SAID, FALL, DENIED))
    assert sides(found) == {RISE, FALL}


@pytest.mark.parametrize("texts", [(), (RISE,)], ids=["nothing", "one sentence"])
def test_fewer_than_two_sentences_do_not_disagree(texts):
    assert disagreement(reading(*texts)) is None
    assert disagreement(Reading()) is None


def test_without_vectors_nothing_is_compared():
    bare = Reading(sentences=tuple(evidence(RISE, FALL)), vectors=np.zeros((2, 0), np.float32))
    assert disagreement(bare) is None


def test_the_note_quotes_both_sides_with_their_papers():
    rise, fall = evidence(RISE, FALL)
    assert Disagreement(rise, fall, "because").note() == (
        f"Two papers seem to disagree: “{RISE}” (Paper a) against “{FALL}” (Paper b). "
        "Read both before you quote one."
    )


@pytest.mark.parametrize(
    ("chosen", "shown"),
    [
        pytest.param("abc", "abc", id="both are there"),
        pytest.param("cba", "cba", id="both are there, in their order"),
        pytest.param("acd", "acb", id="one is missing"),
        pytest.param("cda", "cab", id="the last that is on no side gives way"),
        pytest.param("cde", "cab", id="both are missing"),
        pytest.param("a", "ab", id="no room"),
        pytest.param("c", "ab", id="no room for either"),
        pytest.param("", "ab", id="nothing was chosen"),
    ],
)
def test_both_sides_are_shown_and_no_more_sentences_than_before(chosen, shown):
    named = {one.paper.id: one for one in evidence(RISE, FALL, SAID, DENIED, "Herons leave.")}
    opposed = Disagreement(named["a"], named["b"], "because")
    found = with_both(tuple(named[name] for name in chosen), opposed)
    assert "".join(one.paper.id for one in found) == shown
    assert len(found) == max(2, len(chosen))
