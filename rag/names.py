"""Words of a question that name something: systems, data sets, places. Pure."""

import re


def names_in(text: str) -> list[str]:
    """Return the words of a question that look like names: inner capitals, digits, or hyphens.

    The first word counts only when it has more than a leading capital.
    """
    words = re.findall(r"[^\s,;:?!()\"“”]+", text)
    return [
        word.strip(".'’")
        for i, word in enumerate(words)
        if re.search(r"\w[A-Z]|\d\w|[A-Za-z]\d", word) or (i > 0 and word[:1].isupper())
    ]


def systems_in(text: str) -> list[str]:
    """Return the words of a question that can only be names: "EDGE", "4D3R", "Graph-KV", "FedGFM+".

    A plain capitalised word, a number and a usual abbreviation in lower case are none.
    """
    return [
        word
        for word in names_in(text)
        if re.search(r"[A-Za-z]", word) and re.search(r"\w[A-Z]|\d[A-Za-z]|[A-Za-z]\d", word)
    ]
