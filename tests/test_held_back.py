"""What questions that were kept back get, with and without the evidence model."""

import json
from pathlib import Path

import pytest

from eval.bench import held_back
from eval.bench.held_back import Seen, figures
from rag.library import open_library

DATA = Path(__file__).parent / "data" / "evidence"


def test_shares_have_wilson_intervals_and_near_misses_an_area():
    good = [
        Seen(True, True, True, 0.9),
        Seen(True, False, True, 0.6),
        Seen(False, False, False, 0.1),
        Seen(True, True, True, 0.5),
    ]
    near = [Seen(True, False, False, 0.55), Seen(True, False, False, 0.05)]
    found = {one.measure: one for one in figures("read", "English", good, near, 0.2)}
    assert {name: (one.value, one.n) for name, one in found.items()} == {
        "right paper first": (0.75, 4),
        "first sentence is gold": (0.5, 4),
        "gold among 3": (0.75, 4),
        "answerable refused": (0.25, 4),
        "near misses abstained": (0.5, 2),
        "near misses, AUC": (0.75, 6),
    }
    paper = found["right paper first"]
    assert (paper.low, paper.high) == pytest.approx((0.3006, 0.9544), abs=1e-4)
    assert found["near misses, AUC"].low is None


def test_without_near_misses_there_is_no_figure_of_them():
    measures = [
        one.measure for one in figures("plain", "others", [Seen(True, True, True, 1)], [], 0.2)
    ]
    assert measures == [
        *("right paper first", "first sentence is gold", "gold among 3", "answerable refused")
    ]


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    with open_library("tiny", create=True) as library:
        library.add(DATA / "papers.jsonl", wait=True)


@pytest.mark.model
def test_one_command_compares_both_modes(tiny, tmp_path, capsys):
    report = tmp_path / "report.json"
    asked = ["--questions", str(DATA / "questions.jsonl"), "--library", "tiny"]
    assert held_back.main([*asked, "--json", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| questions | measure | plain | read | n |"
    table = json.loads(report.read_text())
    assert {one["mode"] for one in table} == {"plain", "read"}
    paper = [one for one in table if one["measure"] == "right paper first"]
    assert [one["value"] for one in paper] == [1.0, 1.0]
    assert (
        f"| English | right paper first | {held_back._cell(held_back.Figure(**paper[0]))} |"
        in lines[2]
    )


@pytest.mark.parametrize(
    ("file", "library", "told"),
    [
        pytest.param("none.jsonl", "tiny", "cannot be read", id="no file"),
        pytest.param("questions.jsonl", "other", "No library 'other'", id="no library"),
        pytest.param("claims.jsonl", "tiny", "No question of 'claims.jsonl'", id="none kept back"),
    ],
)
def test_what_cannot_be_measured_is_told_in_a_sentence(tiny, capsys, file, library, told):
    assert held_back.main(["--questions", str(DATA / file), "--library", library]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert told in error
