import time

import pytest

from ui.maths import pieces


def formulas(text):
    return [(piece.kind, piece.text) for piece in pieces(text) if piece.kind != "text"]


def test_b26_prices_stay_text_and_formulas_render():
    text = r"Costs fell from $3000 to $25; see $E=mc^2$, \(x_i\) and $$y^2$$."
    assert formulas(text) == [("inline", "E=mc^2"), ("inline", "x_i"), ("display", "y^2")]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("$5-$10", id="range of prices"),
        pytest.param("US$5 to US$6", id="country's dollars"),
        pytest.param("$5 and 6$", id="words inside"),
        pytest.param(r"\$x$ and \\(y\\)", id="escaped"),
        pytest.param("$ x $", id="blanks inside"),
        pytest.param("$x\ny$", id="line break inside"),
        pytest.param("$$", id="nothing inside"),
        pytest.param(r"\(a", id="never closed"),
        pytest.param(r"\[ \]", id="only a blank"),
        pytest.param(r"$\href{javascript:alert(1)}{x}$", id="macro that links"),
        pytest.param(r"\(\def\a{\a\a}\a\)", id="macro that grows"),
        pytest.param(r"\(\rule{99999em}{99999em}\)", id="macro that covers the page"),
        pytest.param("$" + "x" * 2000 + "$", id="longer than any formula"),
    ],
)
def test_what_is_no_formula_stays_text(text):
    assert formulas(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("$3 (see $x$)", [("inline", "x")], id="after a price"),
        pytest.param(r"$\alpha$-fair", [("inline", r"\alpha")], id="glued to a word"),
        pytest.param(r"$n \log n$", [("inline", r"n \log n")], id="function's name"),
        pytest.param(
            r"$\text{loss is} + 3$", [("inline", r"\text{loss is} + 3")], id="words in it"
        ),
        pytest.param(r"\[a\] $$b$$", [("display", "a"), ("display", "b")], id="display"),
    ],
)
def test_formulas_are_found(text, found):
    assert formulas(text) == found


@pytest.mark.parametrize(
    "text", ["", "a $x$ b", r"\\(x\) \(y\) $$", "$" * 99, r"\(" * 50 + r"\)", "from $3 to $4"]
)
def test_nothing_is_lost(text):
    assert "".join(piece.raw for piece in pieces(text)) == text


@pytest.mark.parametrize("unit", ["$", r"\(", "$$ ", "$a ", r"\[x"])
def test_long_text_takes_linear_time(unit):
    began = time.perf_counter()
    pieces(unit * 20_000)
    assert time.perf_counter() - began < 2
