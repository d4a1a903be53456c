"""Read what a language model wrote: statements, with their markers bound to evidence. Pure."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .reasoning import Reasoned, ReasoningFilter, split_reasoning
from .schema import Evidence, Span, Statement
from .sentences import MATHS, sentence_spans

__all__ = [
    "ParsedReply",
    "Reasoned",
    "ReasoningFilter",
    "link_author_years",
    "normalise_markers",
    "parse",
    "render",
    "split_reasoning",
]

# ---- markers ---------------------------------------------------------------------------------

_WORD = r"(?:sources?|refs?|references?|citations?|documents?|docs?|evidence|passages?)"
_LABEL = rf"(?:{_WORD}[.:]?\s{{0,2}}|[sn#^]\s?)?"
_JOIN = r"\s{0,2}(?:[,;&/]|and|to|[-–—‒])\s{0,2}"
_NUMBERS = rf"\d{{1,6}}(?:{_JOIN}{_LABEL}\d{{1,6}})*+"
_DETAIL = r"(?:(?::\d{1,4})?[†‡][^\[\]【】\n]{0,60}|:\s[^\[\]【】\n]{0,60})?"
_GROUP = re.compile(
    rf"{MATHS.pattern}|[\[【〔［]{{1,2}}\s?{_LABEL}(?P<numbers>{_NUMBERS}){_DETAIL}\s?[\]】〕］]{{1,2}}",
    re.IGNORECASE,
)
_ROUND_LABELLED = re.compile(rf"\(\s?{_WORD}[.:]?\s?(?P<numbers>{_NUMBERS})\s?\)", re.IGNORECASE)
_ROUND = re.compile(
    rf"(?P<before>\b[^\W\d_]{{1,40}}|[.!?”\"])\s?\((?P<numbers>{_NUMBERS})\)(?=\s?(?:[.!?。]|$))",
    re.IGNORECASE | re.MULTILINE,
)
_RANGE = re.compile(
    rf"(\d{{1,6}})(?:\s{{0,2}}(?:[-–—‒]|to)\s{{0,2}}{_LABEL}(\d{{1,6}}))?", re.IGNORECASE
)
_LONGEST_RANGE = 20
_INTERVAL = re.compile(r"(?:\b(?:in|range|interval|between|within|scale|values)|[∈=])\s?$", re.I)
_COUNTED = re.compile(
    r"and|or|no|of|chapter|(?:case|eq|eqn|equation|example|fig|figure|item|level|option|phase|"
    r"problem|section|step|table|task|theorem|type)s?"
)  # "step (2)" is no marker
_MARK = re.compile(r"\[(\d{1,6})\]")
_BETWEEN = re.compile(r"(\[\d{1,6}\])\s{0,2}(?:[,;&]|and)?\s{0,2}(?=\[\d{1,6}\])")
_WRAPPED = re.compile(r"\(\s?((?:\[\d{1,6}\])+)\s?\)")
_LINKED = re.compile(r"(\[\d{1,6}\])\((?:#|https?:)[^()\s]*\)")


def normalise_markers(text: str, *, sources: int = 0) -> str:
    """Bring the markers that models write into the form ``[1][2]``.

    Args:
        text: An answer. Known are lists and ranges, ``【1】``, ``[1†source]``, ``[^1]``,
            ``[Source 1]``, ``(source 1)``, and, at a sentence's end of an answer without any square
            marker, ``(1)``.
        sources: How many sources there are; ``(1)`` is read as a marker only within them.

    Returns:
        The text with canonical markers. Numbers that no source has are kept, to be reported.
        Formulas and intervals such as "in [0, 1]" are left as they are.

    Example:
        >>> normalise_markers("So it is【2】, as in [1-3; 5].")
        'So it is[2], as in [1][2][3][5].'
    """
    text = _GROUP.sub(_canonical, text)
    text = _ROUND_LABELLED.sub(lambda match: _marks(_numbers(match["numbers"])), text)
    if sources and not _MARK.search(text):
        text = _ROUND.sub(lambda match: _canonical_round(match, sources), text)
    text = _LINKED.sub(r"\1", text)
    return _WRAPPED.sub(r"\1", _BETWEEN.sub(r"\1", text))


def _canonical(match: re.Match[str]) -> str:
    numbers = match["numbers"]
    if numbers is None:  # a formula
        return match.group()
    before = match.string[max(0, match.start() - 12) : match.start()]
    if numbers.startswith("0") and len(numbers) > 1 and _INTERVAL.search(before):
        return match.group()
    return _marks(_numbers(numbers))


def _canonical_round(match: re.Match[str], sources: int) -> str:
    numbers = list(_numbers(match["numbers"]))
    if _COUNTED.fullmatch(match["before"].lower()) or not all(0 < n <= sources for n in numbers):
        return match.group()
    return f"{match['before']} {_marks(numbers)}"


def _numbers(text: str) -> Iterator[int]:
    """Read "1, 3-5" as 1, 3, 4, 5; of a range that is absurdly long, only the ends."""
    for low, high in _RANGE.findall(text):
        first, last = int(low), int(high or low)
        yield from range(first, last + 1) if 0 <= last - first < _LONGEST_RANGE else (first, last)


def _marks(numbers: Sequence[int] | Iterator[int]) -> str:
    return "".join(f"[{number}]" for number in numbers)


# ---- author and year -------------------------------------------------------------------------

_BRACKET = re.compile(r"[(\[]([^()\[\]\n]{5,200})[)\]]")
_AUTHOR_YEAR = re.compile(
    r"(?:see |cf\. )?(?P<name>[^\W\d_][\w'’.\- ]{0,60}?)"
    r"(?: et al\.?| (?:and|&) [^\W\d_][\w'’\- ]{0,60})?,? (?P<year>\d{4})[a-z]?"
)


def link_author_years(text: str, evidence: Sequence[Evidence]) -> str:
    """Replace "(Smith et al., 2019)" by the marker of the one paper that it can mean.

    Args:
        text: An answer.
        evidence: The numbered sources, in the order of the prompt.

    Returns:
        The text with markers. A reference stays text unless first author and year fit exactly one
        paper; of that paper's sentences the one that shares most words with the statement is taken.
    """

    def link(match: re.Match[str]) -> str:
        statement = _vocabulary(match.string[max(0, match.start() - 300) : match.start()])
        parts = [part.strip() for part in match[1].split(";")]
        found = [_find_source(part, evidence, statement) for part in parts]
        return _marks([n for n in found if n]) if all(found) else match.group()

    return _BRACKET.sub(link, text)


def _find_source(reference: str, evidence: Sequence[Evidence], statement: set[str]) -> int:
    """Return the number of the source that a reference means; 0 where that is not certain."""
    known = _AUTHOR_YEAR.fullmatch(reference)
    if not known:
        return 0
    name, year = _fold(known["name"]), int(known["year"])
    fitting = [
        number
        for number, one in enumerate(evidence, 1)
        if one.paper.authors and one.paper.year == year and name == _surname(one.paper.authors[0])
    ]
    if len({evidence[number - 1].paper.id for number in fitting}) != 1:
        return 0
    return max(fitting, key=lambda number: len(statement & _vocabulary(evidence[number - 1].text)))


def _vocabulary(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


def _fold(name: str) -> str:
    bare = unicodedata.normalize("NFKD", name.casefold())
    return "".join(char for char in bare if not unicodedata.combining(char)).strip()


def _surname(author: str) -> str:
    family, comma, _ = author.partition(",")
    return _fold(family if comma else author.rsplit(None, 1)[-1] if author.strip() else "")


# ---- statements ------------------------------------------------------------------------------

_BULLET = re.compile(r"\s*(?:[-*•‣–]|\d{1,2}[.)])\s+(?=\S)")
_MARKS = re.compile(rf"{MATHS.pattern}| ?(?P<marks>(?:\[\d{{1,6}}\])+)")
_NOUN = re.compile(
    r"(?P<lead>(?:^|(?<=[.!?:] ))|\b(?i:according to|compared to|in|by|from|of|see|per|than) )"
    r"(?P<marks>(?:\[\d{1,6}\])+)(?=(?P<goes_on> [a-z]+(?:[ ,.;]|$))|[,.;:)]|$)"
)
_REFERENCES = re.compile(r"\W{0,4}(?:sources?|references|citations|bibliography)\W{0,4}", re.I)
_REFERENCE = re.compile(r"\s*(?:[-*•]\s?)?(?:\[|\(|\^)?\d{1,3}[\]).:]")


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """A reply as statements.

    ``order[k - 1]`` is the index into the evidence of the new marker ``k``. ``invented`` holds the
    numbers that no source has, each once, in the order of the reply. ``reasoning_open`` says that
    the model never stopped reasoning: an error to state, as the answer is missing or cut off.
    """

    statements: tuple[Statement, ...]
    order: tuple[int, ...]
    invented: tuple[int, ...]
    reasoning_open: bool = False


def parse(reply: str, evidence: Sequence[Evidence]) -> ParsedReply:
    """Read a language model's reply as statements bound to evidence.

    Args:
        reply: The whole reply, reasoning included.
        evidence: The numbered sources of the prompt; marker ``n`` means ``evidence[n - 1]``.

    Returns:
        One statement for each sentence and each list item ("- " stands before the latter), with
        markers numbered anew from 1 in the order of first use. A marker behind a full stop belongs
        to the sentence before it. A statement with a valid citation is ``unchecked``, any other
        ``unsupported``. A list of sources that closes the reply is left out.
    """
    reasoned = split_reasoning(reply)
    text = _without_references(reasoned.answer)
    text = normalise_markers(link_author_years(text, evidence), sources=len(evidence))
    reader = _Reader(len(evidence))
    for block, is_item in _blocks(text):
        reader.read(block, is_item)
    return ParsedReply(
        tuple(reader.statements()),
        tuple(number - 1 for number in reader.renumbered),
        tuple(reader.invented),
        reasoned.is_open,
    )


def render(statements: Sequence[Statement]) -> str:
    """Write statements as one text, markers after each: ``Text. [1][2]``.

    The marker stands behind the full stop, so that a quoted sentence stays as it is in its paper.
    List items (texts that begin with "- ") get a line of their own.
    """
    out = ""
    was_item = False
    for statement in statements:
        is_item = statement.text.startswith("- ")
        gap = "\n" if is_item or was_item else " "
        piece = f"{statement.text} {_marks(statement.citations)}".rstrip()
        out += f"{gap}{piece}" if out else piece
        was_item = is_item
    return out


class _Reader:
    """Collects statements and gives their markers new numbers."""

    def __init__(self, sources: int) -> None:
        self._sources = sources
        self._read: list[tuple[str, list[int]]] = []
        self.renumbered: dict[int, int] = {}
        self.invented: dict[int, None] = {}

    def read(self, block: str, is_item: bool) -> None:
        text, marks = _take_marks(_name_sources(block))
        spans = [Span(0, len(text))] if is_item else sentence_spans(text)
        if _REFERENCES.fullmatch(text) or not any(map(str.isalnum, text)):
            spans = []  # "Sources: [1]": these go with what stands before
        first = len(self._read)
        for span in spans:
            self._read.append(("- " * is_item + text[span.start : span.end], []))
        for place, number in _places(text, spans, marks):
            self._cite(first + place if spans else first - 1, number)

    def _cite(self, index: int, number: int) -> None:
        if not 0 < number <= self._sources:
            self.invented[number] = None
        elif index >= 0:
            marker = self.renumbered.setdefault(number, len(self.renumbered) + 1)
            cited = self._read[index][1]
            if marker not in cited:
                cited.append(marker)

    def statements(self) -> Iterator[Statement]:
        for text, cited in self._read:
            yield Statement(text, tuple(cited), "unchecked" if cited else "unsupported")


def _places(
    text: str, spans: Sequence[Span], marks: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield for each marker the sentence it belongs to, in a text that holds no markers."""
    starts = [span.start for span in spans]
    stands_before = bool(marks) and marks[0][0] == 0 and marks[-1][0] < len(text)
    for offset, number in marks:
        after = bisect_right(starts, offset + 1) if stands_before else bisect_left(starts, offset)
        yield max(0, after - 1), number


