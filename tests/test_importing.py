"""Records → catalogue: who is new, who changed, who was there, and counts that add up."""

import random
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from rag.errors import RecordError
from rag.importing import KEPT, add_records, merge, same_content
from rag.schema import BadRecord, Note, Paper, Source
from tests.storage import (
    WatchedEmbedding,
    add,
    content_of,
    counts_of,
    dump,
    new_index,
    paper,
    papers,
)


@pytest.fixture
def index(tmp_path):
    index = new_index(tmp_path / "library", WatchedEmbedding())
    yield index
    index.close()


def random_records(rng, count):
    """Return a mix of new, repeated, changed, empty and malformed records."""
    makers = (
        lambda n: paper(n),
        lambda n: paper(n, doi=f"10.1000/{n % 7}"),
        lambda n: paper(n, abstract=f"Other words for {n}."),
        lambda n: paper(n, venue=f"Venue {rng.randrange(3)}"),
        lambda n: paper(n, title=""),
        lambda n: paper(n, abstract=""),
        lambda n: paper(n, title="", abstract=" "),
        lambda n: BadRecord("papers.jsonl", n, "It is not JSON."),
    )
    return [rng.choice(makers)(rng.randrange(12)) for _ in range(count)]


@pytest.mark.parametrize("seed", range(6))
def test_read_is_always_the_sum_of_what_became_of_the_records(index, seed):
    rng = random.Random(seed)
    for _ in range(3):
        records = random_records(rng, rng.randrange(1, 40))
        report = add(index, records)
        counts_of(report)
        assert report.read == len(records)
        bad = sum(isinstance(record, BadRecord) for record in records)
        empty = sum(isinstance(r, Paper) and not (r.title or r.abstract.strip()) for r in records)
        assert report.failed == len(report.bad) == bad + empty
    assert index.check() == []
    again = add(index, records)
    assert again.added == 0


def test_true_copies_in_one_import_are_duplicates(index):
    report = add(index, [paper(1), paper(2), paper(1), paper(1)])
    assert counts_of(report) == (2, 0, 0, 2, 0)
    assert counts_of(add(index, [paper(1), paper(1)])) == (0, 0, 1, 1, 0)


def test_a_copy_in_one_import_fills_the_gaps_of_the_first(index):
    add(index, [paper(1, venue=None), paper(1, venue="Journal", authors=())])
    (stored,) = index.catalogue.each()
    assert (stored.venue, stored.authors) == ("Journal", paper(1).authors)


def test_two_records_with_one_title_and_different_abstracts_are_two_papers(index):
    twins = [paper(1, title="A shared long title here"), paper(2, title="A shared long title here")]
    twins = [replace(one, year=2020) for one in twins]
    assert counts_of(add(index, twins)) == (2, 0, 0, 0, 0)
    assert {one.abstract for one in index.catalogue.each()} == {one.abstract for one in twins}
    before = dump(index.folder)
    assert counts_of(add(index, twins)) == (0, 0, 2, 0, 0)
    assert counts_of(add(index, twins[::-1])) == (0, 0, 2, 0, 0)
    assert dump(index.folder) == before


def test_b01_one_key_for_two_papers_is_two_papers(index):
    first = paper(1, doi="10.1000/a", source=Source("x.bib", 1, "wang2017"))
    second = paper(2, doi="10.1000/b", source=Source("x.bib", 9, "wang2017"))
    assert counts_of(add(index, [first, second])) == (2, 0, 0, 0, 0)
    assert {one.id for one in index.catalogue.each()} == {"doi:10.1000/a", "doi:10.1000/b"}


def test_two_dois_are_two_papers_whatever_the_title(index):
    first = paper(1, doi="10.1000/a")
    assert counts_of(add(index, [first, replace(first, doi="10.1000/b")])) == (2, 0, 0, 0, 0)


def test_a_paper_whose_keys_are_all_taken_still_gets_an_id_of_its_own(index):
    title, text = "A title that several share", "One abstract of a few plain words."
    add(index, [Paper("", title=title, abstract="Something else entirely, at length.")])
    add(index, [Paper("", abstract=text, doi="10.1000/x")])
    index.database.connection.execute("UPDATE papers SET id = 'gone' WHERE id = 'doi:10.1000/x'")
    records = [
        Paper("", title=title, abstract="Something else entirely, at length."),
        Paper("", title=title, abstract=text),
        Paper("", title=title, abstract="Third words about other things."),
    ]
    add(index, records)
    ids = [one.id for one in index.catalogue.each()]
    assert len(ids) == len(set(ids))
    assert {one.abstract for one in index.catalogue.each()} >= {one.abstract for one in records}


def test_a_record_without_title_and_abstract_is_reported_with_its_line(index):
    report = add(index, [paper(1), paper(2, title="", abstract=" \n")])
    assert counts_of(report) == (1, 0, 0, 0, 1)
    (bad,) = report.bad
    assert (bad.file, bad.line) == ("papers.jsonl", 3)
    assert "neither a title nor an abstract" in bad.reason


def test_b12_odd_values_are_stored_and_come_back_the_same(index):
    extra = {
        "nested": {"a": [1, {"b": None}]},
        "nan": float("nan"),
        "big": 10**60,
        "empty": [],
        "text": "half a surrogate: \ud800",
    }
    odd = paper(1, year=None, keywords=(), extra=extra)
    huge = paper(2, year=10**60)
    assert counts_of(add(index, [odd, huge])) == (2, 0, 0, 0, 0)
    stored = {one.title: one for one in index.catalogue.each()}[odd.title]
    assert stored.year is None
    assert stored.keywords == ()
    assert stored.extra["nested"] == {"a": [1, {"b": None}]}
    assert stored.extra["big"] == 10**60
    assert stored.extra["text"] == "half a surrogate: ?"
    assert counts_of(add(index, [odd, huge])) == (0, 0, 2, 0, 0)


