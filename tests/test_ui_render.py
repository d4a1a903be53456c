import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from rag.schema import Answer, Citation, Paper, RankedPaper, Source, Span, Statement
from ui.render import answer_html, badge, copy_text, failure_html, partial_html, question_html
from ui.sources import EMPTY, paper_html, sources_html

GOLDEN = Path(__file__).parent / "data" / "ui"
ABSTRACT = "We study trees. Costs fell from $3000 to $25 <fast>. They satisfy $E=mc^2$ & more."
PAPER = Paper(
    id="p1",
    title="On <b>trees</b>",
    abstract=ABSTRACT,
    authors=("A. Author", "B. Author"),
    topic="Forests",
    year=2024,
    doi="10.1000/abc",
    arxiv_id="2401.00001",
    url="https://example.org/trees",
    source=Source("trees.bib", 3, "trees"),
)
OTHER = Paper(id="p2", abstract="Another paper speaks of grass and of nothing else at all.")
EVIL = Paper(
    id="p3",
    title='<img src=x onerror=alert(1)> ![x](https://evil.example/a.png) "q"',
    abstract="<script>alert(1)</script> [link](javascript:alert(1)) \\(x\\) ${alert(1)} {{x}}",
    authors=("<svg onload=alert(1)>",),
    topic="</mark></p><iframe src=https://evil.example>",
    url="javascript:alert(1)",
    doi='10.1/"onmouseover="alert(1)',
    arxiv_id="x' onclick='alert(1)",
)


def cite(marker, paper, quote, support="verbatim"):
    start = paper.abstract.index(quote)
    return Citation(marker, paper, f"{paper.id}#0", Span(start, start + len(quote)), quote, support)


def ranked(*papers):
    return tuple(RankedPaper(p, n, 1 / n, None, f"{p.id}#0") for n, p in enumerate(papers, 1))


QUOTED = Answer(
    "What do trees cost?",
    "Costs fell from $3000 to $25 <fast>. [1]\nThey satisfy $E=mc^2$ & more. [2]",
    abstained=False,
    statements=(
        Statement("Costs fell from $3000 to $25 <fast>.", (1,), "verbatim"),
        Statement("They satisfy $E=mc^2$ & more.", (2,), "verbatim"),
    ),
    citations=(
        cite(1, PAPER, "Costs fell from $3000 to $25 <fast>."),
        cite(2, PAPER, "They satisfy $E=mc^2$ & more."),
    ),
    papers=ranked(PAPER, OTHER),
    timings_ms={"total": 210.0},
    searched="What do trees cost?",
)
WRITTEN = replace(
    QUOTED,
    llm="ollama:small",
    statements=(
        Statement("Trees are cheap", (1,), "supported"),
        Statement("They grow.", (1, 2), "weak"),
        Statement("They fly.", (2,), "unsupported"),
        Statement("They are green.", (2,), "unchecked"),
        Statement("Believe me.", (), "unchecked"),
    ),
    searched="What do trees cost? And grass?",
    invented=(7, 9),
    error="The server 'x' closed the connection.",
    notes=("A note with <tags>.",),
)
ABSTAINED = Answer(
    "Is there life on Mars?",
    "The papers in this library do not answer this question.",
    abstained=True,
    papers=ranked(PAPER, OTHER),
    searched="Is there life on Mars?",
)


def pretty(html):
    """Put every element on a line of its own, for a diff that can be read."""
    return re.sub(r"(?<=>)(?=<(?!/))|(?<=</p>)|(?<=</article>)", "\n", html).strip() + "\n"


@pytest.mark.parametrize(
    ("name", "html"),
    [
        ("quoted", answer_html(QUOTED, 3)),
        ("written", answer_html(WRITTEN, 4)),
        ("abstained", answer_html(ABSTAINED, 5)),
        ("sources", sources_html(QUOTED, 3)),
        ("nearest", sources_html(ABSTAINED, 5)),
    ],
)
def test_the_page_shows_what_the_golden_file_holds(name, html):
    assert pretty(html) == (GOLDEN / f"{name}.html").read_text("utf-8")


def test_every_statement_shows_its_support_in_words_and_by_a_sign():
    shown = answer_html(WRITTEN, 1)
    words = re.findall(r"cw-badge[^>]*>([^<]+)<", shown)
    assert words == ["✓ supported", "◐ partly supported", "✗ not supported", "? unchecked",
                     "∅ no source"]  # fmt: skip


def test_markers_are_links_that_name_their_turn_and_source():
    links = re.findall(r'<a class="cw-cite" href="([^"]+)" title="([^"]+)"', answer_html(QUOTED, 3))
    assert [href for href, _ in links] == ["#source-3-1", "#source-3-2"]
    assert links[0][1] == "Source 1: On &lt;b&gt;trees&lt;/b&gt;"


def test_a_statement_never_links_a_marker_without_a_citation():
    lost = replace(QUOTED, statements=(Statement("Lost.", (9,), "unchecked"),), llm="x")
    assert "#source-1-9" not in answer_html(lost, 1)


def test_an_abstention_cites_nothing_and_names_the_nearest_papers():
    shown = answer_html(ABSTAINED, 5)
    assert "cw-abstained" in shown
    assert "cw-cite" not in shown
    assert shown.count('class="cw-near"') == 2
    assert "<mark" not in sources_html(ABSTAINED, 5)


def test_the_exact_sentence_is_marked_inside_the_whole_abstract():
    shown = sources_html(QUOTED, 3)
    marks = re.findall(r'<mark class="cw-mark (cw-m-\d+-\d+)" tabindex="-1">(.*?)</mark>', shown)
    assert marks == [
        ("cw-m-3-1", "Costs fell from $3000 to $25 &lt;fast&gt;."),
        ("cw-m-3-2", r"They satisfy \(E=mc^2\) &amp; more."),
    ]
    assert "We study trees. <mark" in shown


