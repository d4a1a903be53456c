"""Benchmarks on a tiny folder whose figures are worked out by hand, and against pytrec_eval."""

import json
import shutil
from pathlib import Path

import pytest

from eval.bench import check_trec, retrieval
from eval.bench.corpus import open_corpus
from eval.bench.measure import Wishes, run
from eval.bench.qa import find_questions, read_questions
from eval.bench.rerank import Reranker
from eval.bench.results import Results
from eval.bench.table import BEGIN, END, put_between_marks
from eval.bench.verdicts import read_verdict
from eval.trec import load_benchmark, read_run
from rag.errors import RecordError, SettingsError
from rag.index import no_progress
from rag.settings import load_settings

TINY = Path(__file__).parent / "data" / "eval" / "tiny"


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return load_settings()


@pytest.fixture
def folder(tmp_path):
    """A copy of the tiny benchmark that a test may change."""
    return Path(shutil.copytree(TINY, tmp_path / "tiny"))


# ---- the corpus ----------------------------------------------------------------------------------


def test_duplicates_that_the_library_merges_keep_both_ids(settings, folder):
    corpus = open_corpus(folder, settings, no_progress)
    with corpus.library:
        ids = sorted(corpus.originals.values())
        assert ids == [("d1", "d6"), ("d2",), ("d3",), ("d4",), ("d5",), ("d8",)]
    assert (corpus.facts.records, corpus.facts.papers, corpus.facts.failed) == (8, 6, 1)


def test_a_corpus_is_added_once(settings, folder, monkeypatch):
    open_corpus(folder, settings, no_progress).library.close()
    monkeypatch.setattr("rag.library.Library.add", None)
    again = open_corpus(folder, settings, no_progress)
    again.library.close()
    assert ("d1", "d6") in again.originals.values()


def test_a_changed_corpus_is_another_library(settings, folder):
    first = open_corpus(folder, settings, no_progress)
    first.library.close()
    with (folder / "corpus.jsonl").open("a") as stream:
        stream.write('{"_id": "d9", "title": "Salt", "text": "Salt melts ice."}\n')
    second = open_corpus(folder, settings, no_progress)
    second.library.close()
    assert second.library.folder != first.library.folder
    assert second.facts.papers == 7


