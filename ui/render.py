"""Answers → safe HTML for the chat. Pure; papers, questions and models are untrusted text."""

import re
from collections.abc import Mapping, Sequence

from rag.render import repair_text
from rag.schema import Answer, Citation, Paper, RankedPaper, Statement

from .escape import attribute, plain, with_maths

MOST_NEAREST = 5
BADGES: Mapping[str, tuple[str, str, str]] = {
    "verbatim": ("❝", "quoted", "This is the sentence of the paper, word for word."),
    "supported": ("✓", "supported", "Compared with the sentence it cites: it is covered."),
    "weak": ("◐", "partly supported", "The sentence it cites covers this only in part."),
    "unsupported": ("✗", "not supported", "The sentence it cites does not say this."),
    "unchecked": ("?", "unchecked", "A language model wrote this; nothing has compared it yet."),
    "nothing": ("∅", "no source", "No source stands behind this sentence."),
}
_MARKER = re.compile(r"\[(\d{1,4}(?:\s*,\s*\d{1,4}){0,20})\]")


def question_html(question: str) -> str:
    """Return a question as the chat shows it."""
    return f'<div class="cw-question">{with_maths(question)}</div>'


def answer_html(answer: Answer, turn: int, *, stopped: bool = False, thumb: int = 0) -> str:
    """Return an answer as the chat shows it, on one line of HTML.

    Args:
        answer: The answer.
        turn: Its number on the page; the links of its markers name it.
        stopped: The user stopped it; what there is, is shown.
        thumb: What the user thinks of it: 1 up, -1 down, 0 nothing yet.

    Returns:
        The statements with markers and support, or an abstention with the nearest papers; then
        notes, and links to copy, to judge, or to ask again.
    """
    if answer.abstained:
        body, kind = _abstention(answer, turn), "cw-abstained"
    elif answer.statements:
        body, kind = "".join(_statements(answer, turn)), ""
    else:
        body, kind = f"<p>{with_maths(answer.text)}</p>" if answer.text else "", ""
    notes = "".join(f'<p class="cw-note">{note}</p>' for note in _notes(answer, turn, stopped))
    return f'<div class="cw-answer {kind}">{body}{notes}{_tools(answer, turn, thumb)}</div>'


def partial_html(text: str, state: str = "") -> str:
    """Return what has come of an answer, and what is being waited for.

    Args:
        text: The text up to now; its markers are shown but are no links yet.
        state: Words such as "Searching…"; empty for none.
    """
    shown = _numbered(text) if text else ""
    busy = f'<p class="cw-busy"><span class="cw-spin"></span>{plain(state)}</p>' if state else ""
    return f'<div class="cw-answer cw-partial">{shown}{busy}</div>'


def failure_html(message: str, turn: int) -> str:
    """Return an error as the chat shows it, with a link to try again."""
    again = f'<a class="cw-do" href="#retry-{turn}" title="Ask this again">Try again</a>'
    return (
        '<div class="cw-answer cw-failed"><p><strong>No answer.</strong> '
        f'{plain(message)}</p><p class="cw-tools">{again}</p></div>'
    )


def badge(support: str) -> str:
    """Return how far a statement is supported, as a sign and a word."""
    sign, word, why = BADGES.get(support, BADGES["unchecked"])
    return (
        f'<span class="cw-badge cw-{attribute(support)}" title="{attribute(why)}">'
        f"{sign} {word}</span>"
    )


def _numbered(text: str) -> str:
    """Return streamed text; markers are raised numbers."""
    parts, at = [], 0
    for found in _MARKER.finditer(text):
        parts.append(with_maths(text[at : found.start()].rstrip(" ")))
        parts.append(f'<sup class="cw-cite cw-coming">{plain(found[1])}</sup>')
        at = found.end()
    parts.append(with_maths(text[at:]))
    return f"<p>{''.join(parts)}</p>"


def _statements(answer: Answer, turn: int) -> list[str]:
    """Return every statement; who says it stands below the last of those by the same authors."""
    cited = {citation.marker: citation for citation in answer.citations}
    known = [[cited[n] for n in one.citations if n in cited] for one in answer.statements]
    names = [_bylines(citations) for citations in known]
    shown = [
        "" if name == after else name for name, after in zip(names, [*names[1:], None], strict=True)
    ]
    return [
        _statement(one, citations, by, turn, is_free=answer.llm is None)
        for one, citations, by in zip(answer.statements, known, shown, strict=True)
    ]


def _statement(
    one: Statement, known: Sequence[Citation], by: str, turn: int, *, is_free: bool
) -> str:
    support = one.support if known or is_free else "nothing"
    markers = "".join(_marker(citation, turn) for citation in known)
    checked = "".join(f'<span class="cw-note">{with_maths(note)}</span>' for note in _checks(one))
    by = by if one.support == "verbatim" else ""
    return (
        f'<p class="cw-statement cw-is-{attribute(support)}">{with_maths(one.text)}'
        f'<span class="cw-end">{markers}{badge(support)}{by}{checked}</span></p>'
    )


