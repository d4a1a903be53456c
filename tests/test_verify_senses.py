import json

import pytest

from eval.bench import field_terms
from rag.quantities import quantities
from rag.verify.compare import compare
from rag.verify.fields import compare_fields
from rag.verify.kinds import compare_kinds
from rag.verify.names import compare_names
from rag.verify.neighbours import compare_neighbours
from rag.verify.opposites import opposites
from rag.verify.reading import read
from rag.verify.restrictions import compare_restrictions
from rag.verify.sides import SELF, compares, sides_of
from rag.verify.valence import compare_valence
from tests.answering import sentences


def judged(statement, text):
    (source,) = sentences("p", text)
    return compare(statement, [source])


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        pytest.param(
            "Rival nets clearly outperform MossNet.",
            "MossNet outperforms rival nets, and the improvement is clear on wet plots.",
            id="the rest of the sentence agrees",
        ),
        pytest.param(
            "All ten baselines outperform the method on five plots.",
            "We compare our method with ten baselines and find that our method outperforms all "
            "baselines on five plots.",
            id="our method",
        ),
        pytest.param(
            "Gardeners favor drawn labels over printed labels.",
            "Printed labels are favored by gardeners over drawn labels.",
            id="favored over",
        ),
        pytest.param(
            "TurfNet shows a 2.2x speedup over MossNet.",
            "MossNet shows a 2.2x speedup over TurfNet.",
            id="speedup over",
        ),
        pytest.param(
            "MossNet loses to SoilBot on wet plots.",
            "MossNet outperforms SoilBot on wet plots.",
            id="loses to",
        ),
        pytest.param(
            "The yield of wet plots falls by 32 %.",
            "It improves the long and stable yield of wet plots by 32 %.",
            id="the same number",
        ),
        pytest.param(
            "Drought shrinks the area of moss on roofs.",
            "Drought enlarges the area of moss on roofs.",
            id="change of the same thing",
        ),
        pytest.param(
            "Watering goes from 20 litres to 2 litres a day.",
            "Watering goes from 2 litres to over 20 litres a day.",
            id="ends of a change",
        ),
        pytest.param(
            "The probe predicts past counts of moss given the future yield.",
            "The probe predicts future counts of moss given the past yield.",
            id="opposites exchanged",
        ),
        pytest.param(
            "The survey needs labels for every plot.",
            "The survey alleviates the need for labels of plots.",
            id="the need is taken away",
        ),
        pytest.param(
            "Yield rises at the expense of moss cover.",
            "Yield rises without sacrificing moss cover.",
            id="at the expense of",
        ),
        pytest.param(
            "It is a fully supervised survey of roofs.",
            "It is a self-supervised survey of roofs.",
            id="kinds of supervision",
        ),
        pytest.param(
            "On out-of-distribution plots the count of moss is right.",
            "On in-distribution plots the count of moss is right.",
            id="out of distribution",
        ),
        pytest.param(
            "Watering widens the gap between wet plots.",
            "Watering closes the gap between wet plots.",
            id="gap",
        ),
        pytest.param(
            "Watering exacerbates the lead in wet plots.",
            "Watering mitigates the lead in wet plots.",
            id="trouble",
        ),
        pytest.param(
            "Water use falls by a factor of four on roofs.",
            "Across four roofs, water use falls.",
            id="factor of",
        ),
    ],
)
def test_a_turned_statement_is_unsupported(statement, text):
    found = judged(statement, text)
    assert found.verdict == "unsupported"
    assert found.reason


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        pytest.param(
            "SoilBot loses to MossNet on wet plots.",
            "MossNet outperforms SoilBot on wet plots.",
            id="loses to",
        ),
        pytest.param(
            "Gardeners like printed labels better than drawn labels.",
            "Printed labels are favored by gardeners over drawn labels.",
            id="likes better than",
        ),
        pytest.param(
            "The yields of wet plots prove higher.",
            "The yields of wet plots improve.",
            id="no prefix",
        ),
        pytest.param(
            "Roofs not yet surveyed are chosen.", "We choose unsurveyed roofs.", id="not yet"
        ),
        pytest.param(
            "Nobody has studied dry moss on roofs.",
            "Dry moss on roofs has not been studied in the existing literature.",
            id="nobody",
        ),
        pytest.param(
            "Plots are tested with labels given or not.",
            "Plots are tested with and without labels.",
            id="with and without",
        ),
        pytest.param(
            "SmallNet has ten times fewer weights (300M against 3B).",
            "SmallNet has 300M weights while BigNet has 3B weights.",
            id="ratio of two numbers",
        ),
        pytest.param(
            "Counting wet plots becomes ten times faster.",
            "Counting wet plots becomes an order of magnitude faster.",
            id="order of magnitude",
        ),
        pytest.param(
            "In the 1990s, Lee counted moss.", "Back in the 90s, Lee counted moss.", id="decade"
        ),
        pytest.param(
            "More than 460,000 plots were counted.", "We counted 460k+ plots.", id="plus sign"
        ),
        pytest.param(
            "MossNet at 7B and 13B counts plots.",
            "MossNet-7B and MossNet-13B count plots.",
            id="size in a name",
        ),
        pytest.param(
            "The yield is one and a half times that of peat.",
            "The yield is 1.5x that of peat.",
            id="one and a half",
        ),
        pytest.param(
            "After five decades of research, moss counts vary.",
            "After more than 50 years of research, moss counts vary.",
            id="decades",
        ),
        pytest.param(
            "The survey works without sensors on roofs.",
            "The sensor-less survey works on roofs.",
            id="less",
        ),
        pytest.param(
            "Nets of 30B to 40B count plots.", "Nets of 30B-40B count plots.", id="range of sizes"
        ),
        pytest.param(
            "Work on what nets can and cannot do has grown.",
            "Work on what nets can do is growing.",
            id="can and cannot",
        ),
        pytest.param(
            "Moss is a hundred times lighter.",
            "Moss is two orders of magnitude lighter.",
            id="two orders of magnitude",
        ),
        pytest.param(
            "Wet plots under three measures beat dry ones.",
            "Wet plots beat dry ones on three measures.",
            id="under is no bound",
        ),
    ],
)
def test_a_free_rewording_is_not_unsupported(statement, text):
    found = judged(statement, text)
    assert found.verdict != "unsupported", found.reason


