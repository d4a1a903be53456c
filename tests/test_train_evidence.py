import json
import math
import random
from pathlib import Path

import numpy as np
import pytest

from eval.bench import train_evidence
from eval.bench.evidence_network import load, network
from eval.bench.evidence_pairs import Example, Other, Pair
from eval.bench.evidence_record import Figures, Options, Record, figures_of
from eval.bench.train_evidence import (
    Trainer,
    batches,
    loss_of,
    main,
    measure,
    rows_of,
    trainable,
)
from rag.embedders.minilm import packaged_minilm
from rag.evidence_model import (
    FROZEN,
    LOWEST,
    WINDOW,
    EvidenceModel,
    Page,
    PageScores,
    PairTokenizer,
)
from rag.library import open_library

DATA = Path(__file__).parent / "data" / "evidence"
PAGE = Page("Gulls", ("Gulls are hard to count.", "The drone counts nine nests.", "It is loud."))
QUESTION = "How many nests does the drone count?"


def pair(number=0, *, gold=(False, True, False), library="tiny"):
    other = Other("other", Page("", (f"Bell number {number} sounds flat.",)))
    return Pair(library, "held", QUESTION, str(number), PAGE, gold, (False,) * 3, (other,))


def example(page=PAGE, gold=(False, True, False), also=(False, False, True)):
    return Example(QUESTION, page, gold, also, any(gold))


@pytest.fixture(scope="module")
def tokenizer():
    return PairTokenizer(packaged_minilm())


# ---- rows and batches


def test_a_row_weighs_gold_sentences_more_and_tolerated_ones_not(tokenizer):
    (row,) = rows_of([example()], tokenizer)
    assert row.gold.tolist() == [0, 1, 0]
    assert row.weight.tolist() == [1, 2.5, 0]
    assert row.answers == 1


def test_of_a_long_abstract_the_first_window_is_learned(tokenizer):
    count = WINDOW // 20
    long = Page("", tuple("a salty harbour freezes late " * 10 for _ in range(count)))
    gold = (*(False,) * (count - 1), True)
    (row,) = rows_of([Example(QUESTION, long, gold, (False,) * count, True)], tokenizer)
    assert 1 < row.window.count < count
    assert len(row.gold) == len(row.weight) == row.window.count
    assert not row.gold.any()


def test_a_page_without_sentences_gives_no_row(tokenizer):
    assert rows_of([example(Page("Title", ()), (), ())], tokenizer) == []


def test_batches_hold_every_row_once_and_rows_of_one_length_together(tokenizer):
    pages = [Page("", ("salt " * n + ".",)) for n in range(1, 22)]
    rows = rows_of([Example("Why?", page, (True,), (False,), True) for page in pages], tokenizer)
    found = batches(rows, 4, random.Random(2))
    assert sorted(len(batch) for batch in found) == [1, 4, 4, 4, 4, 4]
    lengths = [sorted(len(row.window.ids) for row in batch) for batch in found]
    flat = [length for batch in lengths for length in batch]
    assert flat != sorted(flat)
    assert sorted(flat) == sorted(len(row.window.ids) for row in rows)
    assert all(batch[-1] - batch[0] < 4 for batch in lengths)


# ---- the loss


class Fixed:
    """Stands in for the network: gives logits that were written down, whatever it is shown."""

    def __init__(self, sentences, pages):
        import torch

        self.answer = torch.tensor(sentences), torch.tensor(pages)

    def __call__(self, *_):
        return self.answer


def softplus(x):
    return math.log1p(math.exp(x))


def test_the_loss_is_the_one_worked_out_by_hand(tokenizer):
    two = Page("", PAGE.sentences[:2])
    rows = rows_of([example(), example(two, (False, False), (False, False))], tokenizer)
    loss, parts = loss_of(Fixed([[0.5, 1.0, 9.0], [-1.0, -2.0, -1e4]], [2.0, -1.0]), rows)
    first = (softplus(0.5) + 2.5 * softplus(-1.0)) / 3.5
    second = (softplus(-1.0) + softplus(-2.0)) / 2
    assert parts.sentences == pytest.approx((first + second) / 2, rel=1e-5)
    best = math.log(math.exp(0.5) + math.exp(1.0) + math.exp(9.0)) - 1.0
    assert parts.listwise == pytest.approx(best, rel=1e-5)
    assert parts.page == pytest.approx((softplus(-2.0) + softplus(-1.0)) / 2, rel=1e-5)
    whole = parts.sentences + 0.5 * parts.listwise + parts.page
    assert float(loss) == pytest.approx(whole, rel=1e-5)


