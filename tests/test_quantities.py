import pytest

from rag.quantities import quantities
from rag.verify.amounts import compare_quantities
from rag.verify.reading import read


def only(text):
    """Return the one number of a text."""
    (found,) = quantities(read(text))
    return found


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        pytest.param("14 systems", 14, "count", id="digits"),
        pytest.param("1,024 tokens", 1024, "count", id="thousands"),
        pytest.param("twenty five rules", 25, "count", id="words"),
        pytest.param("three hundred rules", 300, "count", id="scaled word"),
        pytest.param("2.5 million pairs", 2.5e6, "count", id="million"),
        pytest.param("a 7B model", 7e9, "count", id="letter for a scale"),
        pytest.param(r"$1.2 \times 10^5$ runs", 1.2e5, "count", id="power of ten"),
        pytest.param("78.4 % accuracy", 78.4, "percent", id="percent"),
        pytest.param(r"81\% success", 81, "percent", id="percent in LaTeX"),
        pytest.param("40 per cent", 40, "percent", id="per cent in words"),
        pytest.param("half of them", 50, "percent", id="half"),
        pytest.param("two thirds of them", 200 / 3, "percent", id="two thirds"),
        pytest.param("2.3 percentage points", 2.3, "points", id="points"),
        pytest.param("3.5x faster", 3.5, "factor", id="factor"),
        pytest.param("twice as fast", 2, "factor", id="twice"),
        pytest.param("5 ms", 0.005, "time", id="milliseconds"),
        pytest.param("a 12-week trial", 12 * 604800, "time", id="unit behind a hyphen"),
        pytest.param("836$m^2$", 836, "area", id="area in LaTeX"),
        pytest.param("2 km²", 2e6, "area", id="raised two"),
        pytest.param("-3.5 dB", -3.5, "level", id="sign"),
        pytest.param("3D scenes", 3, "space", id="dimensions of space"),
        pytest.param("in the 1920s", 1920, "count", id="a decade is no time in seconds"),
        pytest.param("the second layer", 2, "ordinal", id="ordinal"),
    ],
)
def test_a_number_is_read_with_its_unit(text, value, dimension):
    found = only(text)
    assert found.value == pytest.approx(value)
    assert found.dimension == dimension


@pytest.mark.parametrize("text", ["GPT-4", "Llama2-70B", "CoNLL-2012", "mAP@.5", "v2", "one-sided"])
def test_digits_inside_a_name_are_no_number(text):
    assert [one.value for one in quantities(read(text)) if one.value != 1] == []


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("up to 40 %", "<=", id="up to"),
        pytest.param("at least 40 %", ">=", id="at least"),
        pytest.param("more than 40 %", ">", id="more than"),
        pytest.param("fewer than 40 tasks", "<", id="fewer than"),
        pytest.param("no more than 40 tasks", "<=", id="no more than"),
        pytest.param("about 40 %", "~", id="about"),
        pytest.param("40 or more tasks", ">=", id="or more"),
        pytest.param("exactly 40 %", "=", id="none"),
    ],
)
def test_a_bound_is_read(text, bound):
    assert only(text).bound == bound


def test_both_ends_of_a_range_have_its_unit():
    low, high = quantities(read("by 36-60 %"))
    assert (low.value, low.dimension, low.top) == (36, "percent", 60)
    assert (high.value, high.dimension, high.bottom) == (60, "percent", 36)


def test_numbers_that_are_listed_share_a_unit():
    assert [one.dimension for one in quantities(read("5 and 3 times"))] == ["factor", "factor"]


SOURCE = "It gains up to 14 % on 3 of 20 tasks within 12 months, at 78.42 % accuracy and 36-60 ms."


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("Up to 14 percent is gained.", id="percent in words"),
        pytest.param("It was tried on twenty tasks.", id="number word"),
        pytest.param("Accuracy is 78.4 %.", id="rounded"),
        pytest.param("Accuracy is about 78 %.", id="about"),
        pytest.param("Accuracy is above 78 %.", id="a bound that holds"),
        pytest.param("It took one year.", id="converted unit"),
        pytest.param("It takes between 36 and 60 ms.", id="range"),
        pytest.param("It takes at most 60 ms.", id="upper end of a range"),
        pytest.param("It gains.", id="no number"),
    ],
)
def test_a_number_that_the_source_has_is_fine(statement):
    assert compare_quantities(read(statement), read(SOURCE)) == []


@pytest.mark.parametrize(
    ("statement", "reason", "wrong"),
    [
        pytest.param("Up to 41 % is gained.", "“41 %”", True, id="other value"),
        pytest.param(
            "It was tried on 30 tasks.", "says “30”, the source says “20”", True, id="rival"
        ),
        pytest.param("Up to 14 points are gained.", "the source says “14 %”", False, id="points"),
        pytest.param("It took 12 weeks.", "“12 weeks”", True, id="other unit"),
        pytest.param("At least 14 % is gained.", "bounds “14 %” otherwise", True, id="other bound"),
        pytest.param("It gains 14 %.", "bounds “14 %” in another way", False, id="lost bound"),
        pytest.param("It takes more than 60 ms.", "bounds “60 ms” otherwise", True, id="range"),
        pytest.param("It runs on 640 cores.", "“640” is not in the source", True, id="nowhere"),
        pytest.param("Accuracy is -78.42 %.", "“-78.42 %”", True, id="other sign"),
    ],
)
def test_a_number_that_the_source_has_not_is_named(statement, reason, wrong):
    (found,) = compare_quantities(read(statement), read(SOURCE))
    assert reason in found.reason
    assert found.wrong or not wrong


def test_a_number_of_the_same_abstract_is_only_doubtful():
    (found,) = compare_quantities(read("It has 640 cores."), read(SOURCE), [read("On 640 cores.")])
    assert not found.wrong
    assert "elsewhere in its paper" in found.reason
