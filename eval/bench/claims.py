"""Claims with the sentences of a library that bear on them: what is measured, and fitted on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.schema import Paper

from ..cases import Case
from ..labels import PaperIndex
from .corpus import own_id
from .evidence_pairs import Half, half_of
from .qa import held_by


@dataclass(frozen=True, slots=True)
class Claim:
    """A case with the abstracts that hold its rationales.

    ``gold`` maps a paper's id to its rationale sentences; ``group`` is the same for claims that
    share an abstract, directly or through others; ``half`` names the half of the papers that all of
    these abstracts belong to, None where they belong to both.
    """

    case: Case
    gold: Mapping[str, Sequence[str]]
    group: int
    half: Half | None


def claims_of(cases: Sequence[Case], papers: Sequence[Paper]) -> list[Claim]:
    """Return the cases whose rationale sentences the library holds, in order."""
    index, by_id = PaperIndex(papers), {paper.id: paper for paper in papers}
    found = []
    for case in cases:
        own = [by_id[name] for name in index.resolve(case.relevant).paper_ids]
        gold = {paper.id: held_by(paper, case.evidence) for paper in own}
        gold = {name: texts for name, texts in gold.items() if texts}
        if gold:
            found.append((case, gold))
    groups = grouped([list(gold) for _, gold in found])
    return [
        Claim(case, gold, group, _half([by_id[name] for name in gold]))
        for (case, gold), group in zip(found, groups, strict=True)
    ]


def _half(papers: Sequence[Paper]) -> Half | None:
    halves = {half_of(own_id(paper)) for paper in papers}
    return halves.pop() if len(halves) == 1 else None


def grouped(members: Sequence[Sequence[str]]) -> list[int]:
    """Return a number for each list, the same for lists that share a name, also through others."""
    numbers: dict[str, int] = {}
    merged: list[int] = []

    def root(number: int) -> int:
        while merged[number] != number:
            number = merged[number]
        return number

    for names in members:
        known = {root(numbers[name]) for name in names if name in numbers}
        number = min(known, default=len(merged))
        if number == len(merged):
            merged.append(number)
        for other in known:
            merged[other] = number
        numbers.update(dict.fromkeys(names, number))
    return [root(numbers[names[0]]) for names in members]
