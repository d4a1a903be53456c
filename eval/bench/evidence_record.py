"""What a trained evidence model reaches on papers kept back, and its weights written with it."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from rag.evidence_model import PageScores

from ..metrics import area_under_roc
from ..report import replace_file
from .evidence_network import save
from .evidence_pairs import Half, Pair

log = logging.getLogger(__name__)

LICENCE = "Apache-2.0 base: all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Options:
    """How to train.

    ``limit`` ends training after so many steps; None trains all epochs. ``claims`` is the half of
    the papers cited by claims that is learned from.
    """

    epochs: int = 5
    rate: float = 2e-4
    batch: int = 16
    seed: int = 7
    limit: int | None = None
    claims: Half = "odd"


@dataclass(frozen=True, slots=True)
class Figures:
    """What the model reaches on papers kept back; None where there is nothing to measure on.

    Attributes:
        answerable: Pairs that answer.
        near_misses: Pairs that do not.
        hit_1: Share of answerable pairs whose best sentence answers.
        hit_3: Share of which one of the best three does.
        auc_near_misses: Chance that an abstract that answers scores above a near miss.
        auc_others: The same, against the first other abstract that a search finds.
    """

    answerable: int
    near_misses: int
    hit_1: float | None
    hit_3: float | None
    auc_near_misses: float | None
    auc_others: float | None


def figures_of(
    pairs: Sequence[Pair], read: Sequence[PageScores], others: Sequence[PageScores]
) -> Figures:
    """Work out the figures of some pairs.

    Args:
        pairs: Pairs kept back.
        read: What reading each pair gave, in order.
        others: What reading answerable questions beside their first other abstracts gave.
    """
    both = list(zip(pairs, read, strict=True))
    good = [(pair, scores) for pair, scores in both if pair.answers]
    answering = [scores.answers for _, scores in good]
    near = [scores.answers for pair, scores in both if not pair.answers]
    return Figures(
        len(good),
        len(near),
        _hits(good, 1),
        _hits(good, 3),
        _auc(answering, near),
        _auc(answering, [scores.answers for scores in others]),
    )


def _hits(good: Sequence[tuple[Pair, PageScores]], first: int) -> float | None:
    """Return the share of pairs of which one of the first sentences is gold."""
    hits = [
        any(pair.gold[at] for at in np.argsort(-scores.sentences, kind="stable")[:first])
        for pair, scores in good
    ]
    return _rounded(sum(hits) / len(hits)) if hits else None


def _auc(high: Sequence[float], low: Sequence[float]) -> float | None:
    labels = np.asarray([1.0] * len(high) + [0.0] * len(low))
    return _rounded(area_under_roc(np.asarray([*high, *low], float), labels))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


class Record:
    """Measures and writes the weights after each epoch.

    Args:
        out: The weights' file.
        report: A file for the figures of every epoch; None for none.
        data: What the card says about the question files.
        options: How the network is trained.
    """

    def __init__(
        self, out: Path, report: Path | None, data: Sequence[object], options: Options
    ) -> None:
        self._out, self._report, self._data, self._options = out, report, data, options
        self._epochs: list[dict[str, object]] = []

    def write(self, module: Any, figures: Mapping[str, Figures], epoch: int, steps: int) -> None:
        """Write the weights whole or not at all, then the report."""
        found = {name: asdict(one) for name, one in figures.items()}
        self._epochs.append({"epoch": epoch, "steps": steps, "figures": found})
        log.info("epoch %d: %s", epoch, json.dumps(found))
        part = self._out.with_name(f".{self._out.name}.part")
        save(module, part, self._card(found, epoch, steps))
        part.chmod(0o644)  # safetensors lets only the owner read; these ship to everybody
        part.replace(self._out)
        if self._report is not None:
            whole = {"data": self._data, **asdict(self._options), "trained": self._epochs}
            replace_file(self._report, json.dumps(whole, indent=1, ensure_ascii=False) + "\n")

    def _card(self, figures: object, epoch: int, steps: int) -> dict[str, str]:
        return {
            "licence": LICENCE,
            "made_by": "python -m eval.bench.train_evidence",
            "data": json.dumps(self._data, ensure_ascii=False),
            "claims": self._options.claims,
            "epochs": f"{epoch} of {self._options.epochs}",
            "steps": str(steps),
            "seed": str(self._options.seed),
            "rate": str(self._options.rate),
            "batch": str(self._options.batch),
            "figures": json.dumps(figures),
            "torch": version("torch"),
            "transformers": version("transformers"),
        }
