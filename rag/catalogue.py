"""The papers of a library: the source of truth that every index can be rebuilt from."""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import fields

import orjson

from .database import Database
from .schema import Filters, Paper, Source
from .text import fold

PAGE = 500  # papers held in memory at once while all are read
_INT64 = 2**63
_FIELDS = tuple(field.name for field in fields(Paper))
_AS_JSON = (  # as the standard library writes it: other values become text by ``str``
    orjson.OPT_SORT_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
    | orjson.OPT_PASSTHROUGH_SUBCLASS
)  # fmt: skip


class Catalogue:
    """Papers, their identities, changed papers that wait, and what the lexical index still lacks.

    Args:
        database: The library's SQLite file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def db(self) -> sqlite3.Connection:
        """Return this thread's connection."""
        return self._database.connection

    def put(self, paper: Paper, keys: Sequence[str], import_id: int | None) -> None:
        """Insert or replace a paper; its words have to be indexed again."""
        self.put_many([(paper, keys)], import_id)

    def put_many(
        self, papers: Sequence[tuple[Paper, Sequence[str]]], import_id: int | None
    ) -> None:
        """Insert or replace papers, each with its identity keys, as ``put`` does."""
        self.db.executemany(
            "INSERT INTO papers (record, authors, topic, venue, title, year, source, id, import_id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " record = excluded.record, authors = excluded.authors, topic = excluded.topic,"
            " venue = excluded.venue, title = excluded.title, year = excluded.year,"
            " source = excluded.source, terms = 0",
            [(*_columns(paper), import_id) for paper, _ in papers],
        )
        self.db.executemany(
            "INSERT OR IGNORE INTO identities VALUES (?, ?)",
            [(key, paper.id) for paper, keys in papers for key in keys],
        )

    def get(self, paper_id: str) -> Paper | None:
        """Return one paper, or None."""
        return self.papers([paper_id]).get(paper_id)

    def papers(self, ids: Sequence[str]) -> dict[str, Paper]:
        """Return the papers with these ids; unknown ids are left out."""
        rows = self._database.for_ids("SELECT id, record FROM papers WHERE id IN ({})", ids)
        return {row[0]: load_paper(row[1]) for row in rows}

    def candidates(self, keys: Sequence[str]) -> dict[str, list[str]]:
        """Return the papers that share an identity key, each with all its keys, oldest first."""
        rows = self._database.for_ids(
            "SELECT i.paper_id, i.key FROM identities i JOIN papers p ON p.id = i.paper_id"
            " WHERE i.paper_id IN (SELECT paper_id FROM identities WHERE key IN ({}))"
            " ORDER BY p.seq",
            keys,
        )
        found: dict[str, list[str]] = {}
        for paper_id, key in rows:
            found.setdefault(paper_id, []).append(key)
        return found

    def known_keys(self, keys: Sequence[str]) -> set[str]:
        """Return those of some identity keys that any paper has."""
        sql = "SELECT DISTINCT key FROM identities WHERE key IN ({})"
        return {row[0] for row in self._database.for_ids(sql, keys)}

    def browse(
        self, filters: Filters | None = None, *, limit: int = -1, offset: int = 0
    ) -> list[Paper]:
        """Return papers in the order they were added.

        Args:
            filters: Only papers that match; None means all.
            limit: At most so many; negative means no limit.
            offset: Skip so many first.
        """
        where, values = _where(filters)
        rows = self.db.execute(
            f"SELECT record FROM papers{where} ORDER BY seq LIMIT ? OFFSET ?",
            (*values, limit, offset),
        )
        return [load_paper(row[0]) for row in rows]

    def matching(self, filters: Filters) -> list[str]:
        """Return the ids of the papers that match, in the order they were added."""
        where, values = _where(filters)
        rows = self.db.execute(f"SELECT id FROM papers{where} ORDER BY seq", values)
        return [row[0] for row in rows]

    def each(self) -> Iterator[Paper]:
        """Yield all papers in the order they were added, a bounded number in memory."""
        after = 0
        while rows := self.db.execute(
            "SELECT seq, record FROM papers WHERE seq > ? ORDER BY seq LIMIT ?", (after, PAGE)
        ).fetchall():
            after = rows[-1][0]
            yield from (load_paper(row[1]) for row in rows)

    def ids(self) -> set[str]:
        """Return the ids of all papers."""
        return {row[0] for row in self.db.execute("SELECT id FROM papers")}

    def count(self) -> int:
        """Return how many papers there are."""
        return int(self.db.execute("SELECT count(*) FROM papers").fetchone()[0])

    def known(self, ids: Sequence[str]) -> list[str]:
        """Return those of some ids that the catalogue holds."""
        return [
            row[0] for row in self._database.for_ids("SELECT id FROM papers WHERE id IN ({})", ids)
        ]

    def delete(self, ids: Sequence[str]) -> int:
        """Delete papers, note that the lexical index has to forget them, and return how many."""
        known = self.known(ids)
        for paper_id in known:
            self.db.execute("INSERT OR IGNORE INTO gone VALUES ('paper', ?)", (paper_id,))
            for table in ("identities", "updates"):
                self.db.execute(f"DELETE FROM {table} WHERE paper_id = ?", (paper_id,))
            self.db.execute("DELETE FROM papers WHERE id = ?", (paper_id,))
        return len(known)

    def of_import(self, import_id: int) -> list[str]:
        """Return the ids of the papers that one import added."""
        rows = self.db.execute("SELECT id FROM papers WHERE import_id = ?", (import_id,))
        return [row[0] for row in rows]

    def new_import(self, file: str) -> int:
        """Note that a file is being added and return the import's number."""
        return int(
            self.db.execute("INSERT INTO imports (file) VALUES (?)", (_sound(file),)).lastrowid or 0
        )

    def put_update(self, paper: Paper) -> None:
        """Keep a changed paper aside until its vectors are made; the old one stays in force."""
        self.db.execute(
            "INSERT OR REPLACE INTO updates VALUES (?, ?)", (paper.id, dump_paper(paper))
        )

    def updates(self, limit: int, *, after: str = "") -> list[Paper]:
        """Return changed papers that wait, by id.

        Args:
            limit: At most so many.
            after: Only those whose id is greater.
        """
        rows = self.db.execute(
            "SELECT record FROM updates WHERE paper_id > ? ORDER BY paper_id LIMIT ?",
            (after, limit),
        )
        return [load_paper(row[0]) for row in rows]

    def get_update(self, paper_id: str) -> Paper | None:
        """Return the waiting version of a paper, or None."""
        row = self.db.execute(
            "SELECT record FROM updates WHERE paper_id = ?", (paper_id,)
        ).fetchone()
        return load_paper(row[0]) if row else None

    def drop_update(self, paper_id: str) -> None:
        """Forget the waiting version of a paper."""
        self.db.execute("DELETE FROM updates WHERE paper_id = ?", (paper_id,))

    def without_terms(self, limit: int) -> list[Paper]:
        """Return papers whose words are not in the lexical index yet."""
        rows = self.db.execute(
            "SELECT record FROM papers WHERE terms = 0 ORDER BY seq LIMIT ?", (limit,)
        )
        return [load_paper(row[0]) for row in rows]

    def mark_terms(self, ids: Sequence[str]) -> None:
        """Note that the lexical index holds these papers."""
        self.db.executemany("UPDATE papers SET terms = 1 WHERE id = ?", [(i,) for i in ids])

    def unmark_terms(self, ids: Sequence[str]) -> None:
        """Note that the lexical index no longer holds these papers."""
        self.db.executemany("UPDATE papers SET terms = 0 WHERE id = ?", [(i,) for i in ids])

    def mark_all_terms(self) -> None:
        """Note that the lexical index holds every paper and nothing else."""
        self.db.execute("UPDATE papers SET terms = 1 WHERE terms = 0")
        self.db.execute("DELETE FROM gone WHERE kind = 'paper'")

    def unmark_all_terms(self) -> None:
        """Note that the lexical index holds nothing, so that it is filled again from here."""
        self.db.execute("UPDATE papers SET terms = 0 WHERE terms = 1")
        self.db.execute("DELETE FROM gone WHERE kind = 'paper'")

    def gone(self, kind: str, *, limit: int = -1) -> list[str]:
        """Return ids that an index still has to forget (``'paper'`` or ``'passage'``)."""
        rows = self.db.execute("SELECT id FROM gone WHERE kind = ? LIMIT ?", (kind, limit))
        return [row[0] for row in rows]

    def forget_gone(self, kind: str, ids: Sequence[str]) -> None:
        """Note that an index has forgotten these ids."""
        self.db.executemany("DELETE FROM gone WHERE kind = ? AND id = ?", [(kind, i) for i in ids])

    def words_wait(self) -> bool:
        """Say whether the lexical index lacks a paper or holds one that is gone."""
        return bool(
            self.db.execute(
                "SELECT EXISTS (SELECT 1 FROM papers WHERE terms = 0)"
                " OR EXISTS (SELECT 1 FROM gone WHERE kind = 'paper')"
            ).fetchone()[0]
        )

    def has_work(self) -> bool:
        """Say whether anything waits to be embedded, indexed or forgotten."""
        return bool(
            self.db.execute(
                "SELECT EXISTS (SELECT 1 FROM papers WHERE terms = 0)"
                " OR EXISTS (SELECT 1 FROM passages WHERE stored = 0)"
                " OR EXISTS (SELECT 1 FROM updates) OR EXISTS (SELECT 1 FROM gone)"
            ).fetchone()[0]
        )

    def counts(self) -> dict[str, int]:
        """Return numbers of papers, passages, embedded, stored, searchable, title_only, updates."""
        papers, searchable = self.db.execute(
            "SELECT count(*), coalesce(sum(terms), 0) FROM papers"
        ).fetchone()
        passages, embedded, stored, title_only = self.db.execute(
            "SELECT count(*), count(vector), coalesce(sum(stored), 0),"
            " coalesce(sum(end = 0), 0) FROM passages"
        ).fetchone()
        updates = self.db.execute("SELECT count(*) FROM updates").fetchone()[0]
        names = ("papers", "searchable", "passages", "embedded", "stored", "title_only", "updates")
        values = (papers, searchable, passages, embedded, stored, title_only, updates)
        return dict(zip(names, values, strict=True))

    def waiting(self) -> int:
        """Return how many papers still lack a vector or their newer version."""
        return int(
            self.db.execute(
                "SELECT (SELECT count(DISTINCT paper_id) FROM passages WHERE vector IS NULL)"
                " + (SELECT count(*) FROM updates)"
            ).fetchone()[0]
        )


