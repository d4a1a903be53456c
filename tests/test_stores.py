"""The two engines: words in Tantivy, vectors in Chroma."""

import shutil
import sqlite3
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import IndexMismatchError
from rag.stores import chroma, lexical
from rag.stores.chroma import VectorStore, discard
from rag.stores.lexical import TermStore, searchable
from tests.storage import paper, papers


@pytest.fixture
def terms(tmp_path):
    return TermStore(tmp_path / "lexical")


@pytest.fixture
def vectors(tmp_path):
    store = VectorStore(tmp_path / "chroma")
    yield store
    store.close()


def unit(*rows):
    array = np.asarray(rows, np.float32)
    return array / np.linalg.norm(array, axis=1, keepdims=True)


# ---- words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("Learning learned LEARNS", ["learn", "learn", "learn"], id="stems, case"),
        pytest.param("the of and retrieval", ["retriev"], id="stop words"),
        pytest.param("café naïve", ["cafe", "naiv"], id="accents"),
        pytest.param("Chain-of-Glimpse", ["chain", "glimps", "chainofglimps"], id="compound"),
        pytest.param("x² ﬁne", ["x2", "fine"], id="compatibility forms"),
        pytest.param("深度学习", ["深", "度", "学", "习"], id="Chinese"),
        pytest.param("", [], id="empty"),
        pytest.param('?!*:"()[]{}~^', [], id="only punctuation"),
        pytest.param("a\x00b \ud800", ["b"], id="NUL and half a surrogate"),
    ],
)
def test_terms_of_a_text(terms, text, expected):
    assert terms.terms(text) == expected


@given(st.text(alphabet="ab1-_+^./ ,\n()\x1f\x85é·²Ⅳ–µ\u00a0½"))
def test_passing_over_whole_words_loses_no_compound(text):
    for pattern in (lexical._COMPOUND, *([lexical._ASCII_COMPOUND] if text.isascii() else [])):
        assert lexical._compounds(pattern, text) == pattern.findall(text)


@pytest.mark.parametrize("text", ["x" * 200_000, "x-" * 100_000, "-" * 200_000, "深" * 200_000])
def test_b10_long_texts_are_cut_into_terms_in_linear_time(text):
    began = time.monotonic()
    searchable(text)
    assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "query",
    ['title:"x" AND (', "mark1 OR", "+mark1 -mark2", "id:[* TO *]", "mark1~2 mark1^9", "\\"],
)
def test_no_character_of_a_query_is_syntax(terms, query):
    terms.write([paper(n, id=f"p{n}") for n in range(3)])
    found = terms.search(query, 5)
    assert [name for name, _ in found][:1] == (["p1"] if "mark1" in query else [])


def test_the_best_match_comes_first_and_scores_fall(terms):
    terms.write([paper(n, id=f"p{n}") for n in range(50)])
    found = terms.search("mark7 paper number", 50)
    assert found[0][0] == "p7"
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(score > 0 for score in scores)


def test_a_paper_that_is_written_again_is_there_once(terms):
    terms.write([paper(1, id="p")])
    terms.write([paper(2, id="p")])
    assert terms.count() == 1
    assert terms.ids() == {"p"}
    assert terms.search("mark1", 5) == []
    assert terms.search("mark2", 5)[0][0] == "p"


def test_a_subset_keeps_the_scores(terms):
    terms.write([paper(n, id=f"p{n}") for n in range(20)])
    everything = dict(terms.search("paper number", 20))
    some = dict(terms.search("paper number", 20, allowed=["p3", "p9", "unknown"]))
    assert some == {name: everything[name] for name in ("p3", "p9")}
    assert terms.search("paper", 20, allowed=[]) == []


def test_authors_topic_and_venue_are_found_too(terms):
    terms.write([paper(1, id="p", authors=("Xu Qingwei",), topic="Robotics", venue="ICRA")])
    for word in ("qingwei", "robotics", "icra"):
        assert terms.search(word, 5)[0][0] == "p"


def test_rewriting_replaces_all_and_readers_see_the_old_until_then(terms):
    terms.write([paper(n, id=f"p{n}") for n in range(5)])
    seen = []

    def during():
        seen.append(terms.count())
        yield paper(7, id="q")
        seen.append(terms.count())

    assert terms.rewrite(during()) == 1
    assert seen == [5, 5]
    assert terms.ids() == {"q"}


def test_an_error_while_writing_leaves_the_index_as_it_was_and_no_lock(terms):
    terms.write([paper(1, id="p")])

    def broken():
        yield paper(2, id="q")
        raise KeyError("a reader that fails")

    for write in (terms.write, terms.rewrite):
        with pytest.raises(KeyError, match="a reader that fails"):
            write(broken())
        assert terms.ids() == {"p"}
    assert terms.write([paper(3, id="r")]) == 1


def test_a_writer_killed_before_its_commit_was_whole_is_not_in_the_way(terms):
    shelf = [paper(n, id=f"p{n}") for n in range(10)]
    terms.write(shelf)
    before = (terms.folder / "meta.json").read_bytes()
    terms.write(shelf[:1])  # leaves a file of deletions, named by the number of the commit
    (terms.folder / "meta.json").write_bytes(before)
    again = TermStore(terms.folder)
    again.write(shelf[:1])  # the same number
    assert again.count() == 10
    assert again.ids() == {one.id for one in shelf}


def test_rare_terms_weigh_more(terms):
    terms.write([paper(n, id=f"p{n}") for n in range(20)])
    weights = terms.weights(["mark3", "paper", "unknown"])
    assert weights["paper"] < weights["mark3"] < weights["unknown"]


