"""Handlers called as anybody can call them, past the page, with whatever they like to send."""

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

import ui.server
from rag.errors import SettingsError
from rag.library import open_library
from rag.schema import Filters
from rag.settings import load_settings
from tests.test_ui_render import ABSTAINED, EVIL_ANSWER, QUOTED
from tests.ui_site import wait_for
from ui.app import _example
from ui.chat import Chat
from ui.cli import chat as command
from ui.evaluate_tab import EvaluateTab, find_start, result_html
from ui.library_tab import LibraryTab
from ui.session import Exchange, Session
from ui.shelf import Shelf
from ui.side import Side


@pytest.fixture
def told(monkeypatch):
    """Collect what the page would tell its visitor in passing."""
    words = []
    monkeypatch.setattr("gradio.Info", words.append)
    monkeypatch.setattr("gradio.Warning", words.append)
    return words


@pytest.fixture
def shelf(tmp_path, told):
    settings = load_settings(embedder="word-hash", home=tmp_path / "h")
    file = tmp_path / "two.jsonl"
    file.write_text(
        '{"title": "Oaks", "abstract": "Oaks grow in forests.", "year": 2020}\n'
        '{"title": "Carps", "abstract": "Carps live in ponds.", "year": 2021}\n'
    )
    with open_library("small", settings=settings, create=True) as library:
        library.add(file, wait=True)
    shelf = Shelf(settings, "small")
    yield shelf
    shelf.close()


@pytest.fixture
def uploads(tmp_path):
    folder = tmp_path / "uploads"
    folder.mkdir()
    return folder


def updates(stream):
    async def collect():
        return [update async for update in stream]

    return asyncio.run(asyncio.wait_for(collect(), 30))


def sent(value):
    return SimpleNamespace(value=value)


# ---- the chat --------------------------------------------------------------------------------


def test_a_second_question_waits_for_the_end_of_the_first(shelf, told):
    busy = SimpleNamespace(is_over=False, cancel=lambda: None)
    session = Session(job=busy)
    (only,) = updates(Chat(shelf).ask("And this?", session))
    assert only[1] == "And this?"  # what was typed stays
    assert "Stop it first" in told[0]


def test_a_library_that_cannot_be_opened_fails_the_question_with_its_reason(shelf):
    session = Session(library="gone")
    updates(Chat(shelf).ask("What grows?", session))
    assert "No library 'gone'" in session.exchanges[0].error


@pytest.mark.parametrize("verb", ["up", "down"])
def test_an_answer_that_is_not_kept_cannot_be_rated(shelf, told, verb):
    session = Session(exchanges=[Exchange(1, "q", QUOTED)])
    Chat(shelf).follow(f"{verb}-1", session)
    assert session.exchanges[0].thumb == 0
    assert "not kept" in told[0]


def test_a_failed_answer_can_only_be_asked_again(shelf):
    session = Session(exchanges=[Exchange(1, "Why?", error="off")])
    assert Chat(shelf).follow("retry-1", session)[0] == "Why?"
    assert Chat(shelf).follow("sources-1", session)[1] == Chat(shelf).follow(None, session)[1]


def test_a_note_without_a_rating_is_ignored(shelf):
    Chat(shelf).keep_note("x", Session())
    assert shelf.library("small").conversations.cases() == []


def test_an_export_that_cannot_be_made_is_said(shelf, told):
    assert Chat(shelf).export("exe", Session()) is None
    assert "no such format" in told[0]


@pytest.mark.parametrize(("value", "text"), [({"text": "Q?"}, "Q?"), ("x", ""), (None, "")])
def test_an_example_fills_the_box(value, text):
    assert _example(sent(value)) == text


# ---- the library -----------------------------------------------------------------------------


def tab(shelf, uploads):
    return LibraryTab(shelf, uploads)


def test_papers_are_searched_and_filtered(shelf, uploads):
    session = Session()
    shown, _ = tab(shelf, uploads).browse(session, "ponds", "", "", "", "", "", "")
    assert shown.index("Carps") < shown.index("Page 1, best match first")
    shown, _ = tab(shelf, uploads).browse(session, "", "", "", "", "", "2021", "2021")
    assert "Oaks" not in shown


