"""The command line as a user sees it: help, exit codes, what each command prints."""

import json
import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

import rag
from rag.cli import cli
from rag.commands.options import print_json

PAPERS = Path(__file__).parent / "data" / "cli" / "papers.jsonl"
HEAVY = ("torch", "chromadb", "llama_index", "sentence_transformers", "pydantic_settings", "numpy")
QUESTION = "How much less acid does the coffee hold?"
ANSWER_KEYS = {
    *("question", "answer", "abstained", "statements", "citations", "papers", "llm", "timings_ms"),
}
CITATION_KEYS = {
    *("marker", "paper_id", "label", "authors", "title", "quote", "start", "end", "support"),
}
PAPER_KEYS = {"paper_id", "label", "title", "authors", "abstract_start", "score", "cosine"}


def commands(command=cli, path=("citewell",)):
    """Yield every command with its full name; some groups also run by themselves."""
    yield " ".join(path), command
    context = click.Context(command)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from commands(command.get_command(context, name), (*path, name))
    if getattr(command, "run", None):
        yield " ".join(path), command.run


ALL = list(commands())


@pytest.fixture(autouse=True)
def quick_embedder(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")


@pytest.fixture
def filled(citewell):
    """The program, with a library of three papers."""
    assert citewell("add", PAPERS, "--wait").code == 0
    return citewell


# ---- help, usage, exit codes -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "command"), ALL, ids=[name for name, _ in ALL])
def test_every_command_and_option_has_help(name, command):
    assert (command.help or "").strip().split("\n")[0].endswith((".", "?"))
    silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help]
    assert silent == []


