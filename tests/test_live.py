import re
import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.live import LONGEST, LONGEST_FORMULA, HeldPhrase, LiveMarkers
from rag.synthesis import read_reply
from tests.answering import sentences, words

EVIDENCE = sentences("p", "One is so. Two is so. Three is so. Four is so. Five is so.")


def shown(pieces, sources=5):
    live = LiveMarkers(sources)
    return "".join([*map(live.feed, pieces), live.finish()])


def cut(text, places):
    """Cut a text into pieces at some places."""
    edges = [0, *sorted(place % (len(text) + 1) for place in places), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("True. [3] Also. [1]", "True. [1] Also. [2]", id="order of first use"),
        pytest.param("True. [4] Also. [4]", "True. [1] Also. [1]", id="the same again"),
        pytest.param("True. [2, 3] Also. [1-2]", "True. [1][2] Also. [3][1]", id="list and range"),
        pytest.param("True.【3】", "True.[1]", id="other brackets"),
        pytest.param("True (source 3). Also [1].", "True [1]. Also [2].", id="round, labelled"),
        pytest.param("True. [7] Also. [0] End. [2]", "True.  Also.  End. [1]", id="no such source"),
        pytest.param("A [sic] and [CLS] (see below). [2]", None, id="words in brackets"),
        pytest.param("It lies in [0, 1]. [3]", "It lies in [0, 1]. [1]", id="an interval"),
        pytest.param("For $x[2]$ it is so. [3]", "For $x[2]$ it is so. [1]", id="in a formula"),
        pytest.param(r"For \(x[2]\) so. [3]", r"For \(x[2]\) so. [1]", id="in another formula"),
        pytest.param("It costs $5 and $6. [3]", "It costs $5 and $6. [1]", id="prices"),
        pytest.param(
            "It is $5 [3] or US$6.", "It is $5 [1] or US$6.", id="a marker between prices"
        ),
        pytest.param("It costs $5. [3] Good", "It costs $5. [1] Good", id="one price"),
        pytest.param("It ends with [", "It ends with [", id="open at the end"),
        pytest.param("It ends with \\", "It ends with \\", id="a backslash at the end"),
        pytest.param("It ends with [3", "It ends with [3", id="never closed"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_markers_are_numbered_alike_whole_and_letter_by_letter(text, expected):
    expected = text.replace("[2]", "[1]") if expected is None else expected
    assert shown([text]) == expected
    assert shown(text) == expected


_WORD = st.sampled_from(["so", "it", "is", "1.8", "dB", "(two)", "[sic]", "$x[2]$", "50%", "α"])
_SENTENCE = st.tuples(
    st.lists(_WORD, min_size=1, max_size=6),
    st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True),
).map(lambda pair: f"Here {' '.join(pair[0])} it. " + "".join(f"[{n}]" for n in pair[1]))
_REPLY = st.lists(_SENTENCE, min_size=1, max_size=5).map(" ".join)


@given(_REPLY, st.lists(st.integers(0, 1000), max_size=12))
def test_b25_the_streamed_text_is_the_finished_answer_wherever_its_pieces_are_cut(text, places):
    streamed = shown(cut(text, places))
    assert words(streamed) == words(read_reply(text, EVIDENCE).text)


@given(st.text("[]()【】$\\ 123,ab.\n", max_size=80), st.lists(st.integers(0, 100), max_size=8))
def test_pieces_never_change_what_is_shown(text, places):
    assert shown(cut(text, places)) == shown([text])


@given(st.text("[]()【】$\\ ab.\n", max_size=80))
def test_text_without_numbers_is_shown_unchanged(text):
    assert shown(text) == text


def test_text_is_shown_as_soon_as_it_is_certain():
    live = LiveMarkers(3)
    assert live.feed("It is so ") == "It is so "
    assert live.feed("[2") == ""
    assert live.feed("] and") == "[1] and"


@pytest.mark.parametrize(
    ("opening", "longest"),
    [("[", LONGEST), ("(", LONGEST), ("$", LONGEST_FORMULA), ("\\(", LONGEST_FORMULA)],
)
def test_a_bracket_that_never_closes_is_not_waited_for_for_ever(opening, longest):
    live = LiveMarkers(3)
    assert live.feed(opening + "a") == ""
    assert live.feed("b" * longest) == opening + "a" + "b" * longest


@pytest.mark.parametrize("text", ["[" * 20_000, "$" * 20_000, "[1" * 10_000, "$a (" * 5_000])
def test_hostile_streams_take_linear_time(text):
    began = time.perf_counter()
    shown(text)
    assert time.perf_counter() - began < 5


# ---- a phrase that is not shown

PHRASE = "NOT IN THE PAPERS"


@pytest.mark.parametrize(
    ("text", "at_once"),
    [
        pytest.param("NOT IN THE PAPERS", "", id="the phrase"),
        pytest.param("Not in the papers.", "", id="in small letters"),
        pytest.param('\n"NOT IN THE PAP', "", id="its beginning, quoted"),
        pytest.param("Not in the paper but in a book.", None, id="another end"),
        pytest.param("It is not in the papers.", None, id="not at the beginning"),
    ],
)
@pytest.mark.parametrize("pieces", ["whole", "letters", "words"])
def test_a_phrase_is_held_back_until_it_turns_out_to_be_something_else(text, at_once, pieces):
    held = HeldPhrase(PHRASE)
    parts = {"whole": [text], "letters": text, "words": re.findall(r"\s*\S+", text)}[pieces]
    fed = "".join(map(held.feed, parts))
    assert fed == (text if at_once is None else at_once)
    assert fed + held.finish() == text
