"""German, French and Spanish questions over English abstracts: terms of the field in English.

Each line of ``terms_eu.tsv`` is English, German, French, Spanish, parted by tabs. A form may have
several words, a star stands for any ending, and ``;`` parts forms. The longest form is taken from
the left. It gives search words, not a translation.
"""

import re
from functools import cache
from importlib import resources

from .kinds import Language
from .text import fold

COLUMNS: dict[Language, int] = {"de": 1, "fr": 2, "es": 3}
_TOKEN = re.compile(r"\w++(?:[-+./]\w++)*\+?")
_NAME = re.compile(r"\w[A-Z]|\d|^[A-Z].*-")
SHORTEST = 2  # letters of a word that says nothing
_BEGIN = 2  # letters that forms are filed under

Form = tuple[str, ...]


@cache
def forms(language: Language) -> dict[str, list[tuple[Form, str]]]:
    """Return the forms of one language by their first letters: (words, English)."""
    text = resources.files(__package__).joinpath("terms_eu.tsv").read_text("utf-8")
    found: dict[str, list[tuple[Form, str]]] = {}
    for line in text.splitlines():
        columns = line.split("\t")
        for form in columns[COLUMNS[language]].split(";"):
            if words := tuple(fold(form).replace("'", " ").split()):
                found.setdefault(words[0].rstrip("*")[:_BEGIN], []).append((words, columns[0]))
    return found


def to_english(text: str, language: Language) -> str:
    """Return the English search words of a German, French or Spanish question.

    Args:
        text: The question.
        language: "de", "fr" or "es".

    Returns:
        The English of the terms that are known, and every other word of more than two letters, in
        the order of the question: it may be a name or an English one.

    Example:
        >>> to_english("Wie viele Datensätze braucht FinchNet?", "de")
        'how many dataset FinchNet'
    """
    tokens = _TOKEN.findall(text.replace("’", "'"))
    folded = [fold(token) for token in tokens]
    found: list[str] = []
    at = 0
    while at < len(tokens):
        size, english = (0, "") if _NAME.search(tokens[at]) else _longest(folded[at:], language)
        if size:
            found.append(english)
        elif len(tokens[at]) > SHORTEST or not tokens[at].islower():
            found.append(tokens[at])
        at += size or 1
    return " ".join(found)


def _longest(words: list[str], language: Language) -> tuple[int, str]:
    """Return how many words the longest form takes that the words begin with, and its English."""
    begin = words[0]
    filed = forms(language)
    best = (0, 0, "")
    for size in range(1, _BEGIN + 1):
        for form, english in filed.get(begin[:size], []) if len(begin) >= size else ():
            if len(form) <= len(words) and all(map(_fits, words, form)):
                best = max(best, (len(form), sum(map(len, form)), english))
    return best[0], best[2]


def _fits(word: str, part: str) -> bool:
    return word.startswith(part[:-1]) if part.endswith("*") else word == part
