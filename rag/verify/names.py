"""Names of systems, data sets and measures that a statement uses and its source does not. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from . import Finding, listed
from .lexicon import MEASURES
from .reading import Text, Token
from .stems import stem

# Short forms that any paper may use without having written them.
_COMMON = frozenset(
    listed(
        "ai ml nlp sota llm llms cv dl gpu gpus cpu cpus api apis rl id ids us uk eu usa "
        "pdf url i ii iii iv o q a vs 2d 3d 1d"
    )
)
_SHAPE = re.compile(r"[\W_]+")
_PARTS = re.compile(r"[-/&+]")


def names_in(text: Text) -> list[Token]:
    """Return the names of a text: words with a digit, or with a capital that opens no sentence."""
    return [token for token in text.tokens if _is_name(token)]


def _is_name(token: Token) -> bool:
    if token.kind != "word" or len(token.text) < 2 or token.lower in _COMMON:
        return False
    inner = any(char.isupper() or char.isdigit() for char in token.text[1:])
    return inner or (token.text[0].isupper() and not token.first)


def compare_names(
    statement: Text, source: Text, around: Sequence[Text] = (), question: Text | None = None
) -> list[Finding]:
    """Look for every name of a statement in its source, the source's paper, and the question.

    Args:
        statement: What was said.
        source: The sentences it rests on.
        around: Title and abstract of their papers.
        question: What was asked.

    Returns:
        A wrong finding for a name that is nowhere, or that the question alone knows while the
        source has another in its place.
    """
    known = [source, *around, *([question] if question else [])]
    pools = [_pool(text) for text in known]
    findings = []
    for token in names_in(statement):
        name = _key(token.text)
        if any(_holds(name, pool) for pool in pools) or is_spelt_out(token, known):
            continue
        if not _is_plain_word(token, known) and not _has_parts(token, pools):
            findings.append(Finding(f"“{token.text}” does not occur in the source"))
    moved = _moved(statement, source, around, question)
    return [*findings, *_measures(statement, source, around), *moved]


def _moved(
    statement: Text, source: Text, around: Sequence[Text], question: Text | None
) -> Iterator[Finding]:
    """Doubt a name from elsewhere in the abstract where the source has one that is not taken over.

    The name that the abstract has most often, as a rule that of its own system, may stand anywhere.
    """
    near, far, said = _pool(source), [_pool(text) for text in around], _pool(statement)
    rival = next((one for one in _written(source) if not _holds(_key(one.text), said)), None)
    if rival is None:
        return
    counts = Counter(_key(one.text) for text in around for one in _written(text))
    most = max(counts.values(), default=0)
    own = {name for name, count in counts.items() if count == most}
    asked = _pool(question) if question else ("", frozenset[str]())
    for token in _written(statement):
        name = _key(token.text)
        elsewhere = any(_holds(name, pool) for pool in far) and not _holds(name, near)
        is_free = name in own or _holds(name, asked) or is_spelt_out(token, [source])
        if elsewhere and not is_free:
            reason = f"the source speaks of “{rival.text}”, not of “{token.text}”"
            yield Finding(reason, wrong=False)


def _written(text: Text) -> list[Token]:
    """Return the names that are written as no other word: with a digit or a capital inside."""
    return [one for one in names_in(text) if any(c.isupper() or c.isdigit() for c in one.text[1:])]


def _key(text: str) -> str:
    return _SHAPE.sub("", text.lower())


def _pool(text: Text) -> tuple[str, frozenset[str]]:
    """Return all letters and digits run together, with the words as a set."""
    words = [_key(token.text) for token in text.tokens]
    parts = [_key(part) for token in text.tokens for part in _PARTS.split(token.text)]
    return "".join(words), frozenset([*words, *parts])


def _holds(name: str, pool: tuple[str, frozenset[str]]) -> bool:
    run, words = pool
    singular = name.removesuffix("s")
    if name in words or singular in words or f"{name}s" in words:
        return True
    return len(name) >= 5 and name in run and not name[-1].isdigit()


def _has_parts(token: Token, pools: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Say whether every part of a compound occurs: "RecQ-class", "CD4/CD8"."""
    parts = [_key(part) for part in _PARTS.split(token.text) if part]
    return len(parts) > 1 and all(
        any(_holds(part, pool) for pool in pools) and not part.isdigit() for part in parts
    )


def _is_plain_word(token: Token, known: Sequence[Text]) -> bool:
    """Say whether it is an ordinary word with a capital: "Moreover", "the Monitor", a heading."""
    if any(char.isupper() or char.isdigit() for char in token.text[1:]):
        return False
    return any(text.has(token.stem) for text in known)


def is_spelt_out(token: Token, known: Sequence[Text]) -> bool:
    """Say whether an acronym is spelt out in one of some texts: "SSM", "state space models"."""
    letters = token.text.removesuffix("s").lower()
    if not (letters.isalpha() and token.text[:2].isupper() and 2 <= len(letters) <= 7):
        return False
    return any(letters in _initials(text) for text in known)


def _initials(text: Text) -> str:
    return "".join(
        t.lower[0] if t.kind == "word" else " " if t.text != "-" else "" for t in text.tokens
    )


def _measures(statement: Text, source: Text, around: Sequence[Text]) -> Iterator[Finding]:
    """Yield a finding where one measure was put in another's place: recall for accuracy."""
    theirs = [token.lower for token in source.tokens if token.lower in MEASURES]
    heard = frozenset().union(*(text.lowers for text in (source, *around)))
    stems = {stem(word) for word in heard}
    for token in statement.tokens:
        is_new = token.lower in MEASURES and token.stem not in stems and not _is_name(token)
        if is_new and theirs and not any(one in statement.lowers for one in theirs):
            yield Finding(f"says “{token.text}”, the source says “{theirs[0]}”")
