"""What kind of answer a question wants: a number, a list, yes or no, a reason. Rules only. Pure.

English and Chinese are read in full; German, French and Spanish by their question words.
"""

import re
from dataclasses import dataclass
from typing import Literal

from .names import systems_in

Wanted = Literal[
    "", "number", "list", "name", "authors", "yes/no", "reason", "way", "definition", "papers"
]
Language = Literal["en", "zh", "de", "fr", "es"]

HAN = re.compile(r"[\u3400-\u9fff]")  # written without spaces
_WORD = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS: dict[Language, str] = {
    "en": "the of is are was were does do did has have and or which what how why who when where "
    "with for from to in on by can could any this that it they",
    "de": "der die das den dem des ein eine einen einer und oder wie welche welcher welches "
    "welchen was wer warum wieso weshalb wo ist sind sein wird werden wurde wurden für auf mit "
    "von zu zur zum im bei beim man hat haben kann können darf gibt es nicht aus nach über als",
    "fr": "le la les des du de un une et ou quel quelle quels quelles que qui quoi comment "
    "pourquoi combien est sont pour dans sur avec par il elle ce cette ces au aux en ne pas "
    "l d qu",
    "es": "el la los las de del un una y o qué cuál cuáles cómo cuánto cuánta cuántos cuántas "
    "quién por para con en es son se su sus que al lo ha han no porque dónde entre",
}
_ASKING = re.compile(  # question words and letters that English does not have
    r"(?P<de>\b(?:wie|welche[rsnm]?|warum|wieso|weshalb)\b|[äöüß])"
    r"|(?P<fr>\b(?:quels?|quelles?|pourquoi|combien)\b|[àâçèêëîôùû]|\b(?:qu|d|l)['’])"
    r"|(?P<es>[¿¡ñ]|\b(?:qué|cuál(?:es)?|cómo|cuánt[oa]s?|quién(?:es)?)\b|[áíóú])",
    re.IGNORECASE,
)
_BY_GROUP: dict[str, Language] = {"en": "en", "de": "de", "fr": "fr", "es": "es"}
_MARKS = {name: frozenset(words.split()) for name, words in _FUNCTION_WORDS.items()}


@dataclass(frozen=True, slots=True)
class Kinds:
    """What a question asks for.

    ``many``: several papers; ``number``: a quantity; ``list``: several things inside a paper;
    ``compare``: things set against each other; ``yes_no``: whether something is so; ``claim``:
    nothing, it states something ("Moss holds lead."), for which sentences are sought. ``wanted``
    names the kind of answer in one word, "" where the form does not say. ``unit`` is what a number
    counts or is measured in, as typed ("attention heads", "dB"); "%" for a share.
    """

    many: bool = False
    number: bool = False
    list: bool = False
    compare: bool = False
    yes_no: bool = False
    claim: bool = False
    wanted: Wanted = ""
    unit: str = ""


def language_of(text: str) -> Language:
    """Guess a question's language from its script and its function words; English when unsure."""
    if HAN.search(text):
        return "zh"
    words = _WORD.findall(text.lower())
    counts: dict[Language, int] = {
        name: sum(word in marks for word in words) for name, marks in _MARKS.items()
    }
    for match in _ASKING.finditer(text):
        counts[_BY_GROUP[match.lastgroup or "en"]] += 1
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] > max(1, counts["en"]) else "en"


def kinds_of(text: str, language: Language) -> Kinds:
    """Read the kind of a question from its words.

    Args:
        text: The question.
        language: As ``language_of`` found it. English rules are read in every language, since
            English question words are met in all of them.
    """
    read = {
        name: bool(_ENGLISH[name].search(text))
        or bool(language in _OTHER and _OTHER[language][name].search(text))
        for name in ("many", "number", "list", "compare")
    }
    read["compare"] = read["compare"] or bool(
        (_COMPARATIVE.search(text) and _OR.search(text)) or _sets_names_apart(text)
    )
    yes_no = _is_yes_no(text, language) and not read["many"]
    wanted = _wanted(text, language, read, yes_no)
    unit = _unit(text) if read["number"] else ""
    claim = language == "en" and not read["many"] and not yes_no and _is_claim(text)
    return Kinds(**read, yes_no=yes_no, claim=claim, wanted=wanted, unit=unit)


_COMPARATIVE = re.compile(
    r"\b(larger|smaller|better|worse|faster|slower|more|fewer|less|higher|lower)\b", re.IGNORECASE
)
_OR = re.compile(r"\bor\b", re.IGNORECASE)


_EACH = re.compile(r"\b(both|each|same|instead|either)\b|: which\b", re.IGNORECASE)
_OF_BOTH = re.compile(
    r"\b(?:do|did|are|were) (?:the )?\S{2,40} and (?:the )?\S{2,40}", re.IGNORECASE
)
_JOINED = re.compile(r"(?<!\S)(\S++) (?:and|or) (?:the )?(\S+)")