def sides(text, word):
    tokens = read(text).tokens
    index = next(place for place, one in enumerate(tokens) if one.lower == word)
    return compares(tokens, index), sides_of(tokens, index)


@pytest.mark.parametrize(
    ("text", "word", "first", "second"),
    [
        ("MossNet beats TurfNet on roofs.", "beats", "mossnet", "turfnet"),
        ("TurfNet is surpassed by MossNet.", "surpassed", "mossnet", "turfnet"),
        ("Users prefer moss to turf.", "prefer", "moss", "turf"),
        ("Moss is preferred over turf.", "preferred", "moss", "turf"),
        ("Moss brings gains over turf.", "gains", "moss", "turf"),
        ("The proposed method beats turf.", "beats", SELF, "turf"),
    ],
)
def test_the_sides_of_a_comparison_are_found(text, word, first, second):
    is_comparison, (ahead, behind) = sides(text, word)
    assert is_comparison
    assert first in ahead - behind
    assert second in behind - ahead


@pytest.mark.parametrize("text", ["Gains are large.", "We win often."])
def test_a_gain_over_nothing_compares_nothing(text):
    tokens = read(text).tokens
    assert not any(compares(tokens, index) for index in range(len(tokens)))


def test_every_opposite_has_another_side():
    groups = {}
    for entries in opposites().values():
        for group, side in entries:
            groups.setdefault(group, set()).add(side)
    assert all(found == {1, -1} for found in groups.values())


