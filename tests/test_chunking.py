import itertools
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.chunking import embedding_text, passages
from rag.schema import Paper, Span
from rag.sentences import sentence_spans


def words(text):
    return len(text.split())


def characters(text):
    return 2 + len(text)  # two special tokens


def sentences(*lengths):
    """Make sentences of so many words each."""
    return " ".join("Aa" + " aa" * (length - 1) + "." for length in lengths)


def lengths(paper, window, count=words):
    return [count(passage.text) for passage in passages(paper, count, window)]


def test_a_short_abstract_is_one_passage_without_its_outer_space():
    paper = Paper("p", "A title", "  One here. Two here.\n")
    (passage,) = passages(paper, words, 100)
    assert (passage.id, passage.paper_id, passage.position) == ("p#0", "p", 0)
    assert passage.span == Span(2, 21)
    assert passage.text == "One here. Two here."


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param((10, 10, 10, 10), [20, 20], id="even halves"),
        pytest.param((10,) * 9, [30, 30, 30], id="full passages"),
        pytest.param((10,) * 4 + (4,), [20, 24], id="no tiny last passage"),
        pytest.param((30, 1), [31], id="all fits"),
        pytest.param((38, 3), [38, 3], id="a sentence is not cut to make things even"),
    ],
)
def test_passages_are_few_and_about_equally_long(parts, expected):
    paper = Paper("p", "One two", sentences(*parts))
    assert lengths(paper, 40 if len(parts) != 9 else 32) == expected


def test_ids_follow_the_position_and_stay_the_same():
    paper = Paper("x:1", "", sentences(5, 5, 5))
    first = passages(paper, words, 6)
    assert [passage.id for passage in first] == ["x:1#0", "x:1#1", "x:1#2"]
    assert passages(paper, words, 6) == first


@pytest.mark.parametrize("abstract", ["", "   \n"])
def test_b10_a_paper_without_abstract_is_one_empty_passage_found_by_its_title(abstract):
    (passage,) = passages(Paper("p", "A title", abstract), words, 8)
    assert passage.span == Span(0, 0)
    assert passage.text == ""
    assert embedding_text("A title", passage.text) == "A title"


def test_b10_neither_title_nor_abstract_gives_no_passage():
    assert passages(Paper("p", " ", " "), words, 8) == []


def test_b10_only_title_and_abstract_are_measured_and_embedded_not_3000_authors():
    authors = tuple(f"Author Number{n}" for n in range(3000))
    plain = Paper("p", "A title", sentences(5, 5, 5))
    crowded = Paper("p", "A title", sentences(5, 5, 5), authors=authors)
    seen = []

    def spy(text):
        seen.append(text)
        return words(text)

    assert passages(crowded, spy, 12) == passages(plain, words, 12)
    assert not any("Author" in text for text in seen)


@pytest.mark.parametrize("count", [words, characters], ids=["words", "characters"])
def test_b10_50_000_characters_without_a_space_are_cut_within_the_limit(count):
    paper = Paper("p", "A title", "x" * 50_000)
    calls = []

    def spy(text):
        calls.append(len(text))
        return count(text)

    found = passages(paper, spy, 256)
    assert "".join(passage.text for passage in found) == paper.abstract
    assert max(count("A title\n" + passage.text) for passage in found) <= 256
    assert max(len(passage.text) for passage in found) <= 256 * 16
    assert sum(calls) < 10 * 50_000  # each character is measured a few times, however long it is


def test_b17_the_end_of_a_600_word_abstract_is_in_a_passage_that_fits():
    filler = sentences(*[24] * 25)
    paper = Paper("p", "On a title", f"{filler} Only here is zirconium oxytocin named.")
    found = passages(paper, words, 256)
    texts = [embedding_text(paper.title, passage.text) for passage in found]
    assert max(map(words, texts)) <= 256
    assert [text.endswith("Only here is zirconium oxytocin named.") for text in texts] == [
        False,
        False,
        True,
    ]


