"""What an indexer that works in the background costs those who ask meanwhile."""

import random
import time
from collections.abc import Sequence

from rag.errors import RagError
from rag.index import Progress
from rag.library import Library, open_library
from rag.settings import Settings

from .speed_asking import WARM, timed_answer
from .speed_corpus import Slice
from .speed_rows import Row, percentiles, rounds_of

REMOVE_AT_ONCE = 500
MOST = 100  # questions with each budget: between them is time to read
GAP_S = (1.5, 2.5)  # between two questions; the indexer pauses for a second after each


def measure_indexer(
    settings: Settings, corpus: Slice, questions: Sequence[str], repeats: int, progress: Progress
) -> list[Row]:
    """Ask while an indexer embeds in the background and while none runs, block by block.

    Half of the papers are taken out and added again, so that they wait for the indexer. Both kinds
    of blocks ask the same half-embedded library, with the budget that the settings give, and once
    more without any budget, so that what the indexer takes can be told from what the question
    itself embeds. Between two questions is time to read, also where no indexer runs: it pauses
    while somebody asks, and has to be at work when the next question comes. Who begins changes
    from one round to the next.

    Args:
        settings: They name a library of the corpus that may be changed.
        corpus: Its records.
        questions: Distinct.
        repeats: Rounds.
        progress: Told of every step.

    Raises:
        RagError: The indexer was done before the questions were, or did nothing.
    """
    rows = []
    half = min(len(questions) // 2, MOST)
    for budget, asked in (
        (settings.embed_budget, questions[:half]),
        (0.0, questions[half : 2 * half]),
    ):
        own = settings.model_copy(update={"embed_budget": budget})
        with open_library(settings.library, settings=own, finish=False) as library:
            _let_half_wait(library, corpus, progress)
            before = waiting(library)
            idle, busy = _blocks(library, asked, repeats, progress)
            made = before - waiting(library)
        if made <= 0:
            raise RagError(
                "The indexer embedded nothing while it was measured. What is measured is asking "
                "while it works. Take a larger corpus, or more questions: --queries."
            )
        rows += percentiles(
            "indexer",
            f"answer while an indexer runs, budget {budget:g} s",
            ours=busy,
            theirs=idle,
            against="no indexer",
            note=f"the same half-embedded library without an indexer, in blocks by turns; {made:,} "
            "papers were embedded meanwhile",
        )
    return rows


def waiting(library: Library) -> int:
    """Return how many papers wait for their vectors."""
    return library.waiting


def _let_half_wait(library: Library, corpus: Slice, progress: Progress) -> None:
    """Take the second half of the papers out and add them again, without their vectors."""
    papers = [paper.id for paper in library.papers()]
    late = papers[len(papers) // 2 :]
    for at in range(0, len(late), REMOVE_AT_ONCE):
        progress("taking papers out", at, len(late))
        library.remove(late[at : at + REMOVE_AT_ONCE])
    library.add(corpus.path)


def _blocks(
    library: Library, questions: Sequence[str], repeats: int, progress: Progress
) -> tuple[list[list[float]], list[list[float]]]:
    """Return the times of the idle blocks and of the busy ones, round by round."""
    timed_answer(library, WARM, None)
    times: dict[bool, list[list[float]]] = {False: [], True: []}
    for number, block in enumerate(rounds_of(questions, repeats)):
        middle = len(block) // 2
        order = ((False, block[:middle]), (True, block[middle:]))
        for indexing, asked in order if number % 2 else order[::-1]:
            progress("rounds beside an indexer", number + 1, repeats)
            times[indexing].append(_block(library, asked, indexing=indexing))
    return times[False], times[True]


def _block(library: Library, questions: Sequence[str], *, indexing: bool) -> list[float]:
    if not indexing:
        return _answers(library, questions)
    library.start_indexer()
    try:
        times = _answers(library, questions)
        if not waiting(library):
            raise RagError(
                "The indexer was done before the questions were. What is measured is asking while "
                "it works. Take a larger corpus, or ask less: --queries."
            )
        return times
    finally:
        library.stop_indexer()


def _answers(library: Library, questions: Sequence[str]) -> list[float]:
    gaps = random.Random(len(questions))
    times = []
    for text in questions:
        time.sleep(gaps.uniform(*GAP_S))
        times.append(timed_answer(library, text, None)[0])
    return times
