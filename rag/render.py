"""What the terminal shows: answers, papers, reports → text. Pure. For machines: ``as_json``."""

import textwrap
from collections.abc import Sequence

from .citations import render
from .schema import (
    Answer,
    BadRecord,
    Citation,
    ImportReport,
    Paper,
    RankedPaper,
    Statement,
    Status,
)
from .text import one_line

WIDTH = 88
DEFAULT = "default"  # the library of commands that name none
MOST_BAD = 20  # bad records named in a report
MOST_NEAREST = 5  # papers offered when the library holds no answer
MOST_FURTHER = 3  # papers named after an answer that does not cite them
MOST_NAMES = 3  # authors before "et al."
OPENING_WORDS = 8  # that stand for a missing title
LONGEST_LINE = 160

_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n"}
_UNSEEN = (
    *range(0x80, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0xFEFF),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
    *range(0xD800, 0xE000),
)
_HARMLESS = _VISIBLE | {0x7F: 0x2421} | dict.fromkeys(_UNSEEN, 0xFFFD)
_DOUBTS = {
    "weak": "Only in part supported by its source",
    "unsupported": "Not supported by its source",
}


def plain(text: str) -> str:
    """Return a text that cannot steer a terminal: control characters become visible signs.

    Args:
        text: Any text; line breaks and tabs stay.

    Returns:
        A text of the same length. ``ESC`` reads ``␛``; C1 controls, marks that turn the direction
        of writing and half surrogates read ``�``.
    """
    return text.translate(_HARMLESS)


# ---- answers ---------------------------------------------------------------------------------


def answer_text(answer: Answer, *, width: int = WIDTH) -> str:
    """Return an answer as the terminal shows it.

    Args:
        answer: The answer.
        width: Columns of a line; longer words, such as addresses, are not cut.

    Returns:
        The statements with their markers and what they rest on: a quoted sentence is followed by
        its source; what a language model wrote, by numbered quotes. Then further or nearest papers
        and notes. No line break at the end.
    """
    is_quoted = _is_quoted(answer)
    said = _quoted(answer, width) if is_quoted else _filled(answer.text, width)
    return "\n\n".join(block for block in (said, sources_text(answer, width=width)) if block)


def sources_text(answer: Answer, *, width: int = WIDTH) -> str:
    """Return what stands below an answer's text, for an answer whose text was streamed.

    Args:
        answer: The whole answer.
        width: Columns of a line.

    Returns:
        Numbered quotes (unless the answer consists of them), papers and notes; empty when there is
        nothing to add.
    """
    quotes = "" if _is_quoted(answer) else _sources(answer, width)
    blocks = (quotes, _papers(answer, width), _notes(answer, width))
    return "\n\n".join(block for block in blocks if block)


def _is_quoted(answer: Answer) -> bool:
    """Say whether the statements are the cited sentences themselves."""
    cited = {citation.marker for citation in answer.citations}
    return bool(answer.statements) and all(
        statement.support == "verbatim" and set(statement.citations) <= cited
        for statement in answer.statements
    )


def _quoted(answer: Answer, width: int) -> str:
    by_marker = {citation.marker: citation for citation in answer.citations}
    return "\n\n".join(
        "\n".join(
            [
                _filled(render([statement]), width),
                *_source_lines([by_marker[marker] for marker in statement.citations], width),
            ]
        )
        for statement in answer.statements
    )


def _source_lines(citations: Sequence[Citation], width: int) -> list[str]:
    """Name the sources of a quoted sentence, with numbers where several papers say the same."""
    marks = [f"[{citation.marker}] " if len(citations) > 1 else "" for citation in citations]
    texts = [f"— {m}{_reference(c.paper)}" for m, c in zip(marks, citations, strict=True)]
    return [_filled(text, width, first="    ", rest="      ") for text in texts]


def _sources(answer: Answer, width: int) -> str:
    lines = [_source(citation, width) for citation in answer.citations]
    return "\n".join(["Sources", *lines]) if lines else ""


def _source(citation: Citation, width: int) -> str:
    text = f"[{citation.marker}] “{citation.quote}” — {_reference(citation.paper)}"
    return _filled(text, width, first="  ", rest="      ")


def _reference(paper: Paper) -> str:
    """Describe a paper in one line: what it is called, who wrote it, where, when, address."""
    if paper.title:
        name = f"{paper.title}; {_names(paper)}" if paper.authors else paper.title
    else:
        opening = one_line(" ".join(paper.abstract.split()[:OPENING_WORDS]), 100)
        name = f"{_names(paper) or 'Unknown authors'}: “{opening} …”"
    place = paper.venue or paper.topic
    year = str(paper.year) if paper.year is not None else None
    return ", ".join(part for part in (name, place, year, _address(paper)) if part)


