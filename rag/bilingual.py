"""Chinese questions over English abstracts: terms of the field become English search words.

The list ``terms_zh.tsv`` (Chinese, tab, English) is looked up by the longest match from the left;
names, numbers and formulas stay as they are. It gives search words, not a translation.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_CHINESE_MARKS = re.compile(r"[\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+")
_ENGLISH_ONLY = re.compile(  # names of embedders that know no Chinese; any other gets all of it
    r"^(?!.*(multi|-zh|m3))(.*[/:])?(minilm|all-(minilm|mpnet)\b.*|(bge|gte|e5|snowflake-arctic-embed)"
    r"(-\w+)?-(small|base|large|xs|s|m|l)(-en)?(-v[\d.]+)?)$",
    re.IGNORECASE,
)


@cache
def terms() -> dict[str, str]:
    """Return the term list that ships with the package: Chinese term → English words."""
    text = resources.files(__package__).joinpath("terms_zh.tsv").read_text("utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return {chinese: english for chinese, english in pairs}


@cache
def _longest() -> int:
    return max(map(len, terms()))


def to_english(text: str) -> str:
    """Return the English search words of a Chinese question.

    Args:
        text: A question with Chinese characters in it.

    Returns:
        The English of the terms that are known, and everything that is not Chinese, in the order
        of the question. Empty when neither is there.

    Example:
        >>> to_english("ORCA7 在多少个数据集上做了强化学习实验？")
        'ORCA7 how many dataset reinforcement learning experiment'
    """
    found: list[str] = []
    at = 0
    for run in _HAN_RUN.finditer(text):
        found.append(_CHINESE_MARKS.sub(" ", text[at : run.start()]))
        found += _looked_up(run[0])
        at = run.end()
    found.append(_CHINESE_MARKS.sub(" ", text[at:]))
    return " ".join(" ".join(found).split())


def for_embedder(query: str, embedder: Mapping[str, str | int]) -> str:
    """Return a query as an embedder should read it.

    A model that was trained on English sees unknown characters in Chinese and would compare these:
    it is given the rest of the query, where there is any. Other models get the whole.

    Args:
        query: What is searched.
        embedder: The embedder's fingerprint as the manifest holds it; its name decides.
    """
    if not _HAN_RUN.search(query) or not _ENGLISH_ONLY.search(str(embedder.get("name", ""))):
        return query
    rest = " ".join(_HAN_RUN.sub(" ", _CHINESE_MARKS.sub(" ", query)).split())
    return rest if re.search(r"[^\W\d_]{2}", rest) else query


def _looked_up(run: str) -> list[str]:
    """Return the English of a run of Chinese characters: longest term first, from the left."""
    known, longest = terms(), _longest()
    found: list[str] = []
    at = 0
    while at < len(run):
        for size in range(min(longest, len(run) - at), 0, -1):
            if english := known.get(run[at : at + size]):
                found.append(english)
                at += size
                break
        else:
            at += 1
    return found
