import math
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.evidence import PAPERS_READ, Reader, Reading
from rag.fitted import (
    DETAIL_FEATURES,
    SENTENCE_FEATURES,
    TOPIC_FEATURES,
    Linear,
    Weights,
    packaged_weights,
)
from rag.names import names_in, systems_in
from rag.question import understand
from rag.retrieval import Searcher
from rag.schema import Paper, Span
from rag.sheet import UNREAD
from tests.answering import by_title, library
from tests.storage import WatchedEmbedding
from tests.storage import papers as numbered

SENTENCE_ZEROS = dict.fromkeys(SENTENCE_FEATURES, 0.0)


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    index = library(tmp_path_factory.mktemp("library") / "small")
    yield index
    index.close()


def read(index, text, weights=None, top_k=10):
    question = understand(text)
    papers = Searcher(index).search(question.search, top_k=top_k).papers
    return Reader(index, weights, load_model=None).read(question, papers)


def weighing(**weights):
    """Return models that score sentences by some features only."""
    mixed = {**SENTENCE_ZEROS, **weights}
    topic = Linear((0.0,) * len(TOPIC_FEATURES), 0.0)
    return Weights(Linear(tuple(mixed[name] for name in SENTENCE_FEATURES), 0.0), topic, 0.5)


# ---- names


@pytest.mark.parametrize(
    ("text", "names", "systems"),
    [
        ("What does EDGE do?", ["EDGE"], ["EDGE"]),
        ("Compare FedGFM+ with Graph-KV.", ["FedGFM+", "Graph-KV"], ["FedGFM+", "Graph-KV"]),
        ("Is 4D3R faster, or wav2vec?", ["4D3R", "wav2vec"], ["4D3R", "wav2vec"]),
        ("Which birds live near Berlin?", ["Berlin"], []),
        ("Berlin has birds", [], []),
        ("What happened in 1918?", ["1918"], []),
        ("does iBOT's loss (and GPT-4's) fall?", ["iBOT's", "GPT-4's"], ["iBOT's", "GPT-4's"]),
        ("海草有多少？", [], []),
        ("", [], []),
        ("“ORCA7”, then?", ["ORCA7"], ["ORCA7"]),
    ],
)
def test_names_and_systems_are_told_by_how_they_are_written(text, names, systems):
    assert names_in(text) == names
    assert systems_in(text) == systems


@pytest.mark.parametrize("part", ["A", "A1", "a.", "A ", "“", "A-"])
def test_hostile_names_take_linear_time(part):
    began = time.perf_counter()
    systems_in(part * 20_000)
    assert time.perf_counter() - began < 2


# ---- models


def test_a_linear_model_adds_weighted_features_and_a_bias():
    rows = np.asarray([[1.0, 2.0], [0.0, 0.0]], np.float32)
    assert Linear((0.5, -1.0), 0.25).logits(rows).tolist() == [-1.25, 0.25]


def test_the_packaged_weights_name_every_feature():
    weights = packaged_weights()
    assert len(weights.sentence.weights) == len(SENTENCE_FEATURES)
    assert len(weights.topic.weights) == len(TOPIC_FEATURES)
    assert 0 < weights.abstain_below < 1
    assert all(map(math.isfinite, [*weights.sentence.weights, *weights.topic.weights]))


def test_no_papers_make_an_empty_reading(index):
    reading = Reader(index, load_model=None).read(understand("moss?"), [])
    assert (reading.sentences, reading.papers, reading.probability) == ((), (), 0.0)
    assert Reading().feature("ours").shape == (0,)


# ---- reading


def test_sentences_come_best_first_with_their_features_and_exact_offsets(index):
    reading = read(index, "How much did lead in moss fall after the ring road closed?")
    best = reading.sentences[0]
    assert best.text == "Lead fell by half within five years after the ring road closed."
    assert best.paper.abstract[best.span.start : best.span.end] == best.text
    assert best.passage_id == f"{best.paper.id}#0"
    assert all(a.score >= b.score for a, b in pairwise(reading.sentences))
    assert reading.features.shape == (len(reading.sentences), len(SENTENCE_FEATURES))
    assert np.isfinite(reading.features).all()
    assert reading.feature("coverage").max() == reading.feature("coverage")[0]