def test_an_interrupted_corpus_is_finished(settings, folder, monkeypatch):
    def breaks(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("eval.bench.corpus._counted", breaks)
    with pytest.raises(KeyboardInterrupt):
        open_corpus(folder, settings, no_progress)
    monkeypatch.undo()
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    corpus = open_corpus(folder, settings, no_progress)
    corpus.library.close()
    assert len(corpus.originals) == corpus.facts.papers == 6


# ---- retrieval -----------------------------------------------------------------------------------


def test_each_engine_gets_a_row_a_run_file_and_a_test_against_the_hybrid(
    settings, folder, tmp_path
):
    table = retrieval.measure(folder, settings, out=tmp_path, check_trec=True, progress=no_progress)
    assert (table.papers, table.merged, table.queries, table.unasked) == (6, 1, 5, 0)
    rows = {row.engine: row for row in table.rows}
    assert list(rows) == ["lexical", "dense", "hybrid", "ranks", "halves"]
    assert rows["hybrid"].against_hybrid is None
    lexical = rows["lexical"].against_hybrid
    assert lexical.value == pytest.approx(lexical.b - lexical.a)
    assert lexical.a == rows["lexical"].measures["ndcg@10"].value
    assert lexical.b == rows["hybrid"].measures["ndcg@10"].value
    qrels = load_benchmark(folder).qrels
    for engine, row in rows.items():
        assert row.trec_difference < check_trec.TOLERANCE
        ranked = read_run(tmp_path / f"tiny.{engine}.run")
        assert check_trec.largest_difference(ranked, qrels) < check_trec.TOLERANCE
        assert ranked["1"]["d1"] == ranked["1"]["d6"]


def test_lexical_figures_are_those_worked_out_by_hand(settings, folder):
    # Each first place is a relevant one; query 5 also asks for d7, which has no text to find.
    table = retrieval.measure(folder, settings, progress=no_progress)
    lexical = table.rows[0].measures
    assert lexical["mrr"].value == 1.0
    assert lexical["recall@10"].value == pytest.approx((1 + 1 + 1 + 1 + 0.5) / 5)
    assert lexical["recall@10"].n == 5


def test_a_query_that_cannot_be_asked_counts_as_answered_with_nothing(settings, folder):
    (folder / "queries.jsonl").write_text(
        '{"_id": "1", "text": "acid content of coffee"}\n{"_id": "2", "text": "?!"}\n'
    )
    table = retrieval.measure(folder, settings, progress=no_progress)
    assert (table.queries, table.unasked) == (2, 1)
    assert table.rows[0].measures["mrr"].value == 0.5


def test_a_difference_from_trec_eval_is_seen(monkeypatch):
    run, qrels = {"q": {"a": 1.0, "b": 0.5}}, {"q": {"b": 1}}
    assert check_trec.largest_difference(run, qrels) == 0
    monkeypatch.setattr(check_trec, "measure_run", lambda run, qrels: {"q": {"mrr": 0.5 + 2e-6}})
    assert check_trec.largest_difference(run, qrels) == pytest.approx(2e-6)


def test_run_files_are_checked_by_one_command(tmp_path, capsys):
    path = tmp_path / "x.run"
    path.write_text("1 Q0 d1 1 0.5 x\n1 Q0 d2 2 0.25 x\n3 Q0 d3 1 1 x\n")
    assert check_trec.main([str(TINY), str(path)]) == 0
    assert capsys.readouterr().out == "x.run: largest difference 0.0e+00\n"
    assert check_trec.main([str(TINY), str(tmp_path / "none.run")]) == 1
    assert "cannot be read" in capsys.readouterr().err


# ---- questions with answers ----------------------------------------------------------------------


def test_abstention_and_evidence_are_measured_where_labelled(settings, folder):
    results = run([folder], settings, Wishes(parts=("qa",)))
    (table,) = results.answers
    found = {one.name: one for one in table.measures}
    assert {name: found[name].n for name in found} == {
        "abstained_unanswerable": 2,
        "abstained_answerable": 3,
        "answerability_auc": 5,
        **dict.fromkeys(("within_hit@1", "within_hit@3", "within_f1"), 3),
        **dict.fromkeys(("across_hit@1", "across_hit@3", "across_f1"), 3),
    }
    assert found["within_hit@3"].value == 1.0  # each abstract has three sentences
    assert found["within_f1"].value == pytest.approx(0.5)  # one of three: P 1/3, R 1
    assert found["across_hit@1"].value <= found["across_hit@3"].value
    assert table.notes == ("yes/no/maybe needs a language model: --llm",)


def test_yes_no_and_maybe_are_decided_by_the_model_that_is_named(settings, folder):
    asked = settings.model_copy(update={"llm": "scripted:Yes, it does."})
    (table,) = run([folder], asked, Wishes(parts=("qa",))).answers
    found = {one.name: one for one in table.measures}
    assert (found["verdict_accuracy"].value, found["verdict_accuracy"].n) == (1.0, 1)
    assert found["verdict_given"].value == 1.0
    silent = settings.model_copy(update={"llm": "scripted:It depends."})
    (table,) = run([folder], silent, Wishes(parts=("qa",))).answers
    found = {one.name: one for one in table.measures}
    assert found["verdict_accuracy"].value is None
    assert found["verdict_given"].value == 0.0


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [("yes", "yes"), ("**No.**", "no"), ("The answer is maybe", "maybe"), ("It may", None)],
)
def test_a_verdict_is_the_word_that_a_reply_opens_with(reply, verdict):
    assert read_verdict(reply) == verdict


def test_a_limit_takes_the_same_sample_each_time():
    a, b = (read_questions(TINY / "qa.jsonl", limit=3, seed=1) for _ in range(2))
    assert [case.id for case in a.cases] == [case.id for case in b.cases]
    assert len(a.cases) == a.sampled == 3
    assert read_questions(TINY / "qa.jsonl", limit=99, seed=1).sampled is None


def test_every_file_of_questions_is_found(folder):
    (folder / "qa_offtopic.jsonl").write_text("")
    (folder / "notes.jsonl").write_text("")
    assert [p.name for p in find_questions(folder)] == ["qa.jsonl", "qa_offtopic.jsonl"]


def test_a_folder_without_questions_is_a_sentence(settings, folder):
    (folder / "qa.jsonl").unlink()
    with pytest.raises(RecordError, match=r"holds no 'qa\.jsonl'"):
        run([folder], settings, Wishes(parts=("qa",)))