def _sets_names_apart(text: str) -> bool:
    """Say whether two system names are joined and asked about one by one ("what does each …")."""
    names = set(systems_in(text))
    return bool(_EACH.search(text) or _OF_BOTH.search(text)) and any(
        {found[1].strip(",.:;?"), found[2].strip(",.:;?")} <= names
        for found in _JOINED.finditer(text)
    )


def _table(**patterns: str) -> dict[str, re.Pattern[str]]:
    return {name: re.compile(pattern, re.IGNORECASE) for name, pattern in patterns.items()}


_ENGLISH = _table(
    many=r"\b(which|what|list|find|show|name|any|all|are there)\b(?<!how many)[^.?!]{0,60}?\b"
    r"(papers|works(?! (best|better|well|as|in|for|with))|articles|studies|publications|"
    r"abstracts)\b"
    r"|\b(the|those|these)\s+([\w-]+\s+){0,3}(papers|works|articles|studies)\b"
    r"|\b(what|which|is there( any)?|are there( any)?|any)\s+(work|research|literature)\b"
    r"|^\W*((is there )?(any(thing|one|body)?|something)|work|research) (on|about)\b"
    r"|^\W*which ones\b"
    r"|\bwho( else)? works on\b|\bwhat(('s| is) there| (do|have) we (have|got)) (on|about)\b",
    number=r"\bhow (many|much|large|big|long|often|far|fast|accurate)\b|\bwhat (is|was|are) the "
    r"(number|share|percentage|rate|score|accuracy|size)\b|\b(percentage|what (score|share|rate|"
    r"accuracy|speed-?up))\b|\bby how\b|\bwhat does .{1,80} score\b",
    list=r"\b(which|what|list|name)\b(?! (is|was|does|did|do|has|can|goes|happens|occurs|causes|"
    r"makes|drives|keeps|lets|helps|allows|enables|explains|limits|prevents|determines|triggers|"
    r"leads|means|comes|gives|remains|follows|sets)\b)\s+(?:\w+\s+){0,3}?"
    r"(?!(was|does|has|as|its)\b)\w*[^\W\dsi]s\b|\bwhat are\b",
    compare=r"\b(differ|differs|difference|compare[sd]?|comparison|versus|vs\.?|unlike|"
    r"in contrast)\b",
    reason=r"^(and |but |so )?(why|how come|for what reason|what (is|was) the reason)\b"
    r"|\bwhy\b|\bwhat (are|were|is|was) the reasons?\b",
    definition=r"\bwhat (is|are|was) (an? |the )?[\w+./-]{1,60}( [\w+./-]{1,60}){0,2}\W{0,9}$"
    r"|\bwhat (does|do|is|are) .{1,80} (mean|stand for|meant by|called|denote)\b"
    r"|\bwhat is meant\b|^(define|explain)\b|\bthe (meaning|definition) of\b",
    way=r"\bhow (do|does|did|is|are|was|were|can|could|to|has|have)\b|\bin what way\b"
    r"|\bby what (means|method)\b",
    authors=r"^\W*(and )?(by whom|who (wrote|authored|published|are the authors|is the (first )?"
    r"author))\b|\b(which|what) authors\b",
    name=r"\b(which|what) [\w-]+ (is|was|does|did|do|has|can|are|were)\b"
    r"|^\W*(and )?(who|where|when)\b",
)
_OTHER: dict[str, dict[str, re.Pattern[str]]] = {
    "zh": _table(
        many=r"哪些(论文|文章|工作|文献|研究(?!方|结|问|对))|有没有.{0,30}(论文|文章|文献)"
        r"|有哪些(?=.{0,30}(论文|文章|文献|工作))|有哪些[?？]?$|(哪|几)(几|两|三|四)?篇",
        number=r"多少|几(个|种|倍|条|名|层|次|项|类|组|天|年|秒|小时|分钟|篇)|多(大|高|快|长|久)"
        r"(?![\u3400-\u9fff]{0,2}语言)|百分之几|比例是",
        list=r"哪些|哪(几|两|二|三|四|五|六)|分别|各是什么|列(出|举)",
        compare=r"区别|差异|差别|不同于|有(何|什么|哪些)不同|不同(之处|点|[?？]?$)|相比|相较|对比(?!学习|损失|语言|表示|预训练|解码)"
        r"|比较(?!好|大|小|高|低|多|少)|优于",
        reason=r"为什么|为何|原因|缘何",
        definition=r"什么是|是什么意思|(所)?指的?是|定义|含义|是什么[?？]?$",
        way=r"如何|怎样|怎么",
        authors=r"作者(是谁|有哪些)|谁(写|发表)",
        name=r"哪(个|种|一|家)|谁",
        yes_no=r"是否|能否|可否|会不会|能不能|是不是|有没有|吗\W*$",
    ),
    "de": _table(
        many=r"\b(welche|gibt es)\b[^.?!]{0,60}?\b(arbeiten|artikel|studien|paper|"
        r"veröffentlichungen)\b",
        number=r"\bwie\s?viele?\b|\bwie (groß|hoch|lang|lange|schnell|oft|weit|stark|genau)\b"
        r"|\b(prozent|anteil|anzahl)\b",
        list=r"\bwelchen?\b\s+(\w+\s+)?(zwei|drei|vier|fünf|\w+(en|e|er|s|n))\b|^nenne\b"
        r"|\bwas sind\b",
        compare=r"\b(unterscheide\w*|unterschied\w*|vergleich\w*|verglichen|gegenüber|"
        r"im gegensatz)\b",
        reason=r"\b(warum|weshalb|wieso)\b",
        definition=r"\bwas (ist|sind|bedeutet|heißt|versteht man)\b",
        way=r"\bwie\b(?!\s?viel)",
        authors=r"\bwer hat\b.{1,80}\b(geschrieben|verfasst)\b",
        name=r"\b(welche[rsnm]?|wer|wen|wo)\b",
        yes_no=r"^(gibt|ist|sind|war|waren|kann|können|hat|haben|wird|werden|darf|dürfen|muss|soll|"
        r"sollte|lässt|lassen|\w+(t|en))\s(?!.*\b(wie|was|wer|welche[rsnm]?|warum|wo)\b)",
    ),
    "fr": _table(
        many=r"\b(quels|y a-t-il)\b[^.?!]{0,60}?\b(articles|travaux|publications|études|papiers)\b",
        number=r"\bcombien\b|\bquel(le)? (est |a été )?(le |la |l['’])?(pourcentage|part|taux|"
        r"nombre|score|précision|taille|gain|facteur)\b",
        list=r"\b(quels|quelles|lesquel(le)?s)\b",
        compare=r"\b(diffèren?t?|différences?|compar\w+|par rapport)\b|\bcontrairement\b",
        reason=r"\bpourquoi\b",
        definition=r"\bqu['’]est-ce qu|\bque signifie\b|\bqu['’]appelle",
        way=r"\bcomment\b",
        authors=r"\bqui a (écrit|rédigé|publié)\b",
        name=r"\b(quel|quelle|qui|où|laquelle|lequel)\b",
        yes_no=r"^(?!.*\b(quel(le)?s?|que|qui|qu['’]|comment|pourquoi|combien|où)\b.*\?)"
        r".*(\best-ce qu|-(t-)?(ils?|elles?|on)\b)|^est-ce qu",
    ),
    "es": _table(
        many=r"\b(qué|cuáles|hay)\b[^.?!]{0,60}?\b(artículos|trabajos|estudios|publicaciones)\b",
        number=r"\bcuánt[oa]s?\b|\bqué (porcentaje|proporción|precisión|tasa|puntuación|número|"
        r"tamaño|pureza)\b",
        list=r"\bcuáles\b|\bqué (\w+ )?\w+s\b",
        compare=r"\b(difieren?|diferencias?|compar\w+|frente a|a diferencia)\b",
        reason=r"\bpor qué\b",
        definition=r"\bqué (es|son|significa)\b",
        way=r"\bcómo\b",
        authors=r"\bquién(es)? (escribió|escribieron|publicó)\b",
        name=r"\b(cuál|quién|dónde|qué)\b",
        yes_no=r"^(?!.*\b(qué|cuál(es)?|cómo|cuánt[oa]s?|quién(es)?|dónde)\b).*\?",
    ),
}
_AUXILIARY = (
    r"(is|are|was|were|do|does|did|can|could|will|would|should|has|have|had|may|might|must)"
    r"(n['’]t)?"
)
_YES_NO = re.compile(
    rf"(^|^[^?]{{0,200}}[,:;] )(and |but |so |or )?{_AUXILIARY} (?!(not )?(which|what)\b)",
    re.IGNORECASE,
)
_TRUE = re.compile(r"\b(is it true|whether)\b", re.IGNORECASE)
_AFTER_A_TOPIC = re.compile(  # "Screening at school: a waste of time?", "Gulls. Do they nest here?"
    r"(?:[:;—–]|--)[^?]{3,200}\?\W{0,3}$"
    r"|[.:;—–-]\s{0,3}(?:is|are|was|were|do|does|did|can|could|should|will|would|has|have|had|may|"
    r"might|must)\s[^?]{3,200}\?\W{0,3}$",
    re.IGNORECASE,
)
_WH = re.compile(r"\b(which|what|how|why|who|whom|whose|when|where)\b", re.IGNORECASE)


