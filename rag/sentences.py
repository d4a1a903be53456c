"""Where the sentences of an abstract begin and end. Pure: text in, offsets out."""

import re
from collections.abc import Iterator
from functools import lru_cache

from .schema import Passage, Span

_CLOSERS = "\"'”’»›)\\]}」』】）*_"
_OPENERS = "\"'“‘„«‹([{「『【（*_¿¡"
_GOES_ON = tuple(",;:)]}%")  # "x1, ... , xn"
_CJK_STOPS = "。！？｡"

_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=[ \t]*[-*•‣◦] )")
_STOP = re.compile(rf"(?:[.!?…؟।۔]+|[{_CJK_STOPS}]+)[{_CLOSERS}]*")
MATHS = re.compile(
    r"\$\$[^$]++\$\$|(?<!\\)\$(?=\S)[^$]++(?<=\S)\$(?!\d)"  # "$5 and $6" is no formula
    r"|\\\((?:[^\\]|\\[^()])++\\\)"
    r"|\\\[(?:[^\\]|\\[^\[\]])++\\\]"
)
_NEXT = re.compile(rf"\s*([{re.escape(_OPENERS)}]*)(\S{{0,24}})")
_CAPITALISED = re.compile(r"[^\W\d_]\w*")
_LOWER_ITEM = re.compile(r"[a-z]{1,4}\)")  # (ii), b)
_LOWER_NAME = re.compile(r"[a-z]{1,8}-?[A-Z0-9]")  # mBERT, iPhone, t-SNE, wav2vec
_DOTTED = re.compile(r"(?:[^\W\d_]\.-?)+[^\W\d_]")  # U.S, J.R, J.-P
_GLUED_BEFORE = re.compile(r"(?:^|[\s(\-])[^\W\d_]{2,}[a-z]\)?$")
_WINDOW = 48  # how far back the word before a full stop is looked for


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# An abbreviation that something always follows.
_NEVER_LAST = _words("e.g i.e eg ie cf vs viz w.r.t s.t a.k.a approx ca dr prof mr mrs st incl esp")
# One that a number or label follows; a capitalised word shows that the sentence is over.
_LABELS = _words(
    "fig figs eq eqs eqn eqns sec secs tab tabs thm lem cor prop def defn alg app ref refs vol no "
    "nos pp p ch chap ex art"
)
# One that may well end a sentence, when a capitalised word follows.
_MAYBE_LAST = _words("al etc resp i.i.d iid max min avg std ibid")
# One that may end a sentence, though names follow it too: only a starter shows the end.
_BEFORE_NAMES = _words("inc ltd co corp jr sr dept univ ms ph.d m.d")
_STARTERS = _words(
    "A Across Additionally After All Also Although An And Another Are As At Based Because "
    "Besides Both But By Can Compared Consequently Could Despite Do Does Due During Each "
    "Empirical Empirically Even Existing Experimental Experiments Extensive Finally First For "
    "From Further Furthermore Given He Hence Here How However I If In Instead Is It Its Last "
    "Lastly Many More Moreover Most Motivated Nevertheless Next No Not Notably Numerical On "
    "Once One Only Our Overall Previous Prior Recent Recently Results Second She Similarly "
    "Since Some Specifically Still Such That The Their Then Theoretically There Therefore These "
    "They This Those Though Through Throughout Thus To Together Two Under Unfortunately Unlike "
    "Using We What When Where Whereas Whether Which While Why With Within Without Yet You "
)


KEPT = 2048  # texts whose sentences are remembered: papers are looked at again and again
LONGEST_KEPT = 8000  # characters of such a text


def sentence_spans(text: str) -> list[Span]:
    """Find the sentences of a text.

    Abbreviations, initials, decimals, addresses, list numerals and maths do not end a sentence; an
    empty line always does. Takes time linear in the length of the text.

    Args:
        text: Any text; a rest of LaTeX or Markdown in it does no harm.

    Returns:
        The spans in order, without surrounding white space, not overlapping and together covering
        every character that is not white space. Empty for a text of white space only.

    Example:
        >>> text = "We follow Lin et al. (2020). Gains reach 1.8 dB."
        >>> [text[s.start : s.end] for s in sentence_spans(text)]
        ['We follow Lin et al. (2020).', 'Gains reach 1.8 dB.']
    """
    if len(text) > LONGEST_KEPT:
        return _spans(text)
    return list(_kept_spans(text))


def _spans(text: str) -> list[Span]:
    plain = MATHS.sub(_blank_maths, text)
    caseless = text == text.lower()
    spans: list[Span] = []
    for start, end in _paragraphs(plain):
        spans.extend(_paragraph_spans(plain, start, end, caseless))
    return spans


@lru_cache(KEPT)
def _kept_spans(text: str) -> tuple[Span, ...]:
    return tuple(_spans(text))


