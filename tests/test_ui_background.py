"""One indexer a library for all visitors: when it starts, when it ends, what the page says."""

import json
import threading
import time
from dataclasses import replace

import pytest

import ui.background
from rag.library import open_library
from rag.serving_shelf import Opening
from rag.settings import load_settings
from rag.testing import WordHashEmbedding
from tests.ui_site import wait_for
from ui.background import Background
from ui.beside import PageLibraries
from ui.library_tab import LibraryTab
from ui.session import Session
from ui.shelf import Shelf
from ui.side import Side

PAPERS = 40
ALL_MADE = "All papers have their vectors"


@pytest.fixture
def pace(monkeypatch):
    """How long the embedder takes for a text; those that hold ``broken`` make it fail."""
    at_once = WordHashEmbedding._get_text_embedding

    class Pace:
        seconds = 0.0
        broken = None

    def made(self, text):
        time.sleep(Pace.seconds)
        if Pace.broken is not None and Pace.broken in text:
            raise RuntimeError("the embedder is off")
        return at_once(self, text)

    monkeypatch.setattr(WordHashEmbedding, "_get_text_embedding", made)
    monkeypatch.setattr("rag.indexer.QUIET_S", 0.1)
    monkeypatch.setattr("rag.indexer.IDLE_S", 0.05)
    monkeypatch.setattr(ui.background, "FRESH_S", 0.0)
    return Pace


@pytest.fixture
def settings(tmp_path):
    return load_settings(embedder="word-hash", home=tmp_path / "h", embed_budget=0)


@pytest.fixture
def shelf(settings, pace, tmp_path):
    """Two libraries, of whose papers none has a vector."""
    file = tmp_path / "fish.jsonl"
    file.write_text("".join(
        json.dumps({"title": f"Fish {n}", "abstract": f"Fish {n} lives in a pond."}) + "\n"
        for n in range(PAPERS)
    ))  # fmt: skip
    for name in ("fish", "more"):
        with open_library(name, settings=settings, create=True) as library:
            library.add(file)
    shelf = Shelf(settings, "fish")
    yield shelf
    shelf.close()


@pytest.fixture
def tab(shelf, tmp_path):
    return LibraryTab(shelf, tmp_path)


def indexers():
    return [thread for thread in threading.enumerate() if thread.name == "indexer"]


def rests():
    return not [thread for thread in threading.enumerate() if thread.name == "citewell-rest"]


def test_a_library_that_is_opened_makes_what_waits_and_the_line_goes_away(shelf, tab, pace):
    pace.seconds = 0.02
    shelf.library("fish")
    session = Session()
    timer, line, button, brief, spoken = tab.tell(session)
    assert timer.active
    assert f"of {PAPERS} papers have their vectors" in line
    assert "vectors " in brief
    assert "in the background" in spoken
    assert button["visible"] is False
    wait_for(lambda: shelf.library("fish").waiting == 0, 30)
    timer, line, _, brief, spoken = tab.tell(session)
    assert (timer.active, line, brief) == (False, "", "")
    assert ALL_MADE in spoken
    assert tab.tell(session)[4] == ""  # news only once


def test_however_many_visitors_look_there_is_one_indexer(shelf, tab, pace):
    pace.seconds = 0.05
    shelf.library("fish")
    visitors = [threading.Thread(target=tab.tell, args=(Session(),)) for _ in range(8)]
    for one in visitors:
        one.start()
    for one in visitors:
        one.join(10)
    assert len(indexers()) == 1


def test_what_was_looked_at_just_now_is_not_counted_again(shelf, tab, pace, monkeypatch):
    pace.seconds = 0.02
    monkeypatch.setattr(ui.background, "FRESH_S", 60.0)
    library = shelf.library("fish")
    first = shelf.background.look(library)
    wait_for(lambda: library.waiting == 0, 30)
    assert shelf.background.look(library) is first


def test_a_library_that_is_whole_starts_nothing(shelf):
    with open_library("fish", settings=shelf.settings) as library:
        library.embed()
    shelf.library("fish")
    assert indexers() == []


def test_closing_leaves_no_thread(shelf, pace):
    pace.seconds = 0.05
    shelf.library("fish")
    assert len(indexers()) == 1
    shelf.close()
    assert indexers() == []


