"""What a number counts: "14 tasks" for "14 languages", "12 GPU days" for "12 GPU hours". Pure."""

from collections.abc import Mapping, Sequence
from functools import cache

from ..quantities import Quantity, quantities
from . import Finding, listed
from .amounts import same_value
from .reading import Text, Token
from .stems import stem

_BEHIND = 4  # tokens behind a number in which its noun is looked for
_STOPS = frozenset(
    listed("of in on for with from by to at and or than per vs versus over across between , ; : .")
)
# Things that papers count; "|" joins words that may stand for each other.
_THINGS = listed(
    "language|dialect domain|field|discipline country|nation continent city|town "
    "dataset|benchmark|corpus|corpora|collection|testbed task|problem|challenge|benchmark|game "
    "layer|block head parameter|weight token word character|letter sentence|utterance "
    "paragraph|passage document|paper|article|publication|study image|picture|photo video|clip "
    "frame|image speaker|PERSON patient|PERSON annotator|rater|expert|PERSON "
    "doctor|physician|expert|PERSON student|PERSON teacher|PERSON player|agent|PERSON robot|agent "
    "author|PERSON reviewer|PERSON camera question|query|prompt|problem "
    "conversation|dialogue|dialog game gpu tpu cpu class|category|type|kind neuron "
    "seed|run|trial|repetition epoch step|iteration|update|round vertex|vertices|node edge|link "
    "dimension feature|attribute|variable metric|measure hour day week month year second minute "
    "millisecond gene protein cell molecule|compound species star|galaxy hospital|clinic school "
    "song|track book review tweet rule "
    "model|llm|network|method|system|approach|algorithm|baseline"
)
# Words for anybody: "participants" may be patients, students or players.
_ANYBODY = "participant|subject|people|person|user|respondent|volunteer|individual"


def compare_counted(statement: Text, source: Text) -> list[Finding]:
    """Look for a number that counts other things than the same number of the source.

    Args:
        statement: What was said.
        source: The sentences it rests on.

    Returns:
        At most one wrong finding. Only things of a list are compared; where the source counts the
        statement's thing with any number alike, or names no thing, there is none.
    """
    known = quantities(source)
    for said in quantities(statement):
        mine = _things(statement, said)
        alike = [one for one in known if same_value(said, one)] if mine else []
        theirs = [things for one in alike if (things := _things(source, one))]
        if not mine or not theirs or len(theirs) < len(alike):
            continue
        if not any(_same(mine, things) for things in theirs):
            return [Finding(f"counts “{mine[-1].text}”, the source counts “{theirs[0][-1].text}”")]
    return []


def _same(mine: Sequence[Token], theirs: Sequence[Token]) -> bool:
    """Say whether the last noun of either stands in the other.

    "70B-parameter models" are counted as "70B parameters"; "GPU days" are no "GPU hours".
    """
    return any(
        _kinds()[here[-1].stem] & _kinds()[noun.stem]
        for here, there in ((mine, theirs), (theirs, mine))
        for noun in there
    )


def _things(text: Text, number: Quantity) -> list[Token]:
    """Return the nouns right behind a number, more than one for a compound such as "GPU hours"."""
    found: list[Token] = []
    for token in _behind(text.tokens, number):
        if token.stem in _kinds():
            found.append(token)
        elif found and token.text != "-":
            break
    return found


def _behind(tokens: Sequence[Token], number: Quantity) -> list[Token]:
    found: list[Token] = []
    for token in tokens[number.index + 1 : number.index + 1 + _BEHIND]:
        if token.lower in _STOPS or token.kind == "number":
            break
        found.append(token)
    return found


@cache
def _kinds() -> Mapping[str, set[int]]:
    """Return for the stem of every thing the kinds that it may belong to."""
    found: dict[str, set[int]] = {}
    for kind, words in enumerate(_THINGS):
        for word in words.replace("PERSON", _ANYBODY).split("|"):
            found.setdefault(stem(word), set()).add(kind)
    return found
