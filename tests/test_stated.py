import pytest

from rag.catalogue import Catalogue
from rag.database import Database
from rag.question import understand
from rag.schema import Filters
from rag.stated import KnownPapers, is_named, stated
from tests.storage import paper


@pytest.fixture
def catalogue(tmp_path):
    database = Database(tmp_path / "catalogue.sqlite")
    catalogue = Catalogue(database)
    shelf = [
        paper(1, id="a", authors=("Łukasz Müller", "Ann Author"), venue="NeurIPS 2023", year=2023),
        paper(2, id="b", authors=("Writer, Bob",), venue="Proceedings of ICLR", year=2021),
        paper(3, id="c", authors=("Ann Author", "Cai Third"), topic="Game Theory", year=2020),
        paper(4, id="d", authors=("J. Linden",), venue="Journal of Machine Learning Research"),
        paper(5, id="e", authors=("Lin Adam",), venue="NAACL 2024", year=2024),
        paper(6, id="f", authors=("李明华",), venue="Physical Review Letters", year=None),
        paper(7, id="g", authors=("K. Adam",), venue="ACL 2024", year=2024),
    ]
    for one in shelf:
        catalogue.put(one, [one.id], None)
    yield catalogue
    database.close()


def found_in(catalogue, text):
    answer = stated(understand(text), KnownPapers(catalogue))
    ids = catalogue.matching(answer.filters) if answer.filters else None
    return answer, ids


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("What did Ann Author work on?", ["a", "c"]),
        ("Which papers by Author, Ann study moss?", ["a", "c"]),
        ("papers by A. Author", ["a", "c"]),
        ("papers by Lukasz Muller", ["a"]),
        ("What did Bob Writer find?", ["b"]),
        ("What did Writer et al. find?", ["b"]),
        ("Writer's paper on moss", ["b"]),
        ("Which papers by Ann Author and Cai Third are there?", ["c"]),
        ("Which papers by Bob Writer and Cai Third are there?", ["b", "c"]),
        ("李明华的论文有哪些？", ["f"]),
        ("Which papers by Ann Author are from 2023?", ["a"]),
        ("Which papers since 2021 study moss?", ["a", "b", "e", "g"]),
        ("Which papers before 2021 study moss?", ["c", "d"]),
        ("2023年的论文有哪些？", ["a"]),
        ("NIPS papers on moss", ["a"]),
        ("Which NeurIPS 2023 papers study moss?", ["a"]),
        ("Which papers were published at ICLR 2021?", ["b"]),
        ("Which papers were published in Physical Review?", ["f"]),
        ("ACL papers on moss", ["g"]),
        ("JMLR papers on moss", ["d"]),
        ("Which papers are in the area of game theory and moss?", ["c"]),
        ("What did Lin find?", None),
        ("What is Adam's paper on?", ["e", "g"]),
        ("How does Adam work?", None),
        ("What does Adam find?", None),
        ("What did Adam work on?", ["e", "g"]),
        ("Which papers by Nobody Else study moss?", None),
        ("Which CVPR papers study moss?", None),
        ("Which papers appeared in Machine Learning?", None),
        ("How well does it do on AIME 2024?", None),
        ("What does Nobody (2023) say?", None),
        ("Why is moss green?", None),
    ],
)
def test_what_a_question_states_is_looked_up_in_the_catalogue(catalogue, text, ids):
    assert found_in(catalogue, text)[1] == ids


def test_a_surname_is_not_met_in_a_given_name(catalogue):
    known = KnownPapers(catalogue)
    assert known(Filters(author="Lin,")) is None
    assert known(Filters(author="Adam,")).paper_ids == ("e", "g")


def test_a_year_without_papers_is_dropped_and_said(catalogue):
    answer, ids = found_in(catalogue, "Which papers by Ann Author are from 1999?")
    assert ids == ["a", "c"]
    assert answer.said == ("by Ann Author",)
    assert answer.notes == ("No paper of this library is from 1999. “from 1999” was left out.",)


def test_a_condition_that_leaves_nothing_is_dropped_and_said(catalogue):
    answer, ids = found_in(catalogue, "Which papers by Bob Writer are from 2023?")
    assert ids == ["b"]
    assert "is from 2023 and also: by Bob Writer. “from 2023” was left out." in answer.notes[0]


@pytest.mark.parametrize(
    ("text", "decisive"),
    [
        ("Which papers by Ann Author are from 2023?", True),
        ("Which papers are filed under game theory?", True),
        ("Which papers from 2023 study moss?", False),
        ("Which NeurIPS papers study moss?", False),
    ],
)
def test_only_authors_and_topics_decide_that_a_question_is_answered(catalogue, text, decisive):
    assert found_in(catalogue, text)[0].decisive is decisive


@pytest.mark.parametrize(
    ("name", "people", "named"),
    [
        ("Author Ann", ["Ann Author"], True),
        ("Ann Author", ["Author, Ann"], True),
        ("A. Author", ["Ann B. Author"], True),
        ("Ann Author", ["A. Author"], True),
        ("Ann Author", ["Anna Author"], False),
        ("B. Author", ["Ann Author"], False),
        ("A. A", ["Ann Author"], False),
        ("Author,", ["Ann Author", "B. Writer"], True),
        ("Ann,", ["Ann Author"], False),
        ("Author,", ["Author, Ann"], True),
    ],
)
def test_a_person_is_met_whatever_the_order_of_the_names(name, people, named):
    assert is_named(name, people) is named
