import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.citations import (
    ReasoningFilter,
    normalise_markers,
    parse,
    render,
    split_reasoning,
)
from rag.schema import Evidence, Paper, Span, Statement

DATA = Path(__file__).parent / "data" / "citations"


def paper(name, authors, year=None):
    return Paper(name, f"Title {name}", "It reads text. It writes code.", authors, year=year)


@pytest.fixture
def evidence():
    """Three sources; the first two are passages of one paper."""
    a = paper("a", ("Ann Smith", "Bo Lee"), 2019)
    b = paper("b", ("Author, A.",), 2019)
    return [
        Evidence(a, "a#0", Span(0, 14), 0.9),
        Evidence(a, "a#1", Span(15, 30), 0.8),
        Evidence(b, "b#0", Span(0, 14), 0.7),
    ]


def as_pairs(reply):
    return [(statement.text, statement.citations) for statement in reply.statements]


# ---- parse


def test_b19_invented_numbers_are_reported_and_lists_and_ranges_resolve(evidence):
    reply = parse("True [1][7]. Also [0], [2, 3] and [1-2].", evidence)
    assert as_pairs(reply) == [("True.", (1,)), ("Also.", (2, 3, 1))]
    assert reply.order == (0, 1, 2)
    assert reply.invented == (7, 0)


def test_b19_two_passages_of_one_paper_keep_their_own_numbers_when_renumbered(evidence):
    reply = parse("It writes code [2]. It reads [1].", evidence)
    assert as_pairs(reply) == [("It writes code.", (1,)), ("It reads.", (2,))]
    assert [evidence[index].passage_id for index in reply.order] == ["a#1", "a#0"]


@pytest.mark.parametrize(
    "text",
    ["It reads text.", "It reads text [4].", "It reads text [2019].", "Answer: [CLS] it is."],
)
def test_b21_a_statement_without_a_valid_citation_is_unsupported(evidence, text):
    (statement,) = parse(text, evidence).statements
    assert statement.support == "unsupported"
    assert statement.citations == ()


def test_a_cited_statement_is_unchecked(evidence):
    assert parse("It reads [1].", evidence).statements == (
        Statement("It reads.", (1,), "unchecked"),
    )


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        pytest.param("True. [1] Also. [2]", [("True.", (1,)), ("Also.", (2,))], id="behind stop"),
        pytest.param("True.[1] Also.[2]", [("True.", (1,)), ("Also.", (2,))], id="glued to stop"),
        pytest.param("True[1]. Also[2].", [("True.", (1,)), ("Also.", (2,))], id="before stop"),
        pytest.param("[2] True. [1] Also.", [("True.", (1,)), ("Also.", (2,))], id="in front"),
        pytest.param("A is [1], B is [1][1].", [("A is, B is.", (1,))], id="once a sentence"),
        pytest.param("Fast (see [1]).", [("Fast (see the source).", (1,))], id="see"),
        pytest.param("Fast ([1], [2]).", [("Fast.", (1, 2))], id="round brackets around"),
        pytest.param(
            "According to [3], it is. In [1] and [2], too.",
            [("According to the source, it is.", (1,)), ("In the sources, too.", (2, 3))],
            id="a marker as a noun",
        ),
        pytest.param("[1] shows it.", [("The source shows it.", (1,))], id="as the subject"),
        pytest.param("A word[1]word.", [("A word word.", (1,))], id="inside a word"),
        pytest.param("It is.\n\n[1]", [("It is.", (1,))], id="alone in a paragraph"),
        pytest.param("It is.\nSources: [1], [3]", [("It is.", (1, 2))], id="sources line"),
        pytest.param(
            "Two:\n- one. Yes [1]\n2. two [2]\n\nEnd.",
            [("Two:", ()), ("- one. Yes", (1,)), ("- two", (2,)), ("End.", ())],
            id="list items",
        ),
        pytest.param("Answer: it is [2].", [("Answer: it is.", (1,))], id="chatter stays"),
        pytest.param("如此[1]。然后[3]。", [("如此。", (1,)), ("然后。", (2,))], id="CJK"),
        pytest.param("For $x[2]$ it is [1].", [("For $x[2]$ it is.", (1,))], id="in a formula"),
        pytest.param("Lin et al. [1].", [("Lin et al.", (1,))], id="one stop is enough"),
        pytest.param("In [0, 1] it is.", [("In [0, 1] it is.", ())], id="an interval"),
        pytest.param("", [], id="empty"),
        pytest.param("[1]", [], id="a marker and nothing else"),
    ],
)
def test_markers_go_with_their_statement(evidence, text, pairs):
    assert as_pairs(parse(text, evidence)) == pairs


@pytest.mark.parametrize("name", ["chatter_list", "before_and_after"])
def test_replies_render_as_the_golden_files(evidence, name):
    reply = parse((DATA / f"{name}.txt").read_text(), evidence)
    assert render(reply.statements) + "\n" == (DATA / f"{name}.md").read_text()


