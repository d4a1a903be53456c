import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag
from rag.latex import unbrace
from rag.schema import Span
from rag.text import clean, clean_span, clean_with_offsets, fold, one_line, raw_span, words

SAMPLE = sorted((Path(rag.__file__).parent / "sample").glob("*.txt"))


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param(r"18$\times$ faster", "18× faster", id="symbol"),
        pytest.param(r"We show \textbf{X}.", "We show X.", id="bold"),
        pytest.param(r"\textbf{\textsc{Sci} Error Taxonomy}", "Sci Error Taxonomy", id="nested"),
        pytest.param(r"the \emph{Optimal Share} (OSS)", "the Optimal Share (OSS)", id="emph"),
        pytest.param(r"at \url{https://a.org/x_y~z}.", "at https://a.org/x_y~z.", id="url"),
        pytest.param(r"\href{https://a.org}{our site}", "our site (https://a.org)", id="href"),
        pytest.param(r"\href{https://a.org}{https://a.org}", "https://a.org", id="href to itself"),
        pytest.param(r"by 6.4\% while", "by 6.4% while", id="percent"),
        pytest.param(r"an $\Omega (N)$ ratio", "an Ω (N) ratio", id="Greek"),
        pytest.param(
            r"$O(\epsilon^{-3} pk^4 \log^2(k))$", "O(ε^{-3} pk^4 log^2(k))", id="superscripts"
        ),
        pytest.param(r"$\tilde{\mathcal{O}}(T^{1/3})$", "Õ(T^{1/3})", id="accent over a letter"),
        pytest.param(
            r"$(\log T) ^ {-\frac{1}{3}}\log (T)$", "(log T)^{-1/3} log (T)", id="fraction"
        ),
        pytest.param(r"$2\sqrt{p(p+1)} + \sqrt{n}$", "2√(p(p+1)) + √n", id="roots"),
        pytest.param(r"$\frac{a+b}{c}$", "(a+b)/c", id="fraction of a sum"),
        pytest.param(r"$\mathbf{s}_\theta(\mathbf{x}_t,t)$", "s_θ(x_t,t)", id="subscripts"),
        pytest.param("G$^{2}$RPO", "G^2RPO", id="exponent in a name"),
        pytest.param("CO$_2$ and H$_{2}$O", "CO2 and H2O", id="atoms"),
        pytest.param(r"at 20$^\circ$C, the $k^{th}$", "at 20°C, the kth", id="raised words"),
        pytest.param(r"\(x_i\) and $$y^2$$", "x_i and y^2", id="other delimiters"),
        pytest.param(r"$\foo{a}{b}+1$", r"\foo{a}{b}+1", id="unknown macro stays"),
        pytest.param(r"(\ie the \eg{} case)", "(i.e. the e.g. case)", id="abbreviations"),
        pytest.param(r"{\em Old} style", "Old style", id="old declarations"),
        pytest.param(r"as in \cite{smith}", "as in (smith)", id="citation key"),
        pytest.param(r"\begin{itemize}\item A \item B\end{itemize}", "• A • B", id="list"),
        pytest.param("model % specialized models", "model % specialized models", id="comment"),
        pytest.param("accuracy--diversity, 1--2", "accuracy–diversity, 1–2", id="dashes"),
        pytest.param("run --flag a -- b", "run --flag a -- b", id="not dashes"),
        pytest.param("Fig.~1, ~50%", "Fig. 1, ~50%", id="tie and about"),
        pytest.param("``quoted'' text", "“quoted” text", id="quotes"),
        pytest.param(r"don\'t, the model\'s", "don't, the model's", id="escaped apostrophe"),
        pytest.param(r"$\left(\frac12\right.$", "(1/2", id="fraction of digits, sized brackets"),
        pytest.param(r"$\sqrt[3]{x+y}$, $\sqrt 2$", "√[3](x+y), √2", id="other roots"),
        pytest.param(r"$\|x\|\leq 5$, $a\in B$", "‖x‖≤5, a∈B", id="operators"),
        pytest.param(r"$2\log\log n$", "2 log log n", id="names of functions"),
        pytest.param(r"$\hat\alpha$, $\bar x$, $\hat{xy}$", "α̂, x̄, xy", id="accents in formulas"),
        pytest.param(r"$\mathcal O(n)$", "O(n)", id="alphabet without braces"),
        pytest.param(
            r"\textcolor{red}{Note} this\footnote{see}", "Note this (see)", id="colour, note"
        ),
        pytest.param(r"a\label{x} b, 5\,ms, a\\ b", "a b, 5 ms, a b", id="labels and spaces"),
        pytest.param(r"\~{} \href{x} \textbf \cite", r"~ x \textbf \cite", id="no arguments"),
        pytest.param(r"$\left[0,1\right]$", "[0,1]", id="sized brackets"),
        pytest.param("an $m$ by $n$, $a b$, $ x $", "an m by n, a b, x", id="letters"),
        pytest.param(r"\[E=mc^2\] but \[1\]", r"E=mc^2 but \[1\]", id="displayed, and no formula"),
        pytest.param(r"C:\new\users", r"C:\new\users", id="Windows path"),
        pytest.param(r"the \$x^2\$ case", "the x^2 case", id="formula with escaped dollars"),
    ],
)
def test_latex_becomes_readable(raw, shown):
    assert clean(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (r"Bal\'azs, Erd\H{o}s", "Balázs, Erdős"),
        (r"{\'E}cole, na\"{\i}ve, \'{\i}", "École, naïve, í"),
        (r"Fran\c{c}ois \v{S}koda Mu\~noz", "François Škoda Muñoz"),
        (r"{\o}re \o re Stra{\ss}e \AA ngstr\"om", "øre øre Straße Ångström"),
    ],
)
def test_latex_accents_become_letters(raw, shown):
    assert clean(raw) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Costs fell from $3000 to $25; see below.",
        "cost $5 per run, i.e., US$6 per day",
        "between $7-$8 and $9",
        "one $ alone",
    ],
)
def test_b26_money_stays_money(text):
    assert clean(text) == text


