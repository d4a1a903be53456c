"""Authors, venues and topics that a question may name; the catalogue decides which exist. Pure."""

import re

MOST = 4  # names of one kind that are looked up
_WORD = r"\b[^\W\d_][\w'’.-]*+"
_CAPITAL = (  # not lower case (near enough), not Chinese
    r"(?<![^\W\u3400-\u9fff])(?<!['’.-])[^\W\d_a-zß-öø-ÿ\u3400-\u9fff](?:[^\W\u3400-\u9fff]|[.-]|['’](?=\w)(?!s\b))*+"
)
_PARTICLE = r"(?:van|von|der|den|de|del|della|di|da|dos|du|la|le|bin|ibn|al|el|ter|ten|zu)"
_CAPITALS = (
    rf"(?:\b(?:{_PARTICLE}\s+){{1,2}})?{_CAPITAL}(?:\s+(?:{_PARTICLE}\s+){{0,2}}{_CAPITAL}){{0,4}}"
)
_NAMES = (  # "Ann Author", "Author, Ann", "Author and Writer", "A. Author, B. Writer & C. Third"
    rf"{_CAPITALS}(?:(?:\s*,\s*(?:and\s+)?|\s+(?:and|&|und|et|y)\s+){_CAPITALS}){{0,3}}"
)
_BY = re.compile(
    r"\b(?:(?:co-?)?authored by|written by|(?:papers?|works?|articles?|abstracts?|publications?|"
    r"studies|artikel|arbeiten|veröffentlichungen|travaux|artículos|trabajos) "
    rf"(?:of|by|from|von|de)|published by|verfasst von|écrits? par)\s+"
    rf"(?P<names>{_WORD}(?:(?:\s*,\s*|\s+|\s*&\s*){_WORD}){{0,9}})",
    re.IGNORECASE,
)
_ACTS = r"(?:find|study|propose|show|report|say|develop|introduce|conclude|do)"
_ACTED = r"(?:found|studied|proposed|shown|reported|said|developed|introduced|concluded|done)"
_WRITES = r"(?:work on|publish|write)"
_WROTE = r"(?:worked on|published|written|authored)"
_PAPER = r"(?:papers?|works?|articles?|stud(?:y|ies)|publications?|abstracts?|research)"
_STRICT = tuple(
    re.compile(pattern)
    for pattern in (
        rf"\b(?:[Dd]id|[Dd]oes|[Dd]o)\s+(?P<names>{_NAMES})\s+(?:et al\.?\s+)?{_WRITES}\b",
        rf"\b(?:[Hh]as|[Hh]ave)\s+(?P<names>{_NAMES})\s+(?:et al\.?\s+)?{_WROTE}\b",
        r"(?:^\W*|[.?!;]\s+|\b(?:[Ii]n|[Aa]ccording to|[Aa]bout|[Ff]rom|[Dd]id|[Dd]oes|[Dd]o|[Ii]s|"
        rf"[Ww]as|[Hh]as|[Hh]ave|that)\s+)(?P<names>{_NAMES})\s+et al\b",
        rf"(?P<names>{_NAMES})\s*等人",
        rf"(?P<names>{_NAMES})['’]s?\s+(?:[a-z0-9-]+\s+)?{_PAPER}\b",
        rf"\b{_PAPER}\s+(?:that\s+)?(?P<names>{_NAMES})\s+(?:wrote|published|authored)\b",
        rf"(?P<names>{_NAMES})\s+(?:\([12]\d\d\d\)|and colleagues|and (?:co-?workers|coauthors))",
        rf"(?P<names>{_NAMES})\s*(?:等人?)?(?:所?(?:写|发表|撰写|合著)过?)?的?(?:论文|文章|著作)",
        rf"作者[是为]\s*(?P<names>{_NAMES})",
        r"作者[是为]\s*(?P<names>[\u4e00-\u9fff]{2,4})",
        r"(?P<names>[\u4e00-\u9fff]{2,4}?)(?:等人)?(?:的|写的|发表的)(?:论文|文章)",
    )
)
_ACTING = tuple(  # a single name here may be a system's: "What does Adam find?"
    re.compile(pattern)
    for pattern in (
        rf"\b(?:[Dd]id|[Dd]oes|[Dd]o)\s+(?P<names>{_NAMES})\s+{_ACTS}\b",
        rf"\b(?:[Hh]as|[Hh]ave)\s+(?P<names>{_NAMES})\s+{_ACTED}\b",
    )
)
_SPLIT = re.compile(
    r"\s*(?:,\s*and\s|,|;|&|\band\b|\bund\b|\bet\b(?!\s+al)|\by\b)\s*", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"['’]s?$")
_ASKING = re.compile(
    r"^(?:(?:Which|What|Who|How|Why|When|Where|Is|Are|Do|Does|Did|Has|Have|The|A|An|In|On|Of|And)"
    r"(?:\s+|$))+"
)

