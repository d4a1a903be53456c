import pytest

from rag.followup import meant_by_words, names_of_answer, papers_meant
from rag.schema import Paper, Turn

TURNS = [
    Turn("Which papers prune heads?", "ORCA7 does. [1] FinchNet too. [2]", ("a", "b", "c")),
    Turn("thanks!", "Ask me."),
]
ONE = [Turn("Which paper prunes heads?", "ORCA7 prunes half of the heads. [1]", ("a",))]


@pytest.mark.parametrize(
    ("text", "papers"),
    [
        ("How fast is the second one?", ("b",)),
        ("What does the first paper use?", ("a",)),
        ("And the last?", ("c",)),
        ("What does the latter say?", ("c",)),
        ("How fast is the third of them?", ("c",)),
        ("Is the fifth one fast?", ()),
        ("第二篇用了什么数据？", ("b",)),
        ("Do they use the same data?", ("a", "b", "c")),
        ("What is their loss?", ("a", "b", "c")),
        ("Are these papers about speech?", ("a", "b", "c")),
        ("Which data does the federated one use?", ("a", "b", "c")),
        ("它们用了什么数据？", ("a", "b", "c")),
        ("and in mice?", ()),
        ("What about ducks?", ()),
        ("What does the first layer do?", ()),
        ("Why?", ()),
    ],
)
def test_a_follow_up_points_at_papers_of_the_last_answer(text, papers):
    assert papers_meant(text, TURNS) == papers


def test_it_means_the_only_paper_that_was_cited():
    assert papers_meant("How fast is it?", ONE) == ("a",)


def test_without_cited_papers_nothing_is_meant():
    assert papers_meant("How fast is it?", [Turn("What prunes?", "ORCA7.")]) == ()
    assert papers_meant("How fast is the second one?", []) == ()


PAPERS = [
    Paper("a", "Federated pruning of encoders", "We train."),
    Paper("b", "Sparse speech models", "We listen."),
    Paper("c", "Moss in parks", "Federation is absent.", authors=("Ann Author",)),
]


@pytest.mark.parametrize(
    ("text", "papers"),
    [
        ("Which data does the federated one use?", ("a", "c")),
        ("Which data does the sparse speech one use?", ("b",)),
        ("How fast is that moss one?", ("c",)),
        ("How fast is the quantum one?", ("a", "b", "c")),
        ("How fast is the second one?", ("a", "b", "c")),
        ("How fast are they?", ("a", "b", "c")),
    ],
)
def test_a_description_narrows_what_is_meant(text, papers):
    assert meant_by_words(text, PAPERS) == papers


@pytest.mark.parametrize(
    ("turn", "names"),
    [
        (ONE[0], ("ORCA7",)),
        (TURNS[0], ()),
        (Turn("q", "GPU and CPU and TPU are used. [1]", ("a",)), ()),
        (Turn("q", "Moss is green. [1]", ("a",)), ()),
    ],
)
def test_the_names_of_an_answer_count_where_it_rests_on_one_paper(turn, names):
    assert names_of_answer([turn]) == names
    assert names_of_answer([]) == ()
