"""The one door: names, what opens and what is refused, adding, removing, status."""

import json
import threading

import pytest

from rag import manifest
from rag.errors import (
    IndexMismatchError,
    IndexMissingError,
    QuestionError,
    RagError,
    SettingsError,
)
from rag.folders import folder_for
from rag.library import Library, delete_library, libraries, open_library
from rag.schema import Filters
from rag.settings import Settings
from tests.storage import dump, paper, papers, settings_for, write_jsonl


@pytest.fixture
def settings(tmp_path):
    return settings_for(tmp_path)


@pytest.fixture
def library(tmp_path, settings):
    with open_library("first", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(30)), wait=True)
        yield library


# ---- names -------------------------------------------------------------------------------------

NAMES = [
    "A", "a", "Ünïcode ✓ (2024)_", "x" * 200, "../../x", "..", ".", "/etc/passwd", "con", "中文",
    "neurips-2025", "a b", "a-b", "library-0123abcd", "~", "x.y",
]  # fmt: skip


def test_b13_every_printable_name_gets_a_folder_of_its_own_inside_home(tmp_path):
    folders = [folder_for(tmp_path, name) for name in NAMES]
    assert len({str(folder).lower() for folder in folders}) == len(NAMES)
    assert {folder.resolve().parent for folder in folders} == {tmp_path.resolve()}
    assert all(len(folder.name) <= 60 and folder.name.isascii() for folder in folders)
    assert folder_for(tmp_path, "neurips-2025").name == "neurips-2025"


def test_b13_a_name_that_looks_like_anothers_folder_is_not_that_one(tmp_path):
    folder = folder_for(tmp_path, "Ünïcode")
    assert folder_for(tmp_path, folder.name) != folder


def test_one_name_in_two_unicode_forms_is_one_library(tmp_path):
    assert folder_for(tmp_path, "Müller") == folder_for(tmp_path, "Mu\u0308ller")
    assert folder_for(tmp_path, " a ") == folder_for(tmp_path, "a")


@pytest.mark.parametrize("name", ["", "   ", "x" * 201, "a\nb", "\x00", "a\x1b[31m", "\ud800"])
def test_b13_a_name_that_cannot_be_used_is_refused(settings, name):
    for create in (True, False):
        with pytest.raises(SettingsError, match="1 to 200 printable characters"):
            open_library(name, settings=settings, create=create)
    with pytest.raises(SettingsError, match="library name"):
        delete_library(name, settings=settings)
    assert not settings.home.exists()


@pytest.mark.parametrize("name", ["A", "Ünïcode ✓ (2024)_", "x" * 200, "../../x"])
def test_b13_libraries_of_any_name_work_and_are_listed_by_it(tmp_path, settings, name):
    with open_library(name, settings=settings, create=True) as library:
        assert library.add(write_jsonl(tmp_path / "p.jsonl", papers(3)), wait=True).added == 3
        assert library.name == name
    with open_library(name, settings=settings) as library:
        assert len(library.search("mark1")) == 3
    assert [shown for shown, _ in libraries(settings)] == [name]
    delete_library(name, settings=settings)
    assert list(settings.home.iterdir()) == []


def test_a_library_that_does_not_exist_is_told_with_those_that_do(library, settings):
    with pytest.raises(IndexMissingError, match=r"No library 'other' in .*Libraries here: first"):
        open_library("other", settings=settings)
    with pytest.raises(IndexMissingError, match="citewell add FILE --library 'other'"):
        delete_library("other", settings=settings)


def test_no_name_means_that_of_the_settings(tmp_path):
    settings = settings_for(tmp_path, library="mine")
    open_library(settings=settings, create=True).close()
    assert [name for name, _ in libraries(settings)] == ["mine"]


# ---- what opens and what is refused --------------------------------------------------------------


def test_a_library_built_with_another_embedder_is_refused_but_can_be_kept(library, settings):
    library.close()
    other = settings.model_copy(update={"embedder": "minilm"})
    with pytest.raises(IndexMismatchError, match=r"'word-hash'.*ask for 'minilm'.*rebuild --embed"):
        open_library("first", settings=other)
    with open_library("first", settings=other, any_embedder=True) as kept:
        assert kept.status(check=True).problems == ()
        assert kept.remove([kept.papers()[0].id]) == 1
        assert kept.rebuild().embedded == 0
        with pytest.raises(IndexMismatchError, match="word-hash"):
            kept.check_embedder()
    delete_library("first", settings=other)


