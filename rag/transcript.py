"""Saved answers: as JSON and back, as evaluation cases, and as Markdown. Pure."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise

from pydantic import TypeAdapter

from .as_json import answer_json
from .catalogue import dump_paper
from .entries import address_of, encoded, line, title_of
from .schema import Answer, Citation, Paper, Statement
from .sentences import MATHS

MOST_NAMES = 10  # authors before "et al."
MOST_NEAREST = 5  # papers named where the library holds no answer
OPENING_WORDS = 12  # that tell papers without a title apart

# ---- JSON --------------------------------------------------------------------------------------


def pack(answer: Answer) -> tuple[str, dict[str, str]]:
    """Write an answer so that it can be shown again when its papers have changed or are gone.

    Returns:
        The answer as JSON, and hash → JSON of every paper it shows, as it is now. Half a
        surrogate, which no text should hold, becomes a question mark.
    """
    papers: dict[str, str] = {}

    def kept(paper: Paper) -> str:
        record = dump_paper(paper)
        name = hashlib.sha256(record.encode()).hexdigest()
        papers[name] = record
        return name

    values = {
        "answer": answer_json(answer),
        "searched": answer.searched,
        "cited": [kept(citation.paper) for citation in answer.citations],
        "ranked": [[kept(ranked.paper), ranked.passage_id] for ranked in answer.papers],
    }
    text = json.dumps(values, ensure_ascii=False, default=str)
    return text.encode("utf-8", "replace").decode(), papers


def unpack(record: str, find: Callable[[str], Paper]) -> Answer:
    """Read an answer that ``pack`` wrote.

    Args:
        record: The answer as JSON.
        find: Returns the paper of a hash.

    Returns:
        The answer as it was.

    Raises:
        ValueError: It is damaged; also KeyError, TypeError and RecursionError.
    """
    values = json.loads(record)
    said = values["answer"]
    cited = zip(said["citations"], values["cited"], strict=True)
    ranked = zip(said["papers"], values["ranked"], strict=True)
    return _answers().validate_python(
        {
            **said,
            "text": said["answer"],
            "searched": values["searched"],
            "citations": [
                {**one, "paper": find(name), "span": {"start": one["start"], "end": one["end"]}}
                for one, name in cited
            ],
            "papers": [
                {**one, "paper": find(name), "passage_id": passage_id}
                for one, (name, passage_id) in ranked
            ],
        }
    )


def read_paper(record: str) -> Paper:
    """Read a paper that ``pack`` wrote.

    Raises:
        ValueError: It is damaged.
    """
    return _papers().validate_python(json.loads(record))


@cache
def _answers() -> TypeAdapter[Answer]:
    return TypeAdapter(Answer)


@cache
def _papers() -> TypeAdapter[Paper]:
    return TypeAdapter(Paper)


# ---- evaluation cases --------------------------------------------------------------------------


def feedback_case(answer: Answer, *, up: bool, note: str = "") -> dict[str, object]:
    """Return a rated answer as the fields of an evaluation case.

    Returns:
        ``question``, ``kind``, ``rating`` and the user's ``note``. An answer that was liked says
        which papers are ``relevant`` and which sentences are ``evidence``, and that the question is
        ``answerable``, or not where it abstained. One that was disliked says nothing of the kind:
        what would have been right is not known.
    """
    case: dict[str, object] = {
        "question": answer.question,
        "kind": "feedback",
        "rating": "up" if up else "down",
    }
    if note:
        case["note"] = note
    if up and (answer.abstained or answer.citations):
        case["answerable"] = not answer.abstained
    if up and answer.citations and not answer.abstained:
        quotes = (citation.quote for citation in answer.citations)
        case["relevant"] = [_label(paper) for paper in cited_papers([answer])]
        case["evidence"] = list(dict.fromkeys(quote for quote in quotes if quote.strip()))
    return case


def _label(paper: Paper) -> dict[str, str]:
    """Name a paper by all that finds it again, also in a library made anew."""
    names = {
        "paper_id": paper.id,
        "doi": paper.doi,
        "arxiv_id": paper.arxiv_id,
        "title": paper.title,
    }
    if not paper.title and paper.authors and paper.abstract:
        names["first_author"] = paper.authors[0]
        names["abstract_start"] = " ".join(paper.abstract.split()[:OPENING_WORDS])
    return {name: value for name, value in names.items() if value}


# ---- Markdown ----------------------------------------------------------------------------------

_DOUBTS = {
    "weak": "only in part supported by its source",
    "unsupported": "not supported by a source",
    "unchecked": "not compared with its source",
}
_BREAKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_ACTIVE = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        (r"&(?=#?\w{1,40};)", "&amp;"),  # first: what follows writes entities
        (r"\\(?=[!-/:-@\[-`{-~]|$)", r"\\\\"),
        (r"[*`~]|(?<![^\W_])_|_(?![^\W_])|\{(?=:)", r"\\\g<0>"),
        (r"<(?=[A-Za-z/!?])", "&lt;"),
        (r"\[(?=\[)", "&#91;"),
        (r"\](?=[(\[:])", "&#93;"),
        (r":(?=//)", "&#58;"),
        (r"(?i)\b(www)\.", r"\1&#46;"),
        (r"(?<=[\w.+-])@(?=\w)", "&#64;"),
    )
)
_OPENING = re.compile(r"(?P<number>^\d{1,9})(?=[.)](?:\s|$))|^(?=[#>=|:]|[-+](?:[-+\s]|$))")
_LIVE_IN_MATHS = re.compile(r"`|<[A-Za-z/!?]|\]\(|\[\[|://|(?i:www\.)")


def cited_papers(answers: Sequence[Answer]) -> tuple[Paper, ...]:
    """Return the papers that answers cite, each once, in order of first citation.

    A paper that changed in between is returned as the last answer saw it.
    """
    return tuple({one.paper.id: one.paper for said in answers for one in said.citations}.values())


def markdown(title: str, answers: Sequence[Answer]) -> str:
    """Return a conversation as a Markdown file.

    Args:
        title: Its name.
        answers: Its answers, oldest first.

    Returns:
        Each question as a heading, its answer with markers ``[n]``, the quotes an LLM's answer
        rests on, and a bibliography, numbered from 1 across the whole conversation. What is shown
        are the original characters; none of them makes a heading, link, image or HTML, and
        formulas stay as they are written.
    """
    papers = cited_papers(answers)
    numbers = {paper.id: number for number, paper in enumerate(papers, start=1)}
    blocks = [f"# {escaped(title)}"]
    for number, answer in enumerate(answers, start=1):
        blocks += [f"## {number}. {escaped(answer.question)}", *_blocks(answer, numbers)]
    if papers:
        blocks += ["## Bibliography", *(f"[{n}] {_reference(p)}" for n, p in enumerate(papers, 1))]
    return "\n\n".join(blocks) + "\n"


def escaped(text: str) -> str:
    """Return a text on one line as Markdown that shows it as it is, also at a line's start."""
    return _at_start(_inline(text))


