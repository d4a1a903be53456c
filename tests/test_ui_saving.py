import asyncio
import json

import pytest

from rag.errors import IndexMissingError, RagError
from rag.library import open_library
from rag.settings import load_settings
from tests.test_ui_render import ABSTAINED, EVIL_ANSWER, QUOTED, Tags
from ui import saving
from ui.chat import Chat, parse_action
from ui.session import Exchange, Session
from ui.shelf import Shelf


@pytest.fixture
def settings(tmp_path):
    return load_settings(embedder="word-hash", home=tmp_path / "h")


@pytest.fixture
def library(settings):
    with open_library("small", settings=settings, create=True) as opened:
        yield opened


@pytest.fixture
def shelf(settings, library):
    shelf = Shelf(settings, "small")
    shelf.library("small")
    yield shelf
    shelf.close()


def keep(library, session, answer):
    exchange = Exchange(session.number(), answer.question, answer)
    session.keep(asyncio.run(saving.save(library, session, exchange)))
    return session.exchanges[-1]


def test_a_conversation_is_kept_as_it_grows_and_reopened_as_it_was(library):
    session = Session()
    keep(library, session, QUOTED)
    keep(library, session, ABSTAINED)
    assert [one.saved for one in session.exchanges] == [1, 2]
    other = Session()
    assert "What do trees cost?" in saving.listed_html(library, other)
    saving.reopen(library, other, other.listed[0])
    assert [one.answer.text for one in other.exchanges] == [QUOTED.text, ABSTAINED.text]
    assert other.history()[0].paper_ids == ("p1",)


def test_kept_conversations_are_found_by_words(library):
    keep(library, Session(), QUOTED)
    keep(library, Session(), ABSTAINED)
    found = saving.listed_html(library, Session(), "mars")
    assert "life on Mars" in found
    assert "trees" not in found
    assert "Nothing holds these words" in saving.listed_html(library, Session(), "zirconium")


def test_b36_titles_of_conversations_are_text(library):
    keep(library, Session(), EVIL_ANSWER)
    tags = Tags(saving.listed_html(library, Session())).seen
    assert {tag for tag, _ in tags} == {"ul", "li", "button", "span"}


def test_failed_and_stopped_answers_are_not_kept(library):
    session = Session()
    failed = asyncio.run(saving.save(library, session, Exchange(1, "q", error="off")))
    assert failed.saved == 0
    assert library.conversations.list() == ()


def test_an_answer_that_cannot_be_kept_is_still_shown(library):
    session = Session(saved_as="gone")
    exchange = asyncio.run(saving.save(library, session, Exchange(1, "q", QUOTED)))
    assert exchange.saved == 0
    assert exchange.answer is QUOTED


def test_thumbs_are_stored_with_a_note_and_exported_as_cases(library, shelf):
    chat, session = Chat(shelf), Session()
    keep(library, session, QUOTED)
    number = session.exchanges[0].number
    chat.follow(f"down-{number}", session)
    assert session.exchanges[0].thumb == -1
    chat.keep_note("wrong trees", session)
    (case,) = library.conversations.cases()
    assert case["question"] == QUOTED.question
    assert case["note"] == "wrong trees"
    chat.follow(f"down-{number}", session)
    assert session.exchanges[0].thumb == 0
    assert library.conversations.cases() == []


@pytest.mark.parametrize(
    ("kind", "ending", "holds"),
    [
        ("Markdown", "md", "# What do trees cost?"),
        ("BibTeX", "bib", "@"),
        ("RIS", "ris", "TY  - "),
        ("CSL-JSON", "json", '"DOI": "10.1000/abc"'),
    ],
)
def test_conversations_are_exported(library, kind, ending, holds):
    session = Session()
    keep(library, session, QUOTED)
    file = saving.exported(library, session, kind)
    assert file["name"] == f"what-do-trees-cost.{ending}"
    assert holds in file["text"]


def test_rated_answers_are_exported_as_lines_of_json(library, shelf):
    session = Session()
    keep(library, session, QUOTED)
    Chat(shelf).follow("up-1", session)
    file = saving.exported(library, session, "Rated answers (evaluation cases)")
    assert json.loads(file["text"])["question"] == QUOTED.question


@pytest.mark.parametrize("kind", [None, "", "exe", 5, ["Markdown"]])
def test_b36_an_unknown_format_is_refused(library, kind):
    with pytest.raises(RagError, match="no such format"):
        saving.exported(library, Session(), kind)


def test_there_is_nothing_to_export_before_the_first_answer(library):
    with pytest.raises(RagError, match="nothing to export"):
        saving.exported(library, Session(), "BibTeX")


def test_a_conversation_that_is_gone_is_said(library):
    with pytest.raises(IndexMissingError, match="no conversation"):
        saving.reopen(library, Session(), "../../etc/passwd")


@pytest.mark.parametrize(
    "value",
    [None, 5, {}, "", "source", "source-", "evil-1", "source-1-1-1", "source-1\n", "x" * 99],
)
def test_b36_what_is_no_link_of_an_answer_does_nothing(value):
    assert parse_action(value) is None
