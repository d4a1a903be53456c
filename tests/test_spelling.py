import pytest

from rag.schema import Paper
from rag.spelling import corrected, corrections, distance, is_slip, usual_words
from rag.stores.lexical import TermStore
from tests.storage import add, new_index

SHELF = [
    Paper("a", "Submodular maximization", "A matroid constrains it. Optimization is learned."),
    Paper("b", "Recommendation systems", "Summarization of dialogue by convolutional encoders."),
    Paper("c", "Hallucination", "The silver encoders of BERTology classify images."),
]


@pytest.fixture
def store(tmp_path):
    store = TermStore(tmp_path / "lexical")
    store.write(SHELF)
    return store


def corrections_in(store, text):
    by_id = {paper.id: f"{paper.title} {paper.abstract}" for paper in SHELF}
    return corrections(text, store, lambda term: [by_id[i] for i in store.with_term(term, 5)])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("How does submodlar maximization work?", [("submodlar", "submodular")]),
        ("What is a matriod?", [("matriod", "matroid")]),
        ("What is optimizatoin?", [("optimizatoin", "optimization")]),
        ("what of optmizatoin", [("optmizatoin", "optimization")]),
        ("Recomendation of what?", [("Recomendation", "Recommendation")]),
        ("Which summarisation is it?", [("summarisation", "summarization")]),
        ("How do they clasify images?", [("clasify", "classify")]),
        ("How does Submodlar work?", []),
        ("How does a SUBMODLAR work?", []),
        ("How does submodlar-x work?", []),
        ("How does submodlar2 work?", []),
        ("Which sliver is it?", [("sliver", "silver")]),
        ("Which dialogs are maximized?", []),
        ("Does the hunch invent bread?", []),
        ("How do volcanoes erupt?", []),
        ("Was ist die submodlar Optimierung?", []),
        ("What is lern?", []),
    ],
)
def test_a_word_that_nobody_holds_is_read_as_the_nearest_of_the_papers(store, text, found):
    assert corrections_in(store, text) == tuple(found)


def test_a_word_of_the_papers_is_never_changed_however_odd(tmp_path):
    store = TermStore(tmp_path / "odd")
    store.write([Paper("a", "Langauge models"), *(Paper(str(n), "Language") for n in range(9))])
    assert corrections("What is langauge?", store, lambda term: ["language"]) == ()


def test_only_a_few_words_are_corrected(store):
    text = "which submodlar matriod dialgue optimizatoin hallucinatoin"
    assert len(corrections_in(store, text)) == 3


def test_a_library_corrects_from_its_own_papers(tmp_path):
    index = new_index(tmp_path / "library")
    add(index, SHELF)
    assert index.words.corrections("what is a matriod?") == (("matriod", "matroid"),)
    index.close()


@pytest.mark.parametrize(
    ("one", "other", "most", "expected"),
    [
        ("moss", "moss", 2, 0),
        ("moss", "mos", 2, 1),
        ("moss", "msos", 2, 1),
        ("moss", "mist", 2, 2),
        ("moss", "birds", 2, 3),
        ("moss", "mosslike", 2, 3),
        ("", "ab", 2, 2),
    ],
)
def test_distance_counts_slips_up_to_a_limit(one, other, most, expected):
    assert distance(one, other, most) == expected


@pytest.mark.parametrize(
    ("typed", "read", "slip"),
    [
        ("lerning", "learning", True),
        ("theroy", "theory", True),
        ("dropput", "droput", True),
        ("annotaters", "annotators", True),
        ("analyse", "analyze", True),
        ("hunch", "lunch", False),
        ("forger", "forget", False),
        ("grainy", "grain", False),
        ("collude", "collide", False),
        ("misreading", "misleading", False),
    ],
)
def test_a_slip_of_the_fingers_is_told_from_another_word(typed, read, slip):
    assert is_slip(typed, read) is slip


def test_corrected_words_are_replaced_as_whole_words():
    text = "A matriod is no matriods, nor matriod-like."
    assert corrected(text, [("matriod", "matroid")]) == (
        "A matroid is no matriods, nor matriod-like."
    )


def test_the_usual_words_of_english_are_known():
    assert {"garden", "invented", "library"} <= usual_words()
    assert "submodlar" not in usual_words()
