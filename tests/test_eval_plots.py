"""Plots are well-formed, escaped, repeatable SVG."""

from xml.etree import ElementTree

import pytest

from eval import plots
from eval.measures import Measure
from eval.metrics import RiskPoint

SVG = "{*}"


def parse(svg):
    return ElementTree.fromstring(svg)


def test_a_measure_is_a_dot_with_a_bar_at_the_right_places():
    tree = parse(plots.intervals([Measure("mrr", 0.5, 8, 10, 0.25, 1.0)], title="T"))
    dot, bar = tree.find(f".//{SVG}circle"), tree.find(f".//{SVG}line[@class='bar']")
    # the plot spans x 190 (0) to 580 (1)
    assert (dot.get("cx"), bar.get("x1"), bar.get("x2")) == ("385.0", "287.5", "580.0")
    assert tree.find(f".//{SVG}g/{SVG}title").text == "mrr: 0.500 (8 of 10)"


def test_a_measure_without_interval_or_value():
    assert "bar" not in plots.intervals([Measure("mrr", 0.5, 1, 1)], title="T")
    assert plots.intervals([Measure("mrr", None, 0, 1)], title="T") == ""


def test_differences_are_drawn_around_zero():
    tree = parse(plots.differences([("mrr", 0.1, -0.1, 0.2, "5 cases")], title="T"))
    zero = tree.find(f".//{SVG}line[@class='zero']").get("x1")
    dot = float(tree.find(f".//{SVG}circle").get("cx"))
    assert zero == "385.0"
    assert dot == pytest.approx(385 + 195 * 0.1 / 0.2, abs=0.1)  # the axis reaches 0.2


def test_curves():
    points = [RiskPoint(0.5, 0.0, 0.9), RiskPoint(1.0, 0.5, 0.1)]
    path = parse(plots.risk_coverage(points, title="T")).find(f"{SVG}path").get("d")
    assert path == "M336.0 212.0H616.0V112.0"
    assert plots.risk_coverage([], title="T") == ""
    assert plots.latency([], title="T") == ""
    assert "2 s" in plots.latency([100, 1500.0], title="T")


def test_many_points_are_thinned_to_a_bounded_size():
    assert len(plots.latency([float(n) for n in range(100_000)], title="T")) < 20_000


def test_texts_are_escaped():
    hostile = '</title><script>"x"'
    by_kind = plots.by_kind({"passed": [Measure("passed", 1.0, 1, 1, kind=hostile)]}, title=hostile)
    assert "<script" not in by_kind
    parse(by_kind)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.03, 0.05), (0.2, 0.2), (0.21, 0.5), (1.0, 1.0), (7, 10), (0, 0)],
)
def test_axes_end_at_round_numbers(value, expected):
    assert plots._round_up(value) == pytest.approx(expected)
