"""Paper-search listings: a page heading, then topic, authors, abstract between blank lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..schema import BadRecord, Note, Source
from .records import to_paper
from .source import LONGEST_LINE, Item, Reader, SourceFile

_SENTENCE_END = re.compile(r"""[.!?。…]["'”’)\]*]*$""")
_LONG_STRETCH = 9  # words without a comma: no author's name, no topic
_TOPIC_MARK = " · "


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines between two blank lines."""

    line: int
    text: str
    problem: str | None = None


def _records(file: SourceFile) -> Iterator[Item]:
    blocks = _blocks(file)
    heading = next(blocks, None)
    waiting: list[_Block] = []
    for block in blocks:
        if heading and not waiting and block.text == heading.text:
            continue  # the heading of the next page
        if not _is_abstract(block.text) and block.problem is None:
            waiting.append(block)
            continue
        yield from _record(file, waiting, block)
        waiting = []
    if waiting:
        text = "No abstract follows these lines at the end of the file; they were left out."
        yield Note(file.name, text, waiting[0].line)


def _record(file: SourceFile, before: list[_Block], abstract: _Block) -> Iterator[Item]:
    first = before[0] if before else abstract
    problem = next((block.problem for block in (*before, abstract) if block.problem), None)
    if problem is None and not 1 <= len(before) <= 2:
        problem = (
            f"{len(before)} lines stand before this abstract. An authors line, or a topic and an "
            "authors line, was expected. Correct the lines and add the file again."
        )
    if problem:
        yield BadRecord(file.name, first.line, problem)
        return
    topic = before[0].text if len(before) == 2 else None
    fields = {"topic": topic, "authors": before[-1].text, "abstract": abstract.text}
    yield to_paper(fields, Source(file.name, first.line))


def _blocks(file: SourceFile) -> Iterator[_Block]:
    held: list[str] = []
    start, size, problem = 0, 0, None
    for line in file.lines():
        if line.text.strip() or line.problem:
            start = start or line.number
            size += len(line.text)
            problem = problem or line.problem or _too_long(size)
            if problem:
                held.clear()
            else:
                held.append(line.text.strip())
        elif start:
            yield _Block(start, " ".join(held), problem)
            held, start, size, problem = [], 0, 0, None
    if start:
        yield _Block(start, " ".join(held), problem)


def _too_long(size: int) -> str | None:
    if size <= LONGEST_LINE:
        return None
    return "the text has no blank line for 10 MB. One paragraph an abstract was expected."


def _is_abstract(text: str) -> bool:
    """Tell an abstract from a topic and a line of authors."""
    stretches = text.split(",")
    if any(len(stretch.split()) >= _LONG_STRETCH for stretch in stretches):
        return _TOPIC_MARK not in text or len(text.split()) > 3 * _LONG_STRETCH
    return len(text.split()) > 4 and bool(_SENTENCE_END.search(text)) and "et al" not in text[-8:]


def _sniff(head: str) -> float:
    blocks = [block for block in re.split(r"\n\s*\n", head[:20000]) if block.strip()]
    if len(blocks) < 3 or "\n" in blocks[0].strip() or _is_abstract(blocks[0]):
        return 0.0
    kinds = [_is_abstract(block) for block in blocks[1:-1]]
    authors = [
        "," in block for block, abstract in zip(blocks[1:], kinds, strict=False) if not abstract
    ]
    alternates = any(kinds) or _is_abstract(blocks[-1])
    return 0.5 if alternates and any(authors) else 0.0


read = Reader(_records, extensions=(), sniff=_sniff)
