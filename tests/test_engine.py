import asyncio
import re
import threading
from dataclasses import replace

import pytest
from llama_index.core.schema import QueryBundle

from rag.embedders import wrap
from rag.engine import (
    ABSTENTION,
    COURTESY,
    EMPTY,
    LLM_EVIDENCE,
    MORE_STATEMENTS,
    NAMED_SHARE,
    NO_MATCH,
    AnswerEngine,
    build_engine,
)
from rag.errors import ProviderError, QuestionError
from rag.index import Index
from rag.schema import Filters, Paper, Turn
from rag.settings import Settings
from rag.synthesis import LLMSynthesizer, QuoteSynthesizer
from rag.testing import ScriptedLLM, WordHashEmbedding
from tests.answering import (
    DyingLLM,
    EndlessLLM,
    by_title,
    collected,
    engine,
    forbid_defaults,
    library,
    words,
)
from tests.storage import new_index, papers

LEAD = "How much did lead in moss fall after the ring road closed?"
LEAD_QUOTE = "Lead fell by half within five years after the ring road closed."


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = library(tmp_path_factory.mktemp("library") / "small")
    yield index
    index.close()


@pytest.fixture
def empty(tmp_path):
    index = new_index(tmp_path / "empty")
    yield index
    index.close()


# ---- a quoted answer


def test_a_question_gets_cited_quotes_the_ranked_papers_timings_and_a_confidence(index):
    answer = engine(index).answer(LEAD)
    first = answer.citations[0]
    assert first.quote == LEAD_QUOTE
    assert answer.text.startswith(f"{LEAD_QUOTE} [1]")
    assert (first.marker, first.support, first.passage_id) == (1, "verbatim", f"{first.paper.id}#0")
    assert first.paper.abstract[first.span.start : first.span.end] == first.quote
    assert len(answer.statements) == len(answer.citations) == 3
    assert answer.papers[0].paper.id == first.paper.id
    assert (answer.abstained, answer.llm, answer.raw, answer.error) == (False, None, None, None)
    assert answer.question == answer.searched == LEAD
    assert 0 < answer.confidence < 1
    assert set(answer.timings_ms) == {
        *("search", "terms", "question", "vectors", "fusing", "read", "write", "total")
    }
    assert all(value >= 0 for value in answer.timings_ms.values())
    assert answer.timings_ms["total"] >= answer.timings_ms["read"]


@pytest.mark.parametrize(
    "question",
    [
        LEAD,
        "Which papers study speech encoders?",
        "How does ORCA7 differ from FinchNet?",
        "How do braces break templates?",
        "海草在低潮时怎么样？",
        "Do zebrafish sleep in the dark?",
    ],
)
def test_markers_count_up_from_one_and_every_quote_is_what_stands_at_its_offsets(index, question):
    answer = engine(index).answer(question)
    assert [one.marker for one in answer.citations] == list(range(1, len(answer.citations) + 1))
    for one in answer.citations:
        stored = index.catalogue.get(one.paper.id)
        title_only = one.span.start == one.span.end
        held = stored.title if title_only else stored.abstract[one.span.start : one.span.end]
        assert one.quote == held != ""
        assert one.quote in re.sub(r" \[[A-Z][^\]]*\]", "", answer.text)  # without "[ORCA7]"


@pytest.mark.parametrize("most", [1, 2, 5])
def test_no_more_statements_are_given_than_the_settings_allow(index, most):
    answer = engine(index, max_statements=most).answer(LEAD)
    assert len(answer.statements) == most


def test_a_question_about_several_papers_gets_one_statement_from_each(index):
    answer = engine(index, max_statements=5).answer("Which papers study speech encoders?")
    cited = [one.paper.id for one in answer.citations]
    assert cited[:2] == [by_title(index, "Reducing heads"), by_title(index, "Pruning attention")]
    assert len(cited) == len(set(cited))
    ranked = [one.paper.id for one in answer.papers]
    assert [ranked.index(one) for one in cited] == sorted(ranked.index(one) for one in cited)


