"""A library as one file, and what is refused when such a file comes from elsewhere."""

import json
import os
import shutil
import sqlite3
import zipfile

import pytest

from rag import backup
from rag.errors import IndexMismatchError, RagError, SettingsError
from rag.library import open_library, restore
from rag.schema import Answer
from tests.storage import content_of, papers, settings_for, write_jsonl

QUERIES = ("paper number 7", "mark12", "baral desten kivik", "the mark is")


@pytest.fixture
def settings(tmp_path):
    return settings_for(tmp_path)


@pytest.fixture
def library(tmp_path, settings):
    with open_library("first", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(60, sentences=8)), wait=True)
        yield library


def answers(library):
    return [
        [(r.paper, r.rank, r.passage_id, pytest.approx(r.score, abs=1e-6)) for r in found]
        for found in (library.search(query, top_k=20) for query in QUERIES)
    ]


def test_a_restored_library_gives_the_same_answers_and_embeds_nothing(
    tmp_path, library, settings, monkeypatch
):
    before, content = answers(library), content_of(library._index)
    file = library.backup(tmp_path / "x.backup")
    assert file == tmp_path / "x.backup"
    monkeypatch.setattr(
        "rag.embedders.Embedder.embed_passages", lambda *args: pytest.fail("it embedded")
    )
    with restore(file, "Ünïcode ✓ (2024)_", settings=settings) as again:
        assert again.name == "Ünïcode ✓ (2024)_"
        assert again.status(check=True).problems == ()
        assert answers(again) == before
        again.sync()
        assert content_of(again._index) == content
    assert sorted(path.name for path in settings.home.iterdir()) == ["first", again.folder.name]


def test_a_backup_is_whole_while_papers_are_pending_and_updates_wait(tmp_path, library, settings):
    with library._index.database.transaction():
        library._index.database.connection.execute(
            "UPDATE passages SET vector = NULL, sentences = NULL, stored = 0 WHERE seq <= 5"
        )
        library._index.catalogue.put_update(library.papers()[3])
    with restore(library.backup(tmp_path / "x.backup"), "again", settings=settings) as again:
        again.sync()
        assert again.status(check=True).problems == ()
        assert again.status().embedded == library.status().passages


def test_a_backup_replaces_an_older_one_only_when_it_is_made(tmp_path, library, monkeypatch):
    file = tmp_path / "x.backup"
    file.write_bytes(b"older")

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "write", full)
        with pytest.raises(SettingsError, match=r"cannot be written to .*: No space left"):
            library.backup(file)
    assert file.read_bytes() == b"older"
    library.backup(file)
    assert zipfile.is_zipfile(file)
    assert sorted(p.name for p in tmp_path.iterdir() if "backup" in p.name) == ["x.backup"]


@pytest.mark.parametrize("name", ["missing/x.backup", "folder"])
def test_a_backup_that_cannot_be_written_is_told(tmp_path, library, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="cannot be written"):
        library.backup(tmp_path / name)


def test_a_restore_never_overwrites(tmp_path, library, settings):
    file = library.backup(tmp_path / "x.backup")
    before = content_of(library._index)
    with pytest.raises(SettingsError, match="'first' exists already"):
        restore(file, "first", settings=settings)
    assert content_of(library._index) == before


def test_a_library_that_comes_up_meanwhile_is_kept(tmp_path, library, settings, monkeypatch):
    file = library.backup(tmp_path / "x.backup")
    real = backup._adopt

    def slow(draft, name):
        real(draft, name)
        open_library("second", settings=settings, create=True).close()

    monkeypatch.setattr(backup, "_adopt", slow)
    with pytest.raises(SettingsError, match="'second' exists already"):
        restore(file, "second", settings=settings)
    with open_library("second", settings=settings) as second:
        assert second.papers() == []


@pytest.fixture
def parts(tmp_path, library):
    """Return a folder with a backup's two members, to be changed and packed again."""
    with zipfile.ZipFile(library.backup(tmp_path / "x.backup")) as archive:
        archive.extractall(tmp_path / "parts")
    return tmp_path / "parts"