# ---- the commands --------------------------------------------------------------------------------


def test_all_runs_what_a_folder_has_and_fills_the_marked_part(citewell, settings, folder, tmp_path):
    page = tmp_path / "table.md"
    page.write_text(f"# Before\n\n{BEGIN}\nold\n{END}\n\nAfter\n")
    shutil.rmtree(folder / "qrels")
    other = folder.rename(tmp_path / "other")
    done = citewell(
        "bench", "all", TINY, other, "--markdown", page, "--out", tmp_path / "out", "--check-trec"
    )
    assert (done.code, done.err) == (0, "")
    assert "tiny (test): 6 papers, 5 queries" in done.out
    assert "tiny/qa.jsonl: 5 questions" in done.out
    assert "other/qa.jsonl: 5 questions" in done.out
    text = page.read_text()
    assert text.startswith(f"# Before\n\n{BEGIN}\n\nCitewell ")
    assert text.endswith(f"{END}\n\nAfter\n")
    assert "old" not in text
    assert text.count("| tiny | hybrid |") == 1
    kept = json.loads((tmp_path / "out" / "results.json").read_text())
    assert (len(kept["retrieval"]), len(kept["answers"])) == (1, 2)
    assert (tmp_path / "out" / "tiny.hybrid.run").exists()


def test_json_gives_all_results(citewell, settings):
    done = citewell("bench", "retrieval", TINY, "--json")
    assert [row["engine"] for row in done.json["retrieval"][0]["rows"]] == [
        "lexical",
        "dense",
        "hybrid",
        "ranks",
        "halves",
    ]
    assert done.json["made"]["embedder"] == "word-hash"


def test_a_difference_from_trec_eval_is_exit_code_1(citewell, settings, monkeypatch):
    monkeypatch.setattr(retrieval, "largest_difference", lambda run, qrels: 1e-3)
    done = citewell("bench", "retrieval", TINY, "--check-trec")
    assert done.code == 1
    assert "a measure differs from trec_eval's by 1.0e-03" in done.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["retrieval", "."], "holds no 'corpus.jsonl'", id="no benchmark"),
        pytest.param(["qa", "."], "holds no 'qa.jsonl'", id="no questions"),
        pytest.param(["all", "."], "neither qrels", id="nothing at all"),
    ],
)
def test_a_folder_that_is_no_benchmark_is_a_sentence(citewell, arguments, told):
    done = citewell("bench", *arguments)
    assert (done.code, done.out) == (1, "")
    assert told in done.err


def test_two_folders_of_one_name_are_refused(citewell, folder):
    done = citewell("bench", "retrieval", TINY, folder)
    assert (done.code, done.out) == (1, "")
    assert "Two folders are called 'tiny'" in done.err


def test_a_page_without_the_marks_is_left_alone(tmp_path):
    page = tmp_path / "table.md"
    page.write_text("# Mine\n")
    with pytest.raises(RecordError, match="does not hold the lines"):
        put_between_marks(page, Results())
    assert page.read_text() == "# Mine\n"
    with pytest.raises(RecordError, match="cannot be read"):
        put_between_marks(tmp_path / "none.md", Results())


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A tiny cross-encoder with weights of chance, and the packaged model's tokenizer."""
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    from rag.embedders.minilm import packaged_minilm

    folder = tmp_path_factory.mktemp("cross-encoder")
    tokenizer = AutoTokenizer.from_pretrained(str(packaged_minilm()), local_files_only=True)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


@pytest.mark.model
def test_a_cross_encoder_sorts_what_the_hybrid_found(settings, folder, tmp_path, cross_encoder):
    table = retrieval.measure(
        folder, settings, out=tmp_path, reranker=Reranker(cross_encoder), progress=no_progress
    )
    assert [row.engine for row in table.rows] == [
        *("lexical", "dense", "hybrid", "reranked", "ranks", "halves")
    ]
    names = {run.name.split(".")[1]: read_run(run) for run in tmp_path.glob("*.run")}
    for query, found in names["hybrid"].items():
        assert set(names["reranked"][query]) == set(found)
    assert names["reranked"] != names["hybrid"]


def test_a_folder_that_is_no_cross_encoder_is_a_sentence(tmp_path):
    with pytest.raises(SettingsError, match=r"holds no config\.json"):
        Reranker(tmp_path)
