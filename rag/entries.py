"""What every bibliography format needs of a paper: key, names, kind of work, address. Pure."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from .schema import Paper
from .text import fold, words

OPENING_WORDS = 8  # that stand for a missing title
LONGEST_KEY_PART = 24
LONGEST_DETAIL = 200
LARGEST_NUMBER = 10**12

# Entry type → its RIS and CSL types, and the BibTeX field that says where the work appeared.
TYPES = {
    "article": ("JOUR", "article-journal", "journal"),
    "inproceedings": ("CPAPER", "paper-conference", "booktitle"),
    "incollection": ("CHAP", "chapter", "booktitle"),
    "book": ("BOOK", "book", "series"),
    "phdthesis": ("THES", "thesis", "howpublished"),
    "techreport": ("RPRT", "report", "howpublished"),
    "misc": ("GEN", "document", "howpublished"),
}
_OF_RIS = {ris: entry for entry, (ris, _, _) in TYPES.items()} | {"CONF": "inproceedings"}
_CONFERENCE_WORDS = """
    conference proceedings proc workshop symposium congress meeting convention colloquium aaai
    aacl acl aistats asplos bmvc cav chi cikm colt coling colm conll corl crypto cscw cvpr eacl
    eccv ecir ecml emnlp esop eurocrypt focs fse iccv icalp icassp iclr icml icra icse ijcai
    ijcnlp interspeech iros isca issta kdd lrec miccai micro mlsys naacl ndss neurips nips nsdi
    osdi oopsla pldi pods podc popl rss sigcomm siggraph sigir sigmod soda sosp spaa stacs stoc
    uai uist usenix vldb wacv wsdm www
"""
_CONFERENCES = frozenset(_CONFERENCE_WORDS.split())
_JOURNAL_WORDS = """
    journal transactions letters review reviews annals bulletin magazine quarterly archives
    acta frontiers nature plos bmc lancet jama pnas pvldb jmlr tmlr tacl tpami ijcv revue
    revista zeitschrift
"""
_JOURNALS = frozenset(_JOURNAL_WORDS.split())
_JOURNAL_NAMES = frozenset(("science", "cell", "machine learning", "neural computation"))
_JOURNAL_PROCEEDINGS = re.compile(
    r"proceedings of the (?:national academy|royal society|ieee$|vldb endowment|acm on)"
)

_SUFFIX = re.compile(r",?\s(jr|sr|ii|iii|iv)\.?$", re.IGNORECASE)
_GROUP_WORDS = """
    collaboration committee community consortium group initiative institute network
    organization organisation others project society team university
"""
_GROUPS = frozenset(_GROUP_WORDS.split())
_ARTICLES = frozenset(("a", "an", "the"))

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_UNSAFE_IN_ADDRESS = re.compile(r"""[\s{}\\"<>^`|]""")
_DASH = re.compile(r"\s?[-–—]{1,3}\s?")


# ---- what a paper is called ------------------------------------------------------------------


def title_of(paper: Paper) -> str:
    """Return the title, or the abstract's opening words in brackets."""
    if paper.title.strip():
        return line(paper.title)
    abstract = paper.abstract.split()
    opening = line(" ".join(abstract[:OPENING_WORDS]))
    return f"[{opening}{' …' if len(abstract) > OPENING_WORDS else ''}]" if opening else ""


def line(text: str) -> str:
    """Put a value on one line, without characters that no file should hold."""
    return " ".join(_CONTROL.sub(" ", text).split())


def keys_of(papers: Sequence[Paper]) -> list[str]:
    """Return a key for each paper: who, when, first word; letters part those that clash."""
    bases = [_key(paper) for paper in papers]
    times = Counter(bases)
    used = {base for base, number in times.items() if number == 1}
    suffixes = {base: (_letters(n) for n in count()) for base in times}
    keys = []
    for base in bases:
        key = base
        if times[base] > 1:
            key = next(base + letters for letters in suffixes[base] if base + letters not in used)
            used.add(key)
        keys.append(key)
    return keys