def damage_manifest(folder, **values):
    path = folder / manifest.NAME
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        pytest.param({"format": 7}, "Install a newer Citewell", id="newer"),
        pytest.param({"embedder": 5}, "cannot be read", id="damaged"),
        pytest.param({"space": "l2"}, "space 'l2'", id="another space"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told_and_hides_no_other_library(
    library, settings, values, message
):
    library.close()
    open_library("second", settings=settings, create=True).close()
    damage_manifest(library.folder, **values)
    with pytest.raises(IndexMismatchError, match=message):
        open_library("first", settings=settings)
    assert [name for name, _ in libraries(settings)] == ["first", "second"]
    with pytest.raises(IndexMissingError, match="first, second"):
        open_library("third", settings=settings)
    delete_library("first", settings=settings)
    assert [name for name, _ in libraries(settings)] == ["second"]


@pytest.mark.parametrize("content", [b"", b"text " * 999], ids=["empty", "text"])
def test_a_damaged_catalogue_is_told(library, settings, content):
    library.close()
    (library.folder / "catalogue.sqlite").write_bytes(content)
    with pytest.raises(IndexMismatchError, match="Restore it from a backup"):
        open_library("first", settings=settings)


def test_a_damaged_word_index_repairs_itself_at_open(library, settings):
    library.close()
    meta = library.folder / "lexical" / "meta.json"
    meta.write_bytes(meta.read_bytes()[:40])
    with open_library("first", settings=settings) as again:
        assert again.search("mark7")[0].paper.abstract == paper(7).abstract
        assert again.status(check=True).problems == ()


def test_a_home_that_is_a_file_is_told(tmp_path):
    (tmp_path / "libraries").write_text("x")
    with pytest.raises(SettingsError, match="cannot be made"):
        open_library("x", settings=settings_for(tmp_path), create=True)
    with pytest.raises(IndexMissingError, match="No library 'x'"):
        open_library("x", settings=settings_for(tmp_path))


def test_locks_left_where_a_library_was_moved_away_are_in_nobodys_way(settings):
    folder = folder_for(settings.home, "default")
    folder.mkdir(parents=True)
    for name in ("writer.lock", "writer.pid", "asking"):
        (folder / name).touch()
    with open_library(settings=settings, create=True) as library:
        assert library.papers() == []


def test_a_folder_that_holds_anything_else_is_left_as_it_is(settings):
    folder = folder_for(settings.home, "default")
    folder.mkdir(parents=True)
    for name in ("writer.lock", "notes.txt"):
        (folder / name).touch()
    with pytest.raises(SettingsError, match=r"cannot be made in .*: Directory not empty"):
        open_library(settings=settings, create=True)
    assert sorted(one.name for one in folder.iterdir()) == ["notes.txt", "writer.lock"]


def test_making_a_library_leaves_nothing_beside_it(settings):
    open_library("x", settings=settings, create=True).close()
    assert [path.name for path in settings.home.iterdir()] == ["x"]


def test_an_embedder_that_cannot_be_loaded_keeps_no_library_shut(library, monkeypatch, settings):
    with library._index.database.transaction():
        library._index.database.connection.execute(
            "UPDATE passages SET vector = NULL, stored = 0 WHERE seq = 1"
        )
    library.close()

    def gone(settings):
        raise SettingsError("The packaged embedding model is missing.")

    monkeypatch.setattr("rag.embedders.build", gone)
    with open_library("first", settings=settings) as again:
        assert len(again.papers()) == 30
        assert again.waiting == 1
        assert "embedding model is missing" in again.embed().error
    monkeypatch.undo()
    with open_library("first", settings=settings) as again:
        assert again.embed().error is None
        assert again.waiting == 0
        assert again.status(check=True).problems == ()


def test_an_open_makes_papers_searchable_and_embeds_nothing(library, settings):
    with library._index.database.transaction():
        for sql in (
            "UPDATE passages SET vector = NULL, stored = 0 WHERE seq <= 5",
            "UPDATE papers SET terms = 0 WHERE seq <= 5",
        ):
            library._index.database.connection.execute(sql)
    library.close()
    with open_library("first", settings=settings) as again:
        status = again.status()
        assert (status.embedded, status.searchable, again.waiting) == (25, 30, 5)
        assert again.sync().embedded == 5


def test_embedding_tells_its_progress_and_what_it_did(library):
    with library._index.database.transaction():
        library._index.database.connection.execute("UPDATE passages SET vector = NULL, stored = 0")
    stages = []
    done = library.embed(progress=lambda *what: stages.append(what))
    assert ("embedding", 30, 30) in stages
    assert (done.done, done.waiting, done.error) == (30, 0, None)
    assert library.status(check=True).problems == ()


# ---- papers --------------------------------------------------------------------------------------


def test_the_same_file_again_writes_nothing(tmp_path, library):
    before = dump(library.folder)
    report = library.add(tmp_path / "p.jsonl", wait=True)
    assert (report.unchanged, report.embedded, report.terms_written, report.vectors_written) == (
        30, 0, 0, 0,
    )  # fmt: skip
    assert dump(library.folder) == before


def test_a_file_that_cannot_be_read_is_one_failed_record_and_the_others_are_stored(
    tmp_path, library
):
    more = write_jsonl(tmp_path / "more.jsonl", papers(32))
    report = library.add([tmp_path / "missing.jsonl", more, tmp_path], wait=True)
    assert (report.read, report.added, report.unchanged, report.failed) == (34, 2, 30, 2)
    assert {bad.file for bad in report.bad} == {"missing.jsonl", tmp_path.name}


def test_an_import_can_be_undone(tmp_path, library):
    report = library.add(write_jsonl(tmp_path / "more.jsonl", papers(35)), wait=True)
    assert library.undo_import(report.import_id) == 5
    assert len(library.papers()) == 30
    assert library.undo_import(report.import_id) == 0
    assert library.status(check=True).problems == ()


def test_papers_are_listed_filtered_and_shown(library):
    first = library.papers(limit=1)[0]
    assert library.paper(first.id) == first
    assert len(library.papers(Filters(year_from=2015))) == len(
        [one for one in papers(30) if one.year >= 2015]
    )
    assert library.papers(limit=2, offset=29)[0].title == paper(29).title
    with pytest.raises(IndexMissingError, match="has no paper 'doi:none'"):
        library.paper("doi:none")


def test_search_ranks_filters_and_refuses_what_is_no_question(library):
    found = library.search("mark7 " + paper(7).title, top_k=5)
    assert found[0].paper.title == paper(7).title
    assert [one.rank for one in found] == [1, 2, 3, 4, 5]
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)
    only = library.search("paper", filters=Filters(paper_ids=(found[2].paper.id,)))
    assert [one.paper.id for one in only] == [found[2].paper.id]
    with pytest.raises(QuestionError, match="empty"):
        library.search("  ")


