"""Records → catalogue: who is new, who changed, who was there, and a report that adds up."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import chain, count

from .catalogue import dump_paper, load_paper
from .errors import RagError
from .identity import keys_of, same
from .index import Index, Progress, no_progress
from .schema import BadRecord, ImportReport, Note, Paper, Source
from .text import words

FLUSH = 1000  # records in one transaction
ALIKE = 0.5  # Jaccard overlap of words from which two abstracts are versions of one
KEPT = 1000  # bad records and notes kept in a report; all are counted

Item = Paper | BadRecord | Note
_NOWHERE = Source("")


Watch = Callable[[ImportReport], None]
"""Called with the report so far."""


def watched_by_nobody(report: ImportReport) -> None:
    """Report to nobody."""


@dataclass
class _Tally:
    """Counts of one import while it runs."""

    read: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate: int = 0
    failed: int = 0
    terms: int = 0
    bad: list[BadRecord] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    import_id: int | None = None

    def note(self, note: Note) -> None:
        if len(self.notes) < KEPT:
            self.notes.append(note)

    def fail(self, record: BadRecord) -> None:
        self.failed += 1
        if len(self.bad) < KEPT:
            self.bad.append(record)

    def report(self, began: float) -> ImportReport:
        """Return the counts so far; nothing is embedded yet."""
        return ImportReport(
            read=self.read,
            added=self.added,
            updated=self.updated,
            unchanged=self.unchanged,
            duplicate=self.duplicate,
            failed=self.failed,
            terms_written=self.terms,
            bad=tuple(self.bad),
            notes=tuple(self.notes),
            import_id=self.import_id,
            seconds=time.perf_counter() - began,
        )


def add_records(
    index: Index,
    name: str,
    items: Iterable[Item],
    *,
    progress: Progress = no_progress,
    watch: Watch = watched_by_nobody,
) -> ImportReport:
    """Add records to a library: papers at once, words with them, vectors after.

    Args:
        index: The library's index.
        name: What the import is called in the catalogue (file names).
        items: What a reader yields. It may raise midway; what was read before stays stored.
        progress: Told of every step.
        watch: Given the report so far after every batch that was read, before vectors are made.

    Returns:
        A report whose counts add up. When the embedder failed, papers are pending and ``notes``
        ends with the reason.

    Raises:
        LibraryBusyError: Another process is writing.
        RecordError: The reader could not go on.
    """
    began = time.perf_counter()
    tally = _Tally()
    with index.writing():
        for batch in _batches(items, tally):
            _store(index, name, batch, tally)
            tally.terms += index.words.sync()
            watch(tally.report(began))
            progress("reading", tally.read, 0)
        watch(tally.report(began))
        work = index.sync(progress)
    if work.error:
        tally.notes.append(Note(name, f"Not everything could be finished: {work.error}"))
    tally.terms += work.terms
    return replace(
        tally.report(began),
        embedded=work.embedded,
        vectors_written=work.vectors,
        pending=index.catalogue.waiting(),
    )


def _batches(items: Iterable[Item], tally: _Tally) -> Iterator[list[Paper]]:
    """Yield papers in batches; count the rest."""
    batch: list[Paper] = []
    try:
        for item in items:
            if isinstance(item, Note):
                tally.note(item)
                continue
            tally.read += 1
            if isinstance(item, BadRecord):
                tally.fail(item)
                continue
            batch.append(item)
            if len(batch) >= FLUSH:
                yield batch
                batch = []
    except RagError:
        if batch:  # the reader gave up: keep what it gave before
            yield batch
        raise
    if batch:
        yield batch


def _store(index: Index, name: str, batch: list[Paper], tally: _Tally) -> None:
    """Put a batch into the catalogue in one transaction."""
    with index.database.transaction():
        for paper in batch:
            _store_one(index, name, paper, tally)


def _store_one(index: Index, name: str, record: Paper, tally: _Tally) -> None:
    paper = load_paper(dump_paper(record))  # as it will be read back: same types, sound text
    keys = keys_of(paper)
    if not keys:
        reason = "The record has neither a title nor an abstract. Add one of them."
        tally.fail(BadRecord(paper.source.file, paper.source.line, reason))
        return
    current = _find(index, keys, paper, tally.seen)
    if current is not None:
        _merge_into(index, current, paper, tally)
        return
    if tally.import_id is None:
        tally.import_id = index.catalogue.new_import(name)
    fresh = replace(paper, id=_free_id(index, keys))
    index.add_new(fresh, tally.import_id)
    tally.added += 1
    tally.seen.add(fresh.id)


def _free_id(index: Index, keys: Sequence[str]) -> str:
    """Return the strongest key that is no paper's id yet, or the last one with a number."""
    numbered = (f"{keys[-1]}-{number}" for number in count(2))
    return next(key for key in chain(keys, numbered) if not index.catalogue.known([key]))


def _merge_into(index: Index, current: Paper, paper: Paper, tally: _Tally) -> None:
    """Bring a paper that is there already up to date, and count what it was."""
    if current.id in tally.seen:  # twice in one import: the first stands, gaps are filled
        tally.duplicate += 1
        merged = merge(paper, over=current, keep=current)
    else:
        merged = merge(current, over=paper, keep=current)
        if same_content(merged, current):
            tally.unchanged += 1
        else:
            tally.updated += 1
    tally.seen.add(current.id)
    if not same_content(merged, current):
        index.catalogue.put_update(merged)


def _find(index: Index, keys: Sequence[str], paper: Paper, seen: set[str]) -> Paper | None:
    """Return the stored paper that a record is about, in its newest version, or None.

    A DOI, an arXiv id or the same abstract decides. A shared title decides too, except between two
    records of one import whose abstracts differ: these are two papers with one title.
    """
    known = index.catalogue.candidates(keys)
    matches = [paper_id for paper_id, its_keys in known.items() if same(keys, its_keys)]
    for paper_id in matches:
        shared = set(keys) & set(known[paper_id])
        if any(not key.startswith("title:") for key in shared):
            return _newest(index, paper_id)
    for paper_id in sorted(matches, key=lambda one: one in seen):  # those not yet met first
        current = _newest(index, paper_id)
        if current and (paper_id not in seen or _alike(current.abstract, paper.abstract)):
            return current
    return None


def _newest(index: Index, paper_id: str) -> Paper | None:
    return index.catalogue.get_update(paper_id) or index.catalogue.get(paper_id)


def _alike(a: str, b: str) -> bool:
    """Say whether two abstracts share most of their words, or one of them is missing."""
    ours, theirs = set(words(a)), set(words(b))
    if not ours or not theirs:
        return True
    return len(ours & theirs) / len(ours | theirs) >= ALIKE


def merge(base: Paper, *, over: Paper, keep: Paper) -> Paper:
    """Lay the filled fields of one record over another.

    Args:
        base: The record below.
        over: The record whose non-empty fields win.
        keep: Whose id the result has.
    """
    values = {
        f.name: getattr(over, f.name)
        for f in fields(Paper)
        if getattr(over, f.name) not in (None, "", (), {})
    }
    values["extra"] = {**base.extra, **over.extra}
    if not over.abstract:
        values.pop("raw_abstract", None)
    values["id"] = keep.id
    return replace(base, **values)


def same_content(a: Paper, b: Paper) -> bool:
    """Say whether two papers differ in nothing but where they came from."""
    ours, theirs = (dump_paper(replace(paper, source=_NOWHERE)) for paper in (a, b))
    return ours == theirs
