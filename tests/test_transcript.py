"""A conversation as Markdown: numbered once, original characters, and nothing that acts."""

import re
import time

import pytest
from markdown_it import MarkdownIt

from rag.schema import Answer, Citation, Paper, RankedPaper, Span, Statement
from rag.transcript import cited_papers, escaped, markdown


def rendered(text):
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)


def shown(text):
    """Return what a reader sees of one block, and the kinds of tokens it is made of."""
    blocks = rendered(text)
    inner = [child for block in blocks for child in block.children or ()]
    kinds = {token.type for token in (*blocks, *inner)}
    return "".join(child.content for child in inner), kinds


def paper(name, **fields):
    values = {"title": f"Title {name}", "authors": ("A. Author",), "year": 2024}
    return Paper(name, **{**values, "abstract": f"Sentence of {name}.", **fields})


def answer(question, *statements, papers=(), **fields):
    """Return an answer whose marker n stands for the n-th paper."""
    citations = tuple(
        Citation(n, one, f"{one.id}#0", Span(0, len(one.abstract)), one.abstract)
        for n, one in enumerate(papers, start=1)
    )
    text = " ".join(one.text for one in statements)
    return Answer(question, text, False, statements=statements, citations=citations, **fields)


A, B, C = paper("a"), paper("b", title="", doi="10.1000/xyz"), paper("c", url="https://x.org/c")


def test_a_whole_conversation_reads_like_this():
    quoted = answer(
        "Which?",
        Statement("Sentence of b.", (1,), "verbatim"),
        Statement("Sentence of a.", (2,), "verbatim"),
        papers=(B, A),
    )
    written = answer(
        "And then?",
        Statement("It is so.", (1, 2), "supported"),
        Statement("It may be.", (2,), "weak"),
        Statement("- one", (1,), "unchecked"),
        Statement("- two", (), "unsupported"),
        papers=(A, C),
        searched="Which? And then?",
        notes=("A note.",),
        error="The server stopped.",
    )
    nothing = Answer("Mars?", "No answer here.", True, papers=(RankedPaper(C, 1, 1.0, 0.1, "c#0"),))
    assert markdown("My title", [quoted, written, nothing]) == (
        """\
# My title

## 1. Which?

Sentence of b. [1]

Sentence of a. [2]

## 2. And then?

Searched for: Which? And then?

It is so. [2][3] It may be. [3] (only in part supported by its source)

- one [2] (not compared with its source)
- two (not supported by a source)

Sources:

- [2] “Sentence of a.”
- [3] “Sentence of c.”

Note: A note.

The answer is incomplete: The server stopped.

## 3. Mars?

No answer here.

Nearest papers (they do not answer it):

- A. Author. Title c. 2024. <https://x.org/c>

## Bibliography

[1] A. Author. [Sentence of b.]. 2024. <https://doi.org/10.1000/xyz>

[2] A. Author. Title a. 2024.

[3] A. Author. Title c. 2024. <https://x.org/c>
"""
    )


def test_a_conversation_without_turns_is_its_title():
    assert markdown("Empty", []) == "# Empty\n"


def test_two_quotes_of_one_paper_are_one_number():
    said = answer("Q?", Statement("Both.", (1, 2), "supported"), papers=(A, A))
    assert "Both. [1]\n" in markdown("T", [said])
    assert cited_papers([said, said]) == (A,)


def test_b26_formulas_and_prices_keep_their_characters():
    text = (
        r"Costs fell from $3000 to $25; see $E=mc^2$, \(x_i\) and $$y^2$$, $a_1*b_2$ at 5% & 10#."
    )
    assert escaped(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "[click](https://evil.example)",
        "![image](https://evil.example/x.png)",
        "[click][1]",
        "[1]: https://evil.example",
        "[[wiki]]",
        "<https://evil.example>",
        "<img src=x onerror=alert(1)>",
        "</p><script>alert(1)</script>",
        "<!-- hidden -->",
        "# heading",
        "####### heading",
        "> quote",
        "- item",
        "* item",
        "+ item",
        "1. item",
        "12) item",
        "---",
        "***",
        "___",
        "===",
        "```code",
        "~~~code",
        "`code` and ``more``",
        "    indented",
        "| a | b |",
        "::: note",
        "*em* **strong** _em_ __strong__ ~~gone~~",
        "&lt;b&gt; &#91;x&#93; AT&T",
        "\\# [x] \\\\ \\* end\\",
        r"\alpha and \frac{a}{b}",
        "$[a](https://evil.example)$",
        "$a<b>c$ and $`x`$",
        "${x}$](https://evil.example)",
        "[a$x$](https://evil.example)",
        "snake_case and a*b*c",
        "a < b, a<b, a>b, p<0.05",
        "{: onclick=x}",
        "日本語 Ünïcode ✓ 🧪 “quoted”",
        "two  spaces and a no-break\u00a0space",
    ],
)
def test_b36_a_text_is_shown_as_it_is_and_makes_nothing(text):
    content, kinds = shown(escaped(text))
    assert content == text.strip()
    assert kinds <= {"paragraph_open", "inline", "text", "paragraph_close"}


