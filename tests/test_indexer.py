"""Vectors in the background: it gives way, survives what fails, and ends when told to."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

import pytest

from rag import manifest as manifests
from rag.embedding import rows_of
from rag.errors import RagError
from rag.importing import add_records
from rag.indexer import Indexer
from rag.library import open_library
from rag.syncing import Work
from tests.storage import (
    WatchedEmbedding,
    content_of,
    new_index,
    paper,
    papers,
    settings_for,
    write_jsonl,
)

ROOT = Path(__file__).parent.parent
SOON_S = 60


@pytest.fixture
def model():
    return WatchedEmbedding()


@pytest.fixture
def index(tmp_path, model):
    index = new_index(tmp_path / "library", model)
    add_records(index, "papers.jsonl", papers(24))
    yield index
    index.close()


@pytest.fixture
def indexer(index, monkeypatch):
    monkeypatch.setattr("rag.indexer.IDLE_S", 0.05)
    monkeypatch.setattr("rag.indexer.LOOK_S", 0.02)
    indexer = Indexer(index)
    yield indexer
    indexer.stop()


def wait_for(condition):
    until = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.02)


def after(looks):
    """Return what says stop when it was asked so many times."""
    answers = chain(repeat(False, looks), repeat(True))
    return lambda: next(answers)


def embedded(index):
    return index.catalogue.counts()["embedded"]


def test_it_embeds_what_waits_and_stays_for_more(index, indexer):
    indexer.start()
    indexer.start()  # a second start changes nothing
    wait_for(lambda: embedded(index) == 24)
    add_records(index, "more.jsonl", papers(30))
    wait_for(lambda: embedded(index) == 30)
    seen = indexer.progress()
    assert (seen.running, seen.waiting, seen.error) == (True, 0, None)
    indexer.stop()
    assert not indexer.progress().running
    assert index.check() == []


def test_it_takes_what_questions_wanted_first_then_the_newest(index, indexer, model):
    wanted = [name for name, _ in index.terms.search("mark3 mark9", 2)]
    index.fine.complete(wanted, 0.0)  # a question without a budget
    indexer.run(stop=after(3))
    asked = {index.catalogue.get(name).title for name in wanted}
    assert {text.partition("\n")[0] for text in model.seen[:2]} == asked
    assert len(model.seen) > 2


def test_the_newest_come_before_the_old(index, model, indexer, monkeypatch):
    monkeypatch.setattr("rag.indexer.LOOK_AHEAD", 4)
    indexer.run(stop=after(2))
    titles = {text.partition("\n")[0] for text in model.seen}
    assert titles == {paper(number).title for number in range(20, 24)}


def test_the_foreground_ends_where_adding_and_waiting_ends(tmp_path, index, indexer):
    stages = []
    done = indexer.run(lambda *what: stages.append(what))
    assert (done.done, done.waiting, done.error) == (24, 0, None)
    assert stages[-1][0] == "storing"
    whole = new_index(tmp_path / "whole")
    add_records(whole, "papers.jsonl", papers(24), wait=True)
    assert content_of(index) == content_of(whole)
    whole.close()


def test_it_pauses_while_somebody_asks(index, indexer):
    with index.asking.marked():
        indexer.start()
        wait_for(lambda: indexer.progress().paused)
        time.sleep(0.2)
        assert embedded(index) == 0
    wait_for(lambda: embedded(index) == 24)


def test_it_pauses_for_a_question_of_another_process(index, indexer, monkeypatch):
    monkeypatch.setattr("rag.indexer.QUIET_S", 30.0)
    mark = index.folder / "asking"
    mark.touch()  # all that another process does
    indexer.start()
    wait_for(lambda: indexer.progress().paused)
    assert embedded(index) == 0
    os.utime(mark, (0, 0))
    wait_for(lambda: embedded(index) == 24)


def test_b31_it_gives_way_to_whoever_adds(index, indexer, model):
    held, done = threading.Event(), threading.Event()

    def hold():
        with index.writing():
            held.set()
            done.wait(SOON_S)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(SOON_S)
    indexer.start()
    wait_for(lambda: indexer.progress().paused)
    assert model.seen == []
    done.set()
    thread.join(SOON_S)
    wait_for(lambda: embedded(index) == 24)


def test_adding_works_while_it_embeds(index, indexer):
    indexer.start()
    for count in range(30, 90, 6):
        assert add_records(index, "more.jsonl", papers(count)).failed == 0
    wait_for(lambda: embedded(index) == 84)
    indexer.stop()
    assert index.catalogue.waiting() == 0
    assert index.check() == []


def test_an_embedder_that_refuses_everything_stops_it_with_a_reason(tmp_path):
    index = new_index(tmp_path / "library", WatchedEmbedding(refuses=lambda text: True))
    add_records(index, "papers.jsonl", papers(40))
    indexer = Indexer(index)
    indexer.start()
    wait_for(lambda: indexer.progress().error is not None)
    assert "out of order" in indexer.progress().error
    wait_for(lambda: not indexer.progress().running)
    assert index.terms.search("mark7", 1)
    index.close()


def test_one_refused_paper_stops_nothing(tmp_path):
    index = new_index(tmp_path / "library", WatchedEmbedding(refuses=lambda text: "mark7." in text))
    add_records(index, "papers.jsonl", papers(20))
    done = Indexer(index).run()
    assert (done.done, done.waiting) == (19, 1)
    assert "out of order" in done.error
    index.close()


def test_what_was_refused_is_tried_again_at_the_next_start(index, indexer, model):
    model.refuses = lambda text: True
    indexer.start()
    wait_for(lambda: not indexer.progress().running)
    assert embedded(index) == 0
    model.refuses = None
    indexer.start()
    wait_for(lambda: embedded(index) == 24)


def test_many_refused_passages_hide_no_older_paper(tmp_path, monkeypatch):
    monkeypatch.setattr("rag.indexer.LOOK_AHEAD", 4)
    model = WatchedEmbedding(refuses=lambda text: "zirconium" in text)
    index = new_index(tmp_path / "library", model)
    bad = "Zirconium is heavy. " * 300  # cut into many passages
    records = [*papers(12), paper(12, abstract=bad + "zirconium"), paper(13, abstract=bad)]
    model.refuses = None
    add_records(index, "papers.jsonl", records)
    with index.database.transaction():  # as after a change of the embedder
        for one in index.passages.uncut(100):
            index.passages.put(one.id, rows_of(one, index.embedder))
    model.refuses = lambda text: "irconium" in text
    indexer = Indexer(index)
    monkeypatch.setattr(index, "sync", lambda progress: Work())
    assert indexer.run().waiting == 2
    index.close()


def test_it_cuts_what_a_killed_rebuild_left_and_goes_on(index, indexer, monkeypatch):
    monkeypatch.setattr("rag.indexer.WRITE_BATCH", 4)
    index.embedder  # noqa: B018  # loaded before
    uncut = replace(index.manifest, embedder=index.embedder.fingerprint, chunking=0)
    prepare = indexer._prepare

    def killed():
        manifests.write(index.folder, uncut)
        indexer._prepare = prepare

    indexer._prepare = killed
    indexer.start()
    wait_for(lambda: embedded(index) == 24)
    assert manifests.read(index.folder).chunking == manifests.CHUNKING


def test_it_makes_no_vector_for_a_library_that_got_another_embedder(index, indexer):
    index.embedder  # noqa: B018  # loaded while the library was not pinned yet
    other = {**index.embedder.fingerprint, "name": "another"}
    manifests.write(index.folder, replace(index.manifest, embedder=other))
    assert "another" in indexer.run().error
    assert embedded(index) == 0
    assert manifests.read(index.folder).embedder == other


def test_a_full_disk_stops_it_with_a_reason(index, indexer, monkeypatch):
    def full(index, made):
        raise RagError("The library could not be written: the disk is full.")

    monkeypatch.setattr("rag.indexer.write_if_free", full)
    indexer.start()
    wait_for(lambda: indexer.progress().error is not None)
    assert "disk is full" in indexer.progress().error


def test_a_changed_paper_is_swapped_in_by_it(index, indexer, model):
    indexer.run()
    old = index.catalogue.get(index.terms.search("mark3", 1)[0][0])
    model.refuses = lambda text: True
    changed = replace(paper(3), abstract="Entirely new words about zirconium. mark3.")
    add_records(index, "papers.jsonl", [replace(changed, doi=old.doi)], wait=True)
    model.refuses = None
    assert indexer.run().error is None
    assert index.catalogue.waiting() == 0
    assert index.terms.search("zirconium", 1)


def test_time_left_is_told_once_something_is_embedded(index, indexer):
    assert indexer.progress().seconds_left is None
    indexer.run(stop=after(3))
    left = indexer.progress()
    assert left.waiting > 0
    assert left.seconds_left > 0


# ---- as a library offers it ----------------------------------------------------------------------


@pytest.fixture
def library(tmp_path):
    settings = settings_for(tmp_path)
    with open_library("x", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(12)))
        yield library


def test_a_closed_library_has_ended_its_indexer(library):
    library.start_indexer()
    wait_for(lambda: library.status().embedded == 12)
    library.close()
    assert not [one for one in threading.enumerate() if one.name == "indexer"]


def test_the_fast_profile_embeds_nothing_in_the_background(tmp_path):
    settings = settings_for(tmp_path, profile="fast")
    with open_library("fast", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(3)))
        library.start_indexer()
        assert not library.indexing().running


def test_a_kill_while_it_works_loses_nothing(tmp_path, library):
    script = (
        "import os, sys\n"
        "from rag.library import open_library\n"
        "from rag.settings import Settings\n"
        "library = open_library('x', settings=Settings(home=sys.argv[1], embedder='word-hash'))\n"
        "library.embed(stop=lambda: library.indexing() and os.kill(os.getpid(), 9))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "libraries")]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -9
    assert library.embed().error is None
    assert library.status(check=True).problems == ()
    assert library.status().embedded == 12
