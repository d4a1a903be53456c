"""Vectors made when a question wants them: the best candidates first, within a few seconds.

They are kept in memory and used at once; they are written when the writer lock is free, and nothing
here ever waits for it.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from . import manifest as manifests
from .embedders import Vectors
from .embedding import Made, make
from .errors import RagError
from .passages import Lacking
from .syncing import pin_embedder, reason

if TYPE_CHECKING:
    from .index import Index

log = logging.getLogger(__name__)

PASS = 4  # papers embedded before the time is looked at again
MOST_KEPT = 1000  # papers whose vectors wait in memory to be written
MOST_ASKED = 10_000  # papers of which is remembered that a question wanted their vectors
MOST_REFUSED = 10_000

Choose = Callable[[list[str], Sequence[Made]], Sequence[str]]
"""Given the papers that are left and those just made, returns the former, best first."""

Hit = tuple[str, str, float]
"""(passage id, paper id, cosine)"""


class Fine:
    """Makes and keeps the vectors that questions want and the library lacks.

    Args:
        index: The library's index.
    """

    def __init__(self, index: "Index") -> None:
        self._index = index
        self._made: dict[str, Made] = {}  # by paper, oldest first
        self._asked: Counter[str] = Counter()
        self._refused: set[str] = set()
        self.failure: str | None = None  # why the last paper was refused
        self._question = threading.local()
        self._guard = threading.Lock()
        self._embedding = threading.Lock()

    # ---- making --------------------------------------------------------------------------------

    def complete(
        self, wanted: Sequence[str], budget_s: float, *, choose: Choose | None = None
    ) -> int:
        """Make the vectors that papers lack, best first, until the time is used up.

        Args:
            wanted: Ids of papers, best first.
            budget_s: Seconds; 0 makes none, infinity all.
            choose: Puts those that are left into a better order after each pass.

        Returns:
            How many papers were embedded. What an embedder refuses is left out.
        """
        began = time.monotonic()
        budget_s = max(0.0, budget_s - getattr(self._question, "spent", 0.0))
        lacking = self._index.passages.lacking(wanted)
        todo = {one: lacking[one] for one in wanted if self._is_open(lacking.get(one))}
        if not todo:
            return 0
        count = len(todo)
        if budget_s > 0 and self._embedding.acquire(timeout=min(budget_s, threading.TIMEOUT_MAX)):
            try:
                self._passes(todo, began + budget_s, choose)
            finally:
                self._embedding.release()
        if hasattr(self._question, "spent"):
            self._question.spent += time.monotonic() - began
        self._remember(list(todo))
        return count - len(todo)

    @contextmanager
    def one_question(self) -> Iterator[None]:
        """Let everything that this thread completes meanwhile share one budget."""
        if hasattr(self._question, "spent"):  # a question inside a question
            yield
            return
        self._question.spent = 0.0
        try:
            yield
        finally:
            del self._question.spent

    def _is_open(self, lacking: Lacking | None) -> bool:
        return (
            lacking is not None
            and lacking.paper.id not in self._refused
            and self._valid(lacking) is None
        )

    def _passes(self, todo: dict[str, Lacking], until: float, choose: Choose | None) -> None:
        """Embed a few papers at a time and take them off the list.

        None is begun of which less than half would fit into the time that is left.
        """
        made: list[Made] = []
        last = took = 0.0
        while todo and (now := time.monotonic()) < until:
            took, last = now - last if last else 0.0, now
            if now + took / 2 >= until:
                return
            order = choose(list(todo), made) if choose else list(todo)
            for one in order[:PASS]:
                del todo[one]
            some = self.open(self._index.passages.lacking(order[:PASS]))  # others ask as well
            made = self._made_of(some)
            if some and not made:  # the embedder is out of order: words alone must do
                return
            self._keep(made)

    def open(self, lacking: Mapping[str, Lacking]) -> list[Lacking]:
        """Return those papers that are neither made already nor refused by the embedder."""
        return [one for one in lacking.values() if self._is_open(one)]

    def make(self, papers: Sequence[Lacking]) -> list[Made]:
        """Embed a few papers for whoever writes them; what the embedder refuses is left out."""
        with self._embedding:
            return self._made_of(papers)

    @property
    def refused(self) -> int:
        """Return how many papers the embedder refused."""
        return len(self._refused)

    def _made_of(self, papers: Sequence[Lacking]) -> list[Made]:
        """Embed papers, one by one where together they fail; leave out what is refused."""
        if not papers:
            return []
        try:
            embedder = self._index.embedder
            made = make(papers, embedder)
            return made if embedder is self._index.embedder else []
        except Exception as exc:  # an embedder may fail in any way; a question never does
            if len(papers) > 1:
                return [made for one in papers for made in self._made_of([one])]
            log.warning("Paper %s was not embedded", papers[0].paper.id, exc_info=exc)
            self.failure = reason(exc)
            if len(self._refused) < MOST_REFUSED:
                self._refused.add(papers[0].paper.id)
            return []

    def _keep(self, made: Iterable[Made]) -> None:
        with self._guard:
            for one in made:
                self._made[one.paper.id] = one
                self._asked.pop(one.paper.id, None)
            while len(self._made) > MOST_KEPT:
                self._made.pop(next(iter(self._made)))

    def clear(self) -> None:
        """Forget what was made and what was refused, for another embedder."""
        with self._guard:
            self._made.clear()
            self._refused.clear()

    def forgive(self) -> None:
        """Try what was refused once more: the embedder may work again."""
        with self._guard:
            self._refused.clear()

    def _remember(self, paper_ids: Iterable[str]) -> None:
        """Note papers that fell out of a budget, for whoever embeds in the background."""
        with self._guard:
            self._asked.update(paper_ids)
            if len(self._asked) > MOST_ASKED:
                self._asked = Counter(dict(self._asked.most_common(MOST_ASKED // 2)))

    def most_asked(self, limit: int) -> list[str]:
        """Return the ids of papers that questions wanted and that fell out of their budgets."""
        with self._guard:
            return [paper_id for paper_id, _ in self._asked.most_common(limit)]

    def forget_asked(self, paper_ids: Iterable[str]) -> None:
        """Forget that these papers were wanted."""
        with self._guard:
            for paper_id in paper_ids:
                self._asked.pop(paper_id, None)

    # ---- using ---------------------------------------------------------------------------------

    def _valid(self, lacking: Lacking) -> Made | None:
        """Return the vectors kept of a paper, if they were made from what it is now."""
        made = self._made.get(lacking.paper.id)
        return made if made and _same_text(made, lacking) else None

    def _all_valid(self, paper_ids: Sequence[str]) -> list[tuple[Made, Lacking]]:
        known = [one for one in paper_ids if one in self._made] if self._made else []
        if not known:
            return []
        lacking = self._index.passages.lacking(known)
        return [(made, one) for one in lacking.values() if (made := self._valid(one))]

    def nearest(
        self, vector: Vectors, limit: int, *, allowed: Sequence[str] | None = None
    ) -> list[Hit]:
        """Return the passages nearest to a query vector among those kept in memory."""
        hits: list[Hit] = []
        with self._guard:
            kept = list(self._made.values())
        if allowed is not None:
            wanted = set(allowed)
            kept = [made for made in kept if made.paper.id in wanted]
        for made in kept:
            for row, one in zip(made.rows, made.vectors, strict=True):
                if one.vector.shape == vector.shape:
                    cosine = float(np.clip(one.vector @ vector, -1.0, 1.0))
                    hits.append((row.passage.id, made.paper.id, cosine))
        hits = sorted(hits, key=lambda hit: (-hit[2], hit[0]))[:limit]
        valid = {made.paper.id for made, _ in self._all_valid([hit[1] for hit in hits])}
        return [hit for hit in hits if hit[1] in valid]

    def paper_sums(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return paper id → the sum of its passages' vectors, for those kept in memory."""
        return {
            made.paper.id: np.sum([one.vector for one in made.vectors], axis=0)
            for made, _ in self._all_valid(paper_ids)
            if made.vectors
        }

    def any(self) -> bool:
        """Say whether anything is kept."""
        return bool(self._made)

    def sentence_vectors(self, paper_ids: Sequence[str]) -> dict[str, Vectors]:
        """Return passage id → ``(n_sentences, dim)`` for those kept in memory.

        While a paper is stored as one passage that is still to be cut, that one has the sentences
        of all.
        """
        found: dict[str, Vectors] = {}
        for made, lacking in self._all_valid(paper_ids):
            rows = [one.sentences for one in made.vectors if one.sentences is not None]
            if len(rows) < len(made.vectors):
                continue
            if made.cut and lacking.uncut:
                found[lacking.rows[0].passage.id] = np.concatenate(rows)
            else:
                found |= {row.passage.id: one for row, one in zip(made.rows, rows, strict=True)}
        return found

    # ---- writing -------------------------------------------------------------------------------

    def flush(self) -> int:
        """Write what is kept if the writer lock is free; return how many papers were written.

        Whatever goes wrong, the vectors stay in memory and the question goes on.
        """
        with self._guard:
            made = list(self._made.values())
        if not made:
            return 0
        try:
            written = write_if_free(self._index, made)
        except RagError as exc:
            log.warning("Vectors made for a question were not stored: %s", exc)
            return 0
        if written is None:
            return 0
        with self._guard:
            for one in made:
                if self._made.get(one.paper.id) is one:
                    del self._made[one.paper.id]
        return len(made)