def _names(paper: Paper) -> str:
    others = paper.more_authors or len(paper.authors) > MOST_NAMES
    return ", ".join(paper.authors[:MOST_NAMES]) + (" et al." if others and paper.authors else "")


def _address(paper: Paper) -> str | None:
    if paper.doi:
        return f"https://doi.org/{paper.doi}"
    return paper.url or (f"https://arxiv.org/abs/{paper.arxiv_id}" if paper.arxiv_id else None)


def _papers(answer: Answer, width: int) -> str:
    """List the nearest papers of an abstention, or those an answer found but does not cite."""
    if answer.abstained:
        head, papers = "Nearest papers (they do not answer it)", answer.papers[:MOST_NEAREST]
    else:
        cited = {citation.paper.id for citation in answer.citations}
        found = [ranked for ranked in answer.papers if ranked.paper.id not in cited]
        head, papers = "Further papers on this", tuple(found[:MOST_FURTHER])
    lines = [
        _filled(f"- {_reference(ranked.paper)} ({ranked.paper.id})", width, first="  ", rest="    ")
        for ranked in papers
    ]
    return "\n".join([head, *lines]) if lines else ""


def _notes(answer: Answer, width: int) -> str:
    notes = list(answer.notes)
    if answer.searched and answer.searched.split() != answer.question.split():
        notes.append(f"Searched for: {answer.searched}")
    notes += _doubts(answer)
    if answer.invented:
        notes.append(_invented(answer.invented))
    if answer.error:
        notes.append(f"The answer is incomplete: {answer.error}")
    return "\n".join(_filled(f"Note: {note}", width, rest="  ") for note in notes)


def _doubts(answer: Answer) -> list[str]:
    """Say what a language model wrote that nothing, or too little, stands behind."""
    said = answer.statements
    if answer.llm and said and not any(one.citations for one in said):
        return ["No source stands behind this answer; do not rely on it."]
    doubts = []
    for one in said:
        doubt = _DOUBTS.get(one.support) if one.citations else "No source stands behind"
        if doubt:
            why = f" – {one.reason}." if one.reason else ""
            doubts.append(f"{doubt}: “{one_line(one.text, LONGEST_LINE)}”{why}")
    doubts += [
        f"{repair_text(one)}: “{one_line(one.text, LONGEST_LINE)}”"
        for one in said
        if one.repaired_from is not None
    ]
    if any(one.support == "unchecked" and one.citations for one in said):
        doubts.append(f"Written by {answer.llm}. Nothing has compared it with the quotes yet.")
    return doubts


def repair_text(statement: Statement) -> str:
    """Say how a statement's markers were repaired, as the start of a sentence."""
    now = "".join(f"[{marker}]" for marker in statement.citations)
    if not statement.repaired_from:
        return f"The model cited nothing; {now} was added, which supports it"
    before = "".join(f"[{marker}]" for marker in statement.repaired_from)
    return f"The model cited {before} in its own numbering; {now} supports it better"


def is_changed(answer: Answer, streamed: str) -> bool:
    """Say whether an answer is no longer what was streamed of it, since it was checked."""
    if answer.abstained:
        return False
    return _bare(streamed) != _bare(answer.text)


