"""LaTeX in running text → the edits that make it readable. Pure; linear in the text's length."""

import re
import unicodedata
from collections.abc import Callable

from .formulas import closing_braces, formulas, mask, unbrace
from .tables import (
    ACCENTS,
    DECLARATIONS,
    DOTLESS,
    DROPPED,
    ENGLISH_APOSTROPHE,
    ESCAPED,
    FRACTIONS,
    LATIN_LETTERS,
    RAISED,
    REFERENCES,
    SPACING,
    WRAPPERS,
    symbol,
)

__all__ = ["Edit", "edits", "unbrace"]

Edit = tuple[int, int, str]
"""Replace ``text[start:end]`` by a string; a list of them is sorted and does not overlap."""

_TOKEN = re.compile(
    r"https?://[^\s{}\\$]++|\\[A-Za-z]++\*?|\\[^A-Za-z]|[{}^_~]|(?<!-)-{2,3}(?!-)|``|''", re.DOTALL
)
_BLANK = re.compile(r"\s*")
_SIMPLE = re.compile(r"\d+|[A-Za-z]+|[\w+*†′-]|\\[A-Za-z]+|\\(?:text|math)[a-z]*\s?\{\w+\}")
_ONE_LETTER = re.compile(r"(?:\\math[a-z]+\s?\{)?(?:\w|\\[A-Za-z]+)\}?")
_TWO_DIGITS = re.compile(r"\s*(\d)(\d)")
_DEGREE = re.compile(r"\s*\[[^\[\]{}]{0,20}\]")
_LETTER_OR_MACRO = re.compile(r"\\[A-Za-z]+|[A-Za-z]")
_EXPONENT = re.compile(r"\\[a-z]+|\{[^{}]{1,12}\}")
_COUNT_OF_ATOMS = re.compile(r"\$_(?:\d{1,3}|\{\d{1,3}\})\$")


def edits(text: str) -> list[Edit]:
    """Return the edits that turn a text with LaTeX in it into readable text.

    Formulas lose their dollars, known macros become characters, formatting macros leave their
    contents. What is not understood stays as it is, and dollars that stand for money stay too.

    Args:
        text: Running text, with or without LaTeX.

    Returns:
        Edits sorted by place, without overlaps.
    """
    return _Pass(text).run()


