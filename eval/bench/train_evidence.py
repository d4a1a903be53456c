"""Train the evidence model (``rag/weights/evidence_model.safetensors``) from labelled questions.

One command makes it anew; docs/evidence.md names the data and figures:

    python -m eval.bench.train_evidence --set LIBRARY=FILE [--set LIBRARY=FILE …] \\
        --out rag/weights/evidence_model.safetensors --report report.json

The libraries hold the papers that the files' questions are about; they are made before with
``citewell add``. ``eval.bench.evidence_pairs`` says what a file holds and which papers are kept
back. After each epoch the figures on these are told, and the weights are written with their card.
"""

import argparse
import logging
import math
import os
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from rag.embedders.minilm import packaged_minilm
from rag.errors import RagError, RecordError, SettingsError
from rag.evidence_model import (
    FROZEN,
    LOWEST,
    Page,
    PageScores,
    PairTokenizer,
    Window,
    batch_of,
)
from rag.library import open_library

from .evidence_network import network, run
from .evidence_pairs import Example, Half, Pair, collect, examples, keep_apart
from .evidence_record import Figures, Options, Record, figures_of

log = logging.getLogger(__name__)

HEADS = 5.0  # the heads' rate, as a multiple of the body's
DECAY = 0.01
WARM_UP = 0.06  # share of the steps in which the rate rises
LAST_RATE = 0.02  # share of the rate that is left at the end
LONGEST_STEP = 1.0  # norm to which gradients are clipped
GOLD = 2.5  # weight of a sentence that answers, of others 1
LISTWISE = 0.5
POOL = 20  # batches whose windows are sorted by length together, against padding
TOLD = 25  # steps

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Row:
    """One example as the network sees it: its first window, and the labels of its sentences."""

    window: Window
    gold: Floats
    weight: Floats  # 0 for a sentence that is right to show but not needed
    answers: float


@dataclass(frozen=True, slots=True)
class Losses:
    """The parts of the loss of one batch."""

    sentences: float
    listwise: float
    page: float


# ---- examples as the network sees them -----------------------------------------------------------


def rows_of(made: Iterable[Example], tokenizer: PairTokenizer) -> list[Row]:
    """Lay examples out as tokens; of a long abstract only the first window is learned from."""
    return [row for example in made for row in _row(example, tokenizer)]


def _row(example: Example, tokenizer: PairTokenizer) -> Iterator[Row]:
    for window in tokenizer.windows(example.question, example.page)[:1]:
        gold = np.asarray(example.gold[: window.count], np.float32)
        also = np.asarray(example.also[: window.count], bool)
        weight = np.where(gold > 0, GOLD, np.where(also, 0.0, 1.0)).astype(np.float32)
        yield Row(window, gold, weight, float(example.answers))


def batches(rows: Sequence[Row], size: int, rng: random.Random) -> list[list[Row]]:
    """Shuffle rows into batches of about one length each."""
    mixed, found = list(rows), []
    rng.shuffle(mixed)
    for start in range(0, len(mixed), size * POOL):
        pool = sorted(mixed[start : start + size * POOL], key=lambda row: len(row.window.ids))
        found += [pool[at : at + size] for at in range(0, len(pool), size)]
    rng.shuffle(found)
    return found


# ---- training ------------------------------------------------------------------------------------


def trainable(folder: Path, seed: int) -> Any:
    """Return the untrained network, ready to train.

    Attention does without dropout, which costs much time here; MiniLM's embeddings and first two
    layers stay as they are.
    """
    torch.manual_seed(seed)
    module = network(folder)
    for part in module.modules():
        if type(part).__name__.endswith("SelfAttention"):
            part.dropout = torch.nn.Dropout(0.0)
    for name, value in module.named_parameters():
        value.requires_grad = not name.startswith(FROZEN)
    return module.train()


def loss_of(module: Any, rows: Sequence[Row]) -> tuple[Any, Losses]:
    """Return a batch's loss, ready for ``backward``, and its parts.

    Every sentence and the page are judged alone; besides, the gold sentences of an abstract compete
    with the others for the first place. A row whose gold sentences lie in a later window takes no
    part in that.
    """
    logits, pages = run(module, batch_of([row.window for row in rows]))
    gold, weight = (_padded([getattr(row, name) for row in rows]) for name in ("gold", "weight"))
    single = functional.binary_cross_entropy_with_logits(logits, gold, reduction="none") * weight
    sentences = (single.sum(1) / weight.sum(1).clamp(min=1)).mean()
    listwise = _listwise(logits, gold > 0)
    answers = torch.tensor([row.answers for row in rows])
    page = functional.binary_cross_entropy_with_logits(pages, answers)
    parts = Losses(float(sentences.detach()), float(listwise.detach()), float(page.detach()))
    return sentences + LISTWISE * listwise + page, parts


