"""Measures of answers, evidence, citations and abstention, worked out by hand."""

import numpy as np
import pytest

from eval import metrics as m
from eval.metrics.normal import letters, plain, words

GOLD = r"Our method achieves results 18$\times$ faster than the \textbf{state-of-the-art} method."
SHOWN = "Our method achieves results 18× faster than the state-of-the-art method."
OTHER = "We study matching markets with ties and two-sided preferences of many workers."


@pytest.mark.parametrize(
    ("left", "right"),
    [
        pytest.param(r"18$\times$", "18×", id="sign"),
        pytest.param(r"$\Omega (N)$", "Ω (N)", id="Greek"),
        pytest.param("k^4", "k⁴", id="power"),
        pytest.param(r"14\%", "14%", id="escape"),
        pytest.param("**bold** text", "bold text", id="Markdown"),
        pytest.param(r"\mathcal{O}(n)", "O(n)", id="style"),
        pytest.param(r"\frac{a}{b}", "a/b", id="fraction"),
        pytest.param("Café – naïve", "CAFE - naive", id="accents, dash and case"),
        pytest.param("Problems~(VRPs)", "problems (vrps)", id="tie"),
    ],
)
def test_two_spellings_become_one(left, right):
    assert plain(left) == plain(right)


def test_letters_and_words():
    assert letters(r"$\alpha$-Beta, 2.5!") == "alphabeta25"
    assert words("对比 learning, v2") == ["对", "比", "learning", "v2"]


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        pytest.param(GOLD, SHOWN, True, id="markup cleaned"),
        pytest.param(SHOWN, f"First. {SHOWN}", True, id="one holds the other"),
        pytest.param(GOLD, OTHER, False, id="another sentence"),
        pytest.param("faster", SHOWN, False, id="a word is no sentence"),
        pytest.param("", SHOWN, False, id="empty"),
        pytest.param("$$", "!!", False, id="no letters at all"),
        pytest.param("a b c d e f g h i x", "a b c d e f g h i y", True, id="9 of 10 words"),
        pytest.param("a b c d e f x y z w", "a b c d e f p q r s", False, id="6 of 10 words"),
    ],
)
def test_same_sentence(left, right, same):
    assert m.same_sentence(left, right) is same
    assert m.same_sentence(right, left) is same


@pytest.mark.parametrize(
    ("quotes", "gold", "also", "expected"),
    [
        pytest.param([SHOWN, OTHER], [GOLD], [], (1 / 2, 1.0, 2 / 3), id="one of two"),
        pytest.param([SHOWN, OTHER], [GOLD], [OTHER], (1.0, 1.0, 1.0), id="also is right"),
        pytest.param([OTHER], [GOLD], [OTHER], (1.0, 0.0, 0.0), id="also is not enough"),
        pytest.param([SHOWN, SHOWN], [GOLD, OTHER], [], (1.0, 1 / 2, 2 / 3), id="quoted twice"),
        pytest.param([], [GOLD], [], (None, 0.0, 0.0), id="nothing quoted"),
        pytest.param([SHOWN], [], [], (None, None, None), id="no label"),
    ],
)
def test_evidence_scores(quotes, gold, also, expected):
    assert m.evidence_scores(quotes, gold, also) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "items", "missing"),
    [
        pytest.param("It is Linear.", ["linear|quadratic"], [], id="one alternative"),
        pytest.param("It is linear.", ["linear", "infinite"], ["infinite"], id="all are needed"),
        pytest.param("with linear probes", ["linear probe"], [], id="part of a word"),
        pytest.param("in 2018", ["18"], ["18"], id="inside a longer number"),
        pytest.param("18.5 times", ["18"], ["18"], id="before decimals"),
        pytest.param("3.18 times", ["18"], ["18"], id="after decimals"),
        pytest.param("a score of 18.", ["18"], [], id="before a full stop"),
        pytest.param("18× faster", ["18"], [], id="before a sign"),
        pytest.param("in 2018 it was 18", ["18"], [], id="later in the text"),
        pytest.param(r"a loss of $\Omega(N)$", ["Ω(N)"], [], id="formula"),
        pytest.param("14 %", ["14%"], [], id="spacing of signs"),
        pytest.param("anything", ["|x"], ["|x"], id="an empty alternative is met by nothing"),
    ],
)
def test_must_contain(text, items, missing):
    assert m.missing_items(text, items) == missing
    assert m.contains_all(text, items) == (0.0 if missing else 1.0)


