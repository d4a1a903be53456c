"""Records → catalogue: who is new, who changed, who was there, and a report that adds up."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import chain, count
from pathlib import Path
from typing import Self

from .catalogue import dump_paper, load_paper
from .errors import RagError, RecordError
from .identity import keys_of, same
from .index import Index, Progress, Work, no_progress
from .ledger import Held, Ledger, digest_of, state_of
from .schema import BadRecord, ImportReport, Note, Paper, Source
from .tally import KEPT, Tally
from .text import words

FLUSH = 1000  # records in one transaction
ALIKE = 0.5  # Jaccard overlap of words from which two abstracts are versions of one

Item = Paper | BadRecord | Note
_NOWHERE = Source("")


Watch = Callable[[ImportReport], None]
"""Called with the report so far."""


def watched_by_nobody(report: ImportReport) -> None:
    """Report to nobody."""


def add_records(
    index: Index,
    name: str,
    items: Iterable[Item],
    *,
    wait: bool = False,
    progress: Progress = no_progress,
    watch: Watch = watched_by_nobody,
) -> ImportReport:
    """Add records to a library: papers and their words at once, vectors only when waited for.

    Args:
        index: The library's index.
        name: What the import is called in the catalogue (file names).
        items: What a reader yields. It may raise midway; what was read before stays stored.
        wait: Also make every vector.
        progress: Told of every step.
        watch: Given the report so far after every batch that was read, before vectors are made.

    Returns:
        A report whose counts add up; ``pending`` papers have no vector yet. When the embedder
        failed, ``notes`` ends with the reason.

    Raises:
        LibraryBusyError: Another process is writing.
        RecordError: The reader could not go on.
    """
    with _Run(index, name, wait=wait, progress=progress, watch=watch).running() as run:
        run.take(items)
    return run.finished()


def add_files(
    index: Index,
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002  # as the option is called
    encoding: str | None = None,
    wait: bool = False,
    progress: Progress = no_progress,
    watch: Watch = watched_by_nobody,
) -> ImportReport:
    """Add files of papers, as ``add_records`` what they hold.

    A file that is in the library whole is not read again. One that cannot be read becomes one
    failed record.
    """
    name = ", ".join(path.name for path in paths)
    with _Run(index, name, wait=wait, progress=progress, watch=watch).running() as run:
        for path in paths:
            run.take_file(path, format, encoding)
    return run.finished()


class _Run:
    """One import while it runs."""

    def __init__(
        self, index: Index, name: str, *, wait: bool, progress: Progress, watch: Watch
    ) -> None:
        self._index = index
        self._name = name
        self._wait = wait
        self._progress = progress
        self._watch = watch
        self._began = time.perf_counter()
        self._tally = Tally()
        self._ledger = Ledger(index.database)
        self._whole: list[tuple[str, Held]] = []
        self._work = Work()
        self._words: Callable[[Sequence[Paper]], int] = len

    @contextmanager
    def running(self) -> Iterator[Self]:
        """Hold the writer lock; at the end words, and vectors where they are waited for."""
        with self._index.writing():
            with self._index.words.adding() as self._words:
                yield self
            self._watch(self._tally.report(self._began))
            self._work = self._index.sync(self._progress, embed=self._wait, store=self._wait)
            for digest, held in self._whole:
                self._ledger.note(digest, held)

    def take(self, items: Iterable[Item]) -> None:
        """Store what a reader yields, batch by batch."""
        for batch in _batches(items, self._tally):
            written = _store(self._index, self._name, batch, self._tally, wait=self._wait)
            self._tally.terms += self._words(written)
            self._told()

    def _told(self) -> None:
        self._watch(self._tally.report(self._began))
        self._progress("reading", self._tally.read, 0)

    def take_file(self, path: Path, format_: str | None, encoding: str | None) -> None:
        """Store what a file holds, or only count it where it was added whole before."""
        state = state_of(path)
        digest = digest_of(path, format_, encoding) if state else None
        held = self._ledger.find(digest) if digest else None
        if held is not None:
            self._count(held)
            return
        before = self._tally.mark()
        self.take(_items_of(path, format_, encoding, self._tally))
        found = self._tally.since(before)
        if digest and self._tally.whole and state == state_of(path):
            self._whole.append((digest, found))

    def _count(self, held: Held) -> None:
        """Count the records of a file that has not changed, nor any of its papers."""
        tally = self._tally
        before = tally.mark()
        for paper_id in held.ids:
            tally.count(paper_id, "duplicate" if paper_id in tally.seen else "unchanged")
        tally.read += len(held.ids) + held.failed
        tally.failed += held.failed
        tally.bad += held.bad[: KEPT - len(tally.bad)]
        tally.notes += held.notes[: KEPT - len(tally.notes)]
        tally.since(before)
        self._told()

    def finished(self) -> ImportReport:
        """Return the report of the whole import."""
        tally, work = self._tally, self._work
        if work.error:
            reason = f"Not everything could be finished: {work.error}"
            tally.notes.append(Note(self._name, reason))
        tally.terms += work.terms
        return replace(
            tally.report(self._began),
            embedded=work.embedded,
            vectors_written=work.vectors,
            pending=self._index.catalogue.waiting(),
        )


def _items_of(
    path: Path, format_: str | None, encoding: str | None, tally: Tally
) -> Iterator[Item]:
    """Yield what the reader finds; a file that cannot be read (on) gives one more bad record."""
    from .readers import read_papers

    try:
        yield from read_papers(path, format=format_, encoding=encoding)
    except RecordError as exc:
        tally.whole = False  # another time it may be read
        yield BadRecord(path.name, None, str(exc))


def _batches(items: Iterable[Item], tally: Tally) -> Iterator[list[Paper]]:
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


class _Batch:
    """Records that go into the catalogue in one transaction."""

    def __init__(self, index: Index, name: str, tally: Tally, *, wait: bool) -> None:
        self.index = index
        self.name = name
        self.tally = tally
        self.wait = wait
        self.known: set[str] = set()  # keys and ids of papers that are there already
        self.changed: dict[str, Paper] = {}  # whose words have to be indexed
        self._fresh: list[tuple[Paper, Sequence[str]]] = []

    def look_up(self, keys: Sequence[str]) -> None:
        """Find out which of these keys the catalogue knows."""
        catalogue = self.index.catalogue
        self.known |= catalogue.known_keys(keys)
        self.known.update(catalogue.known(keys))

    def add(self, paper: Paper, keys: Sequence[str]) -> None:
        """Take a new paper; it is written with others."""
        self._fresh.append((paper, keys))
        self.known.update(keys, [paper.id])
        self.changed[paper.id] = paper

    def flush(self) -> None:
        """Write the new papers that were taken."""
        if self._fresh:
            self.index.add_new(self._fresh, self.tally.import_id)
            self._fresh = []


def _store(
    index: Index, name: str, papers: Sequence[Paper], tally: Tally, *, wait: bool
) -> list[Paper]:
    """Put papers into the catalogue in one transaction; return those whose words are new."""
    batch = _Batch(index, name, tally, wait=wait)
    records = [load_paper(dump_paper(paper)) for paper in papers]  # as they will be read back
    keys = [keys_of(paper) for paper in records]
    batch.look_up(list(dict.fromkeys(chain.from_iterable(keys))))
    with index.database.transaction():
        for paper, its in zip(records, keys, strict=True):
            _store_one(batch, paper, its)
        batch.flush()
    return list(batch.changed.values())


def _store_one(batch: _Batch, paper: Paper, keys: Sequence[str]) -> None:
    index, tally = batch.index, batch.tally
    if not keys:
        reason = "The record has neither a title nor an abstract. Add one of them."
        tally.fail(BadRecord(paper.source.file, paper.source.line, reason))
        return
    paper_id = keys[0]
    if not batch.known.isdisjoint(keys):
        batch.flush()
        current = _find(index, keys, paper, tally.seen)
        if current is not None:
            _merge_into(batch, current, paper)
            return
        paper_id = _free_id(index, keys)
    if tally.import_id is None:
        tally.import_id = index.catalogue.new_import(batch.name)
    batch.add(replace(paper, id=paper_id), keys)
    tally.count(paper_id, "added")


def _free_id(index: Index, keys: Sequence[str]) -> str:
    """Return the strongest key that is no paper's id yet, or the last one with a number."""
    numbered = (f"{keys[-1]}-{number}" for number in count(2))
    return next(key for key in chain(keys, numbered) if not index.catalogue.known([key]))


def _merge_into(batch: _Batch, current: Paper, paper: Paper) -> None:
    """Bring a paper that is there already up to date, and count what it was."""
    if current.id in batch.tally.seen:  # twice in one import: the first stands, gaps are filled
        merged = merge(paper, over=current, keep=current)
        same, outcome = same_content(merged, current), "duplicate"
        if current.id in batch.tally.earlier and not _says(paper, merged):
            batch.tally.whole = False  # added alone, this file would change the paper
    else:
        merged = merge(current, over=paper, keep=current)
        same = same_content(merged, current)
        outcome = "unchanged" if same else "updated"
    batch.tally.count(current.id, outcome)
    if same:
        return
    if batch.wait:
        batch.index.catalogue.put_update(merged)
    else:
        batch.index.change(merged)
        batch.changed[merged.id] = merged


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


def _says(paper: Paper, current: Paper) -> bool:
    """Say whether a paper would stay as it is with this record laid over it."""
    return same_content(merge(current, over=paper, keep=current), current)


def same_content(a: Paper, b: Paper) -> bool:
    """Say whether two papers differ in nothing but where they came from."""
    ours, theirs = (dump_paper(replace(paper, source=_NOWHERE)) for paper in (a, b))
    return ours == theirs