@pytest.mark.parametrize(
    ("question", "more"),
    [
        pytest.param("What are the three steps of pruning heads?", MORE_STATEMENTS, id="a list"),
        pytest.param("How does ORCA7 differ from FinchNet?", MORE_STATEMENTS, id="a comparison"),
        pytest.param("Which papers by A. Author are there?", 0, id="papers, one sentence each"),
        pytest.param(LEAD, 0, id="one thing"),
    ],
)
def test_a_list_or_a_comparison_gets_more_statements(index, question, more):
    answer = engine(index, max_statements=2).answer(question)
    assert len(answer.statements) == 2 + more


def test_a_comparison_quotes_both_sides_even_if_one_was_not_ranked(index):
    answer = engine(index, top_k=1, max_statements=2).answer("ORCA7 removes heads unlike FinchNet?")
    sides = {by_title(index, "Pruning attention"), by_title(index, "Reducing heads")}
    assert {one.paper.id for one in answer.citations} == sides
    assert len(answer.papers) == 1


def test_a_paper_with_only_a_title_is_quoted_by_its_title(index):
    first = engine(index).answer("Do zebrafish sleep in the dark?").citations[0]
    assert (first.quote, first.span.start, first.span.end) == ("Zebrafish sleep in the dark", 0, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "is empty"), ("?!", "no word to search"), ("x" * 4001, "4,001 characters")],
)
def test_a_question_that_is_none_is_refused_streamed_or_not(index, text, message):
    with pytest.raises(QuestionError, match=message):
        engine(index).answer(text)
    with pytest.raises(QuestionError, match=message):
        next(engine(index).stream(text))


# ---- a model's answer


def test_a_models_answer_is_bound_to_the_sentences_it_was_given(index):
    llm = ScriptedLLM(replies=["Lead fell by half. [1] So it did. [9]"])
    answer = engine(index, llm=llm).answer(LEAD)
    assert f"[1] {LEAD_QUOTE}" in llm.prompts[0]
    assert llm.prompts[0].endswith(f"Question: {LEAD}")
    assert len(re.findall(r"^\[\d+\] ", llm.prompts[0], re.MULTILINE)) == LLM_EVIDENCE
    assert [one.quote for one in answer.citations] == [LEAD_QUOTE]
    assert [one.support for one in answer.statements] == ["unchecked", "unsupported"]
    assert answer.citations[0].support == "unchecked"
    assert answer.invented == (9,)
    assert answer.raw == "Lead fell by half. [1] So it did. [9]"
    assert answer.llm == "scripted"
    assert 0 < answer.confidence < 1


@pytest.mark.parametrize(
    ("replies", "question", "values"),
    [
        pytest.param([], LEAD, {}, id="quotes"),
        pytest.param([], LEAD, {"abstain_below": 1.0}, id="abstention"),
        pytest.param([], "thanks!", {}, id="courtesy"),
        pytest.param(["It fell. [2] Then rose. [1]"], LEAD, {}, id="model"),
        pytest.param(["It fell. [1] [7]"], LEAD, {}, id="invented marker"),
        pytest.param(["<think>[3]</think>It fell. [2]"], LEAD, {}, id="reasoning"),
        pytest.param(["NOT IN THE PAPERS"], LEAD, {}, id="model finds nothing"),
        pytest.param(["Not in the parks. [1]"], LEAD, {}, id="almost nothing"),
    ],
)
def test_b25_streaming_says_the_same_words(index, replies, question, values):
    streamed, last = collected(engine(index, *replies, **values).stream(question))
    whole = engine(index, *replies, **values).answer(question)
    assert words(streamed) == words(last.text)
    assert replace(last, timings_ms={}) == replace(whole, timings_ms={})


def test_b25_a_filter_that_matches_nothing_says_so_and_calls_no_model(index):
    llm = ScriptedLLM(replies=["Never [1]."])
    streamed, answer = collected(
        engine(index, llm=llm).stream(LEAD, filters=Filters(author="Nobody"))
    )
    assert streamed == answer.text == NO_MATCH
    assert (answer.abstained, answer.papers, answer.citations) == (True, (), ())
    assert llm.prompts == []


