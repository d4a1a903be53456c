import pytest

from rag.years import NO_YEARS, years_in


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("Which papers from 2023 study moss?", (2023, 2023)),
        ("What was published in 2024 about herons?", (2024, 2024)),
        ("Which papers were published at ICLR in 2024?", (2024, 2024)),
        ("Which papers on moss since 2021 are there?", (2021, None)),
        ("What has been done on moss since 2021?", (2021, None)),
        ("works from 2021 onwards", (2021, None)),
        ("papers published after 2019", (2020, None)),
        ("papers before 2020", (None, 2019)),
        ("papers of 2020 or earlier", (None, 2020)),
        ("articles published between 2019 and 2022 on moss", (2019, 2022)),
        ("papers 2019–2022 on moss", (2019, 2022)),
        ("papers from the 1990s", (1990, 1999)),
        ("In 2024, which papers study moss?", (2024, 2024)),
        ("the 2023 paper on moss", (2023, 2023)),
        ("What did Lin et al. (2020) find?", (2020, 2020)),
        ("What does Lin (2020) say?", (2020, 2020)),
        ("2023年的论文有哪些？", (2023, 2023)),
        ("2019年到2022年发表的文章", (2019, 2022)),
        ("2021年以来的研究", (2021, None)),
        ("2020年之前的论文", (None, 2019)),
        ("发表于2023年的文章", (2023, 2023)),
        ("Welche Arbeiten aus 2023 gibt es?", (2023, 2023)),
        ("Quels articles publiés depuis 2020 étudient la mousse ?", (2020, None)),
        ("artículos publicados en 2022", (2022, 2022)),
    ],
)
def test_a_year_of_publication_is_read(text, years):
    assert years_in(text) == years


@pytest.mark.parametrize(
    "text",
    [
        "How well does it do on AIME 2024?",
        "What is the accuracy in 2012 election data?",
        "Which papers use data from 2012?",
        "Which papers study tweets from 2020?",
        "papers from 2012 elections",
        "papers that analyse elections in 2016",
        "Which AIME 2024 papers are there?",
        "Which papers report accuracy on ImageNet-2012?",
        "papers on storms in 1950",
        "How many of 2000 papers are wrong?",
        "Are 1999 steps enough?",
        "Which papers use 2023.5 as a value?",
        "2024年高考数据的准确率",
        "Why is moss green?",
    ],
)
def test_a_year_of_something_else_is_not_one_of_publication(text):
    assert years_in(text) == NO_YEARS
