"""What became of the records of an import, counted while it runs."""

import time
from dataclasses import dataclass, field

from .ledger import Held
from .schema import BadRecord, ImportReport, Note

KEPT = 1000  # bad records and notes kept in a report; all are counted


@dataclass
class Tally:
    """Counts of one import while it runs."""

    read: int = 0
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    duplicate: int = 0
    failed: int = 0
    terms: int = 0
    ids: list[str] = field(default_factory=list)  # one for each record that was stored
    bad: list[BadRecord] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    import_id: int | None = None
    earlier: set[str] = field(default_factory=set)  # papers of the files before this one
    whole: bool = True  # all that this file holds was read and is in force

    def count(self, paper_id: str, outcome: str) -> None:
        """Count a record that was stored, and which paper it is."""
        setattr(self, outcome, getattr(self, outcome) + 1)
        self.ids.append(paper_id)
        self.seen.add(paper_id)

    def mark(self) -> tuple[int, int, int, int]:
        """Begin a file and return where things stand, for ``since``."""
        self.whole = True
        return len(self.ids), self.failed, len(self.bad), len(self.notes)

    def since(self, mark: tuple[int, int, int, int]) -> Held:
        """End a file and return what was found since its mark."""
        ids, failed, bad, notes = mark
        self.earlier.update(self.ids[ids:])
        return Held(self.ids[ids:], self.failed - failed, self.bad[bad:], self.notes[notes:])

    def note(self, note: Note) -> None:
        """Keep a note."""
        if len(self.notes) < KEPT:
            self.notes.append(note)

    def fail(self, record: BadRecord) -> None:
        """Count a record that was not stored."""
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
