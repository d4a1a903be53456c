"""Short and long forms that abstracts define: "Optimal Stable Share (OSS)". Pure, linear.

Pairs are found as Schwartz and Hearst describe ("A simple algorithm for identifying abbreviation
definitions in biomedical text", PSB 2003): the short form's letters are looked up from right to
left in the few words before the bracket, and its first letter has to begin a word. "EDGE, efficient
distributed …" and "EDGE (Efficient Distributed …)" are read the other way round.
"""

import re
from collections import Counter
from collections.abc import Sequence

from .schema import Paper
from .text import fold

MOST_TERMS = 4  # added to one question
PAPERS_LOOKED_AT = 20
_LONGEST = 12  # characters of a short form
_BRACKET = re.compile(r"\(([^()\n]{2,120})\)")
_SHORT = re.compile(r"[A-Za-z0-9][\w.+/&-]{0,10}[A-Za-z0-9+]")
_APPOSED = re.compile(  # "we introduce EDGE, an efficient distributed …"
    r"\b([A-Z][\w+-]{1,11})(?:,| \(?(?:short for|stands for|standing for|which stands for))\s+"
    r"(?:an? |the )?((?:[\w/-]{1,30} ){1,9}[\w/-]{1,30})"
)
_WORD = re.compile(r"[^\s()\[\],;:]+")


def definitions(text: str) -> list[tuple[str, str]]:
    """Return the (short form, long form) pairs that a text defines, in its order.

    Example:
        >>> definitions("The Optimal Stable Share (OSS) ratio is new.")
        [('OSS', 'Optimal Stable Share')]
    """
    found = [pair for match in _BRACKET.finditer(text) if (pair := _bracketed(text, match))]
    for match in _APPOSED.finditer(text):
        if long := _spelled_by_initials(match[1], match[2]):
            found.append((match[1], long))
    return list(dict.fromkeys(found))


def expand(text: str, papers: Sequence[Paper]) -> tuple[str, ...]:
    """Return what a question should also be searched with: long forms and short forms.

    Args:
        text: The question.
        papers: Candidates, best first; the first ``PAPERS_LOOKED_AT`` are looked at.

    Returns:
        The long form of a short one in the question, and the short form of a long one, as the
        papers define them; where they define two, that of more papers, then of the better one.
    """
    asked = fold(text)
    words = set(re.findall(r"[\w.+/&-]*\w", text))
    longs: dict[str, Counter[str]] = {}
    shorts: dict[str, None] = {}
    for paper in papers[:PAPERS_LOOKED_AT]:
        for short, long in set(definitions(f"{paper.title}. {paper.abstract}")):
            base = _singular(short)
            if (short in words or base in words) and fold(long) not in asked:
                longs.setdefault(base, Counter())[fold(long)] += 1
            elif base not in words and " " in long and _holds(asked, fold(long)):
                shorts[base] = None
    found = [counts.most_common(1)[0][0] for counts in longs.values()]
    return tuple([*found, *shorts][:MOST_TERMS])


def _holds(text: str, phrase: str) -> bool:
    """Say whether a text holds a phrase in whole words; a plural counts."""
    return bool(re.search(rf"(?<!\w){re.escape(phrase.removesuffix('s'))}s?(?!\w)", text))


def _singular(short: str) -> str:
    return short[:-1] if len(short) > 2 and short.endswith("s") and short[-2].isupper() else short


def _bracketed(text: str, match: re.Match[str]) -> tuple[str, str] | None:
    """Read "long form (SF)", or "SF (long form)" where the bracket holds the words."""
    inner = re.split(r"[;,]", match[1], maxsplit=1)[0].strip()
    if _is_short(inner):
        long = _long_before(inner, text[max(0, match.start() - 160) : match.start()])
        return (inner, long) if long else None
    before = text[max(0, match.start() - 40) : match.start()].split()
    if before and _is_short(before[-1]) and " " in match[1]:
        long = _spelled_by_initials(before[-1], match[1])
        return (before[-1], long) if long else None
    return None


def _is_short(text: str) -> bool:
    return bool(
        len(text) <= _LONGEST and _SHORT.fullmatch(text) and sum(map(str.isupper, text)) > 1
    )


def _long_before(short: str, before: str) -> str | None:
    """Find the words before a bracket that a short form stands for."""
    letters = [char.lower() for char in _singular(short) if char.isalnum()]
    most = min(len(letters) + 5, len(letters) * 2)
    spans = list(_WORD.finditer(before))[-most:]
    if not spans:
        return None
    start, at = spans[0].start(), len(before) - 1
    for n in range(len(letters) - 1, -1, -1):
        while at >= start and not _fits(before, at, letters[n], first=n == 0):
            at -= 1
        if at < start:
            return None
        at -= 1
    long = before[at + 1 :].strip(" ,;:“”\"'")
    return long if _is_long(short, long) else None


def _fits(text: str, at: int, letter: str, *, first: bool) -> bool:
    begins = at == 0 or not text[at - 1].isalnum()
    return text[at].lower() == letter and (begins or not first)


def _is_long(short: str, long: str) -> bool:
    """Say whether a long form can be one: longer, no bracket, and not the short form itself."""
    return (
        len(long) > len(short) and short not in long.split() and not re.search(r"[()\[\].!?]", long)
    )


def _spelled_by_initials(short: str, phrase: str) -> str | None:
    """Return the first words of a phrase whose beginnings spell a short form, in order."""
    letters = [char.lower() for char in _singular(short) if char.isalpha()]
    if not _is_short(short):
        return None
    words = phrase.split()
    left = list(letters)
    for n, word in enumerate(words):
        for part in re.split(r"[-/]", word):
            if left and part[:1].lower() == left[0]:
                left.pop(0)
        if not left:
            return " ".join(words[: n + 1]).strip(" ,;")
    return None
