"""Contracts of the model providers, kept against loopback servers that answer badly."""

import asyncio
import gc
import json
import logging
import threading
import time

import pytest
from llama_index.core.base.llms.types import ChatMessage

from rag.errors import ProviderError, RagError, SettingsError
from rag.llms import build, check, describe, hub
from rag.llms.provider import is_loopback, shown_address
from rag.llms.streaming import MAX_CHARS, first_sign, neutralise, stream_text
from rag.settings import load_settings
from rag.testing import ScriptedLLM
from tests.servers import (
    closed_port,
    model_server,
    ollama_piece,
    ollama_reply,
    openai_piece,
    openai_reply,
)

KEY = "sk-test-123"
KINDS = ["openai", "ollama"]
PIECE = {"openai": openai_piece, "ollama": ollama_piece}
REPLY = {"openai": openai_reply, "ollama": ollama_reply}


@pytest.fixture
def serve():
    """Start model servers that end with the test."""
    from contextlib import ExitStack

    with ExitStack() as stack:
        yield lambda **behaviour: stack.enter_context(model_server(**behaviour))


def settings_for(kind, url, **more):
    base = url + "/v1" if kind == "openai" else url
    return load_settings(llm=f"{kind}:tiny", llm_base_url=base, llm_api_key=KEY, **more)


def ask(kind, url, user="Why?", **more):
    return stream_text(build(settings_for(kind, url, **more)), "Be brief.", user)


# --- what a healthy server gets and gives -------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_reply_arrives_piece_by_piece_and_says_how_it_ended(kind, serve):
    server = serve(pieces=REPLY[kind]("Because ", "of", " it.", finish="length"))
    stream = ask(kind, server.url)
    assert list(stream) == ["Because ", "of", " it."]
    assert stream.finish_reason == "length"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("kind", KINDS)
def test_b09_braces_reach_the_model_unchanged(kind, serve):
    server = serve(pieces=REPLY[kind]("ok"))
    text = r"$\frac{a}{b}$ and {context_str} and {} {{x}} %s"
    list(ask(kind, server.url, text))
    assert [m["content"] for m in server.requests[0]["messages"]] == ["Be brief.", text]


@pytest.mark.parametrize("kind", KINDS)
def test_half_a_surrogate_does_not_break_the_request(kind, serve):
    server = serve(pieces=REPLY[kind]("ok"))
    assert list(ask(kind, server.url, "a \ud800 b")) == ["ok"]
    assert server.requests[0]["messages"][-1]["content"] == "a ? b"


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_repeatable_and_of_limited_length(kind, serve):
    server = serve(pieces=REPLY[kind]("ok"))
    list(ask(kind, server.url, llm_max_tokens=77))
    sent = server.requests[0]
    options = sent.get("options", sent)
    assert options["temperature"] == 0
    assert options.get("max_tokens", options.get("num_predict")) == 77


@pytest.mark.parametrize("kind", KINDS)
def test_a_proxy_in_the_environment_does_not_see_loopback_traffic(kind, serve, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, closed_port())
    server = serve(pieces=REPLY[kind]("ok"))
    assert list(ask(kind, server.url)) == ["ok"]


def test_an_address_without_a_path_means_the_usual_one(serve):
    server = serve(pieces=openai_reply("ok"))
    llm = build(load_settings(llm="openai:tiny", llm_base_url=server.url))
    assert list(stream_text(llm, "", "Why?")) == ["ok"]
    assert server.paths == ["/v1/chat/completions"]


