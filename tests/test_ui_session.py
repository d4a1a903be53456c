import copy

import pytest

from rag.schema import Answer, RankedPaper
from tests.test_ui_render import OTHER, QUOTED
from ui.session import MOST_TURNS, REMEMBERED, Exchange, Session


def test_b28_every_session_has_its_own_state():
    first = Session()
    second = copy.deepcopy(first)
    first.keep(Exchange(1, "mine", QUOTED))
    first.filters = first.filters.__class__(author="Lin")
    assert second.exchanges == []
    assert not second.filters


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(Exchange(2, "q", error="off"), id="failed"),
        pytest.param(Exchange(2, "q", stopped=True, text="half"), id="stopped"),
        pytest.param(Exchange(2, "q", Answer("q", "a", False, error="cut")), id="incomplete"),
    ],
)
def test_b25_a_cut_answer_is_not_fed_back(cut):
    session = Session()
    session.keep(Exchange(1, "whole", QUOTED))
    session.keep(cut)
    assert [turn.question for turn in session.history()] == ["whole"]


def test_history_holds_the_last_turns_with_the_papers_they_cited():
    session = Session()
    for number in range(10):
        session.keep(Exchange(number, f"q{number}", QUOTED))
    history = session.history()
    assert [turn.question for turn in history] == [f"q{n}" for n in range(10 - REMEMBERED, 10)]
    assert history[0].paper_ids == ("p1",)


def test_b23_an_edited_question_is_searched_as_it_stands():
    session = Session(standalone=True)
    session.keep(Exchange(1, "q", QUOTED))
    assert session.history() == ()


def test_a_long_conversation_stays_bounded():
    session = Session()
    many = tuple(RankedPaper(OTHER, n, 1.0, None, "x") for n in range(1, 200))
    for number in range(MOST_TURNS + 20):
        session.keep(Exchange(number, "q", Answer("q", "a", True, papers=many)))
    assert len(session.exchanges) == MOST_TURNS
    assert session.find(0) is None
    assert len(session.exchanges[-1].answer.papers) == 10


def test_messages_show_questions_answers_failures_and_stops():
    session = Session()
    session.keep(Exchange(1, "<b>q</b>", QUOTED))
    session.keep(Exchange(2, "q", error="It is off."))
    session.keep(Exchange(3, "q", stopped=True, text="half"))
    shown = [message["content"] for message in session.messages()]
    assert [m["role"] for m in session.messages()] == ["user", "assistant"] * 3
    assert "&lt;b&gt;q" in shown[0]
    assert "It is off." in shown[3]
    assert "half" in shown[5]
    assert "You stopped" in shown[5]


def test_numbers_are_never_used_twice():
    session = Session()
    first = session.number()
    session.keep(Exchange(first, "q", QUOTED))
    session.clear()
    assert session.number() != first
