import numpy as np
import pytest

from rag.evidence import Reading
from rag.fitted import SENTENCE_FEATURES
from rag.question import Question
from rag.schema import Evidence, Paper, RankedPaper, Span
from rag.selection import CONTRIBUTION, LIST_SHARE, choose

ONE = Question("one?", "one?")
MANY = Question("many?", "many?", many=True)
COMPARE = Question("compare?", "compare?", compare=True)


def reading(rows, scores, *, ours=(), named=None):
    """Make a reading of (paper, sentence, score) rows, best first, and the papers' scores."""
    papers = {name: Paper(name, abstract=f"{name} says this.") for name in scores}
    sentences = []
    for name, text, score in rows:
        sentences.append(Evidence(Paper(name, abstract=text), name, Span(0, len(text)), score))
    features = np.zeros((len(rows), len(SENTENCE_FEATURES)), np.float32)
    features[list(ours), SENTENCE_FEATURES.index("ours")] = 1
    ranked = [
        RankedPaper(papers[name], rank, score, None, name)
        for rank, (name, score) in enumerate(scores.items(), start=1)
    ]
    return Reading(tuple(sentences), features, named=named or {}, papers=tuple(ranked))


def chosen(question, read, most=3, **how):
    return [one.text for one in choose(question, read, most=most, **how)]


ROWS = [("a", "A1", 5.0), ("a", "A2", 4.0), ("b", "B1", 3.0), ("c", "C1", 2.0), ("b", "B2", 1.0)]
SCORES = {"c": 1.0, "b": 0.9, "a": 0.8}


@pytest.mark.parametrize(
    ("question", "most", "expected"),
    [
        pytest.param(ONE, 3, ["A1", "A2", "B1"], id="the best sentences"),
        pytest.param(ONE, 1, ["A1"], id="the best one"),
        pytest.param(ONE, 20, ["A1", "A2", "B1", "C1", "B2"], id="fewer than asked for"),
        pytest.param(MANY, 3, ["C1", "B1", "A1"], id="one from each paper, as the papers rank"),
        pytest.param(MANY, 2, ["C1", "B1"], id="fewer than papers: the best papers"),
        pytest.param(MANY, 20, ["C1", "B1", "A1"], id="never two from one paper"),
        pytest.param(COMPARE, 3, ["A1", "B1", "A2"], id="both sides before a second sentence"),
        pytest.param(COMPARE, 1, ["A1"], id="room for one side only"),
    ],
)
def test_the_question_decides_which_sentences_are_shown(question, most, expected):
    assert chosen(question, reading(ROWS, SCORES), most) == expected


@pytest.mark.parametrize("question", [ONE, MANY, COMPARE])
def test_nothing_is_chosen_from_nothing(question):
    assert choose(question, Reading(), most=3) == ()


def test_a_list_leaves_out_papers_far_below_the_best_one():
    scores = {"c": 1.0, "b": LIST_SHARE, "a": LIST_SHARE - 0.01}
    assert chosen(MANY, reading(ROWS, scores)) == ["C1", "B1"]
    assert chosen(MANY, reading(ROWS, scores), whole=True) == ["C1", "B1", "A1"]


def test_a_list_compares_with_the_best_paper_wherever_it_stands():
    """The papers that a comparison names come first, whatever their score."""
    assert chosen(MANY, reading(ROWS, {"a": 0.1, "c": 1.0, "b": 0.2})) == ["C1"]


def test_in_a_list_a_sentence_that_says_what_its_paper_does_counts_more():
    rows = [("a", "A1", 1.0), ("a", "We propose A2", 1.1 - CONTRIBUTION), ("b", "B1", -9.0)]
    read = reading(rows, {"a": 1.0, "b": 1.0}, ours=[1])
    assert chosen(MANY, read) == ["We propose A2", "B1"]
    assert chosen(ONE, read) == ["A1", "We propose A2", "B1"]


def test_a_comparison_takes_its_sides_from_the_papers_it_names():
    named = {"FinchNet": ("c",), "ORCA7": ("b",)}
    assert chosen(COMPARE, reading(ROWS, SCORES, named=named)) == ["B1", "C1", "A1"]


@pytest.mark.parametrize("named", [{}, {"ORCA7": ("b",)}, {"ORCA7": ("b",), "ORCA": ("b",)}])
def test_a_comparison_that_names_no_two_papers_takes_the_best(named):
    assert chosen(COMPARE, reading(ROWS, SCORES, named=named)) == ["A1", "B1", "A2"]


@pytest.mark.parametrize("question", [ONE, MANY, COMPARE])
def test_a_sentence_that_two_papers_share_is_shown_once(question):
    rows = [("a", "The same  Words.", 3.0), ("b", "the same words.", 2.0), ("b", "B2", 1.0)]
    texts = chosen(question, reading(rows, {"a": 1.0, "b": 1.0}))
    assert texts == ["The same  Words.", "B2"]
