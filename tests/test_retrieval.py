import asyncio
import json
from itertools import pairwise

import numpy as np
import pytest
from llama_index.core.schema import MetadataMode, QueryBundle

from rag import retrieval
from rag.index import Index
from rag.retrieval import LEXICAL_SHARE, PaperRetriever, Searcher, fuse
from rag.schema import Filters, Paper
from tests.answering import by_title, forbid_defaults, library
from tests.storage import WatchedEmbedding, new_index

ORCA7 = "Pruning attention heads in speech encoders"


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = library(tmp_path_factory.mktemp("library") / "small")
    yield index
    index.close()


def titles(found):
    return [one.paper.title for one in found.papers]


# ---- fusing


@pytest.mark.parametrize(
    ("lexical", "dense", "expected"),
    [
        pytest.param({}, {}, {}, id="nothing"),
        pytest.param({"a": 4.0, "b": 1.0}, {}, {"a": 0.5, "b": 0.125}, id="words only"),
        pytest.param({}, {"a": 0.9, "b": 0.1}, {"a": 0.5, "b": 0.0}, id="vectors only"),
        pytest.param({"a": 4.0}, {"b": 0.9, "a": 0.1}, {"a": 0.5, "b": 0.5}, id="each its own"),
        pytest.param({"a": 2.0, "b": 1.0}, {"b": 0.5}, {"a": 0.5, "b": 0.75}, id="one vector"),
        pytest.param({}, {"a": -0.1, "b": -0.5}, {"a": 0.5, "b": 0.0}, id="negative cosines"),
        pytest.param({}, {"a": 0.2, "b": 0.2}, {"a": 0.5, "b": 0.5}, id="equal cosines"),
    ],
)
def test_scores_are_brought_to_one_scale_and_mixed(lexical, dense, expected):
    assert fuse(lexical, dense, share=0.5) == pytest.approx(expected)


def test_a_paper_best_in_both_scores_one():
    assert fuse({"a": 7.0, "b": 1.0}, {"a": 0.4, "b": 0.1})["a"] == pytest.approx(1.0)
    assert 0 < LEXICAL_SHARE < 1


# ---- searching


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
def test_each_mode_finds_the_paper_and_ranks_from_one_by_falling_score(index, mode):
    found = Searcher(index, mode=mode).search("pruning attention heads", top_k=5)
    assert titles(found)[0] == ORCA7
    assert [one.rank for one in found.papers] == list(range(1, len(found.papers) + 1))
    assert all(a.score >= b.score for a, b in pairwise(found.papers))
    assert len({one.paper.id for one in found.papers}) == len(found.papers)
    assert all(one.passage_id.startswith(f"{one.paper.id}#") for one in found.papers)


def test_words_alone_give_no_cosine(index):
    found = Searcher(index, mode="lexical").search("attention heads")
    assert len(found.papers) == 2
    assert [one.cosine for one in found.papers] == [None, None]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_every_paper_that_has_a_vector_gets_its_cosine(index, mode):
    """Also one that only its words found, though few candidates are taken from each engine."""
    query = "zinc and and and are are are in that who"
    found = Searcher(index, candidates=1, mode=mode).search(query)
    assert len(found.papers) == (2 if mode == "hybrid" else 1)
    assert all(-1 <= one.cosine <= 1.001 for one in found.papers)


def test_hybrid_scores_lie_between_nought_and_one(index):
    found = Searcher(index).search("moss in city air", top_k=100)
    assert len(found.papers) == index.catalogue.count()
    assert all(0 <= one.score <= 1 for one in found.papers)


def test_ties_are_ordered_alike_every_time(index):
    found = [Searcher(index).search("twin lamps flicker together", top_k=3) for _ in range(3)]
    first, second = found[0].papers[:2]
    assert first.score == pytest.approx(second.score)
    assert first.paper.id < second.paper.id or first.score > second.score
    assert found[0].papers == found[1].papers == found[2].papers


def test_papers_with_equal_scores_are_ordered_by_their_ids(index, monkeypatch):
    ids = sorted(index.catalogue.ids())
    tied = [(name, 1.0) for name in reversed(ids)]
    monkeypatch.setattr(index.terms, "search", lambda *_, **__: tied)
    found = Searcher(index, mode="lexical").search("moss", top_k=100)
    assert [one.paper.id for one in found.papers] == ids


@pytest.mark.parametrize("top_k", [1, 3])
def test_at_most_so_many_papers_are_returned(index, top_k):
    assert len(Searcher(index).search("heads", top_k=top_k).papers) == top_k


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "dense"])
@pytest.mark.parametrize(
    ("filters", "allowed"),
    [
        (Filters(author="a. author"), {ORCA7, "Wetland birds and the timing of migration"}),
        (Filters(topic="Speech"), {ORCA7, "Reducing heads of speech encoders with penalties"}),
        (Filters(venue="journal b", year_from=2016), {"Moss as a record of metal in city air"}),
        (Filters(year_from=2021, year_to=2021), {ORCA7}),
    ],
)
def test_only_papers_that_match_the_filters_are_found(index, mode, filters, allowed):
    found = Searcher(index, mode=mode).search("heads, herons, moss and lead", filters=filters)
    assert set(titles(found)) == allowed


def test_filters_that_match_nothing_find_nothing_and_search_nothing(index, monkeypatch):
    monkeypatch.setattr(Index, "embed_query", lambda *_: pytest.fail("a vector was made"))
    found = Searcher(index).search("moss", filters=Filters(author="Nobody"))
    assert found.papers == ()


