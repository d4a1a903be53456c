"""Conversations kept in a library: append, list, search, rate, export."""

import hashlib
import json
import re
import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from .conversation_file import FILE, opened
from .entries import line
from .errors import IndexMissingError, RagError
from .schema import Answer, Paper, Turn
from .text import fold, one_line, storable
from .transcript import cited_papers, feedback_case, markdown, pack, read_paper, unpack

LONGEST_TITLE = 80
LONGEST_NOTE = 4000
LONGEST_SEARCH = 1000
MOST_WORDS = 16  # of a search
HISTORY = 20  # turns that a follow-up may build on
KEPT = 1000  # papers in memory while a conversation is read
UNTITLED = "New conversation"

_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_WORD = re.compile(r'"([^"]+)"|(\S+)')
_INT64 = 2**63 - 1

Cases = list[dict[str, object]]


@dataclass(frozen=True, slots=True)
class Rating:
    """What a user thought of an answer."""

    up: bool
    note: str = ""
    at: str = ""  # UTC, ISO 8601


@dataclass(frozen=True, slots=True)
class SavedTurn:
    """One question of a saved conversation with the answer as it was given."""

    number: int  # from 1
    answer: Answer
    at: str  # UTC, ISO 8601
    rating: Rating | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """A saved conversation. Lists leave ``turns`` empty; ``turn_count`` is always given."""

    id: str
    title: str
    created: str  # UTC, ISO 8601
    changed: str  # when its last turn was added
    turn_count: int = 0
    turns: tuple[SavedTurn, ...] = ()


