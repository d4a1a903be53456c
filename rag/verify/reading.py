"""Text → tokens with stems, clauses and sentences, as every comparison reads them. Pure."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from . import listed
from .lexicon import CLAUSE_WORDS, EMPTY
from .stems import akin, stem

LONGEST = 20_000  # characters of one text that are read
MOST = 100  # numbers, denials or directions of one text that are compared
_TOKEN = re.compile(
    r"(?P<name>(?<![\w.])\d{1,4}(?![xXeE]\d)[^\W\d_]{1,20}\d\w*)"
    r"|(?P<number>(?<![\w.])[+\-−]?\d[\d,]*(?:\.\d+)?(?![\d])|(?<![\w])\.\d+)"
    r"|(?P<word>[^\W\d_][\w@+#]*(?:[.'’\-‐‑/&][\w@+#]+)*\+*)"
    r"|(?P<mark>[^\w\s])"
)
_MACROS = {
    r"\%": "%", r"\times": "×", r"\cdot": "·", r"\sim": "~", r"\approx": "≈", r"\geq": "≥",
    r"\leq": "≤", r"\ge": "≥", r"\le": "≤", r"\pm": "±", r"\infty": "∞", r"\ell": "l",
}  # fmt: skip
_MACRO = re.compile(r"\\(?:%|[A-Za-z]{1,20})")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]{1,80})\}\{([^{}]{1,80})\}")
_LAYOUT = frozenset(
    listed(
        r"\left \right \mathcal \mathbb \mathbf \mathrm \mathit \text \textbf \textit "
        r"\emph \tilde \widetilde \hat \bar \widehat \big \Big \bigl \bigr \, \; \! "
        r"\operatorname \texttt"
    )
)
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_POWER = re.compile(r"([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_HAN = r"[\u3040-\u30ff\u3400-\u9fff]"
_SCRIPTS = re.compile(rf"(?<={_HAN})(?=[A-Za-z0-9])|(?<=[A-Za-z0-9%])(?={_HAN})")
_SIZES = re.compile(r"(?<=\d[KMBk])[-–](?=\d)")  # "30B-40B"
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ϵ": "epsilon",
    "κ": "kappa", "λ": "lambda", "μ": "mu", "σ": "sigma", "τ": "tau", "θ": "theta", "ρ": "rho",
    "η": "eta", "π": "pi", "ω": "omega", "φ": "phi", "Ω": "Omega", "Θ": "Theta", "Õ": "O",
    "√": " sqrt ",
}  # fmt: skip
_GREEK_LETTER = re.compile(f"[{''.join(_GREEK)}]")
_NOT_LATIN = re.compile(r"[^\W\d_]")


def plain(text: str) -> str:
    """Return a text without LaTeX: ``$m^2$`` → ``m^2``, ``\\epsilon`` and ``ε`` → ``epsilon``."""
    text = text[:LONGEST]
    if "\\" in text:
        text = _FRACTION.sub(r"(\1)/(\2)", text)
        text = _MACRO.sub(_written, text)
    text = text.replace("{,}", ",").replace("$", "").replace("{", "").replace("}", "")
    text = _SIZES.sub(" - ", _SCRIPTS.sub(" ", text))
    text = _POWER.sub(lambda m: "^" + m[1].translate(_POWERS), text)
    text = _GREEK_LETTER.sub(lambda m: _GREEK[m[0]], unicodedata.normalize("NFC", text))
    return unicodedata.normalize("NFKC", text).replace("−", "-").replace("‑", "-").replace("’", "'")


def _written(found: re.Match[str]) -> str:
    macro = found[0]
    if macro in _LAYOUT:
        return ""
    return _MACROS.get(macro, macro[1:] + " ")


@dataclass(frozen=True, slots=True)
class Token:
    """One token. ``clause`` and ``sentence`` count from 0 through the text."""

    text: str
    lower: str
    stem: str
    kind: str  # "word", "number" or "mark"
    start: int  # in the plain text
    clause: int
    sentence: int
    first: bool  # the first word of its sentence

    @property
    def content(self) -> bool:
        """Say whether the word carries meaning of its own."""
        return self.kind == "word" and self.lower not in EMPTY and len(self.lower) > 1


class Text:
    """One text, read once: its plain form, its tokens, its content stems.

    Args:
        raw: The text as it was written.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.plain = plain(raw)
        self.tokens: tuple[Token, ...] = tuple(_tokens(self.plain))

    @cached_property
    def content(self) -> tuple[Token, ...]:
        """Return the words that carry meaning, in order, parts of compounds apart."""
        return tuple(token for token in self.tokens if token.content)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Return the stems of the words that carry meaning."""
        return frozenset(token.stem for token in self.content)

    @cached_property
    def lowers(self) -> frozenset[str]:
        """Return all words in lower case."""
        return frozenset(token.lower for token in self.tokens)

    def has(self, wanted: str) -> bool:
        """Say whether a stem, or a word akin to it, occurs."""
        return wanted in self.stems or any(akin(wanted, one) for one in self.stems)

    @cached_property
    def is_foreign(self) -> bool:
        """Say whether most letters are not Latin."""
        letters = _NOT_LATIN.findall(self.plain)
        return bool(sum(char > "\u024f" for char in letters) * 2 > len(letters))


@lru_cache(maxsize=512)
def read(raw: str) -> Text:
    """Return a text as the comparisons read it."""
    return Text(raw)


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    clause = sentence = 0
    first = True
    for match in _TOKEN.finditer(text):
        kind = "word" if match.lastgroup == "name" else match.lastgroup or "mark"
        value = match[0]
        if kind == "mark":
            ends = value in ".!?" and _ends(text, match.end())
            clause += value in ",;:()—–" or ends
            sentence += ends
            first = first or ends
            found.append(Token(value, value, value, kind, match.start(), clause, sentence, False))
            continue
        for part, offset in _parts(value) if kind == "word" else ((value, 0),):
            lower = part.lower()
            clause += lower in CLAUSE_WORDS and not _is_not_yet(lower, found)
            start = match.start() + offset
            token = Token(part, lower, stem(lower), kind, start, clause, sentence, first)
            found.append(token)
            first = False
    return found


def _is_not_yet(lower: str, before: Sequence[Token]) -> bool:
    """Say whether a word is the "yet" of "not yet"."""
    return lower == "yet" and bool(before) and before[-1].lower in ("not", "never")


def _ends(text: str, place: int) -> bool:
    """Say whether a stop before a place ends a sentence; it does not in "e.g. soil" or "v2.b"."""
    return not (text[place : place + 1].isalnum() or text[place : place + 3].lstrip()[:1].islower())


def _parts(word: str) -> Sequence[tuple[str, int]]:
    """Cut "context-aware" into its words; a name such as "GPT-4" stays whole."""
    word = word[:-2] if word.endswith(("'s", "’s")) else word
    if "n't" in word.lower():
        cut = word.lower().index("n't")
        return ((word[:cut] or "can", 0), ("not", cut))
    if not any(sign in word for sign in "-‐/") or _is_name(word):
        return ((word, 0),)
    parts, at = [], 0
    for part in re.split(r"[-‐/]", word):
        if part:
            parts.append((part, at))
        at += len(part) + 1
    return parts


def _is_name(word: str) -> bool:
    """Say whether a compound is one name: it holds a digit, or capitals that are no beginning."""
    return any(char.isdigit() for char in word) or sum(char.isupper() for char in word) > 1
