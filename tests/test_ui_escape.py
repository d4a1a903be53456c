import pytest

from ui.escape import address, attribute, link, plain, with_maths


@pytest.mark.parametrize(
    ("text", "html"),
    [
        pytest.param(
            "<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;", id="tag"
        ),
        pytest.param("a\nb\r\nc\u2028d", "a<br>b<br>c<br>d", id="line breaks end no HTML block"),
        pytest.param(r"\(x\)", r"\<wbr>(x\<wbr>)", id="no formula"),
        pytest.param("**b** _i_ [x](y) `c`", "**b** _i_ [x](y) `c`", id="Markdown means nothing"),
        pytest.param(
            "%%%LATEX_BLOCK_0%%%", "%%<wbr>%LATEX_BLOCK_0%%<wbr>%", id="Gradio's own mark"
        ),
        pytest.param("a\u202eb\x1b\ud800", "a�b��", id="unseen signs"),
        pytest.param("\"'&", "&quot;&#x27;&amp;", id="quotes"),
    ],
)
def test_untrusted_text_is_shown_as_text(text, html):
    assert plain(text) == html


def test_formulas_get_marks_that_prices_do_not_have():
    shown = with_maths(r"$3000 to $25, $a<b$ and $$y$$")
    assert shown == r"$3000 to $25, \(a&lt;b\) and \[y\]"


def test_tags_inside_a_formula_are_text():
    assert "<script" not in with_maths(r"\(<script>alert(1)</script>\)")


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//evil.example/x",
        "ftp://example.org/x",
        "https://user:password@example.org/",
        "http://[::1",
        "https://",
        "",
        None,
        "https://example.org/" + "a" * 3000,
    ],
)
def test_b36_only_web_addresses_become_links(url):
    assert address(url) is None
    assert link(url, "x") == ""


def test_a_link_cannot_leave_its_attribute_and_tells_nobody_where_it_came_from():
    shown = link('https://example.org/"onmouseover="alert(1)', "DOI <b>")
    assert shown.count('"') == 8
    assert "&lt;b&gt;" in shown
    assert 'rel="noopener noreferrer"' in shown


def test_attributes_are_one_short_line_without_formulas():
    shown = attribute('a\n"b" \\(x\\) ' + "c" * 400)
    assert "\n" not in shown
    assert '"' not in shown
    assert "\\" not in shown
    assert len(shown) < 340
