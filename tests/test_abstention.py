import pytest

from rag.abstention import (
    ABSTENTION,
    NEAR_COSINE,
    NEAR_NAME,
    TELLING,
    abstention_text,
    as_citations,
    nearest_told,
)
from rag.evidence import Reading
from rag.schema import Paper, RankedPaper
from tests.answering import sentences

MOSS = "Moss takes up metal. Lead fell by half. Zinc stayed as it was."
HERON = "Herons leave early. Ducks stay."


def ranked(evidence, cosine, rank=1):
    return RankedPaper(evidence[0].paper, rank, 1.0, cosine, evidence[0].passage_id)


def reading(*evidence, cosines=(0.9, 0.9), named=None, name_met=0.0):
    """Return a reading of some papers, each given by its sentences, the best paper first."""
    papers = tuple(
        ranked(one, cosine, rank)
        for rank, (one, cosine) in enumerate(zip(evidence, cosines, strict=False), start=1)
    )
    return Reading(
        sentences=tuple(one for group in evidence for one in group),
        papers=papers,
        named=named or {},
        signals={"name_met": name_met},
    )


@pytest.fixture
def moss():
    return sentences("moss", MOSS, title="Moss as a record")


@pytest.fixture
def heron():
    return sentences("heron", HERON)


# ---- what the nearest paper tells


def test_the_nearest_paper_s_best_sentences_are_told_in_the_order_of_its_abstract(moss, heron):
    first, second, third = moss
    told = nearest_told(reading([third, *heron, first, second]))
    assert told == (first, third)
    assert len(told) == TELLING


def test_no_sentence_of_another_paper_is_told(moss, heron):
    assert nearest_told(reading(heron[:1], moss)) == (heron[0],)


@pytest.mark.parametrize(
    ("cosine", "is_told"),
    [(NEAR_COSINE, True), (NEAR_COSINE - 0.01, False), (-1.0, False), (None, False)],
)
def test_a_paper_that_is_about_something_else_tells_nothing(moss, cosine, is_told):
    assert bool(nearest_told(reading(moss, cosines=(cosine,)))) is is_told


def test_the_paper_of_the_best_sentence_has_to_be_near_not_the_best_paper(moss, heron):
    far = reading(moss, heron, cosines=(0.2, 0.9))
    assert nearest_told(far) == ()


@pytest.mark.parametrize(
    ("holders", "name_met", "is_told"),
    [
        pytest.param(("moss",), NEAR_NAME, True, id="a rare name that the paper holds"),
        pytest.param(("moss",), NEAR_NAME - 0.01, False, id="a name that many papers hold"),
        pytest.param(("heron",), 1.0, False, id="a name that another paper holds"),
    ],
)
def test_where_a_system_is_named_the_paper_has_to_hold_it(moss, holders, name_met, is_told):
    near = reading(moss, named={"ORCA7": holders}, name_met=name_met)
    assert bool(nearest_told(near)) is is_told


def test_a_rare_name_makes_a_paper_near_whatever_its_cosine(moss):
    assert nearest_told(reading(moss, cosines=(None,), named={"A": ("moss",)}, name_met=1.0))


def test_nothing_is_told_where_nothing_was_read(moss):
    assert nearest_told(Reading()) == ()
    assert nearest_told(Reading(papers=(ranked(moss, 0.9),))) == ()
    assert nearest_told(Reading(sentences=tuple(moss))) == ()


def test_a_paper_with_only_a_title_tells_nothing():
    assert nearest_told(reading(sentences("sleep", "", title="Zebrafish sleep"))) == ()


# ---- what is said


def test_an_abstention_says_that_there_is_no_answer_then_quotes_the_nearest_paper(moss):
    assert abstention_text(moss[:2]) == (
        f"{ABSTENTION}\nWhat the nearest paper, Moss as a record, does say: "
        "“Moss takes up metal.” “Lead fell by half.”"
    )


def test_a_paper_without_a_title_is_named_by_its_opening(heron):
    label = Paper("heron", abstract=HERON).label
    assert f"What the nearest paper, {label}, does say: “Ducks stay.”" in abstention_text(heron[1:])


def test_with_nothing_to_tell_only_the_absence_is_said():
    assert abstention_text(()) == ABSTENTION
    assert abstention_text((), said="Nothing here.") == "Nothing here."


def test_another_beginning_stands_before_what_is_told(moss):
    assert abstention_text(moss[:1], said="No.").startswith("No.\nWhat the nearest paper")


def test_what_is_told_becomes_numbered_quotes_with_their_places(moss):
    citations = as_citations(moss[1:])
    assert [(one.marker, one.quote) for one in citations] == [
        (1, "Lead fell by half."),
        (2, "Zinc stayed as it was."),
    ]
    for one in citations:
        assert one.paper.abstract[one.span.start : one.span.end] == one.quote
        assert (one.passage_id, one.support) == ("moss#0", "verbatim")
    assert as_citations(()) == ()
