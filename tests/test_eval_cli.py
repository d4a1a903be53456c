"""``citewell eval`` as a user types it: exit codes, what is printed, what the folder holds."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

TINY = Path(__file__).parent / "data" / "eval" / "tiny"
FILES = {
    *("cases.jsonl", "answers.jsonl", "metrics.json", "timings.json", "manifest.json"),
    *("report.md", "report.html", "junit.xml"),
}


@pytest.fixture(autouse=True)
def quick_embedder(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")


@pytest.fixture
def filled(citewell):
    """The program, with a library of six papers."""
    citewell("add", TINY / "corpus.jsonl", "--wait")
    return citewell


def test_a_run_prints_its_figures_and_fills_its_folder(filled):
    run = filled("eval", TINY / "qa.jsonl", "--out", "run")
    assert (run.code, run.err) == (0, "")
    first, *lines = run.out.splitlines()
    assert first.startswith("5 of 5 cases: ")
    assert any(line.startswith("must_contain ") and line.endswith(" 2 of 5") for line in lines)
    assert lines[-1] == "All measures and cases: run/report.html"
    assert {path.name for path in Path("run").iterdir() if path.name[0] != "."} == FILES


def test_json_gives_the_figures_on_one_line(filled):
    run = filled("eval", TINY / "qa.jsonl", "--out", "run", "--json")
    value = run.json
    assert run.out.count("\n") == 1
    assert (value["out"], value["cases"], value["finished"]) == ("run", 5, 5)
    assert sum(value["outcomes"].values()) == 5
    kept = json.loads(Path("run/metrics.json").read_text())["measures"]
    overall = {m["name"]: m for m in kept if m["kind"] is None and m["value"] is not None}
    assert {k: v for k, v in value["measures"].items() if k in overall} == overall


def test_without_out_each_run_gets_a_folder_of_its_own(filled):
    outs = [filled("eval", TINY / "qa.jsonl", "--json").json["out"] for _ in range(2)]
    assert outs[0] != outs[1]
    assert all(
        out.startswith("eval-runs/qa-") and Path(out, "report.html").exists() for out in outs
    )


def test_a_gate_that_is_not_met_is_exit_code_1_and_a_junit_failure(filled):
    run = filled(
        "eval", TINY / "qa.jsonl", "--out", "run", "--min", "recall@10=0", "--min", "mrr=1.1"
    )
    assert run.code == 1
    assert "mrr ≥ 1.1: not met" in run.err
    assert "recall@10 ≥ 0: met" in run.out
    suites = ElementTree.parse("run/junit.xml").getroot()
    assert (suites.get("tests"), suites.get("failures"), suites.get("errors")) == ("7", "1", "0")


def test_gates_that_are_met_are_exit_code_0(filled):
    run = filled(
        "eval", TINY / "qa.jsonl", "--out", "run", "--min", "recall@10=0", "--max", "failed=0"
    )
    assert (run.code, run.err) == (0, "")


@pytest.mark.parametrize(
    ("gate", "told"),
    [
        pytest.param("bogus=1", "There is no measure 'bogus'", id="unknown"),
        pytest.param("mrr", "'mrr' is no gate", id="no number"),
    ],
)
def test_a_wrong_gate_is_told_before_anything_is_asked(filled, gate, told):
    run = filled("eval", TINY / "qa.jsonl", "--out", "run", "--min", gate)
    assert (run.code, run.out) == (1, "")
    assert told in run.err
    assert not Path("run").exists()


def test_bad_lines_are_named_before_anything_is_asked(filled):
    Path("q.jsonl").write_text('{"question": "Fine?"}\n{"question": ""}\nnot json\n')
    run = filled("eval", "q.jsonl", "--out", "run")
    assert run.code == 1
    assert "line 2: 'question' is empty" in run.err
    assert "line 3: not valid JSON" in run.err
    assert not Path("run").exists()


def test_a_question_that_cannot_be_asked_is_a_row_and_exit_code_1(filled):
    Path("q.jsonl").write_text(
        json.dumps({"question": "Does a nap help pilots?"})
        + "\n"
        + json.dumps({"question": "x" * 20_000})
        + "\n"
    )
    run = filled("eval", "q.jsonl", "--out", "run")
    assert run.code == 1
    assert "1 of 2 cases failed" in run.err
    assert "--out 'run' --resume" in run.err
    rows = [json.loads(line) for line in Path("run/answers.jsonl").read_text().splitlines()]
    assert [bool(row["error"]) for row in rows] == [False, True]
    assert "Traceback" not in run.err


def test_a_run_is_resumed_or_refused_by_its_settings(filled):
    assert filled("eval", TINY / "qa.jsonl", "--out", "run").code == 0
    refused = filled("eval", TINY / "qa.jsonl", "--out", "run")
    assert refused.code == 1
    assert "--resume" in refused.err
    assert filled("eval", TINY / "qa.jsonl", "--out", "run", "--resume").code == 0
    other = filled("eval", TINY / "qa.jsonl", "--out", "run", "--resume", "--retrieval", "lexical")
    assert other.code == 1
    assert "retrieval was 'hybrid', now 'lexical'" in other.err
    Path("more.jsonl").write_text((TINY / "qa.jsonl").read_text() + '{"question": "One more?"}\n')
    other = filled("eval", "more.jsonl", "--out", "run", "--resume")
    assert "other questions" in other.err
    filled("add", Path(__file__).parent / "data" / "readers" / "mixed.bib")
    other = filled("eval", TINY / "qa.jsonl", "--out", "run", "--resume")
    assert "other corpus" in other.err


def test_two_runs_are_compared_as_text_json_and_html(filled):
    for mode in ("lexical", "hybrid"):
        filled("eval", TINY / "qa.jsonl", "--out", mode, "--retrieval", mode)
    text = filled("eval", "compare", "lexical", "hybrid", "--html", "c.html")
    assert (text.code, text.err) == (0, "")
    assert text.out.startswith("A = lexical, B = hybrid; 5 cases in both")
    assert "Gained in B: " in text.out
    assert Path("c.html").read_text().startswith("<!doctype html>")
    value = filled("eval", "compare", "lexical", "hybrid", "--json").json
    assert value["shared"] == 5
    assert value["differences"]["mrr"]["n"] == 3


def test_compare_names_a_folder_that_is_no_run(citewell, tmp_path):
    run = citewell("eval", "compare", tmp_path, tmp_path)
    assert run.code == 1
    assert "so it is no run" in run.err


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["eval"], id="no questions"),
        pytest.param(["eval", "q.jsonl", "--resume"], id="resume without a folder"),
        pytest.param(["eval", "q.jsonl", "--workers", "0"], id="no workers"),
        pytest.param(["eval", "q.jsonl", "more.jsonl"], id="two files"),
        pytest.param(["eval", "compare", "one"], id="one run"),
        pytest.param(["bench", "qa", "a", "b", "--questions", "q.jsonl"], id="whose questions"),
        pytest.param(["bench", "retrieval"], id="no folder"),
    ],
)
def test_wrong_usage_is_exit_code_2(citewell, arguments):
    run = citewell(*arguments)
    assert (run.code, run.out) == (2, "")
    assert "Usage: citewell" in run.err


def test_the_help_of_eval_names_its_options_and_compare(citewell):
    run = citewell("eval", "--help")
    assert run.out.startswith("Usage: citewell eval [OPTIONS] [QUESTIONS]")
    assert "--min METRIC=VALUE" in run.out
    assert "compare  Say how two runs" in run.out


def test_b29_the_judge_states_its_calls_and_its_failures_are_exit_code_1(filled, monkeypatch):
    from rag.testing import ScriptedLLM

    model = ScriptedLLM(replies=["yes", "no", "4", RuntimeError("gone")])
    monkeypatch.setattr("rag.testing.build_scripted", lambda argument, settings: model)
    run = filled("eval", TINY / "qa.jsonl", "--out", "run", "--judge", "scripted:x", "--json")
    assert run.err.startswith("The judge 'scripted:x' is called up to 13 times.\n")
    assert run.code == 1
    assert "The judge failed on " in run.err
    faithful = run.json["measures"]["judge_faithfulness"]
    assert (faithful["value"], faithful["n"], faithful["total"]) == (1.0, 1, 5)
    assert json.loads(Path("run/manifest.json").read_text())["judge"] == "scripted:x"


def test_an_llm_answers_when_it_is_named(filled):
    text = "scripted:Cold brewing lowers it by 12 percent [1]."
    run = filled("eval", TINY / "qa.jsonl", "--out", "run", "--llm", text, "--json")
    assert run.code == 0
    rows = [json.loads(line) for line in Path("run/answers.jsonl").read_text().splitlines()]
    assert any(row["answer"]["llm"] == text for row in rows)


def test_the_model_is_checked_before_the_first_question(filled):
    run = filled("eval", TINY / "qa.jsonl", "--out", "run", "--llm", "nonsense:x")
    assert run.code == 1
    assert "no language model kind 'nonsense'" in run.err
    assert not Path("run").exists()


def test_the_sample_questions_run_on_the_sample_library(citewell):
    run = citewell("eval", "--sample", "--out", "run", "--workers", "2", "--json")
    assert run.code == 0
    assert run.json["finished"] == run.json["cases"] >= 40
    assert run.json["measures"]["recall@10"]["value"] > 0.8