@pytest.mark.parametrize("prefix", ["# ", "## 1. ", "- ", "[1] "])
@pytest.mark.parametrize(
    "text", ["# x", "- x", "> x", "](https://e.example)", "(https://e.example)"]
)
def test_a_text_makes_nothing_behind_what_stands_before_it(prefix, text):
    _, kinds = shown(prefix + escaped(text))
    assert not kinds & {"link_open", "blockquote_open", "image"}
    assert kinds & {"heading_open", "bullet_list_open"} == shown(f"{prefix}x")[1] & {
        "heading_open",
        "bullet_list_open",
    }


@pytest.mark.parametrize(
    "text", ["see https://evil.example now", "WWW.evil.example", "a@evil.example"]
)
def test_a_bare_address_in_a_text_is_no_link(text):
    assert not re.search(r"https?://|(?i:www\.)|\w@\w", escaped(text))
    assert shown(escaped(text))[0] == text


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n# heading",
        "a\r## heading",
        "a\n===",
        "a\u2028- b",
        "a\n\n[1]: https://e.example",
        "\x1b[31m",
    ],
)
def test_a_text_stays_on_one_line(text):
    assert len(escaped(text).splitlines()) == 1
    assert shown(escaped(text))[1] <= {"paragraph_open", "inline", "text", "paragraph_close"}


HOSTILE = (
    "x\n\n# Heading [a](javascript:alert(1)) ![i](https://evil.example) <script>y</script>\n---"
)


def test_no_field_of_a_paper_or_an_answer_acts():
    evil = Paper(
        "p",
        title=HOSTILE,
        abstract=HOSTILE,
        authors=(HOSTILE, "- B"),
        venue=HOSTILE,
        topic=HOSTILE,
        url="javascript:alert(1)",
    )
    untitled = Paper("q", abstract=HOSTILE, url="https://x.org/<script>](y) z")
    said = answer(
        HOSTILE,
        Statement(HOSTILE, (1,), "weak"),
        Statement(f"- {HOSTILE}", (2,), "weak"),
        papers=(evil, untitled),
        searched=HOSTILE + "!",
        notes=(HOSTILE,),
        error=HOSTILE,
    )
    nothing = Answer(HOSTILE, HOSTILE, True, papers=(RankedPaper(evil, 1, 1.0, None, "p#0"),))
    text = markdown(HOSTILE, [said, nothing])
    tokens = rendered(text)
    inner = [child for block in tokens for child in block.children or ()]
    assert [token.tag for token in tokens if token.type == "heading_open"] == [
        "h1",
        "h2",
        "h2",
        "h2",
    ]
    assert {token.type for token in inner} == {"text", "link_open", "link_close"}
    links = [token.attrs["href"] for token in inner if token.type == "link_open"]
    assert links == ["https://x.org/%3Cscript%3E%5D(y)%20z"]
    assert not {token.type for token in tokens} & {"html_block", "hr", "fence", "code_block"}


@pytest.mark.parametrize(
    ("paper", "line"),
    [
        pytest.param(Paper("p"), "[1] p", id="nothing known"),
        pytest.param(Paper("p", title="Why?"), "[1] Why?", id="title alone"),
        pytest.param(
            Paper("p", title="T", authors=tuple(f"A{n}" for n in range(12)), venue="V", year=2020),
            "[1] A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 et al. T. V, 2020.",
            id="many authors",
        ),
        pytest.param(
            Paper("p", title="T", authors=("A",), more_authors=True, arxiv_id="2101.00001"),
            "[1] A et al. T. <https://arxiv.org/abs/2101.00001>",
            id="and others",
        ),
        pytest.param(Paper("p", title="T", url="ftp://x.org/y"), "[1] T.", id="no web address"),
    ],
)
def test_a_bibliography_line(paper, line):
    said = answer("Q?", Statement("S.", (1,), "verbatim"), papers=(paper,))
    assert markdown("T", [said]).splitlines()[-1] == line


@pytest.mark.parametrize(
    "piece", ["[", "](", "$", "\\(", "&#", "*_", "<", "`", "\\", "@a", "$$", "[["]
)
def test_hostile_texts_take_linear_time(piece):
    began = time.perf_counter()
    escaped(piece * 50_000)
    assert time.perf_counter() - began < 2