def test_an_overlong_sentence_is_cut_at_white_space():
    paper = Paper("p", "", "Start. " + "word " * 50 + "end. Stop.")
    found = passages(paper, words, 20)
    assert max(words(passage.text) for passage in found) <= 20
    assert " ".join(passage.text for passage in found) == paper.abstract


def test_an_overlong_title_takes_a_quarter_of_the_window_and_is_cut_at_a_word():
    title = "one two three four five six seven eight"
    text = embedding_text(title, "The text.", words, 16)
    assert text == "one two three four\nThe text."
    paper = Paper("p", title, sentences(6, 6))
    assert lengths(paper, 16) == [12]
    assert lengths(paper, 15) == [12]  # three words of the title, twelve of the text
    assert lengths(paper, 12) == [6, 6]


def test_without_a_counter_a_title_is_cut_to_64_tokens_as_far_as_they_can_be_guessed():
    usual = "Attention Is All You Need: a study of 18 things"
    assert embedding_text(usual, "Text.") == f"{usual}\nText."
    assert embedding_text("word " * 100, "Text.") == "word " * 63 + "word\nText."
    assert embedding_text("x" * 9999, "Text.") == "x" * 384 + "\nText."


def test_a_title_alone_may_fill_the_window_but_not_more():
    assert embedding_text("word " * 100, "", words, 80) == "word " * 79 + "word"
    assert embedding_text("\n A\n title ", "") == "A title"


def test_counts_that_do_not_add_up_still_give_passages_that_fit():
    def greedy(text):
        return words(text) + text.count(". ") * 3  # joining two sentences costs three more

    paper = Paper("p", "T", sentences(*[5] * 30))
    found = passages(paper, greedy, 40)
    assert len(found) > 1
    assert max(greedy(embedding_text("T", passage.text)) for passage in found) <= 40


def test_a_window_that_nothing_fits_into_still_ends():
    assert lengths(Paper("p", "One two three", "Aa bb. Cc."), 1) == [1, 1, 1]


def test_thousands_of_abstracts_a_second_with_a_cheap_counter():
    paper = Paper("p", "A title", sentences(*[20] * 8))
    begin = time.perf_counter()
    for _ in range(500):
        passages(paper, words, 100)
    assert time.perf_counter() - begin < 2  # about 0.1 s where nothing else runs


@settings(database=None, deadline=None, max_examples=150)
@given(
    st.lists(st.text(st.sampled_from(list("aé。. \n$(")), max_size=30), max_size=12).map(" ".join),
    st.integers(5, 40),
    st.sampled_from([words, characters]),
)
def test_every_visible_character_is_in_exactly_one_passage(abstract, window, count):
    paper = Paper("p", "", abstract)
    found = passages(paper, count, window)
    assert "".join("".join(passage.text for passage in found).split()) == "".join(abstract.split())
    assert all(count(passage.text) <= window for passage in found)
    assert all(a.span.end <= b.span.start for a, b in itertools.pairwise(found))
    for passage in found:
        assert abstract[passage.span.start : passage.span.end] == passage.text


def test_every_sentence_lies_whole_in_one_passage():
    paper = Paper("p", "A title", sentences(*range(3, 20), *range(20, 3, -1)))
    found = passages(paper, words, 30)
    for sentence in sentence_spans(paper.abstract):
        holders = [
            p for p in found if p.span.start <= sentence.start and sentence.end <= p.span.end
        ]
        assert len(holders) == 1


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        pytest.param("aaa bbb ccc ddd", "aaa bbb ccc", id="at a word"),
        pytest.param("abcdefghijklmnopqrstuvwxyz", "abcdefghijklm", id="without a space"),
        pytest.param("aaa bbb", "aaa bbb", id="short enough"),
    ],
)
def test_the_embedders_counter_decides_how_much_of_a_title_stays(title, expected):
    text = embedding_text(title, "Text.", characters, 60)  # 15 tokens, two of them special
    assert text == f"{expected}\nText."
