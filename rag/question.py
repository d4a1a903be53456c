"""What a question asks for: one paper or several, a number, whose papers. Rules only. Pure.

The parts stand in their own files: the kind of answer in ``kinds``, authors, venues and topics in
``mentions``, years in ``years``, filters in ``stated``, follow-ups in ``followup``, Chinese in
``bilingual``, German, French and Spanish in ``european``, typing errors in ``spelling``, acronyms
in ``acronyms``.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from . import bilingual, european, followup, kinds, mentions
from .errors import QuestionError
from .followup import MAX_EARLIER_CHARS, MAX_HISTORY, MAX_TURNS, leans_back
from .kinds import Language, Wanted
from .schema import Paper, Turn
from .spelling import corrected
from .stated import KnownPapers, Stated, filters_for, is_named, stated
from .years import NO_YEARS, Years, years_in

__all__ = [
    "MAX_EARLIER_CHARS",
    "MAX_HISTORY",
    "MAX_TURNS",
    "KnownPapers",
    "Question",
    "Stated",
    "check",
    "filters_for",
    "is_named",
    "leans_back",
    "preferring",
    "respelled",
    "stated",
    "understand",
]

_JOINERS = "\u200c\u200d"  # part of words in Persian, Hindi and others


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it was understood.

    Args:
        text: As typed, trimmed.
        search: What is searched; differs from ``text`` for a follow-up, a mistyped word and a
            question in another language, which is followed by its English terms.
        many: It asks for several papers.
        number: It asks for a quantity.
        list: It asks for several things inside a paper.
        compare: It asks to set things against each other.
        follow_up: It leans on earlier turns.
        courtesy: It is a greeting or thanks; nothing is searched.
        authors: Names that may be authors', to be looked up in the catalogue; one with a comma at
            its end can only be a surname.
        topics: "Filed under" words, and quoted ones of a question about several papers or a topic,
            to be looked up in the catalogue.
        earlier: The earlier questions that a follow-up leans on, oldest first.
        venues: Names that may be venues', with their year where one follows.
        years: First and last year of publication that it names; None where that end is open.
        yes_no: It asks whether something is so.
        claim: It states something, for or against which sentences are sought.
        wanted: The kind of answer: "number", "list", "name", "authors" (who wrote it), "yes/no",
            "reason", "way", "definition", "papers", or "" where its form does not say.
        unit: What a number counts or is measured in, as typed; "%" for shares, "times" for factors.
        language: What it is written in; "en" when in doubt.
        reading: Its words as they are compared with English abstracts, where these differ from
            ``text``: typing errors corrected, terms of other languages in English. See ``asked``.
        corrected: Words read as others: (typed, read).
        prefer: Papers of the last answer that a follow-up points at, weightiest first.
        names: System names of the last answer, where it rests on one paper that is pointed at.
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
    venues: tuple[str, ...] = ()
    years: Years = NO_YEARS
    yes_no: bool = False
    claim: bool = False
    wanted: Wanted = ""
    unit: str = ""
    language: Language = "en"
    reading: str = ""
    corrected: tuple[tuple[str, str], ...] = ()
    prefer: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def asked(self) -> str:
        """Return the question's own words as they are compared with abstracts."""
        return self.reading or self.text


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
    if followup.is_courtesy(text):
        return Question(text, text, courtesy=True)
    language = kinds.language_of(text)
    kind = kinds.kinds_of(text, language)
    question = Question(
        text,
        text,
        many=kind.many,
        number=kind.number,
        list=kind.list,
        compare=kind.compare,
        authors=mentions.authors_in(text),
        topics=mentions.topics_in(text, many=kind.many),
        venues=mentions.venues_in(text),
        years=years_in(text),
        yes_no=kind.yes_no,
        claim=kind.claim,
        wanted=kind.wanted,
        unit=kind.unit,
        language=language,
        reading=_in_english(text, language),
    )
    return _searchable(_after(question, history))


def _after(question: Question, history: Sequence[Turn]) -> Question:
    """Add what a follow-up leans on."""
    if not history or not leans_back(question.text):
        return question
    recent = reversed(history[-MAX_HISTORY:])
    asked = [_visible(turn.question[:MAX_EARLIER_CHARS]) for turn in recent]
    earlier = followup.earlier_questions(asked)
    prefer = followup.papers_meant(question.text, history) if earlier else ()
    names = followup.names_of_answer(history) if prefer else ()
    new = [name for name in names if name not in " ".join([*earlier, question.text])]
    return replace(
        question, follow_up=bool(earlier), earlier=earlier, prefer=prefer, names=tuple(new)
    )


def _searchable(question: Question) -> Question:
    """Put together what is searched: earlier questions, this one, names, and English terms."""
    own = question.asked if question.language == "en" else question.text
    english = [_in_english(one, kinds.language_of(one)) for one in question.earlier]
    if question.language != "en":
        english.append(question.reading)
    parts = [*question.earlier, own, *question.names, *english]
    return replace(question, search=" ".join(part for part in parts if part))


def _in_english(text: str, language: Language) -> str:
    """Return the English search words of a question in another language; "" for none."""
    if language == "zh":
        return bilingual.to_english(text)
    return "" if language == "en" else european.to_english(text, language)


def respelled(question: Question, words: Sequence[tuple[str, str]]) -> Question:
    """Return a question read with some words corrected.

    Args:
        question: The question.
        words: (typed, read), as ``TermIndex.corrections`` returns them; empty changes nothing.

    Returns:
        The question with ``corrected``, ``reading`` and ``search`` set; ``text`` stays as typed.
    """
    if not words:
        return question
    reading = corrected(question.asked, words)
    return _searchable(replace(question, reading=reading, corrected=tuple(words)))


def preferring(question: Question, papers: Sequence[Paper]) -> Question:
    """Narrow the papers that a follow-up points at by its own words ("the federated one").

    Args:
        question: The question.
        papers: The papers of ``question.prefer``, in that order.
    """
    if len(question.prefer) < 2:
        return question
    return replace(question, prefer=followup.meant_by_words(question.text, papers))


def _visible(text: str) -> str:
    """Return a text in one line: control characters are spaces, invisible ones are left out."""
    return " ".join("".join(map(_shown, text)).split())


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return "" if unicodedata.category(char) == "Cf" else " "