def test_without_a_setting_the_key_comes_from_the_environment(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-env-9")
    server = serve(pieces=openai_reply("ok"))
    list(stream_text(build(load_settings(llm="openai:m", llm_base_url=server.url)), "", "Why?"))
    assert server.headers[0]["Authorization"] == "Bearer sk-env-9"


def test_a_thinking_server_is_not_silent(serve):
    """Chunks without text count as signs of life."""
    thinking = [lambda _: time.sleep(0.2), openai_piece("")] * 4
    server = serve(pieces=[*thinking, *openai_reply("done")])
    assert list(ask("openai", server.url, llm_timeout_s=0.6)) == ["done"]


def test_the_whole_llama_index_interface_works_too(serve):
    server = serve(pieces=openai_reply("a", "b"))
    llm = build(settings_for("openai", server.url))
    assert [r.delta for r in llm.stream_chat([ChatMessage(content="x")])][:2] == ["a", "b"]


def test_the_asynchronous_interface_uses_the_key_too(serve):
    message = {"role": "assistant", "content": "yes"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    reply = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    server = serve(body=json.dumps(reply | {"choices": [choice]}))
    llm = build(settings_for("openai", server.url))
    assert asyncio.run(llm.achat([ChatMessage(content="x")])).message.content == "yes"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_checking_a_model_that_sends_nothing_fails():
    class Mute(ScriptedLLM):
        def stream_complete(self, prompt, formatted=False, **kwargs):
            return iter(())

    with pytest.raises(ProviderError, match="'scripted' sent nothing"):
        first_sign(Mute(replies=["x"]))


# --- what a bad server means --------------------------------------------------------------------


def explained(kind, text):
    return f'{{"error": "{text}"}}' if kind == "ollama" else f'{{"error": {{"message": "{text}"}}}}'


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "words", "retryable", "advice"),
    [
        pytest.param(401, "bad key", False, "Set the key", id="wrong key"),
        pytest.param(403, "not yours", False, "Set the key", id="forbidden"),
        pytest.param(404, "model 'tiny' not found", False, "", id="model not there"),
        pytest.param(400, "too many tokens", False, "--llm", id="refused"),
        pytest.param(429, "slow down", True, "Wait", id="too often"),
        pytest.param(500, "out of memory", True, "log", id="server fails"),
        pytest.param(307, "", False, "", id="redirect is not followed"),
    ],
)
def test_b39_an_error_status_becomes_the_servers_own_words(
    kind, status, words, retryable, advice, serve
):
    server = serve(status=status, body=explained(kind, words) if words else "")
    with pytest.raises(ProviderError, match=str(status)) as caught:
        list(ask(kind, server.url))
    message = str(caught.value)
    assert words in message
    assert advice in message
    assert caught.value.retryable is retryable
    assert len(server.paths) == 1, "no retry storm"


@pytest.mark.parametrize(
    ("kind", "command"),
    [("ollama", "ollama pull tiny"), ("openai", "/v1/models")],
    ids=KINDS[::-1],
)
def test_b39_a_model_not_pulled_names_the_next_command(kind, command, serve):
    server = serve(status=404, body=explained(kind, "model 'tiny' not found, try pulling it"))
    with pytest.raises(ProviderError, match="try pulling it") as caught:
        check(settings_for(kind, server.url))
    assert command in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "advice"), [("ollama", "ollama serve"), ("openai", "--llm-base-url")], ids=KINDS[::-1]
)
def test_b39_a_server_that_is_off_is_said_at_once(kind, advice):
    url = closed_port()
    began = time.monotonic()
    with pytest.raises(ProviderError, match=f"Nothing answers at '{url}") as caught:
        check(settings_for(kind, url))
    assert advice in str(caught.value)
    assert caught.value.retryable
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("kind", KINDS)
def test_b39_a_key_never_appears(kind, serve, caplog):
    caplog.set_level(logging.DEBUG)
    server = serve(status=401, body=explained(kind, f"Incorrect API key provided: {KEY}"))
    settings = settings_for(kind, server.url)
    llm = build(settings)
    with pytest.raises(ProviderError, match="Incorrect API key provided: …") as caught:
        list(stream_text(llm, "", "Why?"))
    shown = [str(caught.value), repr(llm), str(llm), describe(settings), caplog.text]
    shown += [repr(settings), llm.to_json(), repr(llm.provider)]
    assert [text for text in shown if KEY in text] == []


def test_b39_a_password_in_the_address_never_appears(serve):
    server = serve(status=500, body="x hunter2 y")
    url = server.url.replace("http://", "http://me:hunter2@")
    settings = load_settings(llm="openai:m", llm_base_url=url)
    llm = build(settings)
    with pytest.raises(ProviderError, match="x … y") as caught:
        list(stream_text(llm, "", "Why?"))
    assert "hunter2" not in str(caught.value) + repr(llm) + describe(settings)
    assert server.headers[0]["Authorization"].startswith("Basic ")