def test_every_sentence_of_the_papers_read_is_scored_and_of_no_other(index):
    reading = read(index, "moss", top_k=12)
    assert len(reading.papers) == PAPERS_READ
    read_ids = {ranked.paper.id for ranked in reading.papers}
    assert {one.paper.id for one in reading.sentences} == read_ids
    spans = [(one.paper.id, one.span) for one in reading.sentences]
    assert len(spans) == len(set(spans))


@pytest.mark.parametrize(
    ("feature", "question", "flagged"),
    [
        ("ours", "What is ORCA7?", "We propose ORCA7, a method that prunes attention heads"),
        ("first", "What is ORCA7?", "Speech encoders are slow on phones."),
        ("last", "What is ORCA7?", "The word error rate rises by 0.2 points only."),
        ("number_wanted_and_there", "How many heads does ORCA7 remove?", "ORCA7 removes 38%"),
        ("number_wanted_not_there", "How many heads are there?", "Speech encoders are slow"),
        ("names", "What does it do, ORCA7?", "ORCA7 removes 38%"),
    ],
)
def test_features_flag_the_sentences_they_are_named_for(index, feature, question, flagged):
    paper = by_title(index, "Pruning attention")
    reading = read(index, question)
    values = {
        one.text: value
        for one, value in zip(reading.sentences, reading.feature(feature), strict=True)
        if one.paper.id == paper
    }
    assert len(values) == 4
    assert [value for text, value in values.items() if text.startswith(flagged)] == [1.0]


def test_nothing_is_wanted_of_numbers_when_none_is_asked_for(index):
    reading = read(index, "Why do herons leave?")
    assert not reading.feature("number_wanted_and_there").any()
    assert not reading.feature("number_wanted_not_there").any()


def test_the_weights_decide_the_order(index):
    shortest = read(index, "What is ORCA7?", weighing(length=-1.0)).sentences
    lengths = [len(one.text.split()) for one in shortest]
    assert lengths == sorted(lengths)


def test_a_claim_has_weights_of_its_own(index):
    weights = weighing(length=-1.0)
    claim = replace(weights, claim=weighing(length=1.0).sentence)

    def lengths(text, weights):
        return [len(one.text.split()) for one in read(index, text, weights).sentences]

    stated = lengths("ORCA7 removes attention heads that are weak.", claim)
    assert stated == sorted(stated, reverse=True)
    asked = lengths("Which heads does ORCA7 remove?", claim)
    assert asked == sorted(asked)
    without = lengths("ORCA7 removes attention heads that are weak.", weights)
    assert without == sorted(without)


def test_the_answer_model_reads_signals_between_nought_and_one(index):
    reading = read(index, "What does ORCA7 remove in the city of Berlin?")
    assert set(reading.signals) == {*TOPIC_FEATURES, *DETAIL_FEATURES}
    assert all(
        -1.001 <= value <= 1.001
        for name, value in reading.signals.items()
        if not name.startswith("read_")
    )
    assert {reading.signals[name] for name in reading.signals if name.startswith("read_")} == {
        -UNREAD
    }
    assert reading.signals["name_met"] > 0
    assert reading.signals["name_unknown"] == 1.0  # nobody has "Berlin"
    assert 0 < reading.probability < 1


def test_a_question_of_another_field_is_less_likely_to_have_an_answer(index):
    near = read(index, "How much earlier do herons leave for each degree of warming?")
    far = read(index, "Which dose of metformin is advised for kidney patients?")
    assert near.probability > far.probability + 0.2


def test_the_gap_is_that_of_the_best_two_papers_in_whatever_order_they_are_read(index):
    question = understand("pruning attention heads")
    papers = Searcher(index).search(question.search).papers
    reader = Reader(index, load_model=None)
    turned = reader.read(question, papers[::-1][-PAPERS_READ:])
    assert turned.signals["gap"] == pytest.approx(papers[0].own_score - papers[1].own_score)


