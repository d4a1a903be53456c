import time

import pytest

from rag.schema import Evidence, Paper, Span
from rag.verify.compare import compare
from tests.answering import sentences

MOSS = (
    "Moss takes up lead. Lead in soil fell by 14 % within 12 weeks, but zinc did not fall. "
    "MossNet outperforms SoilBot on PeatBench with fewer samples. "
    "It needs 13 plots in 19 regions and improves the upper bound of the uptake rate. "
    "The plots were not selected at random. Sampling is non-uniform."
)
EVIDENCE = sentences("moss", MOSS, title="Moss and Metals")
LEAD, NET, PLOTS, CHOICE, UNIFORM = EVIDENCE[1:6]


def judged(statement, source, **wishes):
    return compare(statement, [source], **wishes)


@pytest.mark.parametrize(
    ("statement", "source"),
    [
        pytest.param("Within 12 weeks the lead in the soil fell by 14 %.", LEAD, id="reordered"),
        pytest.param("Zinc in soil did not fall.", LEAD, id="same denial"),
        pytest.param("MossNet beats SoilBot on PeatBench.", NET, id="synonym of a direction"),
        pytest.param("SoilBot is worse than MossNet on PeatBench.", NET, id="turned round"),
        pytest.param("SoilBot is outperformed by MossNet on PeatBench.", NET, id="passive"),
        pytest.param("It needs thirteen plots in 19 regions.", PLOTS, id="number word"),
        pytest.param("The plots were selected, but not at random.", CHOICE, id="denial moved"),
        pytest.param("MossNet outperforms SoilBot.", NET, id="shorter"),
    ],
)
def test_an_honest_paraphrase_is_supported(statement, source):
    found = judged(statement, source)
    assert (found.verdict, found.reason) == ("supported", "")


@pytest.mark.parametrize(
    ("statement", "source", "reason"),
    [
        pytest.param("Lead in soil fell by 41 %.", LEAD, "“41 %”", id="number"),
        pytest.param("Lead in soil fell within 12 days.", LEAD, "“12 days”", id="unit"),
        pytest.param("Lead in soil rose by 14 %.", LEAD, "says “rose”", id="direction"),
        pytest.param("Moss does not take up lead.", EVIDENCE[0], "denies", id="denial added"),
        pytest.param("The plots were selected at random.", CHOICE, "denies it", id="denial lost"),
        pytest.param("Sampling is uniform.", UNIFORM, "denies it", id="negative prefix lost"),
        pytest.param("SoilBot outperforms MossNet on PeatBench.", NET, "outperforms", id="sides"),
        pytest.param("MossNet outperforms SoilBot with more samples.", NET, "“more”", id="more"),
        pytest.param("MossNet outperforms TurfBot on PeatBench.", NET, "“TurfBot”", id="name"),
        pytest.param("It needs 19 plots in 13 regions.", PLOTS, "other things", id="numbers moved"),
        pytest.param("It improves the lower bound of the rate.", PLOTS, "“lower”", id="bound"),
        pytest.param("Auctions sell radio spectrum.", LEAD, "something else", id="other topic"),
    ],
)
def test_a_corrupted_statement_is_unsupported_with_a_reason(statement, source, reason):
    found = judged(statement, source)
    assert found.verdict == "unsupported"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        pytest.param(
            "Moss on roofs has not received much attention.",
            "Moss on roofs has received limited attention.",
            id="limited for not much",
        ),
        pytest.param(
            "It is not practical to collect dry moss.",
            "Collecting dry moss is impractical.",
            id="negative prefix for not",
        ),
        pytest.param(
            "Earlier surveys do not explore roofs enough.",
            "Earlier surveys suffer from insufficient exploration of roofs.",
            id="insufficient for not enough",
        ),
        pytest.param(
            "Plots in which moss is completely absent are hard to survey.",
            "Incomplete plots, where moss is entirely absent, are hard to survey.",
            id="adverb of something else",
        ),
        pytest.param(
            "For the same plot the counts are stable, for different plots they are not stable.",
            "Counts are stable for the same plot and not stable across plots.",
            id="both sides of an opposite",
        ),
        pytest.param(
            "The probe cuts lead by 62 %.",
            "The probe outperforms rivals in effect (-62 % lead) on soil.",
            id="minus sign for a word",
        ),
        pytest.param(
            "About half of the water is saved.",
            "With the probe 52 % of the water is saved.",
            id="about half",
        ),
        pytest.param(
            "Three metals were studied: lead, zinc and iron.",
            "We studied the metals lead, zinc, and iron.",
            id="counted list",
        ),
        pytest.param(
            "It raises the yield by 1.4 to 7.9 points.",
            "It raises the yield by +1.4 to +7.9 points relative to peat.",
            id="relative to",
        ),
        pytest.param(
            "The survey reaches an F1 of 0.88.",
            "The survey reaches F1-scores of 0.88 for moss.",
            id="name in a compound",
        ),
        pytest.param(
            "The l1-Distance of moss plots is small.",
            r"The $\ell_1$-Distance of moss plots is small.",
            id="letter as a macro",
        ),
        pytest.param(
            "Two modules reduce soil loss.",
            "It has two modules to mitigate soil loss.",
            id="verb is no term",
        ),
        pytest.param(
            "The survey uses moss counts over wet weeks in place of single samples.",
            "The survey replaces single samples with moss counts over wet weeks.",
            id="sides turned by a word",
        ),
    ],
)
def test_a_rewording_is_not_taken_for_a_contradiction(statement, text):
    (source,) = sentences("p", text)
    found = judged(statement, source)
    assert found.verdict != "unsupported", found.reason
    assert found.reason in ("", "the source covers it only in part")