def test_without_items_must_contain_has_no_score():
    assert m.contains_all("text", []) is None


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "overlap", "rouge"),
    [
        pytest.param("The cat sat.", "a cat sat", 1.0, 1.0, 2 / 3, id="articles and points"),
        # SQuAD: cat, sat, mat | cat, mat: 2·2/(3+2). ROUGE-L keeps word order: LCS 2 of 3 and 2.
        pytest.param("cat sat mat", "cat mat", 0.0, 0.8, 0.8, id="a word too many"),
        pytest.param("mat cat", "cat mat", 0.0, 1.0, 0.5, id="order"),
        pytest.param("cat cat cat", "cat", 0.0, 0.5, 0.5, id="repeats cost"),
        pytest.param("", "cat", 0.0, 0.0, 0.0, id="nothing said"),
        pytest.param("The", "an", 1.0, 1.0, 0.0, id="nothing left on either side"),
        pytest.param("cat", " ", None, None, None, id="no label"),
    ],
)
def test_answer_measures(answer, gold, exact, overlap, rouge):
    assert m.exact_match(answer, gold) == exact
    assert m.token_f1(answer, gold) == pytest.approx(overlap)
    assert m.rouge_l(answer, gold) == pytest.approx(rouge)


def test_rouge_is_bounded_in_length(monkeypatch):
    monkeypatch.setattr("eval.metrics.answers._MAX_TOKENS", 200)
    assert m.rouge_l("a " * 300, "a " * 200) == 1.0


@pytest.mark.parametrize(
    ("precision", "recall", "expected"),
    [(0.5, 1.0, 2 / 3), (0.0, 0.0, 0.0), (None, 0.0, 0.0), (0.5, None, None)],
    ids=["both", "zeros", "nothing returned", "no label"],
)
def test_f1(precision, recall, expected):
    assert m.f1(precision, recall) == expected


def test_set_measures():
    assert m.set_precision(["a", "b", "b"], ["a", "c"]) == 1 / 2
    assert m.set_recall(["a", "b"], ["a", "c", "d"]) == 1 / 3
    assert m.set_precision([], ["a"]) is None
    assert m.set_recall(["a"], []) is None


def test_citation_form():
    assert m.marker_validity([1, 2, 7, 7], {1, 2}) == 2 / 3
    assert m.marker_validity([], {1}) is None
    assert m.cited_share([(1,), (), (9,), (9, 2)], {1, 2}) == 1 / 2
    assert m.cited_share([], {1}) is None
    assert m.words_per_statement(["one two three", "one"]) == 2
    assert m.words_per_statement([]) is None


def test_support_shares_add_up():
    shares = m.support_shares(["verbatim", "verbatim", "weak", "unchecked"])
    assert shares["verbatim"] == 1 / 2
    assert shares["unsupported"] == 0
    assert sum(shares.values()) == 1
    assert set(m.support_shares([]).values()) == {None}


# abstained from 3, of which 2 rightly; 4 unanswerable
ABSTAINED = np.array([1, 1, 1, 0, 0, 0], dtype=float)
UNANSWERABLE = np.array([1, 1, 0, 1, 1, 0], dtype=float)


def test_abstention_measures():
    assert m.abstention_precision(ABSTAINED, UNANSWERABLE) == 2 / 3
    assert m.abstention_recall(ABSTAINED, UNANSWERABLE) == 2 / 4
    assert m.abstention_f1(ABSTAINED, UNANSWERABLE) == pytest.approx(4 / 7)
    nothing = np.zeros(6)
    assert m.abstention_precision(nothing, UNANSWERABLE) is None
    assert m.abstention_f1(nothing, UNANSWERABLE) == 0
    assert m.abstention_recall(ABSTAINED, nothing) is None
    assert m.abstention_f1(ABSTAINED, nothing) is None


def test_risk_coverage_and_its_area():
    confidence = np.array([0.2, 0.9, 0.5, 0.5])
    loss = np.array([1.0, 0.0, 1.0, 0.0])
    points = m.risk_coverage(confidence, loss)
    assert points == [
        m.RiskPoint(1 / 4, 0.0, 0.9),
        m.RiskPoint(3 / 4, 1 / 3, 0.5),
        m.RiskPoint(1.0, 1 / 2, 0.2),
    ]
    assert m.aurc(confidence, loss) == pytest.approx((0 + 1 / 3 + 1 / 3 + 1 / 2) / 4)
    assert m.risk_coverage(confidence, loss, total=8)[-1].coverage == 1 / 2
    assert m.risk_coverage(np.array([]), np.array([])) == []
    assert m.aurc(np.array([]), np.array([])) is None


def test_area_under_roc():
    confidence = np.array([0.9, 0.4, 0.4, 0.1])
    answerable = np.array([1.0, 1.0, 0.0, 0.0])
    # pairs: 0.9>0.4, 0.9>0.1, 0.4=0.4 (half), 0.4>0.1
    assert m.area_under_roc(confidence, answerable) == 3.5 / 4
    assert m.area_under_roc(confidence, np.ones(4)) is None


def test_cosine_and_percentile():
    assert m.cosine([1, 0], [1, 1]) == pytest.approx(0.5**0.5)
    assert m.cosine([0, 0], [1, 1]) is None
    assert m.percentile([10, 20, 30, 40], 50) == 25
    assert m.percentile([10, 20, 30], 95) == pytest.approx(29)
    assert m.percentile([], 50) is None
