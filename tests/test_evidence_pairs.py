import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from eval.bench.evidence_pairs import (
    OTHERS,
    Other,
    Pair,
    collect,
    examples,
    half_of,
    keep_apart,
    marked,
    part_of,
)
from rag.errors import RecordError
from rag.evidence_model import Page
from rag.library import open_library

DATA = Path(__file__).parent / "data" / "evidence"


@pytest.fixture
def library(monkeypatch):
    """Six papers, of which p1 and p2 are for training, p3 and p13 for the mix, p4 and p5 held."""
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    with open_library("tiny", create=True) as library:
        library.add(DATA / "papers.jsonl", wait=True)
        yield library


def by_question(collected):
    return {pair.question.split()[0]: pair for pair in collected.pairs}


def gold(pair):
    return [text for text, is_gold in zip(pair.page.sentences, pair.gold, strict=True) if is_gold]


def pair(paper="a", part="train", others=(), **fields):
    page = Page("Title", ("One thing.", "The answer.", "More of it.", "Another thing."))
    values = {"gold": (False, True, False, False), "also": (False, False, True, False), **fields}
    pages = tuple(Other(name, Page(name, (f"Text of {name}.",))) for name in others)
    return Pair("tiny", part, "What?", paper, page, others=pages, **values)


# ---- which paper serves for what


@pytest.mark.parametrize(
    ("name", "is_claim", "part"),
    [
        pytest.param("p1", False, "train", id="ends on 2"),
        pytest.param("p3", False, "mix", id="ends on 1"),
        pytest.param("p4", False, "held", id="ends on 5"),
        pytest.param("p25", False, "held", id="ends on 0"),
        pytest.param("p1", True, "held", id="cited and even"),
        pytest.param("p3", True, "train", id="cited and odd: claims leave none for the mix"),
    ],
)
def test_a_checksum_says_what_a_paper_serves_for(name, is_claim, part):
    assert part_of(name, is_claim=is_claim) == part


@pytest.mark.parametrize(("name", "half"), [("p1", "even"), ("p3", "odd")])
def test_either_half_of_the_cited_papers_may_be_learned_from(name, half):
    assert half_of(name) == half
    assert part_of(name, is_claim=True, learned=half) == "train"
    other = "odd" if half == "even" else "even"
    assert part_of(name, is_claim=True, learned=other) == "held"


# ---- pairs of a file


def test_a_question_is_laid_beside_its_paper_with_the_sentences_that_answer(library):
    found = by_question(collect(library, DATA / "questions.jsonl"))
    answered = found["What"]
    assert answered.answers
    assert answered.page.title == "Counting gulls from the air"
    (sentence,) = gold(answered)
    assert sentence.startswith("The drone counts")
    assert answered.also.index(True) == answered.gold.index(True) + 1
    assert [one.page.title for one in answered.others].count(answered.page.title) == 0
    assert len(answered.others) == 5


def test_a_near_miss_is_laid_beside_its_nearest_paper_and_nothing_in_it_is_gold(library):
    missed = by_question(collect(library, DATA / "questions.jsonl"))["Which"]
    assert (missed.page.title, missed.answers) == ("Bread without kneading", False)
    assert missed.part == "held"


def test_questions_without_paper_or_evidence_in_the_library_give_no_pair(library):
    collected = collect(library, DATA / "questions.jsonl")
    assert len(collected.pairs) == 5
    assert not any("snails" in one.question or "high" in one.question for one in collected.pairs)
    assert collected.card() == {
        "library": "tiny",
        "file": "questions.jsonl",
        "sha256": collected.sha256,
        "questions": 7,
        "pairs": {"train": 2, "mix": 1, "held": 2},
    }


def test_a_claim_is_laid_beside_every_paper_that_it_cites(library):
    pairs = collect(library, DATA / "claims.jsonl").pairs
    assert [(one.page.title, one.part, gold(one)) for one in pairs] == [
        (
            "Salt and the freezing of harbours",
            "train",
            ["Ice came nine days later for each gram of salt."],
        ),
        ("Why old bells sound flat", "train", ["Welding restores about half of the sound."]),
        ("Counting gulls from the air", "held", []),
    ]
    cited = {pairs[1].paper_id, pairs[2].paper_id}
    assert not any(other.paper_id in cited for one in pairs[1:] for other in one.others)