def _padded(values: Sequence[Floats]) -> Any:
    table = np.zeros((len(values), max(len(one) for one in values)), np.float32)
    for row, one in enumerate(values):
        table[row, : len(one)] = one
    return torch.from_numpy(table)


def _listwise(logits: Any, gold: Any) -> Any:
    """Return how improbable it is that the best sentence is a gold one; 0 where none is gold."""
    holds = gold.any(1)
    if not holds.any():
        return torch.zeros(())
    logs = torch.log_softmax(logits[holds], 1).masked_fill(~gold[holds], -math.inf)
    return -torch.logsumexp(logs, 1).mean()


class Trainer:
    """Takes one step a batch; the rate rises, then falls.

    Args:
        module: From ``trainable``.
        rate: The highest rate of the body.
        steps: How many there will be, about.
    """

    def __init__(self, module: Any, rate: float, steps: int) -> None:
        self._module, self._steps, self.done = module, max(1, steps), 0
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        body = [p for n, p in named if n.startswith("body.")]
        heads = [p for n, p in named if not n.startswith("body.")]
        self._all, self._rates = body + heads, (rate, rate * HEADS)
        groups = [
            {"params": one, "lr": lr} for one, lr in zip((body, heads), self._rates, strict=True)
        ]
        self._optimizer: Any = torch.optim.AdamW(groups, weight_decay=DECAY)

    def factor(self) -> float:
        """Return the share of the rate that the next step takes."""
        rising = (self.done + 1) / (WARM_UP * self._steps)
        return min(1.0, rising) * max(LAST_RATE, 1 - self.done / self._steps)

    def step(self, rows: Sequence[Row]) -> Losses:
        """Learn from one batch."""
        factor = self.factor()
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        loss, parts = loss_of(self._module, rows)
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._all, LONGEST_STEP)
        self._optimizer.step()
        self.done += 1
        return parts


def train(
    module: Any,
    tokenizer: PairTokenizer,
    pairs: Sequence[Pair],
    options: Options,
    after: Callable[[int, int], None],
) -> None:
    """Train a network.

    Args:
        module: From ``trainable``; changed in place.
        tokenizer: Of the same folder.
        pairs: Only those for training.
        options: How.
        after: Called after each epoch with its number, from 1, and the steps done so far.
    """
    rng = random.Random(options.seed)
    trainer: Trainer | None = None
    began = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        parts = batches(rows_of(examples(pairs, rng), tokenizer), options.batch, rng)
        total = min(options.limit or math.inf, len(parts) * options.epochs)
        trainer = trainer or Trainer(module, options.rate, int(total))
        for rows in parts:
            if trainer.done == options.limit:
                break
            losses = trainer.step(rows)
            if trainer.done % TOLD == 0:
                _tell(epoch, trainer.done, int(total), losses, time.perf_counter() - began)
        after(epoch, trainer.done)
        if trainer.done == options.limit:
            break


def _tell(epoch: int, step: int, total: int, losses: Losses, seconds: float) -> None:
    log.info(
        "epoch %d, step %d of %d: loss %.3f (sentences), %.3f (first place), %.3f (page); "
        "%.2f s a step, %.0f min left",
        *(epoch, step, total, losses.sentences, losses.listwise, losses.page),
        *(seconds / step, max(0, total - step) * seconds / step / 60),
    )


# ---- measuring -----------------------------------------------------------------------------------


def read_pages(
    module: Any, tokenizer: PairTokenizer, asked: Sequence[tuple[str, Page]], size: int = 16
) -> list[PageScores]:
    """Read pages, each beside its own question, as ``EvidenceModel.read`` does for one question."""
    placed = [(n, w) for n, one in enumerate(asked) for w in tokenizer.windows(*one)]
    placed.sort(key=lambda pair: len(pair[1].ids))
    sentences = [np.full(len(page.sentences), LOWEST, np.float32) for _, page in asked]
    answers = [LOWEST] * len(asked)
    module.eval()
    with torch.inference_mode():
        for start in range(0, len(placed), size):
            part = placed[start : start + size]
            logits, pages = run(module, batch_of([window for _, window in part]))
            for row, (n, window) in enumerate(part):
                last = window.first + window.count
                sentences[n][window.first : last] = logits[row, : window.count].numpy()
                answers[n] = max(answers[n], float(pages[row]))
    module.train()
    return [PageScores(*both) for both in zip(sentences, answers, strict=True)]


