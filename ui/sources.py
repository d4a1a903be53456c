"""Sources of an answer → safe HTML for the panel beside the chat. Pure."""

from collections.abc import Sequence
from urllib.parse import quote

from rag.schema import Answer, Citation, Paper, RankedPaper, Span

from .escape import link, plain, with_maths
from .render import MOST_NEAREST

MOST_FURTHER = 5
EMPTY = (
    '<div class="cw-panel cw-empty"><h2>Sources</h2><p>The sentences an answer rests on appear '
    "here, each in its abstract. Choose a number in the answer to see one.</p></div>"
)


def sources_html(answer: Answer, turn: int) -> str:
    """Return the panel of one answer: each cited paper with its sentences marked.

    Args:
        answer: The answer.
        turn: Its number on the page; classes ``cw-m-TURN-MARKER`` name the marked sentences.

    Returns:
        One line of HTML. An abstention cites nothing: its nearest papers are shown, unmarked.
    """
    if answer.abstained:
        head = "Nearest papers (they do not answer it)"
        cards = _plain_cards(answer.papers[:MOST_NEAREST], turn, "near")
    else:
        head, cards = "Sources", _cited_cards(answer, turn)
    further = "" if answer.abstained else _further(answer, turn)
    if not cards and not further:
        return EMPTY
    asked = f'<p class="cw-asked">{with_maths(answer.question)}</p>'
    back = '<a class="cw-back" href="#chat" title="Back to the answer">↑ Back to the answer</a>'
    return f'<div class="cw-panel"><h2>{head}</h2>{asked}{cards}{further}{back}</div>'


def _cited_cards(answer: Answer, turn: int) -> str:
    by_paper: dict[str, list[Citation]] = {}
    for citation in answer.citations:
        by_paper.setdefault(citation.paper.id, []).append(citation)
    return "".join(_card(cited, turn) for cited in by_paper.values())


def _card(cited: Sequence[Citation], turn: int) -> str:
    paper = cited[0].paper
    numbers = "".join(
        f'<a class="cw-cite" href="#source-{turn}-{c.marker}" title="Show sentence {c.marker}">'
        f"{c.marker}</a>"
        for c in cited
    )
    classes = " ".join(f"cw-s-{turn}-{c.marker}" for c in cited)
    return _article(paper, classes, numbers, _abstract(paper, cited, turn))


def _article(paper: Paper, classes: str, numbers: str, abstract: str) -> str:
    return (
        f'<article class="cw-source {classes}" tabindex="-1">'
        f"<h3>{numbers}{with_maths(paper.label)}</h3>{about_html(paper)}{abstract}</article>"
    )


def about_html(paper: Paper) -> str:
    """Return a paper's authors, topic, venue, year and links."""
    more = " et al." if paper.more_authors and paper.authors else ""
    facts = [
        ("Authors", ", ".join(paper.authors) + more),
        ("Topic", paper.topic),
        ("Venue", paper.venue),
        ("Year", None if paper.year is None else str(paper.year)),
        ("File", paper.source.file),
    ]
    rows = "".join(f"<dt>{name}</dt><dd>{plain(value)}</dd>" for name, value in facts if value)
    links = "".join(link(url, words) for words, url in _addresses(paper))
    shown = f'<p class="cw-links">{links}</p>' if links else ""
    listed = f'<dl class="cw-about">{rows}</dl>' if rows else ""
    return f"{listed}{shown}"


def _addresses(paper: Paper) -> list[tuple[str, str | None]]:
    doi = f"https://doi.org/{quote(paper.doi, safe='/:;()')}" if paper.doi else None
    arxiv = f"https://arxiv.org/abs/{quote(paper.arxiv_id, safe='/')}" if paper.arxiv_id else None
    return [("DOI", doi), ("arXiv", arxiv), ("URL", paper.url)]


def paper_html(paper: Paper) -> str:
    """Return one paper with its whole abstract, nothing marked."""
    return f'<div class="cw-panel">{_article(paper, "", "", _abstract(paper, (), 0))}</div>'


def _abstract(paper: Paper, cited: Sequence[Citation], turn: int) -> str:
    if not paper.abstract:
        return '<p class="cw-abstract cw-none">This record has a title only, no abstract.</p>'
    parts, at = [], 0
    for citation in sorted(cited, key=lambda c: (c.span.start, c.span.end)):
        start, end = _within(citation.span, paper.abstract)
        if start < at or start == end:  # already marked by another number, or the title is cited
            continue
        parts.append(with_maths(paper.abstract[at:start]))
        numbers = _classes(cited, citation.span, turn)
        parts.append(
            f'<mark class="cw-mark {numbers}" tabindex="-1">'
            f"{with_maths(paper.abstract[start:end])}</mark>"
        )
        at = end
    parts.append(with_maths(paper.abstract[at:]))
    return f'<p class="cw-abstract">{"".join(parts)}</p>'


def _classes(cited: Sequence[Citation], span: Span, turn: int) -> str:
    """Name every marker whose sentence begins inside this one."""
    inside = (c for c in cited if span.start <= c.span.start < span.end)
    return " ".join(f"cw-m-{turn}-{c.marker}" for c in inside)


def _within(span: Span, text: str) -> tuple[int, int]:
    start = min(max(span.start, 0), len(text))
    return start, min(max(span.end, start), len(text))


def _plain_cards(papers: Sequence[RankedPaper], turn: int, prefix: str) -> str:
    return "".join(
        _article(one.paper, f"cw-{prefix}-{turn}-{n}", "", _abstract(one.paper, (), turn))
        for n, one in enumerate(papers, start=1)
    )


def _further(answer: Answer, turn: int) -> str:
    cited = {citation.paper.id for citation in answer.citations}
    others = [one for one in answer.papers if one.paper.id not in cited][:MOST_FURTHER]
    if not others:
        return ""
    cards = _plain_cards(others, turn, "near")
    return f"<details><summary>Further papers on this ({len(others)})</summary>{cards}</details>"
