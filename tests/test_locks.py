"""One writer at a time, one holder of Chroma, and locks that go when their owner dies."""

import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag.errors import LibraryBusyError, RagError
from rag.library import delete_library, open_library
from rag.locks import HolderLock, WriterLock
from tests.storage import papers, settings_for, write_jsonl

ROOT = Path(__file__).parent.parent


@contextmanager
def another_process(settings, *what):
    """Run a process that holds the library 'x' until the block ends."""
    process = subprocess.Popen(
        [sys.executable, ROOT / "tests/data/storage/holder.py", settings.home, "x", *what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HOME": "/nonexistent"},
    )
    try:
        assert process.stdout.readline() == "holding\n"
        yield process
    finally:
        process.communicate(timeout=60)


@pytest.fixture
def settings(tmp_path):
    settings = settings_for(tmp_path)
    with open_library("x", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "first.jsonl", papers(20)), wait=True)
    return settings


def test_b31_a_second_writer_is_refused_within_a_second_and_told_who_writes(tmp_path, settings):
    more = write_jsonl(tmp_path / "more.jsonl", papers(30))
    with another_process(settings, "write") as process:
        with open_library("x", settings=settings) as library:
            library.search("paper")  # all that is loaded later is loaded
            for write in (
                lambda: library.add(more, wait=True),
                lambda: library.remove([library.papers()[0].id]),
                library.rebuild,
                library.sync,
            ):
                began = time.monotonic()
                with pytest.raises(LibraryBusyError, match=f"by process {process.pid}"):
                    write()
                assert time.monotonic() - began < 1
            assert len(library.search("paper number")) == 10  # asking goes on
        with pytest.raises(LibraryBusyError, match=f"by process {process.pid}"):
            delete_library("x", settings=settings)
        process.kill()
        process.wait(10)
        with open_library("x", settings=settings) as library:
            assert library.add(more, wait=True).added == 10  # free as soon as its owner is dead


def test_b31_a_second_process_never_opens_chroma_and_finds_the_same(
    settings, tmp_path, monkeypatch
):
    with open_library("x", settings=settings) as library:
        alone = library.search("paper number", top_k=20)
        exact = library._index.vectors._exact(library._index.embed_query("paper number"), 20)
    with another_process(settings, "chroma") as process:
        monkeypatch.setattr(
            "rag.stores.chroma.VectorStore.__init__",
            lambda self, folder: pytest.fail("Chroma was opened twice"),
        )
        with open_library("x", settings=settings) as library:
            again = library.search("paper number", top_k=20)
            assert [r.paper.id for r in again] == [r.paper.id for r in alone]
            assert [r.cosine for r in again] == pytest.approx([r.cosine for r in alone], abs=1e-3)
            query = library._index.embed_query("paper number")
            assert library._index.nearest(query, 20) == exact
            (problem,) = library.status(check=True).problems
            assert problem.startswith(f"Chroma is held by process {process.pid}")
            report = library.add(write_jsonl(tmp_path / "more.jsonl", papers(30)), wait=True)
            assert (report.added, report.embedded, report.vectors_written) == (10, 10, 0)
            assert len(library._index.nearest(query, 100)) == 30
            with pytest.raises(LibraryBusyError, match=f"in use by process {process.pid}"):
                library.rebuild()
        with pytest.raises(LibraryBusyError, match=f"in use by process {process.pid}"):
            delete_library("x", settings=settings)
        monkeypatch.undo()
    with open_library("x", settings=settings) as library:
        assert library.status(check=True).problems == ()  # the next to hold Chroma brought it up


def test_asking_works_while_another_process_adds(tmp_path, settings):
    more = write_jsonl(tmp_path / "more.jsonl", papers(1500))
    with open_library("x", settings=settings) as library:
        library.search("paper number")
        seen = set()
        with another_process(settings, "add", more) as process:
            while process.poll() is None:
                assert len(library.search("paper number", top_k=10)) == 10
                seen.add(len(library.papers()))
            assert process.stdout.readline() == "added 1480\n"
        assert seen <= {20, 1000, 1500}  # whole transactions of a thousand
        assert len(library.papers()) == 1500
        assert library._index.terms.search("mark1499", 1)
        assert len(library._index.nearest(library._index.embed_query("paper"), 2000)) == 1500
        library.sync()
        assert library.status(check=True).problems == ()


def test_two_processes_that_make_the_same_library_both_find_it(tmp_path):
    settings = settings_for(tmp_path)
    command = [sys.executable, ROOT / "tests/data/storage/holder.py", settings.home, "x", "chroma"]
    started = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "HOME": "/nonexistent"},
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert all("Traceback" not in errors for _, errors in said)
    assert [path.name for path in settings.home.iterdir()] == ["x"]


def test_many_threads_that_make_the_same_library_make_one(tmp_path):
    settings, failures = settings_for(tmp_path), []

    def make():
        try:
            open_library("y", settings=settings, create=True).close()
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert [path.name for path in settings.home.iterdir()] == ["y"]


def test_two_libraries_on_one_folder_in_one_process_keep_out_of_each_others_chroma(settings):
    with open_library("x", settings=settings) as one, open_library("x", settings=settings) as two:
        first = one.search("paper number")
        second = two.search("paper number")
        assert one._index.vectors.holder() is None
        assert "process" in two._index.vectors.holder()
        assert [r.paper.id for r in first] == [r.paper.id for r in second]
        one.close()
        assert [r.paper.id for r in two.search("paper number")] == [r.paper.id for r in first]
        assert two._index.vectors.holder() is None


def test_a_lock_names_its_holder_and_is_free_again(tmp_path):
    one, two = HolderLock(tmp_path / "x.lock"), HolderLock(tmp_path / "x.lock")
    assert two.holder() == "another process"
    assert one.take()
    assert one.held
    assert not two.take()
    assert two.holder().startswith("process ")
    two.free()  # not its own: nothing happens
    assert one.held
    one.free()
    assert two.take()
    two.free()


def test_the_writer_lock_may_be_taken_again_inside_itself(tmp_path):
    lock = WriterLock(tmp_path / "x.lock", "x")
    with lock.writing():
        with lock.writing():
            pass
        with pytest.raises(LibraryBusyError, match="'x' is being written to"):
            WriterLock(tmp_path / "x.lock", "x").writing().__enter__()
    with WriterLock(tmp_path / "x.lock", "x").writing():
        pass


def test_a_lock_is_given_back_after_an_error(tmp_path):
    lock = WriterLock(tmp_path / "x.lock", "x")
    with pytest.raises(ZeroDivisionError, match="division"), lock.writing():
        assert 1 / 0
    with WriterLock(tmp_path / "x.lock", "x").writing():
        pass


def test_a_lock_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RagError, match="cannot be taken"):
        HolderLock(tmp_path / "file" / "x.lock").take()


def test_a_lock_makes_no_folder(tmp_path):
    with pytest.raises(RagError, match="cannot be taken"):
        HolderLock(tmp_path / "gone" / "x.lock").take()
    assert not (tmp_path / "gone").exists()
