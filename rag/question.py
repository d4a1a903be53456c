"""What a question asks for: one paper or several, a number, whose papers. Rules only. Pure."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from .errors import QuestionError
from .schema import Filters, Turn
from .text import fold

SHORTEST_NAME = 3  # letters of a surname that stands alone
MAX_TURNS = 3  # earlier questions that a follow-up is searched with
MAX_HISTORY = 20  # turns that are looked through for them
MAX_EARLIER_CHARS = 200  # read of each of them: an embedder sees little more than 1,000 in all

_MANY = re.compile(
    r"\b(which|what|list|find|show|name|any|all|how many|are there)\b[^.?!]{0,60}?\b"
    r"(papers|works|articles|studies|publications|abstracts)\b"
    r"|\b(the|those|these)\s+([\w-]+\s+){0,3}(papers|works|articles|studies)\b"
    r"|哪些(论文|文章|工作)|有没有(论文|文章)|有哪些",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"\bhow (many|much|large|big|long|often|far|fast|accurate)\b|\bwhat (is|was|are) the "
    r"(number|share|percentage|rate|score|accuracy|size)\b|\b(percentage|what (score|share|rate|"
    r"accuracy|speed-?up))\b|\bby how\b|\bwhat does .{1,80} score\b|多少|几个",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\b(which|what|list|name)\b(?! (is|was|does|did|do|has|can|goes|happens|occurs|causes|makes|"
    r"drives|keeps|lets|helps|allows|enables|explains|limits|prevents|determines|triggers|leads|"
    r"means|comes|gives|remains|follows|sets)\b)\s+(?:\w+\s+){0,3}?"
    r"(?!(was|does|has|as|its)\b)\w*[^\W\dsi]s\b|\bwhat are\b",
    re.IGNORECASE,
)
_COMPARE = re.compile(
    r"\b(differ|differs|difference|compare[sd]?|comparison|versus|vs\.?|unlike|in contrast)\b",
    re.IGNORECASE,
)
_COMPARATIVE = re.compile(
    r"\b(larger|smaller|better|worse|faster|slower|more|fewer|less|higher|lower)\b", re.IGNORECASE
)
_OR = re.compile(r"\bor\b", re.IGNORECASE)
_BACK = re.compile(
    r"\b(it|its|they|them|their|theirs|this|these|those|he|she|his|her|same|the (former|latter|"
    r"first|second|third|last|other)|(the|that|this) [\w-]+ one)\b"
    # "that" and "there" as pronouns, not in "papers that …", "show that …" and "are there …"
    r"|\b(does|do|did|is|was|can|could|will|would|of|for|with|by|on|to|than|about|like) that\b"
    r"|\bthat( (paper|work|article|study|method|model|approach|result|number|figure)\b|\W*$)"
    r"|(?<!\bare )(?<!\bis )(?<!\bwere )(?<!\bwas )\bthere\b"
    r"|^(and|but|so|also|what about|how about)\b|他们|它们|它|这个|那个|这些|其中",
    re.IGNORECASE,
)
_ON_A_NAME = re.compile(  # "What is EDGE?", "Explain Graph-KV"
    r"(?i:who|what|which|how|why|when|is|does|do|define|explain|describe)\b"
    r".{0,60}?(\w[A-Z]|[A-Za-z]\d|\d[A-Za-z])"
)
_COURTESY = re.compile(
    r"^\W*(thanks?( you)?( (so|very) much| a lot)?|thx|cheers|hi|hello|hey|"
    r"good (morning|day|evening)|bye|goodbye|ok(ay)?|great|nice|cool|perfect|谢谢|你好)\W*$",
    re.IGNORECASE,
)
_AUTHOR = re.compile(
    r"\b(?:(?:co-?)?authored by|written by|(?:papers?|works?|articles?|abstracts?) (?:of|by|from)|"
    r"published by)\s+(?P<name>[^\W\d_][\w'’.-]*(?:\s+[^\W\d_][\w'’.-]*){0,4})",
    re.IGNORECASE,
)
_HAN = re.compile(r"[\u3400-\u9fff]")  # written without spaces
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{3,120})[\"“”«»]")
_FILED = re.compile(
    r"\b(?:filed|listed|classified|categori[sz]ed) (?:under|as|in)\s+(?P<topic>[^?.!\"“”]{3,80})",
    re.IGNORECASE,
)
_TOPICAL = re.compile(
    r"\b(filed|listed|classified|categori[sz]ed|topics?|areas?|categor(y|ies)|tracks?)\b",
    re.IGNORECASE,
)
_JOINERS = "\u200c\u200d"  # part of words in Persian, Hindi and others


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was understood.

    Args:
        text: As typed, trimmed.
        search: What is searched; differs from ``text`` for a follow-up.
        many: It asks for several papers.
        number: It asks for a quantity.
        list: It asks for several things inside a paper.
        compare: It asks to set things against each other.
        follow_up: It leans on earlier turns.
        courtesy: It is a greeting or thanks; nothing is searched.
        authors: Names after "papers by" and the like, to be looked up in the catalogue.
        topics: "Filed under" words, and quoted ones of a question about several papers or a topic,
            to be looked up in the catalogue.
        earlier: The earlier questions that a follow-up leans on, oldest first.
    """

    text: str
    search: str
    many: bool = False
    number: bool = False
    list: bool = False
    compare: bool = False
    follow_up: bool = False
    courtesy: bool = False
    authors: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    earlier: tuple[str, ...] = ()