def test_a_bad_year_is_said_and_changes_nothing(shelf, uploads, told):
    session = Session()
    tab(shelf, uploads).browse(session, "", "", "", "", "", "x", "")
    tab(shelf, uploads).restrict(session, "", "", "", "", "", "x", "")
    assert len(told) == 2
    assert "not a year" in told[0]
    assert not session.filters


def test_asking_only_some_takes_picks_before_filters_and_can_be_dropped(shelf, uploads, told):
    session = Session()
    part = tab(shelf, uploads)
    part.page(session)
    assert part.restrict(session, "", "", "", "", "", "", "") == ""
    assert "Pick papers" in told[0]
    part.restrict(session, "", "", "", "", "", "2021", "")
    assert session.filters == Filters(year_from=2021)
    part.follow(sent("pick-1"), session)
    part.restrict(session, "", "", "", "", "", "2021", "")
    assert session.filters == Filters(paper_ids=(session.shown.papers[0].id,))
    part.follow(sent("pick-1"), session)
    assert not session.picked
    part.follow(sent("all-0"), session)
    assert not session.filters
    part.restrict(session, "", "", "", "", "", "2021", "")
    part.reset(session)
    assert not session.filters


@pytest.mark.parametrize("value", [None, 5, "", "paper-0", "paper-99", "pick-99", "evil-1", "page"])
def test_b36_what_is_no_paper_of_the_list_does_nothing(shelf, uploads, value):
    session = Session()
    part = tab(shelf, uploads)
    part.page(session)
    assert len({str(one) for one in part.follow(sent(value), session)}) == 1
    assert not session.picked


def test_pages_never_go_below_the_first(shelf, uploads):
    session = Session()
    tab(shelf, uploads).follow(sent("page-0"), session)
    assert session.page == 0


@pytest.mark.parametrize("files", [None, [], "x", 5])
def test_nothing_dropped_is_said(shelf, uploads, told, files):
    assert updates(tab(shelf, uploads).add(Session(), files)) == []
    assert "Drop files" in told[0]


def test_one_import_at_a_time(shelf, uploads, told):
    running = SimpleNamespace(state=SimpleNamespace(is_over=False), cancel=lambda: told.append("c"))
    session = Session(importing=running)
    assert updates(tab(shelf, uploads).add(session, [])) == []
    tab(shelf, uploads).stop(session)
    tab(shelf, uploads).take_back(session)
    assert "An import is running" in told[0]
    assert told[1] == "c"
    assert "no finished import" in told[2]


def test_a_file_is_added_and_taken_back(shelf, uploads):
    path = uploads / "more.jsonl"
    path.write_text('{"title": "Pikes", "abstract": "Pikes live in lakes."}\n')
    session = Session()
    *_, last = updates(tab(shelf, uploads).add(session, [str(path)]))
    assert "Finished: 1 of 1 files" in last[0]
    assert "Pikes" in last[2]
    assert "1 paper deleted again" in tab(shelf, uploads).take_back(session)[0]


# ---- the side bar ----------------------------------------------------------------------------


def test_a_new_library_is_made_and_turned_to(shelf):
    session = Session(exchanges=[Exchange(1, "q", QUOTED)], filters=Filters(topic="x"))
    Side(shelf).make("fresh", session)
    assert session.library == "fresh"
    assert session.exchanges == []
    assert not session.filters


@pytest.mark.parametrize("name", ["", "  ", None, 5, "a\nb"])
def test_a_library_without_a_usable_name_is_refused(shelf, told, name):
    session = Session()
    Side(shelf).make(name, session)
    assert session.library is None
    assert "cannot be used" in told[0]


def kept(shelf, *answers):
    conversations = shelf.library("small").conversations
    made = conversations.create().id
    for answer in answers:
        conversations.append(made, answer)
    return made


def test_a_kept_conversation_is_listed_opened_named_and_deleted(shelf, told):
    side, session = Side(shelf), Session()
    kept(shelf, QUOTED, ABSTAINED)
    assert "2 questions" in side.list_kept("", session)
    side.open_kept(sent("open-1"), session)
    assert len(session.exchanges) == 2
    assert "Trees!" in side.rename("Trees!", session)[0]
    assert "Nothing is kept yet" in side.remove(session)[2]
    assert told == []


