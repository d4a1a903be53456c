"""Language models that are not there, refuse, or die, asked from the command line."""

import json
from pathlib import Path

import pytest

from tests.servers import closed_port, model_server, openai_piece

PAPERS = Path(__file__).parent / "data" / "cli" / "papers.jsonl"
QUESTION = "How much less acid does the coffee hold?"


@pytest.fixture
def filled(citewell, monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    assert citewell("add", PAPERS, "--wait").code == 0
    return citewell


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: None, id="missing"),
        pytest.param(lambda path: path.write_text("This is a letter." * 9), id="not a GGUF"),
        pytest.param(lambda path: path.write_text(""), id="empty"),
        pytest.param(lambda path: path.mkdir(), id="folder"),
    ],
)
def test_a_gguf_that_is_none_is_named(filled, make):
    make(Path("model.gguf"))
    run = filled("ask", QUESTION, "--llm", "gguf:model.gguf")
    assert run.code == 1
    assert run.err.startswith("error: ")
    assert "model.gguf" in run.err
    assert "Traceback" not in run.err


def ask_server(run, url, *options):
    return run(
        *("ask", QUESTION, "--llm", "openai:tiny", "--llm-base-url", f"{url}/v1"),
        *("--llm-api-key", "sk-test-123", *options),
    )


@pytest.mark.parametrize("status", [401, 404, 500])
def test_what_a_server_refuses_is_said_without_the_key(filled, status):
    body = json.dumps({"error": {"message": f"because of {status}, sk-test-123"}})
    with model_server(status=status, body=body) as server:
        run = ask_server(filled, server.url)
    assert run.code == 1
    assert run.err.startswith("error: ")
    assert str(status) in run.err
    assert "Traceback" not in run.err
    assert "sk-test-123" not in run.out + run.err


def test_a_server_that_is_not_there_is_named(filled):
    url = closed_port()
    run = ask_server(filled, url)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: ")
    assert url in run.err


def test_a_server_that_dies_in_mid_answer_leaves_the_text_and_the_cause(filled):
    pieces = [openai_piece("It holds less acid [1]. "), openai_piece("And then")]
    with model_server(pieces=pieces, dies=True) as server:
        run = ask_server(filled, server.url)
    assert run.code == 1
    assert "It holds less acid" in run.out
    assert run.err.startswith("error: ")
    with model_server(pieces=pieces, dies=True) as server:
        answer = ask_server(filled, server.url, "--json").json
    assert answer["error"]
    assert answer["answer"].startswith("It holds less acid. [1] And then\n\n")


def test_b39_the_key_is_in_no_log(filled):
    with model_server(pieces=[openai_piece("Less acid [1].", "stop")]) as server:
        run = filled(
            *("-v", "ask", QUESTION, "--llm", "openai:tiny", "--llm-base-url", server.url),
            *("--llm-api-key", "sk-test-123"),
        )
    assert server.headers[0]["Authorization"] == "Bearer sk-test-123"
    assert "sk-test-123" not in run.out + run.err
