"""Measure the checker of statements on labelled ones, and on SciFact's claims.

python -m eval.bench.verification --statements FILE.jsonl [--corpus FILE.jsonl.gz] [--scifact DIR]

A line of statements is {"id", "paper", "sentence", "statement", "kind", "supported"}: "paper" is
the stem of a file of the sample, or a record's id in --corpus.
"""

import argparse
import json
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag.embedders import build
from rag.errors import RagError, RecordError
from rag.readers import read_papers
from rag.samples import sample_files
from rag.schema import Evidence, Paper, Span
from rag.sentences import sentence_spans
from rag.settings import Settings, load_settings
from rag.verification import Cosines
from rag.verify.compare import Verdict, compare

from ..metrics.normal import letters
from ..trec import corpus_path
from .corpus import own_id

OTHERS = 3  # sentences of the same abstract that a SciFact claim is compared with
_Z = 1.959964  # of a 95 % interval


@dataclass(frozen=True, slots=True)
class Pair:
    """A statement, the sentences it is compared with, what kind it is, and whether it is true."""

    id: str
    kind: str
    statement: str
    sources: tuple[Evidence, ...]
    supported: bool


@dataclass(frozen=True, slots=True)
class Share:
    """How many of ``n`` got a verdict, with the 95 % Wilson interval of the share."""

    count: int
    n: int
    share: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """The verdicts of one group of pairs. ``caught`` counts weak and unsupported together."""

    kind: str
    supported: bool
    unsupported: Share
    caught: Share


def wilson(count: int, n: int) -> Share:
    """Return a share with its 95 % interval by Wilson's score (1927).

    Args:
        count: How many, 0 to ``n``.
        n: Of how many; 0 gives no share.
    """
    if not n:
        return Share(count, n, None, None, None)
    share = count / n
    middle = share + _Z**2 / (2 * n)
    half = _Z * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n * n))
    scale = 1 + _Z**2 / n
    low, high = (middle - half) / scale, (middle + half) / scale
    return Share(count, n, share, max(0.0, low), min(1.0, high))


Named = Mapping[str, Sequence[Paper]]
"""The papers by the name that the lines use; a name of a file stands for all its papers."""


def statement_pairs(path: Path, papers: Named) -> list[Pair]:
    """Read a file of labelled statements.

    Args:
        path: JSON lines.
        papers: The papers by the name that the lines use. Of several, the one that holds the
            sentence is meant.

    Raises:
        RecordError: A line is malformed or names an unknown paper.
    """
    return [_pair(number, row, papers) for number, row in _rows(path)]


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise RecordError(
            f"The file {str(path)!r} cannot be read: {exc}. A UTF-8 file of JSON lines is "
            "expected. Name another."
        ) from exc
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as exc:
                raise RecordError(
                    f"{path.name}, line {number}: it is not JSON ({exc}). Correct the line."
                ) from exc


def _pair(number: int, row: Mapping[str, Any], papers: Named) -> Pair:
    try:
        sentence = str(row["sentence"])
        paper = _holding(papers[str(row["paper"])], sentence)
        return Pair(
            str(row["id"]),
            str(row["kind"]),
            str(row["statement"]),
            (_evidence(paper, sentence),),
            bool(row["supported"]),
        )
    except (KeyError, TypeError) as exc:
        raise RecordError(
            f"Line {number} of the statements cannot be used: {exc} is missing or unknown. Each "
            "needs id, paper, sentence, statement, kind and supported. Correct the line."
        ) from exc


def _evidence(paper: Paper, sentence: str) -> Evidence:
    """Return a sentence as evidence; one that the abstract writes otherwise stands for itself."""
    start = paper.abstract.find(sentence)
    if start >= 0:
        return Evidence(paper, "", Span(start, start + len(sentence)), 0.0)
    whole = Paper(paper.id, paper.title, f"{sentence}\n\n{paper.abstract}")
    return Evidence(whole, "", Span(0, len(sentence)), 0.0)


def _holding(papers: Sequence[Paper], sentence: str) -> Paper:
    """Return the paper whose abstract holds a sentence, whatever its mark-up; else the last."""
    wanted = letters(sentence)
    held = (one for one in papers if wanted in letters(f"{one.abstract}\n{one.raw_abstract}"))
    return next(held, papers[-1])


def sample_papers() -> Named:
    """Return the papers of the sample by the stems of their files."""
    return {
        path.stem: [item for item in read_papers(path) if isinstance(item, Paper)]
        for path in sample_files()
    }


def corpus_papers(path: Path) -> Named:
    """Return the papers of a corpus by their own ids."""
    return {own_id(item): [item] for item in read_papers(path) if isinstance(item, Paper)}


