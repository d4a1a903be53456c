"""Say in plain sentences why a case did not get everything."""

from collections.abc import Iterator

from ..cases import Case
from ..metrics import missing_items, same_sentence
from ..outcome import Outcome
from ..reply import Reply

_SHOWN = 3


def explain(case: Case | None, outcome: Outcome) -> list[str]:
    """Return what went wrong with a case, the most telling reason first.

    Args:
        case: The labels; None where they are not known.
        outcome: The row.

    Returns:
        Plain sentences; empty where nothing is known to be wrong.
    """
    if outcome.error is not None:
        return [f"The case failed: {outcome.error}"]
    reply = outcome.reply
    if reply is None:
        return ["The case failed: the row holds no answer."]
    reasons = [] if case is None else list(_against_labels(case, outcome, reply))
    reasons += [f"{name} has no score: {reason}" for name, reason in sorted(outcome.notes.items())]
    return reasons + list(_markers(reply))


def _against_labels(case: Case, outcome: Outcome, reply: Reply) -> Iterator[str]:
    if case.answerable is False:
        if not reply.abstained:
            yield "It answered, though the library holds no answer."
        return
    if reply.abstained:
        if case.answerable or case.relevant or case.must_contain or case.evidence:
            yield "It abstained, though the library holds an answer."
    else:
        yield from _content(case, reply)
    yield from _papers(outcome, reply)


def _content(case: Case, reply: Reply) -> Iterator[str]:
    missing = missing_items(reply.prose_with_quotes, case.must_contain)
    if missing:
        yield f"It does not say {_listed(missing)}."
    quotes = [citation.quote for citation in reply.citations]
    unquoted = [g for g in case.evidence if not any(same_sentence(q, g) for q in quotes)]
    if unquoted:
        yield f"It does not quote {len(unquoted)} of {len(case.evidence)} gold sentences."


def _papers(outcome: Outcome, reply: Reply) -> Iterator[str]:
    if outcome.missing_labels:
        yield f"The library does not hold {_listed(outcome.missing_labels)}."
    relevant = set(outcome.relevant_ids)
    if not relevant or relevant & {citation.paper_id for citation in reply.citations}:
        return
    ranks = [n for n, paper in enumerate(reply.papers, 1) if paper.paper_id in relevant]
    where = f"the best one was ranked {ranks[0]}" if ranks else "none was among the papers found"
    yield f"It cites no relevant paper; {where}."


def _markers(reply: Reply) -> Iterator[str]:
    known = {citation.marker for citation in reply.citations}
    invented = sorted(set(reply.markers) - known)
    if invented:
        yield f"Markers that stand for no citation: {', '.join(f'[{n}]' for n in invented)}."


def _listed(items: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(items) - _SHOWN} more" if len(items) > _SHOWN else ""
    return ", ".join(f"“{item}”" for item in items[:_SHOWN]) + more