@pytest.mark.parametrize(
    "spans",
    [
        pytest.param([(0, 15), (3, 10)], id="one inside the other"),
        pytest.param([(0, 15), (10, 30)], id="overlapping"),
        pytest.param([(-5, 9999)], id="out of bounds"),
        pytest.param([(0, 0)], id="only the title"),
        pytest.param([(16, 52), (0, 15)], id="in another order"),
    ],
)
def test_whatever_the_offsets_the_abstract_is_shown_once_and_whole(spans):
    cited = tuple(Citation(n, PAPER, "p1#0", Span(*span), "q") for n, span in enumerate(spans, 1))
    shown = sources_html(replace(QUOTED, citations=cited), 1)
    body = re.search(r'<p class="cw-abstract">(.*?)</p>', shown)[1]
    plain = re.sub(r"</?mark[^>]*>", "", body)
    assert plain.count("We study trees.") == plain.count("more.") == 1


def test_links_lead_to_doi_arxiv_and_address():
    links = re.findall(r'href="(https://[^"]+)"', sources_html(QUOTED, 3))
    assert links == [
        "https://doi.org/10.1000/abc",
        "https://arxiv.org/abs/2401.00001",
        "https://example.org/trees",
    ]


class Tags(HTMLParser):
    """Collects the tags and attributes that a browser would see."""

    def __init__(self, html):
        super().__init__()
        self.seen = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


EVIL_ANSWER = Answer(
    "<script>alert(1)</script>\n\n# head",
    "x",
    abstained=False,
    statements=(Statement("<img src=x onerror=alert(1)>\n\n**b**", (1,), "weak"),),
    citations=(cite(1, EVIL, "<script>alert(1)</script>", "weak"),),
    papers=ranked(EVIL),
    llm="<script>",
    searched="<iframe>",
    notes=("<object>",),
    error="<embed>",
)


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(answer_html(EVIL_ANSWER, 1), id="answer"),
        pytest.param(sources_html(EVIL_ANSWER, 1), id="sources"),
        pytest.param(answer_html(replace(EVIL_ANSWER, abstained=True), 1), id="abstention"),
        pytest.param(sources_html(replace(EVIL_ANSWER, abstained=True), 1), id="nearest"),
        pytest.param(paper_html(EVIL), id="paper"),
        pytest.param(question_html(EVIL_ANSWER.question), id="question"),
        pytest.param(partial_html("<img src=x> [1] \n\n <b>", "<i>"), id="while it comes"),
        pytest.param(failure_html("<img src=x>", 1), id="failure"),
    ],
)
def test_b36_html_of_papers_questions_and_models_is_text(html):
    assert "\n" not in html
    tags = Tags(html).seen
    ours = {"a", "article", "br", "dd", "details", "div", "dl", "dt", "em", "h2", "h3", "li",
            "mark", "p", "span", "strong", "summary", "sup", "ul", "wbr"}  # fmt: skip
    assert {tag for tag, _ in tags} <= ours
    for _, attributes in tags:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
        assert re.match(r"#|https://(doi|arxiv)\.org/|$", attributes.get("href", ""))


def test_what_is_copied_are_the_original_characters_with_numbered_sources():
    assert copy_text(QUOTED) == (
        "Costs fell from $3000 to $25 <fast>. [1]\nThey satisfy $E=mc^2$ & more. [2]\n\n"
        "[1] On <b>trees</b>; A. Author and B. Author, Forests, 2024, https://doi.org/10.1000/abc\n"
        "[2] On <b>trees</b>; A. Author and B. Author, Forests, 2024, https://doi.org/10.1000/abc"
    )


def test_b25_a_cut_answer_keeps_its_text_says_why_and_offers_another_try():
    shown = answer_html(WRITTEN, 4)
    assert "Trees are cheap" in shown
    assert "The answer is incomplete: The server &#x27;x&#x27; closed the connection." in shown
    assert '<a class="cw-do" href="#retry-4"' in shown


def test_the_searched_question_is_shown_and_can_be_edited():
    shown = answer_html(WRITTEN, 4)
    assert "Searched for: <em>What do trees cost? And grass?</em>" in shown
    assert 'href="#edit-4"' in shown
    assert "Searched for" not in answer_html(QUOTED, 3)


def test_streamed_markers_are_numbers_and_no_links():
    shown = partial_html("Trees grow [1]. Grass too [2, 3].", "Searching …")
    assert shown.count("cw-coming") == 2
    assert "href" not in shown
    assert "Searching …" in shown


def test_a_models_file_is_named_without_its_folders():
    shown = answer_html(replace(WRITTEN, llm="gguf:/a/folder/of/mine/small.gguf"), 1)
    assert "gguf: small.gguf" in shown
    assert "folder" not in shown


def test_an_unknown_support_is_shown_as_unchecked():
    assert "unchecked" in badge("nonsense")


def test_nothing_to_show_is_said():
    assert sources_html(replace(QUOTED, citations=(), papers=()), 1) == EMPTY
    assert "title only" in paper_html(replace(PAPER, abstract=""))


def test_what_the_nearest_paper_tells_stands_below_the_abstention_and_is_not_bold():
    text = "The papers do not answer this.\nWhat the nearest paper, A, does say: “x < y.”"
    page = answer_html(Answer("q?", text, abstained=True), 1)
    assert "<strong>The papers do not answer this.</strong>" in page
    assert '<p class="cw-told">What the nearest paper, A, does say: “x &lt; y.”</p>' in page
