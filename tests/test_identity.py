import pytest

from rag.identity import keys, keys_of, normalise_arxiv, normalise_doi, paper_id, same
from rag.schema import Paper

OLD_DOI = "10.1002/(SICI)1097(199905)5:1<1::AID-X>3.0.CO;2-#"
ABSTRACT = "We study how plants grow in the dark and find that they do not."


@pytest.mark.parametrize(
    ("value", "doi"),
    [
        ("10.1000/ABC.5", "10.1000/abc.5"),
        ("https://doi.org/10.1000/ABC", "10.1000/abc"),
        ("http://dx.doi.org/10.1000/x", "10.1000/x"),
        ("doi: 10.1000/x.", "10.1000/x"),
        ("https://doi.org/10.1000%2Fx", "10.1000/x"),
        ("(10.1000/x)", "10.1000/x"),
        (f"https://doi.org/{OLD_DOI}.", OLD_DOI.lower()),
        ("n/a", None),
        ("", None),
        (None, None),
        (10.1, None),
    ],
)
def test_doi_is_normalised(value, doi):
    assert normalise_doi(value) == doi


@pytest.mark.parametrize(
    ("value", "arxiv"),
    [
        ("2401.00001v2", "2401.00001"),
        ("arXiv:2401.00001", "2401.00001"),
        ("arXiv:2401.00001v3 [cs.CL]", "2401.00001"),
        ("https://arxiv.org/pdf/2401.00001v3.pdf", "2401.00001"),
        ("10.48550/arXiv.2401.00001", "2401.00001"),
        ("https://doi.org/10.48550/ARXIV.2401.00001v1", "2401.00001"),
        ("hep-th/9901001v1", "hep-th/9901001"),
        ("math.GT/0309136", "math/0309136"),
        ("arXiv preprint arXiv:1706.03762", "1706.03762"),
        ("2499.00001", None),  # no such month
        ("1234", None),
        (None, None),
    ],
)
def test_arxiv_id_is_normalised(value, arxiv):
    assert normalise_arxiv(value) == arxiv


def test_keys_are_strongest_first():
    found = keys(
        "A Title of Some Length", 2020, ABSTRACT, "10.1/X".replace("1/", "1000/"), "2401.00001v2"
    )
    kinds = [key.partition(":")[0] for key in found]
    assert kinds == ["doi", "arxiv", "title", "text", "work"]
    assert found[:2] == ("doi:10.1000/x", "arxiv:2401.00001")
    assert all(len(key.partition(":")[2]) == 16 for key in found[2:])
    assert paper_id(found) == paper_id(found[::-1]) == "doi:10.1000/x"


def test_a_doi_of_arxiv_counts_as_its_arxiv_id():
    assert keys("", None, ABSTRACT, "10.48550/arXiv.2401.00001")[0] == "arxiv:2401.00001"


def test_titles_are_compared_without_case_accents_and_marks():
    assert keys("Étude: of the DARK!", 2020) == keys("etude of the dark", 2020)
    assert keys("Étude of the dark", 2020) != keys("Étude of the dark", 2021)


def test_a_paper_without_title_is_known_by_its_abstract():
    assert keys("", None, ABSTRACT) == keys("", 2020, ABSTRACT.upper() + "\n")
    assert keys("", None, ABSTRACT) != keys("", None, ABSTRACT + " Yet.")


@pytest.mark.parametrize("blank", ["", " \n"])
def test_a_record_without_title_and_abstract_has_no_keys(blank):
    assert keys(blank, 2020, blank, "10.1000/x", "2401.00001") == ()
    with pytest.raises(ValueError, match="no identity"):
        paper_id(())


@pytest.mark.parametrize("script", ["深層学習の研究について", "!!! ???"])
def test_any_script_gives_a_key(script):
    assert keys(script) != keys(script + " 二")
    assert paper_id(keys(script)).startswith("title:")


TITLE = "A title of more than two words"


@pytest.mark.parametrize(
    ("a", "b", "is_same"),
    [
        pytest.param(
            (TITLE, 2020, "", "10.1000/a"), (TITLE, 2020, "", "10.1000/b"), False, id="DOIs"
        ),
        pytest.param(
            (TITLE, 2020, "", "10.1000/a"),
            ("Other words here", 1999, "", "10.1000/A"),
            True,
            id="DOI",
        ),
        pytest.param(
            (TITLE, 2020, "", "10.1000/a"), (TITLE, 2020, ABSTRACT), True, id="one without DOI"
        ),
        pytest.param(
            (TITLE, 2020, "", "10.1000/a", "2401.00001"),
            (TITLE, 2024, "", None, "2401.00001v2"),
            True,
            id="arXiv",
        ),
        pytest.param(
            (TITLE, 2020, ABSTRACT),
            ("Other words than those", 2020, ABSTRACT),
            False,
            id="titles differ",
        ),
        pytest.param(("", None, ABSTRACT), (TITLE, 2020, ABSTRACT), True, id="one without title"),
        pytest.param(
            ("Editorial", 2020, ABSTRACT),
            ("Editorial", 2020, "Another text."),
            False,
            id="generic title",
        ),
        pytest.param(
            ("Editorial", 2020, ABSTRACT),
            ("Editorial", 2020, ABSTRACT),
            True,
            id="generic, same text",
        ),
        pytest.param((TITLE, 2020), ("", None, ABSTRACT), False, id="nothing in common"),
    ],
)
def test_same_paper(a, b, is_same):
    assert same(keys(*a), keys(*b)) is is_same
    assert same(keys(*b), keys(*a)) is is_same


def test_keys_of_a_paper_are_those_of_its_fields():
    paper = Paper(id="x", title=TITLE, year=2020, abstract=ABSTRACT, arxiv_id="2401.00001")
    assert keys_of(paper) == keys(TITLE, 2020, ABSTRACT, None, "2401.00001")


def test_a_corrected_or_missing_year_is_the_same_paper():
    told = [keys(TITLE, year, ABSTRACT) for year in (2020, 2021, None)]
    assert all(same(a, b) for a in told for b in told)
    assert not same(
        keys(TITLE, 2020, ABSTRACT, "10.1000/a"), keys(TITLE, 2021, ABSTRACT, "10.1000/b")
    )
