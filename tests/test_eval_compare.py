"""Comparing two runs of the same questions."""

import dataclasses
import json
from pathlib import Path

import pytest

from eval.compare import (
    compare_folders,
    compare_runs,
    render_html,
    render_json,
    render_text,
    write_comparison,
)
from eval.report import build_run, load_run
from rag.errors import RecordError

FOLDER = Path(__file__).parent / "data" / "eval" / "run"


@pytest.fixture(scope="module")
def run():
    return load_run(FOLDER)


@pytest.fixture(scope="module")
def better(run):
    """Return the same run, but with 'none' and 'bad' passed and 'good' failed to pass."""
    outcomes = []
    for o in run.outcomes:
        if o.case_id in {"none", "bad", "good"}:
            passed = float(o.case_id != "good")
            metrics = dict(o.metrics) | {"passed": passed, "abstention_accuracy": 1.0}
            o = dataclasses.replace(o, metrics=metrics)
        outcomes.append(o)
    return build_run(run.cases, outcomes)


def test_differences_are_of_the_same_cases(run, better):
    found = compare_runs(run, better)
    passed = found.differences["passed"]
    # good 1→0, bad 0→1, none 0→1, silent 0→0; broken was scored in neither
    assert (passed.a, passed.b, passed.value, passed.n) == (1 / 4, 2 / 4, 1 / 4, 4)
    # of the 8 exchanges of three ±1 differences, all have a sum of at least 1 in size
    assert passed.p == 1.0
    assert found.shared == 5
    assert found.better("passed") == "–"
    assert found.differences["mrr"].value == 0


def test_the_cases_that_flipped_are_listed_gained_first_with_the_reason(run, better):
    found = compare_runs(run, better)
    assert [flip.case_id for flip in found.gained] == ["bad", "none"]
    assert [flip.case_id for flip in found.lost] == ["good"]
    assert [flip.case_id for flip in found.flips] == ["bad", "none", "good"]
    assert found.gained[1].why == ("It answered, though the library holds no answer.",)


def test_a_clear_difference_names_the_better_run(run):
    outcomes = [
        dataclasses.replace(
            run.outcomes[0],
            case_id=f"c{n}",
            metrics={"must_contain": 0.0, "aurc_like": 1.0},
            latency_ms=100.0 + n,
        )
        for n in range(20)
    ]
    after = [
        dataclasses.replace(o, metrics={"must_contain": 1.0}, latency_ms=o.latency_ms + 500)
        for o in outcomes
    ]
    found = compare_runs(build_run([], outcomes), build_run([], after))
    assert found.better("must_contain") == "B"
    assert found.better("latency_p50_ms") == "A"  # lower is better
    assert "aurc_like" not in found.differences  # only one run has it
    assert found.differences["latency_p50_ms"].value == pytest.approx(500)


def test_a_case_with_another_question_or_in_one_run_alone_is_left_out(run):
    changed = [dataclasses.replace(run.outcomes[0], question="Another?"), *run.outcomes[1:3]]
    extra = dataclasses.replace(run.outcomes[0], case_id="new")
    found = compare_runs(run, build_run(run.cases, [*changed, extra]))
    assert found.shared == 2
    assert found.notes == (
        "2 cases are in A alone and are left out.",
        "1 cases are in B alone and are left out.",
        "1 cases are under one id with different questions and are left out.",
    )


def test_runs_without_a_common_case_are_refused(run):
    other = [dataclasses.replace(run.outcomes[0], case_id="x")]
    with pytest.raises(RecordError, match="'A' and 'B' share no case"):
        compare_runs(run, build_run([], other))


def test_a_folder_compared_with_itself_shows_nothing():
    found = compare_folders(FOLDER, FOLDER)
    assert not found.flips
    assert {difference.value for difference in found.differences.values()} == {0}


def test_text_json_and_html(run, better, tmp_path):
    found = compare_runs(run, better, name_a="lexical", name_b="<i>hybrid</i>")
    text = render_text(found)
    assert "A = lexical, B = <i>hybrid</i>; 5 cases in both" in text
    assert "Gained in B: 2" in text
    assert "\x1b" not in text
    assert json.loads(render_json(found))["differences"]["passed"]["value"] == 0.25
    page = render_html(found)
    assert "&lt;i&gt;hybrid" in page
    assert "<script>alert" not in page
    names = [path.name for path in write_comparison(tmp_path, found)]
    assert names == ["compare.txt", "compare.json", "compare.html"]
    assert (tmp_path / "compare.txt").read_text(encoding="utf-8") == text


def test_a_terminal_is_not_given_control_characters(run):
    first = dataclasses.replace(run.outcomes[0], question="Is \x1b[31mred\x07?")
    other = dataclasses.replace(first, metrics={"passed": 0.0})
    text = render_text(compare_runs(build_run([], [first]), build_run([], [other])))
    assert "Is �[31mred�?" in text
