"""Rationale sentences against BM25 and the cosine, worked out by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from eval.bench import fit_claims, rationales
from eval.bench.bm25 import K1, B, Bm25
from eval.bench.claims import Claim, grouped
from eval.bench.corpus import open_corpus
from eval.bench.qa import read_questions
from rag.embedders.minilm import packaged_minilm
from rag.errors import RecordError
from rag.evidence_model import EvidenceModel, packaged_model
from rag.index import no_progress
from rag.settings import load_settings

TINY = Path(__file__).parent / "data" / "eval" / "tiny"
TOLD = "Cold brewing lowers the acid content by 12 percent."


# ---- BM25


def test_bm25_weighs_words_by_rarity_and_texts_by_length():
    found = Bm25([["lead", "moss", "moss"], ["lead"], ["ants", "dig"]]).scores(["moss", "lead"])
    rare, common = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)
    long, short = (K1 * (1 - B + B * length / 2) for length in (3, 1))
    assert found == pytest.approx(
        [rare * 2 / (2 + long) + common / (1 + long), common / (1 + short), 0.0]
    )


def test_bm25_knows_nothing_of_other_words_and_counts_repeated_ones():
    bm25 = Bm25([["lead", "moss"], ["ants"]])
    assert bm25.scores(["crow"]).tolist() == [0.0, 0.0]
    assert bm25.scores(["moss", "moss"]) == pytest.approx(2 * bm25.scores(["moss"]))
    assert Bm25([]).scores(["moss"]).tolist() == []


# ---- claims


@pytest.mark.parametrize(
    ("members", "groups"),
    [
        ([["a"], ["b"], ["a"]], [0, 1, 0]),
        ([["a"], ["b"], ["c"], ["c", "a"], ["b"]], [0, 1, 0, 0, 1]),
        ([["a"], ["b"], ["b", "a"], ["d"]], [0, 0, 0, 2]),
        ([], []),
    ],
)
def test_claims_that_share_an_abstract_share_a_group_also_through_others(members, groups):
    assert grouped(members) == groups


@pytest.mark.parametrize(
    ("quotes", "values"),
    [
        (["x y z", TOLD, "p q r"], (0, 1, 2 / 3, 1 / 2)),
        ([TOLD], (1, 1, 1, 1)),
        (["x y z", "p q r", TOLD], (0, 1, 0, 1 / 2)),
        ([], (0, 0, 0, 0)),
    ],
)
def test_a_list_is_scored_by_its_first_sentence_its_three_and_f1(quotes, values):
    assert rationales.scored(quotes, [TOLD]) == pytest.approx(values)


# ---- figures


def claim(group):
    return Claim(read_questions(TINY / "qa.jsonl", limit=1, seed=0).cases[0], {}, group, "even")


def rows(*hits):
    table = np.repeat(np.asarray(hits, float)[:, None], len(rationales.METRICS), axis=1)
    return {place: table for place in rationales.PLACES}


def test_groups_are_exchanged_as_one():
    claims = [claim(group) for group in (0, 0, 0, 1)]
    found = {"bm25": rows(0, 0, 0, 0), "cosine": rows(1, 1, 1, 1), "plain": rows(1, 1, 1, 0)}
    table = rationales.figures("all", claims, found)
    assert len(table) == len(rationales.PLACES) * len(rationales.METRICS) * len(found)
    (one,) = (x for x in table if (x.ranker, x.place, x.metric) == ("plain", "within", "hit@1"))
    assert (one.value, one.n) == (0.75, 4)
    assert one.p == {"bm25": 1.0, "cosine": 1.0}  # one group differs: both exchanges are as large
    assert (one.low, one.high) == (0.0, 1.0)
    assert all(x.p == {} for x in table if x.ranker in rationales.BASELINES)


def test_a_difference_in_every_group_is_significant():
    claims = [claim(group) for group in range(12)]
    found = {"bm25": rows(*[0] * 12), "cosine": rows(*[1] * 12), "plain": rows(*[1] * 12)}
    (one, *_) = (x for x in rationales.figures("all", claims, found) if x.ranker == "plain")
    assert one.p == {"bm25": 2 / 2**12, "cosine": 1.0}


# ---- the whole measure


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return load_settings()


def test_baselines_rank_one_paper_or_the_corpus(tiny):
    with open_corpus(TINY, tiny, no_progress).library as library:
        papers = library.papers()
        baselines = rationales.Baselines(library.engine("quote").index, papers)
        first, second, *_ = read_questions(TINY / "qa.jsonl", limit=None, seed=0).cases
        pilots = next(paper.id for paper in papers if paper.title == "Sleep of pilots")
        for rank in (baselines.bm25, baselines.cosine):
            assert rank(first, None)[0] == TOLD
            assert rank(second, None)[0] == "A zinc coating delays rust by eleven years."
            within = rank(first, pilots)
            assert len(within) == 3
            assert "The study followed 64 pilots." in within


def test_a_corpus_with_no_unseen_abstract_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("eval.bench.claims.half_of", lambda name: "odd")
    with pytest.raises(RecordError, match="has not seen"):
        rationales.measure(TINY, tiny)


@pytest.mark.model
def test_one_command_writes_a_table_and_a_file(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    report = tmp_path / "report.json"
    assert rationales.main([str(TINY), "--json", str(report)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| claims | where | chosen by | hit@1 |")
    assert [line.split(" | ")[2] for line in lines[2:9]] == [
        *("bm25", "cosine", "plain") * 2,
        "bm25",
    ]
    table = json.loads(report.read_text())
    n = {(one["claims"], one["ranker"]): one["n"] for one in table}
    assert n[("all", "plain")] == 3
    assert n[("unseen", "read")] == 1  # d1 is the only one that the model has not seen
    assert ("all", "read") not in n
    assert {
        one["value"] for one in table if one["metric"] == "hit@3" and one["place"] == "within"
    } == {1.0}


@pytest.mark.model
def test_with_a_second_model_each_half_is_measured_by_the_one_that_has_not_seen_it(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    weights = Path(rationales.__file__).parents[2] / "rag" / "weights"
    asked: list[tuple[str, str]] = []

    def lists_of(index, claims, model):
        asked.extend((claim.half, model) for claim in claims)
        return fit_claims.lists_of(index, claims, model)

    second = EvidenceModel(packaged_minilm(), weights / "evidence_model.safetensors")
    made = {"even": packaged_model(), "odd": second}
    monkeypatch.setattr(rationales, "models_with", lambda path: made)
    monkeypatch.setattr(rationales, "lists_of", lists_of)
    report = tmp_path / "report.json"
    wished = [str(TINY), "--other-half", str(weights / "evidence_model.safetensors")]
    assert rationales.main([*wished, "--json", str(report)]) == 0
    n = {(one["claims"], one["ranker"]): one["n"] for one in json.loads(report.read_text())}
    assert n[("of one half", "read")] == n[("of one half", "bm25")] == n[("all", "plain")] == 3
    assert sorted(half for half, _ in asked) == ["even", "odd", "odd"]
    assert all(model is made[half] for half, model in asked)


def test_a_folder_that_is_none_is_told_in_a_sentence(capsys, tmp_path):
    assert rationales.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("error: ")
