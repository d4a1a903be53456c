"""The default answerer with the packaged embedder, on the packaged sample."""

import re

import pytest

from rag.schema import Filters, Turn

pytestmark = pytest.mark.model


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    from rag.samples import open_sample
    from rag.settings import Settings

    library = open_sample(Settings(home=tmp_path_factory.mktemp("libraries")))
    yield library
    library.close()


# Question, first author of its paper, and words of the sentence that answers.
ANSWERABLE = [
    (
        "How many pairs of patents and products are in the test set for patent image retrieval?",
        "Haifan Gong",
        "439 product-patent pairs",
    ),
    (
        "How much faster than classical solvers are transport plans between graphs predicted?",
        "Sonia Mazelet",
        "up to two orders of magnitude faster",
    ),
    (
        "Which small change to a prompt can switch the thinking of a distilled model on or off?",
        "Songjun Tu",
        "inserting a simple ellipsis",
    ),
    (
        "What does NExT-Guard watch to stop unsafe text while it is being streamed?",
        "Junfeng Fang",
        "monitoring interpretable latent features",
    ),
    (
        "Which regime does GRPO yield by moving towards the vertices of the simplex?",
        "Ali Rad",
        "winner-take-all",
    ),
    (
        "What does the OSS-ratio measure in matching markets with ties?",
        "Shiyun Lin",
        "maximum achievable utility",
    ),
    (
        "How does 4D3R treat the static and the moving parts of a scene?",
        "Mengqi Guo",
        "decouples static and dynamic components",
    ),
    (
        "What causes language models to slip in addition, in the noisy quantization view?",
        "Liuyuan Wen",
        "internal neural noise",
    ),
]

FOREIGN = [
    "How long should a roast chicken rest before it is carved?",
    "Which king built the oldest bridge of Paris?",
    "Can vitamin C shorten a common cold?",
    "What share of sea turtles survives its first year?",
    "Is there life on Mars?",
    "Is an SGD bill worth more than a USD bill?",  # SGD is in a paper, as something else
    "How much does 3D printing cost?",
]


def assert_verbatim(library, answer):
    for citation in answer.citations:
        abstract = library.paper(citation.paper.id).abstract
        assert abstract[citation.span.start : citation.span.end] == citation.quote
        plain = re.sub(r" \[[A-Z][^\]]*\]", "", answer.text)  # without "[EDGE]"
        assert citation.quote in plain


@pytest.mark.parametrize(("question", "author", "said"), ANSWERABLE)
def test_the_right_sentence_of_the_right_paper_is_quoted(sample, question, author, said):
    answer = sample.ask(question)
    assert answer.papers[0].paper.authors[0] == author
    (found,) = (one for one in answer.citations if said in one.quote)
    assert found.paper.authors[0] == author
    assert not answer.abstained
    assert_verbatim(sample, answer)


@pytest.mark.parametrize("question", FOREIGN)
def test_b21_a_question_of_another_field_is_an_abstention(sample, question):
    answer = sample.ask(question)
    assert (answer.abstained, answer.citations) == (True, ())
    assert len(answer.papers) == 10
    assert answer.confidence < 0.2


def test_b21_a_filter_makes_no_foreign_question_answerable(sample):
    assert sample.ask(FOREIGN[0], filters=Filters(topic="Theory")).abstained


def test_a_list_names_one_sentence_of_each_paper(sample):
    answer = sample.ask("Which papers are about graph neural networks or graph transport?")
    cited = [one.paper.id for one in answer.citations]
    assert len(cited) == len(set(cited)) >= 2
    assert_verbatim(sample, answer)


def test_papers_of_a_topic_are_those_filed_under_it(sample):
    answer = sample.ask('What do the papers filed under "Learning Theory" prove?')
    assert {one.paper.topic for one in answer.papers} == {"Theory · Learning Theory"}
    assert_verbatim(sample, answer)


def test_a_comparison_quotes_both_systems(sample):
    answer = sample.ask("How does CAMEL differ from AutoThink?")
    authors = {one.paper.authors[0] for one in answer.citations}
    assert {"Zirui Zhu", "Songjun Tu"} <= authors


def test_b23_a_follow_up_finds_the_paper_of_the_question_before(sample):
    history = [Turn("Which method predicts optimal transport plans between graphs?")]
    answer = sample.ask("And which loss is it trained with?", history=history)
    assert answer.papers[0].paper.authors[0] == "Sonia Mazelet"
    assert any("fused unbalanced Gromov-Wasserstein" in one.quote for one in answer.citations)


def test_the_best_match_of_a_verbatim_sentence_is_near_one_and_scores_fall(sample):
    abstract = sample.papers(limit=1)[0].abstract
    found = sample.search(abstract[:900])
    assert found[0].paper.abstract == abstract
    assert found[0].cosine > 0.9
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