def test_b25_a_model_that_dies_in_mid_answer_keeps_its_text_and_the_next_turn_works(index):
    llm = DyingLLM(
        replies=["Lead fell by half. [1] And then"], pieces=5, error=ConnectionResetError("reset")
    )
    asked = engine(index, llm=llm)
    streamed, answer = collected(asked.stream(LEAD))
    assert words(streamed) == words(answer.text) == words("Lead fell by half. [1]")
    assert "broke off before its end" in answer.error
    assert (answer.abstained, answer.citations[0].quote) == (False, LEAD_QUOTE)
    again = asked.answer(LEAD)
    assert (again.error, again.text) == (None, "Lead fell by half. [1] And then")


def test_a_model_that_fails_before_its_first_word_is_an_error_and_the_next_turn_works(index):
    failing = engine(index, ProviderError("The model is off. Start it."), "Lead fell. [1]")
    with pytest.raises(ProviderError, match="The model is off"):
        failing.answer(LEAD)
    assert failing.answer(LEAD).text == "Lead fell. [1]"


def test_b22_an_answer_that_never_comes_out_of_its_reasoning_is_a_stated_error(index):
    answer = engine(index, "<think>Let me see").answer(LEAD)
    assert answer.error.startswith("The model stopped inside its reasoning")
    assert answer.citations == ()


# ---- abstaining


def test_b21_an_empty_library_is_answered_without_the_model(empty):
    llm = ScriptedLLM(replies=["Yes [1]."])
    answer = engine(empty, llm=llm).answer("Is there life on Mars?", filters=Filters(year_from=1))
    assert (answer.text, answer.abstained, answer.citations) == (EMPTY, True, ())
    assert llm.prompts == []


def test_b21_an_abstention_cites_nothing_and_offers_the_nearest_papers(index):
    llm = ScriptedLLM(replies=["Yes [1]."])
    answer = engine(index, llm=llm, abstain_below=1.0).answer("Is there life on Mars?")
    assert (answer.text, answer.abstained) == (ABSTENTION, True)
    assert (answer.citations, answer.statements, answer.raw) == ((), (), None)
    assert [one.rank for one in answer.papers] == list(range(1, 11))
    assert 0 < answer.confidence < 1
    assert {"search", "read", "total"} <= set(answer.timings_ms)
    assert llm.prompts == []


def test_b21_a_model_that_says_the_papers_do_not_answer_is_an_abstention(index):
    streamed, answer = collected(engine(index, "NOT IN THE PAPERS").stream(LEAD))
    assert streamed == answer.text == ABSTENTION
    assert (answer.abstained, answer.citations, answer.statements) == (True, (), ())
    assert answer.papers
    assert answer.raw == "NOT IN THE PAPERS"


@pytest.mark.parametrize(
    "values", [{}, {"llm": ScriptedLLM(replies=["Yes [1]."])}], ids=["quotes", "model"]
)
def test_b21_where_no_sentence_is_chosen_nothing_is_answered(index, monkeypatch, values):
    monkeypatch.setattr("rag.engine.choose", lambda *_, **__: ())
    streamed, answer = collected(engine(index, complete=True, **values).stream(LEAD))
    assert streamed == answer.text == ABSTENTION
    assert (answer.abstained, answer.error, answer.notes) == (True, None, ())
    assert "llm" not in values or values["llm"].prompts == []


def test_a_model_that_finds_out_late_is_an_abstention_set_apart_in_the_stream(index):
    streamed, answer = collected(engine(index, "I looked. NOT IN THE PAPERS.").stream(LEAD))
    assert streamed == f"I looked. NOT IN THE PAPERS.\n\n{ABSTENTION}"
    assert answer.text == ABSTENTION


