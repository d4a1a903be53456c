"""Figures of speed: what several rounds gave, side by side, and how noisy the machine was."""

import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..metrics import percentile

Part = Literal["add", "embed", "readd", "search", "answer", "indexer", "llm"]
PARTS: tuple[Part, ...] = ("add", "embed", "readd", "search", "answer", "indexer")


@dataclass(frozen=True, slots=True)
class Rounds:
    """One figure a round, and over how many records or questions it was taken in all."""

    values: tuple[float, ...]
    n: int

    @property
    def median(self) -> float:
        """Return the middle value."""
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        """Return the least value."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Return the greatest value."""
        return max(self.values)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        part: Which part of the harness measured it.
        measure: What it is, in a few words.
        unit: ``ms``, ``s``: less is better; ``records/s``, ``tokens/s``: more is better.
        ours: Citewell's rounds.
        theirs: The rounds of what it is compared with; None without one.
        ratio: Ours divided by theirs, round by round.
        against: What it is compared with.
        note: What the reader should know besides.
    """

    part: Part
    measure: str
    unit: str
    ours: Rounds
    theirs: Rounds | None = None
    ratio: Rounds | None = None
    against: str = ""
    note: str = ""


@dataclass(slots=True)
class SpeedResults:
    """All rows of one command, and on what they were made."""

    rows: list[Row] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)


def compare(
    part: Part,
    measure: str,
    unit: str,
    *,
    ours: Sequence[float],
    theirs: Sequence[float] = (),
    n: int,
    against: str = "starter",
    note: str = "",
) -> Row:
    """Make a row of the figures of each round; with the other side's, their ratio too.

    Args:
        part: Which part measured it.
        measure: What it is.
        unit: Its unit.
        ours: One figure a round.
        theirs: The other side's in the same rounds; empty without one.
        n: Records or questions in all rounds together.
        against: What the other side is.
        note: What the reader should know besides.

    Raises:
        ValueError: No round, or not as many on both sides.
    """
    if not ours or (theirs and len(theirs) != len(ours)):
        raise ValueError(f"{len(ours)} rounds against {len(theirs)}")
    own = Rounds(tuple(ours), n)
    if not theirs:
        return Row(part, measure, unit, own, note=note)
    ratios = tuple(a / b for a, b in zip(ours, theirs, strict=True))
    return Row(part, measure, unit, own, Rounds(tuple(theirs), n), Rounds(ratios, n), against, note)


def percentiles(
    part: Part,
    measure: str,
    *,
    ours: Sequence[Sequence[float]],
    theirs: Sequence[Sequence[float]] = (),
    against: str = "starter",
    note: str = "",
) -> list[Row]:
    """Return the rows of the median and the 95th percentile of times, each taken round by round.

    Args:
        part: Which part measured it.
        measure: What it is.
        ours: The times of each round, in milliseconds.
        theirs: The other side's in the same rounds; empty without one.
        against: What the other side is.
        note: What the reader should know besides.
    """
    n = sum(len(times) for times in ours)
    return [
        compare(
            part,
            f"{measure}, p{percent}",
            "ms",
            ours=[percentile(times, percent) or 0.0 for times in ours],
            theirs=[percentile(times, percent) or 0.0 for times in theirs],
            n=n,
            against=against,
            note=note,
        )
        for percent in (50, 95)
    ]


def rounds_of(items: Sequence[Any], rounds: int) -> list[Sequence[Any]]:
    """Deal items into rounds, one after the other, so that every round gets as many.

    What does not go round is left out; there are fewer rounds where there are fewer items.
    """
    each = max(1, len(items) // rounds) if items else 0
    return [items[at : at + each] for at in range(0, each * rounds, each or 1) if items[at:]]


def machine() -> dict[str, Any]:
    """Say how fast and how busy the machine is at this moment."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "load": None if load is None else round(load, 2),
        "gflops": round(_gflops(), 1),
    }


def _gflops(size: int = 768, tries: int = 3) -> float:
    """Return how many thousand million operations a second a multiplication of matrices gets."""
    square = np.ones((size, size), np.float32)
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        np.matmul(square, square)
        times.append(time.perf_counter() - began)
    return 2 * size**3 / min(times) / 1e9