@pytest.mark.parametrize("name", [name for name, _ in ALL])
def test_every_help_can_be_shown(citewell, name):
    run = citewell(*name.split()[1:], "--help")
    assert (run.code, run.err) == (0, "")
    assert run.out.startswith(f"Usage: {name}")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["fly"], id="unknown command"),
        pytest.param(["ask", "--fly", "x"], id="unknown option"),
        pytest.param(["ask"], id="no question"),
        pytest.param(["ask", "x", "--questions", "y"], id="a question and a file"),
        pytest.param(["ask", "--questions", "y", "--author", "z"], id="a file and a filter"),
        pytest.param(["ask", "x", "--top-k", "many"], id="not a number"),
        pytest.param(["add"], id="no file"),
        pytest.param(["remove"], id="nothing to remove"),
        pytest.param(["remove", "x", "--all"], id="papers and all"),
        pytest.param(["export", "x", "--format", "docx"], id="unknown format"),
        pytest.param(["list", "--limit", "0"], id="no papers wanted"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_how_it_goes(citewell, arguments):
    run = citewell(*arguments)
    assert run.code == 2
    assert run.out == ""
    assert "Usage: citewell" in run.err
    assert "Traceback" not in run.err


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["ask", "--help"], ["ask"], ["eval", "--help"], ["fly"]],
    ids=" ".join,
)
def test_help_and_wrong_usage_load_nothing_heavy(arguments):
    code = (
        "import sys; sys.argv[0] = 'citewell'\n"
        "from rag.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version_names_the_place_it_runs_from():
    command = [sys.executable, "-m", "rag", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"citewell {rag.__version__} from {Path(rag.__file__).parent}"


@pytest.mark.parametrize("raised", [KeyboardInterrupt, click.Abort], ids=["Ctrl-C", "no terminal"])
def test_a_stopped_command_is_exit_code_130_and_says_what_is_kept(citewell, monkeypatch, raised):
    def stopped(*_, **__):
        raise raised

    monkeypatch.setattr("rag.library.Library.add", stopped)
    run = citewell("add", PAPERS)
    assert (run.code, run.out) == (130, "")
    assert run.err.strip() == "error: Stopped. What was stored stays stored."


def test_a_reader_that_closes_early_gets_no_traceback(filled):
    command = f"'{sys.executable}' -m rag list --json | head -c 1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("{", "")


def test_a_command_of_others_that_cannot_be_loaded_leaves_ours_alone(citewell, monkeypatch):
    broken = EntryPoint("fly", "no_such_module:fly", "citewell.commands")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [broken])
    assert "fly        (cannot be loaded)" in citewell("--help").out
    run = citewell("fly", "--high")
    assert run.code == 1
    assert run.err.startswith("error: The command 'fly' cannot be loaded: ModuleNotFoundError")


def test_a_terminal_without_unicode_gets_marks_and_json_stays_exact(citewell, monkeypatch):
    title = "Café 咖啡"
    Path("papers.jsonl").write_text(json.dumps({"title": title, "abstract": "It is hot."}))
    assert citewell("add", "papers.jsonl").code == 0
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    command = [sys.executable, "-m", "rag", "list"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert "Café ??" in done.stdout.decode("latin-1")
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["title"] == title


# ---- papers ----------------------------------------------------------------------------------


def test_adding_counts_every_record_and_adding_again_writes_nothing(citewell):
    first = citewell("add", PAPERS, "--wait", "--json").json
    assert (first["read"], first["added"], first["failed"]) == (3, 3, 0)
    assert first["embedded"] == first["vectors_written"] == 3
    again = citewell("add", PAPERS, "--json").json
    assert (again["read"], again["unchanged"]) == (3, 3)
    assert (again["embedded"], again["terms_written"], again["vectors_written"]) == (0, 0, 0)


@pytest.fixture(autouse=True)
def unhurried(monkeypatch):
    """Keep `citewell embed` from making this whole process stand back for good."""
    monkeypatch.setattr("os.nice", lambda by: by)


def test_adding_returns_before_any_vector_is_made(citewell, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("rag.embedders.build", lambda settings: pytest.fail("it was loaded"))
        run = citewell("add", PAPERS)
    assert run.code == 0
    assert "All can be asked now. 3 papers still wait for vectors" in run.out
    found = citewell("status", "--check", "--json")
    assert (found.code, found.json["searchable"], found.json["embedded"]) == (0, 3, 0)
    assert citewell("search", "coffee", "--json").code == 0
    assert citewell("status", "--json").json["embedded"] > 0  # those that the question wanted
    done = citewell("embed")
    assert (done.code, done.out.split(". ")[-1]) == (0, "Every paper has its vectors.\n")
    assert citewell("status", "--json").json["embedded"] == 3
    assert citewell("embed").out.startswith("0 passages were embedded")


def test_what_waits_is_noted_with_the_command_for_that_library(citewell, monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBED_BUDGET", "0")
    assert "--library 'my thesis'" in citewell("add", PAPERS, "--library", "my thesis").out
    note = citewell("search", "coffee", "--library", "my thesis").err
    assert note.endswith("Make all: citewell embed --library 'my thesis'\n")


def test_a_closed_output_is_no_bug(monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", None)  # as Python starts with: citewell … >&-
        print_json({"a": "é"})
    assert capsys.readouterr() == ("", "")
    print_json({"a": "é"})
    assert capsys.readouterr().out == '{"a": "é"}\n'


def test_embedding_makes_no_library(filled):
    run = filled("embed", "--library", "mistyped")
    assert run.code == 1
    assert run.err.startswith("error: No library 'mistyped'")
    assert len(filled("libraries").out.splitlines()) == 1


def test_adding_without_waiting_loads_no_model_and_no_vector_store():
    heavy = "torch sentence_transformers transformers chromadb llama_index onnxruntime tokenizers"
    script = (
        "import sys\nfrom rag.cli import main\n"
        f"sys.argv = ['citewell', 'add', {str(PAPERS)!r}]\n"
        "try:\n    main()\nexcept SystemExit as exc:\n    assert not exc.code\n"
        f"print(sorted(set({heavy!r}.split()) & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_an_embedder_that_fails_is_exit_code_1_only_for_who_waits(citewell, monkeypatch):
    monkeypatch.setattr("rag.embedders.Embedder.embed_passages", lambda *args: 1 / 0)
    assert citewell("add", PAPERS).code == 0
    assert citewell("add", PAPERS, "--wait").code == 1
    run = citewell("embed")
    assert run.code == 1
    assert "3 papers still wait: ZeroDivisionError" in run.err


def test_the_best_profile_wants_an_embedder_that_is_named(citewell, monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "minilm")
    run = citewell("add", PAPERS, "--profile", "best")
    assert run.code == 1
    assert "The profile 'best' cannot be used" in run.err
    assert "--embedder st:FOLDER" in run.err
    assert citewell("add", PAPERS, "--profile", "best", "--embedder", "word-hash").code == 0


def test_the_report_is_readable(citewell):
    run = citewell("add", PAPERS)
    assert (run.code, run.err) == (0, "")
    assert "3" in run.out
    assert "added" in run.out


def test_papers_are_listed_shown_and_removed(filled):
    rows = filled("list", "--json").rows
    assert [row["title"] for row in rows] == ["Cold brewing", "Roasting", "Grinding"]
    assert filled("list", "--limit", 1).out.count("\n") == 1
    one = rows[0]["paper_id"]
    assert filled("show", one, "--json").json["abstract"].startswith("We brew coffee")
    assert "It takes twelve hours." in filled("show", one).out
    assert filled("remove", one).out == "Removed 1 paper.\n"
    assert filled("status", "--json").json["papers"] == 2
    assert filled("remove", one).code == 1


@pytest.mark.parametrize(
    ("options", "titles"),
    [
        pytest.param(["--author", "writer"], ["Grinding"], id="author"),
        pytest.param(["--venue", "journal"], ["Cold brewing", "Roasting"], id="venue"),
        pytest.param(["--year-from", 2025], ["Roasting"], id="from a year"),
        pytest.param(["--year-to", 2023], ["Grinding"], id="up to a year"),
        pytest.param(["--source", "papers.jsonl", "--year-to", 2023], ["Grinding"], id="both"),
        pytest.param(["--topic", "nothing"], [], id="no such topic"),
    ],
)
def test_filters_narrow_every_list(filled, options, titles):
    assert [row["title"] for row in filled("list", "--json", *options).rows] == titles
    found = filled("search", "coffee mills roasts", "--json", *options).json
    assert {row["title"] for row in found} == set(titles)


def test_an_import_can_be_undone(filled):
    number = filled("add", PAPERS.parent / "more.jsonl", "--json").json["import_id"]
    assert filled("remove", "--import", number).out == "Removed 1 paper.\n"
    assert filled("status", "--json").json["papers"] == 3


def test_a_whole_library_goes_only_after_a_yes(filled, monkeypatch):
    monkeypatch.setattr("click.confirm", lambda _: False)
    run = filled("remove", "--all")
    assert (run.code, run.err) == (1, "Nothing was deleted.\n")
    assert filled("libraries").out.startswith("default  (")
    assert filled("remove", "--all", "--yes").out == "Deleted the library 'default'.\n"
    assert filled("libraries").out == ""


def test_status_and_rebuild(filled):
    status = filled("status", "--check", "--json").json
    assert (status["papers"], status["passages"], status["embedded"]) == (3, 3, 3)
    assert (status["embedder"], status["problems"]) == ("word-hash", [])
    assert "3" in filled("status").out
    run = filled("rebuild")
    assert run.out == (
        "Indexed the words of 3 papers and stored 3 vectors; 0 passages were embedded.\n"
    )


def test_a_backup_is_restored_under_another_name(filled):
    assert (
        "Wrote the 3 papers of the library 'default' to" in filled("backup", "saved.citewell").out
    )
    run = filled("restore", "saved.citewell", "--library", "copy")
    assert run.out == "Restored 3 papers to the library 'copy'.\n"
    assert [row["name"] for row in filled("libraries", "--json").rows] == ["copy", "default"]
    assert filled("status", "--library", "copy", "--check", "--json").json["embedded"] == 3


@pytest.mark.parametrize(
    ("format_", "start"), [("bibtex", "@article{"), ("ris", "TY  - "), ("csl-json", "[")]
)
def test_papers_are_exported_as_a_bibliography(filled, format_, start):
    run = filled("export", "out.txt", "--format", format_, "--author", "Author")
    assert run.out == "Wrote 2 papers to out.txt.\n"
    assert Path("out.txt").read_text().startswith(start)


# ---- asking ----------------------------------------------------------------------------------


def test_an_answer_as_json_holds_every_promised_field(filled):
    answer = filled("ask", QUESTION, "--json").json
    assert set(answer) >= ANSWER_KEYS
    assert answer["question"] == QUESTION
    assert answer["llm"] is None
    assert [p["score"] for p in answer["papers"]] == sorted(
        (p["score"] for p in answer["papers"]), reverse=True
    )
    assert all(set(paper) >= PAPER_KEYS for paper in answer["papers"])


def test_every_quote_stands_at_its_offsets(filled):
    answer = filled("ask", QUESTION, "--json").json
    assert not answer["abstained"]
    assert [c["marker"] for c in answer["citations"]] == [
        1,
        *range(2, len(answer["citations"]) + 1),
    ]
    for citation in answer["citations"]:
        assert set(citation) >= CITATION_KEYS
        abstract = filled("show", citation["paper_id"], "--json").json["abstract"]
        assert abstract[citation["start"] : citation["end"]] == citation["quote"]
        assert citation["support"] == "verbatim"


def test_an_answer_in_the_terminal_names_its_papers(filled):
    run = filled("ask", QUESTION)
    assert (run.code, run.err) == (0, "")
    assert "The coffee holds 30% less acid than hot coffee. [1]" in run.out
    assert "Cold brewing" in run.out


def test_search_ranks_without_answering(filled):
    run = filled("search", "acid in coffee", "--top-k", 2)
    assert "Cold brewing" in run.out.splitlines()[0]
    rows = filled("search", "acid in coffee", "--top-k", 2, "--json").json
    assert [row["rank"] for row in rows] == [1, 2]


def test_the_cited_papers_are_written_as_bibliographies(filled):
    run = filled("ask", QUESTION, "--bibtex", "cited.bib", "--ris", "cited.ris")
    assert run.code == 0
    assert "10.1000/cold" in Path("cited.bib").read_text()
    assert "10.1000/cold" in Path("cited.ris").read_text()


def test_a_bibliography_that_cannot_be_written_costs_no_answer(filled):
    run = filled("ask", QUESTION, "--json", "--bibtex", "nowhere/cited.bib")
    assert run.code == 1
    assert run.json["question"] == QUESTION
    assert run.err.startswith("error: The file 'nowhere/cited.bib' cannot be written: No such file")


def test_what_a_model_writes_is_streamed_and_followed_by_its_sources(filled):
    reply = "scripted:It holds less acid [1]. Truly [9]."
    run = filled("ask", QUESTION, "--llm", reply)
    assert run.code == 0
    assert run.out.startswith("It holds less acid")
    assert "Cold brewing" in run.out
    answer = filled("ask", QUESTION, "--llm", reply, "--json").json
    assert (answer["llm"], answer["invented"]) != (None, [])
    assert answer["statements"][0]["support"] == "supported"


def test_questions_of_a_file_are_answered_in_order_with_their_ids(filled):
    asked = [
        {"question": QUESTION, "id": "b"},
        {"question": "How long does it take?", "id": 7, "history": ["What is cold brewing?"]},
        {"question": "   "},
        {"question": "\ud800"},
        {"question": "Do burr mills grind evenly?", "id": "a"},
    ]
    Path("questions.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n\n")
    run = filled("ask", "--questions", "questions.jsonl", "--json")
    assert [row.get("id") for row in run.rows] == ["b", 7, None, None, "a"]
    assert [row["question"] for row in run.rows] == [one["question"] for one in asked]
    assert "cold brewing" in run.rows[1]["searched"]
    assert "empty" in run.rows[2]["error"]
    assert "half a character" in run.rows[3]["error"]
    assert run.rows[4]["papers"][0]["title"] == "Grinding"
    assert run.code == 1
    assert run.err == ("error: 2 of 5 questions got no whole answer; their lines hold 'error'.\n")


def test_a_model_that_cannot_be_had_is_one_error_for_a_whole_file(filled):
    Path("questions.jsonl").write_text('{"question": "Is it?"}\n' * 3)
    run = filled("ask", "--questions", "questions.jsonl", "--json", "--llm", "pigeon:post")
    assert (run.code, run.out) == (1, "")
    assert run.err.startswith("error: There is no language model kind 'pigeon'.")
    assert run.err.count("\n") == 1


# ---- the program itself ----------------------------------------------------------------------


def test_settings_are_shown_with_secrets_masked(citewell, monkeypatch):
    monkeypatch.setenv("CITEWELL_LLM_API_KEY", "sk-test-123")
    run = citewell("settings")
    assert "embedder = word-hash" in run.out
    assert "sk-test-123" not in run.out
    rows = {row["name"]: row for row in citewell("settings", "--json").rows}
    assert rows["embedder"]["value"] == "word-hash"
    assert all(row["description"] for row in rows.values())


def test_doctor_gives_exit_code_1_for_what_fails(filled):
    assert filled("doctor").code == 0
    run = filled("doctor", "--json", "--llm", "gguf:none.gguf")
    assert run.code == 1
    assert [row["name"] for row in run.rows if row["ok"] is False] == ["llm"]


def test_doctor_finds_settings_that_cannot_be_loaded(citewell):
    Path("citewell.toml").write_text("top_k = 'many'\n")
    run = citewell("doctor", "--json")
    assert run.code == 1
    assert [row["name"] for row in run.rows if row["ok"] is False] == ["settings"]


@pytest.mark.parametrize("given", [None, "3"])
def test_numpy_gets_one_thread_unless_its_user_says_otherwise(given):
    code = """
import os, sys
from rag.cli import main
assert "numpy" not in sys.modules
sys.argv = ["citewell", "--help"]
try:
    main()
finally:
    print(os.environ["OPENBLAS_NUM_THREADS"], file=sys.stderr)
"""
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    env |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert done.stderr.strip() == (given or "1")
