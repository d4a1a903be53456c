"""Benchmark folders, judgments and run files."""

import gzip
import json

import pytest

from eval.trec import (
    load_benchmark,
    measure_run,
    read_corpus,
    read_qrels,
    read_run,
    write_run,
)
from rag.errors import RecordError


@pytest.fixture
def folder(tmp_path):
    corpus = [{"_id": "d1", "title": "T", "text": "One.", "year": 2020}, {"_id": 2, "text": "Two."}]
    lines = "".join(json.dumps(row) + "\n" for row in corpus)
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "queries.jsonl").write_text(
        '{"_id": "q1", "text": "one?"}\n{"_id": "q2", "text": "two?"}\n', encoding="utf-8"
    )
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\t2\t0\n", encoding="utf-8"
    )
    return tmp_path


def test_a_benchmark_folder_is_read(folder):
    benchmark = load_benchmark(folder)
    assert benchmark.queries == {"q1": "one?", "q2": "two?"}
    assert benchmark.qrels == {"q1": {"d1": 2}, "q2": {"2": 0}}
    assert benchmark.qrels_name == "test"
    assert benchmark.judged == ["q1"]
    first, second = read_corpus(folder)
    assert (first.id, first.title, first.text, first.metadata) == (
        "d1",
        "T",
        "One.",
        {"year": 2020},
    )
    assert (second.id, second.title) == ("2", "")


def test_the_only_other_queries_and_judgments_are_taken(folder):
    (folder / "queries.jsonl").rename(folder / "queries_weak.jsonl")
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "weak.tsv")
    assert load_benchmark(folder).qrels_name == "weak"


def test_judgments_must_be_named_where_there_are_several(folder):
    tests = folder / "qrels" / "test.tsv"
    (folder / "qrels" / "dev.tsv").write_bytes(tests.read_bytes())
    assert load_benchmark(folder).qrels_name == "test"
    assert load_benchmark(folder, "dev").qrels_name == "dev"
    tests.rename(folder / "qrels" / "train.tsv")
    with pytest.raises(RecordError, match="There are: dev, train"):
        load_benchmark(folder)


def test_judgments_in_trec_form_are_read(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q1 0 d1 1\nq1 0 d2 -1\n\n", encoding="utf-8")
    assert read_qrels(path) == {"q1": {"d1": 1, "d2": -1}}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("queries.jsonl", '{"text": "x"}\n', "line 1 has no '_id'", id="no id"),
        pytest.param("queries.jsonl", "x\n", "line 1 is not valid JSON", id="no JSON"),
        pytest.param("queries.jsonl", '{"_id": "z"}\n', "judges none of the queries", id="other"),
        pytest.param("qrels/test.tsv", "q1\td1\tgood\n", "line 1 is no judgment", id="grade"),
        pytest.param("qrels/test.tsv", "h\th\tscore\nq1\td1\n", "line 2 is no judgment", id="cut"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(folder, name, content, message):
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(RecordError, match=message):
        load_benchmark(folder)


def test_a_folder_without_a_corpus_is_refused(tmp_path):
    with pytest.raises(RecordError, match=r"holds no 'corpus\.jsonl'"):
        load_benchmark(tmp_path)


def test_a_run_file_is_written_as_trec_eval_ranks_it_and_read_back(tmp_path):
    run = {"q1": {"a": 0.1, "b": 0.3, "c": 0.30000000001}, "q2": {"a": -2.0}}
    path = tmp_path / "run.trec"
    write_run(path, run, "my run")
    assert path.read_text(encoding="utf-8").splitlines() == [
        "q1 Q0 c 1 0.30000000001 my-run",  # equal as float32, so by id
        "q1 Q0 b 2 0.3 my-run",
        "q1 Q0 a 3 0.1 my-run",
        "q2 Q0 a 1 -2.0 my-run",
    ]
    assert read_run(path) == run


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({"q 1": {"a": 1.0}}, "'q 1' cannot stand"),
        ({"q1": {"": 1.0}}, "'' cannot stand"),
        ({"q1": {"a": float("inf")}}, "is inf"),
    ],
    ids=["space", "empty", "infinite"],
)
def test_what_a_run_file_cannot_hold_is_refused(tmp_path, run, message):
    with pytest.raises(RecordError, match=message):
        write_run(tmp_path / "run.trec", run, "x")


@pytest.mark.parametrize("line", ["q1 Q0 a 1 0.5", "q1 Q0 a 1 high tag", "q1 Q0 a 1 nan tag"])
def test_a_malformed_run_line_is_named(tmp_path, line):
    path = tmp_path / "run.trec"
    path.write_text(f"q1 Q0 b 1 1.5 tag\n{line}\n", encoding="utf-8")
    with pytest.raises(RecordError, match="line 2 is no line of a TREC run"):
        read_run(path)


def test_a_judged_query_that_got_nothing_counts_as_zero():
    measured = measure_run({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d1": 0}})
    assert measured["q1"]["map"] == 1
    assert measured["q2"]["ndcg@10"] == 0
    assert "q3" not in measured
