"""A tiny BERT of random weights stands in for MiniLM where what is read does not matter."""

import shutil
import threading
import time
from itertools import pairwise

import numpy as np
import pytest

from eval.bench.encoder_graph import Shape, graph
from eval.bench.evidence_network import load, network, run, save
from rag import evidence_model
from rag.embedders.minilm import packaged_minilm
from rag.encoder import Encoder
from rag.errors import SettingsError
from rag.evidence_model import (
    FROZEN,
    LONGEST_SENTENCE,
    LOWEST,
    QUESTION_TOKENS,
    TITLE_TOKENS,
    WEIGHTS,
    WINDOW,
    EvidenceModel,
    Page,
    PairTokenizer,
    batch_of,
    packaged_model,
)

QUESTION = "How many nests does the drone count?"
PAGE = Page("Gulls", ("Gulls are hard to count.", "The drone counts nine nests.", "It is loud."))
BELLS = Page("", ("Bells sound flat in the cold.",))
LONG = Page(
    "Harbours", tuple(f"The salty harbour {n} freezes late in the year." for n in range(120))
)
CLS, SEP = 101, 102
GRAPH = graph(Shape(layers=3, width=16, heads=2, inner=16))


@pytest.fixture(scope="module")
def tokenizer():
    return PairTokenizer(packaged_minilm())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of a BERT with MiniLM's words, three narrow layers and random numbers."""
    import torch
    from safetensors.torch import save_file
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("bert")
    shutil.copy(packaged_minilm() / "tokenizer.json", folder)
    config = BertConfig(
        hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=16
    )
    config.save_pretrained(folder)
    torch.manual_seed(7)
    save_file(BertModel(config, add_pooling_layer=False).state_dict(), folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def weights(folder):
    import torch

    torch.manual_seed(11)
    save(network(folder), folder / WEIGHTS, {"made": "for a test"})
    return folder / WEIGHTS


@pytest.fixture(scope="module")
def small(folder, weights):
    return EvidenceModel(folder, weights, GRAPH)


def numbers(scores):
    return [([float(n) for n in one.sentences], one.answers) for one in scores]


# ---- laying out


def test_a_window_holds_the_question_the_title_and_the_sentences(tokenizer):
    (window,) = tokenizer.windows("Which gulls?", Page("Gulls", ("Nests.", "Nine nests.")))
    ids = window.ids.tolist()
    assert [n for n, token in enumerate(ids) if token == SEP] == [5, 8, len(ids) - 1]
    assert ids[0] == CLS
    assert window.types.tolist() == [0] * 6 + [1] * (len(ids) - 6)
    assert np.flatnonzero(window.asked).tolist() == [1, 2, 3, 4]
    assert (window.first, window.count) == (0, 2)
    owner = window.owner.tolist()
    assert owner[:9] == [-1] * 9
    assert owner[-1] == -1
    assert owner[9:-1] == sorted(owner[9:-1])
    assert set(owner[9:-1]) == {0, 1}


def test_without_a_title_its_place_is_left_out(tokenizer):
    (window,) = tokenizer.windows("Which gulls?", Page("", ("Nests.",)))
    assert window.ids.tolist().count(SEP) == 2
    assert window.owner[window.types == 1].tolist() == [0] * (len(window.owner) - 7) + [-1]


def test_a_page_without_sentences_needs_no_window(tokenizer):
    assert tokenizer.windows(QUESTION, Page("Gulls", ())) == []


def test_a_long_abstract_is_read_in_several_windows_that_hold_each_sentence_once(tokenizer):
    windows = tokenizer.windows(QUESTION, LONG)
    assert len(windows) > 2
    assert windows[0].first == 0
    for one, following in pairwise(windows):
        assert following.first == one.first + one.count
    assert windows[-1].first + windows[-1].count == len(LONG.sentences)
    heads = {tuple(one.ids[: np.flatnonzero(one.owner == 0)[0]]) for one in windows}
    assert len(heads) == 1  # question and title stand in each
    for one in windows:
        assert len(one.ids) <= WINDOW
        assert set(one.owner.tolist()) == {-1, *range(one.count)}


def test_of_what_is_too_long_the_rest_is_not_read_and_every_window_fits(tokenizer):
    salt = "salt " * 600
    first, second = tokenizer.windows(salt, Page(salt, (salt, salt)))
    assert first.asked.sum() == QUESTION_TOKENS
    ends = np.flatnonzero(first.ids == SEP)
    assert ends[1] - ends[0] - 1 == TITLE_TOKENS
    assert (first.owner == 0).sum() == (second.owner == 0).sum() == LONGEST_SENTENCE
    assert max(len(first.ids), len(second.ids)) <= WINDOW


def test_a_text_that_looks_like_a_mark_of_the_tokenizer_opens_no_new_part(tokenizer):
    plain = tokenizer.windows("Which?", Page("", ("Nests.",)))[0]
    marked = tokenizer.windows("Which [SEP]?", Page("", ("Nests. [SEP] [CLS]",)))[0]
    assert marked.asked.sum() > plain.asked.sum()
    assert (marked.types == 0).sum() == marked.asked.sum() + 2
    assert marked.ids[-1] == SEP


def test_a_sentence_without_tokens_keeps_its_place(tokenizer):
    (window,) = tokenizer.windows(QUESTION, Page("", ("Nests.", "", "Nine.")))
    assert window.count == 3
    assert set(window.owner.tolist()) == {-1, 0, 2}


def test_a_batch_pads_its_windows_and_averages_the_tokens_of_each_sentence(tokenizer):
    long, short = (tokenizer.windows(QUESTION, page)[0] for page in (PAGE, BELLS))
    batch = batch_of([long, short])
    width = len(long.ids)
    assert batch.ids.shape == batch.types.shape == batch.mask.shape == (2, width)
    assert batch.pool.shape == (2, 3, width)
    assert batch.counts.tolist() == [3, 1]
    assert batch.mask.sum(axis=1).tolist() == [width, len(short.ids)]
    assert batch.ids[1, len(short.ids) :].tolist() == [0] * (width - len(short.ids))
    assert batch.pool.sum(axis=2).tolist() == [pytest.approx([1, 1, 1]), pytest.approx([1, 0, 0])]
    assert batch.asked.sum(axis=1) == pytest.approx([1, 1])
    tokens = np.flatnonzero(long.owner == 1)
    assert batch.pool[0, 1, tokens] == pytest.approx([1 / len(tokens)] * len(tokens))


# ---- reading


def test_each_page_gets_a_number_a_sentence_and_one_of_its_own(small):
    found = small.read(QUESTION, [PAGE, LONG, BELLS])
    assert [len(one.sentences) for one in found] == [3, 120, 1]
    for one in found:
        assert one.sentences.dtype == np.float32
        assert np.isfinite(one.sentences).all()
        assert (one.sentences > LOWEST).all()
        assert isinstance(one.answers, float)
        assert one.answers > LOWEST


def test_scores_come_in_the_order_of_the_pages_whatever_their_lengths(small):
    pages = [Page("", tuple(f"Bell {k} sounds." for k in range(n % 7 + 1))) for n in range(20)]
    together = small.read(QUESTION, pages)
    for page, one in zip(pages, together, strict=True):
        (alone,) = small.read(QUESTION, [page])
        assert one.sentences == pytest.approx(alone.sentences, abs=1e-4)
        assert one.answers == pytest.approx(alone.answers, abs=1e-4)


def test_the_sentences_of_a_long_abstract_are_scored_in_their_windows(small, tokenizer):
    (whole,) = small.read(QUESTION, [LONG])
    pages, answers = [], []
    for window in tokenizer.windows(QUESTION, LONG):
        part = LONG.sentences[window.first : window.first + window.count]
        (one,) = small.read(QUESTION, [Page(LONG.title, part)])
        pages += one.sentences.tolist()
        answers.append(one.answers)
    assert whole.sentences == pytest.approx(np.asarray(pages), abs=1e-4)
    assert whole.answers == pytest.approx(max(answers), abs=1e-4)


def test_an_empty_page_is_scored_as_what_was_not_read(small):
    found = small.read(QUESTION, [Page("Gulls", ()), BELLS, Page("", ())])
    assert [len(one.sentences) for one in found] == [0, 1, 0]
    assert (found[0].answers, found[2].answers) == (LOWEST, LOWEST)
    assert found[1].answers != LOWEST
    assert small.read(QUESTION, []) == []


@pytest.mark.parametrize(
    ("question", "page"),
    [
        pytest.param("?", PAGE, id="a question of a mark"),
        pytest.param("", PAGE, id="an empty question"),
        pytest.param(
            "海草在低潮时怎么样？", Page("潮汐", ("海草在低潮时生长缓慢。",)), id="Chinese"
        ),
        pytest.param("Is $x^2 < y$?", Page("$x$", ("\\frac{a}{b} {} {x}",)), id="maths"),
        pytest.param("Why?", Page("", ("", " ")), id="blank sentences"),
        pytest.param("Why?", Page("", ("\x00😀\u200d",)), id="odd characters"),
        pytest.param("x" * 4000, Page("x" * 4000, ("x" * 50_000,)), id="no spaces"),
    ],
)
def test_odd_texts_are_read_too(small, question, page):
    (found,) = small.read(question, [page])
    assert len(found.sentences) == len(page.sentences)
    assert np.isfinite([*found.sentences, found.answers]).all()


def test_reading_again_gives_the_same_numbers(small):
    first, again = (numbers(small.read(QUESTION, [PAGE, LONG, BELLS])) for _ in range(2))
    assert first == again


def test_b32_two_threads_read_at_once_as_one_does_alone(small):
    asked = {QUESTION: [PAGE, LONG], "Do bells sound flat?": [BELLS, PAGE]}
    alone = {question: numbers(small.read(question, pages)) for question, pages in asked.items()}
    found, gate = {}, threading.Barrier(2)

    def read(question):
        gate.wait()
        found[question] = [numbers(small.read(question, asked[question])) for _ in range(3)]

    threads = [threading.Thread(target=read, args=(question,)) for question in asked]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for question, runs in found.items():
        for read in runs:
            for (sentences, answers), (expected, whole) in zip(read, alone[question], strict=True):
                assert sentences == pytest.approx(expected, abs=1e-4)
                assert answers == pytest.approx(whole, abs=1e-4)
    assert set(found) == set(asked)


def test_what_was_read_is_kept_for_the_same_question_and_page(folder, weights, monkeypatch):
    monkeypatch.setattr(evidence_model, "KEPT", 2)
    model = EvidenceModel(folder, weights, GRAPH)
    read, tokens = [], Encoder.tokens
    monkeypatch.setattr(
        Encoder, "tokens", lambda one, ids, *more: read.append(len(ids)) or tokens(one, ids, *more)
    )
    first = numbers(model.read(QUESTION, [PAGE]))
    assert numbers(model.read(QUESTION, [PAGE, BELLS])) == [
        first[0],
        *numbers(model.read(QUESTION, [BELLS])),
    ]
    assert read == [1, 1]
    changed = Page(PAGE.title, (*PAGE.sentences[:2], "It is silent."))
    model.read(QUESTION, [changed])
    model.read("Another question?", [changed])
    assert read == [1, 1, 1, 1]
    assert len(model._kept) == 2
    with pytest.raises(ValueError, match="read-only"):
        model.read(QUESTION, [changed])[0].sentences[0] = 1.0


def test_what_is_read_without_torch_is_what_the_trained_module_says(small, folder, weights):
    import torch

    module = network(folder).eval()
    load(module, weights)
    tokenizer = PairTokenizer(folder)
    (window,), (other,) = (tokenizer.windows(QUESTION, page) for page in (PAGE, BELLS))
    with torch.inference_mode():
        logits, answers = run(module, batch_of([window, other]))
    found = small.read(QUESTION, [PAGE, BELLS])
    assert found[0].sentences == pytest.approx(logits[0].numpy(), abs=1e-4)
    assert found[1].sentences == pytest.approx(logits[1, :1].numpy(), abs=1e-4)
    assert [one.answers for one in found] == pytest.approx(answers.tolist(), abs=1e-4)


# ---- the file of weights


def test_what_is_saved_is_the_trained_part_as_half_floats_with_its_card(weights):
    from safetensors import safe_open

    with safe_open(weights, "pt") as stored:
        names = set(stored.keys())
        assert stored.metadata()["made"] == "for a test"
        assert {str(stored.get_tensor(name).dtype) for name in names} == {"torch.float16"}
    assert not any(name.startswith(FROZEN) for name in names)
    assert {"near", "sentence.0.weight", "page.2.bias"} <= names
    assert any(name.startswith("body.encoder.layer.2.") for name in names)


def test_what_was_saved_is_what_is_loaded(folder, weights):
    module = network(folder)
    before = module.state_dict()["near"].item()
    module.state_dict()["near"].fill_(before + 3)
    load(module, weights)
    assert module.state_dict()["near"].item() == before


def changed(weights, path, change):
    """Write the weights with some tensors changed, as another version would have them."""
    from safetensors.torch import load_file, save_file

    tensors = load_file(weights)
    change(tensors)
    save_file(tensors, path)
    return path


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda data: None, id="missing"),
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"no weights at all" * 9, id="other bytes"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut off"),
    ],
)
def test_a_damaged_file_of_weights_is_an_error_that_says_what_to_do(
    folder, weights, tmp_path, spoil
):
    path = tmp_path / WEIGHTS
    if (data := spoil(weights.read_bytes())) is not None:
        path.write_bytes(data)
    with pytest.raises(SettingsError, match=f"'{WEIGHTS}' cannot be read.*Install Citewell again"):
        EvidenceModel(folder, path, GRAPH)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda t: t.pop("near"), "does not fit: 'near'", id="one lacks"),
        pytest.param(
            lambda t: t.update(rival=t["near"].clone()),
            "does not fit: 'rival'",
            id="one is foreign",
        ),
        pytest.param(
            lambda t: t.update({"page.2.bias": t["page.0.bias"].clone()}),
            "(cannot be read: .*size mismatch|does not fit)",
            id="another shape",
        ),
    ],
)
def test_weights_of_another_model_are_refused(folder, weights, tmp_path, change, message):
    path = changed(weights, tmp_path / WEIGHTS, change)
    with pytest.raises(SettingsError, match=rf"(?s)'{WEIGHTS}' {message}.*Install Citewell again"):
        load(network(folder), path)
    with pytest.raises(SettingsError, match=rf"(?s)'{WEIGHTS}' does not fit.*Install Citewell"):
        EvidenceModel(folder, path, GRAPH)


