"""What ``--json`` shows: our types → plain dictionaries. Pure; texts stay exactly as they are."""

from .schema import Answer, Citation, ImportReport, Paper, RankedPaper, Statement, Status

OPENING_WORDS = 12


def answer_json(answer: Answer) -> dict[str, object]:
    """Return an answer as plain JSON values; texts are exact, control characters included.

    Returns:
        ``question``, ``answer``, ``abstained``, ``statements``, ``citations`` (``start`` and
        ``end`` count code points in the abstract as shown), ``papers`` (by falling ``score``),
        ``llm``, ``timings_ms``, ``confidence``, and ``searched``, ``invented``, ``raw``,
        ``error``, ``notes``, ``tells``.
    """
    return {
        "question": answer.question,
        "answer": answer.text,
        "abstained": answer.abstained,
        "statements": [_statement_json(one) for one in answer.statements],
        "citations": [_citation_json(citation) for citation in answer.citations],
        "papers": [ranked_json(ranked) for ranked in answer.papers],
        "llm": answer.llm,
        "timings_ms": dict(answer.timings_ms),
        "confidence": answer.confidence,
        "searched": answer.searched or answer.question,
        "invented": list(answer.invented),
        "raw": answer.raw,
        "error": answer.error,
        "notes": list(answer.notes),
        "tells": [_citation_json(citation) for citation in answer.tells],
    }


def _statement_json(statement: Statement) -> dict[str, object]:
    """Return a statement; what only a checked one has is left out of others."""
    values: dict[str, object] = {
        "text": statement.text,
        "citations": list(statement.citations),
        "support": statement.support,
    }
    if statement.reason:
        values["reason"] = statement.reason
    if statement.nearest:
        values["nearest"] = statement.nearest
    if statement.repaired_from is not None:
        values["repaired_from"] = list(statement.repaired_from)
    return values


def _citation_json(citation: Citation) -> dict[str, object]:
    return {
        "marker": citation.marker,
        **_named(citation.paper),
        "quote": citation.quote,
        "start": citation.span.start,
        "end": citation.span.end,
        "support": citation.support,
        "passage_id": citation.passage_id,
        **_about(citation.paper),
    }


def ranked_json(ranked: RankedPaper) -> dict[str, object]:
    """Return one paper of a ranked list as plain JSON values; ``cosine`` may be None."""
    return {
        "rank": ranked.rank,
        **_named(ranked.paper),
        "abstract_start": " ".join(ranked.paper.abstract.split()[:OPENING_WORDS]),
        "score": ranked.score,
        "cosine": ranked.cosine,
        **({"sentence": ranked.snippet} if ranked.sentence else {}),
        **_about(ranked.paper),
    }


def _named(paper: Paper) -> dict[str, object]:
    return {
        "paper_id": paper.id,
        "label": paper.label,
        "authors": list(paper.authors),
        "title": paper.title,
    }


def _about(paper: Paper) -> dict[str, object]:
    return {
        "more_authors": paper.more_authors,
        "topic": paper.topic,
        "year": paper.year,
        "venue": paper.venue,
        "doi": paper.doi,
        "arxiv_id": paper.arxiv_id,
        "url": paper.url,
    }


def paper_json(paper: Paper) -> dict[str, object]:
    """Return one paper as plain JSON values, with all that its record held."""
    return {
        **_named(paper),
        **_about(paper),
        "keywords": list(paper.keywords),
        "abstract": paper.abstract,
        "raw_abstract": paper.raw_abstract,
        "extra": dict(paper.extra),
        "source": {
            "file": paper.source.file,
            "line": paper.source.line,
            "key": paper.source.key,
        },
    }


def report_json(report: ImportReport) -> dict[str, object]:
    """Return an import's report as plain JSON values, all bad records included."""
    names = (
        *("read", "added", "updated", "unchanged", "duplicate", "failed", "stored", "embedded"),
        *("terms_written", "vectors_written", "pending", "import_id", "seconds"),
    )
    return {
        **{name: getattr(report, name) for name in names},
        "bad": [{"file": b.file, "line": b.line, "reason": b.reason} for b in report.bad],
        "notes": [{"file": n.file, "line": n.line, "text": n.text} for n in report.notes],
    }


def status_json(status: Status) -> dict[str, object]:
    """Return the state of a library as plain JSON values."""
    names = (
        *("name", "path", "papers", "passages", "embedded", "searchable", "title_only"),
        *("embedder", "dim", "checked"),
    )
    return {
        **{name: getattr(status, name) for name in names},
        "problems": list(status.problems),
    }
