import time

import pytest

from rag.acronyms import MOST_TERMS, definitions, expand
from rag.schema import Paper


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("The Optimal Stable Share (OSS) ratio.", [("OSS", "Optimal Stable Share")]),
        ("Large reasoning models (LRMs) think.", [("LRMs", "Large reasoning models")]),
        ("Low-Rank Adaptation (LoRA) is used.", [("LoRA", "Low-Rank Adaptation")]),
        ("heat shock protein 90 (HSP90) binds", [("HSP90", "heat shock protein 90")]),
        ("graph neural networks (GNN, or nets)", [("GNN", "graph neural networks")]),
        ("We use EDGE (Efficient Distributed Graph Engine) here.",
         [("EDGE", "Efficient Distributed Graph Engine")]),
        ("We introduce EDGE, an efficient distributed graph engine that scales.",
         [("EDGE", "efficient distributed graph engine")]),
        ("Moss (Bryophyta) and item (a) of Fig. (2).", []),
        ("The mean (SD) was 3.", []),
        ("The model, BERT, is better and raises tests.", []),
        ("(OSS)", []),
        ("", []),
    ],
)  # fmt: skip
def test_definitions_are_found_where_the_letters_fit(text, pairs):
    assert definitions(text) == pairs


def paper(number, abstract):
    return Paper(str(number), f"Paper {number}", abstract)


SHELF = [
    paper(1, "The Optimal Stable Share (OSS) ratio is new."),
    paper(2, "Open source software (OSS) is free."),
    paper(3, "Many use open source software (OSS)."),
    paper(4, "Large reasoning models (LRMs) think."),
]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("What do LRMs do?", ("large reasoning models",)),
        ("What does an LRM do?", ("large reasoning models",)),
        ("Do large reasoning models think?", ("LRM",)),
        ("Does a large reasoning model think?", ("LRM",)),
        ("What is the OSS ratio?", ("open source software",)),
        ("What is the optimal stable share (OSS)?", ("open source software",)),
        ("What is loss?", ()),
        ("What do lrms do?", ()),
    ],
)
def test_a_question_gets_the_other_form_that_the_papers_define(text, terms):
    assert expand(text, SHELF) == terms


def test_the_better_paper_decides_between_equals():
    assert expand("What is the OSS ratio?", SHELF[:2]) == ("optimal stable share",)


def test_only_a_few_terms_are_added():
    shelf = [paper(n, f"Aa{c} Bb{c} Cc{c} (ABC{c}) x.") for n, c in enumerate("DEFGHIJ")]
    text = " ".join(f"Aa{c} Bb{c} Cc{c}" for c in "DEFGHIJ")
    assert len(expand(text, shelf)) <= MOST_TERMS


@pytest.mark.parametrize("part", ["(A", "(AB)", "AB, a ", "AB, an x ", "((", "x", "A-", "(AB a)"])
def test_hostile_abstracts_are_read_in_linear_time(part):
    began = time.process_time()
    definitions(part * (40_000 // len(part)))
    assert time.process_time() - began < 2