def dump_paper(paper: Paper) -> str:
    """Write a paper as the catalogue keeps it: JSON that any UTF-8 file can hold.

    Half a surrogate, which no text should hold, becomes a question mark.
    """
    values = {name: getattr(paper, name) for name in _FIELDS}
    source = paper.source
    values["source"] = {"file": source.file, "line": source.line, "key": source.key}
    try:
        return orjson.dumps(values, default=str, option=_AS_JSON).decode()
    except TypeError:  # half a surrogate, or a number beyond 64 bits
        return _sound(json.dumps(values, ensure_ascii=False, sort_keys=True, default=str))


def _columns(paper: Paper) -> tuple[object, ...]:
    """Return a paper as the columns of its row: whole, then what filters look at, then its id."""
    folded = ("; ".join(paper.authors), paper.topic or "", paper.venue or "", paper.title)
    year = paper.year if paper.year is not None and abs(paper.year) < _INT64 else None
    texts = (fold(text) for text in folded)
    return (dump_paper(paper), *texts, year, paper.source.file, paper.id)


def load_paper(record: str) -> Paper:
    """Read a paper as the catalogue keeps it."""
    values = json.loads(record)
    values["source"] = Source(**values["source"])
    for name in ("authors", "keywords"):
        values[name] = tuple(values[name])
    return Paper(**values)


def _sound(text: str) -> str:
    """Return a text with a question mark for half a surrogate, which SQLite cannot hold."""
    return text.encode("utf-8", "replace").decode()


def _where(filters: Filters | None) -> tuple[str, list[object]]:
    """Translate filters to SQL."""
    parts: list[str] = []
    values: list[object] = []
    if filters is None:
        return "", []
    for column, wanted in (
        ("authors", filters.author),
        ("topic", filters.topic),
        ("venue", filters.venue),
    ):
        if wanted is not None:
            parts.append(f"instr({column}, ?) > 0")
            values.append(fold(_sound(wanted)))
    for operator, year in ((">=", filters.year_from), ("<=", filters.year_to)):
        if year is not None:
            parts.append(f"year {operator} ?")
            values.append(max(-_INT64, min(year, _INT64 - 1)))
    if filters.source is not None:
        parts.append("source = ?")
        values.append(_sound(filters.source))
    if filters.paper_ids is not None:
        parts.append("id IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(filters.paper_ids))
    return (" WHERE " + " AND ".join(parts) if parts else ""), values
