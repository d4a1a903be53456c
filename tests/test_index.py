"""Catalogue, terms and vectors stay in step, whatever fails."""

import json
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from rag import manifest as manifests
from rag import syncing
from rag.embedders import wrap
from rag.errors import IndexMismatchError, LibraryBusyError, RagError
from rag.importing import add_records
from rag.index import Index
from rag.stores import chroma
from rag.syncing import Syncer
from tests.storage import (
    WatchedEmbedding,
    add,
    content_of,
    counts_of,
    dump,
    files_of,
    nearest_papers,
    new_index,
    paper,
    papers,
)


@pytest.fixture
def model():
    return WatchedEmbedding()


@pytest.fixture
def index(tmp_path, model):
    index = new_index(tmp_path / "library", model)
    yield index
    index.close()


@pytest.fixture(autouse=True)
def big(monkeypatch):
    """Ask Chroma, as for a library that is too big to be compared exactly."""
    monkeypatch.setattr("rag.vectors.SMALL", 0)


def marked(index, number):
    """Return the id of the paper that holds the word mark<number>."""
    return index.terms.search(f"mark{number}", 1)[0][0]


def test_adding_the_same_papers_again_writes_and_embeds_nothing(index, model):
    first = add(index, papers(30, sentences=12))
    assert counts_of(first) == (30, 0, 0, 0, 0)
    assert (first.embedded, first.vectors_written, first.terms_written) == (60, 60, 30)
    embedded, before = len(model.seen), dump(index.folder)
    lexical, vectors = files_of(index.folder / "lexical"), index.vectors._open().count()
    changes = index.database.connection.total_changes
    again = add(index, papers(30, sentences=12))
    assert counts_of(again) == (0, 0, 30, 0, 0)
    assert (again.embedded, again.vectors_written, again.terms_written) == (0, 0, 0)
    assert again.import_id is None
    assert len(model.seen) == embedded == 60
    assert index.database.connection.total_changes == changes
    assert dump(index.folder) == before
    assert files_of(index.folder / "lexical") == lexical  # meta.json holds the commit's number
    assert index.vectors._open().count() == vectors


def test_adding_the_same_papers_again_loads_no_embedder(index, tmp_path):
    add(index, papers(5))
    index.close()
    again = Index(tmp_path / "library", lambda: pytest.fail("the embedder was loaded"))
    assert counts_of(add(again, papers(5))) == (0, 0, 5, 0, 0)
    again.close()


def test_a_changed_abstract_embeds_only_its_changed_passages(index, model):
    old = paper(1, sentences=40)
    add(index, [*papers(1), old])
    passages = index.passages.of([marked(index, 1)])[marked(index, 1)]
    assert len(passages) >= 4
    model.seen.clear()
    last = old.abstract[passages[-1].span.start :]
    abstract = old.abstract.replace(last, last.replace("The mark", "The changed mark"))
    report = add(index, [replace(old, abstract=abstract)])
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert len(model.seen) == report.embedded == report.vectors_written == 1
    assert "changed mark" in model.seen[0]
    assert index.catalogue.get(marked(index, 1)).abstract == abstract
    assert nearest_papers(index, model.seen[0])[0] == (marked(index, 1), pytest.approx(1, abs=1e-3))
    assert index.check() == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"venue": "Journal of Tests"}, id="venue"),
        pytest.param({"authors": ("C. Third",)}, id="authors"),
        pytest.param({"keywords": ("one", "two"), "topic": "Theory"}, id="keywords and topic"),
        pytest.param({"doi": "10.1000/abc"}, id="doi"),
    ],
)
def test_changed_metadata_embeds_nothing(index, model, change):
    add(index, papers(3))
    model.seen.clear()
    report = add(index, [paper(1, **change)])
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert (report.embedded, report.vectors_written, model.seen) == (0, 0, [])
    found = index.catalogue.get(marked(index, 1))
    assert {name: getattr(found, name) for name in change} == change
    assert index.check() == []


def test_changed_metadata_needs_no_working_embedder(index, model):
    add(index, papers(3))
    model.refuses = lambda text: True
    assert add(index, [paper(1, venue="Elsewhere")]).pending == 0
    assert index.catalogue.get(marked(index, 1)).venue == "Elsewhere"


def test_a_field_that_a_newer_record_lacks_is_kept(index):
    add(index, [paper(1, venue="Journal", keywords=("kept",))])
    report = add(index, [paper(1, venue=None, keywords=(), topic="New")])
    found = index.catalogue.get(marked(index, 1))
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert (found.venue, found.keywords, found.topic) == ("Journal", ("kept",), "New")


