"""Raw abstract → readable text, and the way back to raw offsets. Pure; linear in the length."""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence

from . import latex
from .latex import Edit
from .schema import Span

_INLINE = """
    b i em strong u sub sup italic bold sc span a tt code font small big xref ext-link underline
    monospace roman sans-serif named-content styled-content inline-formula tex-math alternatives
    math mi mo mn mrow msub msup msubsup mfrac msqrt mover munder mtext mstyle mspace semantics
    annotation inf scp
"""
_BLOCK = """
    p title sec div br hr li ul ol list list-item abstract h1 h2 h3 h4 h5 h6 tr td table tbody
    blockquote center disp-formula label section article body html
"""
_PARTING = frozenset(_BLOCK.split())
_LONELY = frozenset(("br", "hr", "p", "li"))  # may open and never close
_PLAIN_NAMES = "|".join((_INLINE + _BLOCK).split())
_NAME = rf"(?:(?:jats|mml|xhtml|m):[a-z][a-z0-9-]*+|(?:{_PLAIN_NAMES})(?![\w:-]))"
_ATTRIBUTE = r"""\s++[\w:-]++(?:\s*+=\s*+(?:"[^"<>]*+"|'[^'<>]*+'|[^\s"'<>=]++))"""
_TAG = re.compile(rf"<(/?)({_NAME})((?:{_ATTRIBUTE})*+)\s*+/?>", re.IGNORECASE)
_BARE_HEADING = re.compile(
    r"<((?:jats:)?title|h[1-6]|b|strong)>\s*+(?:abstract|summary)[:.]?\s*+</\1>", re.IGNORECASE
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]+"
)
_BOLD = re.compile(
    r"https?://\S++|(?<![\w*\\])\*\*(?=[^\s*])([^*\n]*+(?:\*(?!\*)[^*\n]*+)*+)(?<!\s)\*\*"
)
_EMPHASIS = re.compile(
    r"""https?://\S++|(?<![^\s(\[{"'“‘—–:;,./-])([*_])(?=[^\s*_])([^*_\n]*+)(?<!\s)\1(?![\w*^_])"""
)
_MARKDOWN_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\((https?://[^\s()]{1,2000})\)")
_ODD_BLANKS = re.compile(r"[^\S ]\s*+| \s++")
_NOT_ASCII = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]+")
_FOLDED = str.maketrans("øØłŁđĐıæÆœŒð", "oOlLdDiaAoOd") | {
    ord("æ"): "ae", ord("Æ"): "AE", ord("œ"): "oe", ord("Œ"): "OE", ord("þ"): "th", ord("Þ"): "Th"
}  # fmt: skip
_ASCII_WORDS = bytes(code if chr(code).isalnum() or code == 95 else 32 for code in range(128)) + (
    b" " * 128
)
_MAX_NESTED = 4  # exports escape twice: &amp;lt; and \\$ for the dollar of a formula


def clean(raw: str) -> str:
    """Make an abstract readable: no markup, no invisible characters, tidy white space.

    Args:
        raw: Text as a file holds it: LaTeX, Markdown, HTML or JATS tags, entities, any Unicode.

    Returns:
        The readable text in Unicode's composed form (NFC), paragraphs parted by an empty line.
        Cleaning it again changes nothing.
    """
    return _run(raw, None)[0]


def clean_with_offsets(raw: str) -> tuple[str, tuple[int, ...]]:
    """Clean a text and say where each of its characters comes from.

    Args:
        raw: Text as a file holds it.

    Returns:
        The text that ``clean`` returns, and one raw offset for each of its characters plus one for
        its end; the offsets never decrease. ``raw_span`` reads them.
    """
    text, offsets = _run(raw, range(len(raw) + 1))
    return text, tuple(offsets or ())


def raw_span(offsets: Sequence[int], span: Span) -> Span:
    """Map a span of the cleaned text to the raw text.

    Args:
        offsets: What ``clean_with_offsets`` returned.
        span: A span of the cleaned text.

    Returns:
        The stretch of the raw text it was made from, with the markup inside it.
    """
    return Span(offsets[span.start], offsets[span.end])


def clean_span(offsets: Sequence[int], span: Span) -> Span:
    """Map a span of the raw text to the cleaned text, the reverse of ``raw_span``."""
    return Span(bisect_left(offsets, span.start), bisect_left(offsets, span.end))


def fold(text: str) -> str:
    """Return a text without upper case and accents, for comparing names and words."""
    if text.isascii():
        return text.lower()
    return _NOT_ASCII.sub(_folded, text.lower())


def _folded(run: re.Match[str]) -> str:
    """Fold a run of characters beyond ASCII with the character before it, which it may mark."""
    decomposed = unicodedata.normalize("NFKD", run[0].translate(_FOLDED))
    kept = "".join(char for char in decomposed if not unicodedata.combining(char))
    return unicodedata.normalize("NFKC", kept.casefold())


def words(text: str) -> list[str]:
    """Return the folded words of a text, without punctuation."""
    if text.isascii():  # the same by far cheaper means
        return text.lower().encode().translate(_ASCII_WORDS).decode().split()
    return re.findall(r"\w+", fold(text))


def one_line(text: str, max_chars: int) -> str:
    """Fit a text on one line.

    Args:
        text: Any text.
        max_chars: Longest result, at least 1.

    Returns:
        The text with single blanks; one that is too long is cut, at a word's end where there is
        one, and ends in ``…``.
    """
    line = " ".join(text[: max_chars * 4 + 100].split())
    if len(line) <= max_chars and len(text) <= max_chars * 4 + 100:
        return line
    cut = line[: max(0, max_chars - 1)]
    if not line[len(cut) : len(cut) + 1].isspace() and " " in cut[max_chars // 2 :]:
        cut = cut[: cut.rindex(" ")]
    return cut.rstrip() + "…"


def storable(text: str) -> str:
    """Return a text without NUL and half surrogates, which no database or file takes."""
    if text.isascii() and "\x00" not in text:
        return text
    return re.sub("[\x00\ud800-\udfff]", "", text)


Offsets = Sequence[int]


def _run(text: str, offsets: Offsets | None) -> tuple[str, Offsets | None]:
    if _is_plain(text):
        return text, offsets
    for times, is_needed, find in _PASSES:
        for _ in range(times):
            before = text
            if is_needed(text):
                text, offsets = _apply(text, offsets, find(text))
            if text == before:
                break
    return text, offsets


def _apply(text: str, offsets: Offsets | None, found: Iterable[Edit]) -> tuple[str, Offsets | None]:
    pieces: list[str] = []
    kept: list[int] = []
    last = 0
    for start, end, new in found:
        pieces += (text[last:start], new)
        if offsets is not None:
            kept += offsets[last:start]
            kept += [offsets[start]] * len(new)
        last = end
    if not pieces:
        return text, offsets
    pieces.append(text[last:])
    if offsets is not None:
        kept += offsets[last:]
    return "".join(pieces), None if offsets is None else kept


def _entity_edits(text: str) -> Iterable[Edit]:
    for match in _ENTITY.finditer(text):
        decoded = html.unescape(match[0])
        if decoded != match[0]:
            yield match.start(), match.end(), decoded.replace("\ufffd", "")


def _comment_edits(text: str) -> Iterable[Edit]:
    start = text.find("<!--")
    while start >= 0 and (end := text.find("-->", start + 4)) >= 0:
        yield start, end + 3, " "
        start = text.find("<!--", end + 3)


def _cdata_edits(text: str) -> Iterable[Edit]:
    for match in re.finditer(r"<!\[CDATA\[|\]\]>", text):
        yield match.start(), match.end(), ""


def _heading_edits(text: str) -> Iterable[Edit]:
    for match in _BARE_HEADING.finditer(text):
        yield match.start(), match.end(), "\n\n"


def _tag_edits(text: str) -> Iterable[Edit]:
    matches = list(_TAG.finditer(text))
    closed = {match[2].lower() for match in matches if match[1]}
    for match in matches:
        name = match[2].lower()
        local = name.rpartition(":")[2]
        if match[1] or ":" in name or local in _LONELY or name in closed:
            yield match.start(), match.end(), _in_place_of(match, local, text)


def _in_place_of(tag: re.Match[str], name: str, text: str) -> str:
    """Return what replaces a tag: a paragraph break, nothing, or ^ where digits would run on."""
    if name == "br":
        return "\n"
    if name in _PARTING:
        return "\n\n"
    if name == "sup" and not tag[1] and text[tag.start() - 1 : tag.start()].isdigit():
        following = text[tag.end() : tag.end() + 1]
        return "^" if following.isdigit() or following in ("-", "−", "+", "–") else ""
    return ""


def _character_edits(text: str) -> Iterable[Edit]:
    for match in _INVISIBLE.finditer(text):
        yield match.start(), match.end(), ""


def _link_edits(text: str) -> Iterable[Edit]:
    for match in _MARKDOWN_LINK.finditer(text):
        yield match.start(), match.start(1), ""
        same = match[1] == match[2]
        yield match.end(1), match.end(), "" if same else f" ({match[2]})"


def _unmark(pattern: re.Pattern[str], width: int) -> Callable[[str], Iterable[Edit]]:
    """Return a pass that drops the marks around a pattern's last group."""

    def find(text: str) -> Iterable[Edit]:
        for match in pattern.finditer(text):
            if match.lastindex:
                yield match.start(), match.start() + width, ""
                yield match.end() - width, match.end(), ""

    return find


def _composing_edits(text: str) -> Iterable[Edit]:
    for match in _NOT_ASCII.finditer(text):
        composed = unicodedata.normalize("NFC", match[0])
        if composed != match[0]:
            yield match.start(), match.end(), composed


def _blank_edits(text: str) -> Iterable[Edit]:
    body = len(text.rstrip())
    start = len(text) - len(text.lstrip())
    if start and body:
        yield 0, start, ""
    for match in _ODD_BLANKS.finditer(text, start, body):
        breaks = match[0].replace("\r\n", "\n")
        lines = sum(breaks.count(mark) for mark in "\n\r\x85\u2028") + 2 * breaks.count("\u2029")
        yield match.start(), match.end(), "\n\n" if lines > 1 else " "
    if body < len(text):
        yield body, len(text), ""


def _has_odd_characters(text: str) -> bool:
    return not (text.isascii() and text.isprintable())


def _has_odd_blanks(text: str) -> bool:
    tidy = text.isprintable() and "  " not in text  # of all blanks, only " " is printable
    return not tidy or text[:1] == " " or text[-1:] == " "


def _is_plain(text: str) -> bool:
    """Say whether no pass can find anything: a cheap look at what all of them need."""
    tidy = text.isascii() and not _has_odd_blanks(text)
    return tidy and "--" not in text and _MARKS.search(text) is None


def _has(first: str, *others: str) -> Callable[[str], bool]:
    if not others:
        return lambda text: first in text
    marks = re.compile("|".join(map(re.escape, (first, *others))))
    return lambda text: marks.search(text) is not None


_MARKS = re.compile(r"[&<\\$~`*_\]]")  # of markup, entities, LaTeX and links; "--" apart

# How often at most, when, and what. Entities come first, so that escaped tags are seen; blanks
# last, since every pass leaves some.
_PASSES: tuple[tuple[int, Callable[[str], bool], Callable[[str], Iterable[Edit]]], ...] = (
    (_MAX_NESTED, _has("&"), _entity_edits),
    (1, _has("<!--"), _comment_edits),
    (1, _has("<![CDATA["), _cdata_edits),
    (1, _has("<"), _heading_edits),
    (1, _has("<"), _tag_edits),
    (1, _has_odd_characters, _character_edits),
    (_MAX_NESTED, _has("\\", "$", "~", "--", "``"), latex.edits),
    (1, _has("]("), _link_edits),
    (1, _has("**"), _unmark(_BOLD, 2)),
    (1, _has("*", "_"), _unmark(_EMPHASIS, 1)),
    (1, lambda text: not unicodedata.is_normalized("NFC", text), _composing_edits),
    (1, _has_odd_blanks, _blank_edits),
)
