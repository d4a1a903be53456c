"""Weights for claims: fitted list by list, on both halves of the papers."""

import json
import shutil
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from eval.bench import fit_claims
from eval.bench.linear import fit_lists, linear_by_name
from rag.fitted import SENTENCE_FEATURES, Linear

TINY = Path(__file__).parent / "data" / "eval" / "tiny"
WEIGHTS = Path(str(resources.files("rag").joinpath("weights")))


# ---- the fit


def test_a_list_is_fitted_by_what_sets_its_right_row_apart():
    """The first feature says which list it is, the second is higher where a row is right."""
    made = np.random.default_rng(0)
    lists = []
    for _ in range(40):
        right = np.zeros(5)
        right[made.integers(5)] = 1
        rows = np.stack([np.full(5, made.normal()), right + made.normal(0, 0.3, 5)], axis=1)
        lists.append((rows, right))
    model = fit_lists([*lists, (np.ones((3, 2)), np.zeros(3))])
    assert model.weights[1] > 10 * abs(model.weights[0])
    chances = [1 / (1 + np.exp(-model.logits(rows))) for rows, _ in lists]
    assert np.mean([c[right > 0] for c, (_, right) in zip(chances, lists, strict=True)]) > 0.8
    assert np.mean([c[right == 0] for c, (_, right) in zip(chances, lists, strict=True)]) < 0.1


def test_lists_without_a_right_row_are_nothing_to_fit_on():
    with pytest.raises(ValueError, match="no list holds a right row"):
        fit_lists([(np.ones((2, 1)), np.zeros(2))])


def test_a_model_is_stored_by_the_names_of_its_features():
    stored = linear_by_name(Linear((0.123456, -2.0), 1.00004), ("cosine", "place"))
    assert stored == {"weights": {"cosine": 0.1235, "place": -2.0}, "bias": 1.0}


# ---- the command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The small benchmark, its questions put as claims."""
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return shutil.copytree(TINY, tmp_path / "tiny")


@pytest.fixture
def out(tmp_path):
    return Path(shutil.copy(WEIGHTS / "evidence.json", tmp_path / "evidence.json"))


@pytest.mark.model
def test_one_command_puts_weights_for_claims_beside_the_others(folder, out, tmp_path):
    before = json.loads(out.read_text())
    model = WEIGHTS / "evidence_model.safetensors"
    wished = [str(folder), "--other-half", str(model), "--out", str(out)]
    assert fit_claims.main(wished) == 0
    after = json.loads(out.read_text())
    assert tuple(after["read"]["claim"]["weights"]) == SENTENCE_FEATURES
    assert any(after["read"]["claim"]["weights"].values())
    for mode in ("plain", "read"):
        before[mode].pop("claim", None)
        after[mode].pop("claim", None)
    assert after == before


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ("qa.jsonl", "cannot be read"),
        ("model", "The weights 'none.safetensors' cannot be read"),
        ("half", "one has none"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence_and_nothing_is_written(
    folder, out, tmp_path, capsys, missing, told
):
    model = WEIGHTS / "evidence_model.safetensors"
    if missing == "qa.jsonl":
        (folder / missing).unlink()
    if missing == "model":
        model = tmp_path / "none.safetensors"
    if missing == "half":
        first = (folder / "qa.jsonl").read_text().splitlines()[0]
        (folder / "qa.jsonl").write_text(first + "\n")
    before = out.read_bytes()
    assert fit_claims.main([str(folder), "--other-half", str(model), "--out", str(out)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert told in error
    assert out.read_bytes() == before