def test_evidence_of_one_cited_paper_marks_no_other(library, tmp_path):
    shared = "Welding restores about half of the sound."
    claim = {
        "question": "Welding helps.", "cited_ids": ["p3", "p2"],
        "evidence": [{"doc_id": "p2", "text": [shared]}, {"doc_id": "p2", "text": "Ice came nine "
        "days later for each gram of salt."}],
    }  # fmt: skip
    file = tmp_path / "claims.jsonl"
    file.write_text(json.dumps(claim))
    assert [one.answers for one in collect(library, file).pairs] == [False, True]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        pytest.param({"question": " "}, "'question' is empty", id="no question"),
        pytest.param({"question": "Why?"}, "No question of 'bad.jsonl'", id="no labels"),
        pytest.param(
            {"question": "Why?", "answerable": False, "nearest": [{"year": 2020}]},
            "'nearest' of the question 'case-0001' holds .* names no paper",
            id="a label that names nothing",
        ),
        pytest.param(
            {"question": "Why?", "answerable": False, "nearest": [7]}, "names no paper", id="number"
        ),
        pytest.param({"question": "W?", "cited_ids": [""]}, "names no paper", id="empty id"),
    ],
)
def test_a_file_of_which_no_pair_can_be_made_is_a_sentence(library, tmp_path, line, told):
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps(line))
    with pytest.raises(RecordError, match=told):
        collect(library, file)


def test_a_missing_file_is_a_sentence(library):
    with pytest.raises(RecordError, match=r"none\.jsonl.* cannot be read"):
        collect(library, Path("none.jsonl"))


@pytest.mark.parametrize(
    ("sentence", "wanted", "found"),
    [
        ("It counts $94\\%$ of all the nests.", ["It counts 94% of all the nests."], True),
        ("It counts. It counts 94 of them all.", ["It counts 94 of them all."], True),
        ("Of all nests it counts 94.", ["We say: of all nests it counts 94. So there."], True),
        ("We show this.", ["We show this."], False),
        ("Of all nests it counts 94.", ["Of all nests it counts 95."], False),
        ("Of all nests it counts 94.", [], False),
    ],
)
def test_sentences_are_matched_whatever_their_markup(sentence, wanted, found):
    assert marked([sentence], wanted) == (found,)


# ---- papers kept apart


def test_held_back_papers_never_appear_in_training_pairs(library):
    pairs = keep_apart(collect(library, DATA / "questions.jsonl").pairs)
    titles = {"Why old bells sound flat", "Reading tree rings by machine", "Bread without kneading"}
    training = [one for one in pairs if one.part == "train"]
    shown = {page.title for one in training for page in (one.page, *(o.page for o in one.others))}
    assert shown == {
        "Counting gulls from the air",
        "Salt and the freezing of harbours",
        "A lamp for moths",
    }
    assert {one.page.title for one in pairs if one.part != "train"} == titles
    rng = random.Random(1)
    seen = {one.page.title for _ in range(30) for one in examples(training, rng)}
    assert seen == shown | {""}


def test_a_paper_that_one_file_holds_back_is_held_back_for_all():
    kept = keep_apart([pair("a"), pair("b", others=("a", "c")), pair("a", "held", ("b",))])
    assert [(one.paper_id, [o.paper_id for o in one.others]) for one in kept] == [
        ("b", ["c"]),
        ("a", ["b"]),
    ]


def test_the_best_others_are_kept():
    (kept,) = keep_apart([pair(others="bcdefgh")])
    assert [other.paper_id for other in kept.others] == list("bcde")[:OTHERS]


# ---- what an epoch shows


def shown(one, times=2000):
    rng = random.Random(3)
    return [example for _ in range(times) for example in examples([one], rng)]


def test_an_answered_pair_also_shows_made_near_misses_and_other_papers():
    found = shown(pair(others="bc"))
    whole = [one for one in found if one.answers]
    stripped = [one for one in found if one.page.sentences == ("One thing.", "Another thing.")]
    other = [one for one in found if one.page.sentences[0].startswith("Text of")]
    assert len(whole) + len(stripped) + len(other) == len(found)
    assert len(whole) == 2000
    assert len(stripped) / 2000 == pytest.approx(0.55, abs=0.04)
    assert len(other) / 2000 == pytest.approx(0.45, abs=0.04)
    assert {one.page.sentences[0] for one in other} == {"Text of b.", "Text of c."}
    for one in (*stripped, *other):
        assert not any((one.answers, *one.gold, *one.also))
        assert len(one.gold) == len(one.also) == len(one.page.sentences)
    for kind in (whole, stripped, other):
        untitled = sum(not one.page.title for one in kind)
        assert untitled / len(kind) == pytest.approx(0.5, abs=0.05)


def test_a_near_miss_is_shown_once_as_it_is():
    none = (False,) * 4
    found = shown(pair(others="bc", gold=none), times=20)
    assert len(found) == 20
    assert all(len(one.page.sentences) == 4 and not one.answers for one in found)


def test_an_abstract_of_which_little_is_left_makes_no_near_miss():
    short = replace(pair(), gold=(True, True, True, False), also=(False,) * 4)
    assert all(one.answers for one in shown(short, times=50))


def test_the_same_seed_shows_the_same():
    assert shown(pair(others="bcd"), times=20) == shown(pair(others="bcd"), times=20)
