import time

import pytest

from rag.mentions import MOST, authors_in, topics_in, venues_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("papers by Ann Author and B. Writer", ("Ann Author", "B. Writer")),
        ("papers by Author, Ann", ("Author, Ann", "Author")),
        ("articles of Ø. Åström", ("Ø. Åström",)),
        ("What did Ann Author work on?", ("Ann Author",)),
        ("What has Ann van der Author published?", ("Ann van der Author",)),
        ("Did van der Author and Ann Writer find moss?", ("van der Author", "Ann Writer")),
        ("What did Author et al. find?", ("Author,",)),
        ("Author et al. on moss", ("Author,",)),
        ("What is in Author's paper on moss?", ("Author,",)),
        ("What do Author and Writer (2020) report?", ("Author,", "Writer,")),
        ("Ann Author 的论文", ("Ann Author",)),
        ("李明华的论文有哪些？", ("李明华",)),
        ("Arbeiten von Ann Author", ("Ann Author",)),
        ("Who wrote the paper on moss?", ()),
        ("What does EDGE report?", ()),
        ("What does ORCA7 find?", ()),
        ("Which bound improves on that by Author et al. on trees?", ()),
        ("GRIFFIN 的论文", ()),
        ("Why is moss green?", ()),
    ],
)
def test_names_that_may_be_authors_are_found(text, names):
    assert authors_in(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("NeurIPS papers on moss", ("NeurIPS",)),
        ("Which papers were published at ICLR 2024?", ("ICLR 2024",)),
        ("ICLR 2024 papers", ("ICLR 2024",)),
        ("In NAACL 2024, which papers study moss?", ("NAACL 2024",)),
        ("articles in Physical Review", ("Physical Review",)),
        ("papers in the Journal of Moss and Lichen", ("Journal of Moss and Lichen",)),
        ("发表在ICLR上的论文", ("ICLR",)),
        ("NeurIPS 2023 的论文", ("NeurIPS 2023",)),
        ("papers on AIME 2024", ()),
        ("papers by Ann Author", ()),
        ("How does EDGE score?", ()),
    ],
)
def test_names_that_may_be_venues_are_found(text, names):
    assert venues_in(text) == names


@pytest.mark.parametrize(
    ("text", "many", "topics"),
    [
        ("Which papers are filed under speech processing?", True, ("speech processing",)),
        ("Which papers are in the area of game theory?", True, ("game theory",)),
        ("List papers on the topic moss and lead", True, ("moss and lead",)),
        ('Which papers are on "speech"?', True, ("speech",)),
        ("What is used in the area of game theory?", False, ()),
        ('What does "speech" mean?', False, ()),
    ],
)
def test_words_that_may_be_a_topic_are_found(text, many, topics):
    assert topics_in(text, many=many) == topics


def test_only_a_few_names_are_looked_up():
    text = " ".join(f"papers by A{chr(97 + n)} Author{chr(97 + n)};" for n in range(20))
    assert len(authors_in(text)) == MOST


@pytest.mark.parametrize(
    "part",
    [
        "A",
        "A ",
        "A, ",
        "A and ",
        "by A ",
        "Aa-",
        "a'",
        "A'",
        "van ",
        "in the A of ",
        "的论文",
        "李",
    ],
)
def test_hostile_names_are_read_in_linear_time(part):
    text = (f"papers by {part * 4000}")[:4000]
    began = time.perf_counter()
    authors_in(text), venues_in(text), topics_in(text, many=True)
    assert time.perf_counter() - began < 1