def _blank_maths(match: re.Match[str]) -> str:
    """Stand in for a formula with as many characters, keeping a full stop at its end."""
    maths = match.group()
    if _PARAGRAPH.search(maths):
        return maths
    if maths.rstrip("$)] \\").endswith("."):
        return "X" * (len(maths) - 2) + '."'
    return "X" * len(maths)


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for gap in _PARAGRAPH.finditer(text):
        yield start, gap.start()
        start = gap.end()
    yield start, len(text)


def spans_of(passage: Passage) -> list[Span]:
    """Return a passage's sentences as offsets in the abstract; its own span when it has no text."""
    if not passage.text:
        return [passage.span]
    start = passage.span.start
    return [Span(s.start + start, s.end + start) for s in sentence_spans(passage.text)]


def _paragraph_spans(text: str, start: int, end: int, caseless: bool) -> Iterator[Span]:
    """Yield the sentences of one paragraph; one without a letter or digit joins its neighbour."""
    pending: Span | None = None
    pending_is_empty = True
    for span in _cut(text, start, end, caseless):
        is_empty = not any(char.isalnum() for char in text[span.start : span.end])
        if pending is not None and not (is_empty or pending_is_empty):
            yield pending
            pending = None
        pending = Span(pending.start, span.end) if pending else span
        pending_is_empty = is_empty and pending_is_empty
    if pending is not None:
        yield pending


def _cut(text: str, start: int, end: int, caseless: bool) -> Iterator[Span]:
    """Yield trimmed stretches between the full stops that end a sentence."""
    for stop in _STOP.finditer(text, start, end):
        if stop.end() < end and _ends_sentence(text, start, stop, caseless):
            yield from _trimmed(text, start, stop.end())
            start = stop.end()
    yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        first = start + len(piece) - len(piece.lstrip())
        yield Span(first, first + len(bare))


def _ends_sentence(text: str, start: int, stop: re.Match[str], caseless: bool) -> bool:
    """Decide about one full stop inside a paragraph, where the sentence began at ``start``."""
    if stop.group()[0] in _CJK_STOPS:
        return True
    window = text[max(start, stop.start() - _WINDOW) : stop.start()]
    if not text[stop.end()].isspace():
        return _is_glued(text, window, stop)
    follower = _NEXT.match(text, stop.end())
    opened, ahead = (follower[1], follower[2]) if follower else ("", "")
    if _is_single(stop):
        closed = len(stop.group()) > 1  # "(by A. B.) Next"
        verdict = _after_abbreviation(window, opened, ahead, closed)
        if verdict is not None:
            return verdict
    if ahead[:1] in _GOES_ON:
        return False
    if ahead[:1].islower():
        starts = _LOWER_NAME.match(ahead) or _LOWER_ITEM.match(ahead)
        return caseless or window[-1:].isspace() or bool(starts)
    return True


def _is_single(stop: re.Match[str]) -> bool:
    return stop.group()[0] == "." and stop.group()[1:2] != "."


def _after_abbreviation(window: str, opened: str, ahead: str, closed: bool) -> bool | None:
    """Say whether a sentence ends behind an abbreviation; None if it is an ordinary word."""
    words = window.rsplit(None, 1)
    if not words or window[-1].isspace():
        return None
    word = words[-1].lstrip(_OPENERS)
    tail = re.split(r"[-/(]", word)[-1]
    key = tail if tail.isupper() else tail.lower()  # "cf." but not "CF."
    if key in _NEVER_LAST:
        return False
    if key in _LABELS:
        return _is_capitalised(ahead)
    if key in _MAYBE_LAST:
        return not opened and _is_capitalised(ahead)
    if key in _BEFORE_NAMES or _is_initials(word) or _is_initials(tail):
        return closed or _is_starter(ahead)
    return False if _is_list_numeral(words, word) else None


def _is_initials(word: str) -> bool:
    return (len(word) == 1 and word.isupper()) or _DOTTED.fullmatch(word) is not None


def _is_list_numeral(words: list[str], word: str) -> bool:
    """Tell "1." or "(1.)" before an item from a number that ends a sentence."""
    if not (word.isdigit() and len(word) < 3):
        return False
    return len(words) == 1 or words[-1][0] == "(" or words[0].rstrip().endswith((":", ";"))


def _is_capitalised(ahead: str) -> bool:
    found = _CAPITALISED.match(ahead)
    if found is None:
        return False
    word = found[0]
    return word in _STARTERS or (len(word) > 1 and word.isalpha() and word.istitle())


def _is_starter(ahead: str) -> bool:
    found = _CAPITALISED.match(ahead)
    return found is not None and found[0] in _STARTERS


def _is_glued(text: str, window: str, stop: re.Match[str]) -> bool:
    """Find the missing space in "performance.We show", but not in a file name or an address."""
    before = _GLUED_BEFORE.search(window)
    ahead = text[stop.end() : stop.end() + _WINDOW // 2].split(None, 1)
    return bool(before) and len(ahead) > 1 and ahead[0].rstrip(",") in _STARTERS
