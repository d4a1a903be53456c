"""Flags, then the environment, then citewell.toml, then defaults; every fault is a sentence."""

from pathlib import Path

import pytest

from rag.errors import SettingsError
from rag.settings import Settings, config_files, load_settings, rows


def test_a_flag_beats_the_environment_which_beats_the_file(monkeypatch):
    Path("citewell.toml").write_text("top_k = 3\nmax_statements = 4\n")
    monkeypatch.setenv("CITEWELL_TOP_K", "5")
    settings = load_settings(llm="gguf:x.gguf")
    assert (settings.top_k, settings.max_statements, settings.llm) == (5, 4, "gguf:x.gguf")


def test_none_means_not_given():
    assert load_settings(top_k=None).top_k == Settings().top_k


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"top_k = ", "not valid TOML", id="broken"),
        pytest.param(b"topk = 3", "no setting 'topk'", id="unknown"),
        pytest.param(b"top_k = 0", "'top_k' has the value '0'", id="out of range"),
        pytest.param(b"embedder = '\xff'", "cannot be read", id="not UTF-8"),
        pytest.param(b"embedder = ' '", "must not be empty", id="empty"),
        pytest.param(b"llm_base_url = 'http://x'", "sets 'llm_base_url'", id="server"),
    ],
)
def test_a_bad_settings_file_is_explained(content, said):
    Path("citewell.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=said):
        load_settings()


def test_a_folder_in_place_of_the_file_is_explained():
    Path("citewell.toml").mkdir()
    assert load_settings().top_k == 10  # pydantic-settings reads files only


def test_a_bad_key_is_not_repeated(monkeypatch):
    monkeypatch.setenv("CITEWELL_LLM_API_KEY", "sk-test-123")
    shown = str(rows(load_settings()))
    assert "sk-test-123" not in shown
    assert "llm_api_key" in shown


def test_the_folder_of_somebody_else_cannot_choose_where_questions_go(monkeypatch):
    Path("citewell.toml").write_text("llm = 'openai:m'\nllm_base_url = 'http://198.51.100.7/v1'\n")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123")
    with pytest.raises(SettingsError, match="'llm', 'llm_base_url'") as caught:
        load_settings()
    assert "sk-test-123" not in str(caught.value)


def test_the_user_s_own_file_may_name_a_model():
    own = config_files()[0]
    own.parent.mkdir(parents=True)
    own.write_text("llm = 'ollama:x'\n")
    assert load_settings().llm == "ollama:x"


def test_an_address_is_shown_without_what_is_secret_in_it():
    shown = dict(
        (name, value)
        for name, value, _ in rows(Settings(llm_base_url="http://me:pass@127.0.0.1:8/v1?token=abc"))
    )
    assert shown["llm_base_url"] == "http://127.0.0.1:8/v1"
