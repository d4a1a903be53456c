"""What the macros of LaTeX stand for."""

import re
from functools import lru_cache
from typing import Any


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


WRAPPERS = _names("""
    textbf textit emph textsc texttt textrm textsf textmd textup textsl textnormal underline uline
    mbox hbox text textsuperscript textsubscript mathrm mathbf mathit mathsf mathtt mathcal mathbb
    mathfrak mathscr mathnormal bm boldsymbol pmb operatorname ensuremath overline underbrace
    overbrace mathop mathbin mathrel bfit mkbibemph
""")
DECLARATIONS = _names("""
    em it bf sc tt rm sl sf itshape bfseries scshape ttfamily upshape slshape sffamily rmfamily
    normalfont tiny scriptsize footnotesize small normalsize large Large huge displaystyle
    textstyle scriptstyle left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr
    Biggl Biggr limits nolimits centering noindent protect xspace
""")
REFERENCES = _names("""
    cite citep citet citealp citeauthor autocite parencite textcite ref eqref autoref cref
""")
DROPPED = _names("label vspace hspace index begin end")
FRACTIONS = _names("frac tfrac dfrac nicefrac sfrac")
ESCAPED = frozenset("%&#_${}")
SPACING = {"\\": " ", " ": " ", ",": " ", ";": " ", ":": " ", ">": " ", "!": "", "/": "", "-": ""}
ACCENTS = {
    "'": "\u0301", "`": "\u0300", "^": "\u0302", '"': "\u0308", "~": "\u0303", "=": "\u0304",
    ".": "\u0307", "c": "\u0327", "v": "\u030c", "u": "\u0306", "H": "\u030b", "k": "\u0328",
    "r": "\u030a", "b": "\u0331", "d": "\u0323", "hat": "\u0302", "widehat": "\u0302",
    "tilde": "\u0303", "widetilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "ddot": "\u0308",
    "vec": "\u20d7", "check": "\u030c", "breve": "\u0306", "acute": "\u0301", "grave": "\u0300",
}  # fmt: skip
DOTLESS = {r"\i": "i", r"\j": "j", r"\imath": "i", r"\jmath": "j", r"{\i}": "i", r"{\j}": "j"}
RAISED = {
    r"\circ": "°", r"{\circ}": "°", r"{\circ C}": "°C", r"\prime": "′", r"{\prime}": "′",
    "{st}": "st", "{nd}": "nd", "{rd}": "rd", "{th}": "th",
}  # fmt: skip
LATIN_LETTERS = frozenset("øØåÅæÆœŒłŁßđĐ")  # a blank after their macro only ends its name
FUNCTION_NAMES = r"(?:log|exp|min|max|sin|cos|tan|poly|mod)\b"
ENGLISH_APOSTROPHE = re.compile(r"(?:s|t|d|m|re|ve|ll)\b")

_OWN_SYMBOLS = {
    "epsilon": "ε", "varepsilon": "ε", "phi": "φ", "quad": " ", "qquad": " ", "ne": "≠",
    "deg": "°", "degree": "°", "ie": "i.e.", "eg": "e.g.", "etal": "et al.", "etc": "etc.",
    "wrt": "w.r.t.", "item": "•", "S": "§", "pounds": "£", "bullet": "•", "star": "*",
    "ast": "*", "sim": "∼", "mid": "|", "lbrace": "{", "rbrace": "}", "backslash": "\\",
    "newline": " ", "par": "\n\n", "textmu": "μ", "textbackslash": "\\", "TeX": "TeX",
    "LaTeX": "LaTeX", "ldots": "…", "dots": "…", "textendash": "–", "textemdash": "—",
    "textquotesingle": "'", "textasciitilde": "~", "colon": ":", "triangleq": "≜",
    "coloneqq": ":=", "hyphen": "-", "lVert": "‖", "rVert": "‖", "lvert": "|", "rvert": "|",
}  # fmt: skip


@lru_cache(maxsize=4096)
def symbol(name: str) -> str | None:
    """Return the characters of a macro that stands for a symbol or a function's name."""
    if name in _OWN_SYMBOLS:
        return _OWN_SYMBOLS[name]
    found = getattr(_symbol_table().get_macro_spec(name), "simplify_repl", None)
    if not isinstance(found, str):
        return None
    is_name = found.replace(" ", "").isalpha()  # "log", "lim sup"; no "%s", "<cit.>", no date
    return found if len(found) == 1 or is_name else None


@lru_cache(maxsize=1)
def _symbol_table() -> Any:
    from pylatexenc.latex2text import get_default_latex_context_db

    return get_default_latex_context_db()