def test_a_row_whose_gold_sentence_is_out_of_sight_takes_no_part_in_the_first_place(tokenizer):
    unseen = Example(QUESTION, PAGE, (False,) * 3, (False,) * 3, True)
    fixed = [[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]]
    _, both = loss_of(Fixed(fixed, [0.0, 0.0]), rows_of([example(), unseen], tokenizer))
    _, alone = loss_of(Fixed(fixed[:1], [0.0]), rows_of([example()], tokenizer))
    assert both.listwise == pytest.approx(alone.listwise)
    _, none = loss_of(Fixed(fixed[1:], [0.0]), rows_of([unseen], tokenizer))
    assert none.listwise == 0


def test_the_rate_rises_then_falls_and_never_ends():
    import torch

    trainer = Trainer(torch.nn.Linear(1, 1), 1e-3, 100)
    shares = []
    for done in range(130):
        trainer.done = done
        shares.append(trainer.factor())
    assert shares[0] == pytest.approx(1 / 6)
    assert shares.index(max(shares)) == 5
    assert shares[50] == pytest.approx(0.5)
    assert shares[-1] == 0.02


# ---- figures


def scores(*sentences, answers):
    return PageScores(np.asarray(sentences, np.float32), answers)


def test_figures_are_those_worked_out_by_hand():
    none = (False, False, False)
    pairs = [pair(), pair(gold=(True, False, True)), pair(gold=none), pair(gold=none)]
    read = [
        scores(0, 2, 1, answers=1.0),
        scores(0, 3, -1, answers=3.0),
        scores(0, 0, 0, answers=2.0),
        scores(0, 0, 0, answers=0.0),
    ]
    others = [scores(0, answers=-1.0), scores(0, answers=1.0)]
    assert figures_of(pairs, read, others) == Figures(2, 2, 0.5, 1.0, 0.75, 0.875)


def test_what_cannot_be_measured_is_none():
    assert figures_of([], [], []) == Figures(0, 0, None, None, None, None)


# ---- the network


@pytest.fixture(scope="module")
def module():
    return trainable(packaged_minilm(), 7)


@pytest.mark.model
def test_the_lowest_layers_stay_as_they_are_and_attention_drops_nothing(module):
    names = {name: value.requires_grad for name, value in module.named_parameters()}
    assert {n for n, learns in names.items() if not learns} == {
        n for n in names if n.startswith(FROZEN)
    }
    assert names["body.encoder.layer.2.output.dense.weight"]
    assert names["near"]
    kinds = {
        type(part).__name__: part.dropout.p for part in module.modules() if hasattr(part, "dropout")
    }
    assert [p for name, p in kinds.items() if name.endswith("SelfAttention")] == [0.0]
    assert kinds["BertOutput"] > 0


@pytest.mark.model
def test_measuring_reads_each_library_apart_and_leaves_the_network_in_training(module, tokenizer):
    none = (False,) * 3
    pairs = [pair(1), pair(2, gold=none), pair(3, library="second"), pair(4)]
    found = measure(module, tokenizer, pairs)
    assert {name: (one.answerable, one.near_misses) for name, one in found.items()} == {
        "tiny": (2, 1),
        "second": (1, 0),
    }
    assert found["tiny"].auc_near_misses == 0.5  # one page, three times
    assert found["second"].auc_near_misses is None
    assert module.training


@pytest.mark.model
def test_measuring_reads_as_the_product_does(module, tokenizer, tmp_path):
    Record(tmp_path / "w.safetensors", None, [], Options()).write(module, {}, 1, 0)
    model = EvidenceModel(packaged_minilm(), tmp_path / "w.safetensors")
    long = Page("", tuple(f"Harbour {n} froze late. " * 12 for n in range(12)))
    pages = [PAGE, long, Page("Empty", ())]
    ours = train_evidence.read_pages(module, tokenizer, [(QUESTION, page) for page in pages])
    for mine, theirs in zip(ours, model.read(QUESTION, pages), strict=True):
        assert mine.sentences == pytest.approx(theirs.sentences, abs=0.02)  # half floats
        assert mine.answers == pytest.approx(theirs.answers, abs=0.02)
    assert ours[2].answers == LOWEST


@pytest.mark.model
def test_the_loss_falls_over_steps_on_one_batch(tokenizer):
    module = trainable(packaged_minilm(), 7)
    before = module.state_dict()["body.encoder.layer.1.output.dense.weight"].clone()
    silent = Example("Who built the drone?", PAGE, (False,) * 3, (False,) * 3, False)
    rows = rows_of([example(), silent], tokenizer)
    trainer = Trainer(module, 2e-4, 12)
    losses = [trainer.step(rows) for _ in range(12)]
    for name in ("sentences", "listwise", "page"):
        values = [getattr(one, name) for one in losses]
        assert np.mean(values[-3:]) < 0.8 * np.mean(values[:3])
    after = module.state_dict()["body.encoder.layer.1.output.dense.weight"]
    assert bool((before == after).all())