def test_a_sister_of_a_kind_is_wrong_unless_the_paper_names_it():
    said, known = read("Recurrent nets count moss."), read("Convolutional nets count moss.")
    (finding,) = compare_kinds(said, known)
    assert (finding.wrong, finding.reason) == (
        True,
        "says “Recurrent”, the source says “Convolutional”",
    )
    assert compare_kinds(said, known, [read("RNNs are common.")]) == []
    assert compare_kinds(read("CNNs count moss."), known) == []


def test_a_name_from_elsewhere_in_place_of_another_makes_a_statement_weak():
    known = read("We compare MossNet with SoilBot on PeatBench.")
    paper = read("MossNet counts moss. MossNet beats SoilBot on PeatBench and LawnBench.")
    said = read("It is compared with SoilBot on LawnBench.")
    (finding,) = compare_names(said, known, [paper])
    assert not finding.wrong
    assert "not of “LawnBench”" in finding.reason
    assert compare_names(said, known, [paper], read("What about LawnBench?")) == []
    own = read("We compare it with SoilBot on PeatBench.")
    assert compare_names(read("MossNet is compared on PeatBench."), own, [paper]) == []


def test_a_term_of_art_that_is_nowhere_makes_a_statement_weak():
    said, known = read("Moss is found by segmentation."), read("Moss is found by its edges.")
    (finding,) = compare_fields(said, known)
    assert (finding.wrong, finding.reason) == (
        False,
        "the source does not speak of “segmentation”",
    )
    assert compare_fields(said, known, [read("On the segmentation of moss.")]) == []


def test_praise_for_blame_makes_a_statement_weak():
    said, known = read("Moss generalizes poorly."), read("Moss shows strong generalization.")
    (finding,) = compare_valence(said, known)
    assert (finding.wrong, "poorly" in finding.reason) == (False, True)
    assert compare_valence(said, read("Moss shows no strong generalization.")) == []


def test_opposites_among_each_others_words_have_changed_places():
    known = read("Dense codes for wet plots and sparse codes across dry roofs.")
    assert (
        compare_neighbours(read("Sparse codes across dry roofs, dense ones for wet plots."), known)
        == []
    )
    (finding,) = compare_neighbours(
        read("Sparse codes for wet plots and dense codes across dry roofs."), known
    )
    assert finding.wrong


@pytest.mark.parametrize(
    ("statement", "text", "reason"),
    [
        ("It gains on all roofs.", "It gains on roofs, e.g. flat ones.", "speaks of some"),
        ("It needs labels in addition to counts.", "It needs only counts.", "“only”"),
    ],
)
def test_a_widened_claim_is_doubted(statement, text, reason):
    (finding,) = compare_restrictions(read(statement), read(text))
    assert not finding.wrong
    assert reason in finding.reason


@pytest.mark.parametrize(
    ("text", "value", "dimension"),
    [
        ("in the 90s", 90.0, "count"),
        ("90s of waiting", 90.0, "time"),
        ("by a factor of about 4", 4.0, "factor"),
        ("one and a half times", 1.5, "factor"),
        ("460k+ plots", 460_000.0, "count"),
    ],
)
def test_numbers_are_read_with_what_they_measure(text, value, dimension):
    (found,) = quantities(read(text))
    assert (found.value, found.dimension) == (value, dimension)


def test_the_terms_of_one_field_are_told_from_common_words(tmp_path):
    def corpus(name, words):
        rows = [
            {"_id": f"{name}{n}", "title": "Survey", "text": f"We count {words} well."}
            for n in range(20)
        ]
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        return file

    own, other = corpus("a", "kernels and plots"), corpus("b", "mosses and plots")
    out = tmp_path / "terms.json"
    assert field_terms.main([f"--field=a={own}", f"--field=b={other}", f"--out={out}"]) == 0
    assert json.loads(out.read_text("utf-8"))["stems"].split() == ["kernel"]


def test_an_unreadable_corpus_of_terms_is_named(tmp_path, capsys):
    missing = tmp_path / "none.jsonl"
    wanted = [f"--field=a={missing}", f"--out={tmp_path / 'terms.json'}"]
    assert field_terms.main(wanted) == 1
    assert "none.jsonl" in capsys.readouterr().err