@pytest.mark.parametrize("kind", KINDS)
def test_b25_a_server_that_dies_in_mid_answer_leaves_its_text_and_an_error(kind, serve):
    server = serve(pieces=[PIECE[kind](f"{i} ") for i in range(20)], dies=True)
    received = []
    with pytest.raises(ProviderError, match="broke off before its end") as caught:
        received.extend(ask(kind, server.url))
    assert len(received) == 20
    assert caught.value.retryable
    server.pieces, server.dies = REPLY[kind]("better"), False
    assert list(ask(kind, server.url)) == ["better"]


@pytest.mark.parametrize("kind", KINDS)
def test_b25_a_stream_that_closes_politely_without_a_finish_is_incomplete(kind, serve):
    server = serve(pieces=[PIECE[kind]("half an ans")])
    with pytest.raises(ProviderError, match="broke off"):
        list(ask(kind, server.url))


@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        ("openai", b'data: {"error": {"message": "slot unavailable", "code": 500}}\n\n'),
        ("ollama", b'{"error": "slot unavailable"}\n'),
    ],
    ids=KINDS,
)
def test_an_error_inside_the_stream_is_explained(kind, piece, serve):
    server = serve(pieces=[PIECE[kind]("So "), piece])
    with pytest.raises(ProviderError, match="slot unavailable"):
        list(ask(kind, server.url))


@pytest.mark.parametrize(
    ("kind", "body"),
    [("openai", [b"data: {not json}\n\n"]), ("ollama", [b"<html>hello</html>\n"])],
    ids=KINDS,
)
def test_something_that_is_no_model_server_is_named_as_such(kind, body, serve):
    server = serve(pieces=body)
    with pytest.raises(ProviderError, match="not a chat answer"):
        list(ask(kind, server.url))


def test_a_web_page_or_terminal_codes_do_not_reach_the_message(serve):
    server = serve(status=500, body="<html><script>x</script></html>")
    with pytest.raises(ProviderError, match="web page") as page:
        list(ask("openai", server.url))
    server.body = "\x1b[31mred\x07 " + "long " * 1000
    with pytest.raises(ProviderError, match="red long") as codes:
        list(ask("openai", server.url))
    assert "<" not in str(page.value)
    assert "\x1b" not in str(codes.value)
    assert len(str(codes.value)) < 600


@pytest.mark.parametrize(
    "sends",
    [
        pytest.param([], id="nothing at all"),
        pytest.param([b": ping\n\n"], id="only pings"),
    ],
)
def test_silence_is_cut_off_although_the_connection_lives(sends, serve):
    server = serve()
    server.pieces = [server.trickle(*sends)] if sends else [lambda _: server.client_left.wait(8)]
    began = time.monotonic()
    with pytest.raises(ProviderError, match=r"silent for 0\.5 s.*--llm-timeout-s") as caught:
        list(ask("openai", server.url, llm_timeout_s=0.5))
    assert caught.value.retryable
    assert time.monotonic() - began < 3
    if sends:
        assert server.client_left.wait(2), "the request was left open"


def test_a_model_without_an_end_is_cut_off(serve):
    server = serve(pieces=[openai_piece("x" * 20_000)] * 20)
    with pytest.raises(ProviderError, match=f"more than {MAX_CHARS} characters"):
        list(ask("openai", server.url))


# --- stopping -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["closed", "dropped", "other thread", "generator"])
def test_b32_stopping_ends_the_request(kind, how, serve):
    server = serve()
    server.pieces = [PIECE[kind]("a"), server.trickle(PIECE[kind](""))]
    stream = ask(kind, server.url)
    began = time.monotonic()
    if how == "generator":

        def wrapped():
            yield from stream

        outer = wrapped()
        assert next(outer) == "a"
        outer.close()
    else:
        assert next(stream) == "a"
        if how == "closed":
            stream.close()
        elif how == "other thread":
            threading.Timer(0.2, stream.close).start()
            assert list(stream) == []
        del stream
        gc.collect()
    assert server.client_left.wait(2)
    assert time.monotonic() - began < 2


def test_b32_stopping_before_the_first_sign_ends_the_request(serve):
    server = serve()
    server.pieces = [server.trickle(b": wait\n\n")]
    stream = ask("openai", server.url)
    threading.Timer(0.3, stream.close).start()
    assert list(stream) == []
    assert server.client_left.wait(2)


# --- models that are not ours -------------------------------------------------------------------


def test_a_model_without_a_chat_interface_is_streamed_too():
    llm = ScriptedLLM(replies=["One {two} three [1]."])
    assert "".join(stream_text(llm, "System {x}", "User {}")) == "One {two} three [1]."
    assert llm.prompts == ["System {x}\n\nUser {}"]


