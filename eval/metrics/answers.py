"""Measures of an answer's text against what it should say."""

import re
import string
from collections import Counter
from collections.abc import Sequence

from .normal import plain, words

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NOT_COMPACT = str.maketrans("", "", " ()[]")
_MAX_TOKENS = 2000


def contains_all(text: str, items: Sequence[str]) -> float | None:
    """Return 1 where the text holds every item, else 0; None without items.

    Args:
        text: The answer with its quotes.
        items: What must be said; ``a|b`` is met by ``a`` or by ``b``. Case, accents and markup do
            not count. A number is not met inside a longer number: ``18`` is not in ``2018``,
            ``180`` or ``18.5``.
    """
    if not items:
        return None
    return 0.0 if missing_items(text, items) else 1.0


def missing_items(text: str, items: Sequence[str]) -> list[str]:
    """Return the items that the text does not hold, in order."""
    spaced = plain(text)
    compact = spaced.translate(_NOT_COMPACT)
    return [
        item
        for item in items
        if not any(_holds(spaced, compact, choice) for choice in item.split("|") if choice.strip())
    ]


def exact_match(answer: str, gold: str) -> float | None:
    """Return 1 where both are the same after SQuAD's normalisation, else 0; None without gold.

    Lower case, no punctuation, no articles, single spaces (Rajpurkar et al., EMNLP 2016).
    """
    if not gold.strip():
        return None
    return float(_squad(answer) == _squad(gold))


def token_f1(answer: str, gold: str) -> float | None:
    """Return the F1 of the words that answer and gold share, counted with repeats.

    SQuAD's normalisation, then ``2·shared / (|answer| + |gold|)`` (Rajpurkar et al., 2016). Where
    one side has no words left, 1 if both have none, else 0.
    """
    if not gold.strip():
        return None
    left, right = _squad(answer).split(), _squad(gold).split()
    if not left or not right:
        return float(left == right)
    shared = (Counter(left) & Counter(right)).total()
    return 2 * shared / (len(left) + len(right))


def rouge_l(answer: str, gold: str) -> float | None:
    """Return ROUGE-L: F1 of the longest common subsequence of words.

    ``P = LCS / |answer|``, ``R = LCS / |gold|``, ``2PR / (P + R)`` (Lin, ACL workshop 2004, with
    β = 1 as today's packages). No stemming; only the first 2,000 words of each side count.
    """
    if not gold.strip():
        return None
    left, right = words(answer)[:_MAX_TOKENS], words(gold)[:_MAX_TOKENS]
    if not left or not right:
        return 0.0
    return 2 * _common_subsequence(left, right) / (len(left) + len(right))


def _holds(spaced: str, compact: str, choice: str) -> bool:
    wanted = plain(choice)
    if not wanted:
        return False
    if _stands_in(spaced, wanted):
        return True
    symbolic = any(not (c.isalnum() or c in " -") for c in wanted)
    return symbolic and _stands_in(compact, wanted.translate(_NOT_COMPACT))


def _stands_in(text: str, wanted: str) -> bool:
    """Say whether ``wanted`` occurs without cutting a number."""
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        if not (_cuts_before(text, start) or _cuts_after(text, end)):
            return True
        start = text.find(wanted, start + 1)
    return False


def _cuts_before(text: str, start: int) -> bool:
    if not text[start].isdigit() or start == 0:
        return False
    before = text[start - 1]
    return before.isdigit() or (before in ".," and text[max(start - 2, 0)].isdigit())


def _cuts_after(text: str, end: int) -> bool:
    if not text[end - 1].isdigit() or end >= len(text):
        return False
    after = text[end]
    return after.isdigit() or (after in ".," and text[end + 1 : end + 2].isdigit())


def _squad(text: str) -> str:
    bare = text.lower().translate(_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def _common_subsequence(left: Sequence[str], right: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, in one row of memory."""
    row = [0] * (len(right) + 1)
    for word in left:
        diagonal = 0
        for place, other in enumerate(right, start=1):
            above = row[place]
            row[place] = diagonal + 1 if word == other else max(above, row[place - 1])
            diagonal = above
    return row[-1]
