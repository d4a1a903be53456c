"""What the benchmarks give: rows of figures that the tables show."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..measures import Measure
from ..stats import Difference


@dataclass(frozen=True, slots=True)
class EngineRow:
    """One engine on one benchmark.

    Attributes:
        engine: ``lexical``, ``dense``, ``hybrid``, or ``reranked`` by a cross-encoder.
        measures: Name to mean over the judged queries with its interval.
        against_hybrid: How the hybrid differs from this engine in nDCG@10; None for the hybrid.
        query_ms_p50: Median time of a search.
        query_ms_p95: Time that 95 of 100 searches stay under.
        trec_difference: Largest difference of any measure from pytrec_eval's; None where it was
            not compared.
    """

    engine: str
    measures: Mapping[str, Measure]
    against_hybrid: Difference | None
    query_ms_p50: float
    query_ms_p95: float
    trec_difference: float | None = None


@dataclass(frozen=True, slots=True)
class RetrievalTable:
    """One benchmark of retrieval: its sizes, times, and a row an engine."""

    benchmark: str
    judgments: str
    papers: int
    merged: int
    textless: int  # records without title and text
    queries: int
    unasked: int  # queries that could not be asked, scored as answered with nothing
    add_seconds: float
    rows: tuple[EngineRow, ...]


@dataclass(frozen=True, slots=True)
class AnswerTable:
    """One file of questions: what was measured on it, over how many."""

    benchmark: str
    file: str
    questions: int
    sampled: int | None  # None: all of them
    llm: str | None
    seconds: float
    measures: tuple[Measure, ...]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Results:
    """All tables of one command, how they were made, and what went wrong."""

    retrieval: list[RetrievalTable] = field(default_factory=list)
    answers: list[AnswerTable] = field(default_factory=list)
    made: dict[str, Any] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
