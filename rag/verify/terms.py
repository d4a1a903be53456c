"""A term in another's place: "imitation learning" where the source has "reinforcement learning"."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from . import Finding, listed
from .lexicon import CLAUSE_WORDS
from .names import is_spelt_out
from .opposites import opposites
from .reading import Text, Token
from .stems import akin
from .units import NUMBERS

SYNONYM_FROM = 0.95  # cosine of two terms that mean the same

# Words that describe anything; they are replaced freely.
_GENERAL = frozenset(
    listed(
        "additional all-round art next past previous following upcoming "
        " alternative appropriate available average basic best better "
        "big broad careful certain classic classical clear common complete complex "
        "comprehensive considerable conventional costly crucial current deep desired "
        "detailed different difficult distinct diverse earlier easy effective efficient "
        "enough entire essential exact excellent existing expensive extensive extra "
        "extreme fewer final fine full further general good great half hard heavy high "
        "huge important impressive individual initial innovative involved key known large "
        "larger later latest limited little long low machine main major many massive "
        "modern multiple natural neural near necessary notable notably numerous often old "
        "optimal ordinary original overall own particular past popular possible potential "
        "powerful practical present prior previous prominent promising proper quick rapid "
        "real recent regular related relevant remarkable rich robust same separate "
        "several severe short significant similar simple single small solid special "
        "specific standard state-of-the-art strong strongly substantial suitable "
        "sufficient superior task theoretical top total traditional true typical "
        "underlying unique unknown unsolved unseen usual valid valuable various vast "
        "whole wide world worse"
    )
)


# A word behind one of these is a verb and names nothing: "cannot stop", "modules that reduce".
_OF_VERBS = ("amount", "quality", "change", "help")
_BEFORE_VERBS = frozenset(
    listed(
        "to not cannot can could may might must will would should that which who they we already "
        "still also often always"
    )
)


def compare_terms(
    statement: Text,
    source: Text,
    around: Sequence[Text] = (),
    similarity: Callable[[str, str], float] | None = None,
) -> list[Finding]:
    """Find a word that neither source nor paper knows, before a word that has another there.

    Args:
        statement: What was said.
        source: The sentences it rests on.
        around: Title and abstract of their papers, and the question.
        similarity: Cosine of two texts; terms that mean the same are let pass.

    Returns:
        At most one finding, which is not certain: it may be a synonym.
    """
    theirs = list(_terms(source))
    for word, head in _terms(statement):
        if any(text.has(word.stem) for text in (source, *around)) or is_spelt_out(word, around):
            continue
        rivals = [one for one, other in theirs if akin(other.stem, head.stem)]
        rivals = [one for one in rivals if not statement.has(one.stem)]
        if rivals and not any(_is_synonym(word, one, head, similarity) for one in rivals):
            mine, other = f"{word.text} {head.text}", f"{rivals[0].text} {head.text}"
            return [Finding(f"says “{mine}”, the source says “{other}”", wrong=False)]
    return []


def _terms(text: Text) -> Iterator[tuple[Token, Token]]:
    """Yield words with the word right behind them, also across a hyphen."""
    words = [token for token in text.tokens if token.text != "-"]
    for before, (word, head) in zip([None, *words], pairwise(words), strict=False):
        verb = before is not None and before.lower in _BEFORE_VERBS
        gerund = word.lower.endswith("ing") and (before is None or not before.content)
        both = word.content and head.content and word.sentence == head.sentence
        if both and not verb and not gerund and _is_term(word):
            yield word, head


def _is_term(word: Token) -> bool:
    """Leave out words that describe anything, and plurals and verbs in -s, which precede none."""
    if any(group in _OF_VERBS for group, _ in opposites().get(word.lower, ())):
        return False  # compared in ``direction``
    if word.lower in _GENERAL or word.lower in CLAUSE_WORDS or word.lower.endswith(("ly", "ed")):
        return False
    if word.lower in NUMBERS:
        return False
    return not word.lower.endswith("s") or word.lower.endswith(("ss", "us", "is"))


def _is_synonym(
    word: Token, rival: Token, head: Token, similarity: Callable[[str, str], float] | None
) -> bool:
    if similarity is None:
        return False
    return similarity(f"{word.lower} {head.lower}", f"{rival.lower} {head.lower}") >= SYNONYM_FROM
