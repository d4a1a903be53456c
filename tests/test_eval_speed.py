"""The speed harness on tiny corpora: arithmetic, tables, rounds. No time is judged."""

import io
import json
import math
import shutil
import sys
from argparse import Namespace
from pathlib import Path

import pytest

from eval.bench import (
    demand_search,
    on_demand,
    paced_starter,
    profiling,
    speed,
    speed_indexer,
    speed_table,
)
from eval.bench.demand_table import share
from eval.bench.on_demand import DemandWishes
from eval.bench.speed_asking import best_sentences, reading_at_most
from eval.bench.speed_corpus import (
    TokenCounter,
    embedded_library,
    read_questions,
    read_records,
    slices,
    text_of,
)
from eval.bench.speed_peer import PacedStarter, Starter, run_citewell, run_starter
from eval.bench.speed_rows import SpeedResults, compare, machine, percentiles, rounds_of
from rag import embedders, evidence
from rag.errors import RagError, RecordError
from rag.index import no_progress
from rag.library import open_library
from rag.settings import load_settings

TINY = Path(__file__).parent / "data" / "eval" / "tiny"
SCRIPTED = Path(__file__).parent / "data" / "eval" / "speed" / "starter.py"


@pytest.fixture
def settings(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    return load_settings()


@pytest.fixture
def folder(tmp_path):
    """A copy of the tiny benchmark that a test may change."""
    return Path(shutil.copytree(TINY, tmp_path / "tiny"))


@pytest.fixture
def starter(tmp_path):
    return Starter(tmp_path, SCRIPTED)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.jsonl"
    rows = [{"_id": str(n), "text": "word " * n} for n in (1, 2, 3)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


# ---- arithmetic ----------------------------------------------------------------------------------


def test_a_row_gives_the_median_of_the_rounds_ratios():
    row = compare("add", "added", "records/s", ours=[10, 40, 90], theirs=[10, 10, 10], n=7)
    assert (row.ours.median, row.ours.low, row.ours.high, row.ours.n) == (40, 10, 90, 7)
    assert row.ratio.values == (1, 4, 9)
    assert row.ratio.median == 4


def test_the_ratio_is_taken_round_by_round_so_that_a_slow_minute_hits_both():
    row = compare("add", "added", "records/s", ours=[10, 100], theirs=[5, 50], n=2)
    assert (row.ratio.low, row.ratio.high) == (2, 2)


def test_rounds_that_are_not_paired_are_refused():
    with pytest.raises(ValueError, match="2 rounds against 1"):
        compare("add", "added", "s", ours=[1, 2], theirs=[1], n=2)
    with pytest.raises(ValueError, match="0 rounds"):
        compare("add", "added", "s", ours=[], n=0)


def test_percentiles_are_those_of_each_round():
    ours, theirs = [[1, 2, 3], [10, 20, 30]], [[2, 4, 6], [5, 10, 15]]
    p50, p95 = percentiles("search", "found", ours=ours, theirs=theirs)
    assert (p50.measure, p50.ours.values, p50.ratio.values) == ("found, p50", (2, 20), (0.5, 2))
    assert p95.ours.values == (pytest.approx(2.9), pytest.approx(29))
    assert p50.ours.n == 6


@pytest.mark.parametrize(
    ("count", "rounds", "dealt"),
    [
        pytest.param(6, 3, [[0, 1], [2, 3], [4, 5]], id="even"),
        pytest.param(7, 3, [[0, 1], [2, 3], [4, 5]], id="the rest is left out"),
        pytest.param(2, 5, [[0], [1]], id="fewer than rounds"),
        pytest.param(0, 5, [], id="none"),
    ],
)
def test_questions_are_dealt_into_rounds_of_one_size(count, rounds, dealt):
    assert rounds_of(list(range(count)), rounds) == dealt


def test_the_machine_is_described():
    found = machine()
    assert found["cores"] >= 1
    assert found["gflops"] > 0


def test_a_share_is_that_of_the_means():
    found = share([0.5, 0.4], [1.0, 0.2], seed=1)
    assert found.value == pytest.approx(0.9 / 1.2)
    # Two queries: a resample holds both, or one of them twice, whose share is .5 or 2.
    assert (found.low, found.high) == (pytest.approx(0.5), pytest.approx(2.0))


def test_a_share_of_nothing_has_no_value():
    assert share([0.5, 0.5], [0.0, 0.0]) is None
    assert share([0.5], [1.0]).low is None


# ---- tables --------------------------------------------------------------------------------------


@pytest.fixture
def results():
    made = {
        "corpus": "tiny", "records": 1234, "repeats": 2, "versions": {"citewell": "1.2"},
        "before": {"cores": 2, "gflops": 80.0, "load": 0.1}, "after": {"load": 0.4},
    }  # fmt: skip
    rows = [
        compare("add", "added", "records/s", ours=[1000, 1200], theirs=[10, 12], n=9, note="why"),
        *percentiles("answer", "answered", ours=[[12.34]]),
    ]
    return SpeedResults(rows, made)


def test_the_table_as_text_is_aligned_and_names_the_spread(results):
    lines = speed_table.as_text(results).splitlines()
    assert "tiny (1,234 records), 2 cores (80.0 GFLOP/s, load 0.1 to 0.4)" in lines[0]
    assert lines[1].split()[:2] == ["measure", "unit"]
    assert "1,100 (1,000-1,200)" in lines[2]
    assert "11.0 (10.0-12.0) starter" in lines[2]
    assert "100× (100-100)" in lines[2]
    assert lines[3].split() == ["answered,", "p50", "ms", "12.3", "–", "–", "1"]
    assert lines[-1] == "added: why"
    assert lines[1].index("unit") == lines[2].index("records/s")


def test_the_table_as_markdown_is_put_between_its_marks_and_replaced(results, tmp_path):
    page = tmp_path / "page.md"
    begin, end = speed_table.marks(speed.MARKS)
    page.write_text(f"# Before\n{begin}\nold\n{end}\nafter <!-- citewell bench: begin -->\n")
    for _ in range(2):
        speed_table.put_between(page, speed.MARKS, speed_table.as_markdown(results))
    text = page.read_text()
    assert text.startswith(f"# Before\n{begin}\n\nCitewell 1.2, tiny")
    assert "| added | records/s | 1,100 <sub>1,000–1,200</sub> |" in text
    assert text.count("| added |") == 1
    assert "old" not in text
    assert text.endswith(f"{end}\nafter <!-- citewell bench: begin -->\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(None, "cannot be read", id="no file"),
        pytest.param("nothing", "does not hold the lines", id="no marks"),
        pytest.param("<!-- x: end --><!-- x: begin -->", "Add both", id="the wrong way round"),
    ],
)
def test_a_page_without_marks_is_left_alone(tmp_path, text, message):
    page = tmp_path / "page.md"
    if text is not None:
        page.write_text(text)
    with pytest.raises(RecordError, match=message):
        speed_table.put_between(page, "x", "table")
    assert text is None or page.read_text() == text


def test_every_round_is_in_the_json(results):
    value = json.loads(speed_table.as_json(results))
    assert value["rows"][0]["ours"] == {"values": [1000, 1200], "n": 9}
    assert value["rows"][0]["shown"]["n"] == "9"
    assert value["made"]["records"] == 1234


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1234.5, "1,234"), (100, "100"), (99.96, "100.0"), (12.34, "12.3"), (1.234, "1.23"),
     (0.0123, "0.012"), (-2.5, "-2.50")],
)  # fmt: skip
def test_numbers_show_what_counts(value, shown):
    assert speed_table.number(value) == shown