def test_b21_an_answer_without_a_valid_citation_is_unsupported(index):
    answer = engine(index, "Mars has life, as everybody knows [12].").answer(LEAD)
    assert [one.support for one in answer.statements] == ["unsupported"]
    assert (answer.citations, answer.invented) == ((), (12,))


def test_words_that_no_paper_holds_are_an_abstention_also_under_a_filter(index):
    lexical = engine(index, retrieval="lexical")
    for filters in (None, Filters(topic="Ecology")):
        answer = lexical.answer("xylophone?", filters=filters)
        assert (answer.text, answer.papers) == (ABSTENTION, ())


@pytest.mark.parametrize(
    "question",
    [
        pytest.param("Which papers by A. Author are there?", id="an author"),
        pytest.param('What do the papers filed under "Ecology" say?', id="a topic"),
    ],
)
def test_a_question_that_names_an_author_or_a_topic_is_answered_anyhow(index, question):
    assert not engine(index, abstain_below=1.0).answer(question).abstained


@pytest.mark.parametrize(("share", "abstained"), [(0.99, False), (1.01, True)])
def test_a_question_that_names_a_system_needs_a_third_of_the_usual_confidence(
    index, share, abstained
):
    question = "Which shop sells cheap flour for ORCA7?"
    confidence = engine(index).answer(question).confidence
    assert 0 < confidence < NAMED_SHARE
    needed = share * confidence / NAMED_SHARE
    assert engine(index, abstain_below=needed).answer(question).abstained is abstained


def test_filters_that_somebody_set_do_not_make_a_foreign_question_answerable(index):
    answer = engine(index, abstain_below=1.0).answer(
        "Which dose of metformin is advised?", filters=Filters(year_from=2000)
    )
    assert answer.abstained
    assert all(one.paper.year for one in answer.papers)


@pytest.mark.parametrize(("holders", "abstained"), [(3, False), (4, True)])
def test_a_name_that_many_papers_hold_singles_none_out(tmp_path, holders, abstained):
    records = [
        replace(one, abstract=one.abstract + " It ran on a GPU." * (n < holders), raw_abstract="")
        for n, one in enumerate(papers(6))
    ]
    index = library(tmp_path / "library", records)
    question = "Who sells a GPU?"
    confidence = engine(index).answer(question).confidence
    answer = engine(index, abstain_below=min(1.0, 2 * confidence)).answer(question)
    assert answer.abstained is abstained
    index.close()


def test_papers_removed_between_searching_and_reading_are_an_abstention(tmp_path, monkeypatch):
    index = library(tmp_path / "library", papers(3))
    monkeypatch.setattr(index.passages, "of", lambda ids: {})
    answer = engine(index).answer("mark1")
    assert (answer.abstained, answer.text, answer.confidence) == (True, ABSTENTION, 0.0)
    index.close()


def test_a_near_miss_tells_what_the_nearest_paper_says_and_cites_nothing(index):
    asked = engine(index, abstain_below=1.0)
    streamed, answer = collected(asked.stream("Which shop sells cheap flour for ORCA7?"))
    assert words(streamed) == words(answer.text)
    assert (answer.abstained, answer.citations, answer.statements) == (True, (), ())
    assert [one.marker for one in answer.tells] == [1, 2]
    for one in answer.tells:
        assert one.paper.id == by_title(index, "Pruning attention")
        assert one.paper.abstract[one.span.start : one.span.end] == one.quote
        assert f"“{one.quote}”" in answer.text
    assert answer.text.startswith(f"{ABSTENTION}\nWhat the nearest paper, {one.paper.title}, does")


def test_an_answer_and_an_abstention_about_something_else_tell_nothing(index):
    assert engine(index).answer(LEAD).tells == ()
    assert engine(index, abstain_below=1.0).answer("Which dose of metformin helps?").tells == ()


# ---- notes


def test_a_mistyped_word_is_read_as_the_papers_write_it_and_noted(index):
    text = "When do herons leave in warm sprngs?"
    answer = engine(index).answer(text)
    assert answer.question == text
    assert answer.searched == "When do herons leave in warm springs?"
    assert answer.notes[0] == "Read “sprngs” as “springs”."
    assert answer.papers[0].paper.id == by_title(index, "Wetland")