def _bare(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _invented(markers: Sequence[int]) -> str:
    named = [f"[{marker}]" for marker in markers]
    if len(named) == 1:
        return f"The model cited {named[0]}, which is no source; it was left out."
    listed = ", ".join(named[:-1]) + f" and {named[-1]}"
    return f"The model cited {listed}, which are no sources; they were left out."


def _filled(text: str, width: int, *, first: str = "", rest: str = "") -> str:
    """Break lines at blanks, keep paragraphs, and make the text harmless."""
    wrapper = textwrap.TextWrapper(
        width=max(width, len(rest) + 10),
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    lines: list[str] = []
    for line in plain(text).splitlines():
        lines += wrapper.wrap(line) or [""]
        wrapper.initial_indent = rest
    return "\n".join(lines)


# ---- papers ----------------------------------------------------------------------------------


def paper_text(paper: Paper, *, width: int = WIDTH) -> str:
    """Return one paper as ``show`` prints it: its name, its fields, its abstract."""
    more = " et al." if paper.more_authors and paper.authors else ""
    source = paper.source.file + (f", line {paper.source.line}" if paper.source.line else "")
    fields = {
        "Authors": ", ".join(paper.authors) + more,
        "Topic": paper.topic,
        "Venue": paper.venue,
        "Year": paper.year,
        "DOI": paper.doi,
        "arXiv": paper.arxiv_id,
        "URL": paper.url,
        "Keywords": ", ".join(paper.keywords),
        "Source": source,
        "Id": paper.id,
    }
    lines = [
        _filled(f"{name}: {value}", width, rest="  ")
        for name, value in fields.items()
        if value not in (None, "")
    ]
    head = _filled(paper.title or "(no title)", width)
    abstract = _filled(paper.abstract or "(no abstract)", width)
    return "\n".join([head, *lines, "", abstract])


def paper_line(paper: Paper) -> str:
    """Return one paper as ``list`` prints it: its id and what it is, on one line."""
    return plain(f"{paper.id}  {one_line(_reference(paper), LONGEST_LINE)}")


def ranked_text(papers: Sequence[RankedPaper], *, width: int = WIDTH) -> str:
    """Return a ranked list as ``search`` prints it: number, paper, id, cosine, nearest sentence."""
    return "\n".join(_ranked_line(ranked, width) for ranked in papers) or "No paper matches."


def _ranked_line(ranked: RankedPaper, width: int) -> str:
    near = "" if ranked.cosine is None else f", cosine {ranked.cosine:.2f}"
    text = f"{ranked.rank:>2}. {_reference(ranked.paper)} ({ranked.paper.id}{near})"
    lines = [_filled(text, width, rest="    ")]
    if ranked.snippet:
        lines.append(_filled(f"“{ranked.snippet}”", width, first="    ", rest="     "))
    return "\n".join(lines)


# ---- imports and libraries -------------------------------------------------------------------


def embed_command(library: str) -> str:
    """Return what makes all vectors of a library, to be typed."""
    return "citewell embed" if library == DEFAULT else f"citewell embed --library '{library}'"


def report_text(report: ImportReport, *, library: str = DEFAULT, width: int = WIDTH) -> str:
    """Return what an import to a library did: the counts as a sentence, bad records and notes."""
    lines = [_counts(report)]
    if report.pending:
        lines.append(
            f"All can be asked now. {_number(report.pending, 'paper')} still "
            f"{'waits' if report.pending == 1 else 'wait'} for vectors, which are made when a "
            f"question wants them, in the chat page, or by: {embed_command(library)}"
        )
    lines += [_bad(bad) for bad in report.bad[:MOST_BAD]]
    if len(report.bad) > MOST_BAD:
        lines.append(f"and {len(report.bad) - MOST_BAD} more")
    lines += [f"Note: {_place(note.file, note.line)}: {note.text}" for note in report.notes]
    return "\n".join(_filled(line, width, rest="  ") for line in lines)


def _counts(report: ImportReport) -> str:
    if report.read == 0:
        return "Nothing was stored: no record was found."
    what = ("added", "updated", "unchanged", "duplicate", "failed")
    counts = [f"{getattr(report, name)} {name}" for name in what if getattr(report, name)]
    read = f"{_number(report.read, 'record')} read"
    if report.stored == 0:
        return f"Nothing was stored: {read}, {', '.join(counts)}."
    return f"{read} in {report.seconds:.1f} s: {', '.join(counts)}."


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _bad(bad: BadRecord) -> str:
    return f"{_place(bad.file, bad.line)}: {' '.join(bad.reason.split())}"


def _place(file: str, line: int | None) -> str:
    return file if line is None else f"{file}, line {line}"


def status_text(status: Status, *, width: int = WIDTH) -> str:
    """Return the state of a library: counts, embedder, and problems with what to do."""
    titles = f", {status.title_only} of them without an abstract" if status.title_only else ""
    dim = f" ({status.dim} dimensions)" if status.dim else ""
    lines = [
        f"Library '{status.name}' in {status.path}",
        f"{_number(status.papers, 'paper')}{titles}; {status.searchable} searchable",
        f"{_number(status.passages, 'passage')}; {status.embedded} embedded with "
        f"{status.embedder}{dim}",
    ]
    if status.embedded < status.passages:
        lines.append(
            "The others are embedded when a question wants them, in the chat page, or by: "
            f"{embed_command(status.name)}"
        )
    lines += [f"Problem: {problem}" for problem in status.problems]
    if not status.problems:
        looked = "" if status.checked else " Compare all parts: citewell status --check"
        lines.append(f"No problems found.{looked}")
    return "\n".join(_filled(line, width, rest="  ") for line in lines)