def pack(folder, file, extra=()):
    with zipfile.ZipFile(file, "w") as archive:
        for path in folder.iterdir():
            archive.write(path, path.name)
        for name, content in extra:
            archive.writestr(name, content)
    return file


def run(folder, sql):
    connection = sqlite3.connect(folder / "catalogue.sqlite")
    connection.executescript(sql)
    connection.close()


def test_b35_members_that_lead_out_of_the_folder_are_not_unpacked(parts, tmp_path, settings):
    extra = [
        ("../../escaped", "x"),
        ("/tmp/escaped-citewell", "x"),
        ("chroma/chroma.sqlite3", "x"),
        ("lexical/meta.json", "x"),
        ("catalogue.sqlite-wal", "x"),
    ]
    with restore(pack(parts, tmp_path / "y.backup", extra), "y", settings=settings) as again:
        assert len(again.papers()) == 60
        assert again.status(check=True).problems == ()
    assert not [path for path in tmp_path.rglob("escaped*")]
    assert not os.path.exists("/tmp/escaped-citewell")


HOSTILE = {
    "a trigger": "CREATE TRIGGER t AFTER UPDATE ON papers BEGIN DELETE FROM papers; END;",
    "a view": "CREATE VIEW v AS SELECT * FROM papers;",
    "a table": "CREATE TABLE more (x);",
    "an index": "CREATE INDEX i ON papers(title);",
    "a virtual table": "CREATE VIRTUAL TABLE f USING fts5(x);",
    "another column": "ALTER TABLE papers ADD COLUMN more;",
    "a column that computes": "ALTER TABLE papers ADD COLUMN m AS (upper(title));",
    "a table less": "DROP TABLE updates;",
}


@pytest.mark.parametrize("sql", HOSTILE.values(), ids=HOSTILE)
def test_b35_a_catalogue_with_foreign_parts_is_refused(parts, tmp_path, settings, sql):
    run(parts, sql)
    with pytest.raises(IndexMismatchError, match="holds foreign parts"):
        restore(pack(parts, tmp_path / "y.backup"), "y", settings=settings)
    assert [path.name for path in settings.home.iterdir()] == ["first"]


DAMAGED = {
    "a record that is no JSON": "UPDATE papers SET record = '{' WHERE seq = 3;",
    "a record with another field": """UPDATE papers SET record = '{"evil": 1}' WHERE seq = 3;""",
    "a title that is a number": "UPDATE papers SET record = json_set(record, '$.title', 5);",
    "a short vector": "UPDATE passages SET vector = x'00000000' WHERE seq = 2;",
    "a vector of zeros": "UPDATE passages SET vector = zeroblob(1024) WHERE seq = 2;",
    "a vector with NaN": "UPDATE passages SET vector = zeroblob(1020) || x'0000c07f';",
    "a vector that is text": "UPDATE passages SET vector = 'text' WHERE seq = 2;",
    "offsets that are text": "UPDATE passages SET start = 'x' WHERE seq = 2;",
    "a passage without a paper": "UPDATE passages SET paper_id = 'x' WHERE seq = 2;",
    "odd sentences": "UPDATE passages SET sentences = x'0000' WHERE seq = 2;",
}


@pytest.mark.parametrize("sql", DAMAGED.values(), ids=DAMAGED)
def test_a_backup_with_a_damaged_row_is_refused_as_a_whole(parts, tmp_path, settings, sql):
    run(parts, sql)
    with pytest.raises(IndexMismatchError, match="damaged"):
        restore(pack(parts, tmp_path / "y.backup"), "y", settings=settings)
    assert [path.name for path in settings.home.iterdir()] == ["first"]


def torn(parts):
    path = parts / "catalogue.sqlite"
    path.write_bytes(path.read_bytes()[:5000])


def newer(parts):
    manifest = json.loads((parts / "manifest.json").read_text())
    (parts / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))