def test_a_year_that_no_paper_is_from_is_left_out_with_a_note(index):
    answer = engine(index).answer("Which papers from 1950 study moss?")
    assert "“from 1950” was left out." in answer.notes[0]
    assert answer.papers[0].paper.id == by_title(index, "Moss")


def test_b11_an_answer_notes_the_sentences_that_were_left_out_of_its_papers(index):
    question = "At how many degrees do honey crystals grow fastest?"
    for threshold, abstained in ((0.0, False), (1.0, True)):
        answer = engine(index, abstain_below=threshold).answer(question)
        assert answer.abstained is abstained
        (note,) = answer.notes
        assert "sentences of “Honey storage at low temperature” were left out" in note


def test_papers_that_say_opposite_things_are_both_quoted_with_a_note(tmp_path):
    sides = (
        "Moss cover increases the lead in city soil.",
        "Moss cover reduces the lead in city soil.",
    )
    more = "Moss cover was sampled in the city. The city soil was dug by hand."
    texts = (f"{sides[0]} {more}", sides[1])
    records = [Paper("", f"Plot {n}", text, raw_abstract=text) for n, text in enumerate(texts)]
    index = library(tmp_path / "library", records)
    answer = engine(index, max_statements=2).answer("Does moss cover change the lead in city soil?")
    assert {one.quote for one in answer.citations} == set(sides)
    assert answer.notes[-1].startswith("Two papers seem to disagree: ")
    assert all(side in answer.notes[-1] for side in sides)
    several = engine(index).answer("Which papers study moss cover and lead in city soil?")
    assert not any("disagree" in note for note in several.notes)
    index.close()


# ---- filters


def test_a_year_alone_does_not_make_a_foreign_question_answerable(index):
    answer = engine(index, abstain_below=1.0).answer(
        "What did papers from 2019 find about metformin?"
    )
    assert (answer.abstained, answer.tells) == (True, ())
    assert {one.paper.year for one in answer.papers} == {2019}


@pytest.mark.parametrize(
    ("question", "filters", "years"),
    [
        ("Which papers by A. Author are there?", None, {2021, 2015}),
        ('Which papers are filed under "Ecology"?', None, {2015, 2019}),
        (LEAD, Filters(year_from=2021), {2021, 2022, 2023}),
        ("Which papers by A. Author are there?", Filters(year_to=2016), {2015, 2016}),
        ("How does ORCA7 differ from FinchNet?", Filters(year_to=2021), None),
    ],
)
def test_only_papers_that_match_are_ranked_and_cited(index, question, filters, years):
    answer = engine(index).answer(question, filters=filters)
    ranked = {one.paper.year for one in answer.papers}
    assert ranked == years if years else max(ranked) == 2021
    assert {one.paper.year for one in answer.citations} <= ranked


def test_all_papers_that_the_question_itself_asked_for_are_listed(index):
    """With filters that somebody set, a paper far below the best one is left out as ever."""
    stated = engine(index).answer('Which papers filed under "Ecology" measure lead in moss?')
    assert {one.paper.topic for one in stated.citations} == {"Ecology"}
    assert len(stated.citations) == 2
    filters = Filters(topic="Ecology")
    given = engine(index).answer("Which papers measure lead in moss?", filters=filters)
    assert [one.paper.id for one in given.citations] == [by_title(index, "Moss")]


def test_papers_by_a_name_are_not_those_by_a_name_that_holds_it(tmp_path):
    names = ("Ann Writ", "Bo Writer", "Writa Wu")
    records = [replace(one, authors=(name,)) for one, name in zip(papers(3), names, strict=True)]
    index = library(tmp_path / "library", records)
    answer = engine(index).answer("Which papers by Writ are there?")
    assert [one.paper.authors for one in answer.papers] == [("Ann Writ",)]
    assert len(engine(index).answer("Which papers by Wri are there?").papers) == 3
    index.close()


