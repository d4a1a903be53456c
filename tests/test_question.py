import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import QuestionError
from rag.question import (
    MAX_EARLIER_CHARS,
    MAX_TURNS,
    check,
    filters_for,
    is_named,
    leans_back,
    preferring,
    respelled,
    stated,
    understand,
)
from rag.schema import Filters, Paper, Turn

# ---- what can be asked


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "The question is empty. Type", id="empty"),
        pytest.param(" \n\t ", "The question is empty. Type", id="white space"),
        pytest.param("\x00\x00", "The question is empty. Type", id="NUL"),
        pytest.param("\u200b\u2066", "The question is empty. Type", id="invisible"),
        pytest.param("?!… —", "has no word to search for. Ask with words", id="punctuation"),
        pytest.param("what \ud800 is", r"half a character at position 5 .* again", id="surrogate"),
        pytest.param("x" * 20_000, "has 20,000 characters; at most 4,000 are read", id="too long"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_a_plain_sentence(text, message):
    with pytest.raises(QuestionError, match=message):
        check(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("  What  is\nit?\t", "What is it?", id="white space"),
        pytest.param("moss\x00in\x07air", "moss in air", id="control characters"),
        pytest.param("trans\u00adfor\u200bmer", "transformer", id="soft hyphen, zero width"),
        pytest.param("می\u200cخواهم", "می\u200cخواهم", id="a joiner that is spelling"),
        pytest.param("\u202ewhat\u202c", "what", id="text direction"),
        pytest.param("海草?", "海草?", id="Chinese"),
        pytest.param("{context_str} {}", "{context_str} {}", id="braces"),
        pytest.param("14", "14", id="a number"),
        pytest.param("x" * 4000, "x" * 4000, id="as long as allowed"),
    ],
)
def test_a_question_is_trimmed_and_otherwise_as_typed(text, expected):
    assert check(text) == expected


@given(st.text(max_size=60))
def test_a_checked_question_is_one_line_of_text_that_is_checked_no_further(text):
    try:
        plain = check(text)
    except QuestionError:
        return
    assert plain == check(plain) == " ".join(plain.split())
    assert "\x00" not in plain


# ---- what a question asks for


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Which papers study moss?", {"many"}),
        ("List all works on bird migration.", {"many"}),
        ("Are there any studies on honey?", {"many"}),
        ("What do those two speech papers have in common?", {"many"}),
        ("哪些论文研究海草？", {"many"}),
        ("How many heads does ORCA7 remove?", {"number"}),
        ("What is the number of marshes?", {"number"}),
        ("What does it score on the test?", {"number"}),
        ("By how much did lead fall?", {"number"}),
        ("海草有多少？", {"number"}),
        ("How does ORCA7 differ from FinchNet?", {"compare"}),
        ("Which paper is better, ORCA7 or FinchNet?", {"compare"}),
        ("Is it more or less?", {"compare"}),
        ("Why do herons leave early?", set()),
        ("Is lead or zinc in moss?", set()),
        ("Thanks a lot!", {"courtesy"}),
        ("  hello ", {"courtesy"}),
        ("谢谢", {"courtesy"}),
        ("Thanks, and which papers study moss?", {"many"}),
        ("Hi-hat sounds", set()),
    ],
)
def test_a_question_is_read_by_rules(text, kinds):
    question = understand(text)
    names = ("many", "number", "list", "compare", "courtesy", "follow_up")
    read = {name for name in names if getattr(question, name)}
    assert read - {"list"} == kinds
    assert question.text == text
    assert question.search.startswith(text)


@pytest.mark.parametrize(
    ("text", "is_list"),
    [
        ("Which metals were measured?", True),
        ("What are the two steps?", True),
        ("Name the five largest marshes.", True),
        ("Which GPUs were used?", True),
        ("What goes wrong with moss?", False),
        ("What follows from warm springs?", False),
        ("Which loss is used?", False),
        ("Which metal was measured?", False),
        ("What does it do to heads?", False),
    ],
)
def test_a_question_for_several_things_is_told_from_one_for_a_single_thing(text, is_list):
    assert understand(text).list is is_list


# ---- follow-ups

FIRST = Turn("Which paper prunes attention heads?", "ORCA7 does. [1]")


@pytest.mark.parametrize(
    "text", ["and in mice?", "有没有论文研究海草？", "ช่วยบอกหน่อย", "What is it?"]
)
def test_b23_the_first_question_is_never_rewritten(text):
    question = understand(text)
    assert (question.text, question.follow_up, question.earlier) == (text, False, ())
    assert question.search == f"{text} {question.reading}".strip()  # its own words come first