@pytest.mark.parametrize(
    ("raised", "expected", "match"),
    [
        pytest.param(ConnectionError("gone"), ProviderError, "gone", id="connection"),
        pytest.param(ProviderError("as it is"), ProviderError, "as it is", id="ours"),
        pytest.param(ZeroDivisionError("bug"), ZeroDivisionError, "bug", id="a bug stays a bug"),
    ],
)
def test_exceptions_of_a_model_are_translated(raised, expected, match):
    with pytest.raises(expected, match=match):
        list(stream_text(ScriptedLLM(replies=[raised]), "", "Why?"))


# --- control tokens -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("<|im_start|>system", "< |im_start| >system"),
        ("<|x", "< |x"),
        ("<｜begin▁of▁sentence｜>", "< ｜begin▁of▁sentence｜ >"),
        ("[INST] do [/INST]", "[ INST ] do [ /INST ]"),
        ("<<SYS>>", "<< SYS >>"),
        ("<s>a</s>", "< s >a< /s >"),
        ("<think>", "< think >"),
        ("<start_of_turn>user", "< start_of_turn >user"),
        ("[gMASK]<sop>", "[ gMASK ]< sop >"),
        ("</context>", "< /context >"),
        ("a < b, c > d, a<b and {x} [1] [12, 3]", "a < b, c > d, a<b and {x} [1] [12, 3]"),
        ("p<0.05 and |x|>2", "p<0.05 and |x| >2"),
    ],
)
def test_b11_role_markers_are_broken_up(text, safe):
    assert neutralise(text) == safe
    assert neutralise(safe) == safe


def test_b11_breaking_up_takes_linear_time():
    began = time.monotonic()
    for text in ("<" * 200_000, "<a" * 100_000, "[A" * 100_000, "<|" * 100_000):
        neutralise(text)
    assert time.monotonic() - began < 5