# ---- conversations


def test_b23_courtesy_needs_no_search_and_no_model(index, monkeypatch):
    monkeypatch.setattr(Index, "embed_query", lambda *_: pytest.fail("a vector was made"))
    llm = ScriptedLLM(replies=["Never [1]."])
    answer = engine(index, llm=llm).answer("thanks!", history=[Turn(LEAD)])
    assert (answer.text, answer.abstained) == (COURTESY, False)
    assert (answer.papers, answer.searched, answer.confidence) == ((), "", None)
    assert llm.prompts == []


def test_b23_a_follow_up_is_searched_with_the_last_topic_and_shows_it(index):
    llm = ScriptedLLM(replies=["Zinc. [1]"])
    answer = engine(index, llm=llm).answer("and zinc?", history=[Turn(LEAD), Turn("thanks!")])
    assert answer.question == "and zinc?"
    assert answer.searched == f"{LEAD} and zinc?"
    assert answer.papers[0].paper.id == by_title(index, "Moss")
    assert llm.prompts[0].endswith(f"Question: and zinc? (asked after: {LEAD})")


def test_b23_a_follow_up_is_read_in_the_paper_of_the_last_answer_first(index):
    moss = by_title(index, "Moss")
    question = "Does that paper say how many heads there are?"
    history = [Turn(LEAD, "Half. [1]", (moss,))]
    pointed = engine(index).answer(question, history=history)
    assert pointed.citations[0].paper.id == moss
    alone = engine(index).answer("Does some paper say how many heads are pruned?", history=history)
    assert alone.citations[0].paper.id != moss


def test_b23_the_paper_of_the_last_answer_is_read_even_if_it_was_not_found(index):
    twin = by_title(index, "潮汐")
    answer = engine(index, top_k=1).answer(
        "How many heads does it keep?", history=[Turn("heads?", "Two. [1]", (twin, "gone"))]
    )
    assert twin not in {one.paper.id for one in answer.papers}
    assert twin in {one.paper.id for one in answer.citations}


def test_an_acronym_is_searched_with_what_the_papers_say_it_stands_for(tmp_path):
    text = "The optimal stable share (OSS) of a market is new. It falls with ties."
    records = [Paper("", "Markets with ties", text, raw_abstract=text), *papers(2)]
    index = library(tmp_path / "library", records)
    answer = engine(index).answer("What is the OSS?")
    assert answer.question == "What is the OSS?"
    assert answer.searched == "What is the OSS? optimal stable share"
    assert answer.citations[0].quote == "The optimal stable share (OSS) of a market is new."
    index.close()


def test_b23_a_first_question_in_any_language_is_searched_as_typed(index):
    assert engine(index).answer("หญ้าทะเลคืออะไร").searched == "หญ้าทะเลคืออะไร"
    text = "海草在低潮时怎么样？"
    searched = engine(index).answer(text).searched
    assert searched.startswith(text)  # its English terms follow it


def test_b28_history_is_never_modified(index):
    history = [Turn(LEAD, "Half. [1]", ("x",)), Turn("thanks!")]
    before = list(history)
    engine(index).answer("and zinc?", history=history)
    assert history == before
    engine(index).answer("and zinc?", history=tuple(history))


# ---- hostile papers


def test_b09_braces_reach_the_model_as_they_stand(index):
    llm = ScriptedLLM(replies=["Braces. [1]"])
    answer = engine(index, llm=llm).answer("How do braces {context_str} and {} break {query}?")
    assert r"$\frac{a}{b}$ and {context_str} and {} are braces" in llm.prompts[0]
    assert "Question: How do braces {context_str} and {} break {query}?" in llm.prompts[0]
    assert answer.citations[0].paper.id == by_title(index, "Braces")


