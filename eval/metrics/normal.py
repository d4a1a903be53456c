"""Bring two spellings of one text together: LaTeX, Markdown, accents, Greek, dashes. Pure.

The product cleans the LaTeX of an abstract for display while labels quote the source, so texts are
compared in a form that both reach.
"""

import re
import unicodedata

_COMMAND = re.compile(r"\\([A-Za-z]+) ?")
_ESCAPED = re.compile(r"\\([^A-Za-z\s])")
_MARKUP = str.maketrans("~", " ", "$*_^`{}")  # LaTeX's tie is a space
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_SYMBOLS = str.maketrans({"×": "x", "⋆": "", "“": '"', "”": '"', "’": "'", "‘": "'"})

# Commands that stand for a sign; the names of Greek letters and functions stay as words.
_SIGNS = {
    "times": "×",
    "cdot": "·",
    "le": "≤",
    "leq": "≤",
    "ge": "≥",
    "geq": "≥",
    "approx": "≈",
    "pm": "±",
    "infty": "∞",
    "in": "∈",
    "to": "→",
    "rightarrow": "→",
    "sqrt": "√",
    "star": "",
    "ast": "",
    "ell": "l",
    "varepsilon": "epsilon",
    "vartheta": "theta",
    "varphi": "phi",
}
_FUNCTIONS = frozenset({"log", "ln", "exp", "min", "max", "sup", "inf", "lim", "sin", "cos", "tan"})
_STYLES = frozenset(
    {"tilde", "widetilde", "hat", "widehat", "bar", "overline", "left", "right", "big", "Big"}
    | {"mathcal", "mathbb", "mathbf", "mathrm", "text", "frac", "dfrac", "tfrac", "emph", "textbf"}
)
_GREEK = {
    chr(code): unicodedata.name(chr(code)).rsplit(" ", 1)[1].lower()
    for code in range(0x3B1, 0x3CA)
    if code != 0x3C2
} | {"ς": "sigma", "λ": "lambda"}


def plain(text: str) -> str:
    r"""Return a text for comparing: markup read or dropped, accents and case gone, single spaces.

    ``18$\times$`` and ``18×`` become ``18x``, ``\Omega (N)`` and ``Ω (N)`` become ``omega (n)``,
    ``k^4`` and ``k⁴`` become ``k4``, ``**bold**`` becomes ``bold``.
    """
    text = _unlatex(text).translate(_SYMBOLS)
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()
    named = "".join(_GREEK.get(c, c) for c in bare)
    return " ".join(named.translate(_MARKUP).translate(_DASHES).split())


def letters(text: str) -> str:
    """Return only the letters and digits of ``plain(text)``: spacing and signs do not count."""
    return "".join(c for c in plain(text) if c.isalnum())


def words(text: str) -> list[str]:
    """Return the words of ``plain(text)`` in order; a Chinese or Japanese sign is a word."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", plain(text))


def _unlatex(text: str) -> str:
    """Read LaTeX commands: signs as signs, names as words, styles as nothing."""
    if "\\" not in text:
        return text
    if "frac" in text:
        text = text.replace("}{", "}/{")
    return _ESCAPED.sub(r"\1", _COMMAND.sub(_read_command, text))


def _read_command(match: re.Match[str]) -> str:
    name = match[1]
    if name in _SIGNS:
        return _SIGNS[name]
    braced = match.string[match.end() : match.end() + 1] == "{"
    if name in _STYLES or (braced and name not in _FUNCTIONS):
        return ""
    return f"{name} " if match[0].endswith(" ") else name