def _at_start(text: str) -> str:
    return _OPENING.sub(r"\g<number>\\", text, count=1)


def _inline(text: str) -> str:
    flat = _BREAKS.sub(" ", text).strip(" ")
    parts: list[str] = []
    position = 0
    for match in MATHS.finditer(flat):
        if not _LIVE_IN_MATHS.search(match[0]):
            parts += [_inert(flat[position : match.start()]), match[0]]
            position = match.end()
    return "".join([*parts, _inert(flat[position:])])


def _inert(text: str) -> str:
    for pattern, written in _ACTIVE:
        text = pattern.sub(written, text)
    return text


def _blocks(answer: Answer, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield the paragraphs below a question."""
    if answer.searched and answer.searched.split() != answer.question.split():
        yield f"Searched for: {escaped(answer.searched)}"
    yield from _said(answer, numbers)
    if any(statement.support != "verbatim" for statement in answer.statements):
        yield from _list("Sources", [_quote(one, numbers) for one in answer.citations])
    if answer.abstained:
        nearest = [_reference(ranked.paper) for ranked in answer.papers[:MOST_NEAREST]]
        yield from _list("Nearest papers (they do not answer it)", nearest)
    yield from (f"Note: {escaped(note)}" for note in answer.notes)
    if answer.error is not None:
        yield f"The answer is incomplete: {escaped(answer.error)}"


def _said(answer: Answer, numbers: Mapping[str, int]) -> Iterator[str]:
    """Yield what an answer says: quotes and list items apart, other sentences together."""
    if not answer.statements:
        yield from (escaped(part) for part in answer.text.splitlines() if part.strip())
        return
    by_marker = {one.marker: numbers[one.paper.id] for one in answer.citations}
    text = _statement(answer.statements[0], by_marker)
    for before, statement in pairwise(answer.statements):
        text += _gap(before, statement) + _statement(statement, by_marker)
    yield text


def _gap(before: Statement, after: Statement) -> str:
    items = (_is_item(before), _is_item(after))
    if all(items):
        return "\n"
    return "\n\n" if any(items) or "verbatim" in (before.support, after.support) else " "


def _is_item(statement: Statement) -> bool:
    return statement.text.startswith("- ")


def _statement(statement: Statement, by_marker: Mapping[int, int]) -> str:
    cited = dict.fromkeys(by_marker[n] for n in statement.citations if n in by_marker)
    marks = "".join(f"[{number}]" for number in cited)
    doubt = _DOUBTS.get(statement.support)
    parts = (escaped(statement.text.removeprefix("- ")), marks, f"({doubt})" if doubt else "")
    return "- " * _is_item(statement) + " ".join(part for part in parts if part)


def _quote(citation: Citation, numbers: Mapping[str, int]) -> str:
    return f"[{numbers[citation.paper.id]}] “{escaped(citation.quote)}”"


def _list(head: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"{head}:"
        yield "\n".join(f"- {item}" for item in items)


def _reference(paper: Paper) -> str:
    """Describe a paper: who wrote it, what it is called, where and when it appeared, address."""
    names = ", ".join(map(line, paper.authors[:MOST_NAMES]))
    more = " et al." if paper.authors and (paper.authors[MOST_NAMES:] or paper.more_authors) else ""
    year = None if paper.year is None else str(paper.year)
    place = ", ".join(part for part in (paper.venue or paper.topic, year) if part)
    texts = [text for text in (f"{names}{more}", title_of(paper), place) if text.strip()]
    known = [_inline(text if text[-1] in ".?!" else f"{text}.") for text in texts]
    return _at_start(" ".join([*known, *_address(paper)]) or _inline(paper.id))


def _address(paper: Paper) -> Iterator[str]:
    """Yield the paper's address as a link that shows where it leads."""
    address = f"https://doi.org/{encoded(paper.doi)}" if paper.doi else address_of(paper)
    if re.match(r"https?://", address, re.IGNORECASE):
        yield f"<{address}>"