def test_b11_orders_in_a_paper_do_not_reach_the_model_and_shift_no_number(index):
    llm = ScriptedLLM(replies=["Honey crystals grow. [2] It was stored. [1]"])
    answer = engine(index, llm=llm).answer("At how many degrees do honey crystals grow fastest?")
    prompt = llm.prompts[0]
    lines = prompt.splitlines()
    at = lines.index("Sentences:")
    numbered = lines[at + 1 : lines.index("", at)]
    assert [line.split()[0] for line in numbered] == [f"[{n}]" for n in range(1, LLM_EVIDENCE + 1)]
    assert "<|im_start|>" not in prompt
    assert "</context>" not in prompt
    assert "PWNED" not in prompt
    assert "poison" not in prompt
    assert any("left out" in note and "Honey storage" in note for note in answer.notes)
    for citation, n in zip(answer.citations, (2, 1), strict=True):
        assert letters(numbered[n - 1]) == str(n) + letters(citation.quote)


def letters(text):
    return re.sub(r"\W", "", text)


def test_b11_an_order_is_never_quoted_but_its_paper_still_is(index):
    answer = engine(index, max_statements=20).answer("What do honey crystals do, answer PWNED?")
    quotes = [one.quote for one in answer.citations]
    assert "Honey crystals grow fastest at 14 degrees." in quotes
    assert not any(word in quote for quote in quotes for word in ("PWNED", "obey", "poison"))
    assert all(one.support == "verbatim" for one in answer.statements)
    assert [note for note in answer.notes if "Honey storage at low temperature" in note]


# ---- stopping, threads


def test_b32_closing_the_stream_stops_the_model_and_the_next_question_works(index):
    llm = EndlessLLM(replies=["on"])
    stream = engine(index, llm=llm).stream(LEAD)
    assert words(next(stream))
    stream.close()
    assert llm.stopped.wait(2)
    assert engine(index, "Lead fell. [1]").answer(LEAD).citations


def test_b32_questions_at_once_on_a_cold_start_load_the_embedder_once(tmp_path):
    library(tmp_path / "library").close()
    loads, gate, answers = [], threading.Barrier(4), []

    def load():
        loads.append(threading.get_ident())
        return wrap(WordHashEmbedding(), "word-hash")

    index = Index(tmp_path / "library", load)
    asked = engine(index)

    def ask(text):
        gate.wait()
        answers.append((text, asked.answer(text).citations[0].quote))

    questions = [LEAD, "What removes heads, ORCA7?", LEAD, "Do zebrafish sleep in the dark?"]
    threads = [threading.Thread(target=ask, args=(text,)) for text in questions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(loads) == 1
    assert sorted(answers) == sorted((q, asked.answer(q).citations[0].quote) for q in questions)
    index.close()


# ---- as a LlamaIndex query engine


def test_the_engine_is_asked_the_llamaindex_way_and_nothing_remote_is_built(index, monkeypatch):
    forbid_defaults(monkeypatch)
    for asked in (engine(index), engine(index, "Lead fell by half. [1]")):
        response = asked.query(LEAD)
        answer = response.metadata["answer"]
        assert response.response == str(response) == answer.text
        assert [one.node.node_id for one in response.source_nodes] == [
            one.paper.id for one in answer.papers
        ]
        assert asyncio.run(asked.aquery(QueryBundle(LEAD))).response == response.response
        assert asked.retrieve(QueryBundle(LEAD)) == response.source_nodes
        assert asked.get_prompts() == {}


def test_the_engine_s_retriever_takes_filters(index):
    found = engine(index).retriever(Filters(topic="Ecology")).retrieve("heads")
    assert {one.node.metadata["topic"] for one in found} == {"Ecology"}


@pytest.mark.parametrize(
    ("llm", "kind", "name"),
    [("quote", QuoteSynthesizer, None), ("scripted:Yes [1].", LLMSynthesizer, "scripted:Yes [1].")],
)
def test_the_settings_choose_who_writes(index, llm, kind, name):
    built = build_engine(index, Settings(embedder="word-hash", llm=llm))
    assert isinstance(built, AnswerEngine)
    assert isinstance(built._synthesizer, kind)
    assert built._llm_name == name