def test_the_profile_fast_makes_nothing_and_says_nothing(settings, shelf, tmp_path):
    fast = Shelf(settings.model_copy(update={"profile": "fast"}), "fish")
    fast.library("fish")
    timer, line, *_ = LibraryTab(fast, tmp_path).tell(Session())
    assert indexers() == []
    assert (timer.active, line) == (False, "")
    fast.close()


def test_turning_to_another_library_stops_the_one_left(shelf, tab, pace):
    pace.seconds = 0.05
    session = Session()
    shelf.library("fish")
    shelf.library("more")
    Side(shelf).switch("more", session)
    wait_for(lambda: not shelf.library("fish").indexing().running and rests(), 20)
    assert shelf.library("more").indexing().running
    assert shelf.library("fish").waiting > 0


def test_whoever_still_looks_at_the_library_that_another_left_starts_it_again(shelf, tab, pace):
    pace.seconds = 0.05
    shelf.library("fish")
    shelf.leave("fish")
    wait_for(lambda: not shelf.library("fish").indexing().running and rests(), 20)
    assert tab.tell(Session())[0].active
    assert shelf.library("fish").indexing().running


def test_why_it_stopped_is_said_and_it_can_be_tried_again(shelf, tab, pace):
    pace.broken = ""
    session = Session()
    shelf.library("fish")
    wait_for(lambda: not shelf.library("fish").indexing().running, 30)
    timer, line, button, brief, _ = tab.tell(session)
    assert not timer.active
    assert f"{PAPERS} papers have no vectors" in line
    assert "the embedder is off" in line
    assert button["visible"] is True
    assert "see Library" in brief
    assert not shelf.library("fish").indexing().running  # a look does not try again


def test_after_a_failure_the_button_makes_the_rest(shelf, tab, pace, monkeypatch):
    monkeypatch.setattr("rag.fine.MOST_REFUSED", 0)
    pace.broken = ""
    shelf.library("fish")
    wait_for(lambda: not shelf.library("fish").indexing().running, 30)
    pace.broken = None
    tab.try_again(Session())
    wait_for(lambda: shelf.library("fish").waiting == 0, 30)
    assert tab.tell(Session())[1] == ""


def test_papers_that_are_refused_do_not_keep_the_timer_going(shelf, tab, pace, monkeypatch):
    monkeypatch.setattr(ui.background, "STALLED_S", 0.3)
    pace.broken = "Fish 11"
    library = shelf.library("fish")
    wait_for(lambda: not tab.tell(Session())[0].active, 30)
    assert "1 paper has no vectors: the embedder does not take them" in tab.tell(Session())[1]
    assert library.indexing().running


def test_a_question_is_answered_while_vectors_are_made(shelf, pace):
    pace.seconds = 0.05
    library = shelf.library("fish")
    answer = library.ask("Where does Fish 7 live?")
    assert "Fish 7" in answer.text
    assert library.waiting > 0


def test_a_library_that_cannot_be_opened_has_nothing_to_tell(shelf, tab):
    session = Session(library="gone")
    wait_for(lambda: shelf.is_ready("gone"), 20)
    timer, line, *_ = tab.tell(session)
    assert (timer.active, line) == (False, "")


def test_trying_again_where_nothing_is_open_is_said(shelf, tab, monkeypatch):
    words = []
    monkeypatch.setattr("gradio.Warning", words.append)
    tab.try_again(Session(library="gone"))
    assert "No library 'gone'" in words[0]


def test_the_command_line_beside_the_page_adds_no_indexer(shelf, pace):
    pace.seconds = 0.05
    shelf.library("fish")
    beside = PageLibraries(shelf)
    other = shelf.settings.model_copy(update={"embed_budget": 0.5})
    opening = Opening("fish", shelf.settings)
    mine = beside.opened(replace(opening, settings=other))
    assert mine is not shelf.library("fish")
    assert not mine.indexing().running
    assert beside.opened(opening) is shelf.library("fish")
    assert len(indexers()) == 1
    mine.close()


def test_background_work_is_not_begun_twice(shelf, pace):
    pace.seconds = 0.05
    background = Background()
    with open_library("fish", settings=shelf.settings) as library:
        assert background.start(library)
        assert background.start(library, again=True)
        assert len(indexers()) == 1
