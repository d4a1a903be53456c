"""A library's papers, its restrictions and its imports → safe HTML. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from rag.schema import BadRecord, Filters, ImportReport, Paper

from .escape import attribute, plain
from .render import byline

MOST_BAD = 200  # bad records shown
COUNTS = ("read", "added", "updated", "unchanged", "duplicate", "failed")


@dataclass(frozen=True, slots=True)
class Shown:
    """One page of the list of papers."""

    papers: tuple[Paper, ...] = ()
    page: int = 0
    has_more: bool = False
    ranked: bool = False


def papers_html(shown: Shown, picked: Collection[str]) -> str:
    """Return a page of papers; each can be picked, and opened beside the list.

    Args:
        shown: The page.
        picked: Ids of the papers that are picked.
    """
    if not shown.papers:
        return '<p class="cw-note" role="status">No paper matches.</p>'
    rows = "".join(_row(paper, n, paper.id in picked) for n, paper in enumerate(shown.papers, 1))
    return f'<ul class="cw-papers">{rows}</ul>{_pages(shown)}'


def _row(paper: Paper, n: int, is_picked: bool) -> str:
    state = "true" if is_picked else "false"
    name = attribute(f"Pick {paper.label}")
    return (
        f'<li><button type="button" class="cw-pick" role="checkbox" aria-checked="{state}" '
        f'aria-label="{name}" data-papers="pick-{n}">{"☑" if is_picked else "☐"}</button>'
        f'<button type="button" class="cw-paper" data-papers="paper-{n}">'
        f"<span>{plain(paper.label)}</span>"
        f'<span class="cw-by">{plain(_below(paper))}</span></button></li>'
    )


def _below(paper: Paper) -> str:
    """Return what the label does not say: an untitled paper is called by its authors already."""
    if paper.title:
        return byline(paper)
    year = None if paper.year is None else str(paper.year)
    return " · ".join(part for part in (paper.venue or paper.topic, year) if part)


def _pages(shown: Shown) -> str:
    before = '<button type="button" data-papers="page-0">‹ Earlier</button>' if shown.page else ""
    after = '<button type="button" data-papers="page-1">Later ›</button>' if shown.has_more else ""
    order = "best match first" if shown.ranked else "in the order they were added"
    return f'<p class="cw-pages">{before}<span>Page {shown.page + 1}, {order}</span>{after}</p>'


def scope_html(filters: Filters) -> str:
    """Return which papers are asked, as a line above the question; empty where all are."""
    if not filters:
        return ""
    parts = [
        f"{name} “{plain(value)}”"
        for name, value in (
            ("author", filters.author),
            ("topic", filters.topic),
            ("venue", filters.venue),
            ("file", filters.source),
        )
        if value
    ]
    if filters.year_from is not None:
        parts.append(f"from {filters.year_from}")
    if filters.year_to is not None:
        parts.append(f"up to {filters.year_to}")
    if filters.paper_ids is not None:
        count = len(filters.paper_ids)
        parts.append(f"{count} picked paper{'' if count == 1 else 's'}")
    return (
        f'<p class="cw-scope" role="status">▽ Only these are asked: {", ".join(parts)} '
        '<button type="button" data-papers="all-0">Ask all papers</button></p>'
    )


@dataclass(frozen=True, slots=True)
class ImportState:
    """How far an import is: finished files, and the one at work with its report so far."""

    names: tuple[str, ...] = ()
    reports: tuple[tuple[str, ImportReport], ...] = ()
    stage: str = ""
    done: int = 0
    total: int = 0
    error: str | None = None
    cancelled: bool = False
    is_over: bool = False
    in_background: bool = False  # vectors are being made
    running: tuple[str, ImportReport] | None = None

    @property
    def begun(self) -> tuple[tuple[str, ImportReport], ...]:
        """Return the reports of the finished files and of the one at work, or cut off."""
        return self.reports if self.running is None else (*self.reports, self.running)


def import_html(state: ImportState) -> str:
    """Return how far an import is, its counts, and every record that could not be stored."""
    head = _head(state)
    counts = _counts([report for _, report in state.begun])
    bad = [record for _, report in state.begun for record in report.bad]
    notes = "".join(
        f"<li>{plain(note.file)}: {plain(note.text)}</li>"
        for _, report in state.begun
        for note in report.notes[:20]
    )
    noted = f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
    error = f'<p class="cw-bad" role="alert">✗ {plain(state.error)}</p>' if state.error else ""
    return f'<div class="cw-import">{head}{counts}{error}{_bad(bad)}{noted}</div>'


def _head(state: ImportState) -> str:
    files = f"{len(state.reports)} of {len(state.names)} files"
    if state.is_over:
        stored = sum(report.stored for _, report in state.begun)
        word = "Cancelled; what was stored stays" if state.cancelled else "Finished"
        if state.error:
            word = "Stopped; what was stored stays"
        then = _asked_now(state) if stored else "Nothing was stored."
        return f'<p role="status"><strong>{word}: {files}.</strong> {then}</p>'
    name = plain(state.names[len(state.reports)]) if len(state.reports) < len(state.names) else ""
    width = f' value="{state.done}" max="{state.total}"' if state.total else ""
    of = f" of {state.total:,}" if state.total else ""
    return (
        f'<p role="status"><span class="cw-spin"></span>{files} done; {name}: '
        f"{plain(state.stage or 'opening')} {state.done:,}{of}</p><progress{width}></progress>"
    )


def _asked_now(state: ImportState) -> str:
    """Say that the papers need not wait for anything, and when their vectors come."""
    fresh = sum(report.added + report.updated for _, report in state.begun)
    if not fresh:
        return ""
    now = f"{fresh:,} paper{'' if fresh == 1 else 's'} can be asked now"
    whose = "its" if fresh == 1 else "their"
    if state.in_background:
        return f"{now}; {whose} vectors follow in the background."
    if any(report.pending for _, report in state.begun):
        return f"{now}; questions make the vectors they need."
    return f"{now}."


def _counts(reports: Sequence[ImportReport]) -> str:
    if not reports:
        return ""
    cells = "".join(
        f"<dt>{name}</dt><dd>{sum(getattr(report, name) for report in reports):,}</dd>"
        for name in COUNTS
    )
    return f'<dl class="cw-counts">{cells}</dl>'


def _bad(records: Sequence[BadRecord]) -> str:
    if not records:
        return ""
    rows = "".join(
        f"<li>{plain(one.file)}{'' if one.line is None else f', line {one.line}'}: "
        f"{plain(one.reason)}</li>"
        for one in records[:MOST_BAD]
    )
    more = len(records) - MOST_BAD
    rest = f"<li>and {more:,} more</li>" if more > 0 else ""
    return f'<p class="cw-bad">✗ Not stored:</p><ul class="cw-badlist">{rows}{rest}</ul>'