BROKEN = {
    "no catalogue": (lambda p: (p / "catalogue.sqlite").unlink(), "is not a backup"),
    "no manifest": (lambda p: (p / "manifest.json").unlink(), "is not a backup"),
    "an empty manifest": (lambda p: (p / "manifest.json").write_text(""), "manifest"),
    "a long manifest": (lambda p: (p / "manifest.json").write_text(" " * 200_000), "no room"),
    "a catalogue that is text": (
        lambda p: (p / "catalogue.sqlite").write_text("text " * 5000),
        "damaged",
    ),
    "an empty catalogue": (lambda p: (p / "catalogue.sqlite").write_text(""), "foreign parts"),
    "half a catalogue": (torn, "damaged"),
    "a newer manifest": (newer, "Install a newer Citewell"),
    "a newer catalogue": (lambda p: run(p, "PRAGMA user_version = 99;"), "Install a newer"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_backup_is_told_and_leaves_nothing(parts, tmp_path, settings, change, message):
    change(parts)
    with pytest.raises(RagError, match=message):
        restore(pack(parts, tmp_path / "y.backup"), "y", settings=settings)
    assert [path.name for path in settings.home.iterdir()] == ["first"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(None, "cannot be read: No such file", id="missing"),
        pytest.param(b"", "is not a backup", id="empty"),
        pytest.param(b"\x00\xff" * 500, "is not a backup", id="binary"),
        pytest.param(b"PK\x03\x04 and then nothing", "is not a backup", id="half a zip"),
    ],
)
def test_a_file_that_is_no_backup_is_told(tmp_path, settings, content, message):
    file = tmp_path / "y.backup"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        restore(file, "y", settings=settings)
    with pytest.raises(SettingsError, match="cannot be read"):
        restore(tmp_path, "y", settings=settings)
    assert list(settings.home.iterdir()) == []


def test_a_changed_byte_in_the_archive_is_told(tmp_path, library, settings):
    file = library.backup(tmp_path / "x.backup")
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(8)
    file.write_bytes(content)
    with pytest.raises(RagError, match="is not a backup"):
        restore(file, "y", settings=settings)


def test_a_backup_that_claims_more_than_the_disk_holds_is_refused(
    tmp_path, library, settings, monkeypatch
):
    file = library.backup(tmp_path / "x.backup")
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=backup.ROOM + 9))
    with pytest.raises(SettingsError, match=r"no room \(9 bytes free\)"):
        restore(file, "y", settings=settings)


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "\x00"])
def test_b13_a_name_that_cannot_be_used_is_refused(tmp_path, library, settings, name):
    with pytest.raises(SettingsError, match="library name"):
        restore(library.backup(tmp_path / "x.backup"), name, settings=settings)


def test_conversations_are_part_of_a_backup(tmp_path, library, settings):
    kept = library.conversations.create("Cats")
    library.conversations.append(kept.id, Answer("What of cats?", "Nothing.", abstained=True))
    file = library.backup(tmp_path / "b.citewell")
    with restore(file, "second", settings=settings) as again:
        (turn,) = again.conversations.load(kept.id).turns
    assert turn.answer.question == "What of cats?"


def test_foreign_tables_beside_the_conversations_are_refused(tmp_path, library, settings):
    library.conversations.create("Cats")
    file = library.backup(tmp_path / "b.citewell")
    hostile = tmp_path / "hostile.citewell"
    with zipfile.ZipFile(file) as source, zipfile.ZipFile(hostile, "w") as target:
        for member in source.namelist():
            content = tmp_path / member
            content.write_bytes(source.read(member))
            if member == "conversations.sqlite":
                with sqlite3.connect(content) as db:
                    db.execute("CREATE VIEW turns_of AS SELECT * FROM turns")
                db.close()
            target.write(content, member)
    with pytest.raises(IndexMismatchError, match="foreign parts"):
        restore(hostile, "third", settings=settings)