@pytest.mark.parametrize("text", ["nul \x00 byte", "half \udc80 surrogate", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 ✓ 中文"])
def test_any_text_is_stored_once_and_found_unchanged(index, text):
    record = paper(1, title=text, authors=(text,), venue=text, topic=text, doi=f"10.1000/{text}")
    assert add(index, [record]).added == 1
    assert counts_of(add(index, [record])) == (0, 0, 1, 0, 0)
    assert index.check() == []


def test_a_reader_that_gives_up_leaves_what_it_gave_before(index):
    def reader():
        yield paper(1)
        yield paper(2)
        raise RecordError("'papers.jsonl' vanished.")

    with pytest.raises(RecordError, match="vanished"):
        add(index, reader())
    assert index.catalogue.count() == 2
    assert index.terms.search("mark2", 1)
    assert counts_of(add(index, papers(3))) == (1, 0, 2, 0, 0)
    assert index.check() == []


def test_reports_keep_a_bounded_number_of_notes_and_bad_records(index):
    items = [BadRecord("f", n, "bad") for n in range(KEPT + 50)]
    items += [Note("f", "junk line", n) for n in range(KEPT + 50)]
    report = add_records(index, "f", iter(items))
    assert (report.read, report.failed) == (KEPT + 50, KEPT + 50)
    assert (len(report.bad), len(report.notes)) == (KEPT, KEPT)


def test_the_papers_of_an_import_can_be_named(index):
    first = add(index, papers(2))
    second = add(index, papers(5))
    assert len(index.catalogue.of_import(first.import_id)) == 2
    assert len(index.catalogue.of_import(second.import_id)) == 3
    assert add(index, papers(5)).import_id is None


def test_progress_tells_every_stage(index):
    stages = Counter()
    add_records(
        index,
        "f",
        papers(5),
        wait=True,
        progress=lambda stage, done, total: stages.update([stage]),
    )
    assert set(stages) == {"reading", "embedding", "storing"}


def test_a_changed_abstract_answers_at_once_when_nobody_waits(index):
    add(index, papers(3))
    changed = paper(1, abstract="Zirconium stands here now. It is new.")
    report = add_records(index, "papers.jsonl", [replace(changed, title=paper(1).title)])
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert report.pending == 1
    found = index.terms.search("zirconium", 3)
    assert [index.catalogue.get(name).abstract for name, _ in found] == [changed.abstract]
    assert index.terms.search("mark1", 3) == []
    assert index.sync().embedded == 1
    assert index.check() == []


def test_a_changed_venue_keeps_the_vectors(index):
    add(index, papers(3))
    report = add_records(index, "papers.jsonl", [paper(1, venue="Elsewhere")])
    assert counts_of(report) == (0, 1, 0, 0, 0)
    assert (report.pending, index.catalogue.waiting()) == (0, 0)
    assert index.sync().embedded == 0
    assert {one.venue for one in index.catalogue.each()} == {None, "Elsewhere"}


def test_papers_are_the_same_whether_vectors_were_waited_for_or_made_later(index, tmp_path):
    records = [*papers(20, sentences=30), paper(21, abstract=""), paper(22, title="")]
    later = new_index(tmp_path / "later")
    add(index, records)
    report = add_records(later, "papers.jsonl", records)
    assert (report.pending, report.embedded) == (22, 0)
    later.sync()
    assert content_of(later) == content_of(index)
    assert later.catalogue.counts()["passages"] > 22  # long ones were cut
    later.close()


def test_a_paper_that_was_removed_and_added_again_is_found(index):
    add_records(index, "papers.jsonl", papers(3))
    gone = index.terms.search("mark1", 1)[0][0]
    with index.writing(), index.database.transaction():  # as if killed before the words went
        index.passages.forget(gone)
        index.catalogue.delete([gone])
    add_records(index, "papers.jsonl", papers(3))
    assert [name for name, _ in index.terms.search("mark1", 3)] == [gone]
    assert index.check() == []


def test_merging_lays_filled_fields_over():
    base = paper(1, venue="Old", topic="T", extra={"a": 1, "b": 2})
    over = paper(1, venue="New", topic=None, extra={"b": 3}, abstract="", raw_abstract="raw")
    merged = merge(base, over=over, keep=replace(base, id="kept"))
    assert (merged.id, merged.venue, merged.topic) == ("kept", "New", "T")
    assert merged.extra == {"a": 1, "b": 3}
    assert (merged.abstract, merged.raw_abstract) == (base.abstract, base.raw_abstract)


def test_where_a_record_came_from_is_no_difference():
    assert same_content(paper(1), paper(1, source=Source("other.bib", 7, "key")))
    assert not same_content(paper(1), paper(1, url="https://example.org"))


def test_a_watcher_sees_counts_and_bad_records_before_any_vector_is_made(index):
    seen = []
    bad = BadRecord("papers.jsonl", 2, "It is not JSON.")
    report = add_records(
        index,
        "papers.jsonl",
        [paper(1), bad, paper(2)],
        watch=lambda now: seen.append((now, index.catalogue.counts()["embedded"])),
    )
    now, embedded = seen[-1]
    assert (now.read, now.added, now.failed, now.bad, embedded) == (3, 2, 1, (bad,), 0)
    assert now.import_id == report.import_id


def test_words_are_counted_once_where_the_lexical_index_is_made_anew(index):
    add(index, papers(3))
    shutil.rmtree(index.folder / "lexical")
    index.words.close()
    report = add_records(index, "more.jsonl", papers(5))
    assert report.terms_written == 5
