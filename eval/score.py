"""Measure one answer against one case. Pure: the runner looks up the papers and asks."""

from collections.abc import Mapping
from typing import Any

from . import metrics as m
from .cases import Case
from .labels import Resolved
from .measures import CUTS
from .reply import Reply

Scores = dict[str, float | None]


def score(case: Case, answer: Mapping[str, Any], relevant: Resolved) -> Scores:
    """Return every measure of one answer that needs nothing but the case's labels.

    Args:
        case: The question and its labels.
        answer: The object that ``citewell ask --json`` gives.
        relevant: What the case's labels stand for in this library (``PaperIndex.resolve``).

    Returns:
        Measure name to value; None where the case lacks the label or the answer has nothing to
        measure (see docs/evaluation.md for each one).
    """
    reply = Reply.from_json(answer)
    scores = {
        **_retrieval(reply, relevant),
        **_evidence(case, reply),
        **_citations(reply, relevant),
        **_form(reply),
        **_text(case, reply),
        **_abstention(case, reply),
    }
    scores["full_answer"] = _both(scores["must_contain"], scores["cites_relevant"])
    scores["passed"] = _passed(case, reply, scores)
    return scores


def _retrieval(reply: Reply, relevant: Resolved) -> Scores:
    ranked, judged = [paper.paper_id for paper in reply.papers], relevant.judged()
    return {
        **{f"recall@{k}": m.recall_at(ranked, judged, k) for k in CUTS},
        **{f"precision@{k}": m.precision_at(ranked, judged, k) for k in CUTS},
        "mrr": m.reciprocal_rank(ranked, judged),
        "ndcg@10": m.ndcg_at(ranked, judged, 10),
        "map": m.average_precision(ranked, judged),
    }


def _evidence(case: Case, reply: Reply) -> Scores:
    quotes = {citation.marker: citation.quote for citation in reply.citations}
    bound = [quotes[n] for s in reply.statements for n in s.markers if n in quotes]
    precision, recall, both = m.evidence_scores(list(quotes.values()), case.evidence, case.also)
    cited = m.evidence_scores(bound, case.evidence, case.also)
    return {
        "evidence_precision": precision,
        "evidence_recall": recall,
        "evidence_f1": both,
        "citation_evidence_precision": cited[0],
        "citation_evidence_recall": cited[1],
    }


def _citations(reply: Reply, relevant: Resolved) -> Scores:
    cited = {citation.paper_id for citation in reply.citations}
    judged = relevant.judged()
    recall = m.set_recall(cited, judged)
    return {
        "citation_precision": m.set_precision(cited, judged),
        "citation_recall": recall,
        "cites_relevant": None if recall is None else float(recall > 0),
    }


def _form(reply: Reply) -> Scores:
    """Measure how the answer is built; an abstention has no statements to measure."""
    said = () if reply.abstained else reply.statements
    known = {citation.marker for citation in reply.citations}
    shares = m.support_shares([statement.support for statement in said])
    return {
        "marker_validity": m.marker_validity(reply.markers, known),
        "cited_statements": m.cited_share([statement.markers for statement in said], known),
        **{f"support_{name}": share for name, share in shares.items()},
        "statements": None if reply.abstained else float(len(said)),
        "words_per_statement": m.words_per_statement([statement.text for statement in said]),
    }


def _text(case: Case, reply: Reply) -> Scores:
    """Measure what the answer says; an abstention says nothing, so it scores 0."""
    wanted = case.answer if case.answerable is not False else ""
    said = "" if reply.abstained else reply.prose
    shown = "" if reply.abstained else reply.prose_with_quotes
    return {
        "must_contain": m.contains_all(shown, case.must_contain),
        "exact_match": m.exact_match(said, wanted),
        "token_f1": m.token_f1(said, wanted),
        "rouge_l": m.rouge_l(said, wanted),
    }


def _abstention(case: Case, reply: Reply) -> Scores:
    if case.answerable is None:
        return {"abstention_accuracy": None}
    return {"abstention_accuracy": float(reply.abstained is not case.answerable)}


def _both(left: float | None, right: float | None) -> float | None:
    return None if left is None or right is None else float(left == right == 1.0)


def _passed(case: Case, reply: Reply, scores: Scores) -> float | None:
    """Judge the case: everything its labels ask for, or None where they ask for nothing."""
    if case.answerable is False:
        return float(reply.abstained)
    asked = [scores[name] for name in ("must_contain", "cites_relevant")]
    found = [value for value in asked if value is not None]
    if not found and scores["evidence_recall"] is not None:
        found = [float(scores["evidence_recall"] > 0)]
    if not found and case.answerable:
        found = [1.0]
    return float(not reply.abstained and all(value == 1.0 for value in found)) if found else None