def write_if_free(index: "Index", made: Sequence[Made]) -> int | None:
    """Store vectors if nobody else writes now; return how many passages, or None.

    Args:
        index: The library's index.
        made: Vectors; those of papers that were removed or changed meanwhile are dropped.

    Raises:
        RagError: The disk is full, or the library has another embedder by now.
    """
    with index.writing_if_free() as free:
        if not free:
            return None
        index.manifest = manifests.read(index.folder)
        manifests.check_embedder(index.manifest, index.embedder.fingerprint)
        if index.manifest.chunking == manifests.TO_CHUNK:
            return 0
        pin_embedder(index)
        with index.database.transaction():
            return sum(_write(index, one) for one in made)


def _write(index: "Index", made: Made) -> int:
    paper_id = made.paper.id
    lacking = index.passages.lacking([paper_id]).get(paper_id)
    if lacking is None or not _same_text(made, lacking):
        return 0
    if lacking.uncut and made.cut:
        index.passages.put(paper_id, made.rows)
    if lacking.uncut and not made.cut:
        return 0
    index.passages.fill_vectors(zip(made.rows, made.vectors, strict=True))
    return len(made.rows)


def _same_text(made: Made, lacking: Lacking) -> bool:
    ours, theirs = made.paper, lacking.paper
    return (ours.title, ours.abstract) == (theirs.title, theirs.abstract)
