"""A read-only view of an answer in the form that ``citewell ask --json`` gives.

Run folders are files that may come from elsewhere, so a field of the wrong type reads as absent.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MARKER = re.compile(r"\[(\d{1,4}(?:\s*[,–-]\s*\d{1,4})*)\]")
_WORST_FIRST = ("unsupported", "unchecked", "weak", "supported", "verbatim")


@dataclass(frozen=True, slots=True)
class ReplyStatement:
    """One statement: its text, its markers, and how far it is supported."""

    text: str
    markers: tuple[int, ...]
    support: str


@dataclass(frozen=True, slots=True)
class ReplyCitation:
    """One numbered quote."""

    marker: int
    paper_id: str
    label: str
    quote: str
    support: str


@dataclass(frozen=True, slots=True)
class ReplyPaper:
    """One paper of the ranked list."""

    paper_id: str
    label: str
    score: float | None
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Reply:
    """The parts of an answer that are measured and shown."""

    text: str
    abstained: bool
    statements: tuple[ReplyStatement, ...]
    citations: tuple[ReplyCitation, ...]
    papers: tuple[ReplyPaper, ...]
    invented: tuple[int, ...]
    confidence: float | None

    @classmethod
    def from_json(cls, answer: Mapping[str, Any]) -> "Reply":
        """Read an answer object.

        A statement without a ``support`` of its own has the worst one of the citations it rests
        on. ``confidence`` is the answer's own where it gives one, else the highest cosine of its
        papers.
        """
        citations = tuple(_citation(item) for item in _objects(answer, "citations"))
        papers = tuple(_paper(item) for item in _objects(answer, "papers"))
        known = {citation.marker: citation.support for citation in citations}
        return cls(
            text=_text(answer, "answer"),
            abstained=answer.get("abstained") is True,
            statements=tuple(_statement(s, known) for s in _objects(answer, "statements")),
            citations=citations,
            papers=papers,
            invented=_integers(answer.get("invented")),
            confidence=_confidence(answer, papers),
        )

    @property
    def prose(self) -> str:
        """Return the answer without markers: its statements, or its text where it has none."""
        if self.statements:
            return " ".join(statement.text for statement in self.statements)
        return _MARKER.sub("", self.text)

    @property
    def prose_with_quotes(self) -> str:
        """Return everything the reader sees as the answer: text without markers, and quotes."""
        return "\n".join(
            [_MARKER.sub("", self.text), self.prose, *(c.quote for c in self.citations)]
        )

    @property
    def markers(self) -> tuple[int, ...]:
        """Return every marker that is written, bound or reported as invented."""
        bound = [marker for statement in self.statements for marker in statement.markers]
        return (*bound, *_written(self.text), *self.invented)


def _written(text: str) -> list[int]:
    """Return the markers in a text; a range stands for its ends, which is enough to check it."""
    return [int(n) for group in _MARKER.findall(text) for n in re.findall(r"\d+", group)]


def _statement(item: Mapping[str, Any], known: Mapping[int, str]) -> ReplyStatement:
    markers = _integers(item.get("citations"))
    support = _text(item, "support")
    if not support:
        rests_on = {known[marker] for marker in markers if marker in known}
        support = next((s for s in _WORST_FIRST if s in rests_on), "unchecked")
    return ReplyStatement(_text(item, "text"), markers, support)


def _citation(item: Mapping[str, Any]) -> ReplyCitation:
    marker = item.get("marker")
    return ReplyCitation(
        marker if isinstance(marker, int) else -1,
        _text(item, "paper_id"),
        _text(item, "label"),
        _text(item, "quote"),
        _text(item, "support"),
    )


def _paper(item: Mapping[str, Any]) -> ReplyPaper:
    return ReplyPaper(
        _text(item, "paper_id"),
        _text(item, "label"),
        _number(item, "score"),
        _number(item, "cosine"),
    )


def _confidence(answer: Mapping[str, Any], papers: tuple[ReplyPaper, ...]) -> float | None:
    own = _number(answer, "confidence")
    cosines = [paper.cosine for paper in papers if paper.cosine is not None]
    return own if own is not None else max(cosines, default=None)


def _objects(holder: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = holder.get(key)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(holder: Mapping[str, Any], key: str) -> str:
    value = holder.get(key)
    return value if isinstance(value, str) else ""


def _number(holder: Mapping[str, Any], key: str) -> float | None:
    value = holder.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _integers(value: object) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, list) else ()