def test_b33_an_embedder_that_fails_leaves_that_paper_pending_and_the_others_whole(index, model):
    model.refuses = lambda text: "number 5 " in text
    report = add(index, papers(10))
    assert counts_of(report) == (10, 0, 0, 0, 0)
    assert (report.embedded, report.pending) == (9, 1)
    assert "the embedder is out of order" in report.notes[-1].text
    assert marked(index, 5)  # found by its words meanwhile
    assert marked(index, 5) not in dict(nearest_papers(index, "mark5", 100))
    model.refuses = None
    again = add(index, papers(10))
    assert counts_of(again) == (0, 0, 10, 0, 0)
    assert (again.embedded, again.pending, again.notes) == (1, 0, ())
    assert index.catalogue.count() == 10
    assert marked(index, 5) in dict(nearest_papers(index, "mark5", 100))
    assert index.check() == []


def test_b33_the_old_version_answers_until_the_new_one_is_whole(index, model):
    add(index, papers(4))
    old = paper(2)
    new = replace(old, abstract=old.abstract.replace("mark2", "freshword"))
    model.refuses = lambda text: "freshword" in text
    report = add(index, [new])
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert (report.pending, report.embedded) == (1, 0)
    name = marked(index, 2)
    assert index.catalogue.get(name).abstract == old.abstract
    assert index.terms.search("freshword", 5) == []
    assert nearest_papers(index, old.abstract)[0][0] == name
    model.refuses = None
    index.sync()
    assert index.catalogue.get(name).abstract == new.abstract
    assert index.terms.search("freshword", 5)[0][0] == name
    assert index.terms.search("mark2", 5) == []
    assert index.check() == []


def test_a_broken_embedder_is_not_asked_for_every_passage(index, model):
    asked = []
    model.refuses = lambda text: asked.append(text) or True
    report = add(index, papers(300))
    assert (report.added, report.pending, report.embedded) == (300, 300, 0)
    assert len(asked) < 100
    assert len(index.terms.search("paper", 400)) == 300


class Odd(WatchedEmbedding):
    """Returns a vector that cannot be compared, for one paper."""

    how: str = "zero"

    def _get_text_embedding(self, text):
        vector = super()._get_text_embedding(text)
        if "mark3" not in text:
            return vector
        return {"zero": [0.0] * 256, "nan": [float("nan"), *vector[1:]], "short": vector[:9]}[
            self.how
        ]


@pytest.mark.parametrize("how", ["zero", "nan"])
def test_b10_no_vector_of_zeros_or_nan_is_stored(tmp_path, how):
    index = new_index(tmp_path / "library", Odd(how=how))
    report = add(index, papers(5))
    assert (report.embedded, report.pending) == (4, 1)
    assert "vector of zeros" in report.notes[-1].text
    stored = np.concatenate([block.matrix(256) for block in index.passages.blocks()])
    assert len(stored) == 4
    assert np.isfinite(stored).all()
    assert np.linalg.norm(stored, axis=1) == pytest.approx(np.ones(4), abs=1e-3)
    assert index.check() == []
    index.close()


@pytest.mark.parametrize("abstract", ["", "   \n "], ids=["empty", "blank"])
def test_b10_a_paper_with_only_a_title_is_found_and_counted(index, abstract):
    only = paper(7, abstract=abstract, raw_abstract="", title="Zirconium in the deep sea")
    report = add(index, [*papers(3), only])
    assert (report.added, report.embedded) == (4, 4)
    assert index.catalogue.counts()["title_only"] == 1
    name = index.terms.search("zirconium", 5)[0][0]
    assert nearest_papers(index, "Zirconium in the deep sea")[0] == (name, pytest.approx(1))


def test_b10_extremes_of_length_are_stored_whole_and_in_time(index):
    long = paper(1, abstract="x" * 50_000, raw_abstract="")
    many = paper(2, authors=tuple(f"Author {n}" for n in range(3000)))
    began = time.monotonic()
    report = add(index, [long, many])
    assert time.monotonic() - began < 10
    assert (report.added, report.pending) == (2, 0)
    assert index.check() == []
    stored = {p.id: p for p in index.catalogue.each()}
    whole = next(p for p in stored.values() if p.abstract == long.abstract)
    spans = [p.span for p in index.passages.of([whole.id])[whole.id]]
    assert spans[0].start == 0
    assert spans[-1].end == 50_000
    assert all(a.end == b.start for a, b in pairwise(spans))