# ---- the corpus ----------------------------------------------------------------------------------


def test_slices_hold_the_whole_corpus_once(folder, tmp_path):
    records = read_records(folder)
    assert [r["_id"] for r in records] == ["d1", "d2", "d3", "d4", "d5", "d6", "d8"]
    parts = slices(tmp_path / "parts", records, 3)
    assert [len(part.records) for part in parts] == [2, 2, 3]
    again = [
        json.loads(line)["_id"] for part in parts for line in part.path.read_text().splitlines()
    ]
    assert again == [r["_id"] for r in records]
    assert len(slices(tmp_path / "more", records, 50)) == 7


def test_a_limit_takes_the_first_records(folder):
    assert [r["_id"] for r in read_records(folder, 2)] == ["d1", "d2"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param('{"text": "x"}', "line 1 is without an _id", id="no id"),
        pytest.param("{", "line 1 is not valid JSON", id="no JSON"),
        pytest.param('{"_id": "1", "text": ""}', "no record with text", id="nothing"),
    ],
)
def test_a_bad_corpus_is_named(folder, line, message):
    (folder / "corpus.jsonl").write_text(line + "\n")
    with pytest.raises(RecordError, match=message):
        read_records(folder)


def test_tokens_are_counted_whole_and_as_far_as_the_model_reads():
    counter = TokenCounter(speed.packaged_minilm())
    assert counter.whole(["", "acid content"]) == 2 + 4  # the two marks of each text count
    long = "acid " * 1000
    assert counter.whole([long]) == 1002
    assert counter.cut([long, "acid"]) == counter.window + 3
    assert counter.window == 256


