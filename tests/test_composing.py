import time

import pytest

from rag.composing import LONGEST_NAME, own_name, statement_text, statement_texts
from rag.schema import Evidence, Paper, Span
from rag.sentences import sentence_spans

EDGE = "EDGE: efficient distributed graphs"


def paper(title="", abstract=""):
    return Paper("p", title, abstract)


def evidence(title, abstract):
    """Return every sentence of an abstract as evidence; the title where there is none."""
    spans = sentence_spans(abstract) or [Span(0, 0)]
    return [Evidence(paper(title, abstract), "p#0", span, 0.0) for span in spans]


def last_of(title, abstract):
    return statement_text(evidence(title, abstract)[-1])


# ---- what a paper calls what it presents


@pytest.mark.parametrize(
    ("title", "abstract", "name"),
    [
        pytest.param(EDGE, "", "EDGE", id="title with a colon"),
        pytest.param("EDGE – efficient graphs", "", "EDGE", id="title with a dash"),
        pytest.param(
            "EDGE：高效的图", "我们提出了一种方法。", "EDGE", id="title with a wide colon"
        ),
        pytest.param(
            "BERT4Rec: users", "We propose ORCA7.", "BERT4Rec", id="the title counts first"
        ),
        pytest.param("Graphs: a survey", "We propose ORCA7.", "ORCA7", id="title of plain words"),
        pytest.param("", "We propose ORCA7, a method.", "ORCA7", id="we propose"),
        pytest.param("", "This paper introduces Graph-KV.", "Graph-KV", id="this paper introduces"),
        pytest.param("", "A method called FedGFM+ is new.", "FedGFM+", id="called"),
        pytest.param("", "We present **ORCA7**, a method.", "ORCA7", id="in bold"),
        pytest.param("", "We build a tool named “FinchNet”.", "FinchNet", id="in quotation marks"),
        pytest.param("", "We propose pruned heads (ORCA7) for it.", "ORCA7", id="in brackets"),
        pytest.param(
            "",
            "An agent called COPRA, asks a large model (GPT-4) first.",
            "COPRA",
            id="stands alone",
        ),
        pytest.param(
            "", "We present KeyPoint Models (KEMO) here.", "KEMO", id="brackets before words"
        ),
        pytest.param(
            "",
            "We propose a loss. We also propose FinchNet.",
            "FinchNet",
            id="named the second time",
        ),
    ],
)
def test_a_paper_s_own_name_stands_in_its_title_or_behind_we_propose(title, abstract, name):
    assert own_name(paper(title, abstract)) == name


@pytest.mark.parametrize(
    ("title", "abstract"),
    [
        pytest.param("", "", id="nothing"),
        pytest.param("Zebrafish sleep in the dark", "", id="title only"),
        pytest.param("Sleep: a survey of fish", "", id="a plain word before the colon"),
        pytest.param("GNN: layers", "", id="a short abbreviation"),
        pytest.param("LLMs: a survey", "We present LLMs.", id="a plural abbreviation"),
        pytest.param("2024: a year", "", id="a number"),
        pytest.param("A" * LONGEST_NAME + "1: long", "", id="longer than a name"),
        pytest.param("", "BERT is old. It was never ours.", id="a name that nothing presents"),
        pytest.param("", "We develop a method using BERT4Rec.", id="behind using"),
        pytest.param("", "We propose an agent that asks GPT-4.", id="behind that"),
        pytest.param("", "We present a GPT-4 based agent.", id="before based"),
        pytest.param("", "We present $X_{1}$-net for $\\alpha$.", id="maths"),
        pytest.param("", "We present \\textsc{edge}, a tool.", id="a command of LaTeX"),
        pytest.param("潮汐与海草", "海草在低潮时生长缓慢。我们提出了方法。", id="Chinese"),
        pytest.param("", "We propose scans (3D) for it.", id="a mere dimension"),
    ],
)
def test_a_paper_without_a_name_of_its_own_has_none(title, abstract):
    assert own_name(paper(title, abstract)) is None


