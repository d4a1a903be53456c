from pathlib import Path

import pytest

import rag
from rag.readers import read_papers
from rag.schema import BadRecord, Note, Paper

SAMPLE = Path(rag.__file__).parent / "sample"
TABLE = Path(__file__).parent / "data" / "readers" / "sample_by_eye.tsv"
BY_EYE = [line.split("\t") for line in TABLE.read_text("utf-8").splitlines()[1:]]


@pytest.fixture(scope="module")
def sample():
    return [item for file in sorted(SAMPLE.glob("*.txt")) for item in read_papers(file)]


def test_the_sample_holds_forty_papers_with_thirty_four_topics(sample):
    assert len(sample) == 40
    assert sum(paper.topic is not None for paper in sample) == 34
    assert len({paper.id for paper in sample}) == 40


@pytest.mark.parametrize(
    ("place", "expected"), list(enumerate(BY_EYE)), ids=[row[1].replace(" ", "-") for row in BY_EYE]
)
def test_each_paper_of_the_sample_is_read_whole(sample, place, expected):
    paper, (file, author, count, others, topic, opening) = sample[place], expected
    assert paper.source.file == file
    assert (paper.authors[0], len(paper.authors)) == (author, int(count))
    assert paper.more_authors is (others == "yes")
    assert (paper.topic or "") == topic
    assert paper.abstract.startswith(opening)
    assert (paper.title, paper.year) == ("", None)


def listing(tmp_path, text):
    path = tmp_path / "page.txt"
    path.write_text(text, encoding="utf-8")
    return list(read_papers(path, format="listing"))


LONG = "This abstract has rather many words without any comma in it."


def test_lines_of_one_abstract_are_joined_and_its_record_starts_at_the_topic(tmp_path):
    text = f"Search\n\nTheory\n\nA. Author, B. Author et al.\n\n{LONG}\nAnd more.\n"
    (paper,) = listing(tmp_path, text)
    assert paper.abstract == f"{LONG} And more."
    assert (paper.topic, paper.more_authors, paper.source.line) == ("Theory", True, 3)


def test_the_heading_of_a_second_page_is_passed_over(tmp_path):
    page = f"Search\n\nA. Author, B. Author\n\n{LONG}\n\n"
    items = listing(tmp_path, page + page.replace(LONG, LONG + " Again."))
    assert [type(item) for item in items] == [Paper, Paper]
    assert items[1].topic is None


def test_too_many_lines_before_an_abstract_are_a_bad_record(tmp_path):
    good = f"A. Author, B. Author\n\n{LONG}\n\n"
    items = listing(tmp_path, f"Search\n\n{good}One\n\nTwo\n\nThree\n\n{LONG} Bad.\n\n{good}")
    assert [type(item) for item in items] == [Paper, BadRecord, Paper]
    assert items[1].line == 7
    assert "3 lines stand before this abstract" in items[1].reason


def test_a_damaged_byte_loses_one_abstract(tmp_path):
    page = f"Suche\n\nA. Größer, B. Author\n\n{LONG}\n\nC. Author, D. Author\n\n{LONG} \xff.\n"
    path = tmp_path / "page.txt"
    path.write_bytes(page.encode().replace("\xff".encode(), b"\xff"))
    items = list(read_papers(path, format="listing"))
    assert [type(item) for item in items] == [Paper, BadRecord]
    assert "byte 0xFF" in items[1].reason


def test_an_abstract_without_blank_lines_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("rag.readers.listing.LONGEST_LINE", 1000)
    items = listing(tmp_path, "Search\n\nA. Author, B. Author\n\n" + f"{LONG}\n" * 50)
    assert [type(item) for item in items] == [BadRecord]
    assert "no blank line for 10 MB" in items[0].reason


def test_lines_without_an_abstract_at_the_end_are_noted(tmp_path):
    items = listing(tmp_path, f"Search\n\nA. Author, B. Author\n\n{LONG}\n\nTheory\n\nC. Author\n")
    assert isinstance(items[-1], Note)
    assert items[-1].line == 7