def test_an_empty_library_is_searched_without_an_embedder(settings, monkeypatch):
    monkeypatch.setattr("rag.embedders.build", lambda settings: pytest.fail("it was loaded"))
    with open_library("empty", settings=settings, create=True) as library:
        assert library.search("anything") == ()
        assert library.status(check=True).problems == ()
        assert library.rebuild().terms == 0


def test_status_counts(tmp_path, library):
    library.add(
        write_jsonl(tmp_path / "t.jsonl", [paper(99, abstract="", raw_abstract="")]), wait=True
    )
    status = library.status()
    assert (status.papers, status.passages, status.embedded, status.searchable) == (31,) * 4
    assert (status.title_only, status.embedder, status.dim) == (1, "word-hash", 256)
    assert (status.name, status.path) == ("first", str(library.folder))
    assert (status.problems, status.checked) == ((), False)


def test_status_names_what_waits(library):
    for sql in (
        "UPDATE passages SET vector = NULL, stored = 0 WHERE seq <= 3",
        "UPDATE papers SET terms = 0 WHERE seq <= 2",
    ):
        library._index.database.connection.execute(sql)
    library._index.catalogue.put_update(library.papers()[9])
    problems = library.status().problems
    assert [line.partition(".")[0] for line in problems] == [
        "Papers not searchable yet: 2",
        "Changed papers that wait for their vectors: 1",
    ]
    assert all(line.endswith(("citewell rebuild", "citewell embed")) for line in problems)


def test_a_destroyed_library_is_gone(library, settings):
    library.destroy()
    assert not library.folder.exists()
    assert libraries(settings) == []
    with pytest.raises(RagError, match="is closed"):
        library.papers()


def test_eight_threads_ask_while_one_adds(tmp_path, library):
    failures, stop = [], threading.Event()

    def ask():
        try:
            while not stop.is_set():
                assert library.search("mark7 number", top_k=5)
                assert library.status().papers >= 30
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    report = library.add(write_jsonl(tmp_path / "more.jsonl", papers(300)), wait=True)
    stop.set()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert report.added == 270
    assert library.status(check=True).problems == ()
    assert len(library._index.database._open) <= 10


def test_a_settings_object_is_enough(tmp_path, monkeypatch):
    monkeypatch.setenv("CITEWELL_HOME", str(tmp_path / "libraries"))
    monkeypatch.setenv("CITEWELL_EMBEDDER", "word-hash")
    open_library(create=True).close()
    with Library(tmp_path / "libraries" / "default", Settings()) as library:
        assert library.name == "default"
