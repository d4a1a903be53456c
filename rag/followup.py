"""Questions that lean on the turns before them: what was asked, and which papers are meant. Pure.

A first question is never changed. A follow-up is searched with the earlier questions in their own
words, whatever their language.
"""

import re
from collections.abc import Sequence
from itertools import islice

from .kinds import HAN
from .schema import Paper, Turn
from .text import fold

MAX_TURNS = 3  # earlier questions that a follow-up is searched with
MAX_HISTORY = 20  # turns that are looked through for them
MAX_EARLIER_CHARS = 200  # read of each of them: an embedder sees little more than 1,000 in all
MAX_ANSWER_CHARS = 2000  # of the last answer, looked through for names
MOST_NAMES = 2  # more in one answer single nothing out
SHARED_LETTERS = 5  # "federated" and "federation" are the same word

_BACK = re.compile(
    r"\b(it|its|they|them|their|theirs|this|these|those|he|she|his|her|same|the (former|latter|"
    r"first|second|third|last|other)|(the|that|this) [\w-]+ one)\b"
    # "that" and "there" as pronouns, not in "papers that …", "show that …" and "are there …"
    r"|\b(does|do|did|is|was|can|could|will|would|of|for|with|by|on|to|than|about|like) that\b"
    r"|\bthat( (paper|work|article|study|method|model|approach|result|number|figure)\b|\W*$)"
    r"|(?<!\bare )(?<!\bis )(?<!\bwere )(?<!\bwas )\bthere\b"
    r"|^(and|but|so|also|what about|how about)\b"
    r"|他们|它们|它|这个|那个|这些|那些|其中|这篇|那篇|该(论文|文|方法|模型|工作)|第[一二三四五1-5](篇|个|项)",
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
_A_PAPER = (
    r"(?:one|papers?|study|studies|article|work|abstract|source|result|method|model|approach)"
)
_ORDINAL = re.compile(
    r"\bthe (?P<place>first|second|third|fourth|fifth|1st|2nd|3rd|4th|5th|last|former|latter)\b"
    rf"(?=\s+{_A_PAPER}\b|\s+of (?:them|these|those|the)\b|\W{{0,9}}$|\s*[,;]"
    r"|\s+(?:is|was|does|did|do|has)\b|(?<=former)|(?<=latter))"
    r"|第(?P<chinese>[一二三四五1-5])(?:篇|个|项)",
    re.IGNORECASE,
)
_PLACES = {
    "first": 0, "1st": 0, "一": 0, "1": 0, "former": 0, "second": 1, "2nd": 1, "二": 1, "2": 1,
    "third": 2, "3rd": 2, "三": 2, "3": 2, "fourth": 3, "4th": 3, "四": 3, "4": 3,
    "fifth": 4, "5th": 4, "五": 4, "5": 4, "last": -1, "latter": -1,
}  # fmt: skip
_POINTS = re.compile(
    r"\b(it|its|they|them|their|theirs|he|she|his|her|these|those)\b"
    rf"|\b(the|that|this|these|those|both) ((same|two|three) )?{_A_PAPER}\b"
    r"|\b(does|do|did|is|was|can|could|of|for|with|by|than|about) (that|this)\b(?! [a-z])"
    r"|他们|它们|它|这个|那个|这些|那些|其中|这篇|那篇|该(论文|文|方法|模型|工作)",
    re.IGNORECASE,
)
_DESCRIBED = re.compile(
    r"\b(?:the|that|this)\s+(?P<words>(?:[\w-]+\s+){1,3}?)ones?\b", re.IGNORECASE
)
_EMPTY = re.compile(r"(?:first|second|third|fourth|fifth|last|former|latter|other|same|only|next)$")
_NAME = re.compile(r"\b(?=\w{0,20}[A-Z])[A-Za-z]\w{0,20}(?:[A-Z0-9])\w{0,20}(?:[-+]\w{1,20})*")


def is_courtesy(text: str) -> bool:
    """Say whether a text is nothing but a greeting or thanks."""
    return bool(_COURTESY.match(text))


def leans_back(text: str) -> bool:
    """Say whether a question can only be understood with what was said before."""
    short = len(text.split()) <= 3 and not HAN.search(text) and not _ON_A_NAME.match(text)
    return short or bool(_BACK.search(text))


def earlier_questions(asked: Sequence[str]) -> tuple[str, ...]:
    """Return the last questions that asked for something, oldest first.

    Args:
        asked: The questions of a history, newest first, each fit to be searched.
    """
    real = [text for text in islice(asked, MAX_HISTORY) if text and not is_courtesy(text)]
    return tuple(reversed(real[:MAX_TURNS]))


def papers_meant(text: str, history: Sequence[Turn]) -> tuple[str, ...]:
    """Return the papers of the last answer that a follow-up points at, weightiest first.

    Args:
        text: A question that leans back.
        history: Earlier turns, oldest first.

    Returns:
        One paper for "the second one"; all that the last answer cites for "it", "they" and "the
        federated one" (see ``meant_by_words``); none where nothing is pointed at, as in "and in
        mice?".
    """
    recent = reversed(history[-MAX_HISTORY:])
    cited = next((turn.paper_ids for turn in recent if turn.paper_ids), ())
    if match := _ORDINAL.search(text):
        place = _PLACES[(match["place"] or match["chinese"]).lower()]
        fits = -len(cited) <= place < len(cited)
        return (cited[place],) if fits else ()
    return cited if _POINTS.search(text) or _described(text) else ()


def meant_by_words(text: str, papers: Sequence[Paper]) -> tuple[str, ...]:
    """Return those of some papers that "the federated one" describes; all where it fits none."""
    wanted = _described(text)
    fits = [paper.id for paper in papers if wanted and _tells_of(paper, wanted)]
    return tuple(fits or (paper.id for paper in papers))


def names_of_answer(history: Sequence[Turn]) -> tuple[str, ...]:
    """Return the system names of the last answer, where it cites one paper and names one or two."""
    last = history[-1] if history else Turn("")
    if len(last.paper_ids) != 1:
        return ()
    names = dict.fromkeys(_NAME.findall(last.answer[:MAX_ANSWER_CHARS]))
    return tuple(names) if len(names) <= MOST_NAMES else ()


def _described(text: str) -> list[str]:
    """Return the words before "one" that describe a paper."""
    match = _DESCRIBED.search(text)
    found = fold(match["words"]).split() if match else []
    return [word for word in found if not _EMPTY.match(word)]


def _tells_of(paper: Paper, wanted: Sequence[str]) -> bool:
    text = fold(f"{paper.title} {paper.abstract} {' '.join(paper.authors)}")
    return all(re.search(rf"\b{re.escape(word[:SHARED_LETTERS])}", text) for word in wanted)