def test_systems_name_the_papers_that_hold_them(index):
    reading = read(index, "How does ORCA7 differ from FinchNet and from ZORG9?")
    assert reading.named == {
        "ORCA7": (by_title(index, "Pruning attention"),),
        "FinchNet": (by_title(index, "Reducing heads"),),
    }


def test_a_paper_with_only_a_title_is_evidence(index):
    reading = read(index, "Do zebrafish sleep in the dark?")
    best = reading.sentences[0]
    assert (best.text, best.span) == ("Zebrafish sleep in the dark", Span(0, 0))
    assert reading.feature("cosine")[0] > 0.5


def test_a_question_in_another_script_is_compared_with_papers_of_that_script(index):
    reading = read(index, "海草在低潮时生长缓慢吗？", weighing(coverage=1.0))
    assert reading.sentences[0].text == "海草在低潮时生长缓慢。"
    assert reading.feature("coverage")[:3] == pytest.approx([1.0, 0.3, 0.0], abs=0.05)
    assert reading.signals["coverage_paper"] == pytest.approx(1.0)


def test_a_question_in_another_script_finds_its_sentence_by_words_alone(tmp_path):
    index = library(tmp_path / "library", model=WatchedEmbedding(refuses=lambda text: True))
    best = read(index, "海草在低潮时生长缓慢吗？").sentences[0]
    assert best.text == "海草在低潮时生长缓慢。"
    index.close()


def test_a_script_that_no_paper_uses_counts_neither_for_nor_against(tmp_path):
    index = library(tmp_path / "library", numbered(5))
    reading = read(index, "海草 mark3")
    assert reading.signals["missing_weight"] == 0
    assert reading.signals["coverage_paper"] == pytest.approx(1.0)
    index.close()


def test_papers_without_vectors_are_read_by_their_words(tmp_path):
    index = library(tmp_path / "library", model=WatchedEmbedding(refuses=lambda text: True))
    reading = read(index, "Which metal fell after the ring road closed?")
    assert reading.sentences[0].text.startswith("Lead fell by half")
    assert not reading.feature("cosine").any()
    index.close()


def test_a_passage_that_waits_for_its_vector_is_embedded_when_it_is_read(tmp_path):
    model = WatchedEmbedding(refuses=lambda text: "Moss" in text and "Lead" in text)
    index = library(tmp_path / "library", model=model)
    assert index.passages.count_unembedded() == 1
    model.refuses = None
    reading = read(index, "lead fell by half")
    assert reading.sentences[0].text.startswith("Lead fell by half")
    assert reading.feature("cosine")[0] > 0.5
    index.close()


def test_papers_removed_between_searching_and_reading_leave_an_empty_reading(tmp_path):
    index = library(tmp_path / "library", numbered(3))
    question = understand("mark1")
    papers = Searcher(index).search("mark1").papers
    index.remove([papers[0].paper.id])
    partly = Reader(index, load_model=None).read(question, papers)
    assert papers[0].paper.id not in {one.paper.id for one in partly.sentences}
    index.remove([one.paper.id for one in papers])
    reading = Reader(index, load_model=None).read(question, papers)
    assert (reading.sentences, reading.probability) == ((), 0.0)
    index.close()


# ---- offsets


_ODD = st.one_of(
    st.text(min_size=1, max_size=120),
    st.lists(
        st.sampled_from(
            ["We show it. ", "e.g. ", "$x. Y$ ", "\n\n", "- a ", "18×", "。", "{a} ", "😀. ", "é. "]
        ),
        min_size=1,
        max_size=12,
    ).map("".join),
).filter(lambda text: any(map(str.isalnum, text)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_ODD, min_size=1, max_size=4, unique=True))
def test_every_quote_is_verbatim_at_its_offsets(abstracts):
    records = [Paper("", f"Title {n}", text.strip()) for n, text in enumerate(abstracts)]
    with tempfile.TemporaryDirectory() as folder:
        index = library(Path(folder) / "library", records)
        try:
            reading = read(index, "title one show it")
            assert reading.papers
            for one in reading.sentences:
                stored = index.catalogue.get(one.paper.id)
                assert stored.abstract[one.span.start : one.span.end] == (
                    one.text if stored.abstract else ""
                )
                assert one.text.strip() == one.text != ""
        finally:
            index.close()
