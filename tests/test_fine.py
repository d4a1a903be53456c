"""Vectors on demand: best candidates first, within a budget, written when nobody else writes."""

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from rag import manifest as manifests
from rag import retrieval
from rag.embedders import Embedded, wrap
from rag.errors import IndexMismatchError, RagError
from rag.fine import MOST_KEPT, PASS, write_if_free
from rag.importing import add_records
from rag.retrieval import Searcher
from tests.storage import WatchedEmbedding, content_of, new_index, paper, papers


@pytest.fixture
def model():
    return WatchedEmbedding()


@pytest.fixture
def index(tmp_path, model):
    """Return an index with forty papers whose words alone are searchable."""
    index = new_index(tmp_path / "library", model)
    add_records(index, "papers.jsonl", papers(40, sentences=4))
    yield index
    index.close()


@pytest.fixture
def another_writes(index):
    """Hold the writer lock in another thread, as another process would."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with index.writing():
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(30)
    yield done
    done.set()
    thread.join(30)


def embedded(index):
    return index.catalogue.counts()["embedded"]


def ids_of(index, query, limit=100):
    return [paper_id for paper_id, _ in index.terms.search(query, limit)]


def test_adding_makes_papers_searchable_and_no_vector(index, model):
    assert index.catalogue.counts()["searchable"] == 40
    assert (embedded(index), model.seen) == (0, [])
    assert index.catalogue.waiting() == 40
    assert index.terms.search("mark7", 1)


def test_a_question_embeds_its_best_candidates_first(index, model, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("rag.fine.time.monotonic", lambda: next(clock))
    wanted = ids_of(index, "paper number")
    index.fine.complete(wanted, 3.5)  # the clock ticks once at the start and once a pass
    titles = [index.catalogue.get(one).title for one in wanted[: 2 * PASS]]
    assert sorted(text.partition("\n")[0] for text in model.seen) == sorted(titles)
    assert index.fine.most_asked(3) == wanted[2 * PASS : 2 * PASS + 3]


@pytest.mark.parametrize(
    ("budget", "made"),
    [pytest.param(0, 0, id="none"), pytest.param(math.inf, 40, id="unlimited")],
)
def test_the_budget_is_kept_to(index, budget, made):
    Searcher(index, budget_s=budget).search("paper number mark7")
    assert embedded(index) == made


def test_the_searches_of_one_question_share_a_budget(index, monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("rag.fine.time.monotonic", lambda: next(clock))
    wanted = ids_of(index, "paper number")
    with index.fine.one_question():
        first = index.fine.complete(wanted, 4.5)
        with index.fine.one_question():
            second = index.fine.complete(wanted, 4.5)
    alone = index.fine.complete(wanted, 4.5)
    assert first == alone > second


def test_vectors_made_for_a_question_rank_and_are_stored(index, model):
    found = Searcher(index, budget_s=math.inf).search("mark7 paper", top_k=5)
    assert found.papers[0].paper.abstract == paper(7, sentences=4).abstract
    assert all(one.cosine is not None for one in found.papers)
    assert {"terms", "question", "embedding", "vectors", "fusing"} == set(found.timings_ms)
    assert not index.fine.any()
    seen = len(model.seen)
    again = Searcher(index, budget_s=math.inf).search("mark7 paper", top_k=5)
    assert [one.paper.id for one in again.papers] == [one.paper.id for one in found.papers]
    assert len(model.seen) == seen + 0  # the query's vector is remembered, too
    assert "embedding" not in again.timings_ms


def test_on_demand_ends_where_adding_and_waiting_ends(tmp_path, index):
    Searcher(index, budget_s=math.inf).search("paper number")
    whole = new_index(tmp_path / "whole")
    add_records(whole, "papers.jsonl", papers(40, sentences=4), wait=True)
    index.sync()
    ours, theirs = content_of(index), content_of(whole)
    assert ours == theirs
    assert index.check() == []
    whole.close()


def test_b31_a_question_never_waits_for_the_writer(index, another_writes):
    began = time.monotonic()
    found = Searcher(index, budget_s=math.inf).search("mark3 paper", top_k=3)
    assert time.monotonic() - began < 10
    assert found.papers[0].cosine is not None
    assert embedded(index) == 0  # kept in memory while somebody writes
    vectors = index.sentence_vectors([one.paper.id for one in found.papers])
    assert vectors == {}  # this embedder gives none
    assert index.fine.flush() == 0
    another_writes.set()
    until = time.monotonic() + 30
    while not index.fine.flush() and time.monotonic() < until:
        time.sleep(0.02)
    assert embedded(index) == 40
    assert index.check() == []


def test_closing_writes_what_is_kept(tmp_path, index, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(index.fine, "flush", lambda: 0)
        Searcher(index, budget_s=math.inf).search("paper number")
        assert embedded(index) == 0
    index.close()
    again = new_index(tmp_path / "library")
    assert embedded(again) == 40
    again.close()


def test_a_paper_changed_or_removed_meanwhile_gets_no_old_vector(index):
    lacking = index.passages.lacking(ids_of(index, "paper"))
    made = index.fine.make(list(lacking.values()))
    first, second = made[0].paper, made[1].paper
    index.remove([first.id])
    with index.writing(), index.database.transaction():
        index.change(paper(99, id=second.id))
    assert write_if_free(index, made) == 38
    assert index.passages.lacking([second.id])[second.id].uncut
    assert index.sync().embedded == 1
    assert index.check() == []


def test_vectors_of_a_text_that_has_changed_are_not_compared(index, monkeypatch):
    monkeypatch.setattr(index.fine, "flush", lambda: 0)
    Searcher(index, budget_s=math.inf).search("mark5 paper")
    name = ids_of(index, "mark5", 1)[0]
    vector = index.embed_query("mark5 paper")
    assert name in [hit[1] for hit in index.nearest(vector, 100)]
    with index.writing(), index.database.transaction():
        index.change(paper(99, id=name))
    assert name not in [hit[1] for hit in index.nearest(vector, 100)]


def test_an_embedder_that_refuses_leaves_the_words(tmp_path):
    model = WatchedEmbedding(refuses=lambda text: "\n" in text)  # papers, not questions
    index = new_index(tmp_path / "library", model)
    add_records(index, "papers.jsonl", papers(12))
    found = Searcher(index, budget_s=math.inf).search("mark7")
    assert found.papers[0].paper.abstract == paper(7).abstract
    assert found.papers[0].cosine is None
    assert "out of order" in index.fine.failure
    index.close()


def test_one_refused_paper_keeps_no_other_from_being_embedded(tmp_path):
    model = WatchedEmbedding(refuses=lambda text: "mark7." in text)
    index = new_index(tmp_path / "library", model)
    add_records(index, "papers.jsonl", papers(12))
    Searcher(index, budget_s=math.inf).search("paper number")
    assert (embedded(index), index.fine.refused) == (11, 1)
    index.close()


def test_a_disk_that_is_full_fails_no_question(index, monkeypatch):
    def full(index, made):
        raise RagError("The library could not be written: the disk is full.")

    monkeypatch.setattr("rag.fine.write_if_free", full)
    found = Searcher(index, budget_s=math.inf).search("mark7 paper", top_k=1)
    assert found.papers[0].cosine is not None
    assert index.fine.any()


def test_nothing_is_stored_under_another_embedder(index):
    made = index.fine.make(list(index.passages.lacking(ids_of(index, "paper")).values()))
    manifest = manifests.read(index.folder)
    index.write_manifest(replace(manifest, embedder={"name": "other", "revision": "x", "dim": 3}))
    with pytest.raises(RagError, match="built with the embedder 'other'"):
        write_if_free(index, made)
    assert embedded(index) == 0


def test_memory_is_bounded(index, monkeypatch):
    monkeypatch.setattr("rag.fine.MOST_KEPT", 10)
    monkeypatch.setattr(index.fine, "flush", lambda: 0)
    Searcher(index, budget_s=math.inf).search("paper number")
    assert len(index.fine._made) == 10 < MOST_KEPT


def test_questions_at_the_same_time_embed_each_paper_once(index, model):
    def ask():
        Searcher(index, budget_s=math.inf).search("paper number")

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    texts = [text for text in model.seen if "\n" in text]
    assert len(texts) == len(set(texts)) == 40


def test_a_long_abstract_not_cut_yet_gives_its_sentences_in_order(index, monkeypatch):
    rows = np.eye(7, dtype=np.float32)
    lacking = index.passages.lacking(ids_of(index, "mark5", 1))
    (made,) = index.fine.make(list(lacking.values()))
    parts = [rows[:4], rows[4:]]
    row, one = made.rows[0], made.vectors[0]
    two = (row, replace(row, passage=replace(row.passage, id="second")))
    vectors = tuple(replace(one, sentences=part) for part in parts)
    index.fine._keep([replace(made, rows=two, vectors=vectors)])
    found = index.sentence_vectors([made.paper.id])
    assert list(found) == [row.passage.id]
    assert np.array_equal(found[row.passage.id], rows)


def test_a_vector_that_is_written_meanwhile_is_still_found(index, monkeypatch):
    vector = index.embed_query("paper number mark7")
    index.fine.complete(ids_of(index, "mark7", 1), math.inf)
    found, sentences = index.nearest(vector, 5), index.sentence_vectors(ids_of(index, "mark7", 1))
    compare, stored = index.vectors.nearest, index.passages.sentence_vectors

    def nearest(*given, **options):
        hits = compare(*given, **options)
        index.fine.flush()  # as another question does
        return hits

    def sentence_vectors(wanted):
        rows = stored(wanted)
        index.fine.flush()
        return rows

    with monkeypatch.context() as patch:
        patch.setattr(index.passages, "sentence_vectors", sentence_vectors)
        assert index.sentence_vectors(ids_of(index, "mark7", 1)).keys() == sentences.keys()
    index.fine.complete(ids_of(index, "mark8", 1), math.inf)
    monkeypatch.setattr(index.vectors, "nearest", nearest)
    assert len(index.nearest(vector, 5)) == len(found) + 1


def test_another_embedder_takes_over_no_vector(index):
    index.fine.complete(ids_of(index, "paper number"), math.inf)
    assert index.fine.any()
    index.rebuild(embed=True)
    assert not index.fine.any()


def test_vectors_of_an_embedder_exchanged_meanwhile_are_dropped(index, model):
    wanted = ids_of(index, "paper number", 3)
    other = wrap(WatchedEmbedding(), "word-hash")
    index.embedder  # noqa: B018  # loaded before
    model.refuses = lambda text: index.use(other)  # exchanged while it embeds
    index.fine.complete(wanted, math.inf)
    assert not index.fine.any()


def test_a_question_is_not_compared_with_vectors_of_another_embedder(tmp_path, index):
    search = Searcher(index).search
    assert search("paper number").papers[0].cosine is not None
    with index.database.transaction():  # another process begins to embed anew
        index.passages.drop_vectors()
    other = {**index.embedder.fingerprint, "name": "another"}
    manifests.write(index.folder, replace(index.manifest, embedder=other))
    assert search("paper number").papers[0].cosine is None
    wanted = ids_of(index, "paper number", 1)
    lacking = index.passages.lacking(wanted)[wanted[0]]
    with index.database.transaction():
        index.passages.fill_vectors([(lacking.rows[0], Embedded(np.ones(256, np.float32), None))])
    with pytest.raises(IndexMismatchError, match="another"):
        search("paper number")


def test_of_very_many_candidates_only_the_best_are_compared_with_each_other(index, monkeypatch):
    compared = []
    guide = retrieval.Guide

    def watched(terms, scores, texts):
        compared.append((len(scores), len(texts)))
        return guide(terms, scores, texts)

    monkeypatch.setattr(retrieval, "Guide", watched)
    monkeypatch.setattr(retrieval, "MOST_GUIDED", 10)
    Searcher(index, budget_s=math.inf).search("paper number")
    assert compared == [(40, 10)]
    assert embedded(index) == 40
