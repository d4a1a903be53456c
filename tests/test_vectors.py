"""Small libraries are compared exactly, without Chroma, and never with an old matrix."""

import pytest

from rag.importing import add_records
from tests.storage import add, nearest_papers, new_index, paper, papers


@pytest.fixture
def index(tmp_path):
    index = new_index(tmp_path / "library")
    add(index, papers(30))
    yield index
    index.close()


@pytest.fixture
def no_chroma(monkeypatch):
    monkeypatch.setattr(
        "rag.vectors.VectorIndex._open", lambda self: pytest.fail("Chroma was opened")
    )


def test_a_small_library_is_asked_without_chroma(index, no_chroma):
    assert nearest_papers(index, paper(7).abstract, 1)[0][0] == index.terms.search("mark7", 1)[0][0]


def test_exact_and_chroma_find_the_same(index, monkeypatch):
    exact = nearest_papers(index, paper(3).abstract, 10)
    monkeypatch.setattr("rag.vectors.SMALL", 29)
    asked = nearest_papers(index, paper(3).abstract, 10)
    assert asked[0][0] == exact[0][0]
    assert [cosine for _, cosine in asked] == pytest.approx([c for _, c in exact], abs=1e-5)


def test_a_subset_is_compared_alone(index, no_chroma):
    allowed = [name for name, _ in index.terms.search("mark3 mark5", 2)]
    vector = index.embed_query("mark7")
    found = index.nearest(vector, 10, allowed=allowed)
    assert {paper_id for _, paper_id, _ in found} == set(allowed)
    assert index.nearest(vector, 10, allowed=["no such paper"]) == []


@pytest.mark.parametrize("change", ["added", "removed", "changed", "embedded anew"])
def test_whatever_another_connection_changes_is_seen_at_once(tmp_path, index, change):
    before = nearest_papers(index, "mark7", 100)
    other = new_index(tmp_path / "library")
    name = other.terms.search("mark7", 1)[0][0]
    if change == "added":
        add(other, [paper(31)])
    elif change == "removed":
        other.remove([name])
    elif change == "changed":
        with other.writing(), other.database.transaction():
            other.change(paper(99, id=name))
    else:
        with other.database.transaction():
            other.database.connection.execute(
                "UPDATE passages SET vector = zeroblob(1024) WHERE paper_id = ?", (name,)
            )
    other.close()
    after = nearest_papers(index, "mark7", 100)
    assert len(after) == {"added": 31, "embedded anew": 30}.get(change, 29)
    assert after != before


def test_the_matrix_is_kept_while_nothing_changes(index, monkeypatch):
    nearest_papers(index, "mark7")
    monkeypatch.setattr(index.passages.__class__, "blocks", lambda *a, **k: pytest.fail("read"))
    add_records(index, "more.jsonl", papers(3))  # nothing new
    assert nearest_papers(index, "mark9")


def test_sums_of_papers_are_those_of_the_catalogue(index):
    names = ["unknown", *(name for name, _ in index.terms.search("mark3 mark5", 2))]
    found, stored = index.vectors.paper_sums(names), index.passages.paper_sums(names)
    assert set(found) == set(stored) == set(names[1:])
    for name in names[1:]:
        assert found[name] == pytest.approx(stored[name], abs=1e-6)
    assert index.vectors.paper_sums(["unknown"]) == index.vectors.paper_sums([]) == {}
