"""Years of publication that a question states in words: "papers from 2023", "since 2021". Pure.

A year counts only where the words around it speak of papers or of publishing. "AIME 2024" and
"election data from 2012" name things, not publications.
"""

import re

Years = tuple[int | None, int | None]
"""First and last year, both inclusive; None where that end is open."""

NO_YEARS: Years = (None, None)
_LOOK = 90  # characters before and after a year that are looked at
_YEAR = r"(?:1[89]|20)\d\d"
_SINCE = "since|seit|ab|depuis|desde"
_AFTER = "after|later than|nach|après|después de"
_BEFORE = "before|earlier than|prior to|vor|avant|antes de"
_UNTIL = "until|till|up to|bis|jusqu'en|jusqu’en|hasta"
_IN = "in|from|of|during|im jahr|aus|von|en|de|del?|dated"
_RANGE = re.compile(
    rf"(?<![\w./-])(?:"
    rf"(?:(?:between|from|in|of|during|zwischen|von|entre|de)\s+)?(?:the\s+years?\s+)?"
    rf"(?P<first>{_YEAR})\s*(?:-|–|—|to|and|until|through|till|bis|und|à|et|a|y)\s*"
    rf"(?P<last>{_YEAR})"
    rf"|(?:(?P<since>{_SINCE})|(?P<after>{_AFTER})|(?P<before>{_BEFORE})|(?P<until>{_UNTIL})"
    rf"|(?P<within>{_IN}))\s+(?:(?:the|das|l'|l’|el)\s*)?(?:(?:years?|jahr|année|año)\s+)?"
    rf"(?P<year>{_YEAR})"
    rf"(?P<on>\s+on(?:wards?)?\b|\s+(?:or|and)\s+(?:later|newer|after)\b|\s+to\s+(?:today|now|date)\b)?"
    rf"(?P<back>\s+(?:or|and)\s+(?:earlier|before|older)\b)?"
    rf"|(?:in|from|of)\s+the\s+(?P<decade>(?:19|20)\d)0s"
    rf"|(?P<bare>{_YEAR})"
    rf")(?![\w%]|[-–—]\w|[.,]\d)",
    re.IGNORECASE,
)
_PAPERS = (
    r"(?:papers?|works?|articles?|study|studies|publications?|abstracts?|preprints?|surveys?|"
    r"literature|research|artikel|arbeiten|veröffentlichungen|travaux|artículos?|trabajos?|"
    r"estudios?|études?)"
)
_LINKS = (
    r"(?:that|which|were|was|are|is|have|has|been|only|all|published|written|released|dated|"
    r"dating|back|made|submitted|appeared|here|die|les|los|qui|que)"
)
_PUBLISHED = (
    r"(?:publish(?:ed|es)?|written|wrote|appear(?:ed|s)?|presented|released|came out|come out|"
    r"accepted|veröffentlicht(?:e[ns]?)?|publiée?s?|publicad[oa]s?)"
)
_ON_PAPERS = re.compile(rf"\b{_PAPERS}(?:\s+{_LINKS}){{0,4}}\s*[,(]?\s*$", re.IGNORECASE)
_ON_PUBLISHED = re.compile(rf"\b{_PUBLISHED}\b(?:\s+[^\s?.!]{{1,30}}){{0,6}}\s*$", re.IGNORECASE)
_PAPERS_FAR = re.compile(rf"\b{_PAPERS}\b[^?.!]*$", re.IGNORECASE)
_DONE = re.compile(r"\bwhat (?:has|have|else has) been [^?.!]*$", re.IGNORECASE)
_CITED = re.compile(r"(?:\bet al\.?,?\s*\(?|[A-Z][\w'’-]{1,40},?\s*\()\s*$")
_OPENING = re.compile(r"^\W*(?:and |but |so )?$", re.IGNORECASE)
_PAPERS_FOLLOW = re.compile(rf"^,?[^?.!]{{0,50}}\b(?:{_PAPERS}|{_PUBLISHED})\b", re.IGNORECASE)
_PAPERS_NEXT = re.compile(rf"^\s+{_PAPERS}\b", re.IGNORECASE)
_THING = (  # what has a year of its own
    r"(?:data|dataset|datasets|corpus|corpora|election|elections|census|survey|surveys|season|game|"
    r"games|olympics|competition|competitions|challenge|challenges|contest|benchmark|benchmarks|"
    r"images|records|measurements|tweets|posts|news|articles|exam|exams|test|tests|task|tasks|"
    r"track|edition|version|pandemic|outbreak|crisis|war|collected|measured|recorded|observed|"
    r"reported|sampled|questions|problems|samples|observations|cohort|emissions|prices|sales)"
)
_OF_A_THING = re.compile(rf"\b{_THING}\s*[,(]?\s*$", re.IGNORECASE)
_THING_NEXT = re.compile(rf"^\s+(?:[\w'’-]+\s+)?{_THING}\b", re.IGNORECASE)
_NAMED = re.compile(
    r"(?:^|\s)(?!(?:The|Which|What|All|Any|List|Find|Show|My|Our)\s)\S*[A-Z]\S*\s*$"
)
_CHINESE = re.compile(
    rf"(?P<first>{_YEAR})\s*年?\s*(?:到|至|-|–|—|~)\s*(?P<last>{_YEAR})\s*年"
    rf"|(?P<year>{_YEAR})\s*年?\s*(?P<side>以来|之后|以后|后|起|至今|以前|之前|前|及以后|及以前)?"
)
_CHINESE_PAPERS = re.compile(
    r"^(?:间|期间)?(?:\s|发表|出版|刊登|提出|在[^。?？]{1,20}上|的|过|有|哪些|哪几篇|什么|所有)*(?:论文|文章|文献|工作|研究|发表|综述)"
)
_CHINESE_BEFORE = re.compile(r"(?:发表|出版|刊登)(?:于|在)\s*$")
_EARLIER = ("以前", "之前", "前", "及以前")