class Conversations:
    """The conversations kept in a library's folder.

    Every call opens the file anew and is one transaction: threads and processes may use it at the
    same time, a kill leaves all of a turn or nothing, and the library's writer lock is not needed.
    Nothing is read or made before the first call. Every method raises ``RagError`` where the file
    is damaged, cannot be written or stays locked.

    Args:
        folder: The library's folder; it has to exist.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    # ---- writing -------------------------------------------------------------------------------

    def create(self, title: str = "") -> Conversation:
        """Begin a conversation.

        Args:
            title: Its name; empty for the first question, shortened.

        Returns:
            The conversation, under an id that nobody can guess.
        """
        made, named, at = secrets.token_urlsafe(16), _title(title), _now()
        with opened(self.path, write=True) as db:
            db.execute(
                "INSERT INTO conversations (id, title, opening, folded, created, changed, activity)"
                f" VALUES (?, ?, '', ?, ?, ?, {_NEXT})",
                (made, named, _folded(named), at, at),
            )
        return Conversation(made, named or UNTITLED, at, at)

    def append(self, conversation_id: str, answer: Answer) -> int:
        """Add a question with its answer, and the papers it shows as they are now.

        Returns:
            The number of the turn, from 1.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        record, papers = pack(answer)
        cited = json.dumps(list(dict.fromkeys(one.paper.id for one in answer.citations)))
        said = (storable(answer.question), storable(answer.text), storable(cited))
        found, at = _folded(f"{answer.question} {answer.text}"), _now()
        with opened(self.path, write=True) as db:
            seq = _seq(db, conversation_id)
            number = _count(db, seq) + 1
            db.execute(
                "INSERT INTO turns (conversation, number, folded, at, question, answer, cited,"
                " whole, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (seq, number, found, at, *said, answer.error is None, record),
            )
            db.executemany("INSERT OR IGNORE INTO papers VALUES (?, ?)", papers.items())
            db.executemany("INSERT OR IGNORE INTO shown VALUES (?, ?)", [(seq, h) for h in papers])
            db.execute(
                f"UPDATE conversations SET changed = ?, activity = {_NEXT},"
                " opening = CASE WHEN opening = '' THEN ? ELSE opening END WHERE seq = ?",
                (at, _title(answer.question), seq),
            )
        return number

    def rename(self, conversation_id: str, title: str) -> None:
        """Name a conversation; an empty title means the first question again.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        named = _title(title)
        with opened(self.path, write=True) as db:
            db.execute(
                "UPDATE conversations SET title = ?, folded = ? WHERE seq = ?",
                (named, _folded(named), _seq(db, conversation_id)),
            )

    def delete(self, conversation_id: str) -> None:
        """Delete a conversation with its ratings and the papers that only it shows.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        with opened(self.path, write=True) as db:
            seq = _seq(db, conversation_id)
            alone = db.execute(
                "SELECT hash FROM shown s WHERE conversation = ? AND NOT EXISTS"
                " (SELECT 1 FROM shown o WHERE o.hash = s.hash AND o.conversation != ?)",
                (seq, seq),
            ).fetchall()
            db.executemany("DELETE FROM papers WHERE hash = ?", alone)
            for table in ("shown", "turns"):
                db.execute(f"DELETE FROM {table} WHERE conversation = ?", (seq,))
            db.execute("DELETE FROM conversations WHERE seq = ?", (seq,))

    def rate(self, conversation_id: str, turn: int, up: bool | None, note: str = "") -> None:
        """Keep what the user thinks of an answer, in place of an earlier rating.

        Args:
            conversation_id: The conversation.
            turn: The number of the turn, from 1.
            up: Thumbs up or down; None takes the rating back.
            note: Why, in the user's words; at most ``LONGEST_NOTE`` characters.

        Raises:
            IndexMissingError: There is no such turn.
            RagError: The note is too long.
        """
        if len(note) > LONGEST_NOTE:
            raise RagError(
                f"The note has {len(note):,} characters; at most {LONGEST_NOTE:,} are kept. "
                "Write a shorter one."
            )
        values = (None, "", None) if up is None else (int(up), storable(note).strip(), _now())
        with opened(self.path, write=True) as db:
            seq = _seq(db, conversation_id)
            if type(turn) is not int or not 0 < turn <= _count(db, seq):
                raise IndexMissingError(
                    f"The conversation has no turn '{str(turn)[:20]}'. Turns are counted from 1. "
                    "Open it again to see which there are."
                )
            db.execute(
                "UPDATE turns SET up = ?, note = ?, rated = ?"
                " WHERE conversation = ? AND number = ?",
                (*values, seq, turn),
            )

    # ---- reading -------------------------------------------------------------------------------

    def load(self, conversation_id: str) -> Conversation:
        """Return a conversation with its turns, each answer exactly as it was given.

        Raises:
            IndexMissingError: There is no such conversation.
            IndexMismatchError: A turn of it is damaged.
        """
        with opened(self.path) as db:
            seq = _seq(db, conversation_id)
            row = db.execute(f"{_LISTED} WHERE c.seq = ?", (seq,)).fetchone()
            turns = db.execute(
                "SELECT number, at, record, up, note, rated FROM turns WHERE conversation = ?"
                " ORDER BY number",
                (seq,),
            )
            find = _finder(db)
            return replace(_named(row), turns=tuple(_turn(turn, find) for turn in turns))

    def list(self, limit: int = 50, offset: int = 0, search: str = "") -> tuple[Conversation, ...]:
        """Return conversations without their turns, the one with the newest turn first.

        Args:
            limit: At most so many; negative means no limit.
            offset: Skip so many first.
            search: Only those that hold every word, in title, questions or answers; parts of words
                count, case and accents do not, ``"words in quotes"`` stand together.
        """
        where, values = _holding(search)
        bounds = (max(-1, min(limit, _INT64)), max(0, min(offset, _INT64)))
        with opened(self.path) as db:
            rows = db.execute(
                f"{_LISTED}{where} ORDER BY c.activity DESC LIMIT ? OFFSET ?", (*values, *bounds)
            ).fetchall()
        return tuple(_named(row) for row in rows)

    def history(self, conversation_id: str, *, last: int = HISTORY) -> tuple[Turn, ...]:
        """Return the turns that a follow-up builds on, oldest first.

        Answers that were cut off are left out.

        Args:
            conversation_id: The conversation.
            last: At most so many turns, the newest.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        with opened(self.path) as db:
            return _history(db, _seq(db, conversation_id), last=last)

    def papers(self, conversation_id: str) -> tuple[Paper, ...]:
        """Return the papers that a conversation cites, each once, in order of first citation.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        return cited_papers([turn.answer for turn in self.load(conversation_id).turns])

    def export_markdown(self, conversation_id: str) -> str:
        """Return a conversation as Markdown; see ``transcript.markdown``.

        Raises:
            IndexMissingError: There is no such conversation.
        """
        saved = self.load(conversation_id)
        return markdown(saved.title, [turn.answer for turn in saved.turns])

    def cases(self) -> Cases:
        """Return every rated answer as an evaluation case, in the order they were rated.

        Returns:
            One JSON object for a line of a question file: ``question``, ``history``, ``kind``
            ``"feedback"``, and what the rating tells; see ``transcript.feedback_case``.
        """
        cases: Cases = []
        with opened(self.path) as db:
            rows = db.execute(
                "SELECT t.conversation, t.number, c.id, t.record, t.up, t.note FROM turns t"
                " JOIN conversations c ON c.seq = t.conversation WHERE t.up IS NOT NULL"
                " ORDER BY t.rated, t.rowid"
            )
            find = _finder(db)
            for seq, number, name, record, up, note in rows:
                case = feedback_case(unpack(record, find), up=bool(up), note=note)
                earlier = [asdict(turn) for turn in _history(db, seq, before=number)]
                cases.append({"id": _case_id(name, number), "history": earlier, **case})
        return cases