def test_b15_the_same_text_scores_one_and_order_falls_also_after_reopening(index, tmp_path, model):
    add(index, papers(40))
    text = model.seen[17]
    first = nearest_papers(index, text, 40)
    assert first[0][1] == pytest.approx(1, abs=1e-3)
    cosines = [cosine for _, cosine in first]
    assert cosines == sorted(cosines, reverse=True)
    assert cosines[-1] < 0.9
    index.close()
    again = new_index(tmp_path / "library")
    second = nearest_papers(again, text, 40)
    assert [name for name, _ in second] == [name for name, _ in first]
    assert [cosine for _, cosine in second] == pytest.approx(cosines, abs=1e-3)
    again.close()


def test_exact_comparison_and_chroma_agree(index):
    add(index, papers(200))
    query = index.embed_query("baral desten kivik")
    through = index.vectors.nearest(query, 10)
    exact = index.vectors._exact(query, 10)
    assert [c for *_, c in through] == pytest.approx([c for *_, c in exact], abs=1e-3)
    everything = list(index.catalogue.ids())
    allowed = index.nearest(query, 10, allowed=everything)
    assert allowed == exact


def test_only_allowed_papers_are_compared(index):
    add(index, papers(20))
    names = sorted(index.catalogue.ids())[:3]
    hits = index.nearest(index.embed_query("baral"), 50, allowed=names)
    assert {name for _, name, _ in hits} == set(names)


def test_vectors_that_have_not_reached_chroma_are_found_once_each(index, monkeypatch):
    add(index, papers(10))
    with monkeypatch.context() as patch:
        patch.setattr(index.vectors, "sync", lambda progress: 0)
        add(index, papers(20))
    assert len(index.passages.unstored(100)) == 10
    hits = index.nearest(index.embed_query("paper number"), 100)
    assert len(hits) == 20
    assert len({passage for passage, *_ in hits}) == 20
    index.sync()
    assert len(index.nearest(index.embed_query("paper number"), 100)) == 20


def test_removed_papers_are_gone_from_all_three(index):
    add(index, papers(10))
    name = marked(index, 4)
    assert index.remove([name, "doi:unknown"]) == 1
    assert index.catalogue.get(name) is None
    assert index.terms.search("mark4", 5) == []
    assert name not in dict(nearest_papers(index, "mark4", 100))
    assert index.check() == []
    assert counts_of(add(index, [paper(4)])) == (1, 0, 0, 0, 0)
    assert marked(index, 4) == name
    assert index.check() == []


def test_removing_embeds_nothing(index, model):
    model.refuses = lambda text: "number 1 " in text
    add(index, papers(3))
    model.refuses = None
    model.seen.clear()
    index.remove([marked(index, 2)])
    assert model.seen == []


# ---- rebuilding and damage ---------------------------------------------------------------------