def test_a_closing_list_of_sources_is_left_out_and_not_counted(evidence):
    reply = parse("It is [1].\n\n**References**\n1. A. Author [8]\n[2] B. Author\n", evidence)
    assert as_pairs(reply) == [("It is.", (1,))]
    assert reply.invented == ()


# ---- author and year


@pytest.mark.parametrize(
    ("text", "order"),
    [
        pytest.param("It writes code (Smith, 2019).", (1,), id="the sentence that fits best"),
        pytest.param("It reads text (Smith et al., 2019).", (0,), id="et al."),
        pytest.param("So it is (see Smith & Lee 2019; Author, 2019).", (0, 2), id="two"),
        pytest.param("So it is [Author, 2019a].", (2,), id="square"),
        pytest.param("So it is (Smith, 2018).", (), id="another year"),
        pytest.param("So it is (Lee, 2019).", (), id="not the first author"),
        pytest.param("So it is (Smith, 2019; Wu, 2020).", (), id="one unknown"),
        pytest.param("So it is (in May, 2019).", (), id="no author"),
    ],
)
def test_b22_author_and_year_are_linked_when_unique(evidence, text, order):
    reply = parse(text, evidence)
    assert reply.order == order
    assert ("2019" in reply.statements[0].text or "2018" in reply.statements[0].text) == (not order)


def test_b22_author_and_year_of_two_papers_stay_text(evidence):
    other = paper("c", ("Carl Smith",), 2019)
    reply = parse("So it is (Smith, 2019).", [*evidence, Evidence(other, "c#0", Span(0, 14), 0.1)])
    assert as_pairs(reply) == [("So it is (Smith, 2019).", ())]


def test_accents_do_not_matter_in_a_name():
    source = Evidence(paper("d", ("Jörg Müller",), 2020), "d#0", Span(0, 14), 1.0)
    assert parse("So (Muller, 2020).", [source]).order == (0,)


# ---- normalise_markers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("So【1】.", "So[1].", id="lenticular"),
        pytest.param("So [1†source].", "So [1].", id="dagger"),
        pytest.param("So【4:0†paper.pdf】.", "So[4].", id="dagger with part"),
        pytest.param("So [^1].", "So [1].", id="footnote"),
        pytest.param("So [Source 1] [sources 2 and 3].", "So [1][2][3].", id="named"),
        pytest.param("So [S1, S2] [#3].", "So [1][2][3].", id="short names"),
        pytest.param("So [Source 2: a title].", "So [2].", id="with a title"),
        pytest.param("So (Source 1) (refs. 2, 3).", "So [1][2][3].", id="named, round"),
        pytest.param("So [1-2] [1–3].", "So [1][2][1][2][3].", id="ranges"),
        pytest.param("So [2, 3] [1;2] [1 & 2].", "So [2][3][1][2][1][2].", id="lists"),
        pytest.param("So [1,3-5].", "So [1][3][4][5].", id="list with range"),
        pytest.param("So [5-3] [1-99999].", "So [5][3][1][99999].", id="absurd ranges"),
        pytest.param("So [[1]] ([2]).", "So [1] [2].", id="wrapped"),
        pytest.param("So [1](#source-1) on.", "So [1] on.", id="link"),
        pytest.param("So [1], [2] and [3] on.", "So [1][2][3] on.", id="written out"),
        pytest.param("So [2019].", "So [2019].", id="a year is a number beyond the sources"),
        pytest.param("So (1).", "So [1].", id="round at the end"),
        pytest.param("So. (2)", "So. [2]", id="round behind the stop"),
    ],
)
def test_b22_known_variants_are_normalised(text, expected):
    text = normalise_markers(text, sources=3)
    assert re.sub(r"\] \[", "][", text) == re.sub(r"\] \[", "][", expected)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("The token [CLS] and [MASK].", id="tokens"),
        pytest.param("A value in [0, 1] or range [0,255].", id="intervals"),
        pytest.param("We have $x \\in [0, 1]$ and \\(y[1]\\).", id="formulas"),
        pytest.param("A value in [-1, 1] or [0.5, 2].", id="signs and decimals"),
        pytest.param("(1) First. (2) Second.", id="enumeration"),
        pytest.param("By Eq. (2) and step (1).", id="counted things"),
        pytest.param("It has a factor (9).", id="beyond the sources"),
        pytest.param("It was so (2019).", id="a year in round brackets"),
        pytest.param("So [1]. A case of type (2).", id="round beside square"),
        pytest.param("[12345678] and [1a] and [a1].", id="no numbers of a source"),
        pytest.param("An unclosed [1, 2", id="unclosed"),
    ],
)
def test_what_is_no_marker_is_left_alone(text):
    assert normalise_markers(text, sources=3) == text