def _take_marks(block: str) -> tuple[str, list[tuple[int, int]]]:
    """Return a text without its markers, and where in it each of them stood."""
    parts: list[str] = []
    marks: list[tuple[int, int]] = []
    length = position = 0
    for match in _MARKS.finditer(block):
        if match["marks"] is None:  # a formula
            continue
        part = block[position : match.start()]
        parts.append(part if length else part.lstrip())
        length += len(parts[-1])
        marks += [(length, int(number)) for number in _MARK.findall(match["marks"])]
        position = match.end()
        if parts[-1].endswith(".") and block.startswith(".", position):  # "True. [1]."
            position += 1
        if length and block[position : position + 1].isalnum():  # "word[1]word"
            parts.append(" ")
            length += 1
    rest = block[position:]
    return "".join([*parts, rest if length else rest.lstrip()]), marks


def _name_sources(block: str) -> str:
    """Put "the source" where a marker is a noun: "In [1], …", "[2] shows …"."""

    def name(match: re.Match[str]) -> str:
        lead, marks = match["lead"], match["marks"]
        if not lead and not match["goes_on"]:
            return match.group()
        noun = "sources" if marks.count("[") > 1 else "source"
        return f"{lead}{'the' if lead else 'The'} {noun} {marks}"

    return _NOUN.sub(name, block)


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield paragraphs and list items, each on one line, with whether it is an item."""
    lines: list[str] = []
    is_item = False
    for line in [*text.splitlines(), ""]:
        bullet = _BULLET.match(line)
        is_alone = not line.strip() or _REFERENCES.fullmatch(_MARK.sub("", line))
        ends = bullet or is_alone or (is_item and not line[0].isspace())
        if ends and lines:
            yield " ".join(" ".join(lines).split()), is_item
        if ends:
            lines, is_item = [], bool(bullet)
        lines.append(line[bullet.end() :] if bullet else line)


def _without_references(text: str) -> str:
    """Leave out a closing list of sources, which repeats what the citations say."""
    lines = text.splitlines()
    last = len(lines)
    while last and (not lines[last - 1].strip() or _REFERENCE.match(lines[last - 1])):
        last -= 1
    if 0 < last < len(lines) and _REFERENCES.fullmatch(lines[last - 1].strip()):
        return "\n".join(lines[: last - 1])
    return text