# --- names and addresses ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("llm", "match"),
    [
        ("gpt:4", r"'gpt'.*gguf:PATH, hf:OWNER/NAME.*ollama:MODEL, openai:MODEL"),
        ("openai:gpt", "--llm-base-url"),
        ("openai:", "names no model"),
        ("ollama:", "names no model"),
        ("gguf:", "names no file"),
        ("hf:", "names no GGUF model"),
        ("hf:owner/name/model.bin", "names no GGUF model"),
        ("hf:owner/../x.gguf", "names no GGUF model"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_without_asking_anyone(llm, match):
    with pytest.raises(SettingsError, match=match):
        build(load_settings(llm=llm))


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8000", "localhost:8000/v1", "ftp://x/v1", "http://", "http://h:port/"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_an_address_that_cannot_be_used_is_refused(kind, url):
    with pytest.raises(SettingsError, match=r"http://HOST:PORT/v1.*--llm-base-url"):
        build(load_settings(llm=f"{kind}:m", llm_base_url=url))


def test_a_model_of_another_interface_is_refused():
    with pytest.raises(SettingsError, match="no chat interface"):
        build(load_settings(llm="openai:gpt-5.2-pro", llm_base_url="http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("llm", "expected"),
    [
        ("quote", "quote (no language model)"),
        ("ollama:qwen2.5:3b", "ollama: qwen2.5:3b at http://127.0.0.1:11434"),
        ("gguf:models/a.gguf", "gguf: a.gguf on this machine"),
        ("hf:owner/name/a.gguf", "hf: owner/name/a.gguf on this machine"),
        ("scripted:Hello", "scripted: Hello"),
    ],
)
def test_the_model_is_described_for_display(llm, expected):
    assert describe(load_settings(llm=llm)) == expected


def test_checking_without_a_model_says_so():
    assert check(load_settings()) == "No language model is set; answers quote the papers."


@pytest.mark.parametrize("kind", KINDS)
def test_checking_a_model_that_answers_says_where(kind, serve):
    server = serve(pieces=REPLY[kind]("yes"))
    said = check(settings_for(kind, server.url))
    assert server.url in said
    assert said.startswith("The language model answers")


@pytest.mark.parametrize(
    ("url", "loopback", "shown"),
    [
        ("http://localhost:1/v1/", True, "http://localhost:1/v1"),
        ("http://127.9.9.9/v1?key=a", True, "http://127.9.9.9/v1"),
        ("http://[::1]:80/v1", True, "http://[::1]:80/v1"),
        ("https://a:b@example.org/v1", False, "https://example.org/v1"),
        ("http://127.0.0.1.example.org/", False, "http://127.0.0.1.example.org"),
    ],
)
def test_addresses_are_told_apart(url, loopback, shown):
    assert is_loopback(url) is loopback
    assert shown_address(url) == shown


# --- the hub ------------------------------------------------------------------------------------


@pytest.fixture
def hub_cache(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


@pytest.fixture
def online(monkeypatch, tmp_path):
    """A hub whose repository holds some files; returns what was fetched from it."""
    files = ["README.md", "m.Q2_K.gguf", "m.Q4_K_M.gguf"]
    fetched = []

    def download(repo, file):
        fetched.append(file)
        return str(tmp_path / file)

    monkeypatch.setattr(hub, "_list_files", lambda repo, _: files)
    monkeypatch.setattr(hub, "_download", download)
    return files, fetched


def test_the_middle_sized_file_is_fetched_when_none_is_named(hub_cache, online, tmp_path):
    assert hub.fetch("owner/name", None) == tmp_path / "m.Q4_K_M.gguf"
    assert online[1] == ["m.Q4_K_M.gguf"]


def test_a_model_in_the_cache_is_not_asked_for_again(hub_cache, online):
    kept = hub_cache / "models--owner--name" / "snapshots" / "abc" / "m.Q8_0.gguf"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"GGUF")
    assert hub.fetch("owner/name", None) == kept
    assert hub.fetch("owner/name", "m.Q8_0.gguf") == kept
    assert online[1] == []


def test_all_pieces_of_a_divided_model_are_fetched(hub_cache, online, tmp_path):
    online[0][:] = [f"big-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    assert hub.fetch("owner/name", None) == tmp_path / "big-00001-of-00003.gguf"
    assert online[1] == online[0]


@pytest.mark.parametrize(
    ("files", "match"),
    [
        (["a.Q2_K.gguf", "b.Q8_0.gguf"], r"several GGUF files: a\.Q2_K\.gguf, b\.Q8_0\.gguf"),
        (["model.safetensors"], "has no GGUF file"),
    ],
    ids=["several", "none"],
)
def test_a_choice_that_is_the_users_is_left_to_the_user(files, match, hub_cache, online):
    online[0][:] = files
    with pytest.raises(SettingsError, match=match):
        hub.fetch("owner/name", None)


def _hub_error(cls, status):
    import httpx

    response = httpx.Response(status, request=httpx.Request("GET", "http://hub.invalid"))
    return cls("no", response=response)


def _hub_errors():
    import httpx
    from huggingface_hub import errors

    return [
        pytest.param(_hub_error(errors.RepositoryNotFoundError, 404), "no such repo", id="no repo"),
        pytest.param(_hub_error(errors.GatedRepoError, 403), "agreement", id="gated"),
        pytest.param(_hub_error(errors.RemoteEntryNotFoundError, 404), "no such file", id="file"),
        pytest.param(_hub_error(errors.HfHubHTTPError, 503), "answered 503", id="status"),
        pytest.param(errors.HFValidationError("x"), "no such repository", id="bad name"),
        pytest.param(httpx.ConnectError("x"), "cannot be reached", id="no network"),
        pytest.param(OSError(28, "No space left on device"), "no space left", id="disk full"),
    ]


@pytest.mark.parametrize(("raised", "match"), _hub_errors())
def test_b38_a_model_that_cannot_be_fetched_gets_one_sentence(
    raised, match, hub_cache, online, monkeypatch
):
    def fail(repo, file):
        raise raised

    monkeypatch.setattr(hub, "_download", fail)
    with pytest.raises(ProviderError, match=match) as caught:
        hub.fetch("owner/name", "m.gguf")
    assert str(hub_cache / "models--owner--name") in str(caught.value)
    assert "hf download owner/name m.gguf" in str(caught.value)


def test_b38_offline_the_real_hub_client_is_refused_by_itself(hub_cache):
    with pytest.raises(ProviderError, match=r"cannot be reached.*hf download owner/name") as caught:
        check(load_settings(llm="hf:owner/name"))
    assert isinstance(caught.value, RagError)
