"""Precision, recall and F1 of sets, and of quoted sentences against gold sentences."""

from collections import Counter
from collections.abc import Collection, Sequence

from .normal import letters, words

_MIN_PART = 40  # letters; a shorter piece of a sentence may stand in many sentences
_MIN_OVERLAP = 0.8


def f1(precision: float | None, recall: float | None) -> float | None:
    """Return the harmonic mean ``2PR / (P + R)``; 0 where both are 0, None without a recall.

    Without a precision nothing was returned, so F1 is 0 (van Rijsbergen, 1979).
    """
    if recall is None:
        return None
    if not precision or not recall:
        return 0.0
    return 2 * precision * recall / (precision + recall)


def set_precision(found: Collection[str], relevant: Collection[str]) -> float | None:
    """Return the share of ``found`` that is relevant; None where nothing was found or labelled."""
    if not found or not relevant:
        return None
    return len(set(found) & set(relevant)) / len(set(found))


def set_recall(found: Collection[str], relevant: Collection[str]) -> float | None:
    """Return the share of ``relevant`` that was found; None where nothing is labelled."""
    if not relevant:
        return None
    return len(set(found) & set(relevant)) / len(set(relevant))


def same_sentence(left: str, right: str) -> bool:
    """Return whether two spellings are the same sentence.

    They are when their letters and digits agree, when one holds the other (at least 40 letters of
    it), or when the F1 of their words is 0.8 or more: formulas are shown in more than one way.
    """
    a, b = letters(left), letters(right)
    if not a or not b:
        return False
    short, long = sorted((a, b), key=len)
    if a == b or (len(short) >= _MIN_PART and short in long):
        return True
    return _word_overlap(left, right) >= _MIN_OVERLAP


def evidence_scores(
    quotes: Sequence[str], gold: Sequence[str], also: Sequence[str] = ()
) -> tuple[float | None, float | None, float | None]:
    """Return precision, recall and F1 of quoted sentences against gold sentences.

    Precision: share of the distinct quotes that are a gold sentence (or one of ``also``). Recall:
    share of the gold sentences that are quoted. (As the rationale measures of SciFact, Wadden et
    al., EMNLP 2020, but per question and with ``same_sentence`` for equality.)

    Args:
        quotes: The sentences that the answer cites.
        gold: The sentences that hold the answer; empty where the case has no such label.
        also: Sentences that are right to quote but not needed.

    Returns:
        All None without gold; precision None where nothing was quoted, with recall and F1 0.
    """
    if not gold:
        return None, None, None
    distinct = list(dict.fromkeys(quotes))
    right = sum(any(same_sentence(q, g) for g in (*gold, *also)) for q in distinct)
    reached = sum(any(same_sentence(q, g) for q in distinct) for g in gold)
    precision = right / len(distinct) if distinct else None
    recall = reached / len(gold)
    return precision, recall, f1(precision, recall)


def _word_overlap(left: str, right: str) -> float:
    a, b = Counter(words(left)), Counter(words(right))
    shared = (a & b).total()
    return 2 * shared / (a.total() + b.total()) if shared else 0.0
