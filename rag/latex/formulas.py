"""Where formulas and braces begin and end in running text."""

import re
from collections.abc import Iterator

from .tables import FUNCTION_NAMES

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_DOLLAR = re.compile(r"\\.|\$", re.DOTALL)
_BRACKET_MATH = re.compile(r"\\([(\[\])])")
_STRONG = re.compile(r"[\\^_{}]")
_PRICE = re.compile(rf"\d[\d,.]*\s?(?:[A-Za-z]+)?\s(?!{FUNCTION_NAMES})[A-Za-z]{{2}}")
_WORD = re.compile(rf"\b(?!{FUNCTION_NAMES})[a-z]{{3,}}")
_MACRO_BEFORE = re.compile(r"(?:\\[A-Za-z]+\s?|\\[^A-Za-z]|[\^_])$")
_LONGEST_MACRO = 30

Formula = tuple[int, int, int]
"""Start, end, and the width of each delimiter."""


def unbrace(value: str) -> str:
    """Drop the braces that only protect letters from a bibliography style: ``{DNA}`` → ``DNA``.

    Args:
        value: The value of a BibTeX field.

    Returns:
        The value with its formulas, macros and their arguments untouched.
    """
    if "{" not in value:
        return value
    closing, in_math = closing_braces(value), mask(value, formulas(value))
    dropped: set[int] = set()
    kept_ends: set[int] = set()
    for start in sorted(closing):
        before = value[max(0, start - _LONGEST_MACRO) : start]
        argument = _MACRO_BEFORE.search(before) or start - 1 in kept_ends
        if in_math[start] or argument:
            kept_ends.add(closing[start])
        elif not value.startswith("\\", start + 1):
            dropped |= {start, closing[start]}
    return "".join(char for at, char in enumerate(value) if at not in dropped)


def closing_braces(text: str) -> dict[int, int]:
    """Map each opening brace that is closed to its closing one."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for match in _BRACE.finditer(text):
        if match[0] == "{":
            waiting.append(match.start())
        elif match[0] == "}" and waiting:
            found[waiting.pop()] = match.start()
    return found


def formulas(text: str) -> list[Formula]:
    """Find formulas as (start, end, width of each delimiter)."""
    spans = list(_dollar_spans(text)) if "$" in text else []
    if "\\(" in text or "\\[" in text:
        spans += _bracket_spans(text)
    return sorted(spans)


def _dollar_spans(text: str) -> Iterator[Formula]:
    at = [m.start() for m in _DOLLAR.finditer(text) if m[0] == "$"]
    at += [len(text) + 2] * 3  # so that looking ahead needs no bounds
    i = 0
    while i < len(at) - 4:
        width = 2 if at[i + 1] == at[i] + 1 else 1
        closing = at[i + width]
        if width == 2 and at[i + 3] != closing + 1:
            i += 2
        elif closing < len(text) and _is_math(text, at[i] + width, closing, display=width == 2):
            yield at[i], closing + width, width
            i += 2 * width
        else:
            i += width


def _is_math(text: str, start: int, end: int, *, display: bool) -> bool:
    """Tell a formula from the text between two prices."""
    inner = text[start:end]
    if not inner.strip() or "\n\n" in inner or _PRICE.match(inner):
        return False
    if display:
        return True
    if inner[0].isspace() != inner[-1].isspace():
        return False
    if _STRONG.search(inner):
        return True
    if inner[0].isspace() or text[end + 1 : end + 2].isdigit():
        return len(inner.strip()) == 1
    return " " not in inner or not _WORD.search(inner)


def _bracket_spans(text: str) -> Iterator[Formula]:
    opened: tuple[str, int] | None = None
    for match in _BRACKET_MATH.finditer(text):
        if match[1] in "([":
            opened = (match[1], match.start())
        elif opened and opened[0] + match[1] in ("()", "[]"):
            start, end = opened[1], match.end()
            if _STRONG.search(text, start + 2, end - 2) or opened[0] == "(":
                yield start, end, 2
            opened = None


def mask(text: str, spans: list[Formula]) -> bytearray:
    """Return one byte for each character: 1 inside a formula, else 0."""
    mask = bytearray(len(text))
    for start, end, _ in spans:
        mask[start:end] = b"\1" * (end - start)
    return mask