def test_a_conversation_deleted_elsewhere_is_said(shelf, told):
    side, session = Side(shelf), Session()
    made = kept(shelf, EVIL_ANSWER)
    side.list_kept("", session)
    shelf.library("small").conversations.delete(made)
    side.open_kept(sent("open-1"), session)
    session.saved_as = made
    side.rename("x", session)
    side.remove(session)
    assert len(told) == 3
    assert all("no conversation" in words for words in told)


def test_without_an_open_conversation_there_is_nothing_to_name_or_delete(shelf, told):
    Side(shelf).rename("x", Session())
    Side(shelf).remove(Session())
    assert len(told) == 2


def test_an_offered_model_is_chosen(shelf):
    session = Session()
    Side(shelf).choose("quote", session)
    assert session.llm == "quote"


# ---- evaluation ------------------------------------------------------------------------------


def run(phase="finished", result=None):
    state = SimpleNamespace(phase=phase, done=1, total=2, passed=1, failed=0, seconds=3.0,
                            error="It broke.", is_over=phase != "asking")  # fmt: skip
    return SimpleNamespace(progress=lambda: state, result=lambda: result, cancel=lambda: None)


def test_one_evaluation_at_a_time(shelf, uploads, told):
    part = EvaluateTab(shelf, uploads)
    assert updates(part.measure(Session(run=run("asking")), None)) == []
    assert "is running" in told[0]


def test_an_evaluation_that_failed_says_why(shelf, uploads, monkeypatch):
    monkeypatch.setattr("ui.evaluate_tab.find_start", lambda: lambda *a, **b: run("failed"))
    (last,) = updates(EvaluateTab(shelf, uploads).measure(Session(), None))
    assert "It broke." in last[0]


def test_there_is_no_report_before_the_end(shelf, uploads, told):
    part, session = EvaluateTab(shelf, uploads), Session(run=run("asking"))
    part.stop(session)
    assert part.hand_out(session) is None
    assert "no finished evaluation" in told[0]


@pytest.mark.parametrize("value", [None, 5, "case-0", "case-9", "x"])
def test_b36_what_is_no_case_of_the_list_opens_nothing(shelf, uploads, value):
    box, _ = EvaluateTab(shelf, uploads).open_case(sent(value), Session(cases=("q",)))
    assert box != "q"


def test_a_broken_evaluation_package_is_said(monkeypatch):
    def load():
        raise ImportError("no module named x")

    point = SimpleNamespace(name="default", load=load)
    monkeypatch.setattr("ui.evaluate_tab.entry_points", lambda group: [point])
    with pytest.raises(Exception, match="no module named x"):
        find_start()


def test_b36_reports_and_cases_are_shown_as_text_or_in_a_frame_that_runs_nothing():
    result = SimpleNamespace(outcomes={"<b>": 1}, measures=[{"name": "<i>", "value": 0.5}])
    case = {"question": "<script>", "outcome": "<u>", "why": ["<s>"]}
    shown = result_html(run("cancelled").progress(), result, [case], '"><script>alert(1)</script>')
    assert "<script" not in shown
    assert 'sandbox=""' in shown
    assert "Cancelled" in shown


# ---- the server ------------------------------------------------------------------------------


def test_a_library_that_fails_to_open_can_be_tried_again(shelf):
    with pytest.raises(Exception, match="No library 'later'"):
        shelf.library("later")
    shelf.create("later")
    assert shelf.library("later").name == "later"


def test_the_command_serves_and_removes_the_uploads(monkeypatch, tmp_path):
    seen = []

    class Server:
        def __init__(self, config):
            self.config = config

        def run(self, sockets):
            seen.append(sockets[0].getsockname()[1])
            sockets[0].close()

    monkeypatch.setattr("uvicorn.Server", Server)
    monkeypatch.setattr(ui.server.tempfile, "mkdtemp", lambda prefix: str(made))
    made = tmp_path / "made"
    made.mkdir()
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    done = CliRunner().invoke(command, ["--port", "38765", "--library", "mine"])
    assert done.exception is None
    assert seen == [38765]
    assert "Citewell runs at http://127.0.0.1:38765" in done.output
    wait_for(lambda: opened == ["http://127.0.0.1:38765"], 5)
    assert not Path(made).exists()


def test_settings_that_cannot_be_used_are_refused_before_the_port_is_taken():
    done = CliRunner().invoke(command, ["--llm-timeout-s", "-5", "--no-browser"])
    assert isinstance(done.exception, SettingsError)
