"""Make the table of opposite words ``rag/weights/antonyms.json`` from WordNet's files.

python -m eval.bench.antonyms --wordnet FOLDER --out FILE

The folder is the "dict" of WordNet 3.0 (data.adj, data.adv, data.noun or data.noun1 and data.noun2,
data.verb; LICENSE.txt beside them is WordNet's licence and is copied into the table).
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from rag.verify import listed
from rag.verify.lexicon import EMPTY

KINDS = ("adj", "adv", "noun", "verb")
_SHORTEST = 3
_ANTONYM = "!"
# Pairs whose words papers use in other senses than those that are opposite.
_LOOSE = frozenset(
    frozenset(pair.split(":"))
    for pair in listed(
        "general:local bound:free first:second applied:theoretical common:individual "
        "answer:question following:leading give:take out:safe extensive:intensive "
        "analysis:synthesis analyze:synthesize algorithmic:heuristic cover:uncover "
        "actual:potential side:top overhead:surface rise:set passing:running "
        "running:standing issue:recall moving:still come:go differ:equal "
        "advance:back round:square natural:sharp center:right "
        "center:left express:local concentration:distribution ill:well generalize:specify "
        "alternating:direct adopted:native ignore:know formalism:imitation break:make break:keep "
        "break:repair numerical:verbal half:whole away:home nominal:real gather:spread "
        "closing:opening analytic:synthetic level:raise flat:natural end:middle anti:pro con:pro "
        "live:recorded linear:planar cubic:planar local:national differentiate:integrate find:lose "
        "enjoy:suffer move:stay change:stay depart:stay alternate:opposite preparation:resolution "
        "neutral:positive negative:neutral medical:surgical compound:simple compact:loose "
        "intermediate:terminal stand:yield lie:stand lie:sit sit:stand conventional:nuclear "
        "geographic:magnetic geometrically:linearly found:lost divide:multiply ride:walk "
        "discriminate:indiscriminate instrumental:vocal sink:source fat:thin full:thin new:worn "
        "lean:rich sleep:wake inclined:vertical early:middle late:middle beginning:middle "
        "bottom:side attend:miss hit:miss lost:won align:skew gradual:steep blur:focus "
        "fresh:preserved fractional:whole direct:inverse particular:universal hide:show "
        "contract:expand forget:mind delay:rush arrive:leave admit:reject admit:exclude "
        "deductive:inductive minus:plus prefix:suffix empty:fill clean:dirty naive:sophisticated "
        "certainty:uncertainty accuracy:inaccuracy addition:subtraction"
    )
)


def antonyms(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the pairs of opposite words of each kind, sorted.

    Args:
        folder: Holds WordNet's data files.

    Returns:
        Single words of at least three letters, without those that carry no sense of their own.
    """
    found = {kind: sorted(set(_pairs(folder, kind))) for kind in KINDS}
    return {kind: [pair for pair in pairs if _is_kept(pair)] for kind, pairs in found.items()}


def _is_kept(pair: tuple[str, str]) -> bool:
    whole = all(word.isalpha() and len(word) >= _SHORTEST for word in pair)
    return whole and not EMPTY & set(pair) and frozenset(pair) not in _LOOSE


def _pairs(folder: Path, kind: str) -> Iterator[tuple[str, str]]:
    lines = [
        line
        for path in sorted(folder.glob(f"data.{kind}*"))
        for line in path.read_text("latin-1").splitlines()
        if not line.startswith(" ")
    ]
    sets = {line[:8]: line.split(" | ")[0].split() for line in lines}
    words = {place: _words(fields) for place, fields in sets.items()}
    for place, fields in sets.items():
        for target, numbers in _pointers(fields):
            if target in words:
                mine, theirs = int(numbers[:2], 16) - 1, int(numbers[2:], 16) - 1
                one, other = sorted((words[place][mine], words[target][theirs]))
                yield one, other


def _words(fields: list[str]) -> list[str]:
    count = int(fields[3], 16)
    return [re.sub(r"\(\w+\)$", "", word).lower() for word in fields[4 : 4 + 2 * count : 2]]


def _pointers(fields: list[str]) -> Iterator[tuple[str, str]]:
    """Yield place and word numbers of the opposites that a set of synonyms points to."""
    start = 4 + 2 * int(fields[3], 16)
    pointers = fields[start + 1 : start + 1 + 4 * int(fields[start])]
    for at in range(0, len(pointers), 4):
        symbol, target, _, numbers = pointers[at : at + 4]
        if symbol == _ANTONYM:
            yield target, numbers


def main(argv: list[str] | None = None) -> int:
    """Write the table; the exit code is 1 where the folder cannot be used."""
    parser = argparse.ArgumentParser(description="Make the table of opposite words.")
    parser.add_argument("--wordnet", type=Path, required=True, help="WordNet's folder dict")
    parser.add_argument("--out", type=Path, required=True, help="the table, JSON")
    args = parser.parse_args(argv)
    try:
        found = antonyms(args.wordnet)
        licence = (args.wordnet / "LICENSE.txt").read_text("latin-1")
    except OSError as exc:
        sys.stderr.write(f"error: {exc}. Name the folder dict of WordNet 3.0.\n")
        return 1
    told: dict[str, str] = {
        kind: " ".join(":".join(pair) for pair in pairs) for kind, pairs in found.items()
    }
    table = {"licence": " ".join(licence.split()), **told}
    args.out.write_text(json.dumps(table, indent=0) + "\n", "utf-8")
    sys.stdout.write(f"{sum(map(len, found.values()))} pairs\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
