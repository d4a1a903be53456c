"""Quoted sentences → readable statements: who "we" and "it" are, in brackets. Pure.

Nothing is changed in a quotation but for what stands in square brackets, as is usual in print:
"our method [EDGE] needs …". The names come from the paper itself.
"""

import re
from collections.abc import Iterator, Sequence

from .names import systems_in
from .schema import Evidence, Paper
from .sentences import sentence_spans

_THING = (
    r"(?:method|model|approach|framework|algorithm|system|technique|architecture|network|benchmark|"
    r"dataset|data set|pipeline|strategy|estimator|procedure|scheme|tool|library|agent|solution|"
    r"mechanism|paradigm|module|policy|attack|defen[cs]e|protocol|metric|corpus|simulator|"
    r"optimi[sz]er|sampler|solver|planner|theory|paper|work|study)"
)
_OURS = re.compile(
    rf"\b(?:our|the proposed|the presented)\s(?:[\w-]{{1,20}}\s)?{_THING}\b", re.IGNORECASE
)
_FOR_NO_THING = (  # "It is well known that", "it is hard to"
    r"(?:is|was|has been|remains|becomes|seems|appears)\s(?!an?\s|the\s)(?:[\w-]{1,20}\s){0,2}?"
    r"(?:that|whether|how|why|[\w-]{1,20}(?<!ed)(?<!able)\sto)\b"
)
_BACK = re.compile(rf"^(?:It(?!\s{_FOR_NO_THING})|Th(?:is|e)\s(?:new |novel )?{_THING})(?=\s)")
_NAMING = re.compile(
    r"(?:\b(?:[Ww]e|paper|work|article|study)\b[^.;:]{0,30}?\b(?:introduc|propos|present|develop|"
    r"design|build|creat|releas|offer|construct)(?:e|es|ed|ing|s|t)?\b"
    r"|\b(?:called|named|dubbed|termed|namely)\b)(?P<rest>[^.;:]{1,120})"
)
_SHORT = re.compile(r"\((?P<name>[^\s()]{3,24})\)")
_BY = re.compile(
    r"\b(?:by|of|in|on|at|from|for|using|via|with|over|against|than|that|which|such as)\b"
)
_BASED = re.compile(r"(?<!\S)\S{1,40}[\s-]based\b(?! on)")  # "a GPT-4 based …"
_ALONE = re.compile(  # "called EDGE, …"
    r"^\s*[*\"'“‘]{0,3}(?P<name>[^\s,()*\"'“”‘’]{3,24})[*\"'”’]{0,3}(?:,|\s\(|$)"
)
_TITLE = re.compile(r"^(?P<name>[^\s:：]{2,24})(?:[:：]|\s[-–—]\s)")
LONGEST_NAME = 24  # characters


def statement_text(one: Evidence) -> str:
    """Return a quoted sentence with what it leans on named in brackets.

    Args:
        one: The sentence and its paper.

    Returns:
        The sentence; after "our method", and after a leading "It" or "This model" where the
        sentence before names the thing, stands the paper's own name for what it presents, in square
        brackets. Nothing is added where the paper gives no name or the sentence has it already.

    Example:
        "Our method reaches 81 %." → "Our method [EDGE] reaches 81 %."
    """
    text = one.text
    name = own_name(one.paper)
    if not name or _holds(text, name):
        return text
    found = _OURS.search(text) or _BACK.search(text)
    if not found or (found.re is _BACK and not _names_before(one, name)):
        return text
    return f"{text[: found.end()]} [{name}]{text[found.end() :]}"


def _holds(text: str, name: str) -> bool:
    """Say whether a text holds a name as a word, written so: "knowledge" does not hold "EDGE"."""
    return bool(re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", text))


def _names_before(one: Evidence, name: str) -> bool:
    """Say whether the sentence before a quoted one holds a name."""
    before = sentence_spans(one.paper.abstract[: one.span.start])[-1:]
    return any(_holds(one.paper.abstract[span.start : span.end], name) for span in before)


def own_name(paper: Paper) -> str | None:
    """Return what a paper calls the system, method or data that it presents; None if nothing.

    The title's "NAME: …" counts first, then the first name that stands close behind "we propose",
    "called" and the like in the abstract.
    """
    titled = _TITLE.match(paper.title)
    if titled and _is_name(titled["name"]):
        return titled["name"]
    for naming in _NAMING.finditer(paper.abstract):
        if name := next(filter(_is_name, _candidates(naming["rest"])), None):
            return name
    return None


def _candidates(rest: str) -> Iterator[str]:
    """Yield what may be the name behind "we propose": it alone, in brackets, or among words."""
    rest = _BASED.sub(" ", rest)
    if alone := _ALONE.match(rest):
        yield alone["name"]
    yield from (found["name"] for found in _SHORT.finditer(rest))
    near = _BY.split(rest, maxsplit=1)[0]
    yield from (word.strip("()[]{}*\"'“”") for word in systems_in(f"a {near}"))


def _is_name(word: str) -> bool:
    """Say whether a word can only be a name, and is not a plural abbreviation such as "LLMs"."""
    parts = word.split("-")
    return (
        2 < len(word) <= LONGEST_NAME
        and bool(systems_in(f"a {word}"))
        and all(part[:1].isupper() or part[:1].isdigit() for part in parts)
        and not re.fullmatch(r"[A-Z]{2,6}s|\d.*|[A-Z]{2,3}|.*[^\w+.-].*", word)
    )


def statement_texts(evidence: Sequence[Evidence]) -> list[str]:
    """Return the text of each statement of a quoted answer, in order."""
    return [statement_text(one) for one in evidence]