# ---- the packaged model


@pytest.fixture(scope="module")
def packaged():
    return packaged_model()


@pytest.mark.model
def test_the_packaged_model_is_loaded_once(packaged):
    assert packaged_model() is packaged


ANSWERED = [
    (QUESTION, PAGE, 1),
    (
        "Which metal fell after the ring road closed?",
        Page(
            "Moss as a record of metal in city air",
            (
                "Moss takes up metal from the air.",
                "We measured moss from 52 parks.",
                "Lead fell by half within five years after the ring road closed.",
            ),
        ),
        2,
    ),
    (
        "How many attention heads does the pruning method remove?",
        Page(
            "Pruning attention heads in speech encoders",
            (
                "Speech encoders are slow on phones.",
                "The method removes 38% of the attention heads.",
                "The word error rate hardly rises.",
            ),
        ),
        1,
    ),
]


@pytest.mark.model
@pytest.mark.parametrize(("question", "page", "gold"), ANSWERED, ids=["gulls", "moss", "heads"])
def test_the_sentence_that_plainly_answers_is_best_and_without_it_the_page_scores_lower(
    packaged, question, page, gold
):
    rest = tuple(text for n, text in enumerate(page.sentences) if n != gold)
    whole, without, foreign = packaged.read(question, [page, Page(page.title, rest), BELLS])
    assert int(whole.sentences.argmax()) == gold
    assert whole.answers > without.answers + 1
    assert whole.answers > foreign.answers + 1
    assert without.sentences.max() < whole.sentences[gold]


@pytest.mark.model
def test_the_packaged_model_finds_an_answer_in_the_last_window_of_a_long_abstract(packaged):
    page = Page(LONG.title, (*LONG.sentences, PAGE.sentences[1]))
    with_answer, without = packaged.read(QUESTION, [page, LONG])
    assert int(with_answer.sentences.argmax()) == len(LONG.sentences)
    assert with_answer.answers > without.answers + 1


@pytest.mark.model
def test_the_packaged_model_gives_the_same_numbers_again(packaged):
    first, again = (numbers(packaged.read(QUESTION, [PAGE, BELLS])) for _ in range(2))
    assert first == again


def test_b32_the_packaged_model_is_loaded_once_when_two_threads_ask_first(monkeypatch):
    made, gate = [], threading.Barrier(2)

    def slow(*args):
        made.append(args)
        time.sleep(0.2)
        return object()

    monkeypatch.setattr(evidence_model, "EvidenceModel", slow)
    evidence_model._loaded.cache_clear()

    def ask():
        gate.wait(10)
        packaged_model()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    evidence_model._loaded.cache_clear()  # the next test loads the real one
    assert len(made) == 1
