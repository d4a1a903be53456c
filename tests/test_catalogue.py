"""The SQLite file: papers as they came, whole transactions, plain sentences for a bad disk."""

import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rag import database, manifest
from rag.catalogue import Catalogue, dump_paper, load_paper
from rag.database import Database
from rag.errors import IndexMismatchError, LibraryBusyError, RagError
from rag.manifest import Manifest
from rag.schema import Filters, Paper, Source
from tests.storage import paper

ROOT = Path(__file__).parent.parent


@pytest.fixture
def db(tmp_path):
    db = Database(tmp_path / "catalogue.sqlite")
    yield db
    db.close()


@pytest.fixture
def catalogue(db):
    catalogue = Catalogue(db)
    shelf = [
        paper(1, id="a", authors=("Łukasz Müller",), topic="Game Theory", venue="ICML", year=2019),
        paper(2, id="b", authors=("J. Lin", "K. Wu"), topic="Vision", venue="CVPR", year=2021),
        paper(3, id="c", authors=(), topic=None, venue=None, year=None),
        paper(4, id="d", authors=("J. Lindqvist",), year=10**60, source=Source("other.bib", 1)),
    ]
    for one in shelf:
        catalogue.put(one, [f"title:{one.id}"], None)
    return catalogue


def test_a_paper_comes_back_as_it_was(catalogue):
    extra = {"note": [1, None, {"deep": "é"}]}
    whole = Paper(
        "x", "Title", "Abstract.", ("A",), True, "T", 2001, "V", "10.1/x", "2401.00001",
        "https://example.org", ("k",), extra, "raw", Source("f", 3, "k"),
    )  # fmt: skip
    catalogue.put(whole, [], 7)
    assert catalogue.get("x") == whole
    assert load_paper(dump_paper(whole)) == whole
    assert catalogue.get("unknown") is None


@pytest.mark.parametrize("odd", ["half \ud800", 2**70, {1: "a"}, Path("x"), [[[]]] * 3])
def test_values_that_the_fast_writer_refuses_are_written_as_before(odd):
    one = paper(1, extra={"b": odd, "a": "é"})
    values = json.loads(dump_paper(one))
    as_before = json.dumps(one.extra, ensure_ascii=False, default=str)
    assert values["extra"] == json.loads(as_before.encode("utf-8", "replace"))
    assert list(values) == sorted(values)


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        pytest.param(Filters(author="muller"), "a", id="no accents, no case"),
        pytest.param(Filters(author="lukasz MÜLLER"), "a", id="folded on both sides"),
        pytest.param(Filters(author="lin"), "bd", id="a part of a name"),
        pytest.param(Filters(topic="theory"), "a", id="topic"),
        pytest.param(Filters(venue="cvpr"), "b", id="venue"),
        pytest.param(Filters(year_from=2020), "b", id="from; an absent year fails"),
        pytest.param(Filters(year_to=2020), "a", id="to"),
        pytest.param(Filters(year_from=2019, year_to=2021), "ab", id="inclusive"),
        pytest.param(Filters(year_from=-(10**30), year_to=10**30), "ab", id="beyond 64 bits"),
        pytest.param(Filters(source="other.bib"), "d", id="source"),
        pytest.param(Filters(paper_ids=("c", "b", "no")), "bc", id="ids"),
        pytest.param(Filters(paper_ids=()), "", id="no ids"),
        pytest.param(Filters(author="lin", year_from=2000), "b", id="two conditions"),
        pytest.param(Filters(author="%"), "", id="a wildcard is a letter"),
        pytest.param(Filters(author="' OR 1=1 --"), "", id="quotes are letters"),
        pytest.param(Filters(author="\ud800"), "", id="half a surrogate"),
        pytest.param(Filters(), "abcd", id="none"),
    ],
)
def test_b12_filters(catalogue, filters, found):
    assert catalogue.matching(filters) == list(found)
    assert [one.id for one in catalogue.browse(filters)] == list(found)
    assert [one.id for one in catalogue.browse(filters, limit=1, offset=1)] == list(found)[1:2]


def test_any_number_of_ids_can_be_asked_for(catalogue):
    ids = [f"no{n}" for n in range(5000)]
    assert set(catalogue.papers([*ids, "a", "c"])) == {"a", "c"}
    assert catalogue.known([*ids, "b"]) == ["b"]
    assert catalogue.matching(Filters(paper_ids=(*ids, "d"))) == ["d"]