# ---- rows --------------------------------------------------------------------------------------

_NEXT = "(SELECT coalesce(max(activity), 0) + 1 FROM conversations)"
_LISTED = (
    "SELECT c.id, c.title, c.opening, c.created, c.changed,"
    " (SELECT count(*) FROM turns t WHERE t.conversation = c.seq) FROM conversations c"
)


def _seq(db: sqlite3.Connection, conversation_id: str) -> int:
    """Return the number of a conversation, whatever a caller gave as its id."""
    is_id = isinstance(conversation_id, str) and _ID.fullmatch(conversation_id)
    found = (
        is_id
        and db.execute("SELECT seq FROM conversations WHERE id = ?", (conversation_id,)).fetchone()
    )
    if not found:
        raise IndexMissingError(
            f"There is no conversation {str(conversation_id)[:40]!r} in this library. It may have "
            "been deleted. Choose another, or begin a new one."
        )
    return int(found[0])


def _count(db: sqlite3.Connection, seq: int) -> int:
    sql = "SELECT coalesce(max(number), 0) FROM turns WHERE conversation = ?"
    return int(db.execute(sql, (seq,)).fetchone()[0])


def _named(row: tuple[str, str, str, str, str, int]) -> Conversation:
    made, title, opening, created, changed, count = row
    return Conversation(made, title or opening or UNTITLED, created, changed, count)


def _turn(
    row: tuple[int, str, str, int | None, str, str | None], find: Callable[[str], Paper]
) -> SavedTurn:
    number, at, record, up, note, rated = row
    rating = None if up is None else Rating(bool(up), note, rated or "")
    return SavedTurn(number, unpack(record, find), at, rating)


def _history(
    db: sqlite3.Connection, seq: int, *, before: int = _INT64, last: int = HISTORY
) -> tuple[Turn, ...]:
    rows = db.execute(
        "SELECT question, answer, cited FROM turns WHERE conversation = ? AND number < ? AND whole"
        " ORDER BY number DESC LIMIT ?",
        (seq, before, max(0, min(last, _INT64))),
    ).fetchall()
    return tuple(Turn(asked, said, tuple(json.loads(ids))) for asked, said, ids in reversed(rows))


def _finder(db: sqlite3.Connection) -> Callable[[str], Paper]:
    """Return a look-up of papers as they were when they were shown."""

    @lru_cache(KEPT)
    def find(name: str) -> Paper:
        row = db.execute("SELECT record FROM papers WHERE hash = ?", (name,)).fetchone()
        if row is None:
            raise KeyError("a paper that was shown is missing")
        return read_paper(row[0])

    return find


def _case_id(conversation_id: str, number: int) -> str:
    """Name a case, the same in every export, without giving the conversation's id away."""
    digest = hashlib.sha256(f"{conversation_id} {number}".encode()).hexdigest()
    return f"feedback-{digest[:12]}"


# ---- values ------------------------------------------------------------------------------------


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _title(text: str) -> str:
    return one_line(line(text), LONGEST_TITLE)


def _folded(text: str) -> str:
    return " ".join(fold(storable(text)).split())


def _holding(search: str) -> tuple[str, list[str]]:
    """Translate a search to SQL without any pattern, so that no character is special."""
    words = [_folded(quoted or plain) for quoted, plain in _WORD.findall(search[:LONGEST_SEARCH])]
    words = [word for word in words if word][:MOST_WORDS]
    holds = (
        "(instr(c.folded, ?) > 0 OR c.seq IN"
        " (SELECT conversation FROM turns WHERE instr(folded, ?) > 0))"
    )
    where = " WHERE " + " AND ".join([holds] * len(words)) if words else ""
    return where, [word for word in words for _ in range(2)]
