"""What bad input gets: a plain sentence, the right exit code, nothing lost, no traceback."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

PAPERS = Path(__file__).parent / "data" / "cli" / "papers.jsonl"
QUESTION = "How much less acid does the coffee hold?"
GOOD = '{"title": "Good", "abstract": "A good record. It has two sentences."}\n'


@pytest.fixture(autouse=True)
def quick_embedder(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")


@pytest.fixture
def filled(citewell):
    assert citewell("add", PAPERS, "--wait").code == 0
    return citewell


def is_plain(text):
    """Say whether an error is sentences for a person: no traceback, no type, no loose end."""
    return not re.search(r"Traceback|Error\b\(|<class|\bobject at 0x", text) and text.endswith("\n")


# ---- files -----------------------------------------------------------------------------------


def empty(path):
    path.write_bytes(b"")


def blank(path):
    path.write_bytes(b"\n  \n\n")


def binary(path):
    path.write_bytes(bytes(range(256)) * 40)


def pdf(path):
    path.write_bytes(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")


def folder(path):
    path.mkdir()


def vanished(path):
    path.unlink(missing_ok=True)


def dangling(path):
    path.symlink_to("nowhere")


def pipe(path):
    os.mkfifo(path)


def prose(path):
    path.write_text("This is a letter, not a list of papers. It has no record at all.\n" * 3)


def one_long_line(path):
    path.write_bytes(b'{"title": "' + b"x" * (11 * 1024 * 1024))


FILES = [empty, blank, binary, pdf, folder, vanished, dangling, pipe, prose, one_long_line]


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("name", ["papers.jsonl", "papers.bib", "papers.txt"])
def test_a_file_that_holds_no_papers_is_named_and_the_library_stays(filled, make, name):
    make(Path(name))
    run = filled("add", name, "--json")
    assert run.code == 1
    assert is_plain(run.err) or run.err == ""
    report = run.json
    assert report["read"] == report["failed"] == len(report["bad"])
    assert all(name in bad["file"] or name in bad["reason"] for bad in report["bad"])
    assert filled("status", "--check", "--json").json["papers"] == 3


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_bad_file_does_not_cost_the_good_one_beside_it(citewell, make):
    make(Path("bad.jsonl"))
    run = citewell("add", "bad.jsonl", PAPERS, "--json")
    assert run.code == 0
    assert run.json["added"] == 3
    assert "bad.jsonl" in citewell("add", "bad.jsonl", PAPERS).out


def test_the_reason_is_said_in_words(citewell):
    run = citewell("add", "missing.bib")
    assert run.code == 1
    assert run.out == ""
    assert "missing.bib" in run.err
    assert is_plain(run.err)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything: run as another user")
def test_a_file_without_permission_is_named(citewell):
    Path("secret.jsonl").write_text(GOOD)
    Path("secret.jsonl").chmod(0)
    run = citewell("add", "secret.jsonl")
    assert run.code == 1
    assert "secret.jsonl" in run.err


def test_a_huge_line_is_one_bad_record_between_good_ones(citewell):
    with Path("huge.jsonl").open("wb") as file:
        file.write(GOOD.encode())
        for _ in range(200):
            file.write(b"x" * 1024 * 1024)
        file.write(b"\n" + GOOD.replace("Good", "Better").encode())
    run = citewell("add", "huge.jsonl", "--json")
    assert run.code == 0
    assert (run.json["added"], run.json["failed"]) == (2, 1)
    assert run.json["bad"][0]["line"] == 2


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1251"])
def test_a_wrong_encoding_never_passes_in_silence(citewell, encoding):
    text = {"latin-1": "Café crème à Zürich", "utf-16": "Café Ωμέγα", "cp1251": "Привет мир"}
    words = text[encoding]
    record = {"title": words, "abstract": f"{words}. {words} again, in a longer sentence."}
    line = json.dumps(record, ensure_ascii=False)
    Path("papers.jsonl").write_bytes(line.encode(encoding))
    run = citewell("add", "papers.jsonl", "--encoding", encoding, "--json")
    assert run.json["added"] == 1
    assert citewell("list", "--json").rows[0]["title"] == words
    guessed = citewell("add", "papers.jsonl", "--library", "guess", "--json").json
    notes = " ".join(note["text"] for note in guessed["notes"])
    assert guessed["failed"] == 1 or encoding.split("-")[0] in notes.lower() or "encod" in notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoding", "klingon"], "klingon"),
        (["--format", "docx"], "docx"),
    ],
    ids=["unknown encoding", "unknown format"],
)
def test_an_option_that_means_nothing_is_named(citewell, options, message):
    run = citewell("add", PAPERS, *options)
    assert run.code == 1
    assert message in run.err
    assert is_plain(run.err)


def test_a_file_of_a_name_that_is_not_text_is_added(citewell):
    name = os.fsdecode(b"caf\xe9.jsonl")
    Path(name).write_text(GOOD)
    run = citewell("add", name)
    assert run.code == 0
    assert citewell("list").code == 0


# ---- questions -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "message"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param(" \t\n", "is empty", id="blank"),
        pytest.param("x" * 20_000, "20,000 characters; at most 4,000", id="too long"),
        pytest.param("?!… –", "has no word", id="punctuation"),
        pytest.param("\x00\x01", "is empty", id="control characters"),
        pytest.param("what is \udcff this", "half a character", id="half a surrogate"),
    ],
)
@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_question_that_cannot_be_asked_is_refused_at_once(
    citewell, monkeypatch, command, question, message
):
    monkeypatch.setattr("rag.commands.asking.open_named", None)  # nothing may be opened
    run = citewell(command, "--sample", "--", question)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: The question")
    assert message in run.err


def test_nul_inside_a_question_is_a_blank(filled):
    answer = filled("ask", QUESTION.replace(" ", "\x00"), "--json").json
    assert answer["question"] == QUESTION


# ---- question files --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "messages"),
    [
        pytest.param(b"", ["holds no question"], id="empty"),
        pytest.param(b"\xff\xfe\x00", ["cannot be read"], id="not UTF-8"),
        pytest.param(b"{\n", ["line 1: this is not JSON"], id="not JSON"),
        pytest.param(b"[" * 100_000, ["line 1: this is nested too deeply"], id="nested"),
        pytest.param(b'"a"\n{"q": 1}', ["line 1: an object", "line 2: an object"], id="shape"),
        pytest.param(b'{"question": "a", "id": []}', ["'id' must be"], id="id"),
        pytest.param(b'{"question": "a", "history": "b"}', ["'history' must be"], id="history"),
        pytest.param(b'{"question": "a", "history": [1]}', ["each entry"], id="a turn"),
    ],
)
def test_a_bad_question_file_is_refused_whole_and_every_line_named(filled, content, messages):
    Path("questions.jsonl").write_bytes(content)
    run = filled("ask", "--questions", "questions.jsonl", "--json")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: ")
    assert is_plain(run.err)
    for message in messages:
        assert message in run.err


@pytest.mark.parametrize("path", [".", "missing.jsonl"], ids=["folder", "missing"])
def test_a_question_file_that_cannot_be_read_is_named(filled, path):
    run = filled("ask", "--questions", path, "--json")
    assert run.code == 1
    assert run.err.startswith(f"error: The questions '{path}' cannot be read: ")


def test_a_question_file_of_any_size_is_not_swallowed(filled, monkeypatch):
    monkeypatch.setattr("rag.batch.LARGEST", 1000)
    Path("questions.jsonl").write_text('{"question": "a"}\n' * 100)
    run = filled("ask", "--questions", "questions.jsonl", "--json")
    assert (run.code, run.out) == (1, "")
    assert "larger than" in run.err


# ---- libraries -------------------------------------------------------------------------------


READERS = [
    *(["ask", QUESTION], ["search", "acid"], ["list"], ["show", "doi:10.1/x"], ["remove", "x"]),
    *(["status"], ["rebuild"], ["backup", "x.citewell"], ["export", "x.bib"]),
    ["remove", "--all", "--yes"],
]


@pytest.mark.parametrize("command", READERS, ids=lambda command: " ".join(command[:2]))
def test_a_library_that_does_not_exist_is_named_with_the_way_to_one(filled, command):
    run = filled(*command, "--library", "thesis")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: No library 'thesis' in ")
    assert "Libraries here: default." in run.err
    assert "citewell add FILE --library 'thesis'" in run.err


def test_a_paper_that_does_not_exist_is_named(filled):
    run = filled("show", "doi:10.1000/none")
    assert run.code == 1
    assert run.err.startswith("error: The library 'default' has no paper 'doi:10.1000/none'.")


@pytest.mark.parametrize("command", [["ask", QUESTION], ["add", str(PAPERS)], ["rebuild"]], ids=str)
def test_another_embedder_is_refused_and_what_to_do_said(filled, monkeypatch, command):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "minilm")
    run = filled(*command)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith(
        "error: The library 'default' was built with the embedder 'word-hash'"
    )
    assert "citewell rebuild --embed" in run.err


@pytest.mark.parametrize(
    "command", [["list"], ["status"], ["backup", "x.citewell"], ["export", "x.bib"]], ids=str
)
def test_another_embedder_does_not_keep_papers_from_being_read(filled, monkeypatch, command):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "minilm")
    assert filled(*command).code == 0


def manifest():
    return Path(os.environ["CITEWELL_HOME"]) / "default" / "manifest.json"


def test_a_library_of_a_newer_version_is_refused(filled):
    content = json.loads(manifest().read_text())
    manifest().write_text(json.dumps({**content, "format": 99, "citewell": "9.0"}))
    run = filled("ask", QUESTION)
    assert (run.code, run.out) == (1, "")
    assert "was built by Citewell 9.0 in format 99" in run.err
    assert run.err.endswith("Install a newer Citewell.\n")


def test_what_a_check_finds_is_exit_code_1_and_says_what_to_do(filled):
    shutil.rmtree(manifest().parent / "lexical")
    run = filled("status", "--check", "--json")
    assert run.code == 1
    assert "citewell rebuild" in " ".join(run.json["problems"])
    assert filled("rebuild").code == 0
    assert filled("status", "--check").code == 0


def test_a_rebuild_that_cannot_embed_says_so(filled, monkeypatch):
    def broken(self, text):
        if "coffee" in text:
            raise ConnectionError("the embedder is out of order")
        return [1.0] * self.dim

    monkeypatch.setattr("rag.testing.WordHashEmbedding._get_text_embedding", broken)
    run = filled("rebuild", "--embed")
    assert run.code == 1
    assert run.err.startswith("error: Some papers still wait for their vectors: ")
    assert filled("list", "--json").rows[0]["title"] == "Cold brewing"


def test_a_damaged_library_is_named_and_can_be_deleted(filled):
    manifest().write_text("{")
    run = filled("ask", QUESTION)
    assert run.code == 1
    assert run.err.startswith("error: The manifest '")
    assert filled("remove", "--all", "--yes").code == 0
    assert filled("libraries").out == ""


@pytest.mark.parametrize(
    "name", ["", "   ", "a\nb", "x" * 201], ids=["empty", "blank", "line", "long"]
)
def test_a_name_that_cannot_be_a_library_is_refused(citewell, name):
    run = citewell("add", PAPERS, "--library", name)
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: The ")
    assert is_plain(run.err)


def test_a_home_that_is_a_file_is_named(citewell, monkeypatch):
    Path("taken").write_text("")
    run = citewell("add", PAPERS, "--home", "taken")
    assert (run.code, run.out) == (1, "")
    assert "taken" in run.err
    assert is_plain(run.err)


@pytest.mark.parametrize(
    "content", [b"", b"not a backup", b"PK\x03\x04"], ids=["empty", "text", "zip"]
)
def test_a_file_that_is_no_backup_is_refused(citewell, content):
    Path("x.citewell").write_bytes(content)
    run = citewell("restore", "x.citewell", "--library", "new")
    assert (run.code, run.out) == (1, "")
    assert "x.citewell" in run.err
    assert citewell("libraries").out == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top-k", "0"], "The setting 'top_k'"),
        (["--max-statements", "99"], "The setting 'max_statements'"),
        (["--llm-timeout-s", "-1"], "The setting 'llm_timeout_s'"),
        (["--llm", " "], "The setting 'llm'"),
        (["--llm", "pigeon:post"], "There is no language model kind 'pigeon'"),
        (["--embedder", "abacus"], "abacus"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_setting_out_of_range_is_named(filled, options, message):
    run = filled("ask", QUESTION, *options)
    assert run.code == 1
    assert run.err.startswith("error: ")
    assert message in run.err


def test_a_settings_file_that_is_not_toml_is_named(citewell):
    Path("citewell.toml").write_text("= broken")
    run = citewell("list")
    assert run.code == 1
    assert run.err.startswith("error: A settings file (citewell.toml) is not valid TOML")