def _is_yes_no(text: str, language: Language) -> bool:
    if language != "en":
        return bool(_OTHER[language]["yes_no"].search(text))
    begins = _YES_NO.match(text)
    if begins is None:
        whether = _TRUE.search(text) or (_AFTER_A_TOPIC.search(text) and not _WH.search(text))
        return bool(whether) and not _WH.match(text)
    return not _WH.search(text, 0, begins.end()) and not _WH.match(text)


_ASKS = re.compile(  # a claim begins with none of these
    r"\W*(?:(?:please|in|on|for|to|from|by|with|at|under)\b.{0,40}?\b)?"
    r"(?:which|what|how|why|who|whom|whose|when|where)\b"
    r"|.*[:,;] *(?:which|what|how|why|who|whom|whose|when|where) (?:is|are|was|were|do|does|did)\b"
    r"|\W*(?:please )?(?:list|name|enumerate|find|show|give|tell|state|explain|describe|compare|"
    r"summari[sz]e|identify|report|outline|define|mention|specify|contrast|cite|quote|point|look|"
    r"search|any|anything|something|is|are|was|were|do|does|did|can|could|has|have)\b",
    re.IGNORECASE,
)
_STATES = re.compile(  # four words, and a verb that is no relative clause's, or a full stop
    r"(?=\W*+(?:\w++\W++){3}\w)"
    r".*(?:\.\W*$|(?<!that )(?<!which )(?<!who )"
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|may|will)\b)",
    re.IGNORECASE | re.DOTALL,
)


