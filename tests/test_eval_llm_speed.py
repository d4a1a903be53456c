"""What a model reads and how soon it writes, with a scripted model in the place of a real one."""

import json
from pathlib import Path

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse

from eval.bench import llm_speed
from eval.bench.llm_meter import Call, MeteredLLM
from eval.bench.llm_speed import LLMWishes, summed
from rag.library import open_library
from rag.settings import load_settings
from rag.testing import ScriptedLLM

TINY = Path(__file__).parent / "data" / "eval" / "tiny"


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    monkeypatch.setenv("CITEWELL_ABSTAIN_BELOW", "0")
    settings = load_settings(llm="scripted:Zinc delays rust [1].", library="tiny")
    with open_library(settings=settings, create=True) as library:
        library.add(TINY / "corpus.jsonl", wait=True)
    return settings


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "questions.jsonl"
    asked = ["How long does zinc delay rust?", "Where do bees stay away?", "Is a nap good?"]
    path.write_text("".join(json.dumps({"question": one}) + "\n" for one in asked))
    return path


def reply(delta="", raw=None):
    return ChatResponse(message=ChatMessage(content=delta), delta=delta, raw=raw)


def test_a_call_takes_the_servers_counts_wherever_they_stand():
    call = Call(0.0)
    call.see(reply(raw={"choices": []}))
    assert call.first is None
    call.see(reply("Zinc"))
    call.see(reply(raw={"usage": {"prompt_tokens": 300, "completion_tokens": 9},
                        "timings": {"prompt_n": 40}}))  # fmt: skip
    assert (call.prompt_tokens, call.computed_tokens, call.written_tokens) == (300, 40, 9)
    assert call.first == call.last


def test_calls_of_one_question_are_added_up():
    calls = [Call(1.0, 2.0, 3.0, 100, 10, 5), Call(3.0, 4.0, 6.5, 50, 50, 1)]
    told = summed(0.5, calls)
    assert (told.first_s, told.last_s) == (1.5, 6.0)
    assert (told.prompt, told.computed, told.written) == (150, 60, 6)
    assert summed(0.5, [calls[0], Call(3.0, 4.0, 6.5)]).prompt is None
    assert summed(0.5, []) is None
    assert summed(0.5, [Call(1.0)]) is None


def test_the_meter_changes_nothing_of_what_a_model_says():
    model = MeteredLLM(ScriptedLLM(replies=["Zinc delays rust [1]."]))
    said = [ChatMessage(content="Why?")]
    assert model.chat(said).message.content == "Zinc delays rust [1]."
    assert model.complete("Why?").text == "Zinc delays rust [1]."
    assert [piece.text for piece in model.stream_complete("Why?")][-1] == "Zinc delays rust [1]."
    assert len(model.take_calls()) == 3
    assert model.take_calls() == []


def test_both_engines_are_asked_every_question_with_the_same_model(settings, questions, tmp_path):
    found = llm_speed.run(settings, LLMWishes(questions, out=tmp_path / "out"))
    assert [row.measure for row in found.rows] == ["first token", "last token"]
    for row in found.rows:
        assert (row.ours.n, row.against) == (3, "CitationQueryEngine")
        assert all(value > 0 for value in (*row.ours.values, *row.theirs.values))
    assert found.made["records"] == 6
    assert json.loads((tmp_path / "out" / "llm-speed.json").read_text())["made"]["asked"] == 3


def test_citewells_own_engine_builder_is_put_back(settings, questions):
    from rag import llms

    usual = llms.build
    llm_speed.run(settings, LLMWishes(questions, limit=1))
    assert llms.build is usual


def test_questions_that_need_no_model_are_left_out_and_counted(settings, questions, monkeypatch):
    never = settings.model_copy(update={"abstain_below": 1.0})
    found = llm_speed.run(never, LLMWishes(questions))
    assert found.rows == []
    assert (found.made["repeats"], found.made["asked"]) == (0, 3)