# ---- quoted sentences


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("Our method reaches 81 %.", "Our method [EDGE] reaches 81 %."),
        ("We test our framework.", "We test our framework [EDGE]."),
        ("The proposed method wins.", "The proposed method [EDGE] wins."),
        ("Our new training scheme wins.", "Our new training scheme wins."),
        ("Our distributed system wins.", "Our distributed system [EDGE] wins."),
        ("Our model's size is 3 MB.", "Our model [EDGE]'s size is 3 MB."),
        ("Our method and our model win.", "Our method [EDGE] and our model win."),
        ("Our methods win.", "Our methods win."),
        ("Hour model and four tools win.", "Hour model and four tools win."),
        ("Our method beats EDGE by far.", "Our method beats EDGE by far."),
        ("Our method holds knowledge.", "Our method [EDGE] holds knowledge."),
        ("Our method runs on edge nodes.", "Our method [EDGE] runs on edge nodes."),
        ("Our method proves $x^2 < y$.", "Our method [EDGE] proves $x^2 < y$."),
        ("Their method wins.", "Their method wins."),
    ],
)
def test_our_method_is_named_in_brackets_unless_the_sentence_has_the_name(sentence, said):
    assert last_of(EDGE, sentence) == said


@pytest.mark.parametrize(
    ("abstract", "said"),
    [
        ("EDGE cuts graphs. It needs 3 MB.", "It [EDGE] needs 3 MB."),
        ("EDGE cuts graphs. This model is small.", "This model [EDGE] is small."),
        ("EDGE cuts graphs. This new method is small.", "This new method [EDGE] is small."),
        ("EDGE cuts graphs. The framework is small.", "The framework [EDGE] is small."),
        ("EDGE cuts graphs. It is a tool that cuts.", "It [EDGE] is a tool that cuts."),
        ("EDGE cuts graphs. It is designed to cut.", "It [EDGE] is designed to cut."),
        ("EDGE cuts graphs. Then it needs 3 MB.", "Then it needs 3 MB."),
        ("EDGE cuts graphs. Its size is 3 MB.", "Its size is 3 MB."),
        ("EDGE cuts graphs. They are small.", "They are small."),
        ("EDGE is new. Graphs are large. It needs 3 MB.", "It needs 3 MB."),
        ("KNOWLEDGE is large. It needs 3 MB.", "It needs 3 MB."),
        ("It needs 3 MB.", "It needs 3 MB."),
    ],
)
def test_a_leading_it_is_named_only_where_the_sentence_before_names_the_thing(abstract, said):
    assert last_of(EDGE, abstract) == said


@pytest.mark.parametrize(
    "sentence",
    [
        "It is well known that graphs are large.",
        "It is hard to cut graphs.",
        "It remains unclear whether graphs are large.",
        "It was shown that graphs are large.",
    ],
)
def test_an_it_that_stands_for_no_thing_gets_no_name(sentence):
    assert last_of(EDGE, f"EDGE cuts graphs. {sentence}") == sentence


def test_a_title_is_quoted_as_it_stands():
    assert last_of(EDGE, "") == EDGE
    assert last_of("How our method sleeps", "") == "How our method sleeps"


def test_a_paper_without_a_name_is_quoted_as_it_stands():
    assert last_of("Graphs", "Our method is new.") == "Our method is new."


def test_chinese_between_names_is_left_alone():
    assert last_of("EDGE：高效的图", "我们的方法很快。") == "我们的方法很快。"


def test_the_texts_of_several_statements_keep_their_order():
    both = evidence(EDGE, "EDGE cuts graphs. It needs 3 MB.")
    assert statement_texts(both) == ["EDGE cuts graphs.", "It [EDGE] needs 3 MB."]
    assert statement_texts([]) == []


def test_without_its_brackets_a_statement_is_the_sentence():
    for one in evidence(EDGE, "EDGE is new. It is small. Our method wins. Our tool, too."):
        assert statement_text(one).replace(" [EDGE]", "") == one.text


# ---- hostile papers


@pytest.mark.parametrize(
    "part",
    [
        "We propose ",
        "we ",
        "called (",
        "a (",
        "our ",
        "It ",
        "A: ",
        "called A",
        "based ",
        "(",
        "A1-",
    ],
)
def test_hostile_papers_take_linear_time(part):
    text = part * (200_000 // len(part))
    began = time.perf_counter()
    own_name(paper(text, text))
    statement_text(Evidence(paper(EDGE, text), "p#0", Span(0, len(text)), 0.0))
    assert time.perf_counter() - began < 5


def test_a_name_with_signs_of_a_pattern_is_compared_as_it_stands():
    assert last_of("FED++: code", "FED++ cuts. It wins.") == "It [FED++] wins."
    assert last_of("FED++: code", "FEDDD cuts. It wins.") == "It wins."
