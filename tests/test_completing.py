from dataclasses import replace

import pytest

from rag.completing import UNFOUND, added_text, completed, keeps
from rag.schema import Evidence, Span, Statement
from rag.synthesis import ALSO, NOT_FOUND, Draft, LLMSynthesizer, read_reply
from rag.testing import ScriptedLLM
from rag.verification import Verifier
from tests.answering import collected, engine, library, sentences, words

QUESTION = "What happened to lead in moss?"
MOSS = sentences(
    "p", "Lead in moss fell by half within five years. Zinc did not change. Copper rose by 12 %."
)
HALF, ZINC, COPPER = (one.text for one in MOSS)
LEAD = "How much did lead in moss fall after the ring road closed?"


def said(text, *citations, support="supported"):
    return Statement(text, citations, support)


def draft_of(*statements, sources=MOSS, **values):
    return Draft(statements, tuple(sources), **values)


def quotes(draft):
    return [one.text for one in draft.statements if one.support == "verbatim"]


# ---- what is added


def test_chosen_sentences_that_no_statement_rests_on_are_quoted_after_the_models_words():
    before = draft_of(said("Lead in moss fell by half within five years.", 1), sources=MOSS[:1])
    after = completed(before, QUESTION, MOSS)
    assert after.statements[0] == before.statements[0]
    assert quotes(after) == [ZINC, COPPER]
    assert [one.citations for one in after.statements] == [(1,), (2,), (3,)]
    assert after.sources == tuple(MOSS)


def test_nothing_is_added_when_the_statements_rest_on_every_chosen_sentence_and_keep_it():
    before = draft_of(
        said("Within 5 years half of the lead was gone.", 1),
        said("Zinc stayed as it was, without change, and copper went up by 12 percent.", 2, 3),
    )
    assert completed(before, QUESTION, MOSS) == before
    assert added_text(before, before) == ""


@pytest.mark.parametrize("support", ["weak", "unsupported"])
def test_a_doubtful_statement_stays_marked_and_its_chosen_sentence_is_quoted(support):
    before = draft_of(said(HALF, 1, support=support))
    after = completed(before, QUESTION, MOSS[:1])
    assert after.statements[0].support == support
    assert quotes(after) == [HALF]
    assert after.statements[1].citations == (1,)


def test_two_statements_may_keep_a_sentence_together():
    before = draft_of(said("Lead fell by half.", 1), said("That took five years.", 1))
    assert quotes(completed(before, QUESTION, MOSS[:1])) == []


def test_a_sentence_is_the_same_whatever_its_score_and_is_quoted_once():
    scored = replace(MOSS[0], score=9.0)
    after = completed(draft_of(said("It fell.", 1)), QUESTION, [scored])
    assert after.sources == tuple(MOSS)
    assert after.statements[1] == Statement(HALF, (1,), "verbatim")


def test_a_quote_of_our_method_names_it_as_in_an_answer_without_a_model():
    paper = replace(
        MOSS[0].paper, title="EDGE: pruning", abstract="Our method needs 3 GPUs. It is small."
    )
    one = Evidence(paper, "p#0", Span(0, 24), 1.0)
    assert quotes(completed(draft_of(), QUESTION, [one])) == ["Our method [EDGE] needs 3 GPUs."]


def test_a_draft_that_broke_off_keeps_its_error_and_is_completed():
    after = completed(draft_of(said("Lead fe", 1), error="It stopped."), QUESTION, MOSS[:1])
    assert (after.error, quotes(after)) == ("It stopped.", [HALF])


def test_a_model_that_finds_no_answer_leaves_the_quotes_and_a_note():
    before = draft_of(said("I looked."), sources=(), found=False, raw=NOT_FOUND)
    after = completed(before, QUESTION, MOSS)
    assert (after.found, after.notes, after.raw) == (True, (UNFOUND,), NOT_FOUND)
    assert [one.text for one in after.statements] == [HALF, ZINC, COPPER]
    assert added_text(before, after) == after.text == f"{HALF} [1] {ZINC} [2] {COPPER} [3]"


def test_a_model_that_finds_no_answer_where_nothing_is_quoted_has_found_none():
    before = draft_of(sources=(), found=False, raw=NOT_FOUND)
    assert completed(before, QUESTION, []) == before


@pytest.mark.parametrize(
    ("statement", "every", "added"),
    [
        pytest.param(HALF, False, [ZINC], id="the best one is kept: the last is too far behind"),
        pytest.param(HALF, True, [ZINC, COPPER], id="a question that wants several things"),
        pytest.param("It fell.", False, [HALF, ZINC, COPPER], id="the best one is not kept"),
    ],
)
def test_sentences_far_behind_the_best_are_left_out_once_that_one_is_kept(statement, every, added):
    chosen = [replace(one, score=score) for one, score in zip(MOSS, (2.0, -0.5, -1.5), strict=True)]
    before = draft_of(said(statement, 1), sources=chosen)
    assert quotes(completed(before, QUESTION, chosen, every=every)) == added


# ---- what counts as kept


