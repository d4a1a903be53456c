"""Word → stem, so that "optimises", "optimal" and "optimization" meet. Pure."""

from functools import lru_cache

from . import listed

# Tried longest first; what is left must keep at least four letters.
_SUFFIXES = sorted(
    listed(
        "izations isations ization isation ational iveness fulness ousness ability "
        "ibility ations ation ators ator izing ising izers izer isers iser ized ised izes "
        "ises ize ise ments ment nesses ness ities ity ances ance ences ence ingly edly "
        "ings ing ions ion ives ive ically ical ics ic ally al ables able ibles ible ants "
        "ant ents ent ers er ors or ies ied est ed ly ous ful e y"
    ),
    key=len,
    reverse=True,
)
_SHORT = ("ing", "ied", "ed", "er", "e", "y")  # may leave three letters
_DOUBLING = ("ing", "ed", "er")  # planning
_IRREGULAR = {
    "found": "find", "shown": "show", "grew": "grow", "grown": "grow", "fell": "fall",
    "fallen": "fall", "rose": "rise", "risen": "rise", "led": "lead", "built": "build",
    "chosen": "choose", "chose": "choose", "gave": "give", "given": "give", "taken": "take",
    "took": "take", "learnt": "learn", "written": "write", "wrote": "write", "driven": "drive",
    "drove": "drive", "kept": "keep", "held": "hold", "went": "go", "ran": "run", "began": "begin",
    "analyses": "analysis", "data": "data", "datasets": "dataset", "indices": "index",
    "held-out": "hold", "lies": "lie", "dies": "die", "lost": "lose", "sought": "seek",
    "robustness": "robust", "losses": "loss", "loss": "loss", "bias": "bias", "biases": "bias",
    "leaves": "leave", "left": "leave", "children": "child", "women": "woman", "men": "man",
    "mice": "mouse", "theses": "thesis", "hypotheses": "hypothesis", "behaviours": "behavior",
    "behaviour": "behavior", "modelling": "model", "labelled": "label", "does": "do",
    "defence": "defense", "defences": "defense", "licence": "license", "licences": "license",
    "colour": "color", "colours": "color", "centre": "center", "centres": "center",
    "neighbour": "neighbor", "neighbours": "neighbor", "metre": "meter", "metres": "meter",
    "fibre": "fiber", "fibres": "fiber", "labour": "labor", "programme": "program",
}  # fmt: skip


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return the stem of a lower-case word.

    Args:
        word: One word, lower case.

    Returns:
        A stem that related forms share; not always a word.

    Example:
        >>> [stem(w) for w in ("optimises", "optimal", "optimization")]
        ['optim', 'optim', 'optim']
    """
    word = _IRREGULAR.get(word, word)
    if len(word) < 4 or not word.isalpha():
        return word
    return _cut(_singular(word))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _cut(word: str) -> str:
    for suffix in _SUFFIXES:
        shortest = 3 if suffix in _SHORT else 4
        if word.endswith(suffix) and len(word) - len(suffix) >= shortest:
            left = word[: len(word) - len(suffix)]
            if suffix in _DOUBLING and left[-1] == left[-2] and left[-1] not in "ls":
                left = left[:-1]
            return left
    return word


def akin(one: str, other: str) -> bool:
    """Say whether two stems are the same word, or one of them begins the other."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return len(short) >= 5 and long.startswith(short) and long[len(short) :].isalpha()
