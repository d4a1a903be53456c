"""Benchmark folders in BEIR's layout, relevance judgments, and TREC run files."""

import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rag.errors import RecordError

from . import metrics as m
from .tables import open_plain_or_gz, read_json_lines

Qrels = Mapping[str, Mapping[str, int]]  # query → document → grade
Run = Mapping[str, Mapping[str, float]]  # query → document → score

_MAX_LINE = 2**16
CUTS = (1, 5, 10, 20, 100)


@dataclass(frozen=True, slots=True)
class Document:
    """One record of a corpus; ``metadata`` holds every field but id, title and text."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A retrieval benchmark; its corpus is read as a stream with ``read_corpus``."""

    name: str
    folder: Path
    queries: Mapping[str, str]
    qrels: Qrels
    qrels_name: str

    @property
    def judged(self) -> list[str]:
        """Return the ids of the queries with a relevant document, in the file's order."""
        return [q for q in self.queries if any(g > 0 for g in self.qrels.get(q, {}).values())]


def load_benchmark(folder: Path, qrels: str | None = None) -> Benchmark:
    """Read queries and judgments of a folder.

    Args:
        folder: Holds ``corpus.jsonl[.gz]``, ``queries.jsonl[.gz]`` (or one other
            ``queries*.jsonl[.gz]``) and ``qrels/*.tsv``.
        qrels: Name of the judgments without ``.tsv``; None takes ``test``, else the only file.

    Raises:
        RecordError: A file is missing, ambiguous or malformed, or judges none of the queries.
    """
    corpus_path(folder)
    queries = read_queries(_one_of(folder, "queries.jsonl", "queries*.jsonl"))
    judgments = _qrels_path(folder, qrels)
    benchmark = Benchmark(
        folder.resolve().name, folder, queries, read_qrels(judgments), judgments.stem
    )
    if not benchmark.judged:
        raise RecordError(
            f"{judgments.name!r} in {folder.name!r} judges none of the queries. The ids of queries "
            "and judgments must agree. Name other judgments."
        )
    return benchmark


def read_corpus(folder: Path) -> Iterator[Document]:
    """Yield the documents of a folder in the file's order.

    Raises:
        RecordError: The file is missing, or a line is no document; the message names the line.
    """
    path = corpus_path(folder)
    for line, values in _objects(path):
        doc_id = _id(values, path, line)
        rest = {k: v for k, v in values.items() if k not in {"_id", "title", "text"}}
        yield Document(doc_id, str(values.get("title") or ""), str(values.get("text") or ""), rest)


