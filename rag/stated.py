"""The papers that a question's own words ask for: by author, topic, venue and year together.

``question.py`` finds the words; only what the catalogue knows becomes a filter.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from .schema import Filters
from .text import fold, words
from .years import NO_YEARS

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .question import Question

Known = Callable[[Filters], Filters | None]
"""Returns a filter, or a narrower one, if any paper matches; else None."""

SHORTEST_NAME = 3  # letters of a surname that stands alone
_YEAR_AT_END = re.compile(r"\s+((?:19|20)\d\d)$")
_BEFORE_A_VENUE = re.compile(r"^(?:(?:the|proceedings|of|in|annual|\d+(?:st|nd|rd|th)?)\s+)+")
_SPELLINGS = tuple(  # short and long names of the same venue
    tuple(group.split("|"))
    for group in (
        "neurips|nips|neural information processing systems",
        "icml|international conference on machine learning",
        "iclr|international conference on learning representations",
        "aistats|artificial intelligence and statistics",
        "uai|uncertainty in artificial intelligence",
        "colt|conference on learning theory",
        "corl|conference on robot learning",
        "rss|robotics: science and systems|robotics science and systems",
        "icra|international conference on robotics and automation",
        "iros|intelligent robots and systems",
        "aaai|aaai conference on artificial intelligence",
        "ijcai|international joint conference on artificial intelligence",
        "cvpr|computer vision and pattern recognition",
        "iccv|international conference on computer vision",
        "eccv|european conference on computer vision",
        "miccai|medical image computing and computer assisted intervention",
        "emnlp|empirical methods in natural language processing",
        "acl|annual meeting of the association for computational linguistics",
        "naacl|north american chapter of the association for computational linguistics",
        "eacl|european chapter of the association for computational linguistics",
        "tacl|transactions of the association for computational linguistics",
        "coling|international conference on computational linguistics",
        "icassp|acoustics, speech and signal processing",
        "kdd|knowledge discovery and data mining",
        "sigir|research and development in information retrieval",
        "chi|human factors in computing systems",
        "jmlr|journal of machine learning research",
        "tmlr|transactions on machine learning research",
        "tpami|transactions on pattern analysis and machine intelligence",
        "pnas|proceedings of the national academy of sciences",
        "prl|physical review letters",
    )
)


@dataclass(frozen=True, slots=True)
class Stated:
    """What a question's words ask for, as a filter.

    Args:
        filters: The papers meant, or None.
        decisive: They name an author or a topic of the library: the question is answered from
            these papers. A year or a venue alone only narrows where answers are looked for.
        notes: Plain sentences on what was left out, for the reader of the answer.
        said: What the filter means in words, e.g. ("author Ann Author", "from 2023").
    """

    filters: Filters | None = None
    decisive: bool = False
    notes: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


def stated(question: "Question", known: Known) -> Stated:
    """Return the filters that a question states in words, where the catalogue knows the words.

    Args:
        question: The question.
        known: Such as a ``KnownPapers``.

    Returns:
        All conditions together; one that leaves no paper is dropped, with a note.
    """
    found = Stated()
    for said, decisive, filters in _conditions(question, known):
        found = _with(found, said, decisive, filters, known)
    return found


def filters_for(question: "Question", known: Known) -> Filters | None:
    """Return the filters of ``stated``."""
    return stated(question, known).filters


def _with(found: Stated, said: str, decisive: bool, more: Filters | None, known: Known) -> Stated:
    """Add one condition to those found so far, unless no paper would be left."""
    joined = more and (known(_both(found.filters, more)) if found.filters else more)
    if joined:
        return replace(
            found, filters=joined, decisive=found.decisive or decisive, said=(*found.said, said)
        )
    others = f" and also: {', '.join(found.said)}" if more else ""
    note = f"No paper of this library is {said}{others}. “{said}” was left out."
    return replace(found, notes=(*found.notes, note))


def _both(one: Filters, other: Filters) -> Filters:
    """Return a filter for the papers that meet two."""
    ids = one.paper_ids
    if ids is not None and other.paper_ids is not None:
        wanted = set(other.paper_ids)
        ids = tuple(name for name in ids if name in wanted)
    return Filters(
        author=one.author or other.author,
        topic=one.topic or other.topic,
        venue=one.venue or other.venue,
        year_from=one.year_from if other.year_from is None else other.year_from,
        year_to=one.year_to if other.year_to is None else other.year_to,
        paper_ids=other.paper_ids if ids is None else ids,
    )


def _conditions(question: "Question", known: Known) -> Iterator[tuple[str, bool, Filters | None]]:
    """Yield (in words, decisive, filter) of what is stated and known, the weightiest first."""
    if author := _by_authors(question, known):
        yield author[0], True, author[1]
    for topic in question.topics:
        if on_topic := _on_topic(topic, known):
            yield f"on the topic {on_topic[0]}", True, on_topic[1]
            break
    years = question.years
    for name in question.venues:
        if in_venue := _in_venue(name, known):
            filters, year = in_venue
            yield f"in {name}", False, filters
            years = (year, year) if year and years == NO_YEARS else years
            break
    if years != NO_YEARS and (author or question.many or not question.authors):
        yield _in_words(*years), False, known(Filters(year_from=years[0], year_to=years[1]))


def _by_authors(question: "Question", known: Known) -> tuple[str, Filters] | None:
    """Return the papers of all authors named, or, where they share none, of any of them."""
    people = [one for name in question.authors if (one := _by_author(name, known))]
    if not people:
        return None
    said, filters = people[0]
    for name, other in people[1:]:
        if said.endswith(name):
            continue
        if both := known(_both(filters, other)):
            said, filters = f"{said} and {name}", both
        elif filters.paper_ids is not None and other.paper_ids is not None:
            either = dict.fromkeys((*filters.paper_ids, *other.paper_ids))
            said, filters = f"{said} or {name}", Filters(paper_ids=tuple(either))
    return f"by {said}", filters


def _by_author(name: str, known: Known) -> tuple[str, Filters] | None:
    """Look a name up whole, then without its last words; one word must look like a surname."""
    parts = name.split()
    shorter = [" ".join(parts[:n]) for n in range(len(parts), 1, -1)]
    surname = parts[0]
    plain = surname.rstrip(",")
    if (len(plain) >= SHORTEST_NAME and not plain[0].islower()) or not plain.isascii():
        shorter.append(surname if len(parts) == 1 else plain)
    for one in dict.fromkeys(shorter):
        if filters := known(Filters(author=one)):
            return one.rstrip(","), filters
    return None


def _on_topic(text: str, known: Known) -> tuple[str, Filters] | None:
    """Look a topic up whole, then without its last words, down to two."""
    parts = text.split()[:8]
    for n in range(len(parts), min(2, len(parts)) - 1, -1):
        begin = " ".join(parts[:n])
        if len(begin) >= SHORTEST_NAME and (filters := known(Filters(topic=begin))):
            return begin, filters
    return None


def _in_venue(name: str, known: Known) -> tuple[Filters, int | None] | None:
    """Look a venue up with its year, then without; the year then counts for itself."""
    if filters := known(Filters(venue=name)):
        return filters, None
    match = _YEAR_AT_END.search(name)
    if match and (filters := known(Filters(venue=name[: match.start()]))):
        return filters, int(match[1])
    return None


def _in_words(first: int | None, last: int | None) -> str:
    if first is None:
        return f"from {last} or earlier"
    if last is None:
        return f"from {first} or later"
    return f"from {first}" if first == last else f"from {first} to {last}"


class KnownPapers:
    """Says which papers of a catalogue match a name or a year, in whole words.

    Authors, topics and venues are read once, when the first name is looked up; make a new one for
    every question.

    Args:
        catalogue: The library's papers.
    """

    def __init__(self, catalogue: "Catalogue") -> None:
        self._catalogue = catalogue

    def __call__(self, wanted: Filters) -> Filters | None:
        """Return a filter for the papers that match, or None when none does."""
        if wanted.author:
            return self._by(self._rows_of_author(wanted.author))
        if wanted.venue:
            return self._by(self._rows_of_venue(wanted.venue))
        if wanted.topic and not self._has_topic(wanted.topic):
            return None
        return wanted if self._catalogue.matching(wanted) else None

    @cached_property
    def _rows(self) -> list[tuple[str, str, str, str]]:
        """Return (id, authors, topic, venue) of every paper, folded."""
        rows = self._catalogue.db.execute(
            "SELECT id, authors, topic, venue FROM papers ORDER BY seq"
        )
        return [(row[0], row[1], row[2], row[3]) for row in rows]

    def _by(self, ids: Iterator[str]) -> Filters | None:
        found = tuple(ids)
        return Filters(paper_ids=found) if found else None

    def _rows_of_author(self, name: str) -> Iterator[str]:
        longest = max(words(name), key=len, default="")
        for paper_id, authors, _, _ in self._rows:
            if longest in authors and is_named(name, authors.split("; ")):
                yield paper_id

    def _rows_of_venue(self, name: str) -> Iterator[str]:
        year = _YEAR_AT_END.search(name)
        bare = name[: year.start()] if year else name
        group = next((group for group in _SPELLINGS if fold(bare) in group), ())
        is_short = " " not in bare and sum(map(str.isupper, bare)) > 1
        fits = {
            venue
            for venue in {row[3] for row in self._rows}
            if _is_venue(group or (fold(bare),), venue, anywhere=is_short or bool(group))
            and (year is None or year[1] in venue)
        }
        return (paper_id for paper_id, _, _, venue in self._rows if venue in fits)

    def _has_topic(self, topic: str) -> bool:
        whole = _whole(fold(topic))
        return any(whole.search(one) for one in {topic for _, _, topic, _ in self._rows})


def _is_venue(names: Sequence[str], venue: str, *, anywhere: bool) -> bool:
    """Say whether one of some folded names stands for a folded venue.

    A short name may stand anywhere in it; a name in words has to begin it, so that "Machine
    Learning" is not the "Journal of Machine Learning Research".
    """
    if not anywhere:
        begin = _BEFORE_A_VENUE.sub("", venue)
        return any(_whole(name).match(begin) for name in names)
    if "acl" in names and "chapter of the" in venue:  # NAACL and EACL name the ACL too
        return False
    return any(_whole(name).search(venue) for name in names)


def _whole(folded: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)")


def is_named(name: str, people: Sequence[str]) -> bool:
    """Say whether one of some people has a name, in whole words: "Lin" is not in "Linda Wu".

    Case, accents and the order of given name and surname do not matter; an initial stands for a
    given name. A name with a comma at its end has to be the surname.
    """
    if name.endswith(","):
        surname = fold(name.rstrip(","))
        return any(_surname(fold(one)) == surname for one in people)
    whole = _whole(fold(name))
    asked = words(name)
    return any(whole.search(fold(one)) or _same_person(asked, words(one)) for one in people)


def _surname(person: str) -> str:
    before, comma, _ = person.partition(",")
    parts = before.split()
    return before if comma or not parts else parts[-1]


def _same_person(asked: list[str], person: list[str]) -> bool:
    """Compare two names as sets of words, where an initial stands for a longer word."""
    if len(asked) < 2 or len(person) < 2 or max(asked, key=len) not in person:
        return False
    left = [word for word in person if word not in asked]
    for word in asked:
        if word in person:
            continue
        initial = next((one for one in left if _is_initial(one, word)), None)
        if initial is None:
            return False
        left.remove(initial)
    return True


def _is_initial(one: str, other: str) -> bool:
    return min(len(one), len(other)) == 1 and one[0] == other[0]