@pytest.mark.parametrize(
    "text",
    [
        "and in mice?",
        "How fast is it?",
        "What about ducks in warm springs?",
        "Do they use the same data for all of the tests?",
        "How does that compare with plain training of encoders?",
        "Who are the authors of that paper on moss and lead?",
        "What was seen there in the second of the nine years?",
        "Which is the larger one, the second one or another?",
        "Why?",
        "In GPT-4?",
        "How fast?",
        "What about ORCA7?",
        "它是怎么做到的？",
    ],
)
def test_b23_a_follow_up_is_searched_with_the_earlier_question_in_its_own_words(text):
    question = understand(text, [FIRST])
    assert question.follow_up
    assert question.search == f"{FIRST.question} {text} {question.reading}".strip()
    assert question.text == text


@pytest.mark.parametrize(
    "text",
    [
        "Which papers show that pruning makes encoders faster?",
        "Are there any papers on honey and low temperatures?",
        "Is there a study of moss in city parks?",
        "Which metals were measured in moss from parks?",
        "What is ORCA7?",
        "explain Graph-KV",
        "哪些论文研究海草？",
    ],
)
def test_b23_a_question_that_stands_alone_is_not_mixed_with_the_last_topic(text):
    question = understand(text, [FIRST])
    assert not question.follow_up
    assert FIRST.question not in question.search
    assert not leans_back(text)


def test_b23_courtesy_is_neither_searched_nor_searched_with():
    assert understand("thanks!", [FIRST]).search == "thanks!"
    turns = [FIRST, Turn("thanks!", "Ask me."), Turn("  \x00 ")]
    assert understand("and in mice?", turns).earlier == (FIRST.question,)


def test_b23_a_follow_up_after_nothing_but_courtesy_is_searched_as_it_is():
    question = understand("and in mice?", [Turn("hello", "Ask me.")])
    assert (question.search, question.follow_up) == ("and in mice?", False)


def test_the_last_few_questions_count_oldest_first_and_only_their_beginning():
    turns = [Turn(f"question {n} " + "x" * 10_000) for n in range(30)]
    question = understand("and in mice?", turns)
    assert [one.split()[1] for one in question.earlier] == ["27", "28", "29"]
    assert len(question.earlier) == MAX_TURNS
    assert all(len(one) <= MAX_EARLIER_CHARS for one in question.earlier)


def test_a_damaged_history_is_made_searchable():
    turns = [Turn("what\x00 is \ud800 moss?"), Turn("?")]
    search = understand("and in mice?", turns).search
    assert search.encode("utf-8")
    assert "\x00" not in search


def test_history_is_never_modified():
    turns = [FIRST, Turn("and lead?")]
    before = list(turns)
    understand("and in mice?", turns)
    assert turns == before


# ---- filters in words


def known_of(*authors, topics=()):
    """Say whether a filter matches, as a catalogue does: a part of the value, any case."""

    def known(filters):
        values, wanted = (topics, filters.topic) if filters.topic else (authors, filters.author)
        return filters if any((wanted or "\0").lower() in one.lower() for one in values) else None

    return known


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Which papers by Ann Author study moss?", Filters(author="Ann Author")),
        ("Which articles were written by Author?", Filters(author="Author")),
        ("What has been published by Ann Author in 2020?", Filters(author="Ann Author")),
        ("Which papers by Nobody Else study moss?", None),
        ("Which works by combining heads?", None),
        ("Which papers are filed under speech processing?", Filters(topic="speech processing")),
        ('Which papers are on "speech processing"?', Filters(topic="speech processing")),
        ("Which papers study “Speech Processing”?", Filters(topic="Speech Processing")),
        ('What does "speech" mean to an encoder?', None),
        ("Which papers are listed as cookery?", None),
        ("Why is moss green?", None),
    ],
)
def test_an_author_or_topic_that_the_library_knows_becomes_a_filter(text, found):
    known = known_of("Ann Author", "B. Writer", topics=("Speech Processing",))
    assert filters_for(understand(text), known) == found


def test_a_name_is_tried_whole_before_its_parts():
    tried = []

    def known(filters):
        tried.append(filters.author)

    filters_for(understand("papers by Ann Mary Author"), known)
    assert tried == ["Ann Mary Author", "Ann Mary", "Ann"]