def _letters(number: int) -> str:
    """Count from 0: a, b, and after z: aa, ab."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("a") + last)


def _key(paper: Paper) -> str:
    who = _key_part([part_name(author).family for author in paper.authors[:1]]) or "anon"
    opening = words(paper.title or paper.abstract[:500])[:20]
    first = _key_part([word for word in opening if word not in _ARTICLES])
    return f"{who}{paper.year if paper.year is not None else '-'}{first}".rstrip("-")


def _key_part(texts: Sequence[str]) -> str:
    """Return the first text that has letters or digits of ASCII, as BibTeX takes no others."""
    plain = (re.sub(r"[^a-z0-9]", "", fold(text)) for text in texts)
    return next((part[:LONGEST_KEY_PART] for part in plain if part), "")


@dataclass(frozen=True, slots=True)
class Name:
    """An author's name in parts."""

    family: str  # the whole name of a group, or of someone with a single name
    given: str = ""
    suffix: str = ""

    @property
    def inverted(self) -> str:
        """Return ``Family, Given, Suffix``."""
        return ", ".join(part for part in (self.family, self.given, self.suffix) if part)


def part_name(text: str) -> Name:
    """Part a name in reading order, or ``Last, First``; small words belong to the family name."""
    text = line(text)
    if text.count(",") > 2 or "‚" in text or _is_group(text):
        return Name(text)
    match = _SUFFIX.search(text)
    body, suffix = (text[: match.start()], match[0].strip(", ")) if match else (text, "")
    if "," in body:
        family, _, given = (part.strip() for part in body.partition(","))
        return Name(family, given, suffix) if family and given else Name(text)
    parts = body.split()
    start = len(parts) - 1
    while start > 1 and parts[start - 1].islower():
        start -= 1
    return Name(" ".join(parts[start:]), " ".join(parts[:start]), suffix) if parts else Name(text)


def _is_group(text: str) -> bool:
    parts = text.lower().split()
    return "and" in parts or (bool(parts) and parts[-1] in _GROUPS)


# ---- what kind of work it is -----------------------------------------------------------------


def type_of(paper: Paper) -> str:
    """Return the entry type: as the source says, else by the venue's name, else ``misc``."""
    said = str(paper.extra.get("entry_type", "")).lower()
    said = said if said in TYPES else _OF_RIS.get(str(paper.extra.get("type_of_reference")), "")
    if said:
        return said
    venue = " ".join(fold(paper.venue or "").split())
    named = {word.rstrip("0123456789") for word in words(venue)}
    if "arxiv" in named:
        return "misc"
    if not _JOURNAL_PROCEEDINGS.match(venue):
        if named & _CONFERENCES or venue.startswith("advances in neural information"):
            return "inproceedings"
        if not named & _JOURNALS and venue not in _JOURNAL_NAMES:
            return "misc"
    return "article"


def detail(extra: Mapping[str, object], *names: str) -> str:
    """Return the first of some fields that holds a short text or a number."""
    values = [extra.get(name) for name in names]
    texts = [line(str(value)) for value in values if _is_short(value)]
    return next((text for text in texts if text), "")


def _is_short(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) < LARGEST_NUMBER
    return isinstance(value, str) and len(value) <= LONGEST_DETAIL


def pages(extra: Mapping[str, object]) -> tuple[str, str]:
    """Return the first and the last page, each empty where it is not known."""
    first, *rest = _DASH.split(detail(extra, "pages", "start_page", "page"), maxsplit=1)
    return first, rest[0] if rest else detail(extra, "end_page")


def address_of(paper: Paper) -> str:
    """Return where the paper is found; what could end the field is percent-encoded."""
    url = paper.url or (f"https://arxiv.org/abs/{paper.arxiv_id}" if paper.arxiv_id else "")
    return encoded(url)


def encoded(address: str) -> str:
    """Percent-encode what no address holds: blanks, braces, quotes, backslashes."""
    return _UNSAFE_IN_ADDRESS.sub(
        lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), line(address)
    )
