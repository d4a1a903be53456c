"""Which candidates are embedded next: the words' best, then those like what proved near."""

import pytest

from rag.guide import Guide
from rag.schema import Paper
from rag.stores.lexical import TermStore

TEXTS = {
    "moss": "Moss grows on shaded bark in wet forests",
    "moss too": "Shaded bark carries moss where forests are wet",
    "steel": "Welded steel beams bend under cyclic load",
    "steel too": "Cyclic load bends welded beams of steel",
}


@pytest.fixture
def guide(tmp_path):
    terms = TermStore(tmp_path / "lexical")
    terms.write([Paper(name, abstract=text) for name, text in TEXTS.items()])
    return Guide(terms, {"moss": 4.0, "steel": 3.9, "moss too": 2.0, "steel too": 2.1}, TEXTS)


def test_without_any_vector_the_words_decide(guide):
    assert guide.order(["moss too", "steel", "moss"], {}) == ["moss", "steel", "moss too"]


@pytest.mark.parametrize(
    ("near", "first"),
    [
        pytest.param({"moss": 0.8, "steel": 0.1}, "moss too", id="moss is near"),
        pytest.param({"moss": 0.1, "steel": 0.8}, "steel too", id="steel is near"),
        pytest.param({"moss": 0.4, "steel": 0.4}, "steel too", id="neither: the words decide"),
    ],
)
def test_papers_like_those_that_proved_near_come_first(guide, near, first):
    assert guide.order(["moss too", "steel too"], near)[0] == first


def test_a_paper_that_was_removed_meanwhile_is_ordered_by_its_words(guide):
    order = guide.order(["gone", "moss too"], {"moss": 0.5, "vanished": 0.9})
    assert order == ["moss too", "gone"]
