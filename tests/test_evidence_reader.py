"""How far a reader reads, and how sure it is, with a stand-in for the evidence model."""

import math

import numpy as np
import pytest

from rag.evidence import (
    FIRST_ROUND,
    MOST_HOLDERS,
    NAMED_TOPIC,
    PAPERS_READ,
    PAPERS_READ_FOR_MANY,
    SURE,
    WHETHER_BIAS,
    WHETHER_DETAIL,
    Reader,
)
from rag.evidence_model import PageScores
from rag.fitted import DETAIL_FEATURES, SENTENCE_FEATURES, TOPIC_FEATURES, Linear, Weights
from rag.question import understand
from rag.schema import Paper, RankedPaper
from rag.sheet import UNREAD
from tests.answering import library

ONE = "How much lead is in moss?"
MANY = "Which papers study moss?"
COMPARE = "How does moss differ from lichen?"
NAMED = "What does ORCA7 prune?"
COUNT = 14
HALF = 0.0  # the logit of one half


def abstract(number):
    """Return the text of one paper: MOST_HOLDERS of them hold ORCA7, one more holds FINCH8."""
    names = ["ORCA7"] if number < MOST_HOLDERS else []
    names += ["FINCH8"] if number <= MOST_HOLDERS else []
    return f"Paper number{number} is on moss. {' and '.join([*names, 'Lead'])} was measured."


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    texts = [abstract(number) for number in range(COUNT)]
    records = [Paper("", f"Plot {n}", text, raw_abstract=text) for n, text in enumerate(texts)]
    index = library(tmp_path_factory.mktemp("library") / "plots", records)
    yield index
    index.close()


def ranked(index):
    """Return all papers, the first one first."""
    papers = sorted(index.catalogue.each(), key=lambda one: int(one.title.split()[1]))
    return [RankedPaper(one, n + 1, 1 - n / 20, 0.5, f"{one.id}#0") for n, one in enumerate(papers)]


class Rounds:
    """Stands in for the evidence model: keeps how many pages it was given at a time.

    It is sure of the paper with one number, which may be nobody's.
    """

    def __init__(self, sure_of, logit=SURE):
        self.sure_of, self.logit, self.sizes = sure_of, logit, []

    def read(self, question, pages):
        self.sizes.append(len(pages))
        return [self._scores(page) for page in pages]

    def _scores(self, page):
        logit = self.logit if f"number{self.sure_of} " in page.sentences[0] else -SURE
        return PageScores(np.full(len(page.sentences), logit, np.float32), logit)


def linear(names, bias=0.0, **weights):
    return Linear(tuple(weights.get(name, 0.0) for name in names), bias)


def weights(*, topic=HALF, detail=None):
    """Return models whose probabilities are the same for every question; ``detail`` may be none."""
    return Weights(
        linear(SENTENCE_FEATURES, read=1.0),
        linear(TOPIC_FEATURES, topic),
        0.5,
        None if detail is None else linear(DETAIL_FEATURES, detail),
    )


def read(index, text, told, models=None):
    reader = Reader(index, models or weights(), load_model=told and (lambda: told))
    return reader.read(understand(text), ranked(index))


def chance(logit):
    return 1 / (1 + math.exp(-logit))


# ---- rounds


@pytest.mark.parametrize(
    ("text", "sure_of", "sizes"),
    [
        pytest.param(ONE, 0, [2], id="sure of the best paper"),
        pytest.param(ONE, 1, [2], id="sure of the second, in the same round"),
        pytest.param(ONE, 2, [2, 2], id="sure in the second round"),
        pytest.param(ONE, 4, [2, 2, 4], id="then all the rest at once"),
        pytest.param(ONE, None, [2, 2, 4], id="sure of none"),
        pytest.param(MANY, 0, [2, 2, 8], id="a list is read from all"),
        pytest.param(COMPARE, 0, [2, 2, 4], id="so is a comparison"),
    ],
)
def test_papers_are_read_in_rounds_until_one_answers_for_sure(index, text, sure_of, sizes):
    told = Rounds(sure_of)
    read(index, text, told)
    assert told.sizes == sizes
    assert sizes[0] == FIRST_ROUND
    assert sum(sizes) <= (PAPERS_READ_FOR_MANY if text == MANY else PAPERS_READ)