_ACRONYM = r"(?<![^\W\u3400-\u9fff])(?=[a-z]*[A-Z][a-z]*[A-Z])[A-Za-z]{2,20}+(?:\s+(?:19|20)\d\d)?"
_VENUE_NAME = (
    rf"{_CAPITAL}(?:\s+(?:(?:of|on|the|and|in|for|&)\s+){{0,2}}{_CAPITAL}){{0,7}}"
    r"(?:\s+(?:19|20)\d\d)?"
)
_LINKS = r"(?:that|which|were|was|are|is|have|has|been|published|presented|accepted|appearing)"
_VENUES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b(?:[Pp]apers?|[Ww]orks?|[Aa]rticles?|[Aa]bstracts?|[Ss]tudies|[Pp]ublished|[Pp]resented|"
        rf"[Aa]ccepted|[Aa]ppear(?:ed|s)?|[Pp]ublications?)(?:\s+{_LINKS}){{0,4}}\s+(?:at|in|from)\s+"
        rf"(?:the\s+)?(?P<venue>{_VENUE_NAME})",
        rf"(?P<venue>{_ACRONYM})\s+{_PAPER}\b",
        rf"^(?:[Ii]n|[Aa]t)\s+(?:the\s+)?(?P<venue>{_VENUE_NAME})\s*,",
        rf"(?:发表|刊登|收录)(?:在|于)\s*(?P<venue>{_VENUE_NAME})",
        rf"(?P<venue>{_ACRONYM})\s*年?(?:上|会议)?(?:发表)?的?(?:论文|文章)",
    )
)

_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]{3,120})[\"“”«»]")
_FILED = re.compile(
    r"\b(?:filed|listed|classified|categori[sz]ed) (?:under|as|in)\s+(?P<topic>[^?.!\"“”]{3,80})",
    re.IGNORECASE,
)
_TOPICAL = re.compile(
    r"\b(filed|listed|classified|categori[sz]ed|topics?|areas?|categor(y|ies)|tracks?)\b",
    re.IGNORECASE,
)
_OF_TOPIC = re.compile(
    r"\b(?:the|in|on|under|with|of)\s+(?:the\s+)?(?:topics?|areas?|fields?|categor(?:y|ies)|tracks?)"
    r"\s+(?:of\s+|is\s+|are\s+|:\s*)?(?P<topic>[^\W\d_][^?.!,\"“”]{2,80})",
    re.IGNORECASE,
)


def authors_in(text: str) -> tuple[str, ...]:
    """Return the names that a question may use for authors, as typed.

    A single name met where a system or a thing may stand as well ("Adam's work") is returned with
    a comma behind it: only a surname is meant, see ``is_named``.
    """
    found = [name for match in _BY.finditer(text) for name in _people(match["names"])]
    for pattern in _STRICT:
        for match in pattern.finditer(text):
            found += [_surname(name) for name in _people(match["names"])]
    for pattern in _ACTING:
        for match in pattern.finditer(text):
            found += [name for name in _people(match["names"]) if " " in name]
    return tuple(dict.fromkeys(name for name in found if name))[:MOST]


def venues_in(text: str) -> tuple[str, ...]:
    """Return the names that a question may use for venues, with their year where one follows."""
    found = [match["venue"] for pattern in _VENUES for match in pattern.finditer(text)]
    return tuple(dict.fromkeys(name.strip(" .-") for name in found))[:MOST]


def topics_in(text: str, *, many: bool) -> tuple[str, ...]:
    """Return the words that a question may use for a topic of the library.

    Args:
        text: The question.
        many: It asks for several papers, so that quoted words and "the area of" name a topic.
    """
    quotes = _QUOTED.finditer(text) if many or _TOPICAL.search(text) else ()
    found = [match[1] for match in quotes]
    found += [match["topic"] for match in _FILED.finditer(text)]
    found += [match["topic"] for match in _OF_TOPIC.finditer(text)] if many else []
    return tuple(dict.fromkeys(part for one in found if (part := one.strip(" ,.;"))))


def _people(phrase: str) -> list[str]:
    """Split "A. Author, B. Writer and C. Third"; "Author, Ann" is one person, tried first."""
    plain = _POSSESSIVE.sub("", phrase.strip())
    parts = [_without_asking(part) for part in _SPLIT.split(plain)]
    people = [part for part in parts if part]
    if len(parts) == 2 and "," in plain and len(parts[0].split()) == 1:
        return [f"{parts[0]}, {parts[1]}", *people[:1]]
    return people


def _without_asking(name: str) -> str:
    return _ASKING.sub("", _POSSESSIVE.sub("", " ".join(name.strip(" ,.;").split())))


def _surname(name: str) -> str:
    """Mark a single name as a surname; one in capitals or with a digit is a system's."""
    if " " in name or not name.isascii():
        return name
    if name.isupper() or any(map(str.isdigit, name)):
        return ""
    return f"{name}," if name else ""
