"""Records → catalogue: who is new, who changed, who was there, and a report that adds up."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace

from .identity import keys_of, same
from .index import Index, Progress, no_progress
from .schema import BadRecord, ImportReport, Note, Paper, Source

FLUSH = 1000  # records in one transaction
KEPT = 1000  # bad records and notes kept in a report; all are counted

Item = Paper | BadRecord | Note
_NOWHERE = Source("")


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

    def fail(self, record: BadRecord) -> None:
        self.failed += 1
        if len(self.bad) < KEPT:
            self.bad.append(record)


def add_records(
    index: Index, name: str, items: Iterable[Item], *, progress: Progress = no_progress
) -> ImportReport:
    """Add records to a library: papers at once, words with them, vectors after.

    Args:
        index: The library's index.
        name: What the import is called in the catalogue (file names).
        items: What a reader yields. It may raise midway; what was read before stays stored.
        progress: Told of every step.

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
        index.sync_terms()
        try:
            for batch in _batches(items, tally):
                _store(index, name, batch, tally)
                tally.terms += index.sync_terms()
                progress("reading", tally.read, 0)
        finally:
            work = index.sync(progress)
    notes = list(tally.notes)
    if work.error:
        notes.append(Note(name, f"Some papers still wait for their vectors: {work.error}"))
    return ImportReport(
        read=tally.read,
        added=tally.added,
        updated=tally.updated,
        unchanged=tally.unchanged,
        duplicate=tally.duplicate,
        failed=tally.failed,
        embedded=work.embedded,
        terms_written=tally.terms + work.terms,
        vectors_written=work.vectors,
        pending=index.catalogue.waiting(),
        bad=tuple(tally.bad),
        notes=tuple(notes),
        import_id=tally.import_id,
        seconds=time.perf_counter() - began,
    )


def _batches(items: Iterable[Item], tally: _Tally) -> Iterator[list[Paper]]:
    """Yield papers in batches; count the rest."""
    batch: list[Paper] = []
    try:
        for item in items:
            if isinstance(item, Note):
                tally.notes.append(item)
                continue
            tally.read += 1
            if isinstance(item, BadRecord):
                tally.fail(item)
                continue
            batch.append(item)
            if len(batch) >= FLUSH:
                yield batch
                batch = []
    except BaseException:
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


def _store_one(index: Index, name: str, paper: Paper, tally: _Tally) -> None:
    keys = keys_of(paper)
    if not keys:
        reason = "The record has neither a title nor an abstract. Add one of them."
        tally.fail(BadRecord(paper.source.file, paper.source.line, reason))
        return
    known = _find(index, keys)
    if known is None:
        if tally.import_id is None:
            tally.import_id = index.catalogue.new_import(name)
        index.add_new(paper, tally.import_id)
        tally.added += 1
        tally.seen.add(paper.id)
        return
    current = index.catalogue.get_update(known) or index.catalogue.get(known)
    if current is not None:  # identities are deleted with their paper
        _merge_into(index, current, paper, tally)


def _merge_into(index: Index, current: Paper, paper: Paper, tally: _Tally) -> None:
    """Bring a paper that is there already up to date, and count what it was."""
    if current.id in tally.seen:  # twice in one import: the first stands, gaps are filled
        tally.duplicate += 1
        merged = merge(paper, over=current, keep=current)
    else:
        merged = merge(current, over=paper, keep=current)
        if _content(merged) == _content(current):
            tally.unchanged += 1
        else:
            tally.updated += 1
    tally.seen.add(current.id)
    if _content(merged) != _content(current):
        index.catalogue.put_update(merged)


def _find(index: Index, keys: tuple[str, ...]) -> str | None:
    """Return the id of the stored paper with this identity, or None."""
    for paper_id, its_keys in index.catalogue.candidates(keys).items():
        if same(keys, tuple(its_keys)):
            return paper_id
    return None


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


def _content(paper: Paper) -> Paper:
    """Return a paper without where it came from, for comparing."""
    return replace(paper, source=_NOWHERE)
