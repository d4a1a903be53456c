"""Conversations are kept whole, found again, rated, and never stand in the way of asking."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from eval.cases import Case, load_cases, relevant_to
from rag import conversation_file, conversations
from rag.conversations import FILE, UNTITLED, Conversations
from rag.errors import IndexMismatchError, IndexMissingError, LibraryBusyError, RagError
from rag.library import open_library
from rag.schema import Answer, Citation, Paper, RankedPaper, Source, Span, Statement, Turn
from tests.storage import papers, settings_for, write_jsonl

ROOT = Path(__file__).parent.parent
HOSTILE = (
    "'; DROP TABLE turns; --",
    '<img src=x onerror="alert(1)">',
    "{context_str} {} %s %(x)s",
    "nul \x00 and half \ud800 of a pair",
    "\u202eright to left\x1b[31m",
    "日本語 Ünïcode ✓ 🧪",
    "$\\frac{a}{b}$ \\(x_i\\) 100 %_",
)


def paper(number=1, **fields):
    abstract = f"We study thing {number}. It doubles the speed of number {number}."
    values = {
        "id": f"p{number}",
        "title": f"Thing {number}",
        "abstract": abstract,
        "raw_abstract": abstract,
        "authors": ("A. Author", "B. Writer"),
        "year": 2025,
        "extra": {"pages": "1--2", "tags": ["a", {"b": None}]},
        "source": Source("x.bib", 3, "k1"),
    }
    return Paper(**{**values, **fields})


def answer(question="What is doubled?", *cited, **fields):
    """Return an answer that quotes the second sentence of every paper and shows one more."""
    cited = cited or (paper(),)
    spans = [Span(one.abstract.index("It doubles"), len(one.abstract)) for one in cited]
    quotes = [one.abstract[span.start : span.end] for one, span in zip(cited, spans, strict=True)]
    citations = tuple(
        Citation(n, one, f"{one.id}#0", span, quote)
        for n, (one, span, quote) in enumerate(zip(cited, spans, quotes, strict=True), start=1)
    )
    values = {
        "text": "\n".join(f"{quote} [{n}]" for n, quote in enumerate(quotes, start=1)),
        "abstained": False,
        "statements": tuple(
            Statement(quote, (n,), "verbatim") for n, quote in enumerate(quotes, start=1)
        ),
        "citations": citations,
        "papers": tuple(
            RankedPaper(one, n, 1 / n, None if n > 1 else 0.5, f"{one.id}#0")
            for n, one in enumerate((*cited, paper(99)), start=1)
        ),
        "timings_ms": {"total": 12.5},
        "searched": f"{question} (searched)",
        "invented": (7,),
        "raw": "raw reply",
        "notes": ("a note",),
    }
    return Answer(question, **{**values, **fields})


def abstention(question="Is there life on Mars?"):
    return Answer(question, "The papers do not answer this.", True, papers=answer().papers)


@pytest.fixture
def kept(tmp_path):
    return Conversations(tmp_path)


def tell(kept, *answers, title=""):
    made = kept.create(title).id
    for one in answers:
        kept.append(made, one)
    return made


def rows(kept, table):
    with sqlite3.connect(kept.path) as db:
        count = db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    db.close()
    return count


# ---- keeping -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(answer(), id="quotes"),
        pytest.param(answer("Two?", paper(1), paper(2), llm="gguf:x", error="cut"), id="llm, cut"),
        pytest.param(abstention(), id="abstention"),
        pytest.param(Answer("thanks", "Ask me.", abstained=False), id="courtesy"),
        pytest.param(
            answer("Odd?", paper(1, title="", year=10**60, extra={"x": [1.5, {"y": "\x00"}]})),
            id="odd record",
        ),
        pytest.param(answer("$E=mc^2$, \\(x_i\\) {0} \x1b 🧪"), id="odd characters"),
    ],
)
def test_an_answer_comes_back_as_it_was_given(kept, said):
    made = tell(kept, said)
    (turn,) = Conversations(kept.path.parent).load(made).turns
    assert turn.answer == said
    assert (turn.number, turn.rating) == (1, None)


def test_turns_are_numbered_and_dated_in_order(kept):
    made = kept.create().id
    assert [kept.append(made, answer(f"Question {n}?")) for n in range(3)] == [1, 2, 3]
    saved = kept.load(made)
    assert [turn.answer.question for turn in saved.turns] == [f"Question {n}?" for n in range(3)]
    assert saved.turn_count == 3
    assert saved.created < saved.turns[0].at < saved.turns[2].at == saved.changed


def test_a_paper_is_shown_as_it_was_when_it_was_cited(kept):
    before, after = paper(1), paper(1, abstract="Rewritten. It doubles nothing.", title="New")
    made = tell(kept, answer("Before?", before), answer("After?", after))
    first, second = kept.load(made).turns
    assert first.answer.citations[0].paper == before
    assert first.answer.citations[0].quote == "It doubles the speed of number 1."
    assert second.answer.citations[0].paper == after
    assert kept.papers(made) == (after,)


def test_removed_papers_stay_in_the_conversations_that_cite_them(tmp_path):
    settings = settings_for(tmp_path, abstain_below=0.0)
    with open_library("kept", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(12)), wait=True)
        said = library.ask("What is the mark of paper number 7?")
        assert said.citations
        made = tell(library.conversations, said)
        library.remove([one.id for one in library.papers()])
        assert library.papers() == []
        assert library.conversations.load(made).turns[0].answer == said
        cited = tuple(dict.fromkeys(one.paper.id for one in said.citations))
        assert tuple(one.id for one in library.conversations.papers(made)) == cited
        assert cited[0] in library.conversations.history(made)[0].paper_ids


def test_papers_are_listed_once_in_order_of_first_citation(kept):
    made = tell(kept, answer("A?", paper(3), paper(1)), answer("B?", paper(1), paper(2)))
    assert [one.id for one in kept.papers(made)] == ["p3", "p1", "p2"]


def test_a_paper_shown_often_is_stored_once(kept):
    made = kept.create().id
    for number in range(20):
        kept.append(made, answer(f"{number}?"))
    assert rows(kept, "papers") == 2


def test_ids_cannot_be_guessed(kept):
    ids = {kept.create().id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(one) == 22 for one in ids)


# ---- titles ------------------------------------------------------------------------------------


def test_the_title_is_the_first_question_shortened_until_one_is_given(kept):
    assert kept.create().title == UNTITLED
    made = tell(kept, answer("  Which papers\nuse videos? " + "word " * 50), answer("And then?"))
    title = kept.load(made).title
    assert title.startswith("Which papers use videos? word")
    assert title.endswith("…")
    assert len(title) <= conversations.LONGEST_TITLE
    kept.rename(made, "  My\ttitle ")
    assert kept.load(made).title == "My title"
    kept.rename(made, "")
    assert kept.load(made).title == title
    assert kept.create("Given").title == "Given"


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_kept_as_data(kept, text):
    made = tell(kept, answer(f"{text}?", paper(1, title=text)), title=text)
    kept.rate(made, 1, True, text)
    kept.rename(made, text)
    whole = text.encode("utf-8", "replace").decode()
    saved = kept.load(made)
    assert saved.turns[0].answer.question == f"{whole}?"
    assert saved.turns[0].answer.citations[0].paper.title == whole
    assert saved.title.isprintable()
    assert [one.id for one in kept.list(search=text)] == [made]
    assert len(kept.cases()) == 1
    assert rows(kept, "turns") == 1


# ---- listing and searching ---------------------------------------------------------------------


def test_the_conversation_with_the_newest_turn_comes_first(kept):
    first, second, third = (tell(kept, answer(f"{n}?")) for n in range(3))
    kept.append(first, answer("More?"))
    kept.rename(second, "renamed")
    kept.rate(second, 1, True)
    listed = kept.list()
    assert [one.id for one in listed] == [first, third, second]
    assert [one.turn_count for one in listed] == [2, 1, 1]
    assert all(one.turns == () for one in listed)


@pytest.mark.parametrize(
    ("limit", "offset", "expected"),
    [
        pytest.param(2, 0, [4, 3], id="first page"),
        pytest.param(2, 4, [0], id="last page"),
        pytest.param(2, 9, [], id="behind the end"),
        pytest.param(-1, 3, [1, 0], id="no limit"),
        pytest.param(0, 0, [], id="none"),
        pytest.param(10**30, -(10**30), [4, 3, 2, 1, 0], id="absurd"),
    ],
)
def test_conversations_are_listed_in_pages(kept, limit, offset, expected):
    made = [kept.create(f"c{n}").id for n in range(5)]
    assert [made.index(one.id) for one in kept.list(limit, offset)] == expected


@pytest.mark.parametrize(
    ("search", "found"),
    [
        pytest.param("videos", {"a"}, id="question"),
        pytest.param("doubles", {"a", "b"}, id="answer"),
        pytest.param("thesis", {"c"}, id="title"),
        pytest.param("VIDÉOS", {"a"}, id="case and accents"),
        pytest.param("video double", {"a"}, id="every word, in part"),
        pytest.param('"the speed"', {"a", "b"}, id="words together"),
        pytest.param('"speed the"', set(), id="words together in another order"),
        pytest.param("speed the", {"a", "b"}, id="words in another order"),
        pytest.param("100%", {"b"}, id="per cent"),
        pytest.param("%", {"b"}, id="per cent alone"),
        pytest.param("under_score", {"b"}, id="underscore"),
        pytest.param("under%score", set(), id="no wildcard"),
        pytest.param("_", {"b"}, id="underscore alone"),
        pytest.param("'", {"c"}, id="apostrophe"),
        pytest.param('5"', {"c"}, id="a lone quote"),
        pytest.param('" "', {"a", "b", "c", "d"}, id="nothing in quotes"),
        pytest.param("数据", {"d"}, id="two characters of Chinese"),
        pytest.param("视频 AND", set(), id="operators are words"),
        pytest.param("x*", set(), id="star"),
        pytest.param(") OR (1=1", set(), id="injection"),
        pytest.param("", {"a", "b", "c", "d"}, id="empty"),
        pytest.param(" \t\n", {"a", "b", "c", "d"}, id="blank"),
    ],
)
def test_searching_takes_every_character_as_it_is(kept, search, found):
    made = {
        tell(kept, answer("Which use Videos?")): "a",
        tell(kept, answer("Is it 100% of under_score?")): "b",
        tell(kept, abstention("Who's on the 5\" disk?"), title="My thesis"): "c",
        tell(kept, abstention("他们用了什么数据集？")): "d",
    }
    assert {made[one.id] for one in kept.list(search=search)} == found


def test_a_very_long_search_is_bounded(kept):
    tell(kept, answer())
    began = time.perf_counter()
    assert kept.list(search='"' + "a b " * 100_000) == ()
    assert time.perf_counter() - began < 2


# ---- deleting ----------------------------------------------------------------------------------


def test_deleting_takes_turns_ratings_and_unshared_papers_along(kept):
    other = tell(kept, answer("Kept?", paper(1)))
    made = tell(kept, answer("SecretQuestion?", paper(1), paper(2)))
    kept.rate(made, 1, True)
    kept.delete(made)
    assert [one.id for one in kept.list()] == [other]
    assert kept.cases() == []
    assert kept.load(other).turns[0].answer == answer("Kept?", paper(1))
    assert rows(kept, "papers") == 2  # paper 1 and the one that every answer shows
    assert b"SecretQuestion" not in kept.path.read_bytes()
    with pytest.raises(IndexMissingError, match="There is no conversation"):
        kept.load(made)


@pytest.mark.parametrize(
    "name",
    ["", "unknown", "../../etc/passwd", "x' OR '1'='1", "\ud800", "a" * 10_000, None, 7, ["x"]],
)
@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda kept, name: kept.load(name), id="load"),
        pytest.param(lambda kept, name: kept.append(name, answer()), id="append"),
        pytest.param(lambda kept, name: kept.rename(name, "x"), id="rename"),
        pytest.param(lambda kept, name: kept.delete(name), id="delete"),
        pytest.param(lambda kept, name: kept.history(name), id="history"),
        pytest.param(lambda kept, name: kept.rate(name, 1, True), id="rate"),
        pytest.param(lambda kept, name: kept.papers(name), id="papers"),
        pytest.param(lambda kept, name: kept.export_markdown(name), id="export"),
    ],
)
def test_an_unknown_conversation_is_told(kept, call, name):
    tell(kept, answer())
    with pytest.raises(IndexMissingError, match=r"There is no conversation .* in this library"):
        call(kept, name)
    assert len(kept.list()) == 1


# ---- history -----------------------------------------------------------------------------------


def test_b25_a_cut_answer_is_kept_and_marked_but_not_fed_back(kept):
    cut = answer("Second?", error="The server closed the connection.")
    made = tell(kept, answer("First?"), cut, abstention("Third?"))
    assert kept.load(made).turns[1].answer.error == "The server closed the connection."
    assert kept.history(made) == (
        Turn("First?", answer().text, ("p1",)),
        Turn("Third?", abstention().text, ()),
    )
    assert "The answer is incomplete: The server closed" in kept.export_markdown(made)


def test_history_holds_the_last_turns_oldest_first(kept):
    made = tell(kept, *(answer(f"{n}?") for n in range(5)))
    assert [turn.question for turn in kept.history(made, last=2)] == ["3?", "4?"]
    assert kept.history(made, last=0) == ()
    assert kept.history(kept.create().id) == ()


# ---- ratings -----------------------------------------------------------------------------------


def test_a_liked_answer_becomes_a_case_with_its_papers_and_sentences(kept, tmp_path):
    untitled = paper(2, title="", doi="10.1000/xyz")
    made = tell(kept, answer("First?"), answer("Second?", paper(1), untitled))
    kept.rate(made, 2, True, " good ")
    (case,) = kept.cases()
    assert {name: case[name] for name in ("question", "kind", "rating", "note", "answerable")} == {
        "question": "Second?",
        "kind": "feedback",
        "rating": "up",
        "note": "good",
        "answerable": True,
    }
    assert case["evidence"] == [
        "It doubles the speed of number 1.",
        "It doubles the speed of number 2.",
    ]
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps(case) + "\n", "utf-8")
    (read,) = load_cases(file)
    assert read.history == (Turn("First?", answer().text, ("p1",)),)
    again = [replace(one, id="other") for one in (paper(1), untitled)]
    assert all(relevant_to(read, one) for one in again)
    assert relevant_to(read, replace(again[1], doi=None))  # by author and opening
    assert not relevant_to(read, paper(3))


@pytest.mark.parametrize(
    ("said", "up", "known"),
    [
        pytest.param(answer(), False, {}, id="disliked"),
        pytest.param(abstention(), True, {"answerable": False}, id="abstention liked"),
        pytest.param(abstention(), False, {}, id="abstention disliked"),
        pytest.param(Answer("thanks", "Ask me.", abstained=False), True, {}, id="courtesy"),
    ],
)
def test_a_case_says_only_what_is_known(kept, said, up, known):
    made = tell(kept, said)
    kept.rate(made, 1, up, "why")
    (case,) = kept.cases()
    named = {"id", "question", "kind", "rating", "note", "history"}
    assert {name: value for name, value in case.items() if name not in named} == known
    assert case["note"] == "why"
    read = Case.model_validate(case)
    assert (read.answerable, read.relevant, read.evidence) == (known.get("answerable"), (), ())


def test_a_rating_is_replaced_shown_and_taken_back(kept):
    made = tell(kept, answer())
    kept.rate(made, 1, True, "yes")
    kept.rate(made, 1, False, "no")
    rating = kept.load(made).turns[0].rating
    assert (rating.up, rating.note) == (False, "no")
    assert [case["rating"] for case in kept.cases()] == ["down"]
    kept.rate(made, 1, None)
    assert kept.load(made).turns[0].rating is None
    assert kept.cases() == []


def test_cases_of_several_conversations_are_one_question_file(kept, tmp_path):
    for number in range(3):
        made = tell(kept, answer("Same?"), answer("Other?"))
        kept.rate(made, 1, number == 0)
        kept.rate(made, 2, True)
    cases = kept.cases()
    file = tmp_path / "q.jsonl"
    file.write_text("".join(json.dumps(case) + "\n" for case in cases), "utf-8")
    assert len(load_cases(file)) == 6
    assert cases == kept.cases()
    assert not any(one.id in json.dumps(cases) for one in kept.list())


@pytest.mark.parametrize("turn", [0, 2, -1, 10**30, "1", None, True])
def test_a_turn_that_is_not_there_cannot_be_rated(kept, turn):
    made = tell(kept, answer())
    with pytest.raises(IndexMissingError, match="has no turn"):
        kept.rate(made, turn, True)
    assert kept.cases() == []


def test_a_note_without_end_is_refused(kept):
    made = tell(kept, answer())
    with pytest.raises(RagError, match=r"The note has 4,001 characters; at most 4,000"):
        kept.rate(made, 1, True, "x" * 4001)


# ---- the file ----------------------------------------------------------------------------------


def test_reading_makes_no_file_and_needs_no_folder(tmp_path):
    kept = Conversations(tmp_path / "none")
    assert kept.list() == ()
    assert kept.cases() == []
    with pytest.raises(IndexMissingError, match="There is no conversation"):
        kept.load("x")
    assert list(tmp_path.glob("none*")) == []
    with pytest.raises(RagError, match=r"cannot be opened or kept: .* Asking still works"):
        kept.create()


def test_the_file_is_in_wal_mode_and_nothing_stays_open(kept):
    tell(kept, answer())
    assert [one.name for one in kept.path.parent.iterdir() if one.is_file()] == [FILE]
    db = sqlite3.connect(kept.path)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def hold(kept):
    kept.path.write_bytes(b"no database " * 1000)


def tear(kept):
    whole = kept.path.read_bytes()
    kept.path.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))


def foreign(kept):
    kept.path.unlink()
    db = sqlite3.connect(kept.path)
    db.executescript("CREATE TABLE turns (x); PRAGMA user_version = 1")
    db.close()


def newer(kept):
    db = sqlite3.connect(kept.path)
    db.execute("PRAGMA user_version = 99")
    db.close()


def folder(kept):
    kept.path.unlink()
    kept.path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        pytest.param(hold, "is damaged or holds something else", id="no database"),
        pytest.param(tear, "is damaged or holds something else", id="torn"),
        pytest.param(foreign, "is damaged or holds something else", id="foreign tables"),
        pytest.param(newer, "have format 99", id="newer"),
        pytest.param(folder, "cannot be opened or kept", id="a folder"),
    ],
)
def test_a_damaged_file_is_told_plainly_and_asking_goes_on(tmp_path, spoil, match):
    settings = settings_for(tmp_path, abstain_below=0.0)
    with open_library("spoilt", settings=settings, create=True) as library:
        library.add(write_jsonl(tmp_path / "p.jsonl", papers(5)))
        kept = library.conversations
        made = tell(kept, answer())
        spoil(kept)
        for call in (
            kept.list,
            kept.cases,
            kept.create,
            lambda: kept.load(made),
            lambda: kept.append(made, answer()),
        ):
            with pytest.raises(RagError, match=rf"{match}.*Asking still works"):
                call()
        assert library.ask("What is the mark of paper number 3?").citations
    with open_library("spoilt", settings=settings) as library:
        assert library.status().papers == 5


def spoil_sql(kept, sql):
    db = sqlite3.connect(kept.path)
    db.execute(sql)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("UPDATE turns SET record = '{'", id="no JSON"),
        pytest.param("UPDATE turns SET record = '[]'", id="another shape"),
        pytest.param("UPDATE turns SET record = x'00'", id="bytes"),
        pytest.param("UPDATE turns SET record = replace(record, '\"start\"', '\"s\"')", id="span"),
        pytest.param("UPDATE turns SET record = printf('%.100000c', '[')", id="deep"),
        pytest.param("DELETE FROM papers", id="papers missing"),
        pytest.param("UPDATE papers SET record = '{\"id\": 5}'", id="a foreign paper"),
    ],
)
def test_a_damaged_turn_is_told_plainly_and_other_conversations_are_whole(kept, sql):
    made = tell(kept, answer())
    spoil_sql(kept, sql)
    other = tell(kept, Answer("Whole?", "Yes.", abstained=False), title="whole")
    with pytest.raises(IndexMismatchError, match=r"cannot be read: .* Asking still works"):
        kept.load(made)
    assert [one.title for one in kept.list()] == ["whole", "What is doubled?"]
    assert kept.history(other)[0].question == "Whole?"
    assert kept.history(made)[0].question == "What is doubled?"


def test_a_file_that_cannot_be_written_is_still_read(kept, monkeypatch):
    made = tell(kept, answer())
    connect = sqlite3.connect

    def read_only(file, **options):  # as a disk mounted for reading does, also for root
        return connect(f"file:{file}?mode=ro", uri=True, **options)

    monkeypatch.setattr(conversation_file.sqlite3, "connect", read_only)
    with pytest.raises(RagError, match=r"cannot be opened or kept: .*readonly"):
        kept.append(made, answer("Lost?"))
    assert [turn.answer for turn in kept.load(made).turns] == [answer()]


def test_a_full_disk_keeps_what_was_there(kept, monkeypatch):
    made = tell(kept, answer())
    prepare = conversation_file._prepare

    def small(db, path):
        prepare(db, path)
        pages = db.execute("PRAGMA page_count").fetchone()[0]
        db.execute(f"PRAGMA max_page_count = {pages}")

    with monkeypatch.context() as patch:
        patch.setattr(conversation_file, "_prepare", small)
        with pytest.raises(RagError, match=r"cannot be opened or kept: .*full.* free some room"):
            kept.append(made, answer("x" * 100_000))
    assert [turn.answer for turn in kept.load(made).turns] == [answer()]
    assert kept.append(made, answer("Now?")) == 2


def test_a_file_that_stays_locked_is_told(kept, monkeypatch):
    made = tell(kept, answer())
    monkeypatch.setattr(conversation_file, "WAIT_S", 0.1)
    other = sqlite3.connect(kept.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LibraryBusyError, match="stayed locked"):
        kept.append(made, answer())
    assert len(kept.load(made).turns) == 1  # reading does not wait
    other.execute("ROLLBACK")
    other.close()


def test_b31_a_conversation_is_kept_while_papers_are_added(tmp_path):
    with open_library("busy", settings=settings_for(tmp_path), create=True) as library:
        inside = threading.Event()
        done = threading.Event()

        def write():
            with library._index.writing():
                inside.set()
                done.wait(20)

        writer = threading.Thread(target=write)
        writer.start()
        assert inside.wait(20)
        made = tell(library.conversations, answer())
        assert library.conversations.load(made).turn_count == 1
        done.set()
        writer.join()


# ---- threads, kills, size ----------------------------------------------------------------------


def test_threads_append_at_the_same_time_and_no_turn_is_lost(kept):
    shared = kept.create().id
    failures = []

    def work(name):
        try:
            own = Conversations(kept.path.parent)
            for number in range(25):
                own.append(shared, answer(f"{name} {number}?"))
                own.list()
        except Exception as exc:
            failures.append(exc)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    turns = kept.load(shared).turns
    assert [turn.number for turn in turns] == list(range(1, 101))
    for name in "abcd":
        own = [turn.answer.question for turn in turns if turn.answer.question[0] == name]
        assert own == [f"{name} {number}?" for number in range(25)]


def test_threads_may_make_the_file_at_the_same_time(tmp_path):
    ready = threading.Barrier(6)
    made = []

    def work():
        ready.wait()
        made.append(tell(Conversations(tmp_path), answer()))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.id for one in Conversations(tmp_path).list()} == set(made)
    assert len(made) == 6


KILLED = """
import sys
from pathlib import Path
from rag.conversations import Conversations
from rag.schema import Answer
kept = Conversations(Path(sys.argv[1]))
for number in range(100_000):
    print(kept.append(sys.argv[2], Answer(f"{number}?", "So.", abstained=False)), flush=True)