def measure(module: Any, tokenizer: PairTokenizer, pairs: Sequence[Pair]) -> dict[str, Figures]:
    """Measure a network on pairs, for each of their libraries."""
    found = {}
    for name in dict.fromkeys(pair.library for pair in pairs):
        own = [pair for pair in pairs if pair.library == name]
        other = [
            (pair.question, pair.others[0].page) for pair in own if pair.answers and pair.others
        ]
        read = read_pages(module, tokenizer, [(pair.question, pair.page) for pair in own])
        found[name] = figures_of(own, read, read_pages(module, tokenizer, other))
    return found


# ---- the command ---------------------------------------------------------------------------------


def make(
    sets: Sequence[tuple[str, Path]], out: Path, options: Options, *, report: Path | None = None
) -> None:
    """Make pairs of question files, train on them, and write weights.

    Args:
        sets: Names of libraries, each with the question file whose papers it holds.
        out: The weights' file; written anew after each epoch.
        options: How to train.
        report: A JSON file for the figures of every epoch; None for none.

    Raises:
        RecordError: A file cannot be read, or there is nothing to train on.
        IndexMissingError: There is no library of a name.
        SettingsError: A file cannot be written where it is asked for.
    """
    for file in (out, report):
        _check_place(file)
    found = []
    for name, file in sets:
        with open_library(name) as library:
            found.append(collect(library, file, options.claims))
    pairs = keep_apart([pair for one in found for pair in one.pairs])
    learned, held = ([p for p in pairs if p.part == part] for part in ("train", "held"))
    if not learned:
        raise RecordError(
            "No question is left to train on: every paper of these files is kept back by the "
            "checksum of its name. Add questions about more papers."
        )
    log.info("%d pairs to train on, %d kept back to measure on", len(learned), len(held))
    record = Record(out, report, [one.card() for one in found], options)
    folder = packaged_minilm()
    tokenizer, module = PairTokenizer(folder), trainable(folder, options.seed)

    def after(epoch: int, steps: int) -> None:
        record.write(module, measure(module, tokenizer, held), epoch, steps)

    train(module, tokenizer, learned, options, after)


def _check_place(file: Path | None) -> None:
    """Refuse a file that cannot be written, before hours are spent."""
    if file is not None and not (file.parent.is_dir() and os.access(file.parent, os.W_OK)):
        raise SettingsError(
            f"'{file}' cannot be written: its folder does not exist or is read-only. "
            "Make the folder, or name another file."
        )


def _pair(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if not (name.strip() and file.strip()):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form LIBRARY=FILE")
    return name.strip(), Path(file)


def _whole(low: int, high: int) -> Callable[[str], int]:
    """Return a reader of whole numbers from ``low`` to ``high``."""

    def read(text: str) -> int:
        if not (text.isdecimal() and len(text) < 20 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return int(text)

    return read


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number between 0 and 1")
    return value


def _parser() -> argparse.ArgumentParser:
    usual = Options()
    parser = argparse.ArgumentParser(
        prog="python -m eval.bench.train_evidence",
        description="Train the evidence model from labelled questions.",
    )
    add = parser.add_argument
    add("--set", type=_pair, action="append", required=True, metavar="LIBRARY=FILE", dest="sets",
        help="a question file and the library of its papers; may be repeated")  # fmt: skip
    add("--out", type=Path, required=True, help="the weights' file")
    add("--report", type=Path, help="write the figures of every epoch to this JSON file")
    add("--epochs", type=_whole(1, 1000), default=usual.epochs)
    add("--rate", type=_rate, default=usual.rate, help="highest learning rate of MiniLM's layers")
    add("--batch", type=_whole(1, 1024), default=usual.batch, help="examples a step")
    add("--seed", type=_whole(0, 2**32 - 1), default=usual.seed)
    add("--claims", choices=get_args(Half), default=usual.claims,
        help="the half of the papers cited by claims to learn from (by checksum)")  # fmt: skip
    add("--limit-steps", type=_whole(1, 10**9), help="end after so many steps: for a trial")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Train as the command line says; the exit code is 1 where that cannot be done."""
    args = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    options = Options(args.epochs, args.rate, args.batch, args.seed, args.limit_steps, args.claims)
    try:
        make(args.sets, args.out, options, report=args.report)
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