def test_all_papers_are_read_a_page_at_a_time(catalogue, monkeypatch):
    monkeypatch.setattr("rag.catalogue.PAGE", 3)
    assert [one.id for one in catalogue.each()] == list("abcd")


def test_deleting_notes_what_the_lexical_index_has_to_forget(catalogue):
    assert catalogue.delete(["a", "unknown"]) == 1
    assert catalogue.gone("paper") == ["a"]
    assert catalogue.candidates(["title:a"]) == {}
    assert catalogue.candidates(["title:b"]) == {"b": ["title:b"]}


def test_a_failed_transaction_leaves_nothing(db, catalogue):
    with pytest.raises(ZeroDivisionError, match="division"), db.transaction():
        assert catalogue.delete(["a"]) / 0
    assert catalogue.get("a")
    with db.transaction():
        catalogue.delete(["a"])
    assert catalogue.get("a") is None


def test_a_reader_sees_the_last_whole_state_while_another_thread_writes(db, catalogue):
    seen = []
    with db.transaction():
        catalogue.delete(["a"])
        thread = threading.Thread(target=lambda: seen.append(catalogue.count()))
        thread.start()
        thread.join(30)
    assert seen == [4]
    assert catalogue.count() == 3


def test_connections_of_ended_threads_are_closed(db, catalogue):
    for _ in range(40):
        thread = threading.Thread(target=catalogue.count)
        thread.start()
        thread.join(30)
    assert len(db._open) <= 2  # this thread's and the last one's
    descriptors = [os.readlink(fd) for fd in Path("/proc/self/fd").iterdir() if fd.exists()]
    assert sum("catalogue.sqlite" in name for name in descriptors) <= 9


def test_a_full_disk_is_told_and_nothing_is_lost(db, catalogue):
    pages = db.connection.execute("PRAGMA page_count").fetchone()[0]
    db.connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    told = r"could not be written: .*full.* Free some room"
    with pytest.raises(RagError, match=told), db.transaction():
        catalogue.put(paper(9, id="big", extra={"x": "y" * 900_000}), [], None)
    assert catalogue.count() == 4
    assert db.integrity() == []


def test_a_file_that_cannot_be_written_is_told(db, catalogue):
    db.connection.execute("PRAGMA query_only = ON")
    with pytest.raises(RagError, match=r"cannot be written: .*readonly"), db.transaction():
        catalogue.delete(["a"])


def test_a_file_that_stays_locked_is_told(db, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "WAIT_S", 0.1)
    other = sqlite3.connect(tmp_path / "catalogue.sqlite")
    other.execute("BEGIN IMMEDIATE")
    second = Database(tmp_path / "catalogue.sqlite")
    with pytest.raises(LibraryBusyError, match="stayed locked"), second.transaction():
        pass
    other.close()
    with second.transaction():
        pass
    second.close()


def test_a_bug_of_ours_keeps_its_own_error(db):
    with pytest.raises(sqlite3.OperationalError, match="no such table"), db.transaction():
        db.connection.execute("SELECT * FROM missing")
    with pytest.raises(sqlite3.IntegrityError), db.transaction():
        db.connection.execute("INSERT INTO papers (id) VALUES (NULL)")


@pytest.mark.parametrize(
    "content",
    [pytest.param(b"not a database, but text " * 99, id="text"), pytest.param(None, id="torn")],
)
def test_a_damaged_file_is_told_with_the_way_out(tmp_path, content):
    path = tmp_path / "catalogue.sqlite"
    Database(path).close()
    whole = path.read_bytes()
    path.write_bytes(content or whole[:50] + os.urandom(4000))
    with pytest.raises(IndexMismatchError, match="damaged or not a library"):
        Database(path)


def test_a_file_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "catalogue.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(IndexMismatchError, match="format 99; this version of Citewell reads up"):
        Database(path)


def test_a_closed_database_is_not_opened_again_in_silence(db):
    db.close()
    with pytest.raises(RagError, match="is closed"):
        db.connection.execute("SELECT 1")


OPEN_AS_NOBODY = """
import os, sys
sys.path.insert(0, {root!r})
from rag.library import open_library
from rag.settings import Settings
from rag.errors import RagError
settings = Settings(home={home!r}, embedder="word-hash")
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
try:
    open_library("x", settings=settings, create={create})
except RagError as exc:
    print(f"{{type(exc).__name__}}: {{exc}}")
"""


