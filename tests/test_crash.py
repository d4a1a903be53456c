"""A kill at any moment loses no stored paper, and the next open finishes the work."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rag.library import open_library
from tests.storage import content_of, papers, settings_for, write_jsonl

ROOT = Path(__file__).parent.parent
KILLED = -9
BEFORE = 60  # papers in the library before the add that is killed
AFTER = 340  # and after it; some of the first are changed


@pytest.fixture(scope="module")
def zygote():
    """Run a process that forks adders, so that its imports are paid once."""
    process = subprocess.Popen(
        [sys.executable, ROOT / "tests" / "data" / "storage" / "zygote.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HOME": "/nonexistent"},
    )

    def run(**order):
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    yield run
    process.communicate(timeout=30)


def versions():
    """Return the records before and after: some changed in words, some in metadata only."""
    old = papers(BEFORE, sentences=8)
    changed = [
        replace(one, abstract=f"{one.abstract} Now with a last sentence.")
        if number % 2
        else replace(one, venue="Elsewhere")
        for number, one in enumerate(old)
        if number % 3 == 0
    ]
    return old, [*changed, *papers(AFTER, sentences=8)[BEFORE:]]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, zygote):
    """Return the folder with the two files, a library with the first, and what the second makes."""
    folder = tmp_path_factory.mktemp("whole")
    old, new = versions()
    write_jsonl(folder / "old.jsonl", old)
    write_jsonl(folder / "new.jsonl", new)
    settings = settings_for(folder)
    home = {"home": str(settings.home), "library": "x"}
    assert zygote(**home, file=str(folder / "old.jsonl")) == 0
    shutil.copytree(settings.home, folder / "before")
    assert zygote(**home, file=str(folder / "new.jsonl")) == 0
    with open_library("x", settings=settings) as library:
        assert library.status(check=True).problems == ()
        return folder, content_of(library._index)


RANDOM_MOMENTS_MS = (150, 400, 700)  # of about a second that the add takes
MOMENTS = [
    ("rag.importing:_store_one", 5, "before"),
    ("rag.importing:_store", 1, "after"),
    ("rag.stores.lexical:TermStore.write", 1, "inside 5"),
    ("rag.stores.lexical:TermStore.write", 1, "after"),
    ("rag.syncing:Syncer._swap", 2, "after"),
    ("rag.passages:PassageTable.put_vectors", 9, "before"),
    ("rag.syncing:Syncer._store", 2, "after"),
    ("rag.stores.chroma:VectorStore.delete", 1, "after"),
    ("rag.stores.chroma:VectorStore.upsert", 1, "inside 20"),
    ("rag.stores.chroma:VectorStore.upsert", 1, "after"),
    ("rag.passages:PassageTable.mark_stored", 1, "after"),
]


@pytest.mark.parametrize(("where", "call", "when"), MOMENTS)
def test_a_kill_at_any_moment_is_finished_by_the_next_open(
    tmp_path, zygote, uninterrupted, where, call, when
):
    source, wanted = uninterrupted
    settings = settings_for(tmp_path)
    shutil.copytree(source / "before", settings.home)
    order = {"home": str(settings.home), "library": "x", "file": str(source / "new.jsonl")}
    assert zygote(**order, where=where, call=call, when=when) == KILLED
    with open_library("x", settings=settings) as library:
        library.sync()
        assert library.status(check=True).problems == ()
        assert not library.has_work
        stored = {p.id for p in library.papers()}
        assert len(stored) in (BEFORE, AFTER)  # one transaction holds the whole file
        assert {name for name, _ in library._index.terms.search("paper", 1000)} == stored
        report = library.add(source / "new.jsonl", wait=True)
        assert report.added == AFTER - len(stored)
        assert library.status(check=True).problems == ()
        assert content_of(library._index) == wanted
        assert {p.id for p in library.papers()} >= stored


@pytest.mark.parametrize("moment_ms", RANDOM_MOMENTS_MS)
def test_a_kill_at_some_time_is_finished_by_the_next_open(
    tmp_path, zygote, uninterrupted, moment_ms
):
    source, wanted = uninterrupted
    settings = settings_for(tmp_path)
    shutil.copytree(source / "before", settings.home)
    order = {"home": str(settings.home), "library": "x", "file": str(source / "new.jsonl")}
    when = f"inside {moment_ms}"
    assert zygote(**order, where="rag.library:Library.add", call=1, when=when) in (0, KILLED)
    with open_library("x", settings=settings) as library:
        assert len(library.papers()) in (BEFORE, AFTER)
        library.add(source / "new.jsonl", wait=True)
        assert library.status(check=True).problems == ()
        assert content_of(library._index) == wanted


@pytest.mark.parametrize(
    ("where", "call", "when"),
    [
        ("rag.importing:_store_one", 5, "before"),
        ("rag.importing:_store", 1, "after"),
        ("rag.stores.lexical:TermWriter.commit", 1, "before"),
        ("rag.stores.lexical:TermWriter.commit", 1, "after"),
        ("rag.terms:TermIndex._mark", 1, "after"),
        ("rag.ledger:Ledger.note", 1, "before"),
        ("rag.ledger:Ledger.note", 1, "after"),
    ],
)
def test_a_kill_while_papers_are_made_searchable_is_finished_by_the_next_open(
    tmp_path, zygote, uninterrupted, where, call, when
):
    source, wanted = uninterrupted
    settings = settings_for(tmp_path)
    shutil.copytree(source / "before", settings.home)
    order = {"home": str(settings.home), "library": "x", "file": str(source / "new.jsonl")}
    assert zygote(**order, where=where, call=call, when=when, wait=False) == KILLED
    with open_library("x", settings=settings) as library:
        stored = {p.id for p in library.papers()}
        assert len(stored) in (BEFORE, AFTER)
        assert {name for name, _ in library._index.terms.search("paper", 1000)} == stored
        library.add(source / "new.jsonl")
        assert library.embed().error is None
        assert library.status(check=True).problems == ()
        assert content_of(library._index) == wanted


def test_a_kill_while_a_library_is_made_leaves_none_or_a_whole_one(tmp_path, zygote):
    settings = settings_for(tmp_path)
    file = write_jsonl(tmp_path / "p.jsonl", papers(3))
    order = {"home": str(settings.home), "library": "x", "file": str(file)}
    for where in ("rag.manifest:write", "rag.folders:put_in_place"):
        assert zygote(**order, where=where, call=1, when="before") == KILLED
        assert not (settings.home / "x").exists()
    assert zygote(**order, where="rag.manifest:write", call=2, when="before") == KILLED
    with open_library("x", settings=settings) as library:
        library.sync()
        assert library.status(check=True).problems == ()
        assert len(library.papers()) == 3
        assert library.status().embedded == 3


def test_a_second_kill_while_the_first_is_being_finished_loses_nothing(
    tmp_path, zygote, uninterrupted
):
    source, wanted = uninterrupted
    settings = settings_for(tmp_path)
    shutil.copytree(source / "before", settings.home)
    order = {"home": str(settings.home), "library": "x", "file": str(source / "new.jsonl")}
    for where in (
        "rag.importing:_store",
        "rag.stores.lexical:TermStore.write",
        "rag.syncing:Syncer._swap",
        "rag.stores.chroma:VectorStore.upsert",
    ):
        assert zygote(**order, where=where, call=1, when="after") == KILLED
    with open_library("x", settings=settings) as library:
        library.add(source / "new.jsonl", wait=True)
        assert library.status(check=True).problems == ()
        assert content_of(library._index) == wanted


def test_a_killed_writer_leaves_no_lock_behind(tmp_path, zygote):
    settings = settings_for(tmp_path)
    file = write_jsonl(tmp_path / "p.jsonl", papers(3))
    order = {"home": str(settings.home), "library": "x", "file": str(file)}
    where = "rag.stores.lexical:_document"  # Tantivy's writer, ours and Chroma's are all held
    assert zygote(**order, where=where, call=2, when="before") == KILLED
    with open_library("x", settings=settings) as library:
        library.sync()
        before = content_of(library._index)
        assert library.add(file, wait=True).unchanged == 3
        assert content_of(library._index) == before
