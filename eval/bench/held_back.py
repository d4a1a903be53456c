"""The sentences chosen for questions kept back, with and without the evidence model in one run.

    python -m eval.bench.held_back --questions QUESTIONS.jsonl --library NAME [--json report.json]

Questions belong to papers; a fifth of the papers, by a checksum of the paper's name, was neither
trained nor fitted on (``evidence_pairs.part_of``). The library holds all papers and is made before
with ``citewell add``. Shares come with their 95 % Wilson interval.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from rag import question as questions
from rag.errors import RagError, RecordError
from rag.fitted import Mode, packaged_weights
from rag.kinds import language_of
from rag.library import Library, open_library
from rag.selection import choose

from ..metrics import area_under_roc
from ..tables import read_rows
from .fit_evidence import Read, is_held_back, read_all

SHOWN = 3  # sentences of an answer
LANGUAGES = ("English", "others")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of one mode; ``low`` and ``high`` are None where it is no share."""

    mode: Mode
    language: str
    measure: str
    value: float
    low: float | None
    high: float | None
    n: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a question that is answerable, or a near miss, got."""

    paper: bool
    first: bool
    among: bool
    probability: float


def seen(read: Read) -> Seen:
    """Compare one reading with the question's labels."""
    gold, papers = read.gold(), read.right_papers()
    right = {
        (one.paper.id, one.span)
        for one, is_gold in zip(read.reading.sentences, gold, strict=True)
        if is_gold
    }
    question = questions.understand(questions.check(read.record["question"]))
    shown = choose(question, read.reading, most=SHOWN)
    titles = {one.paper.id: bool(own) for one, own in zip(read.reading.papers, papers, strict=True)}
    hits = [(one.paper.id, one.span) in right for one in shown]
    return Seen(
        titles[read.reading.papers[0].paper.id],
        any(hits[:1]),
        any(hits),
        read.reading.probability,
    )


def figures(
    mode: Mode, language: str, good: Sequence[Seen], near: Sequence[Seen], below: float
) -> list[Figure]:
    """Return the measures of one mode and language.

    Args:
        mode: With the evidence model, or without.
        language: What the questions are written in.
        good: What the answerable questions got.
        near: What the near misses got.
        below: The probability below which Citewell abstains.
    """
    chances = np.asarray([one.probability for one in [*good, *near]])
    labels = np.asarray([1.0] * len(good) + [0.0] * len(near))
    area = area_under_roc(chances, labels)
    shares = {
        "right paper first": [one.paper for one in good],
        "first sentence is gold": [one.first for one in good],
        f"gold among {SHOWN}": [one.among for one in good],
        "answerable refused": [one.probability < below for one in good],
        "near misses abstained": [one.probability < below for one in near],
    }
    found = [_share(mode, language, name, hits) for name, hits in shares.items() if hits]
    if area is not None:
        found.append(Figure(mode, language, "near misses, AUC", area, None, None, len(labels)))
    return found


def _share(mode: Mode, language: str, name: str, hits: Sequence[bool]) -> Figure:
    from scipy.stats import binomtest

    low, high = binomtest(sum(hits), len(hits)).proportion_ci(method="wilson")
    return Figure(mode, language, name, sum(hits) / len(hits), low, high, len(hits))


def measure(library: Library, file: Path, *, limit: int | None = None) -> list[Figure]:
    """Measure the questions of a file that were kept back, in both modes.

    Args:
        library: Holds the papers.
        file: Questions with ``answerable``, ``relevant`` (or ``nearest``) and ``evidence``.
        limit: Only the first so many; None takes all.

    Raises:
        RecordError: The file cannot be read, or none of its questions was kept back.
    """
    records = [row.values for row in read_rows(file) if is_held_back(row.values)][:limit]
    if not records:
        raise RecordError(
            f"No question of {file.name!r} belongs to a paper that was kept back. Name the file "
            "that the weights were fitted on."
        )
    table = []
    for mode in get_args(Mode):
        weights = packaged_weights(mode)
        read = list(read_all(library, records, weights, mode))
        for language in LANGUAGES:
            own = [one for one in read if _is_of(one, language)]
            good = [seen(one) for one in own if one.record["answerable"]]
            near = [seen(one) for one in own if not one.record["answerable"]]
            table += figures(mode, language, good, near, weights.abstain_below)
    return table


def _is_of(read: Read, language: str) -> bool:
    return (language_of(read.record["question"]) == "en") == (language == LANGUAGES[0])


def as_markdown(table: Sequence[Figure]) -> str:
    """Return figures as a table: a row a measure and language, a column a mode."""
    lines = ["| questions | measure | plain | read | n |", "|---|---|---|---|---:|"]
    rows: dict[tuple[str, str], dict[str, Figure]] = {}
    for one in table:
        rows.setdefault((one.language, one.measure), {})[one.mode] = one
    for (language, name), cells in rows.items():
        told = " | ".join(_cell(cells[mode]) for mode in ("plain", "read"))
        lines.append(f"| {language} | {name} | {told} | {cells['read'].n} |")
    return "\n".join(lines) + "\n"


def _cell(one: Figure) -> str:
    if one.low is None or one.high is None:
        return f"{one.value:.3f}"
    return f"{one.value:.3f} <sub>{one.low:.3f}–{one.high:.3f}</sub>"


def main(argv: list[str] | None = None) -> int:
    """Measure as the command line says; the exit code is 1 where that cannot be done."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--library", required=True, help="holds the papers of --questions")
    parser.add_argument("--limit", type=int, help="only the first so many questions")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    args = parser.parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with open_library(args.library) as library:
            table = measure(library, args.questions, limit=args.limit)
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    sys.stdout.write(as_markdown(table))
    if args.json:
        args.json.write_text(json.dumps([asdict(one) for one in table], indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