@pytest.mark.parametrize("create", [False, True], ids=["opened", "made"])
def test_a_folder_that_cannot_be_written_is_told_in_a_plain_sentence(tmp_path_factory, create):
    from rag.library import open_library
    from tests.storage import settings_for

    base = tmp_path_factory.mktemp("readonly")
    settings = settings_for(base)
    with open_library("x" if not create else "y", settings=settings, create=True):
        pass
    for folder in (settings.home, *settings.home.glob("*")):
        folder.chmod(0o555)
    for folder in base.parents:
        if folder.stat().st_uid == os.getuid() and str(folder).startswith("/tmp/"):
            folder.chmod(folder.stat().st_mode | 0o055)
    base.chmod(0o755)
    code = OPEN_AS_NOBODY.format(root=str(ROOT), home=str(settings.home), create=create)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=base, check=False
    )
    for folder in (settings.home, *settings.home.glob("*")):
        folder.chmod(0o755)
    assert "Traceback" not in done.stderr
    assert done.stdout.startswith(("RagError: ", "SettingsError: "))
    assert "cannot be" in done.stdout
    assert "CITEWELL_HOME" in done.stdout


# ---- the manifest ------------------------------------------------------------------------------


def test_a_manifest_comes_back_as_it_was(tmp_path):
    wanted = Manifest("Ünïcode ✓", {"name": "minilm", "dim": 384}, max_tokens=256)
    manifest.write(tmp_path, wanted)
    assert manifest.read(tmp_path) == wanted
    assert [path.name for path in tmp_path.iterdir()].count("manifest.tmp") == 0


SOUND = {"name": "x", "embedder": {"name": "minilm"}}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "cannot be read", id="empty"),
        pytest.param("{", "cannot be read", id="half"),
        pytest.param("[]", "cannot be read", id="a list"),
        pytest.param("[" * 90_000, "cannot be read", id="deeply nested"),
        pytest.param(json.dumps({"name": "x"}), "embedder", id="no embedder"),
        pytest.param(json.dumps({**SOUND, "embedder": {}}), "names no embedder", id="unnamed"),
        pytest.param(json.dumps({**SOUND, "embedder": "minilm"}), "embedder", id="a wrong type"),
        pytest.param(json.dumps({**SOUND, "format": "1"}), "format", id="a number as text"),
        pytest.param(json.dumps({**SOUND, "format": 9}), "Install a newer", id="a newer format"),
        pytest.param(json.dumps({**SOUND, "terms": 9}), "Install a newer", id="newer terms"),
        pytest.param(json.dumps({**SOUND, "chunking": 9}), "Install a newer", id="newer chunks"),
        pytest.param(json.dumps({**SOUND, "space": "l2"}), "space 'l2'", id="another space"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_told(tmp_path, content, message):
    (tmp_path / "manifest.json").write_text(content, "utf-8")
    with pytest.raises(IndexMismatchError, match=message):
        manifest.read(tmp_path)


def test_a_missing_manifest_is_told(tmp_path):
    with pytest.raises(IndexMismatchError, match="No such file"):
        manifest.read(tmp_path)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param({"name": "other"}, "'other'", id="name"),
        pytest.param({"name": "m", "revision": "def"}, "revision 'abc'", id="revision"),
        pytest.param({"name": "m", "revision": "abc", "dim": 9}, "dim '384'", id="dimension"),
        pytest.param(
            {"name": "m", "revision": "abc", "query_prefix": "query:"}, "query_prefix", id="prefix"
        ),
    ],
)
def test_b18_another_embedder_is_refused_whatever_differs(asked, told):
    built = Manifest("x", {"name": "m", "revision": "abc", "dim": 384, "query_prefix": "query: "})
    with pytest.raises(IndexMismatchError, match=told):
        manifest.check_embedder(built, asked)


def test_the_same_weights_in_another_folder_are_the_same_embedder():
    built = Manifest("x", {"name": "st:/a/model", "revision": "abc", "dim": 384})
    manifest.check_embedder(built, {"name": "st:/b/model", "revision": "abc", "dim": 384})
    manifest.check_name(built, "st:/b/model")
    with pytest.raises(IndexMismatchError, match="name 'st:/a/model'"):
        manifest.check_name(built, "minilm")