def _is_claim(text: str) -> bool:
    """Say whether an English text states something: a verb or a full stop, and asks nothing."""
    return bool(_STATES.match(text)) and not ("?" in text or _ASKS.match(text))


def _wanted(text: str, language: Language, read: dict[str, bool], yes_no: bool) -> Wanted:
    """Name the kind of answer: the question's own word decides before its form."""
    tables = [_OTHER[language]] if language in _OTHER else [_ENGLISH]
    if any(table["authors"].search(text) for table in tables):
        return "authors"
    if read["many"]:
        return "papers"
    if yes_no:
        return "yes/no"
    if read["number"]:
        return "number"
    order: tuple[Wanted, ...] = ("reason", "list", "definition", "way", "name")
    for kind in order:
        if kind == "list" and read["list"]:
            return "list"
        if kind != "list" and any(table[kind].search(text) for table in tables):
            return kind
    return ""


_COUNTED = re.compile(
    r"\b(?:how (?:many|much)(?: (?:more|fewer|less|of the|different|other|additional|total))?|"
    r"(?:by )?what number of|the number of)\s+"
    r"(?P<unit>(?:(?!(?:do|does|did|is|are|was|were|can|could|will|would|has|have|had|in|on|of|"
    r"for|with|by|to|at|the|a|an|and|or|it|they|we|this|that|these|those|higher|lower|better|"
    r"worse|faster|slower|larger|smaller|longer|more|less|than|from|per|using|used|needed)\b)"
    r"[\w%°µ/-]+\s*){1,3})|\bin (?P<measure>db|hz|khz|mhz|ghz|ms|seconds|minutes|hours|days|years|"
    r"km|mm|cm|metres|meters|gb|mb|kg|percent|points)\b",
    re.IGNORECASE,
)
_TIMES = re.compile(r"\bhow (many times|much (faster|slower))\b|多少倍|几倍", re.IGNORECASE)
_SHARE = re.compile(
    r"%|\b(percent|percentage|per cent|share|proportion|fraction|prozent|anteil|pourcentage|"
    r"porcentaje|proporción)\b|百分|比例|占比",
    re.IGNORECASE,
)
_ZH_UNIT = re.compile(
    r"(?:多少|几)(个(?:百分)?点|秒|分钟|小时|天|年|名|条|层|倍|种|次|项|类|个|美元|元)?"
    r"([A-Za-z]+|[\u3400-\u9fff]{0,4})"
)
_OTHER_UNIT = re.compile(r"\b(?:wie\s?viele?|combien d[e'’]\s?|cuánt[oa]s?)\s*(\w+)", re.IGNORECASE)


def _unit(text: str) -> str:
    """Return what is counted or measured, or ""."""
    if _TIMES.search(text):
        return "times"
    if _SHARE.search(text):
        return "%"
    if match := _COUNTED.search(text):
        return (match["unit"] or match["measure"]).strip()
    if match := _OTHER_UNIT.search(text):
        return match[1]
    if match := _ZH_UNIT.search(text):
        return f"{match[1] or ''}{match[2]}".strip("个上")
    return ""