def half(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {
    "chroma and lexical deleted": lambda f: [shutil.rmtree(f / n) for n in ("chroma", "lexical")],
    "chroma deleted": lambda f: shutil.rmtree(f / "chroma"),
    "chroma's database truncated": lambda f: half(f / "chroma" / "chroma.sqlite3"),
    "chroma's database empty": lambda f: (f / "chroma" / "chroma.sqlite3").write_bytes(b""),
    "chroma's graph truncated": lambda f: half(next(f.rglob("data_level0.bin"))),
    "chroma's header truncated": lambda f: half(next(f.rglob("header.bin"))),
    "chroma's ids lost": lambda f: next(f.rglob("index_metadata.pickle")).unlink(),
    "killed while chroma wrote": lambda f: (f / "chroma" / chroma.SEAL).unlink(),
    "lexical deleted": lambda f: shutil.rmtree(f / "lexical"),
    "lexical meta.json half written": lambda f: half(f / "lexical" / "meta.json"),
    "lexical meta.json lost": lambda f: (f / "lexical" / "meta.json").unlink(),
    "lexical segment lost": lambda f: next(f.rglob("*.term")).unlink(),
    "lexical of another schema": lambda f: (f / "lexical" / "meta.json").write_text(
        (f / "lexical" / "meta.json").read_text().replace('"meta"', '"other"')
    ),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A library of 1,100 passages, so that Chroma's graph files exist."""
    folder = tmp_path_factory.mktemp("whole") / "library"
    index = new_index(folder)
    add(index, papers(1100, sentences=1))
    content = content_of(index)
    index.close()
    return folder, content


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_still_answers_and_a_rebuild_embeds_nothing(tmp_path, whole, damage):
    folder = tmp_path / "library"
    shutil.copytree(whole[0], folder)
    DAMAGES[damage](folder)
    index = new_index(folder, model := WatchedEmbedding())
    wanted = paper(77, sentences=1)
    best = nearest_papers(index, f"{wanted.title}\n{wanted.abstract}", 3)[0][0]
    assert index.catalogue.get(best).abstract == wanted.abstract
    assert any("citewell rebuild" in problem for problem in index.check())
    model.seen.clear()
    work = index.rebuild()
    assert (work.embedded, work.error, model.seen) == (0, None, [])
    assert (work.terms, work.vectors) == (1100, 1100)
    assert index.check() == []
    assert content_of(index) == whole[1]
    assert marked(index, 77) == best
    index.close()


@pytest.mark.parametrize("damage", [name for name in DAMAGES if "lexical" in name])
def test_a_damaged_lexical_index_is_noticed_and_made_anew_by_sync(tmp_path, whole, damage):
    folder = tmp_path / "library"
    shutil.copytree(whole[0], folder)
    DAMAGES[damage](folder)
    index = new_index(folder)
    assert index.has_work()
    assert index.sync().embedded == 0
    assert not index.has_work()
    assert index.terms.ids() == index.catalogue.ids()
    index.close()


@pytest.mark.parametrize("damage", ["chroma deleted", "chroma's header truncated"])
def test_a_damaged_chroma_is_made_anew_by_the_next_add(tmp_path, whole, damage):
    folder = tmp_path / "library"
    shutil.copytree(whole[0], folder)
    DAMAGES[damage](folder)
    index = new_index(folder, model := WatchedEmbedding())
    add(index, [paper(5000)])
    assert len(model.seen) == 1
    assert index.check() == []
    index.close()


def test_check_names_a_vector_that_differs(index):
    add(index, papers(5))
    other = np.ones((1, 256), np.float32) / 16
    name = index.passages.of([marked(index, 1)])[marked(index, 1)][0].id
    index.vectors._open().upsert([name], [marked(index, 1)], other)
    assert index.check() == [
        "Chroma holds 1 vectors that differ from the catalogue's. "
        "Rebuild, which embeds nothing: citewell rebuild"
    ]


def test_check_names_a_bad_vector_in_the_catalogue(index):
    add(index, papers(5))
    index.database.connection.execute(
        "UPDATE passages SET vector = zeroblob(1024) WHERE seq IN (1, 2)"
    )
    assert any("2 vectors in the catalogue are zero" in line for line in index.check())


def test_check_names_a_word_index_that_lacks_a_paper(index):
    add(index, papers(5))
    index.terms.write([], forget=[marked(index, 1)])
    assert any("holds 4 papers, the catalogue marks 5" in line for line in index.check())


def test_an_index_of_an_older_schema_is_made_anew(index, tmp_path):
    add(index, papers(5))
    index.close()
    manifests.write(index.folder, replace(index.manifest, terms=0))
    again = new_index(tmp_path / "library")
    assert again.has_work()
    assert again.sync().terms == 5
    assert manifests.read(again.folder).terms == manifests.TERMS
    assert not again.has_work()
    again.close()


class Second(WatchedEmbedding):
    """Another embedder: another name and dimension."""

    dim: int = 64


def open_with(folder, model, name):
    return Index(folder, lambda: wrap(model, name))


def test_rebuilding_with_another_embedder_embeds_everything_again(index):
    add(index, papers(30, sentences=12))
    index.close()
    other = open_with(index.folder, model := Second(), "second")
    work = other.rebuild(embed=True)
    assert (work.embedded, work.vectors, len(model.seen)) == (60, 60, 60)
    assert other.manifest.embedder == {**other.embedder.fingerprint, "name": "second", "dim": 64}
    assert other.check() == []
    assert nearest_papers(other, model.seen[3])[0][1] == pytest.approx(1, abs=1e-3)
    other.close()
    with pytest.raises(IndexMismatchError, match="built with the embedder 'second'"):
        add(new_index(index.folder), [paper(99)])


@pytest.mark.parametrize("step", ["write_manifest", "chunk_again"])
def test_a_kill_while_another_embedder_comes_in_is_finished_by_the_next_sync(
    index, monkeypatch, step
):
    add(index, papers(10))
    index.close()
    other = open_with(index.folder, Second(), "second")
    owner = Syncer if step == "chunk_again" else other
    with monkeypatch.context() as patch:
        patch.setattr(owner, step, lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            other.rebuild(embed=True)
    other.close()
    told = "second" if step == "chunk_again" else "word-hash"
    model = Second() if told == "second" else WatchedEmbedding()
    again = open_with(index.folder, model, told)
    assert again.has_work()
    again.sync()
    assert len(model.seen) == 10
    assert again.manifest.chunking == manifests.CHUNKING
    assert again.check() == []
    again.close()


def test_a_library_that_another_process_embedded_anew_is_not_compared_with_old_vectors(index):
    add(index, papers(5))
    index.embed_query("mark1")
    other = open_with(index.folder, Second(), "second")
    index.vectors.close()
    other.rebuild(embed=True)
    other.close()
    with pytest.raises(IndexMismatchError, match=r"built with the embedder .second."):
        index.vectors._exact(index.embed_query("mark1"), 5)


def test_a_rebuild_is_refused_while_another_holds_chroma(index, tmp_path):
    add(index, papers(3))
    other = new_index(tmp_path / "library")
    with pytest.raises(LibraryBusyError, match="in use by process"):
        other.rebuild()
    assert nearest_papers(other, "mark1")  # compared exactly meanwhile
    other.close()


def test_a_missing_catalogue_is_no_empty_library(index):
    add(index, papers(3))
    index.close()
    for name in ("catalogue.sqlite", "catalogue.sqlite-wal", "catalogue.sqlite-shm"):
        (index.folder / name).unlink(missing_ok=True)
    with pytest.raises(IndexMismatchError, match="missing or empty"):
        new_index(index.folder)


# ---- threads -----------------------------------------------------------------------------------


def test_eight_threads_search_while_one_adds(index):
    add(index, papers(100))
    failures, stop = [], threading.Event()

    def search():
        try:
            while not stop.is_set():
                assert index.terms.search("mark42", 5)
                assert nearest_papers(index, "mark42 paper", 5)
                assert len(index.catalogue.browse(limit=3)) == 3
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=search) for _ in range(8)]
    for thread in threads:
        thread.start()
    for start in range(100, 700, 100):
        add(index, papers(start + 100)[start:])
    stop.set()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert index.catalogue.count() == 700
    assert index.check() == []


def test_b32_two_threads_on_a_cold_start_load_the_embedder_once(tmp_path, index):
    add(index, papers(3))
    index.close()
    loads, gate = [], threading.Barrier(2)

    def load():
        loads.append(1)
        time.sleep(0.2)
        return wrap(WatchedEmbedding(), "word-hash")

    cold = Index(tmp_path / "library", load)
    found = []

    def ask():
        gate.wait()
        found.append(nearest_papers(cold, "mark1"))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(loads) == 1
    assert found[0] == found[1] != []
    cold.close()


def test_two_threads_of_one_process_do_not_write_at_once(index):
    entered, leave = threading.Event(), threading.Event()

    def write():
        with index.writing():
            entered.set()
            leave.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    entered.wait(30)
    began = time.monotonic()
    with pytest.raises(LibraryBusyError, match="being written to by process"):
        add(index, papers(1))
    assert time.monotonic() - began < 1
    leave.set()
    thread.join(30)
    assert add(index, papers(1)).added == 1


def test_a_failing_chroma_leaves_papers_searchable_and_says_so(index, monkeypatch):
    def full(*args):
        raise IndexMismatchError("The disk is full.")

    monkeypatch.setattr(chroma.VectorStore, "upsert", full)
    report = add(index, papers(5))
    assert (report.added, report.embedded, report.vectors_written) == (5, 5, 0)
    assert "The disk is full." in report.notes[-1].text
    assert len(nearest_papers(index, "mark1")) == 5
    monkeypatch.undo()
    index.sync()
    assert index.check() == []


def test_b35_a_stored_embedding_function_is_never_built(index, tmp_path, monkeypatch):
    add(index, papers(3))
    index.close()
    edited = tmp_path / "library" / "chroma" / "chroma.sqlite3"
    names_a_model(edited)
    marker = tmp_path / "built"
    monkeypatch.setattr(
        "chromadb.utils.embedding_functions.SentenceTransformerEmbeddingFunction.__init__",
        lambda self, *a, **k: marker.touch(),
    )
    again = new_index(tmp_path / "library")
    assert again.vectors._usable() is not None
    assert len(nearest_papers(again, "mark1")) == 3
    assert add(again, papers(5)).added == 2
    assert again.check() == []
    assert not marker.exists()
    again.close()


def names_a_model(database):
    """Make a Chroma folder ask for a model whose own code is to be run."""
    import sqlite3

    connection = sqlite3.connect(database)
    row = connection.execute("SELECT id, config_json_str FROM collections").fetchone()
    config = json.loads(row[1])
    config["embedding_function"] = {
        "type": "known",
        "name": "sentence_transformer",
        "config": {
            "model_name": "someone/else",
            "device": "cpu",
            "normalize_embeddings": False,
            "kwargs": {"trust_remote_code": True},
        },
    }
    connection.execute(
        "UPDATE collections SET config_json_str = ? WHERE id = ?", (json.dumps(config), row[0])
    )
    connection.commit()
    connection.close()


def test_a_reason_that_is_not_ours_is_named_by_its_kind(index, model):
    model.refuses = lambda text: True
    report = add(index, papers(1))
    assert report.notes[-1].text.endswith("ConnectionError: the embedder is out of order")


def test_an_embedder_that_loses_a_vector_is_refused(index, monkeypatch):
    monkeypatch.setattr("rag.embedders.Embedder.embed_passages", lambda self, texts, spans: [])
    report = add(index, papers(2))
    assert report.pending == 2
    assert "returned 0 vectors for 1 texts" in report.notes[-1].text


def test_a_closed_index_is_refused_in_a_plain_sentence(index):
    index.close()
    with pytest.raises(RagError, match="is closed"):
        index.catalogue.count()


def test_one_refused_change_keeps_no_other_from_coming_in(index, model):
    add(index, papers(6))
    changed = [replace(p, abstract=p.abstract + " Changed words.") for p in papers(6)]
    model.refuses = lambda text: "number 3 " in text
    report = add(index, changed)
    assert (report.updated, report.embedded, report.pending) == (6, 5, 1)
    assert [p.abstract.endswith("Changed words.") for p in index.catalogue.each()] == [
        True, True, True, False, True, True,
    ]  # fmt: skip
    model.refuses = None
    assert index.sync().embedded == 1
    assert index.check() == []


def test_a_broken_embedder_is_not_asked_for_every_change(index, model):
    add(index, papers(90))
    asked = []
    model.refuses = lambda text: asked.append(text) or True
    report = add(index, [replace(p, abstract=p.abstract + " Changed.") for p in papers(90)])
    assert (report.updated, report.pending, report.embedded) == (90, 90, 0)
    assert len(asked) < 60


def test_papers_of_a_library_whose_embedder_is_gone_are_found_by_their_words(index, tmp_path):
    add_records(index, "papers.jsonl", papers(4))
    index.close()

    def gone():
        raise RagError("The packaged embedding model is missing.")

    again = Index(tmp_path / "library", gone)
    work = again.sync()
    assert (work.error, work.embedded) == ("The packaged embedding model is missing.", 0)
    assert len(again.terms.search("paper", 9)) == 4
    again.close()
    whole = new_index(tmp_path / "library")
    assert whole.sync().embedded == 4
    assert whole.manifest.pinned
    whole.close()


def test_a_search_that_chroma_fails_is_answered_exactly_and_repaired_by_sync(index, monkeypatch):
    add(index, papers(8))
    query = index.embed_query("mark3 paper")
    exact = index.vectors._exact(query, 5)

    def fail(*args):
        raise IndexMismatchError("Chroma's graph cannot be read.")

    with monkeypatch.context() as patch:
        patch.setattr(chroma.VectorStore, "search", fail)
        assert index.nearest(query, 5) == exact
    assert index.nearest(query, 5) == exact
    assert index.vectors._usable() is None
    assert index.sync().vectors == 8
    assert index.vectors._usable() is not None
    assert index.check() == []


def test_the_next_batch_is_begun_before_the_last_one_is_stored():
    begun = []

    def make(batch):
        begun.append(batch)
        return [None] * len(batch)

    with ThreadPoolExecutor(1) as executor:
        ahead = syncing._one_ahead([["a"], ["b"], ["c"]], executor, make)
        first, made = next(ahead)
        executor.submit(lambda: None).result()  # whatever was handed over before is done
        assert (first, made.result(), begun) == (["a"], [None], [["a"], ["b"]])
        assert [batch for batch, _ in ahead] == [["b"], ["c"]]
