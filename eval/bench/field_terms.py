"""Make the list of stems that belong to one field of research: ``rag/weights/field_terms.json``.

python -m eval.bench.field_terms --field cs=A.jsonl.gz,B.jsonl.gz --field bio=C.jsonl --out FILE

A stem belongs to the first field when its share of that field's abstracts is the highest, and far
above the geometric mean of its shares in the others; words that every paper uses, and the trade's
own ("leverage"), do not.
"""

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rag.errors import RagError
from rag.readers import read_papers
from rag.schema import Paper
from rag.verify import listed
from rag.verify.reading import read

FEWEST = 6  # abstracts that a stem must occur in, in all
FROM = 2.8  # natural logarithm of the share in its field over the mean share in the others
_NONE = 0.3  # abstracts that a stem counts as occurring in where it occurs in none
_SHORTEST = 3
# Stems of words that papers of one field use of anything, or that are said in other words freely.
_TRADE = frozenset(
    listed(
        "our learn train task novel challeng address outperform robust leverag baselin strateg "
        "divers captur scenario extract estim align guarante efficient popular validat competit "
        "inspir highlight perspect updat mitigat tackl manipul awar motivat unseen suf spe "
        "deploy rich compress sent enforc clean surpass vulner struggl superior pipelin iter "
        "agnost confid intuit platform outcom heurist showcas bottleneck setup regim craft rely "
        "uncov promot seamless revisit scratch catastroph preval advance boost efficac execut "
        "http github art multi world framework architectur metr label computation reconstruct "
        "condition optim optimal performanc neur deep algorithm benchmark dataset network popul "
        "parametr parameter hind preced hidden organ tight min recov interpret explor achiev "
        "strength decompos emph mathc textit mathbb frac sqrt dot exploit attent user initial "
        "target generaliz state synthesi text textu languag approximat approxim fin lay "
        "dimension dimensional risk infer truth black adaptive evid cues visu rel desc trivi "
        "nuanc unclear alongsid utter overhead speedup suboptim fool appeal dail liv blind "
        "agree calcul infeas instantiat disjoint wild servic particip annot annotat superv "
        "supervis auto iterative reus momentum verifi recursive requ adept empow rethink toy "
        "violat age prone whatever whatev hurt realiz naive harness excel prohibitive delv "
        "runtim latenc trustworth instanti lightweight par epoch forget collaborative minima "
        "factor trust boundar navigat tradeoff concrete factu malici"
    )
)


def field_terms(fields: Mapping[str, Sequence[Paper]]) -> list[str]:
    """Return the stems that belong to the first of some fields, sorted.

    Args:
        fields: At least two fields with their papers.
    """
    counts = {name: _counts(papers) for name, papers in fields.items()}
    every: Counter[str] = sum(counts.values(), Counter())
    return sorted(
        stem
        for stem, seen in every.items()
        if seen >= FEWEST
        and len(stem) >= _SHORTEST
        and stem.isalpha()
        and stem not in _TRADE
        and _distance(stem, counts, fields) >= FROM
    )


def _counts(papers: Sequence[Paper]) -> Counter[str]:
    found: Counter[str] = Counter()
    for paper in papers:
        found.update(read(f"{paper.title}. {paper.abstract}").stems)
    return found


def _distance(
    stem: str, counts: Mapping[str, Counter[str]], fields: Mapping[str, Sequence[Paper]]
) -> float:
    """Return how far the first field's share is above the others'; 0 if it is not."""
    own, *others = (
        math.log((counts[name][stem] + _NONE) / max(1, len(papers)))
        for name, papers in fields.items()
    )
    return own - sum(others) / len(others) if own > max(others) else 0.0


def main(argv: list[str] | None = None) -> int:
    """Write the list; the exit code is 1 where a file cannot be used."""
    parser = argparse.ArgumentParser(description="Make the list of stems of single fields.")
    parser.add_argument("--field", action="append", required=True, metavar="NAME=FILE,FILE")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args(argv)
    try:
        fields = {
            name: [
                item
                for file in files.split(",")
                for item in read_papers(Path(file))
                if isinstance(item, Paper)
            ]
            for name, _, files in (one.partition("=") for one in args.field)
        }
    except RagError as exc:
        sys.stderr.write(f"error: {exc}\n")
        return 1
    args.out.write_text(json.dumps({"stems": " ".join(field_terms(fields))}) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