def test_both_sides_are_given_title_and_text():
    assert text_of({"title": "A", "text": "b"}) == "A\nb"
    assert text_of({"title": None, "text": "b"}) == "b"


def test_questions_come_from_the_folder_or_a_file_each_once(folder, tmp_path):
    assert len(read_questions(folder, None, 100, 0)) == 6
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "Is it?"}\n{"text": "Why?"}\n{"question": " Why? "}\n{"id": 1}\n')
    assert sorted(read_questions(folder, file, 100, 0)) == ["Is it?", "Why?"]
    assert read_questions(folder, None, 3, 0) == read_questions(folder, None, 3, 0)
    file.write_text('{"id": 1}\n')
    with pytest.raises(RecordError, match="holds no question"):
        read_questions(folder, file, 100, 0)
    (folder / "queries.jsonl").unlink()
    with pytest.raises(RecordError, match="--questions"):
        read_questions(folder, None, 100, 0)


def test_the_library_that_is_measured_is_a_copy(settings, folder):
    with open_library("own", settings=settings, create=True) as library:
        library.add(folder / "corpus.jsonl", wait=True)
    records = [r for r in read_records(folder) if r["_id"] != "d6"]  # the twin of d1
    (folder / "corpus.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    with embedded_library(folder, settings, "own", no_progress) as copy:
        assert copy.waiting == 0
        copy.remove([paper.id for paper in copy.papers()])
    with open_library("own", settings=settings) as library:
        assert library.status().papers == 6


def test_a_library_of_something_else_is_refused(settings, folder, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text('{"_id": "z1", "title": "Salt", "text": "Salt melts ice."}\n')
    with open_library("other", settings=settings, create=True) as library:
        library.add(other, wait=True)
    with (
        pytest.raises(RecordError, match="'other' holds 0 of the 7 records"),
        embedded_library(folder, settings, "other", no_progress),
    ):
        pass


# ---- the other side ------------------------------------------------------------------------------


def test_a_starter_adds_and_what_its_model_was_given_is_noted(starter, corpus):
    added = run_starter(starter, corpus, limit=2)
    assert (added.records, added.seconds) == (2, 2.0)
    assert added.texts == ("_id: 1\n\nword ", "_id: 2\n\nword word ")


def test_a_starter_retrieves_only_when_told(starter, corpus, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n')
    with PacedStarter(starter, corpus, queries=queries) as peer:
        times = []
        for _ in range(2):
            peer.wait_ready()
            times.append(peer.retrieve())
        added = peer.finish()
    assert all(time > 0 for time in times)
    assert (added.records, len(added.texts)) == (3, 3)


def test_a_retrieval_that_nobody_asks_for_ends_the_starter(starter, corpus, tmp_path):
    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"_id": "a", "text": "x"}\n')
    with (
        PacedStarter(starter, corpus, queries=queries) as peer,
        pytest.raises(RagError, match="nobody asks any more"),
    ):
        peer.finish()


@pytest.mark.parametrize(
    ("program", "message"),
    [
        pytest.param("raise SystemExit('no such model')", "exit code 1.*no such model", id="fails"),
        pytest.param("print('{}')", "wrote no line of JSON with records and add_s", id="no line"),
    ],
)
def test_a_starter_that_fails_says_why(tmp_path, corpus, program, message):
    file = tmp_path / "bad.py"
    file.write_text(program + "\n")
    with pytest.raises(RagError, match=message):
        run_starter(Starter(tmp_path, file), corpus)


def test_a_python_that_is_not_there_is_named(tmp_path, corpus):
    with pytest.raises(RagError, match="--starter-python"):
        run_starter(Starter(tmp_path, SCRIPTED, str(tmp_path / "none")), corpus)


def test_the_hooks_note_texts_and_pace_retrievals(corpus, tmp_path, monkeypatch, capsys):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding

    for owner, name in ((BaseEmbedding, "get_text_embedding_batch"), (BaseRetriever, "retrieve")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # put back at the end
    queries, texts = tmp_path / "queries.jsonl", tmp_path / "texts.jsonl"
    queries.write_text('{"_id": "a", "text": "x"}\n{"_id": "b", "text": "y"}\n')
    words = ["--texts", str(texts), "--pace", str(SCRIPTED), "MODEL", str(corpus)]
    monkeypatch.setattr(sys, "argv", ["paced", *words, "--queries", str(queries)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n"))  # one order for two retrievals
    with pytest.raises(SystemExit, match="nobody asks any more"):
        paced_starter.main()
    said = [json.loads(one) for one in capsys.readouterr().out.splitlines() if "paced" in one]
    assert [type(one["paced"]) for one in said] == [str, float, str]
    assert len(texts.read_text().splitlines()) == 3


@pytest.mark.model
def test_our_own_starter_adds_and_retrieves_with_the_real_model(
    corpus, tmp_path, monkeypatch, capsys
):
    from eval.bench import starter

    queries = tmp_path / "queries.jsonl"
    queries.write_text('{"_id": "a", "text": "word"}\n')
    words = [str(speed.packaged_minilm()), str(corpus), "--limit", "2", "--queries", str(queries)]
    monkeypatch.setattr(sys, "argv", ["starter", *words])
    starter.main()
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["records"] == 2
    assert report["records_per_s"] == pytest.approx(2 / report["add_s"])
    assert report["query_ms_p50"] == report["query_ms_p95"] > 0


@pytest.mark.model
def test_our_own_starter_finds_what_was_asked_for(tmp_path):
    from eval.bench.starter import build

    path = tmp_path / "two.jsonl"
    path.write_text(
        '{"_id": "a", "title": "Bees", "text": "Roads keep bees away."}\n'
        '{"_id": "b", "title": "Rust", "text": "Zinc delays rust on steel."}\n'
    )
    args = Namespace(model=str(speed.packaged_minilm()), corpus=str(path), limit=None)
    index, report = build(args, str(tmp_path / "chroma"))
    first, second = index.as_retriever(similarity_top_k=10).retrieve("corrosion of metal")
    assert (first.node.metadata["_id"], second.node.metadata["_id"]) == ("b", "a")
    assert first.node.get_content() == "Rust\nZinc delays rust on steel."
    assert 0 < second.score < first.score < 1
    assert report["mb"] > 0


def test_a_command_of_ours_that_fails_says_why(tmp_path):
    with pytest.raises(RagError, match="'citewell show' ended with exit code 1: error: "):
        run_citewell("show", "nothing", "--home", str(tmp_path))


# ---- the whole harness ---------------------------------------------------------------------------


def wishes(*parts, **more):
    return speed.SpeedWishes(parts=parts, repeats=1, starter=SCRIPTED, **more)


def test_adding_gives_records_and_tokens_of_both_sides(settings, folder, tmp_path):
    found = speed.run(folder, settings, wishes("add", "embed", "readd", out=tmp_path / "out"))
    rows = {(row.part, row.unit): row for row in found.rows}
    assert list(rows) == [
        ("add", "records/s"), ("embed", "tokens/s"), ("embed", "records/s"), ("readd", "records/s"),
    ]  # fmt: skip
    assert rows["add", "records/s"].theirs.values == (7 / 2.0,)  # by the starter's own clock
    assert rows["add", "records/s"].ours.n == 7
    # What the starter's model was given: its texts hold the id, and no title.
    texts = [f"_id: {r['_id']}\n\n{r['text']}" for r in read_records(folder)]
    tokens = TokenCounter(speed.packaged_minilm()).cut(texts)
    assert rows["embed", "tokens/s"].theirs.values == (pytest.approx(tokens / 2.0),)
    assert rows["readd", "records/s"].note.startswith("0 embeddings made")
    kept = json.loads((tmp_path / "out" / "speed.json").read_text())
    assert len(kept["rows"]) == 4
    assert kept["made"]["starter"] == "starter.py"


def test_searching_asks_both_sides_every_question(settings, folder):
    found = speed.run(folder, settings, wishes("search", queries=4))
    assert [row.measure.rpartition(", ")[2] for row in found.rows] == ["p50", "p95"]
    assert all(row.ours.n == 4 and row.ratio.median > 0 for row in found.rows)


def test_a_part_of_a_corpus_is_measured_as_a_corpus(settings, folder):
    found = speed.run(folder, settings, wishes("search", limit=3, queries=2))
    assert found.made["records"] == 3


def test_limit_and_library_exclude_each_other(settings, folder):
    with pytest.raises(RecordError, match="Leave one of the two out"):
        speed.run(folder, settings, wishes("search", limit=3, library="x"))


def test_a_starter_that_is_not_there_is_named(settings, folder, tmp_path):
    one = speed.SpeedWishes(parts=("add",), starter=tmp_path / "none.py")
    with pytest.raises(RecordError, match=r"no starter at .*none\.py"):
        speed.run(folder, settings, one)


def test_answers_are_timed_in_process_cold_and_beside_a_server(settings, folder):
    found = speed.run(folder, settings, wishes("answer", queries=5))
    names = [row.measure for row in found.rows]
    assert names[0] == "whole quoted answer, p50"
    assert "whole quoted answer, at most 1 paper read, p50" in names
    assert names[-5:] == [
        "whole answer, asked again, p50", "whole answer, asked again, p95",
        "citewell --help, whole process", "citewell ask, cold, whole process",
        "citewell ask beside citewell serve, whole process",
    ]  # fmt: skip
    assert "median ms of its stages: " in found.rows[0].note


def test_papers_read_are_bounded_only_for_a_while():
    usual = evidence.PAPERS_READ
    with reading_at_most(1):
        assert evidence.PAPERS_READ == evidence.PAPERS_READ_FOR_MANY == 1
    with reading_at_most(None):
        assert usual == evidence.PAPERS_READ > 1


def test_best_sentences_are_found_without_an_evidence_model(settings, folder, monkeypatch):
    monkeypatch.delenv("CITEWELL_EVIDENCE_MODEL")
    with open_library("own", settings=load_settings(), create=True) as library:
        library.add(folder / "corpus.jsonl", wait=True)
        found = best_sentences(library, "zinc coating against rust on bridges")
    assert found[0].snippet == "A zinc coating delays rust by eleven years."


class RecordingModel:
    """Notes the texts that a model is asked for."""

    def __init__(self, inner, seen):
        self.inner, self.seen = inner, seen

    def get_text_embedding_batch(self, texts):
        self.seen += texts
        return self.inner.get_text_embedding_batch(texts)


def counted_down(monkeypatch, start):
    """Let an indexer that has nothing to do for long look busy."""
    left = iter(range(start, 0, -1))
    monkeypatch.setattr(speed_indexer, "waiting", lambda library: next(left, 0))
    monkeypatch.setattr(speed_indexer, "GAP_S", (0, 0))


def test_asking_beside_an_indexer_is_compared_with_the_same_library_without(
    settings, folder, monkeypatch
):
    counted_down(monkeypatch, 100)
    found = speed.run(folder, settings, wishes("indexer", queries=4))
    assert [row.against for row in found.rows] == ["no indexer"] * 4
    assert "budget 1.5 s" in found.rows[0].measure
    assert "budget 0 s" in found.rows[2].measure
    assert all(row.ours.n == 1 for row in found.rows)
    assert "2 papers were embedded meanwhile" in found.rows[0].note


@pytest.mark.parametrize(
    ("looks", "message"),
    [
        pytest.param([5, 0], "done before the questions were", id="done early"),
        pytest.param([5, 5, 5], "embedded nothing", id="never at work"),
    ],
)
def test_an_indexer_that_was_not_at_work_is_no_measurement(
    settings, folder, monkeypatch, looks, message
):
    counted_down(monkeypatch, 1)
    left = iter(looks)
    monkeypatch.setattr(speed_indexer, "waiting", lambda library: next(left))
    with pytest.raises(RagError, match=message):
        speed.run(folder, settings, wishes("indexer", queries=4))


# ---- right after adding --------------------------------------------------------------------------


def test_on_demand_finds_as_much_as_an_embedded_library_where_all_may_be_embedded(
    settings, folder, tmp_path
):
    found = on_demand.run([folder], settings, DemandWishes(budgets=(0.0,), out=tmp_path / "out"))
    rows = {row.search: row for row in found.rows}
    assert list(rows) == [
        "fully embedded", "words alone", "on demand, 0 s", "on demand, no limit",
    ]  # fmt: skip
    assert rows["on demand, 0 s"].ndcg == rows["words alone"].ndcg
    assert rows["on demand, no limit"].of_embedded.value > 0.9
    assert rows["fully embedded"].of_embedded is None
    assert not any(row.simulated for row in found.rows)
    assert len(json.loads((tmp_path / "out" / "on-demand.json").read_text())["rows"]) == 4


def test_every_query_starts_cold(settings, folder, tmp_path):
    (way,) = demand_search.cold(folder, settings, [math.inf], tmp_path)
    way.search("zinc coating against rust")
    added = tmp_path / "home"
    with open_library(
        "cold", settings=settings.model_copy(update={"home": added}), finish=False
    ) as library:
        assert library.waiting == library.status().papers > 0


def test_a_simulated_budget_is_called_that(settings, folder):
    wanted = DemandWishes(budgets=(0.5,), simulate=True, rate=4.0)
    found = on_demand.run([folder], settings, wanted)
    rows = [row for row in found.rows if row.simulated]
    assert [row.search for row in rows] == [
        "on demand, 0.5 s (simulated: 4 passages a second)",
        "on demand, no limit (simulated: 4 passages a second)",
    ]
    text, page = on_demand.as_text(found), on_demand.as_markdown(found)
    assert "GFLOP/s" in text.splitlines()[0]
    assert rows[0].search in text
    assert f"| tiny | 5 | {rows[0].search} | " in page


def test_a_simulated_clock_counts_embedding_at_its_rate_and_all_else_as_it_is(monkeypatch):
    now = iter([100.0, 101.0, 109.0, 110.0])
    monkeypatch.setattr(demand_search.time, "monotonic", lambda: next(now))
    clock = demand_search.SimulatedClock(rate=4.0)
    began = clock.monotonic()
    with clock.embedding(2):  # really 8 seconds, by its clock a half
        pass
    assert clock.monotonic() - began == pytest.approx(10 - 8 + 0.5)


def test_a_simulated_embedder_makes_each_vector_once_and_counts_it_every_time(settings):
    plain, clock = embedders.build(settings), demand_search.SimulatedClock(rate=1000.0)
    seen = []
    plain.model = RecordingModel(plain.model, seen)
    embedder = demand_search.remembering(plain, clock)
    first = embedder.embed_passages(["zinc", "rust"], [[], []])
    ahead = clock.ahead_s
    again = embedder.embed_passages(["rust", "bees"], [[], []])
    assert seen == ["zinc", "rust", "bees"]
    assert again[0] is first[1]
    assert clock.ahead_s != ahead
    assert embedder.fingerprint == plain.fingerprint


def test_a_rate_is_measured_where_none_is_given(settings):
    assert demand_search.measured_rate(embedders.build(settings), ["zinc", "rust"]) > 0


def test_a_sample_of_queries_is_the_same_again(settings, folder):
    wanted = DemandWishes(budgets=(), simulate=True, rate=1.0, limit=2, seed=3)
    first, second = (on_demand.run([folder], settings, wanted).rows for _ in range(2))
    assert [row.ndcg for row in first] == [row.ndcg for row in second]
    assert {row.queries for row in first} == {2}


# ---- profiles ------------------------------------------------------------------------------------


def test_a_profile_gives_own_and_whole_shares():
    lines = [
        "main (a/main.py:1);work (a/site-packages/b/work.py:2) 3\n",
        "main (a/main.py:9);work (site-packages/b/work.py:7);work (site-packages/b/work.py:7) 1",
        "\n",
        "main (a/main.py:4) 3\n",
        " 1\n",
    ]
    found = {one.function: one for one in profiling.spent(profiling.read_stacks(lines))}
    assert (found["main"].own, found["main"].whole) == (0.375, 0.875)
    assert (found["work"].own, found["work"].whole) == (0.5, 0.5)
    assert found["work"].file == "b/work.py"
    assert found["(no Python code)"].own == 0.125


def test_a_profile_is_printed_as_two_tables(tmp_path, capsys):
    kept = tmp_path / "kept.txt"
    kept.write_text("f (rag/x.py:1);g (y.py:2) 3\nf (rag/x.py:3) 1\n")
    assert profiling.main(["--read", str(kept), "--top", "1"]) == 0
    out = capsys.readouterr().out
    own, _, ours = out.partition("What Citewell wanted of it")
    assert "| `g` | `y.py` | 75.0 % | 75.0 % |" in own
    assert "| `f` | `rag/x.py` | 25.0 % | 100.0 % |" in ours
    assert "`g`" not in ours


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("f (x.py:1) many\n", "Line 1 of the profile is no stack", id="no count"),
        pytest.param(None, "cannot be read", id="no file"),
    ],
)
def test_a_profile_that_cannot_be_read_says_why(tmp_path, capsys, text, message):
    kept = tmp_path / "kept.txt"
    if text:
        kept.write_text(text)
    assert profiling.main(["--read", str(kept)]) == 1
    assert message in capsys.readouterr().err


def test_a_missing_profiler_is_named(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(profiling.shutil, "which", lambda *args, **options: None)
    assert profiling.main(["--keep", str(tmp_path / "x"), "status"]) == 1
    assert "pip install py-spy" in capsys.readouterr().err


def test_a_profiler_that_may_not_look_is_reported(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(profiling.shutil, "which", lambda *args, **options: sys.executable)
    assert profiling.main(["--keep", str(tmp_path / "x"), "status"]) == 1
    assert "py-spy recorded nothing" in capsys.readouterr().err


# ---- the command line ----------------------------------------------------------------------------


def test_the_command_prints_json_and_puts_the_table_into_a_page(
    citewell, settings, folder, tmp_path
):
    page = tmp_path / "page.md"
    page.write_text("\n".join(speed_table.marks(speed.MARKS)))
    run = citewell(
        "bench", "speed", folder, "--part", "search", "--queries", "2", "--repeats", "1",
        "--starter", SCRIPTED, "--starter-python", sys.executable, "--markdown", page, "--json",
    )  # fmt: skip
    assert (run.code, run.err) == (0, "")
    assert [row["part"] for row in run.json["rows"]] == ["search", "search"]
    assert "| ranked papers with their best sentences, p50 | ms |" in page.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["speed"], id="no folder"),
        pytest.param(["speed", "x", "--part", "all of it"], id="no such part"),
        pytest.param(["speed", "x", "--repeats", "0"], id="no rounds"),
        pytest.param(["on-demand"], id="no folders"),
        pytest.param(["on-demand", "x", "y", "--library", "z"], id="one library for two"),
        pytest.param(["llm"], id="no questions"),
    ],
)
def test_wrong_usage_is_exit_code_2(citewell, arguments):
    run = citewell("bench", *arguments)
    assert (run.code, run.out) == (2, "")


@pytest.mark.parametrize("command", ["speed", "on-demand", "llm"])
def test_help_has_an_example_and_says_what_each_option_is(citewell, command):
    run = citewell("bench", command, "--help")
    assert f"citewell bench {command} " in run.out.partition("Options:")[0].partition("Example")[2]


def test_a_folder_without_a_corpus_is_named(citewell, tmp_path):
    run = citewell("bench", "speed", tmp_path, "--part", "add")
    assert run.code == 1
    assert "holds no 'corpus.jsonl'" in run.err


def test_a_model_must_be_named_to_be_measured(citewell, tmp_path):
    (tmp_path / "q.jsonl").write_text('{"question": "Why?"}\n')
    run = citewell("bench", "llm", "--questions", tmp_path / "q.jsonl")
    assert run.code == 1
    assert "No language model is named" in run.err