@pytest.mark.parametrize(
    ("statement", "sentence", "kept"),
    [
        pytest.param("Lead fell by half in five years.", HALF, True, id="all of it"),
        pytest.param("Lead fell 50 % in 5 years.", HALF, True, id="numbers written otherwise"),
        pytest.param("Lead in moss fell within five years.", HALF, False, id="a number is lost"),
        pytest.param("Copper rose by 21 %.", COPPER, False, id="another number"),
        pytest.param("Copper rose by 12 g.", COPPER, False, id="another unit"),
        pytest.param(
            "Pruning is tested on a model.", "Pruning is tested on T5-Base.", False, id="a name"
        ),
        pytest.param(
            "It is tested on t5-base.", "Pruning is tested on **T5-Base**.", True, id="name dressed"
        ),
        pytest.param(
            "Reinforcement learning helps.",
            "Reinforcement learning (RL) helps.",
            True,
            id="a short form that the words explain",
        ),
        pytest.param(
            "Heads are cut and layers merged.",
            "(1) Heads are cut and (2) layers are merged.",
            True,
            id="numbers of a list's items",
        ),
        pytest.param(
            "The encoder has shelves.",
            "The encoder learns phonemes, speakers, accents, noise and rooms.",
            False,
            id="most words are lost",
        ),
        pytest.param("铅下降了一半。", "Lead in moss fell.", True, id="another script, no numbers"),
        pytest.param("铜上升了。", COPPER, False, id="another script, a number is lost"),
    ],
)
def test_a_statement_keeps_numbers_units_names_and_most_words(statement, sentence, kept):
    assert keeps(statement, sentence) is kept


def test_what_stands_in_the_question_need_not_be_repeated():
    sentence = "PolarNet 2 was trained for 40 epochs on ERA5 fields."
    assert not keeps("For 40 epochs.", sentence)
    assert keeps("For 40 epochs.", sentence, "How long was PolarNet 2 trained on ERA5 fields?")


def test_b24_a_hostile_sentence_is_compared_in_linear_time():
    hostile = "(" * 5000 + "A1-" * 5000 + "9" * 5000 + ")" * 5000
    assert keeps("Nothing.", hostile) is False


# ---- a refusal among other words


@pytest.mark.parametrize(
    "refusal", ["NOT IN THE PAPERS", "- Not in the papers.", "**Not in the papers** [3]"]
)
def test_b21_a_refusal_among_statements_is_no_statement(refusal):
    draft = read_reply(f"Zinc did not change. [2]\n\n{refusal}", MOSS)
    assert [(one.text, one.citations) for one in draft.statements] == [(ZINC, (1,))]
    assert (draft.sources, draft.found) == ((MOSS[1],), True)


def test_b21_a_refusal_with_a_marker_is_a_refusal():
    assert read_reply("NOT IN THE PAPERS [1]", MOSS).found is False


# ---- the whole way


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = library(tmp_path_factory.mktemp("library") / "small")
    yield index
    index.close()


def asked(index, reply, question=LEAD, **values):
    return collected(engine(index, reply, complete=True, **values).stream(question))


@pytest.mark.parametrize(
    ("question", "most"),
    [
        (LEAD, 3),
        ("Which papers study speech encoders?", 5),
        ("How does ORCA7 differ from FinchNet?", 5),
    ],
)
def test_a_completed_answer_shows_every_sentence_of_the_quoted_one(index, question, most):
    quoted = engine(index).answer(question)
    _, answer = asked(index, "I cannot say much.", question)
    assert [one.text for one in answer.statements[1:]] == [one.text for one in quoted.statements]
    assert [one.quote for one in answer.citations] == [one.quote for one in quoted.citations]
    assert len(answer.statements) - 1 <= most


def test_added_quotes_are_streamed_behind_a_line_that_introduces_them(index):
    streamed, answer = asked(index, "Lead fell by half within five years. [1]")
    assert streamed == answer.text
    own, _, added = answer.text.partition(f"\n\n{ALSO}\n")
    assert own == "Lead fell by half within five years. [1]"
    assert len(added.splitlines()) == len(answer.statements) - 1 == 1
    assert [one.marker for one in answer.citations] == [1, 2]


def test_no_more_quotes_are_added_than_a_quoted_answer_has(index):
    _, answer = asked(index, "I cannot say much.", max_statements=1)
    assert len(quotes(answer)) == 1


def test_a_refusal_is_answered_with_quotes_and_says_so(index):
    streamed, answer = asked(index, NOT_FOUND)
    quoted = engine(index).answer(LEAD)
    assert words(streamed) == words(answer.text) == words(quoted.text)
    assert not answer.abstained
    assert UNFOUND in answer.notes
    assert (answer.raw, answer.llm) == (NOT_FOUND, "scripted")


def test_a_refusal_that_comes_late_is_followed_by_quotes(index):
    streamed, answer = asked(index, f"I looked. {NOT_FOUND}.")
    assert streamed.startswith(f"I looked. {NOT_FOUND}.\n\n")
    assert words(streamed)[-len(words(answer.text)) :] == words(answer.text)


@pytest.mark.parametrize("reply", [NOT_FOUND, "Mars has life. [1]"])
def test_strict_abstains_where_the_model_says_nothing_that_holds(index, reply):
    checked = LLMSynthesizer(ScriptedLLM(replies=[reply]), Verifier(strict=True))
    strict = engine(index, reply, complete=True, strict=True)
    strict._synthesizer = checked
    _, answer = collected(strict.stream(LEAD))
    assert (answer.abstained, answer.statements) == (True, ())


def test_a_model_of_a_list_gets_the_sentences_that_would_be_quoted(index):
    llm = ScriptedLLM(replies=["Some. [1]"])
    question = "Which papers study speech encoders?"
    engine(index, llm=llm, max_statements=1).answer(question)
    shown = engine(index, max_statements=1).answer(question)
    assert f"[{len(shown.citations)}] " in llm.prompts[0]
    assert f"[{len(shown.citations) + 1}] " not in llm.prompts[0]


def test_quotes_are_not_added_where_the_setting_says_so(index):
    streamed, answer = collected(engine(index, "It fell. [1]", complete=False).stream(LEAD))
    assert streamed == answer.text == "It fell. [1]"