@pytest.mark.parametrize(
    ("name", "people", "named"),
    [
        ("Lin", ["Wu Lin"], True),
        ("lin", ["LIN, Wu"], True),
        ("Lin", ["Linda Wu", "Colin Wu"], False),
        ("Müller", ["Ann Muller"], True),
        ("A. Author", ["A. Author"], True),
        ("A. Author", ["B. A. Authors"], False),
        ("(.*", ["Ann Author"], False),
        ("Lin", [], False),
    ],
)
def test_a_name_is_met_in_whole_words_only(name, people, named):
    assert is_named(name, people) is named


def test_what_several_words_state_holds_together():
    def known(filters):
        return filters

    question = understand("Which NeurIPS papers by Ann Author since 2021 study moss?")
    assert stated(question, known).filters == Filters(
        author="Ann Author since", venue="NeurIPS", year_from=2021
    )


# ---- other readings


def test_a_chinese_question_is_searched_with_its_english_terms_and_its_names():
    question = understand("ORCA7 在多少个数据集上做了强化学习实验？")
    assert question.reading == "ORCA7 how many dataset reinforcement learning experiment"
    assert question.asked == question.reading
    assert question.search == f"{question.text} {question.reading}"
    assert (question.language, question.number, question.wanted) == ("zh", True, "number")


def test_a_german_question_is_searched_with_its_english_terms_too():
    question = understand("Wie viele Datensätze braucht FinchNet?")
    assert question.search == f"{question.text} {question.reading}"
    assert question.reading.startswith("how many dataset")
    assert (question.language, question.unit) == ("de", "Datensätze")


def test_an_english_question_has_no_other_reading():
    assert understand("How many datasets does FinchNet use?").reading == ""


def test_b23_a_chinese_topic_stays_in_english_for_its_follow_up():
    question = understand("它是怎么做到的？", [Turn("哪些论文研究强化学习？")])
    assert question.search.startswith("哪些论文研究强化学习？ 它是怎么做到的？")
    assert "reinforcement learning" in question.search


def test_a_corrected_word_is_searched_and_told():
    question = respelled(understand("What is a matriod?"), [("matriod", "matroid")])
    assert (question.text, question.search) == ("What is a matriod?", "What is a matroid?")
    assert question.asked == "What is a matroid?"
    assert question.corrected == (("matriod", "matroid"),)


def test_without_corrections_a_question_stays_as_it_is():
    question = understand("What is a matroid?")
    assert respelled(question, ()) is question
    assert question.asked == question.text


def test_a_corrected_follow_up_keeps_what_it_leans_on():
    question = respelled(understand("Is it a matriod?", [FIRST]), [("matriod", "matroid")])
    assert question.search == f"{FIRST.question} Is it a matroid?"


CITED = Turn("Which paper prunes attention heads?", "ORCA7 prunes half of them. [1]", ("a",))


def test_b23_it_means_the_paper_and_the_name_of_the_last_answer():
    question = understand("How fast is it?", [CITED])
    assert question.prefer == ("a",)
    assert question.search == f"{CITED.question} How fast is it? ORCA7"


def test_b23_an_ellipsis_keeps_the_topic_and_points_at_no_paper():
    question = understand("and in mice?", [CITED])
    assert (question.prefer, question.names) == ((), ())
    assert question.search == f"{CITED.question} and in mice?"


def test_a_question_that_stands_alone_prefers_nothing():
    assert understand("Which metals were measured in moss from parks?", [CITED]).prefer == ()


def test_the_federated_one_is_found_among_the_papers_of_the_last_answer():
    turn = Turn("Which papers prune?", "Two. [1] [2]", ("a", "b"))
    question = understand("Which data does the federated one use?", [turn])
    papers = [Paper("a", "Sparse speech"), Paper("b", "Federated pruning")]
    assert question.prefer == ("a", "b")
    assert preferring(question, papers).prefer == ("b",)
    assert preferring(understand("How fast is it?", [CITED]), papers[:1]).prefer == ("a",)


# ---- time


@pytest.mark.parametrize(
    "part",
    [
        "which ",
        "the a-b ",
        "what does ",
        "papers by a ",
        "filed as ",
        "more or ",
        '"a',
        "-",
        "s",
        "in 2020 ",
        "2020-",
        "is a ",
        "the A one ",
        "哪些",
        "AA ",
        "how many a ",
        "what is a",
        "¿",
        "A'",
    ],
)
def test_hostile_questions_are_read_in_linear_time(part):
    text = check(("which " + part * 4000)[:4000])
    began = time.perf_counter()
    understand(text, [Turn(text)] * 3)
    assert time.perf_counter() - began < 1