def scifact_pairs(folder: Path) -> list[Pair]:
    """Return SciFact's claims with their rationales, and supported ones with other sentences.

    Args:
        folder: Holds ``corpus.jsonl.gz`` and ``qa.jsonl``.

    Returns:
        Kinds ``SUPPORT``, ``CONTRADICT``, and ``OTHER``: a supported claim with the sentences of
        the same abstract that are no rationale, one each, at most three.
    """
    papers = corpus_papers(corpus_path(folder))
    found: list[Pair] = []
    for _, row in _rows(folder / "qa.jsonl"):
        for place, one in enumerate(row["evidence"]):
            paper, claim = next(iter(papers.get(one["doc_id"], ())), None), str(row["question"])
            name = f"{row['id']}:{place}"
            if paper is None:
                continue
            rationale = tuple(_evidence(paper, text) for text in one["text"])
            supports = one["label"] == "SUPPORT"
            found.append(Pair(name, one["label"], claim, rationale, supports))
            if supports:
                others = _others(paper, one["text"])[:OTHERS]
                found += [Pair(name, "OTHER", claim, (other,), False) for other in others]
    return found


def _others(paper: Paper, rationale: Sequence[str]) -> list[Evidence]:
    spans = sentence_spans(paper.abstract)
    every = [Evidence(paper, "", span, 0.0) for span in spans]
    return [one for one in every if not any(one.text in r or r in one.text for r in rationale)]


def verdicts(pairs: Sequence[Pair], settings: Settings) -> list[Verdict]:
    """Return the checker's verdict on every pair, in order, with the settings' embedder."""
    texts = [text for one in pairs for text in (one.statement, *(s.text for s in one.sources))]
    cosines = Cosines(build(settings), texts)
    return [compare(one.statement, one.sources, similarity=cosines).verdict for one in pairs]


def table(pairs: Sequence[Pair], found: Sequence[Verdict]) -> list[Row]:
    """Count verdicts by kind, then over all corrupted and all supported statements."""
    groups: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for pair, verdict in zip(pairs, found, strict=True):
        groups[pair.kind, pair.supported][verdict] += 1
        groups["all", pair.supported][verdict] += 1
    return [_row(kind, supported, counts) for (kind, supported), counts in sorted(groups.items())]


def _row(kind: str, supported: bool, counts: Counter[str]) -> Row:
    n = counts.total()
    return Row(
        kind,
        supported,
        wilson(counts["unsupported"], n),
        wilson(counts["unsupported"] + counts["weak"], n),
    )


def as_text(name: str, rows: Iterable[Row]) -> str:
    """Return a table for a terminal."""
    lines = [f"{name:<24}{'true':<6}{'n':>5}  {'unsupported':<24}weak or unsupported"]
    for row in rows:
        shares = f"{_shown(row.unsupported):<24}{_shown(row.caught)}"
        lines.append(f"{row.kind:<24}{row.supported!s:<6}{row.caught.n:>5}  {shares}")
    return "\n".join(lines)


def _shown(share: Share) -> str:
    if share.share is None:
        return "-"
    return f"{share.share:.3f} ({share.low:.3f}-{share.high:.3f})"


def main(argv: list[str] | None = None) -> int:
    """Measure; the exit code is 1 where a file cannot be used."""
    parser = argparse.ArgumentParser(description="Measure the checker of statements.")
    parser.add_argument("--statements", type=Path, help="JSON lines of labelled statements")
    parser.add_argument("--corpus", type=Path, help="their papers (default: the sample)")
    parser.add_argument("--scifact", type=Path, help="a folder of SciFact")
    parser.add_argument("--wrong", action="store_true", help="list what was judged wrongly")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    try:
        settings = load_settings()
        parts = dict(_parts(args))
        judged = {name: (pairs, verdicts(pairs, settings)) for name, pairs in parts.items()}
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    tables = {name: table(*one) for name, one in judged.items()}
    if args.json:
        shown = {name: [asdict(row) for row in rows] for name, rows in tables.items()}
        sys.stdout.write(json.dumps(shown) + "\n")
        return 0
    sys.stdout.write("\n\n".join(as_text(name, rows) for name, rows in tables.items()) + "\n")
    if args.wrong:
        sys.stdout.writelines(_wrong(judged))
    return 0


def _parts(args: argparse.Namespace) -> Iterator[tuple[str, list[Pair]]]:
    if args.statements:
        papers = corpus_papers(args.corpus) if args.corpus else sample_papers()
        yield "statements", statement_pairs(args.statements, papers)
    if args.scifact:
        yield "scifact", scifact_pairs(args.scifact)


def _wrong(judged: Mapping[str, tuple[Sequence[Pair], Sequence[Verdict]]]) -> Iterator[str]:
    for pairs, found in judged.values():
        for pair, verdict in zip(pairs, found, strict=True):
            if (verdict == "supported") != pair.supported:
                quotes = " ".join(one.text for one in pair.sources)
                yield f"{pair.id} {pair.kind} {verdict}\n  {pair.statement}\n  {quotes}\n"


if __name__ == "__main__":
    sys.exit(main())