@pytest.mark.parametrize(
    ("statement", "text", "reason"),
    [
        pytest.param(
            "The probe cuts lead by 47 % and zinc by 62 %.",
            "The probe outperforms rivals in effect (-62 % lead) and cost (-47 % zinc).",
            "other things",
            id="numbers with a minus moved",
        ),
        pytest.param(
            "It reaches at most an 81 % rate of survival in soil.",
            "It reaches at least an 81 % rate of survival in soil.",
            "bounds",
            id="bound before an article",
        ),
        pytest.param(
            "Classical plots with fixed borders reflect farmers better than the wet scheme.",
            "The wet scheme reflects many farmers, e.g. those on slopes, better than classical "
            "plots with fixed borders.",
            "better",
            id="sides across an abbreviation",
        ),
        pytest.param(
            "The survey has over 300 plots.",
            "The survey has fewer than 300 plots.",
            "bounds",
            id="over and fewer than",
        ),
        pytest.param(
            "The score ranges from minus one to one.",
            "The score ranges from zero to one.",
            "“one”",
            id="minus",
        ),
        pytest.param(
            "The survey needs known plot borders.",
            "It is a border-free survey of plots.",
            "“free",
            id="free of",
        ),
        pytest.param(
            "The loss behaves monotonically over wet weeks.",
            "The loss has a non-monotone behaviour over wet weeks.",
            "“non monotone”",
            id="non",
        ),
        pytest.param(
            "Wet plots show a bias towards large counts when they start with small enough moss.",
            "In large regions, wet plots show a bias towards small counts when they start with "
            "small enough moss.",
            "“large”",
            id="the same word behind",
        ),
        pytest.param(
            "Drying moss takes hours in the laboratory.",
            "Drying moss takes days in the laboratory.",
            "“hours”",
            id="unit without a number",
        ),
        pytest.param(
            "The count takes O(log log n) steps.",
            "The count takes $O(\\log n)$ steps.",
            "O(loglogn)",
            id="order of growth",
        ),
        pytest.param(
            "The control acts at training time.",
            "The control acts at inference time.",
            "“training”",
            id="phase",
        ),
    ],
)
def test_a_change_of_sense_is_noticed(statement, text, reason):
    (source,) = sentences("p", text)
    found = judged(statement, source)
    assert found.verdict == "unsupported"
    assert reason in found.reason


def test_an_only_that_the_source_does_not_say_makes_a_statement_weak():
    (source,) = sentences("p", "MossNet counts wet plots in the region.")
    found = judged("MossNet counts only wet plots in the region.", source)
    assert (found.verdict, found.reason) == ("weak", "says “only wet”, the source does not")
    (source,) = sentences("p", "MossNet is confined to counts of wet plots in the region.")
    assert judged("MossNet counts only wet plots in the region.", source).verdict == "supported"


def test_another_term_in_its_place_makes_a_statement_weak():
    (source,) = sentences("p", "We combine spectral pooling with geometric fabrics.")
    found = judged("It combines harmonic pooling with geometric fabrics.", source)
    assert found.verdict == "weak"
    assert found.reason == "says “harmonic pooling”, the source says “spectral pooling”"


def test_two_words_that_changed_places_are_noticed():
    (source,) = sentences(
        "p", "Rules assign a central prompt to experts and a unique prompt to novices."
    )
    found = judged(
        "Rules assign a unique prompt to experts and a central prompt to novices.", source
    )
    assert found.verdict == "unsupported"
    assert "changed places" in found.reason


def test_a_name_from_elsewhere_in_the_abstract_or_the_question_is_fine():
    assert judged("MossNet needs 13 plots in 19 regions.", PLOTS).verdict == "supported"
    asked = judged("TurfNet needs 13 plots in 19 regions.", PLOTS, question="What needs TurfNet?")
    assert asked.verdict == "supported"


def test_an_acronym_that_the_abstract_spells_out_is_fine():
    (source,) = sentences("p", "We train state space models on tides.")
    assert judged("SSMs are trained on tides.", source).verdict == "supported"


def test_a_statement_in_another_script_is_never_sure_without_a_cosine():
    found = judged("土壤中的铅减少了14%。", LEAD)
    assert found.verdict == "weak"
    assert "another script" in found.reason
    assert judged("土壤中的铅减少了41%。", LEAD).verdict == "unsupported"
    assert judged("土壤中的铅减少了14%。", LEAD, similarity=lambda a, b: 0.8).verdict == "supported"


def test_a_statement_without_content_is_weak():
    assert judged("It is so.", LEAD).verdict == "weak"


# ---- hostile text


@pytest.mark.parametrize(
    "piece",
    ["1 ", "not ", "more ", "-", "$", "\\frac{", "no 3 % X1 ", ". ", "(", "gain over ", "nurse "],
)
def test_hostile_texts_take_bounded_time(piece):
    text = piece * 4_000
    source = Evidence(Paper("p", abstract=text), "", Span(0, len(text)), 0.0)
    began = time.process_time()
    judged(text, source)
    assert time.process_time() - began < 8