"""


def test_a_kill_loses_no_turn_that_was_kept_and_leaves_no_half(kept):
    made = kept.create().id
    kept_before = 0
    for wanted in (3, 12):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(kept.path.parent), made],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        told = [int(process.stdout.readline()) for _ in range(wanted)]
        process.send_signal(signal.SIGKILL)
        rest, _ = process.communicate(timeout=30)
        last = int(rest.split()[-1]) if rest.split() else told[-1]
        turns = kept.load(made).turns
        assert told[0] == kept_before + 1
        assert last <= len(turns) <= last + 1  # one may be kept and not be told of
        assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
        kept_before = len(turns)
    assert kept.append(made, answer()) == kept_before + 1


def test_an_append_that_fails_half_way_leaves_nothing(kept):
    made = tell(kept, answer())
    spoil_sql(
        kept,
        "CREATE TRIGGER late BEFORE UPDATE ON conversations BEGIN SELECT raise(ABORT, 'no'); END",
    )
    with pytest.raises(RagError):
        kept.append(made, answer("Half?", paper(5)))
    spoil_sql(kept, "DROP TRIGGER late")
    assert len(kept.load(made).turns) == 1
    assert rows(kept, "papers") == 2


def test_five_thousand_turns_stay_quick(kept):
    made = tell(kept, answer("Long?", *(paper(n) for n in range(8))))
    others = [tell(kept, answer(f"Other {n}?")) for n in range(20)]
    db = sqlite3.connect(kept.path)
    columns = "folded || n, at, question, answer, cited, whole, record"
    db.execute(
        "WITH RECURSIVE count(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM count WHERE n < 5000)"
        " INSERT INTO turns (conversation, number, folded, at, question, answer, cited, whole,"
        f" record) SELECT conversation, n, {columns} FROM turns, count WHERE conversation = 1"
    )
    db.commit()
    db.close()
    timed = {
        "append": lambda: kept.append(made, answer("The last?")),
        "list": lambda: kept.list(),
        "search": lambda: kept.list(search="doubles the speed nowhere"),
        "history": lambda: kept.history(made),
        "rate": lambda: kept.rate(made, 4000, True),
        "cases": lambda: kept.cases(),
        "rename": lambda: kept.rename(made, "x"),
    }
    seconds = {}
    for name, call in timed.items():
        began = time.perf_counter()
        call()
        seconds[name] = time.perf_counter() - began
    assert max(seconds.values()) < 1, seconds
    began = time.perf_counter()
    assert len(kept.load(made).turns) == 5001
    assert time.perf_counter() - began < 20
    kept.delete(made)
    assert {one.id for one in kept.list()} == set(others)