def check(text: str, *, max_chars: int = 4000) -> str:
    """Return a question that can be searched: trimmed, without control and invisible characters.

    Raises:
        QuestionError: It is empty, has no letter or digit, is too long, or is not valid text.
    """
    if len(text) > max_chars:
        raise QuestionError(
            f"The question has {len(text):,} characters; at most {max_chars:,} are read. "
            "Ask a shorter one."
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise QuestionError(
            f"The question holds half a character at position {exc.start} (a lone surrogate), so "
            "it is not text. Type or paste it again."
        ) from exc
    plain = _visible(text)
    if not plain:
        raise QuestionError("The question is empty. Type what you want to know.")
    if not any(c.isalnum() for c in plain):
        raise QuestionError(
            f"The question {plain[:40]!r} has no word to search for. Ask with words or numbers."
        )
    return plain


def understand(text: str, history: Sequence[Turn] = ()) -> Question:
    """Read a question in the light of the turns before it.

    Args:
        text: A question that ``check`` let pass.
        history: Earlier turns, oldest first. The first turn is never rewritten.

    Returns:
        The question; ``search`` holds earlier questions too where it leans on them.
    """
    question = Question(
        text=text,
        search=text,
        many=bool(_MANY.search(text)),
        number=bool(_NUMBER.search(text)),
        list=bool(_LIST.search(text)),
        compare=_compares(text),
        courtesy=bool(_COURTESY.match(text)),
        authors=tuple(match["name"] for match in _AUTHOR.finditer(text)),
        topics=_topics(text, bool(_MANY.search(text) or _TOPICAL.search(text))),
    )
    if question.courtesy or not history or not leans_back(text):
        return question
    earlier = _earlier(history)
    return replace(
        question, search=" ".join([*earlier, text]), follow_up=bool(earlier), earlier=earlier
    )


def _earlier(history: Sequence[Turn]) -> tuple[str, ...]:
    """Return the last questions of a history that asked for something, fit to be searched."""
    asked = (_visible(turn.question[:MAX_EARLIER_CHARS]) for turn in reversed(history))
    real = [text for text in islice(asked, MAX_HISTORY) if text and not _COURTESY.match(text)]
    return tuple(reversed(real[:MAX_TURNS]))


def _visible(text: str) -> str:
    """Return a text in one line: control characters are spaces, invisible ones are left out."""
    return " ".join("".join(map(_shown, text)).split())


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return "" if unicodedata.category(char) == "Cf" else " "


def leans_back(text: str) -> bool:
    """Say whether a question can only be understood with what was said before."""
    short = len(text.split()) <= 3 and not _HAN.search(text) and not _ON_A_NAME.match(text)
    return short or bool(_BACK.search(text))


def _compares(text: str) -> bool:
    return bool(_COMPARE.search(text) or (_COMPARATIVE.search(text) and _OR.search(text)))


def _topics(text: str, quotes_count: bool) -> tuple[str, ...]:
    quotes = _QUOTED.finditer(text) if quotes_count else ()
    quoted = [match[1].strip(" ,.;") for match in quotes]
    filed = [match["topic"].strip(" ,.;") for match in _FILED.finditer(text)]
    return tuple(dict.fromkeys(part for part in [*quoted, *filed] if part))


def filters_for(question: Question, known: Callable[[Filters], Filters | None]) -> Filters | None:
    """Return the filters that a question states in words, where the catalogue knows the words.

    Args:
        question: The question.
        known: Returns a filter, or a narrower one, if any paper matches; else None.

    Returns:
        What ``known`` returned for the first filter that matches, or None.
    """
    return next((exact for found in _stated(question) if (exact := known(found))), None)


def is_named(name: str, people: Sequence[str]) -> bool:
    """Say whether one of some people has a name, in whole words: "Lin" is not in "Linda Wu".

    Case and accents do not matter.
    """
    whole = re.compile(rf"(?<!\w){re.escape(fold(name))}(?!\w)")
    return any(whole.search(fold(one)) for one in people)


def _stated(question: Question) -> list[Filters]:
    """Return possible filters, narrowest first; a name is tried whole, then shorter."""
    tries: list[Filters] = []
    for name in question.authors:
        words = name.split()
        tries += [Filters(author=" ".join(words[:n])) for n in range(len(words), 1, -1)]
        if len(words[0]) >= SHORTEST_NAME and words[0][0].isupper():
            tries.append(Filters(author=words[0]))
    tries += [Filters(topic=topic) for topic in question.topics]
    return tries
