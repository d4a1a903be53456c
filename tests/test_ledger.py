"""Adding an unchanged file again: fast, and counted as if it had been read."""

import json
import random
from dataclasses import replace

import pytest

from rag.errors import RecordError
from rag.library import open_library
from rag.schema import Filters
from tests.storage import counts_of, paper, papers, settings_for, write_jsonl


@pytest.fixture
def library(tmp_path):
    with open_library("x", settings=settings_for(tmp_path), create=True) as library:
        yield library


@pytest.fixture
def unread(monkeypatch):
    """Fail when a reader is asked for."""

    def use():
        monkeypatch.setattr("rag.readers.read_papers", lambda *a, **k: pytest.fail("it was read"))

    return use


def test_an_unchanged_file_is_counted_without_being_read(tmp_path, library, unread):
    file = write_jsonl(tmp_path / "p.jsonl", papers(30))
    assert counts_of(library.add(file)) == (30, 0, 0, 0, 0)
    unread()
    again = library.add(file)
    assert counts_of(again) == (0, 0, 30, 0, 0)
    assert (again.import_id, again.terms_written, again.embedded) == (None, 0, 0)


def test_bad_records_and_notes_are_told_again(tmp_path, library, unread):
    file = write_jsonl(tmp_path / "p.jsonl", papers(2))
    file.write_text(file.read_text() + "\nno json\n" + json.dumps({"title": ""}) + "\n")
    first = library.add(file)
    unread()
    again = library.add(file)
    assert (again.failed, again.bad, again.notes) == (first.failed, first.bad, first.notes)
    assert (again.failed, len(again.notes)) == (2, 1)
    assert counts_of(again) == (0, 0, 2, 0, 2)


def test_a_file_named_twice_holds_duplicates_the_second_time(tmp_path, library, unread):
    file = write_jsonl(tmp_path / "p.jsonl", papers(4))
    library.add(file)
    unread()
    assert counts_of(library.add([file, file])) == (0, 0, 4, 4, 0)


def test_a_changed_file_is_read(tmp_path, library):
    file = write_jsonl(tmp_path / "p.jsonl", papers(4))
    library.add(file)
    write_jsonl(file, papers(5))
    assert counts_of(library.add(file)) == (1, 0, 4, 0, 0)


def test_a_removed_paper_comes_back(tmp_path, library):
    file = write_jsonl(tmp_path / "p.jsonl", papers(4))
    library.add(file)
    library.remove([library.papers()[2].id])
    assert counts_of(library.add(file)) == (1, 0, 3, 0, 0)
    assert len(library.papers()) == 4
    assert library.search("mark2")[0].paper.abstract == paper(2).abstract


@pytest.mark.parametrize("wait", [False, True], ids=["at once", "with vectors"])
def test_a_paper_that_another_import_changed_is_changed_back(tmp_path, library, wait):
    file = write_jsonl(tmp_path / "p.jsonl", papers(4))
    other = write_jsonl(tmp_path / "q.jsonl", [paper(2, venue="Elsewhere")])
    library.add(file, wait=wait)
    assert counts_of(library.add(other, wait=wait)) == (0, 1, 0, 0, 0)
    assert counts_of(library.add(other, wait=wait)) == (0, 0, 1, 0, 0)
    assert counts_of(library.add(file, wait=wait)) == (0, 0, 4, 0, 0)  # it names no venue
    back = write_jsonl(tmp_path / "r.jsonl", [paper(2, venue="Here")])
    assert counts_of(library.add(back, wait=wait)) == (0, 1, 0, 0, 0)
    assert counts_of(library.add(other, wait=wait)) == (0, 1, 0, 0, 0)
    assert library.papers(Filters(venue="Elsewhere"))[0].title == paper(2).title


def test_a_change_that_waits_for_its_vectors_is_not_taken_for_the_old(
    tmp_path, library, monkeypatch
):
    file = write_jsonl(tmp_path / "p.jsonl", papers(3))
    library.add(file, wait=True)
    with monkeypatch.context() as patch:
        patch.setattr("rag.embedders.Embedder.embed_passages", lambda *a: 1 / 0)
        changed = [paper(1, abstract="Entirely new words stand here now. mark1.")]
        other = write_jsonl(tmp_path / "q.jsonl", changed)
        assert library.add(other, wait=True).pending == 1
    assert counts_of(library.add(file, wait=True)) == (0, 1, 2, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_counts_are_those_of_reading_the_file_again(tmp_path, library, monkeypatch, seed):
    rng = random.Random(seed)
    makers = (
        lambda n: paper(n),
        lambda n: paper(n, doi=f"10.1000/{n}"),
        lambda n: paper(n, venue=f"Venue {rng.randrange(3)}"),
        lambda n: paper(n, title=""),
        lambda n: replace(paper(n), title="", abstract=" "),
    )
    before = write_jsonl(tmp_path / "before.jsonl", papers(5))
    records = [rng.choice(makers)(rng.randrange(9)) for _ in range(30)]
    file = write_jsonl(tmp_path / "p.jsonl", records)
    library.add(before)
    library.add(file)
    remembered = library.add(file)
    monkeypatch.setattr("rag.importing.digest_of", lambda *a: None)
    read = library.add(file)
    assert counts_of(remembered) == counts_of(read)
    assert remembered.bad == read.bad


def test_a_file_in_another_encoding_is_another_file(tmp_path, library):
    file = tmp_path / "p.jsonl"
    file.write_bytes(json.dumps({"title": "Café au lait", "abstract": "It is hot."}).encode())
    library.add(file, encoding="utf-8")
    assert library.add(file, encoding="latin-1").read == 1
    assert library.add(file, encoding="utf-8").unchanged == 1


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path, library, monkeypatch):
    file = write_jsonl(tmp_path / "p.jsonl", papers(3))
    grown = iter([(1,), (2,)])
    with monkeypatch.context() as patch:
        patch.setattr("rag.importing.state_of", lambda path: next(grown))
        library.add(file)
    assert library._index.database.connection.execute("SELECT * FROM reads").fetchall() == []


def test_a_file_that_another_of_the_same_import_overruled_is_read_when_added_alone(
    tmp_path, library
):
    first = write_jsonl(tmp_path / "p.jsonl", papers(3))
    second = write_jsonl(tmp_path / "q.jsonl", [paper(1, year=1999)])
    assert counts_of(library.add([first, second])) == (3, 0, 0, 1, 0)
    assert counts_of(library.add(second)) == (0, 1, 0, 0, 0)
    assert library.papers(Filters(year_to=1999))[0].title == paper(1).title


def test_a_file_that_only_repeats_another_is_remembered(tmp_path, library, unread):
    first = write_jsonl(tmp_path / "p.jsonl", papers(3))
    second = write_jsonl(tmp_path / "q.jsonl", [paper(1)])
    library.add([first, second])
    unread()
    assert counts_of(library.add(second)) == (0, 0, 1, 0, 0)


def test_a_file_that_could_not_be_read_on_is_tried_again(tmp_path, library, monkeypatch):
    def broken(path, **options):
        yield paper(0)
        raise RecordError("The disk cannot be read.")

    file = write_jsonl(tmp_path / "p.jsonl", papers(3))
    with monkeypatch.context() as patch:
        patch.setattr("rag.readers.read_papers", broken)
        assert counts_of(library.add(file)) == (1, 0, 0, 0, 1)
    assert (library.add(file).read, len(library.papers())) == (3, 3)