def test_timings_name_both_engines(index):
    found = Searcher(index).search("moss")
    assert set(found.timings_ms) == {"terms", "question", "vectors", "fusing"}
    assert all(value >= 0 for value in found.timings_ms.values())


def test_words_that_no_paper_holds_find_nothing_by_words(index):
    assert Searcher(index, mode="lexical").search("xylophone").papers == ()


def test_a_title_without_an_abstract_is_found(index):
    assert titles(Searcher(index).search("zebrafish sleep"))[0] == "Zebrafish sleep in the dark"


def test_papers_without_vectors_are_found_by_their_words(tmp_path):
    refusing = WatchedEmbedding(refuses=lambda text: True)
    index = library(tmp_path / "library", model=refusing)
    for mode, best in (("hybrid", [ORCA7]), ("dense", [])):
        found = Searcher(index, mode=mode).search("pruning attention")
        assert titles(found)[:1] == best
        assert all(one.cosine is None for one in found.papers)
    index.close()


def test_a_paper_removed_while_it_is_ranked_is_left_out(index, monkeypatch):
    gone = by_title(index, ORCA7)
    known = index.catalogue.papers

    def without(ids):
        return {name: paper for name, paper in known(ids).items() if name != gone}

    monkeypatch.setattr(index.catalogue, "papers", without)
    found = Searcher(index).search("pruning attention heads", top_k=3)
    assert gone not in [one.paper.id for one in found.papers]
    assert [one.rank for one in found.papers] == [1, 2]


def test_b15_identical_text_has_cosine_one_before_and_after_reopening(tmp_path):
    texts = [f"Lamp {n} glows {colour}." for n, colour in enumerate(("red", "green", "blue"))]
    index = library(tmp_path / "library", [Paper("", abstract=text) for text in texts])
    before = Searcher(index).search(texts[1])
    index.close()
    again = new_index(tmp_path / "library")
    after = Searcher(again).search(texts[1])
    assert before.papers == after.papers
    assert after.papers[0].paper.abstract == texts[1]
    assert after.papers[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert all(a.score >= b.score for a, b in pairwise(after.papers))
    assert all(one.cosine < 0.999 for one in after.papers[1:])
    again.close()


# ---- as a LlamaIndex retriever


@pytest.fixture
def no_defaults(monkeypatch):
    forbid_defaults(monkeypatch)


def test_the_retriever_gives_llamaindex_nodes(index, no_defaults):
    retriever = PaperRetriever(Searcher(index), top_k=2)
    first, second = retriever.retrieve("pruning attention heads")
    assert first.score >= second.score
    assert first.node.node_id == by_title(index, ORCA7)
    assert first.node.text.startswith("Speech encoders are slow")
    assert first.node.metadata["authors"] == "A. Author; B. Writer"
    assert first.node.metadata["year"] == 2021
    assert first.node.ranked.rank == 1


def test_the_retriever_takes_query_bundles_and_waits_asynchronously(index, no_defaults):
    retriever = PaperRetriever(Searcher(index), top_k=3, filters=Filters(topic="Ecology"))
    plain = retriever.retrieve(QueryBundle("moss"))
    assert asyncio.run(retriever.aretrieve("moss")) == plain
    assert [one.node.metadata["topic"] for one in plain] == ["Ecology", "Ecology"]


def test_a_node_can_be_stored_as_json_and_holds_nothing_before_its_text(index):
    node = PaperRetriever(Searcher(index), top_k=1).retrieve("zebrafish")[0]
    stored = json.loads(json.dumps(node.to_dict()))
    assert stored["node"]["text"] == "Zebrafish sleep in the dark"
    assert "ranked" not in stored["node"]
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert node.node.get_content(mode) == node.node.text


def test_a_paper_that_only_vectors_found_gets_the_score_of_its_words(index, monkeypatch):
    narrow = Searcher(index, candidates=1)
    asked = []
    search = index.terms.search
    monkeypatch.setattr(
        index.terms,
        "search",
        lambda query, limit, **more: asked.append((limit, more)) or search(query, limit, **more),
    )
    monkeypatch.setattr(narrow, "_lexical", lambda query, allowed: {})
    found = narrow.search("moss")
    assert asked == [(1, {"allowed": [found.papers[0].paper.id]})]


def test_without_looking_for_what_is_alike_scores_are_their_own(index):
    found = Searcher(index).search("moss", alike=False)
    assert [one.score for one in found.papers] == [one.mixed for one in found.papers]
    raised = {one.paper.id: one for one in Searcher(index).search("moss").papers}
    both = [one for one in found.papers if one.paper.id in raised]
    assert len(both) > 1
    for one in both:
        assert raised[one.paper.id].score >= one.score == raised[one.paper.id].own_score


def test_papers_like_the_best_ones_are_raised(index, monkeypatch):
    given = []
    monkeypatch.setattr(
        retrieval, "reinforce", lambda scores, vectors: given.append((scores, vectors)) or scores
    )
    found = Searcher(index).search("moss")
    ((scores, vectors),) = given
    assert set(vectors) <= set(scores)
    assert {one.paper.id for one in found.papers} <= set(scores)
    assert all(np.linalg.norm(one) == pytest.approx(1, abs=1e-5) for one in vectors.values())
