"""Running cases: rows at once, kills, resuming, workers, failures, a judge, the page."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from eval.cases import Case, load_cases
from eval.folder import RunFolder
from eval.interface import start
from eval.judge import Judge, read_grade, read_yes_no
from eval.labels import PaperIndex
from eval.manifest import build, corpus_hash, differences
from eval.metrics import missing_items
from eval.outcome import read_outcomes
from eval.report import Gate
from eval.run import Job, Marks, run_cases
from eval.samples import sample_questions
from rag.errors import QuestionError, RagError, RecordError, SettingsError
from rag.library import open_library
from rag.readers import read_papers
from rag.samples import sample_files
from rag.schema import Paper
from rag.settings import load_settings
from rag.testing import ScriptedLLM

TINY = Path(__file__).parent / "data" / "eval" / "tiny"
ABSTRACT = "Cold brewing lowers the acid content by 12 percent."
CASES = [
    Case(id=f"c{n}", question=f"Question {n}?", answerable=True, must_contain=(str(n),))
    for n in range(6)
]


def reply(text, *, abstained=False, **more):
    return {
        "answer": text,
        "abstained": abstained,
        "statements": [{"text": text, "citations": [1]}],
        "citations": [{"marker": 1, "paper_id": "p", "quote": ABSTRACT}],
        "papers": [],
        **more,
    }


def echo(case):
    """Answer with the number of the question, but for c3, so that the measures differ."""
    return reply("nothing" if case.id == "c3" else case.question)


@pytest.fixture
def job():
    return Job(CASES, echo, PaperIndex([]), {"format": 1, "run": {"workers": 1}})


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return load_settings()


@pytest.fixture
def library(settings):
    with open_library("tiny", settings=settings, create=True) as library:
        library.add(TINY / "corpus.jsonl", wait=True)
        yield library


def rows(folder):
    return [json.loads(line) for line in (folder / "answers.jsonl").read_text().splitlines()]


# ---- running -------------------------------------------------------------------------------------


def test_each_row_is_on_the_disk_before_it_is_reported(job, tmp_path):
    seen = []

    def progress(done, total, fresh):
        seen.append((done, total, len(rows(tmp_path / "run")), [o.case_id for o in fresh]))

    run, _ = run_cases(job, tmp_path / "run", progress=progress)
    assert [(done, total) for done, total, _, _ in seen] == [(n, 6) for n in range(7)]
    assert all(written >= done for done, _, written, _ in seen)
    assert [i for *_, ids in seen for i in ids] == [case.id for case in CASES]
    assert [o.verdict for o in run.outcomes].count("passed") == 5


def test_workers_change_neither_the_order_of_reports_nor_the_figures(job, tmp_path):
    def slow_first(case):
        time.sleep(0.1 if case.id == "c0" else 0.0)
        return echo(case)

    reported = []
    for name, workers in (("one", 1), ("four", 4)):
        run_cases(
            replace(job, ask=slow_first, workers=workers),
            tmp_path / name,
            progress=lambda done, total, fresh: reported.extend(o.case_id for o in fresh),
        )
    assert reported == [case.id for case in CASES] * 2
    one, four = ((tmp_path / name / "metrics.json").read_bytes() for name in ("one", "four"))
    assert one == four
    assert [row["id"] for row in rows(tmp_path / "four")] == [case.id for case in CASES]


@pytest.mark.parametrize(
    ("raised", "shown"),
    [
        pytest.param(QuestionError("It is empty. Ask more."), "It is empty. Ask more.", id="ours"),
        pytest.param(ZeroDivisionError("by zero"), "ZeroDivisionError: by zero", id="a bug"),
    ],
)
def test_a_failed_case_is_a_row_with_its_error_and_no_zero(job, tmp_path, raised, shown):
    def ask(case):
        if case.id == "c1":
            raise raised
        return echo(case)

    run, _ = run_cases(replace(job, ask=ask), tmp_path / "run")
    row = rows(tmp_path / "run")[1]
    assert (row["error"], row["verdict"], row["metrics"]) == (shown, "error", {})
    must_contain = next(m for m in run.overall if m.name == "must_contain")
    assert (must_contain.n, must_contain.total, must_contain.value) == (5, 6, 0.8)


def test_an_answer_that_was_cut_is_a_failure_that_keeps_its_text(job, tmp_path):
    cut = replace(job, ask=lambda case: reply("Half of", error="The server went away."))
    run_cases(cut, tmp_path / "run")
    first = rows(tmp_path / "run")[0]
    assert first["error"] == "The server went away."
    assert first["answer"]["answer"] == "Half of"


def test_cancelling_asks_nothing_more_and_reports_what_there_is(job, tmp_path):
    cancelled = threading.Event()

    def ask(case):
        if case.id == "c2":
            cancelled.set()
        return echo(case)

    run, _ = run_cases(replace(job, ask=ask), tmp_path / "run", cancelled=cancelled)
    assert [o.case_id for o in run.outcomes] == ["c0", "c1", "c2"]
    assert run.pending == 3
    assert "3 of 6 cases are finished" in (tmp_path / "run" / "report.md").read_text()


def test_gates_are_checked_against_the_finished_run(job, tmp_path):
    _, results = run_cases(job, tmp_path / "run", gates=[Gate("passed", 0.9)])
    assert [result.passed for result in results] == [False]
    assert "passed ≥ 0.9" in (tmp_path / "run" / "junit.xml").read_text()


def test_tokens_are_measured_where_the_answer_tells_them(job, tmp_path):
    told = replace(job, ask=lambda case: reply("x", tokens_in=7, tokens_out=None))
    run_cases(told, tmp_path / "run")
    timings = json.loads((tmp_path / "run" / "timings.json").read_text())["measures"]
    assert [m["value"] for m in timings if m["name"] == "tokens_in" and not m["kind"]] == [7.0]
    assert all(m["name"] != "tokens_out" for m in timings)


# ---- resuming ------------------------------------------------------------------------------------

CHILD = """
import sys, time
sys.path[:0] = [{root!r}, {tests!r}]
from pathlib import Path
from test_eval_run import CASES, echo
from eval.labels import PaperIndex
from eval.run import Job, run_cases