@pytest.mark.parametrize(("logit", "rounds"), [(SURE, 1), (SURE - 0.01, 3)])
def test_one_paper_is_enough_from_a_logit_on(index, logit, rounds):
    told = Rounds(0, logit)
    read(index, ONE, told)
    assert len(told.sizes) == rounds


def test_a_later_round_is_taken_down_for_its_own_papers(index):
    reading = read(index, ONE, Rounds(3))
    values = dict(
        zip((one.text for one in reading.sentences), reading.feature("read_page"), strict=True)
    )
    by_paper = [values[f"Paper number{n} is on moss."] for n in range(PAPERS_READ)]
    assert by_paper == [-SURE / 4] * 3 + [SURE / 4] + [-UNREAD] * 4


def test_papers_beyond_the_round_that_was_sure_are_still_evidence(index):
    reading = read(index, ONE, Rounds(1))
    assert len({one.paper.id for one in reading.sentences}) == len(reading.papers) == PAPERS_READ
    assert reading.sentences[0].text.startswith("Paper number1 ")


# ---- topic and detail


@pytest.mark.parametrize(
    ("text", "detail", "expected"),
    [
        pytest.param(ONE, -1.0, chance(1.0) * chance(-1.0), id="topic times detail"),
        pytest.param(ONE, None, chance(1.0), id="no detail model: every paper holds it"),
        pytest.param(MANY, -1.0, chance(1.0), id="a list needs the topic only"),
        pytest.param(COMPARE, -1.0, chance(1.0), id="so does a comparison"),
    ],
)
def test_a_probability_is_that_of_the_topic_times_that_of_the_detail(index, text, detail, expected):
    reading = read(index, text, Rounds(0), weights(topic=1.0, detail=detail))
    assert reading.probability == pytest.approx(expected)


def test_where_it_is_asked_whether_something_is_so_the_topic_decides(index):
    sure, unsure = (
        read(index, "Does pruning help?", Rounds(0), weights(topic=3.0, detail=detail)).probability
        for detail in (2.0, -2.0)
    )
    assert sure == pytest.approx(chance(3.0 + WHETHER_DETAIL * 2.0 + WHETHER_BIAS))
    assert unsure == pytest.approx(chance(3.0 - WHETHER_DETAIL * 2.0 + WHETHER_BIAS))
    assert sure > unsure > chance(3.0) * chance(-2.0)


def test_what_the_model_says_of_the_page_moves_the_detail(index):
    detail = linear(DETAIL_FEATURES, read_page=4.0)
    models = Weights(linear(SENTENCE_FEATURES), linear(TOPIC_FEATURES), 0.5, detail)
    sure, unsure = (read(index, ONE, Rounds(n), models).probability for n in (0, None))
    assert sure == pytest.approx(0.5 * chance(SURE))
    assert unsure == pytest.approx(0.5 * chance(-SURE))


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        pytest.param(NAMED, -5.0, chance(NAMED_TOPIC), id="few hold the name"),
        pytest.param(NAMED, 5.0, chance(5.0), id="a likelier topic stays"),
        pytest.param("What does FINCH8 prune?", -5.0, chance(-5.0), id="too many hold it"),
        pytest.param("What does ZORG9 prune?", -5.0, chance(-5.0), id="nobody holds it"),
        pytest.param(ONE, -5.0, chance(-5.0), id="no name"),
    ],
)
def test_a_name_that_few_papers_hold_says_enough_of_the_topic(index, text, topic, expected):
    reading = read(index, text, Rounds(None), weights(topic=topic))
    assert reading.probability == pytest.approx(expected)


def test_a_name_that_few_papers_hold_says_nothing_of_the_detail(index):
    reading = read(index, NAMED, Rounds(None), weights(topic=-5.0, detail=-1.0))
    assert reading.probability == pytest.approx(chance(NAMED_TOPIC) * chance(-1.0))


def test_without_the_evidence_model_a_name_leaves_the_topic_as_it_is(index):
    reading = read(index, NAMED, None, weights(topic=-5.0))
    assert len(reading.named["ORCA7"]) == MOST_HOLDERS
    assert reading.probability == pytest.approx(chance(-5.0))