def test_b09_braces_outside_formulas_stay():
    assert clean(r"$\frac{a}{b}$ and {context_str} and {}") == "a/b and {context_str} and {}"


def test_b07_tags_go_and_inequalities_stay():
    raw = (
        "<jats:title>Abstract</jats:title><jats:p>If a<b and p&lt;0.05, then c>d.</jats:p>"
        "<jats:p>H<jats:sub>2</jats:sub>O</jats:p>"
    )
    assert clean(raw) == "If a<b and p<0.05, then c>d.\n\nH2O"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param(
            "&lt;jats:p&gt;Hi&lt;/jats:p&gt; AT&amp;amp;T", "Hi\n\nAT&T", id="escaped twice"
        ),
        pytest.param("<title>Aims</title>We", "Aims\n\nWe", id="heading is not glued"),
        pytest.param("10<sup>3</sup> and m<sup>2</sup>", "10^3 and m2", id="digits do not run on"),
        pytest.param("<b>bold</b> <i>x</i><br/>y", "bold x y", id="inline"),
        pytest.param(
            "the <think> and <s> tokens <b>", "the <think> and <s> tokens <b>", id="tokens"
        ),
        pytest.param('<p class="x">a</p><!-- note -->', "a", id="attributes and comments"),
        pytest.param("see ?a=1&para=2 &c", "see ?a=1&para=2 &c", id="no entity without semicolon"),
        pytest.param("<![CDATA[a < b]]>", "a < b", id="cdata"),
    ],
)
def test_html_becomes_text(raw, shown):
    assert clean(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        pytest.param("a **CoF-T2I** (*e.g.*, x)", "a CoF-T2I (e.g., x)", id="bold and emphasis"),
        pytest.param("an _emphasised_ word", "an emphasised word", id="underscores"),
        pytest.param("snake_case_name and __init__", "snake_case_name and __init__", id="names"),
        pytest.param("(*p < 0.05, **p < 0.01)", "(*p < 0.05, **p < 0.01)", id="significance"),
        pytest.param("a * b * c and A* search", "a * b * c and A* search", id="products"),
        pytest.param("$x^*$ and $y^*$", "x^* and y^*", id="stars of formulas"),
        pytest.param("[code](https://a.org)", "code (https://a.org)", id="link"),
        pytest.param("https://a.org/_x_/b--c", "https://a.org/_x_/b--c", id="address"),
    ],
)
def test_markdown_marks_go_only_where_they_are_marks(raw, shown):
    assert clean(raw) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("e\u0301", "é"),
        ("a\u00a0b\u2009c", "a b c"),
        ("zero\u200bwidth soft\u00adhyphen \ufeffmark", "zerowidth softhyphen mark"),
        ("nul\x00 and \ud800half and \x07bell", "nul and half and bell"),
        ("one\r\n\r\ntwo\nthree  four ", "one\n\ntwo three four"),
        ("\u202eturned\u202c", "turned"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_odd_characters_are_put_right(raw, shown):
    assert clean(raw) == shown


def test_cleaning_the_sample_twice_changes_nothing_and_leaves_no_markup():
    texts = [clean(line) for file in SAMPLE for line in file.read_text("utf-8").splitlines()]
    assert len(texts) > 200
    for text in texts:
        assert clean(text) == text
        assert not any(mark in text for mark in ("\\", "$", "**"))


def test_offsets_lead_back_to_the_raw_text():
    raw = r"We get  \textbf{18$\times$} &amp; more, <i>caf&eacute;</i>."
    text, offsets = clean_with_offsets(raw)
    assert text == clean(raw) == "We get 18× & more, café."
    assert len(offsets) == len(text) + 1
    assert list(offsets) == sorted(offsets)
    span = raw_span(offsets, Span(text.index("18"), text.index("18") + 3))
    assert raw[span.start : span.end].startswith(r"18$\times$")
    start = text.index("more")
    assert raw_span(offsets, Span(start, start + 4)) == Span(
        raw.index("more"), raw.index("more") + 4
    )
    back = clean_span(offsets, Span(raw.index("more"), raw.index("more") + 4))
    assert text[back.start : back.end] == "more"


def test_offsets_of_the_sample_point_at_the_same_words():
    for file in SAMPLE:
        for raw in file.read_text("utf-8").splitlines():
            text, offsets = clean_with_offsets(raw)
            for word in ("the", "model", "results"):
                at = text.find(f" {word} ")
                if at >= 0:
                    assert raw[offsets[at + 1] :].startswith(word)


def test_plain_text_comes_back_unchanged_with_its_own_offsets():
    assert clean_with_offsets("Plain text.") == ("Plain text.", tuple(range(12)))
    assert clean_with_offsets("") == ("", (0,))


@given(st.text(alphabet="aB1 .-<>!&;[]()*_`$~\\^{}\n\u00e9\u0301\x00"))
def test_texts_without_marks_pass_every_step_unchanged(text):
    steps = [list(find(text)) for _, is_needed, find in rag.text._PASSES if is_needed(text)]
    if rag.text._is_plain(text):
        assert steps == []


HOSTILE = r"""
    x $ $a { {} \a{ < <b <b_ <p_a=' <p_a=1_ & * ** *a _a [a]( <!-- \' \frac{ \sqrt[ $x^{ \( \hat_ (
"""


@pytest.mark.parametrize("unit", HOSTILE.split())
def test_b10_cleaning_is_linear(unit):
    text = (unit.replace("_", " ") * 200_000)[:200_000]
    began = time.perf_counter()
    assert clean(text) is not None
    assert time.perf_counter() - began < 5  # a quadratic pass would take minutes


def test_unbrace_keeps_macros_and_formulas():
    assert unbrace(r"{DNA} of {\'E}cole, \textbf{x}, $x^{2}$ {CLEAN}{--}{EVAL}") == (
        r"DNA of {\'E}cole, \textbf{x}, $x^{2}$ CLEAN--EVAL"
    )


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Rémi FLAMARY", "remi flamary"),
        ("Łukasz Ørsted", "lukasz orsted"),
        ("Straße", "strasse"),
        ("ﬁne", "fine"),
        ("Erdo\u030bs", "erdos"),
        ("Ελληνικά", "ελληνικα"),
        ("한국", "한국"),
    ],
)
def test_fold_ignores_case_and_accents(text, folded):
    assert fold(text) == folded


def test_words_are_folded_and_without_marks():
    assert words("The Café—of 3D!") == ["the", "cafe", "of", "3d"]


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 10, "short"),
        ("two\n\nlines", 20, "two lines"),
        ("cut at a word's end", 12, "cut at a…"),
        ("onelongwordonly", 5, "onel…"),
        ("", 5, ""),
    ],
)
def test_one_line_fits(text, width, line):
    assert one_line(text, width) == line
    assert len(one_line(text * 1000, width)) <= width