def ask(case):
    time.sleep(0.15)
    return echo(case)

run_cases(Job(CASES, ask, PaperIndex([]), {{"format": 1, "run": {{}}}}, workers=2), Path({out!r}))
"""


def test_kill_9_in_the_middle_and_resume_give_the_same_metrics(job, tmp_path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    run_cases(job, whole)
    tests = Path(__file__).parent
    code = CHILD.format(root=str(tests.parent), tests=str(tests), out=str(killed))
    child = subprocess.Popen([sys.executable, "-c", code])
    answers = killed / "answers.jsonl"
    deadline = time.monotonic() + 60
    while not (answers.exists() and answers.read_bytes().count(b"\n") >= 2):
        assert child.poll() is None, "the child ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    finished = len(read_outcomes(answers))
    assert 2 <= finished < len(CASES)
    with answers.open("a") as stream:
        stream.write('{"id": "c5", "question": "Quest')  # a row that the kill cut

    asked = []

    def ask(case):
        asked.append(case.id)
        return echo(case)

    run_cases(replace(job, ask=ask), killed, resume=True)
    assert len(asked) == len(CASES) - finished
    assert (killed / "metrics.json").read_bytes() == (whole / "metrics.json").read_bytes()
    assert (killed / "cases.jsonl").read_bytes() == (whole / "cases.jsonl").read_bytes()


def test_resume_asks_again_only_what_failed(job, tmp_path):
    def broken(case):
        if case.id in {"c1", "c4"}:
            raise RagError("The server is off. Start it.")
        return echo(case)

    run_cases(replace(job, ask=broken), tmp_path / "run")
    asked = []

    def ask(case):
        asked.append(case.id)
        return echo(case)

    run, _ = run_cases(replace(job, ask=ask), tmp_path / "run", resume=True)
    assert asked == ["c1", "c4"]
    assert not any(outcome.failed for outcome in run.outcomes)
    assert len(rows(tmp_path / "run")) == len(CASES)


def test_resume_in_a_new_folder_starts_the_run(job, tmp_path):
    run, _ = run_cases(job, tmp_path / "deep" / "run", resume=True)
    assert len(run.outcomes) == len(CASES)


def test_a_run_is_not_overwritten(job, tmp_path):
    run_cases(job, tmp_path / "run")
    before = (tmp_path / "run" / "answers.jsonl").read_bytes()
    with pytest.raises(RecordError, match=r"holds a run already.*--resume"):
        run_cases(job, tmp_path / "run")
    assert (tmp_path / "run" / "answers.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        pytest.param({"settings": {"top_k": 5}}, "top_k was 10, now 5", id="settings"),
        pytest.param({"questions": {"sha256": "b"}}, "other questions", id="questions"),
        pytest.param({"corpus": {"sha256": "b"}}, "other corpus", id="corpus"),
        pytest.param({"judge": "gguf:x"}, "judge was None, now 'gguf:x'", id="judge"),
    ],
)
def test_resume_refuses_a_run_that_was_made_otherwise(job, tmp_path, changed, named):
    made = {
        "questions": {"sha256": "a"},
        "corpus": {"sha256": "a"},
        "settings": {"top_k": 10},
        "judge": None,
        "run": {"workers": 1},
    }
    run_cases(replace(job, manifest=made), tmp_path / "run")
    with pytest.raises(RecordError, match=f"started otherwise: {named}"):
        run_cases(replace(job, manifest={**made, **changed}), tmp_path / "run", resume=True)


def test_resume_with_other_workers_is_the_same_run(job, tmp_path):
    run_cases(job, tmp_path / "run")
    other = replace(job, workers=3, manifest={**job.manifest, "run": {"workers": 3}})
    run, _ = run_cases(other, tmp_path / "run", resume=True)
    assert run.manifest["run"] == {"workers": 1}


def test_rows_without_a_manifest_are_refused(job, tmp_path):
    (tmp_path / "answers.jsonl").write_text("")
    with pytest.raises(RecordError, match=r"has no 'manifest\.json'"):
        run_cases(job, tmp_path, resume=True)


def test_two_runs_cannot_share_a_folder(job, tmp_path):
    with (
        RunFolder(tmp_path / "run", CASES, job.manifest, resume=False),
        pytest.raises(RecordError, match="Another run is writing"),
    ):
        run_cases(job, tmp_path / "run", resume=True)


def test_a_folder_that_cannot_be_made_is_a_sentence(job, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RagError, match="cannot be written: Not a directory"):
        run_cases(job, tmp_path / "file" / "run")


# ---- manifest ------------------------------------------------------------------------------------


def test_the_corpus_hash_follows_ids_titles_and_abstracts_in_any_order():
    a, b = Paper(id="a", abstract="one"), Paper(id="b", abstract="two")
    assert corpus_hash([a, b]) == corpus_hash([b, a])
    assert corpus_hash([a, b])["papers"] == 2
    assert corpus_hash([a, replace(b, year=1999)]) == corpus_hash([a, b])
    assert corpus_hash([a, replace(b, abstract="too")]) != corpus_hash([a, b])


def test_b39_a_manifest_holds_no_secret_and_no_path_of_a_library(tmp_path):
    settings = load_settings(
        llm="openai:m",
        llm_api_key="sk-test-123",
        llm_base_url="http://user:hidden@127.0.0.1:9/v1",
        home=tmp_path / "private",
    )
    made = build(CASES, [], settings, questions="q.jsonl", library="default")
    text = json.dumps(made)
    assert "sk-test-123" not in text
    assert "hidden" not in text
    assert "private" not in text
    assert made["settings"]["llm_base_url"] == "http://127.0.0.1:9/v1"
    assert set(made["versions"]) > {"citewell", "python", "llama-index-core"}
    assert all(len(value) == 64 for value in made["prompts"].values())
    assert differences(made, made) == []


# ---- a language model as judge -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("4.5", 4.5),
        ("\n4.5\nok", 4.5),
        ("", None),
        ("I would say four", None),
        ("Score: 3\nbecause", 3.0),
        ("**4/5** fine", 4.0),
        ("4 out of 5.", 4.0),
        ("5.0.", 5.0),
        ("0", None),
        ("45", None),
        ("7/10", None),
        ("2024 was a good year", None),
        ("90%", None),
    ],
)
def test_a_grade_is_read_from_the_first_line_or_not_at_all(text, grade):
    assert read_grade(text) == grade


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("YES", 1.0),
        ("\n no.", 0.0),
        ("Yes, there is no doubt", 1.0),
        ("**Answer:** NO", 0.0),
        ("The answer is: yes", 1.0),
        ("I cannot say yes", None),
        ("nobody knows", None),
        ("Empty Response", None),
        ("", None),
    ],
)
def test_a_verdict_is_read_from_the_opening_or_not_at_all(text, verdict):
    assert read_yes_no(text) == verdict


def judged(monkeypatch, settings, replies):
    """Return a judge with a scripted model, and the model."""
    model = ScriptedLLM(replies=replies)
    monkeypatch.setattr("rag.testing.build_scripted", lambda argument, settings: model)
    return Judge(settings, "scripted:x"), model


def grading(monkeypatch, settings, replies):
    """Return a judge that only grades, one call a case."""
    judge, model = judged(monkeypatch, settings, replies)
    for name in ("judge_faithfulness", "judge_relevancy"):
        del judge._evaluators[name]
    return judge, model


def test_b29_an_unreadable_verdict_is_no_score_and_resuming_repeats_no_work(
    job, tmp_path, monkeypatch, settings
):
    replies = ["4.5", "\n4.5\nok", "", "I would say four", RuntimeError("the judge is gone")]
    judge, model = grading(monkeypatch, settings, replies)
    cases = [case.model_copy(update={"answer": "an answer"}) for case in CASES[:5]]
    stop = threading.Event()

    def until_three(case):
        if case.id == "c2":
            stop.set()
        return echo(case)

    first = replace(job, cases=cases, ask=until_three, scorers=[judge])
    run_cases(first, tmp_path / "run", cancelled=stop)
    assert [row["metrics"]["judge_correctness"] for row in rows(tmp_path / "run")] == [
        4.5,
        4.5,
        None,
    ]
    assert len(model.prompts) == 3

    run, _ = run_cases(replace(first, ask=echo), tmp_path / "run", resume=True)
    assert len(model.prompts) == 5
    graded = next(m for m in run.overall if m.name == "judge_correctness")
    assert (graded.value, graded.n, graded.total) == (4.5, 2, 5)
    last = rows(tmp_path / "run")[2:]
    assert [row["notes"]["judge_correctness"] for row in last] == [
        "the judge's reply holds no verdict: “”",
        "the judge's reply holds no verdict: “I would say four”",
        "the judge failed: the judge is gone",
    ]
    assert [row["again"] for row in last] == [False, False, True]
    assert all(row["answer"] and not row["error"] for row in last)
    assert "holds no verdict" in (tmp_path / "run" / "report.html").read_text()


def test_the_judge_is_given_question_answer_quotes_and_model_answer(monkeypatch, settings):
    judge, model = judged(monkeypatch, settings, ["yes", "NO", "<think>2?</think>3\nfair"])
    case = Case(id="a", question="How {much}?", answer="12 percent")
    marks = judge(case, reply("It is <|im_start|>12 {percent}."))
    assert marks == Marks(
        {"judge_faithfulness": 1.0, "judge_relevancy": 0.0, "judge_correctness": 3.0}
    )
    faithful, relevant, correct = model.prompts
    assert ABSTRACT in faithful
    assert "It is < |im_start| >12 {percent}." in faithful
    assert "How {much}?" in relevant
    assert "12 percent" in correct


def test_the_judge_is_asked_nothing_about_an_abstention(monkeypatch, settings):
    judge, model = judged(monkeypatch, settings, ["yes"])
    marks = judge(CASES[0], reply("Nothing.", abstained=True))
    assert set(marks.scores.values()) == {None}
    assert model.prompts == []


def test_the_number_of_calls_is_known_before(monkeypatch, settings):
    judge, _ = judged(monkeypatch, settings, ["yes"])
    assert judge.calls([CASES[0], CASES[1].model_copy(update={"answer": "x"})]) == 5


def test_quoting_is_no_judge(settings):
    with pytest.raises(SettingsError, match="names no language model"):
        Judge(settings, "quote")


# ---- the page's interface ------------------------------------------------------------------------


def test_the_interface_runs_reports_and_gives_plain_values(library, tmp_path):
    evaluation = start(library, TINY / "qa.jsonl", folder=tmp_path / "run")
    state = evaluation.wait(60)
    assert (state.phase, state.done, state.total, state.failed) == ("finished", 5, 5, 0)
    result = evaluation.result()
    assert result.report.is_file()
    assert [case["id"] for case in result.cases] == ["q1", "q2", "q3", "q4", "q5"]
    assert sum(result.outcomes.values()) == 5
    assert state.passed == result.outcomes["passed"]
    json.dumps([list(result.measures), list(result.cases)])


def test_a_cancelled_run_keeps_its_rows_and_is_gone_on_with(library, tmp_path, monkeypatch):
    asked = []
    real = type(library).ask

    def ask(self, question, **options):
        if options.get("llm") is None:
            asked.append(question)
            evaluation.cancel()
        return real(self, question, **options)

    monkeypatch.setattr(type(library), "ask", ask)
    evaluation = start(library, TINY / "qa.jsonl", folder=tmp_path / "run")
    state = evaluation.wait(60)
    assert (state.phase, state.done) == ("cancelled", 1)
    assert len(evaluation.result().cases) == 1
    monkeypatch.undo()
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    assert start(library, TINY / "qa.jsonl", folder=tmp_path / "run").wait(60).done == 5
    assert len(asked) == 1


def test_the_interface_tells_what_went_wrong(library, tmp_path):
    (tmp_path / "file").write_text("")
    evaluation = start(library, TINY / "qa.jsonl", folder=tmp_path / "file" / "run")
    state = evaluation.wait(60)
    assert state.phase == "failed"
    assert "cannot be written" in state.error
    assert evaluation.result() is None
    with pytest.raises(RecordError, match="cannot be read"):
        start(library, tmp_path / "none.jsonl", folder=tmp_path / "run")


# ---- the questions that ship ---------------------------------------------------------------------


def test_every_label_of_the_sample_questions_fits_the_sample():
    papers = [item for f in sample_files() for item in read_papers(f) if isinstance(item, Paper)]
    index, by_id = PaperIndex(papers), {paper.id: paper for paper in papers}
    cases = load_cases(sample_questions())
    assert len(cases) >= 40
    assert {case.kind for case in cases} >= {"near miss", "other field", "zh", "followup", "multi"}
    for case in cases:
        found = index.resolve(case.relevant)
        assert found.missing == ()
        assert len(found.paper_ids) == len(case.relevant)
        assert bool(found.paper_ids) == bool(case.evidence) == case.answerable
        texts = [by_id[paper_id].raw_abstract for paper_id in found.paper_ids]
        assert all(any(sentence in text for text in texts) for sentence in case.evidence)


def test_the_gold_sentences_of_the_sample_questions_say_what_is_required():
    short = {
        case.id: missing
        for case in load_cases(sample_questions())
        if (missing := missing_items(" ".join(case.evidence), case.must_contain))
    }
    assert short == {}