def test_one_index_is_read_by_another_object_while_it_is_written(terms):
    reader, failures = TermStore(terms.folder), []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            try:
                assert len(reader.search("paper", 1000)) <= 600
            except Exception as exc:
                failures.append(exc)
                return

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for start in range(0, 600, 50):
        terms.write([paper(n, id=f"p{n}") for n in range(start, start + 50)])
    stop.set()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert reader.count() == 600


def test_a_lexical_folder_that_vanishes_is_told(terms):
    terms.write(papers(1))
    shutil.rmtree(terms.folder)
    with pytest.raises(IndexMismatchError, match="citewell rebuild"):
        terms.search("paper", 5)
    with pytest.raises(IndexMismatchError, match="citewell rebuild"):
        terms.write(papers(1))


def test_a_lexical_folder_that_is_a_file_is_told(tmp_path):
    (tmp_path / "lexical").write_text("x")
    with pytest.raises(IndexMismatchError, match="cannot be used"):
        TermStore(tmp_path / "lexical")


# ---- vectors -----------------------------------------------------------------------------------


def test_b15_cosines_are_those_of_the_vectors(vectors):
    rows = unit([1, 0, 0], [1, 1, 0], [0, 1, 0], [-1, 0, 0])
    vectors.upsert(["a", "b", "c", "d"], ["p"] * 4, rows)
    found = vectors.search(rows[0], 10)
    assert [name for name, _ in found] == ["a", "b", "c", "d"]
    assert [cosine for _, cosine in found] == pytest.approx([1, 2**-0.5, 0, -1], abs=1e-3)


def test_b13_a_known_id_is_replaced(vectors):
    rows = unit([1, 0], [0, 1])
    vectors.upsert(["a"], ["p"], rows[:1])
    vectors.upsert(["a"], ["p"], rows[1:])
    assert vectors.count() == 1
    assert vectors.search(rows[1], 1)[0][1] == pytest.approx(1, abs=1e-3)
    assert vectors.get(["a", "unknown"])["a"].tolist() == rows[1].tolist()


def test_b13_more_vectors_than_one_batch_holds(vectors, monkeypatch):
    assert vectors._batch > 1000  # asked of the client
    monkeypatch.setattr(vectors, "_batch", 700)
    rows = unit(*np.random.default_rng(1).normal(size=(6000, 8)))
    vectors.upsert([f"p{n}" for n in range(6000)], ["p"] * 6000, rows)
    assert vectors.count() == 6000
    vectors.delete([f"p{n}" for n in range(800)])
    assert vectors.count() == 5200


def test_an_empty_store_finds_nothing(vectors):
    assert vectors.search(unit([1, 0])[0], 5) == []
    assert vectors.get([]) == {}
    vectors.delete(["unknown"])
    assert vectors.count() == 0


def test_the_folder_is_given_back_and_opens_again(tmp_path):
    store = VectorStore(tmp_path / "chroma")
    rows = unit(*np.random.default_rng(1).normal(size=(1500, 8)))
    store.upsert([f"p{n}" for n in range(1500)], ["p"] * 1500, rows)
    first = store.search(rows[7], 5)
    store.close()
    store.close()
    again = VectorStore(tmp_path / "chroma")
    assert again.count() == 1500
    assert again.search(rows[7], 5) == first
    again.close()


def test_b15_a_collection_in_another_space_is_refused_with_the_way_out(tmp_path):
    import chromadb
    from chromadb.config import Settings

    settings = Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(tmp_path / "chroma"), settings=settings)
    client.create_collection(
        chroma.COLLECTION, configuration={"hnsw": {"space": "l2"}}, embedding_function=None
    )
    client.close()
    (tmp_path / "chroma" / chroma.SEAL).write_text("{}")
    with pytest.raises(IndexMismatchError, match=r"space 'l2'.*citewell rebuild"):
        VectorStore(tmp_path / "chroma")
    discard(tmp_path / "chroma")
    VectorStore(tmp_path / "chroma").close()


@pytest.mark.parametrize("damage", ["no seal", "another seal", "no JSON"])
def test_a_folder_whose_last_write_was_not_finished_is_not_opened(tmp_path, damage):
    store = VectorStore(tmp_path / "chroma")
    store.upsert(["a"], ["p"], unit([1, 0]))
    store.close()
    seal = tmp_path / "chroma" / chroma.SEAL
    seal.write_text({"another seal": '{"x.bin": 3}', "no JSON": "{", "no seal": ""}[damage])
    if damage == "no seal":
        seal.unlink()
    with pytest.raises(IndexMismatchError, match=r"not as they were left.*citewell rebuild"):
        VectorStore(tmp_path / "chroma")


def test_a_write_that_fails_takes_the_seal_away(vectors, monkeypatch):
    vectors.upsert(["a"], ["p"], unit([1, 0]))
    with pytest.raises(IndexMismatchError, match="citewell rebuild"):
        vectors.upsert(["b"], ["p"], unit([1, 0, 0]))  # another length
    assert not (vectors.folder / chroma.SEAL).exists()


def test_b38_nothing_is_told_to_anyone_and_no_model_is_named(vectors):
    vectors.upsert(["a"], ["p"], unit([1, 0]))
    assert vectors._client.get_settings().anonymized_telemetry is False
    connection = sqlite3.connect(vectors.folder / "chroma.sqlite3")
    (config,) = connection.execute("SELECT config_json_str FROM collections").fetchone()
    connection.close()
    assert "sentence_transformer" not in config
    assert "onnx" not in config


def test_a_folder_that_cannot_be_deleted_is_told(tmp_path, monkeypatch):
    (tmp_path / "chroma").mkdir()

    def refuse(folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(IndexMismatchError, match="cannot be deleted: Permission denied"):
        discard(tmp_path / "chroma")
    discard(tmp_path / "nothing")