class _Pass:
    """One walk over a text, collecting edits."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.close = closing_braces(text)
        self.spans = formulas(text)
        self.in_math = mask(text, self.spans)
        self.found: list[Edit] = []
        self.done: set[int] = set()  # braces that an edit or a decision already covers
        self.resume = 0  # tokens before this place are covered
        self.curly_quotes = "``" in text and "''" in text

    def run(self) -> list[Edit]:
        for start, end, width in self.spans:
            self._edit(start, start + width, "")
            self._edit(end - width, end, "")
        for match in _TOKEN.finditer(self.text):
            if match.start() >= self.resume and match.start() not in self.done:
                self._token(match[0], match.start(), match.end())
        return self._sorted()

    def _sorted(self) -> list[Edit]:
        result: list[Edit] = []
        for edit in sorted(self.found, key=lambda e: e[:2]):
            if not result or edit[0] >= result[-1][1]:
                result.append(edit)
        return result

    def _edit(self, start: int, end: int, new: str) -> None:
        if start == end and not new:
            return
        self.found.append((start, end, new))

    def _token(self, token: str, start: int, end: int) -> None:
        if token[0] == "\\":
            self._macro(token[1:].rstrip("*") if token[1].isalpha() else token[1:], start, end)
        elif token == "{":
            self._group(start)
        elif token in "^_" and self.in_math[start]:
            self._script(token, start)
        elif token == "~":
            self._tie(start)
        elif token[0] == "-":
            self._dash(token, start, end)
        elif token in ("``", "''") and self.curly_quotes:
            self._edit(start, end, "“" if token == "``" else "”")

    def _macro(self, name: str, start: int, end: int) -> None:
        handler = _HANDLERS.get(name)
        if handler is not None and handler(self, name, start, end):
            return
        shown = symbol(name) if name[0].isalpha() else None
        if shown is not None:
            self._put_symbol(shown, start, end)
        else:
            self._leave(end)

    def _leave(self, end: int) -> None:
        """Keep an unknown macro and the braces of its arguments."""
        while end in self.close:
            self.done |= {end, self.close[end]}
            end = self.close[end] + 1

    def _put_symbol(self, shown: str, start: int, end: int) -> None:
        after = self.text[end : end + 1]
        if shown[-1] == "." and after == ".":
            shown = shown[:-1]
        if self.in_math[start]:
            shown, end = self._in_formula(shown, start, end)
        elif self.text.startswith("{}", end):
            end += 2
        elif shown in LATIN_LETTERS and after == " " and self.text[end + 1 : end + 2].islower():
            end += 1
        self._edit(start, end, shown)

    def _in_formula(self, shown: str, start: int, end: int) -> tuple[str, int]:
        """Part the names of functions from what is beside them, and close up operators."""
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        if len(shown) > 1 and shown.isalpha():
            left = " " if before.isalnum() or before in (")", "}") else ""
            return left + shown + (" " if after == "\\" else ""), end
        if not shown.isalpha() and not before.isspace() and not self._ends_math(end):
            return shown, self._after_blanks(end)
        return shown, end

    def _ends_math(self, at: int) -> bool:
        at = self._after_blanks(at)
        return at >= len(self.text) or self.text[at] == "$"

    def _after_blanks(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        return match.end() if match else at

    def _before_blanks(self, at: int) -> int:
        while at and self.text[at - 1] == " ":
            at -= 1
        return at

    def _brace_after(self, at: int) -> tuple[int, int] | None:
        """Return the braces of the argument that starts at or after a place."""
        opening = self._after_blanks(at)
        return (opening, self.close[opening]) if opening in self.close else None

    def _unwrap(
        self, start: int, braces: tuple[int, int], before: str = "", after: str = ""
    ) -> None:
        opening, closing = braces
        self._edit(start, opening + 1, before)
        self._edit(closing, closing + 1, after)
        self.done |= {opening, closing}
        self.resume = opening + 1

    def _wrapper(self, name: str, start: int, end: int) -> bool:
        braces = self._brace_after(end)
        if braces:
            self._unwrap(start, braces)
        elif self.in_math[start]:
            self._edit(start, self._after_blanks(end), "")
        return braces is not None or bool(self.in_math[start])

    def _link(self, name: str, start: int, end: int) -> bool:
        """Show the address of a url, and the text and address of a href."""
        braces = self._brace_after(end)
        if not braces:
            return False
        opening, closing = braces
        shown = self._brace_after(closing + 1) if name == "href" else None
        if shown is None:
            self._unwrap(start, braces)
            self.resume = closing
            return True
        address = self.text[opening + 1 : closing].replace("\\", "")
        same = self.text[shown[0] + 1 : shown[1]].replace("\\", "") == address
        self._unwrap(start, shown, after="" if same else f" ({address})")
        return True

    def _color(self, name: str, start: int, end: int) -> bool:
        colour = self._brace_after(end)
        shown = self._brace_after(colour[1] + 1) if colour else None
        if shown:
            self._unwrap(start, shown)
        return shown is not None

    def _declaration(self, name: str, start: int, end: int) -> bool:
        if self.text.startswith(".", end) and name in ("left", "right"):
            end += 1
        self._edit(start, self._after_blanks(end) if not self._ends_math(end) else end, "")
        return True

    def _reference(self, name: str, start: int, end: int) -> bool:
        braces = self._brace_after(end)
        if braces:
            self._unwrap(start, braces, "(", ")")
            self.resume = braces[1]
        return braces is not None

    def _note(self, name: str, start: int, end: int) -> bool:
        braces = self._brace_after(end)
        if braces:
            self._unwrap(start, braces, *(("“", "”") if name == "mkbibquote" else (" (", ")")))
        return braces is not None

    def _drop(self, name: str, start: int, end: int) -> bool:
        braces = self._brace_after(end)
        if braces:
            self._edit(start, braces[1] + 1, "" if name != "end" else " ")
            self.resume = braces[1] + 1
        return braces is not None

    def _fraction(self, name: str, start: int, end: int) -> bool:
        above = self._brace_after(end)
        below = self._brace_after(above[1] + 1) if above else None
        if not above or not below:
            digits = _TWO_DIGITS.match(self.text, end)
            if digits:
                self._edit(start, digits.end(), f"{digits[1]}/{digits[2]}")
            return digits is not None
        first, second = self._parentheses(above), self._parentheses(below)
        self._edit(start, above[0] + 1, first[0])
        self._edit(above[1], below[0] + 1, f"{first[1]}/{second[0]}")
        self._edit(below[1], below[1] + 1, second[1])
        self.done |= {*above, *below}
        return True

    def _parentheses(self, braces: tuple[int, int]) -> tuple[str, str]:
        inner = self.text[braces[0] + 1 : braces[1]]
        return ("", "") if _SIMPLE.fullmatch(inner) else ("(", ")")

    def _root(self, name: str, start: int, end: int) -> bool:
        degree = _DEGREE.match(self.text, end)
        braces = self._brace_after(degree.end() if degree else end)
        if braces:
            before, after = self._parentheses(braces)
            self._unwrap(start, braces, f"√{degree[0] if degree else ''}{before}", after)
        else:
            self._edit(start, self._after_blanks(end), "√")
        return True

    def _accent(self, name: str, start: int, end: int) -> bool:
        if name == "'" and self._is_apostrophe(start, end):
            self._edit(start, end, "'")
            return True
        mark, braces = ACCENTS[name], self._brace_after(end)
        if braces is None:
            return self._accent_on_next(name, start, end, mark)
        inner = self.text[braces[0] + 1 : braces[1]]
        if not inner:
            self._edit(start, braces[1] + 1, name if not name.isalpha() else "")
            self.done |= {*braces}
        elif inner in DOTLESS:
            self._edit(start, braces[1] + 1, _composed(DOTLESS[inner], mark))
            self.resume = braces[1] + 1
        elif self.in_math[start]:
            self._unwrap(start, braces, after=mark if _is_one_letter(inner) else "")
        else:
            self._unwrap(start, braces)
            self._edit(braces[0] + 2, braces[0] + 2, mark)
        return True

    def _is_apostrophe(self, start: int, end: int) -> bool:
        r"""Tell ``model\'s`` from an accent."""
        after_letter = start > 0 and self.text[start - 1].isalpha()
        return after_letter and ENGLISH_APOSTROPHE.match(self.text, end) is not None

    def _accent_on_next(self, name: str, start: int, end: int, mark: str) -> bool:
        """Put an accent on the letter or macro that follows without braces."""
        at = self._after_blanks(end) if name.isalpha() else end
        following = _LETTER_OR_MACRO.match(self.text, at)
        if not following:
            return False
        if following[0] in DOTLESS:
            self._edit(start, following.end(), _composed(DOTLESS[following[0]], mark))
            self.resume = following.end()
            return True
        if not self.in_math[start] and len(name) == 1 and len(_composed(following[0], mark)) > 1:
            return False
        self._edit(start, at, "")
        self._edit(following.end(), following.end(), mark)
        return True

    def _escape(self, name: str, start: int, end: int) -> bool:
        self._edit(start, end, name)
        return True

    def _space(self, name: str, start: int, end: int) -> bool:
        if name == "\\" and self.text[end : end + 1].isalpha() and not self.in_math[start]:
            return False  # a path of Windows rather than a line break
        self._edit(start, end, SPACING[name])
        return True

    def _norm(self, name: str, start: int, end: int) -> bool:
        self._edit(start, end, "‖")
        return True

    def _group(self, start: int) -> None:
        if start not in self.close:
            return
        known = self.text.startswith("\\", start + 1) and self._starts_known(start + 1)
        if self.in_math[start] or known:
            self._edit(start, start + 1, "")
            self._edit(self.close[start], self.close[start] + 1, "")
        self.done |= {start, self.close[start]}

    def _starts_known(self, at: int) -> bool:
        match = _TOKEN.match(self.text, at)
        name = match[0][1:] if match else ""
        return name in _HANDLERS or bool(name[:1].isalpha() and symbol(name))

    def _script(self, token: str, start: int) -> None:
        raised = _EXPONENT.match(self.text, start + 1)
        if token == "^" and raised and raised[0] in RAISED:
            self._edit(start, raised.end(), RAISED[raised[0]])
            self.resume = raised.end()
            self.done.discard(start)
            return
        braces = self._brace_after(start + 1)
        if token == "_" and self._is_formula_of_atoms(start):
            self._edit(start, start + 1, "")
        if braces:
            self._edit(self._before_blanks(start), start, "")
            self._edit(start + 1, braces[0], "")
            if _SIMPLE.fullmatch(self.text[braces[0] + 1 : braces[1]]):
                self._edit(braces[0], braces[0] + 1, "")
                self._edit(braces[1], braces[1] + 1, "")
            self.done |= {*braces}

    def _is_formula_of_atoms(self, start: int) -> bool:
        """Tell ``CO$_2$`` from an index."""
        match = _COUNT_OF_ATOMS.match(self.text, max(0, start - 1))
        return bool(match) and start > 1 and self.text[start - 2].isalpha()

    def _tie(self, start: int) -> None:
        before, after = self.text[start - 1 : start], self.text[start + 1 : start + 2]
        ties = (before.isalpha() or before in (".", ",")) and (after.isalnum() or after in "\\$([")
        if self.in_math[start] or (start and ties and after):
            self._edit(start, start + 1, " ")

    def _dash(self, token: str, start: int, end: int) -> None:
        before, after = self.text[start - 1 : start], self.text[end : end + 1]
        joins = (
            bool(before and after) and not before.isspace() and (after.isalnum() or after in "$\\")
        )
        if joins and not self.in_math[start] and start:
            self._edit(start, end, "–" if len(token) == 2 else "—")
        elif len(token) == 3 and before.isspace() and after.isspace():
            self._edit(start, end, "—")


def _composed(letter: str, mark: str) -> str:
    return unicodedata.normalize("NFC", letter + mark)


def _is_one_letter(inner: str) -> bool:
    return _ONE_LETTER.fullmatch(inner.strip()) is not None


_Handler = Callable[[_Pass, str, int, int], bool]
_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(WRAPPERS, _Pass._wrapper),
    **dict.fromkeys(DECLARATIONS, _Pass._declaration),
    **dict.fromkeys(REFERENCES, _Pass._reference),
    **dict.fromkeys(DROPPED, _Pass._drop),
    **dict.fromkeys(FRACTIONS, _Pass._fraction),
    **dict.fromkeys(ACCENTS, _Pass._accent),
    **dict.fromkeys(ESCAPED, _Pass._escape),
    **dict.fromkeys(SPACING, _Pass._space),
    **dict.fromkeys(("url", "path", "href"), _Pass._link),
    **dict.fromkeys(("textcolor", "colorbox"), _Pass._color),
    **dict.fromkeys(("footnote", "thanks", "mkbibquote"), _Pass._note),
    "sqrt": _Pass._root,
    "|": _Pass._norm,
}