# ---- reasoning


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        pytest.param("<think>cite [3]</think>A [1]", "A [1]", "cite [3]", id="block"),
        pytest.param("<Thinking >\na\n</THINKING>\n\nB", "B", "a", id="other spelling"),
        pytest.param("A. <think>x</think> B. <think>y</think>", "A. B.", "xy", id="two"),
        pytest.param("x so\n</think>\n\nB", "B", "x so", id="opened by the prompt"),
        pytest.param("A <think>x</think> B", "A B", "x", id="within a sentence"),
        pytest.param("Print `<think>` and `</think>`.", None, "", id="quoted"),
        pytest.param("The paper adds <think> tokens [1].", None, "", id="named, not closed"),
        pytest.param("a < b and <b>c</b>", None, "", id="other angle brackets"),
        pytest.param("<think>a<think>b</think>c", "c", "ab", id="opened twice"),
    ],
)
def test_b22_reasoning_is_separated(text, answer, reasoning):
    found = split_reasoning(text)
    assert (found.answer, found.reasoning) == (text if answer is None else answer, reasoning)
    assert not found.is_open


@pytest.mark.parametrize("text", ["<think>cite [3] and", "A.\n<think>x", "<think>"])
def test_b22_an_unclosed_block_is_told(evidence, text):
    assert split_reasoning(text).is_open
    reply = parse(text, evidence)
    assert reply.reasoning_open
    assert reply.order == ()


def test_b22_reasoning_is_never_counted(evidence):
    reply = parse("<think>cite [3] or [9]</think>A is [1].", evidence)
    assert (reply.order, reply.invented, reply.reasoning_open) == ((0,), (), False)


@settings(database=None, deadline=None, max_examples=200)
@given(
    st.lists(
        st.sampled_from(["<think>", "</think>", "A", " ", "\n", "[1]", ".", "<", "`", "<thin", ">"])
    ).map("".join),
    st.lists(st.integers(1, 9), min_size=1),
)
def test_b22_a_tag_split_over_pieces_gives_the_same_answer(text, sizes):
    whole, pieces = ReasoningFilter(), ReasoningFilter()
    expected = whole.feed(text) + whole.finish()
    got, position = "", 0
    for size in sizes * len(text):
        got += pieces.feed(text[position : position + size])
        position += size
    assert got + pieces.finish() == expected
    assert (pieces.is_open, pieces.reasoning) == (whole.is_open, whole.reasoning)


def test_a_stream_is_passed_on_as_soon_as_it_cannot_be_a_tag():
    stream = ReasoningFilter()
    assert [stream.feed(piece) for piece in ("<th", "ink>x</", "think>", " A <", "b>")] == [
        "",
        "",
        "",
        "A ",
        "<b>",
    ]


def test_a_stream_can_begin_inside_a_block():
    stream = ReasoningFilter(inside=True)
    assert stream.feed("so it is</think>\nA") == "A"
    assert stream.reasoning == "so it is"


# ---- render and bounds


def test_render_puts_markers_behind_the_text_and_items_on_lines():
    assert (
        render(
            [
                Statement("A “quote.”", (1, 2)),
                Statement("Chatter"),
                Statement("- one", (2,)),
                Statement("- two"),
                Statement("End.", (3,)),
            ]
        )
        == "A “quote.” [1][2] Chatter\n- one [2]\n- two\nEnd. [3]"
    )


def test_a_rendered_answer_is_read_as_the_same_statements(evidence):
    first = parse("It reads [3]. So:\n- code [1]\n- text. [2, 3]\n\nEnd.", evidence)
    again = parse(render(first.statements), [evidence[index] for index in first.order])
    assert again.statements == first.statements
    assert again.order == (0, 1, 2)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[1" * 50_000, id="open markers"),
        pytest.param("[1," + "1," * 50_000, id="an open list"),
        pytest.param("[1]" * 40_000, id="markers"),
        pytest.param("x" * 100_000, id="letters"),
        pytest.param(" " * 100_000 + "x", id="spaces"),
        pytest.param("(" * 100_000, id="brackets"),
        pytest.param("<think>" * 20_000, id="opening tags"),
        pytest.param("<" * 100_000, id="angle brackets"),
        pytest.param("- \n" * 30_000, id="bullets"),
        pytest.param("(Aa Aa Aa Aa" * 8_000, id="open names"),
        pytest.param("1. a\n" * 20_000, id="list"),
        pytest.param("$a [1] " * 15_000, id="dollars"),
    ],
)
def test_a_reply_is_read_in_linear_time(evidence, text):
    begin = time.perf_counter()
    parse(text, evidence)
    assert time.perf_counter() - begin < 10  # a quadratic pass takes minutes


@settings(database=None, deadline=None, max_examples=300)
@given(st.text(st.sampled_from(list("aB1 0.[](),-【】\n<>$`"))))
def test_any_reply_gives_statements_with_citations_in_range(text):
    source = Evidence(paper("a", ()), "a#0", Span(0, 14), 1.0)
    reply = parse(text, [source, source])
    cited = [marker for statement in reply.statements for marker in statement.citations]
    assert list(dict.fromkeys(cited)) == list(range(1, len(set(cited)) + 1))
    assert set(reply.order) <= {0, 1}
    assert not set(reply.invented) & {1, 2}
    assert all(statement.text.strip() for statement in reply.statements)