def _checks(one: Statement) -> list[str]:
    """Return why a statement is doubtful, and how its markers were repaired."""
    notes = [f"{one.reason[0].upper()}{one.reason[1:]}."] if one.reason else []
    if one.repaired_from is not None:
        notes.append(f"{repair_text(one)}.")
    return notes


def _marker(citation: Citation, turn: int) -> str:
    title = f"Source {citation.marker}: {citation.paper.label}"
    return (
        f'<a class="cw-cite" href="#source-{turn}-{citation.marker}" title="{attribute(title)}">'
        f"{citation.marker}</a>"
    )


def _bylines(citations: Sequence[Citation]) -> str:
    names = dict.fromkeys(byline(citation.paper) for citation in citations)
    return f'<span class="cw-by">{plain("; ".join(names))}</span>' if names else ""


def byline(paper: Paper) -> str:
    """Return who wrote a paper, where and when, in a few words."""
    what = paper.venue or paper.topic
    year = str(paper.year) if paper.year is not None else None
    return " · ".join(part for part in (paper.byline, what, year) if part)


def _abstention(answer: Answer, turn: int) -> str:
    first, _, told = answer.text.partition("\n")
    head = f'<p class="cw-abstain"><span>⊘</span> <strong>{plain(first)}</strong></p>'
    head += f'<p class="cw-told">{with_maths(told)}</p>' if told else ""
    if not answer.papers:
        return head
    nearest = "".join(
        _nearest(ranked, turn, n) for n, ranked in enumerate(answer.papers[:MOST_NEAREST], start=1)
    )
    return (
        f"{head}<p>The nearest papers, which do not answer it:</p>"
        f'<ul class="cw-nearest">{nearest}</ul>'
    )


def _nearest(ranked: RankedPaper, turn: int, n: int) -> str:
    return (
        f'<li><a class="cw-near" href="#near-{turn}-{n}" title="Show the abstract">'
        f"{with_maths(ranked.paper.label)}</a></li>"
    )


def _notes(answer: Answer, turn: int, stopped: bool) -> list[str]:
    notes = [plain(note) for note in answer.notes]
    if answer.searched and answer.searched.split() != answer.question.split():
        edit = f'<a class="cw-do" href="#edit-{turn}" title="Change it and ask again">Edit</a>'
        notes.append(f"Searched for: <em>{with_maths(answer.searched)}</em> {edit}")
    if answer.llm and answer.statements and not any(s.citations for s in answer.statements):
        notes.append("No source stands behind this answer; do not rely on it.")
    if answer.invented:
        named = ", ".join(f"[{marker}]" for marker in answer.invented[:20])
        notes.append(f"The model cited {named}, which stand for no source; they were left out.")
    if stopped:
        notes.append("You stopped this answer; it is not complete.")
    if answer.error:
        again = f'<a class="cw-do" href="#retry-{turn}" title="Ask this again">Try again</a>'
        notes.append(f"The answer is incomplete: {plain(answer.error)} {again}")
    return notes


def _tools(answer: Answer, turn: int, thumb: int) -> str:
    """Return the links below an answer, and the text that Copy takes."""
    how = plain(_model_name(answer.llm)) if answer.llm else "quoted, no language model"
    took = answer.timings_ms.get("total")
    time = "" if took is None else f", {took:.0f} ms" if took < 950 else f", {took / 1000:.1f} s"
    sources = (
        f'<a class="cw-do" href="#sources-{turn}" title="Show the sources beside the chat">'
        "Sources</a>"
        if answer.citations
        else ""
    )
    return (
        f'<p class="cw-tools"><a class="cw-do" href="#copy-{turn}" title="Copy the answer and its '
        f'sources">Copy</a>{sources}{_thumbs(turn, thumb)}'
        f'<span class="cw-how">{how}{time}</span></p>'
        f'<span class="cw-plain" hidden>{plain(copy_text(answer))}</span>'
    )


def _model_name(llm: str) -> str:
    """Return a model's spelling without the folders of its file."""
    kind, colon, name = llm.partition(":")
    return f"{kind}: {name.rpartition('/')[2]}" if kind == "gguf" and colon else llm


def _thumbs(turn: int, thumb: int) -> str:
    up, down = (" cw-on" if thumb == 1 else "", " cw-on" if thumb == -1 else "")
    return (
        f'<a class="cw-do cw-thumb cw-up{up}" href="#up-{turn}" title="Good answer">'
        f"{'✓ ' if up else ''}Good</a>"
        f'<a class="cw-do cw-thumb cw-down{down}" href="#down-{turn}" title="Bad answer">'
        f"{'✓ ' if down else ''}Bad</a>"
    )


def copy_text(answer: Answer) -> str:
    """Return an answer for the clipboard: its own characters, then its numbered sources."""
    lines = [f"[{c.marker}] {_reference(c.paper)}" for c in answer.citations]
    return "\n\n".join(part for part in (answer.text, "\n".join(lines)) if part)


def _reference(paper: Paper) -> str:
    who = f"{paper.label}; {paper.byline}" if paper.title and paper.authors else paper.label
    where = paper.venue or paper.topic
    year = str(paper.year) if paper.year is not None else None
    doi = f"https://doi.org/{paper.doi}" if paper.doi else paper.url
    return ", ".join(part for part in (who, where, year, doi) if part)