def years_in(text: str) -> Years:
    """Return the years of publication that a question asks for, or ``NO_YEARS``.

    Args:
        text: The question.

    Returns:
        The first stated range; ``(2021, None)`` for "since 2021".

    Example:
        >>> years_in("Which papers from 2023 study moss?")
        (2023, 2023)
        >>> years_in("How well does it do on AIME 2024?")
        (None, None)
    """
    for match in _RANGE.finditer(text):
        before = text[max(0, match.start() - _LOOK) : match.start()]
        after = text[match.end() : match.end() + _LOOK]
        if _of_publication(match, before, after):
            return _range(match)
    return _chinese(text)


def _of_publication(match: re.Match[str], before: str, after: str) -> bool:
    """Say whether the words around a year speak of the year in which papers appeared."""
    if _THING_NEXT.match(after) or (_OF_A_THING.search(before) and not _ON_PAPERS.search(before)):
        return False
    if _CITED.search(before):
        return True
    if match["bare"]:
        return bool(_PAPERS_NEXT.match(after)) and not _NAMED.search(before)
    if _ON_PAPERS.search(before) or _ON_PUBLISHED.search(before):
        return True
    if _OPENING.match(before):
        return bool(_PAPERS_FOLLOW.match(after))
    if not (match["since"] or (match["within"] or "").lower() == "from"):
        return False
    return bool(_PAPERS_FAR.search(before) or _DONE.search(before))


def _range(match: re.Match[str]) -> Years:
    if match["first"]:
        return int(match["first"]), int(match["last"])
    if match["decade"]:
        start = int(match["decade"]) * 10
        return start, start + 9
    year = int(match["year"] or match["bare"])
    if match["after"]:
        return year + 1, None
    if match["before"]:
        return None, year - 1
    if match["since"] or match["on"]:
        return year, None
    if match["until"] or match["back"]:
        return None, year
    return year, year


def _chinese(text: str) -> Years:
    """Read "2023年的论文", "2019年到2022年发表的文章", "2021年以来的研究"."""
    for match in _CHINESE.finditer(text):
        after = text[match.end() : match.end() + _LOOK]
        told = "年" in match[0]
        if not (told and _CHINESE_PAPERS.match(after)) and not _CHINESE_BEFORE.search(
            text[max(0, match.start() - 10) : match.start()]
        ):
            continue
        if match["first"]:
            return int(match["first"]), int(match["last"])
        year, side = int(match["year"]), match["side"]
        if side in _EARLIER:
            return None, year if side == "及以前" else year - 1
        return (year, None) if side else (year, year)
    return NO_YEARS