# ---- the command


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    with open_library("tiny", create=True) as library:
        library.add(DATA / "papers.jsonl", wait=True)


SETS = ["--set", f"tiny={DATA / 'questions.jsonl'}", "--set", f"tiny={DATA / 'claims.jsonl'}"]


@pytest.mark.model
def test_two_steps_write_weights_with_their_card_and_a_report(tiny, tmp_path):
    from safetensors import safe_open

    out, report = tmp_path / "model.safetensors", tmp_path / "report.json"
    arguments = ["--out", str(out), "--report", str(report), "--batch", "2", "--epochs", "3"]
    assert main([*SETS, *arguments, "--limit-steps", "2"]) == 0
    load(network(packaged_minilm()), out)
    with safe_open(str(out), "pt") as stream:
        card = stream.metadata()
        assert not [name for name in stream.keys() if name.startswith(FROZEN)]  # noqa: SIM118
    assert card["licence"] == "Apache-2.0 base: all-MiniLM-L6-v2"
    assert (card["seed"], card["steps"], card["claims"]) == ("7", "2", "odd")
    assert card["torch"]
    assert card["transformers"]
    data = json.loads(card["data"])
    assert [(one["file"], one["questions"]) for one in data] == [
        ("questions.jsonl", 7),
        ("claims.jsonl", 2),
    ]
    assert all(len(one["sha256"]) == 64 for one in data)
    figures = json.loads(card["figures"])["tiny"]
    told = json.loads(report.read_text())
    assert (told["batch"], told["epochs"], told["data"]) == (2, 3, data)
    assert told["trained"] == [{"epoch": 1, "steps": 2, "figures": {"tiny": figures}}]
    assert figures["answerable"] == 1
    assert figures["near_misses"] == 2  # one of the questions, one cited without evidence
    assert sorted(path.name for path in tmp_path.glob("*.safetensors*")) == ["model.safetensors"]
    assert not list(tmp_path.glob(".*.part"))
    assert out.stat().st_mode & 0o444 == 0o444


@pytest.mark.model
def test_the_same_seed_gives_the_same_weights(tiny, tmp_path):
    from safetensors.torch import load_file

    made = []
    for name in ("a", "b"):
        out = tmp_path / f"{name}.safetensors"
        assert main([*SETS[:2], "--out", str(out), "--limit-steps", "1"]) == 0
        made.append(load_file(str(out)))
    assert all(bool((made[0][name] == made[1][name]).all()) for name in made[0])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--set", "tiny=none.jsonl"], "cannot be read", id="no file"),
        pytest.param(["--set", "other=none.jsonl"], "No library 'other'", id="no library"),
        pytest.param(
            ["--set", "tiny=held.jsonl"], "No question is left to train on", id="all kept back"
        ),
    ],
)
def test_what_cannot_be_trained_on_is_a_sentence(tiny, tmp_path, capsys, arguments, told):
    lines = (DATA / "questions.jsonl").read_text().splitlines()
    Path("held.jsonl").write_text("\n".join(lines[3:5]))
    assert main([*arguments, "--out", str(tmp_path / "w.safetensors")]) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("error: ")
    assert told in error
    assert not (tmp_path / "w.safetensors").exists()


@pytest.mark.parametrize("name", ["--out", "--report"])
def test_a_place_that_cannot_be_written_is_refused_before_any_work(capsys, tmp_path, name):
    places = {"--out": str(tmp_path / "w"), name: str(tmp_path / "none" / "file")}
    arguments = [word for pair in places.items() for word in pair]
    assert main(["--set", "tiny=none.jsonl", *arguments]) == 1
    assert "its folder does not exist or is read-only" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", "tiny"], "'tiny' is not of the form LIBRARY=FILE"),
        (["--set", "=file"], "'=file' is not of the form"),
        (["--epochs", "0"], "'0' is no whole number from 1 to"),
        (["--batch", "many"], "'many' is no whole number"),
        (["--limit-steps", "-1"], "'-1' is no whole number"),
        (["--seed", str(2**40)], "is no whole number from 0 to"),
        (["--rate", "fast"], "'fast' is no number between 0 and 1"),
        (["--rate", "2"], "'2' is no number between 0 and 1"),
        ([], "the following arguments are required: --set"),
    ],
)
def test_a_wrong_command_line_is_told_as_wrong_usage(capsys, arguments, told):
    with pytest.raises(SystemExit, match="2"):
        main(["--out", "w", *arguments])
    assert told in capsys.readouterr().err