def read_queries(path: Path) -> dict[str, str]:
    """Return query id to text, in the file's order.

    Raises:
        RecordError: The file is missing, or a line has no ``_id``.
    """
    return {_id(v, path, line): str(v.get("text") or "") for line, v in _objects(path)}


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return relevance judgments: query id to document id to grade.

    Args:
        path: BEIR's three tab-separated columns under a header, or TREC's four columns
            (``query 0 document grade``) without one.

    Raises:
        RecordError: The file is missing or a line has another form.
    """
    judged: dict[str, dict[str, int]] = {}
    for line, text in _text_lines(path):
        cells = text.split("\t") if "\t" in text else text.split()
        if line == 1 and cells[-1].strip() == "score":
            continue
        try:
            query, doc, grade = (cells[0], cells[2], cells[3]) if len(cells) == 4 else cells
            judged.setdefault(query, {})[doc] = int(grade)
        except ValueError as exc:
            raise RecordError(
                f"{path.name}, line {line} is no judgment. Each line needs query id, document id "
                "and a whole number, separated by tabs. Correct the line."
            ) from exc
    return judged


def read_run(path: Path) -> dict[str, dict[str, float]]:
    """Return a TREC run: query id to document id to score. Ranks in the file are not used.

    Raises:
        RecordError: The file is missing, or a line has not six columns and a finite score.
    """
    run: dict[str, dict[str, float]] = {}
    for line, text in _text_lines(path):
        try:
            query, _, doc, _, score, _ = text.split()
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise RecordError(
                f"{path.name}, line {line} is no line of a TREC run. It needs six columns: query, "
                "Q0, document, rank, score, name of the run. Correct the line."
            )
        run.setdefault(query, {})[doc] = value
    return run


def write_run(path: Path, run: Run, tag: str) -> None:
    """Write a run for trec_eval, each query's documents in the order in which it ranks them.

    Args:
        path: The file; one that exists is replaced.
        run: Finite scores; ids without white space.
        tag: Name of the run; white space in it becomes ``-``.

    Raises:
        RecordError: An id holds white space, or a score is not finite.
    """
    name = "-".join(tag.split()) or "run"
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for query, scores in run.items():
            for rank, doc in enumerate(m.order_by_score(scores), start=1):
                _check_line(query, doc, scores[doc])
                stream.write(f"{query} Q0 {doc} {rank} {scores[doc]!r} {name}\n")


def measure_run(run: Run, qrels: Qrels) -> dict[str, dict[str, float]]:
    """Return the ranking measures of every query that has a relevant document.

    Args:
        run: The scores; a judged query that is not in it was answered with nothing.
        qrels: The judgments.

    Returns:
        Query id to measure name to value, in the order of ``qrels``; each equals trec_eval's.
    """
    measured = {}
    for query, judged in qrels.items():
        ranked = m.order_by_score(run.get(query, {}))
        scores = _measure(ranked, judged)
        if scores["map"] is not None:
            measured[query] = {name: value for name, value in scores.items() if value is not None}
    return measured


def _measure(ranked: list[str], judged: Mapping[str, int]) -> dict[str, float | None]:
    return {
        "ndcg@10": m.ndcg_at(ranked, judged, 10),
        "map": m.average_precision(ranked, judged),
        "mrr": m.reciprocal_rank(ranked, judged),
        **{f"recall@{k}": m.recall_at(ranked, judged, k) for k in CUTS},
        **{f"precision@{k}": m.precision_at(ranked, judged, k) for k in CUTS},
    }


def _check_line(query: str, doc: str, score: float) -> None:
    for name in (query, doc):
        if not name or len(name.split()) != 1 or name != name.strip():
            raise RecordError(
                f"The id {name!r} cannot stand in a TREC run file. Its columns are separated by "
                "white space. Use ids without white space."
            )
    if not math.isfinite(score):
        raise RecordError(f"The score of {doc!r} for {query!r} is {score}, which ranks nothing.")


def corpus_path(folder: Path) -> Path:
    """Return the corpus of a folder, plain or packed.

    Raises:
        RecordError: There is none.
    """
    return _one_of(folder, "corpus.jsonl", "corpus.jsonl")


def _one_of(folder: Path, name: str, pattern: str) -> Path:
    """Return the file of that name, plain or packed, else the only one of the pattern."""
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    others = sorted([*folder.glob(pattern), *folder.glob(f"{pattern}.gz")])
    if len(others) != 1:
        raise RecordError(
            f"{str(folder)!r} holds no {name!r} and no {name + '.gz'!r}. A benchmark folder has "
            "corpus.jsonl, queries.jsonl and qrels/*.tsv. Name such a folder."
        )
    return others[0]


def _qrels_path(folder: Path, name: str | None) -> Path:
    found = {path.stem: path for path in sorted((folder / "qrels").glob("*.tsv"))}
    if name is None:
        name = "test" if "test" in found else next(iter(found), "") if len(found) == 1 else ""
    if name not in found:
        known = ", ".join(found) or "none"
        raise RecordError(
            f"{str(folder)!r} holds no judgments {name or 'test'!r}. There are: {known}. "
            "Name one of these."
        )
    return found[name]


def _objects(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        for row in read_json_lines(path, limit=None):
            if row.fault:
                raise RecordError(f"{path.name}, line {row.line} is {row.fault}. Correct the line.")
            yield row.line, row.values
    except (OSError, EOFError) as exc:
        raise _unreadable(path, exc) from exc


def _id(values: Mapping[str, Any], path: Path, line: int) -> str:
    value = values.get("_id")
    if not isinstance(value, str | int) or not str(value):
        raise RecordError(f"{path.name}, line {line} has no '_id'. Each line needs one. Add it.")
    return str(value)


def _text_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, with their numbers."""
    try:
        with open_plain_or_gz(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig") as stream:
            number = 0
            while text := stream.readline(_MAX_LINE):
                number += 1
                if text.strip():
                    yield number, text.rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as exc:
        raise _unreadable(path, exc) from exc


def _unreadable(path: Path, exc: Exception) -> RecordError:
    reason = getattr(exc, "strerror", None) or str(exc)
    return RecordError(f"{str(path)!r} cannot be read: {reason}. Check the name and the file.")
