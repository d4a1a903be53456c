import json

import pytest

from rag.settings import load_settings
from ui import models
from ui.session import Session
from ui.shelf import Shelf
from ui.side import Side


def named(choices):
    return {one.name for one in choices if one.why_not is None}


def reasons(choices):
    return {one.label: one.why_not for one in choices if one.why_not}


@pytest.fixture
def answers(monkeypatch):
    """Let servers answer from a table of addresses; others refuse the connection."""
    table = {}

    def asked(url, headers):
        return (table[url], None) if url in table else (None, "ConnectError")

    monkeypatch.setattr(models, "_asked", asked)
    return table


def test_without_anything_quotes_are_offered_and_the_rest_is_explained(tmp_path, answers):
    found = models.choices(load_settings(home=tmp_path))
    assert named(found) == {"quote"}
    assert "ollama serve" in reasons(found)["Ollama"]
    assert "--llm-base-url" in reasons(found)["OpenAI-compatible server"]
    assert "None found" in reasons(found)["GGUF files"]


def test_gguf_files_and_ollamas_models_are_offered(tmp_path, answers):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "small.gguf").write_bytes(b"GGUF")
    answers["http://127.0.0.1:11434/api/tags"] = {"models": [{"name": "llama:1b"}, 5, {}]}
    found = models.choices(load_settings(home=tmp_path))
    assert named(found) == {"quote", "ollama:llama:1b", f"gguf:{tmp_path}/models/small.gguf"}


def test_the_models_of_an_openai_compatible_server_are_offered(tmp_path, answers):
    answers["http://127.0.0.1:9/v1/models"] = {"data": [{"id": "big"}]}
    settings = load_settings(
        home=tmp_path, llm="openai:other", llm_base_url="http://127.0.0.1:9/v1"
    )
    assert {"quote", "openai:big", "openai:other"} <= named(models.choices(settings))


@pytest.mark.parametrize("odd", [None, [], "x", {"models": "x"}, {"models": [[], None]}])
def test_a_server_that_sends_nonsense_breaks_nothing(tmp_path, answers, odd):
    answers["http://127.0.0.1:11434/api/tags"] = odd
    assert named(models.choices(load_settings(home=tmp_path))) == {"quote"}


def test_a_key_is_never_shown(tmp_path):
    settings = load_settings(
        home=tmp_path, llm="openai:x", llm_api_key="sk-test-123",
        llm_base_url="http://user:pw-456@127.0.0.1:9/v1",
    )  # fmt: skip
    shown = json.dumps([(one.label, one.why_not) for one in models.choices(settings)])
    assert "sk-test-123" not in shown
    assert "pw-456" not in shown


@pytest.mark.parametrize(
    "name", ["gguf:/etc/passwd", "hf:evil/model", "openai:x", "", None, 5, ["quote"]]
)
def test_b36_a_visitor_cannot_choose_what_is_not_offered(tmp_path, name, monkeypatch):
    monkeypatch.setattr("ui.side.gr.Warning", lambda words: None)
    session = Session()
    Side(Shelf(load_settings(home=tmp_path))).choose(name, session)
    assert session.llm is None


@pytest.mark.parametrize("name", ["../../etc", "unknown", None, 5, ["sample"]])
def test_b36_a_visitor_cannot_turn_to_what_is_no_library(tmp_path, name, monkeypatch):
    monkeypatch.setattr("ui.side.gr.Warning", lambda words: None)
    session = Session()
    Side(Shelf(load_settings(home=tmp_path))).switch(name, session)
    assert session.library is None
