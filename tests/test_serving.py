"""A running server answers the command line: the same, at once, and for its user alone."""

import http.client
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag import remote, serving_files
from rag.commands.serving import load
from rag.errors import IndexMissingError, LibraryBusyError, RagError
from rag.library import open_library
from rag.serving import Server, _listener
from rag.serving_door import LARGEST
from rag.serving_files import NONCE, PROOF, Announcement
from rag.serving_requests import wanted
from rag.serving_shelf import Opened
from rag.serving_work import Stopped
from rag.settings import CONFIG_NAME, NOT_FROM_A_FOLDER, load_settings
from tests import slow_llm
from ui.beside import PageLibraries
from ui.server import Address, Beside, bind
from ui.shelf import Shelf

PAPERS = Path(__file__).parent / "data" / "cli" / "papers.jsonl"
QUESTION = "How much less acid does the coffee hold?"
HEAVY = (
    *("numpy", "tantivy", "llama_index", "torch", "chromadb", "gradio", "pydantic", "starlette"),
    *("rag.question", "rag.render", "rag.library", "rag.settings", "rag.verification"),
)


@pytest.fixture(autouse=True)
def quick_embedder(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A home with a library of three papers, made once."""
    home = tmp_path_factory.mktemp("built")
    settings = load_settings(home=home, embedder="word-hash")
    with open_library("default", settings=settings, create=True) as library:
        assert library.add(PAPERS).added == 3
        library.sync()
    return home


@pytest.fixture
def filled(citewell, built):
    """The program, with a library of three papers."""
    shutil.copytree(built, load_settings().home)
    return citewell


@contextmanager
def serving(home=None):
    """Run a server in this process until the block ends."""
    server = Server(Opened(home or load_settings().home))
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def server(filled):
    with serving() as running:
        yield running


@pytest.fixture
def alone(monkeypatch):
    """Make it an error that this process opens a library for a command."""

    def opened(**_):
        raise AssertionError("the server was not asked")

    monkeypatch.setattr("rag.commands.asking.open_named", opened)


def the_one():
    (one,) = serving_files.announced(load_settings().home)
    return one


# ---- the same answers ------------------------------------------------------------------------

SAME = [
    pytest.param(["ask", QUESTION], id="text"),
    pytest.param(["ask", QUESTION, "--json"], id="json"),
    pytest.param(["ask", "Is there life on Mars?"], id="abstention"),
    pytest.param(["ask", "hello"], id="courtesy"),
    pytest.param(["ask", QUESTION, "--author", "nobody"], id="filter that matches nothing"),
    pytest.param(["ask", QUESTION, "--year-from", "2000", "--topic", "coffee"], id="filters"),
    pytest.param(["ask", QUESTION, "--llm", "scripted:It holds less acid [1]."], id="model"),
    pytest.param(["ask", QUESTION, "--llm", "scripted:All is well [7].", "--strict"], id="strict"),
    pytest.param(
        [
            "ask",
            QUESTION,
            "--strict",
            "--llm",
            "scripted:It holds less acid [1]. Penguins fly [1].",
        ],
        id="changed by checking",
    ),
    pytest.param(["ask", QUESTION, "--llm", "pigeon:post"], id="no such model"),
    pytest.param(["ask", QUESTION, "--llm", "gguf:/none.gguf"], id="no such file"),
    pytest.param(["ask", "what is \udcff this"], id="half a surrogate"),
    pytest.param(["ask", "?!"], id="no word"),
    pytest.param(["ask", QUESTION, "--library", "other"], id="no such library"),
    pytest.param(["ask", QUESTION, "--library", "\x07"], id="no name"),
    pytest.param(["ask", "?!", "--library", "other"], id="question and library are wrong"),
    pytest.param(["ask", QUESTION, "--embedder", "minilm"], id="another embedder"),
    pytest.param(["ask", QUESTION, "--max-statements", "0"], id="setting out of range"),
    pytest.param(["search", "acid in coffee", "--top-k", "2"], id="search"),
    pytest.param(["search", "acid in coffee", "--json"], id="search json"),
    pytest.param(["search", ""], id="empty search"),
]


def without_times(text):
    try:
        found = json.loads(text)
    except ValueError:
        return text
    if isinstance(found, dict):
        found.pop("timings_ms", None)
    return found


@pytest.mark.parametrize("arguments", SAME)
def test_a_server_changes_nothing_of_what_is_said(filled, arguments):
    here = filled(*arguments, "--no-server")
    with serving():
        there = filled(*arguments)
    assert (there.code, there.err) == (here.code, here.err)
    assert without_times(there.out) == without_times(here.out)


def test_the_server_is_asked_and_this_process_opens_nothing(server, filled, alone):
    assert "acid" in filled("ask", QUESTION).out
    assert filled("search", "coffee", "--json").json
    assert "acid" in filled("ask", QUESTION, "--llm", "scripted:Less acid [1].").out


def test_no_server_skips_it(server, filled, alone):
    with pytest.raises(AssertionError, match="not asked"):
        filled("ask", QUESTION, "--no-server")


def test_bibliographies_are_written_where_the_caller_is(server, filled, alone):
    assert filled("ask", QUESTION, "--bibtex", "cited.bib", "--ris", "cited.ris").code == 0
    assert Path("cited.bib").read_text().startswith("@")
    assert Path("cited.ris").read_text().startswith("TY")
    run = filled("ask", QUESTION, "--bibtex", "no/such/folder.bib")
    assert (run.code, run.err[:9]) == (1, "error: Th")


@pytest.mark.parametrize(
    ("variable", "value", "flags"),
    [
        pytest.param("CITEWELL_TOP_K", "1", [], id="environment"),
        pytest.param("citewell_top_k", "1", [], id="small letters"),
        pytest.param("CITEWELL_TOP_K", "3", ["--top-k", "1"], id="option before environment"),
    ],
)
def test_the_callers_surroundings_count_not_the_servers(
    server, filled, alone, monkeypatch, variable, value, flags
):
    monkeypatch.setenv(variable, value)
    monkeypatch.setenv("CITEWELL_UNKNOWN", "is nobody's setting")
    assert len(filled("search", "coffee acid beans", "--json", *flags).json) == 1


def test_a_settings_file_of_the_callers_folder_counts(server, filled, alone):
    assert len(filled("search", "coffee acid beans", "--json").json) > 1
    Path(CONFIG_NAME).write_text("top_k = 1\n")
    assert len(filled("search", "coffee acid beans", "--json").json) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param("top_k = ", "not valid TOML", id="no TOML"),
        pytest.param("llm = 'openai:x'", "in this folder sets 'llm'", id="may not say this"),
        pytest.param("colour = 'red'", "There is no setting 'colour'", id="unknown"),
        pytest.param("top_k = 1979-05-27", "'top_k'", id="a date"),
    ],
)
def test_a_settings_file_that_cannot_be_used_is_refused_as_without_a_server(
    server, filled, content, said
):
    Path(CONFIG_NAME).write_text(content)
    run = filled("search", "coffee")
    assert (run.code, run.out) == (1, "")
    assert said in run.err


def test_what_is_resolved_by_the_server_is_what_the_caller_would_have(monkeypatch):
    assert (remote.CONFIG_NAME, remote.NOT_FROM_A_FOLDER) == (CONFIG_NAME, NOT_FROM_A_FOLDER)
    users = Path(os.environ["XDG_CONFIG_HOME"], "citewell", CONFIG_NAME)
    users.parent.mkdir(parents=True)
    users.write_text("top_k = 4\nmax_statements = 2\ncandidates = 50\nllm = 'ollama:x'\n")
    Path(CONFIG_NAME).write_text("top_k = 5\nmax_statements = 4\n")
    monkeypatch.setenv("CITEWELL_TOP_K", "6")
    monkeypatch.setenv("CITEWELL_STRICT", "true")
    flags = {"top_k": None, "llm_timeout_s": 7.5}
    here = load_settings(**flags)
    given = json.loads(json.dumps(remote.given(flags)))
    there = wanted({"settings": given}, here.home).settings
    assert there.model_dump() == here.model_dump()
    assert there.top_k == 6


@pytest.mark.parametrize(
    ("llm", "variables", "key"),
    [
        ("openai:m", {"OPENAI_API_KEY": "sk-1"}, "sk-1"),
        ("ollama:m", {"OPENAI_API_KEY": "sk-1", "OLLAMA_API_KEY": "sk-2"}, "sk-2"),
        ("openai:m", {"OPENAI_API_KEY": "sk-1", "CITEWELL_LLM_API_KEY": "sk-3"}, "sk-3"),
        ("quote", {"OPENAI_API_KEY": "sk-1"}, None),
    ],
)
def test_a_key_goes_only_to_the_model_that_it_is_for(monkeypatch, llm, variables, key):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    given = remote.given({"llm": llm})
    assert given["environment"].get("llm_api_key") == key
    assert "sk-1" not in json.dumps(given) or key == "sk-1"


@pytest.mark.parametrize(
    ("flags", "is_relative"),
    [
        ({"llm": "gguf:model.gguf"}, True),
        ({"llm": "gguf:/models/model.gguf"}, False),
        ({"llm": "gguf:~/model.gguf"}, False),
        ({"llm": "hf:owner/repository"}, False),
        ({"embedder": "st:minilm"}, True),
        ({"verifier": "judge"}, True),
        ({"llm": "quote", "embedder": "minilm"}, False),
    ],
)
def test_files_named_by_their_place_mean_the_same_in_the_same_folder_only(flags, is_relative):
    assert remote._is_relative("/home", flags) is is_relative
    assert remote._is_relative("libraries", {})


def test_a_caller_in_another_folder_answers_a_relative_name_alone(server, filled, monkeypatch):
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert remote.events("/search", {}, {"llm": "gguf:model.gguf"}) is None
    assert list(remote.events("/search", {"question": "coffee"}, {}))


# ---- libraries that change -------------------------------------------------------------------


def test_b31_papers_added_beside_a_running_server_are_found(server, filled, tmp_path):
    assert filled("ask", QUESTION).code == 0  # the server has the library open now
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "z", "title": "Zeppelins", "abstract": "Zeppelins float."}))
    assert filled("add", more).code == 0
    assert filled("search", "zeppelins", "--json").json[0]["title"] == "Zeppelins"


def test_a_library_that_was_made_anew_is_not_answered_from_the_old_one(filled, monkeypatch):
    monkeypatch.setenv("CITEWELL_RETRIEVAL", "lexical")
    with serving():
        assert filled("search", "coffee", "--json").json
        library = load_settings().home / "default"
        library.rename(library.with_name("moved"))
        run = filled("search", "coffee")
        assert (run.code, run.err[:27]) == (1, "error: No library 'default'")
        Path("new.jsonl").write_text(json.dumps({"title": "Tea", "abstract": "Tea is green."}))
        assert filled("add", "new.jsonl").code == 0
        found = filled("search", "tea coffee", "--json").json
        assert [paper["title"] for paper in found] == ["Tea"]


def test_b31_a_library_deleted_beside_a_server_stays_deleted(filled, monkeypatch):
    monkeypatch.setattr("rag.indexer.IDLE_S", 0.05)
    folder = load_settings().home / "default"
    opened = Opened(load_settings().home)
    with opened.lend("default", load_settings(), keep=True) as library:
        wait_for(lambda: library.waiting == 0)
        assert filled("remove", "--all", "--yes").code == 0
        wait_for(lambda: not library.indexing().running)
        assert not folder.exists()
        assert filled("add", PAPERS).code == 0  # another library of the same name
        before = (folder / "lexical" / "meta.json").read_bytes()
        with pytest.raises(IndexMissingError, match="was deleted or moved"):
            library.sync()
    assert opened.names() == []  # closed, although it was to be kept
    opened.close()
    assert (folder / "lexical" / "meta.json").read_bytes() == before
    assert filled("status", "--check").code == 0


def test_libraries_beyond_the_most_and_idle_ones_are_closed(filled, monkeypatch):
    monkeypatch.setattr("rag.serving_shelf.MOST_OPEN", 2)
    settings = load_settings()
    names = ["a", "b", "c"]
    for name in names:
        open_library(name, settings=settings, create=True).close()
    opened = Opened(settings.home)
    with opened.lend("a", settings, keep=True):
        pass
    with opened.lend("b", settings), opened.lend("c", settings):
        assert opened.names() == names  # those in use stay
    assert opened.names() == ["a", "b"]  # "c" was given back while the others were in use
    opened.sweep(idle_s=0)
    assert opened.names() == ["a"]
    opened.close()
    assert opened.names() == []
    with pytest.raises(Stopped), opened.lend("a", settings):
        pass


def test_who_asks_while_a_server_ends_answers_alone(server, filled):
    server._opened.close()
    run = filled("ask", QUESTION)
    assert (run.code, run.err) == (0, "")
    assert "acid" in run.out


def test_what_waits_is_embedded_in_the_background_of_a_server(filled, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "z", "title": "Zeppelins", "abstract": "Zeppelins float."}))
    assert filled("add", more).code == 0
    opened = Opened(load_settings().home)
    with opened.lend("default", load_settings()) as library:
        wait_for(lambda: library.waiting == 0)
    wait_for(lambda: not opened.sweep(idle_s=0) and opened.names() == [])
    opened.close()


def test_papers_that_wait_are_noted_as_without_a_server(filled, tmp_path, monkeypatch):
    monkeypatch.setenv("CITEWELL_PROFILE", "fast")
    monkeypatch.setenv("CITEWELL_EMBED_BUDGET", "0")
    more = tmp_path / "more.jsonl"
    more.write_text(json.dumps({"id": "z", "title": "Zeppelins", "abstract": "Zeppelins float."}))
    assert filled("add", more).code == 0
    here = filled("search", "zeppelins", "--no-server")
    with serving():
        there = filled("search", "zeppelins")
    assert there == here
    assert there.err.startswith("note: 1 paper still waits for its vectors")


def test_models_beyond_the_most_are_stopped_when_nobody_uses_them(filled, monkeypatch):
    stopped = []
    monkeypatch.setattr("rag.llms.engine.close_all", lambda: stopped.append(1))
    settings = load_settings()
    opened = Opened(settings.home)
    for number in range(3):
        with opened.lend("default", settings.model_copy(update={"llm": f"gguf:{number}"})):
            assert stopped == []
    assert stopped == [1]
    opened.close()


# ---- a server that goes, is busy, or is none -------------------------------------------------


def test_without_a_server_nothing_is_different(filled):
    assert filled("ask", QUESTION).code == 0
    assert not (load_settings().home / serving_files.FOLDER).exists()


def announce(port, pid=None, **other):
    home = load_settings().home
    made = Announcement(port, "t" * 43, pid or os.getpid(), os.getcwd(), **other)
    serving_files.announce(home, made)
    return serving_files.file_of(home, made)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_the_file_of_a_dead_process_is_passed_over_and_deleted(filled):
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    file = announce(free_port(), gone.pid)
    assert filled("ask", QUESTION).code == 0
    assert not file.exists()


def test_the_file_of_a_port_where_nobody_listens_is_passed_over_and_deleted(filled):
    file = announce(free_port())
    assert filled("ask", QUESTION).code == 0
    assert not file.exists()


@contextmanager
def stranger(reply):
    """Listen as somebody who took a port; keep what callers say."""
    heard = []
    listener = socket.create_server(("127.0.0.1", 0))

    def listen():
        with listener.accept()[0] as caller:
            caller.settimeout(5)
            heard.append(caller.recv(65536))
            caller.sendall(reply)
            while more := caller.recv(65536):
                heard.append(more)

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    with listener:
        yield listener.getsockname()[1], heard
        thread.join(5)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", id="no proof"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nCitewell-Proof: " + b"0" * 64 + b"\r\nContent-Length: 2\r\n\r\n{}",
            id="wrong proof",
        ),
        pytest.param(b"SSH-2.0-OpenSSH\r\n", id="not HTTP"),
    ],
)
def test_a_stranger_on_the_port_of_a_dead_server_learns_nothing(filled, reply):
    with stranger(reply) as (port, heard):
        announce(port)
        run = filled("ask", QUESTION)
    assert (run.code, run.err) == (0, "")
    said = b"".join(heard)
    assert said.startswith(b"GET /hello ")
    assert b"acid" not in said
    assert b"t" * 43 not in said


@pytest.mark.parametrize("other", [{"version": "0.0.0"}, {"program": "/elsewhere/rag"}], ids=str)
def test_another_version_or_installation_is_not_asked(filled, other):
    with stranger(b"") as (port, heard):
        announce(port, **other)
        assert filled("ask", QUESTION).code == 0
        with socket.create_connection(("127.0.0.1", port)):  # lets the stranger go
            pass
    assert heard in ([], [b""])


@pytest.mark.skipif(sys.platform == "win32", reason="the user's own folder sees to it there")
def test_a_file_that_others_could_have_written_or_read_is_not_trusted(server):
    file = serving_files.file_of(load_settings().home, the_one())
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    file.chmod(0o644)
    assert serving_files.announced(load_settings().home) == []
    file.chmod(0o600)
    file.rename(file.with_name("kept"))
    file.symlink_to("kept")
    assert serving_files.announced(load_settings().home) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{", b"[" * 5000, b'{"port": 1}', b'{"port": "x", "token": 1, "pid": 1}'],
    ids=range(6),
)
def test_a_damaged_file_is_passed_over(filled, content):
    file = announce(free_port())
    file.write_bytes(content)
    assert serving_files.announced(load_settings().home) == []
    assert filled("ask", QUESTION).code == 0


def test_a_folder_that_others_can_read_is_refused(filled):
    folder = load_settings().home / serving_files.FOLDER
    folder.mkdir(mode=0o755)
    with pytest.raises(RagError, match=r"private: other users may read or write it\. Delete it"):
        Server(Opened(load_settings().home)).start()


def test_a_home_that_cannot_be_written_is_told(citewell):
    load_settings().home.write_text("a file")
    run = citewell("serve")
    assert run.code == 1
    assert "cannot be written" in run.err
    assert "set CITEWELL_HOME" in run.err


def test_only_one_server_answers_for_a_home(server, filled):
    with pytest.raises(LibraryBusyError, match=rf"runs already \(process {os.getpid()}\)"):
        Server(Opened(load_settings().home)).start()
    assert filled("ask", QUESTION).code == 0


def test_a_server_that_ends_takes_its_file_with_it(filled):
    with serving():
        file = serving_files.file_of(load_settings().home, the_one())
    assert not file.exists()


def test_b31_what_a_killed_process_of_the_same_number_left_is_replaced(filled, alone):
    announce(free_port())
    with serving() as server:
        assert the_one().port == server.port
        assert "acid" in filled("ask", QUESTION).out


def test_a_bug_in_the_server_is_met_by_answering_alone(server, filled, monkeypatch, caplog):
    def broken(*_, **__):
        raise KeyError("a bug")

    monkeypatch.setattr("rag.replies.answer_events", broken)
    events = remote.events("/ask", {"question": QUESTION}, {})
    with pytest.raises(remote.Lost):
        list(events)
    monkeypatch.undo()
    assert "A request failed" in caplog.text


def test_a_server_lost_before_it_said_anything_is_not_noticed(filled, monkeypatch):
    def lost(*_):
        if remote.HELLO_S:
            raise remote.Lost
        yield

    monkeypatch.setattr("rag.remote.events", lost)
    run = filled("ask", QUESTION)
    assert (run.code, run.err) == (0, "")
    assert "acid" in run.out


def test_b25_a_server_lost_in_the_middle_is_an_error_and_keeps_what_was_said(filled, monkeypatch):
    def lost(*_):
        yield {"piece": "It holds"}
        raise remote.Lost

    monkeypatch.setattr("rag.remote.events", lost)
    run = filled("ask", QUESTION)
    assert (run.code, run.out) == (1, "It holds")
    assert run.err.startswith("error: The server ended in the middle of the answer. Ask again")


def test_too_many_at_once_answer_alone(server, filled, monkeypatch):
    monkeypatch.setattr("rag.serving.MOST_AT_ONCE", 0)
    assert remote.events("/ask", {"question": QUESTION}, {}) is None
    assert filled("ask", QUESTION).code == 0


# ---- the door --------------------------------------------------------------------------------


def request(method, path, body=None, *, headers=None, drop=(), skip_host=False):
    """Call the server by hand; return status, headers and body."""
    one = the_one()
    nonce = serving_files.new_nonce()
    said = {
        "Host": f"127.0.0.1:{one.port}",
        NONCE: nonce,
        PROOF: serving_files.proof(one.token, "caller", nonce, path),
        "Content-Type": "application/json",
        **({} if body is None else {"Content-Length": str(len(body))}),
        **(headers or {}),
    }
    connection = http.client.HTTPConnection("127.0.0.1", one.port, timeout=10)
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in said.items():
        if name not in drop:
            connection.putheader(name, value)
    connection.endheaders()
    if body:
        connection.send(body)
    reply = connection.getresponse()
    found = (reply.status, reply.headers, reply.read())
    connection.close()
    return found


GOOD = json.dumps(
    {
        "question": QUESTION,
        "settings": {"files": {}, "environment": {"embedder": "word-hash"}, "flags": {}},
    }
).encode()


def test_the_door_lets_in_who_knows_the_secret(server):
    status, headers, body = request("POST", "/ask", GOOD)
    assert status == 200
    assert len(headers[PROOF]) == 64
    assert "end" in json.loads(body.splitlines()[-1])


@pytest.mark.parametrize(
    ("method", "path", "changed", "status"),
    [
        pytest.param("POST", "/ask", {"drop": (PROOF,)}, 401, id="no proof"),
        pytest.param("POST", "/ask", {"headers": {PROOF: "0" * 64}}, 401, id="wrong proof"),
        pytest.param("POST", "/ask", {"headers": {NONCE: ""}}, 401, id="no nonce"),
        pytest.param("POST", "/ask", {"headers": {NONCE: "n" * 999}}, 401, id="long nonce"),
        pytest.param("POST", "/search", {"headers": {NONCE: "n"}}, 401, id="proof of another"),
        pytest.param("GET", "/hello", {"drop": (NONCE, PROOF)}, 401, id="hello without proof"),
        pytest.param("POST", "/ask", {"drop": ("Host",)}, 421, id="no host"),
        pytest.param("POST", "/ask", {"headers": {"Host": "evil.example"}}, 421, id="rebinding"),
        pytest.param("POST", "/ask", {"headers": {"Host": "127.0.0.1"}}, 421, id="no port"),
        pytest.param("POST", "/ask", {"headers": {"Origin": "null"}}, 403, id="a page"),
        pytest.param(
            "POST", "/ask", {"headers": {"Sec-Fetch-Site": "same-origin"}}, 403, id="a browser"
        ),
        pytest.param("POST", "/ask", {"headers": {"Cookie": "a=b"}}, 403, id="cookie"),
        pytest.param("POST", "/ask", {"headers": {"Content-Type": "text/plain"}}, 415, id="form"),
        pytest.param("POST", "/ask", {"headers": {"Content-Length": str(10**7)}}, 413, id="huge"),
        pytest.param("POST", "/ask", {"headers": {"Content-Length": "9" * 18}}, 413, id="huger"),
        pytest.param(
            "POST", "/ask",
            {
                "drop": ("Content-Length",), "headers": {"Transfer-Encoding": "chunked"},
                "body": b"2\r\n{}\r\n0\r\n\r\n",
            },
            411, id="chunked",
        ),
        pytest.param("GET", "/ask", {}, 405, id="method"),
        pytest.param("GET", "/etc/passwd", {}, 404, id="path"),
        pytest.param("GET", "/hello/../ask", {}, 404, id="dots"),
    ],
)  # fmt: skip
def test_b36_the_door_refuses(server, method, path, changed, status):
    body = None if method == "GET" else b"{}"
    found, headers, text = request(method, path, **{"body": body, **changed})
    assert found == status
    assert PROOF not in headers
    assert b"Traceback" not in text


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b"{" * 10_000, id="no JSON"),
        pytest.param(b"[" * 100_000, id="nested"),
        pytest.param(b"\xff\xfe", id="no UTF-8"),
        pytest.param(b"{}", id="nothing"),
        pytest.param(GOOD[:-1] + b', "colour": 1}', id="unknown"),
        pytest.param(GOOD[:-1] + b', "question": 5}', id="question"),
        pytest.param(GOOD[:-1] + b', "sample": "yes"}', id="sample"),
        pytest.param(GOOD[:-1] + b', "formats": ["docx"]}', id="formats"),
        pytest.param(GOOD[:-1] + b', "formats": "bibtex"}', id="formats as text"),
        pytest.param(GOOD[:-1] + b', "filters": {"paper_ids": []}}', id="filters"),
        pytest.param(GOOD[:-1] + b', "filters": {"year_from": "x"}}', id="a year"),
        pytest.param(GOOD.replace(b'"flags": {}', b'"flags": {"home": "/"}'), id="other home"),
        pytest.param(GOOD.replace(b'"flags": {}', b'"flags": {"top_k": [1]}'), id="setting"),
        pytest.param(GOOD.replace(b'"flags": {}', b'"flags": []'), id="settings"),
    ],
)
def test_b36_a_request_that_is_none_is_refused_and_the_server_goes_on(server, body):
    assert request("POST", "/ask", body)[0] == 400
    assert request("POST", "/ask", GOOD)[0] == 200


def test_a_body_longer_than_allowed_is_not_read(server):
    assert len(GOOD) < LARGEST
    status, _, _ = request("POST", "/ask", None, headers={"Content-Length": str(LARGEST + 1)})
    assert status == 413


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one loopback address")
def test_the_server_listens_on_one_address_only(server):
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.port))  # refused where somebody listens on all
    with socket.socket() as same, pytest.raises(OSError, match="in use"):
        same.bind(("127.0.0.1", server.port))


def test_small_packets_are_sent_at_once():
    for listener in (_listener(), bind(Address(port=0))):
        with (
            listener,
            socket.create_connection(listener.getsockname()),
            listener.accept()[0] as one,
        ):
            # What asyncio asks before it sets TCP_NODELAY; without, each piece waits 40 ms.
            assert one.proto == socket.IPPROTO_TCP


def test_status_is_told(server):
    events = list(remote.events("/status", {}, {}))
    assert events[-1]["end"]["status"]["papers"] == 3
    assert "3 papers" in events[-1]["end"]["text"]


# ---- beside the chat page --------------------------------------------------------------------


def test_a_chat_page_lends_the_libraries_that_it_has_open(filled, alone):
    shelf = Shelf(load_settings(), "default")
    libraries = PageLibraries(shelf)
    server = Server(libraries)
    server.start()
    try:
        assert "acid" in filled("ask", QUESTION).out
        assert filled("search", "coffee", "--embedder", "minilm").code == 1  # opened beside it
        settings = load_settings()
        with libraries.lend("default", settings) as lent:
            assert lent._index is shelf.library("default")._index
    finally:
        server.stop()
    assert shelf.library("default").status().papers == 3  # still open
    shelf.close()


def test_a_chat_page_answers_from_no_library_that_was_deleted(filled):
    shelf = Shelf(load_settings(), "default")
    server = Server(PageLibraries(shelf))
    server.start()
    try:
        assert filled("search", "coffee", "--json").json
        assert filled("remove", "--all", "--yes").code == 0
        assert filled("search", "coffee").err.startswith("error: No library 'default'")
        Path("new.jsonl").write_text(json.dumps({"title": "Tea", "abstract": "Tea is green."}))
        assert filled("add", "new.jsonl").code == 0
        found = filled("search", "tea coffee", "--json").json
        assert [paper["title"] for paper in found] == ["Tea"]
    finally:
        server.stop()
        shelf.close()


def test_a_chat_page_is_there_also_where_a_server_runs_already(server):
    beside = Beside(Shelf(load_settings()))
    beside.start()
    beside.stop()
    assert the_one().port == server.port


def test_a_chat_page_that_ended_while_it_was_built_serves_nobody(filled):
    beside = Beside(Shelf(load_settings()))
    beside.stop()
    beside.start()
    assert serving_files.announced(load_settings().home) == []


# ---- stopping --------------------------------------------------------------------------------


@pytest.fixture
def slow(monkeypatch):
    """A model that speaks for a minute."""
    monkeypatch.setattr("rag.llms.build", lambda settings: slow_llm.build("", settings))
    yield
    assert slow_llm.BUSY == []


def wait_for(fact, timeout_s=10):
    until = time.monotonic() + timeout_s
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_b32_a_caller_who_leaves_frees_the_model(server, slow):
    events = remote.events("/ask", {"question": QUESTION}, {"llm": "slow:x"})
    assert "word0" in next(e["piece"] for e in events if "piece" in e)
    assert slow_llm.BUSY
    began = time.monotonic()
    events.close()
    wait_for(lambda: not slow_llm.BUSY, 3)
    assert time.monotonic() - began < 3


def test_b32_a_server_that_ends_frees_the_model_and_the_caller_hears_of_it(filled, slow):
    with serving():
        events = remote.events("/ask", {"question": QUESTION}, {"llm": "slow:x"})
        assert any("piece" in event for event in events)
    with pytest.raises(remote.Lost):
        list(events)
    wait_for(lambda: not slow_llm.BUSY, 5)


def test_b32_light_questions_are_answered_while_a_model_speaks(server, filled, slow, alone):
    events = remote.events("/ask", {"question": QUESTION}, {"llm": "slow:x"})
    assert any("piece" in event for event in events)
    assert filled("search", "coffee", "--json").json
    assert filled("ask", QUESTION).code == 0
    assert slow_llm.BUSY
    events.close()
    wait_for(lambda: not slow_llm.BUSY, 5)


def test_b32_many_at_once_get_their_own_answers(server):
    found, failed = {}, []

    def person(number):
        asked = {"question": f"{QUESTION} Person {number}?"}
        try:
            found[number] = list(remote.events("/ask", asked, {}))[-1]["end"]["answer"]["question"]
        except Exception as exc:
            failed.append(exc)

    people = [threading.Thread(target=person, args=(n,)) for n in range(12)]
    for one in people:
        one.start()
    for one in people:
        one.join(60)
    assert failed == []
    assert found == {n: f"{QUESTION} Person {n}?" for n in range(12)}


# ---- whole processes -------------------------------------------------------------------------


@contextmanager
def process(*arguments):
    """Run the program until the block ends; kill what is left of it."""
    command = [sys.executable, "-m", "rag", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "Ctrl-C"])
def test_serve_says_where_it_is_answers_and_ends_cleanly(filled, monkeypatch, alone, how):
    with process("serve") as server:
        assert "127.0.0.1" in server.stdout.readline()
        assert server.stdout.readline() == "Loaded: 'default'\n"
        assert "acid" in filled("ask", QUESTION).out
        second = filled("serve")
        assert second.code == 1
        assert f"runs already (process {server.pid})" in second.err
        server.send_signal(how)
        out, err = server.communicate(timeout=60)
    assert (server.returncode, out, err) == (0, "Stopped.\n", "")
    assert list((load_settings().home / serving_files.FOLDER).glob("*.json")) == []


def test_serve_needs_a_library_only_where_one_is_named(filled):
    run = filled("serve", "--library", "nowhere")
    assert run.code == 1
    assert run.err.startswith("error: No library 'nowhere'")


def test_b32_serve_ends_also_while_it_loads_and_gives_signals_back(filled, monkeypatch):
    def load(*_, **__):
        signal.raise_signal(signal.SIGINT)
        pytest.fail("loading went on")

    monkeypatch.setattr("rag.commands.serving.load", load)
    before = signal.getsignal(signal.SIGINT)
    run = filled("serve")
    assert (run.code, run.out.splitlines()[-1], run.err) == (0, "Stopped.", "")
    assert signal.getsignal(signal.SIGINT) is before
    assert serving_files.announced(load_settings().home) == []


def test_serve_without_any_library_waits_to_be_asked(capsys):
    settings = load_settings()
    load(Opened(settings.home), settings, named=False)
    assert capsys.readouterr().out.startswith("Nothing is loaded yet: a library is opened when")


def test_serve_loads_a_model_file_that_the_settings_name(filled, monkeypatch, capsys):
    signs = []
    monkeypatch.setattr("rag.llms.build", lambda settings: settings.llm)
    monkeypatch.setattr("rag.llms.streaming.first_sign", signs.append)
    for llm in ("gguf:/model.gguf", "openai:elsewhere", "quote"):
        settings = load_settings(llm=llm)
        opened = Opened(settings.home)
        load(opened, settings, named=True)
        opened.close()
    assert signs == ["gguf:/model.gguf"]
    assert capsys.readouterr().out == "Loaded: 'default'\n" * 3


def test_what_asks_a_server_loads_nothing_heavy(server):
    code = (
        "import sys; sys.argv[0] = 'citewell'\n"
        "from rag.cli import main\n"
        "try:\n    main()\nexcept SystemExit as exc:\n    assert not exc.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    for arguments in (["ask", QUESTION], ["search", "coffee"]):
        command = [sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_ctrl_c_while_a_server_answers_is_as_without_one(server, slow):
    with process("ask", QUESTION, "--llm", "slow:x") as asking:
        wait_for(lambda: slow_llm.BUSY, 30)
        assert asking.stdout.read(4) == "word"
        asking.send_signal(signal.SIGINT)
        _, err = asking.communicate(timeout=30)
    assert (asking.returncode, err.strip()) == (
        130,
        "error: Stopped. What was stored stays stored.",
    )
    wait_for(lambda: not slow_llm.BUSY, 5)
