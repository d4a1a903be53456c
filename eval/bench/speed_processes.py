"""How fast whole processes answer, cold and beside a running server, and what an indexer costs."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rag.errors import RagError
from rag.index import Progress
from rag.library import Library, open_library
from rag.settings import Settings

from .speed_asking import WARM, timed_answer
from .speed_corpus import Slice
from .speed_peer import background, run_citewell
from .speed_rows import Row, compare, percentiles, rounds_of

SERVE_WAIT_S = 120.0
REMOVE_AT_ONCE = 500
IDLE_SHARE = 2  # half of the papers wait for the indexer


def measure_processes(
    settings: Settings, questions: Sequence[str], repeats: int, progress: Progress
) -> list[Row]:
    """Time ``citewell --help`` and ``citewell ask``, cold and with ``citewell serve`` running.

    Args:
        settings: They name a fully embedded library that nobody has open.
        questions: Distinct; two a round are asked.
        repeats: Rounds.
        progress: Told of every step.

    Raises:
        RagError: A command failed, or the server did not start.
    """
    words = ["--library", settings.library, "--home", str(settings.home)]
    words += ["--embedder", settings.embedder, "--json"]
    cold, served = questions[:repeats], questions[repeats : 2 * repeats] or questions[:repeats]
    shown, asked = [], []
    for number, text in enumerate(cold):
        progress("cold questions", number + 1, len(cold))
        shown.append(run_citewell("--help").seconds)
        asked.append(run_citewell("ask", text, *words).seconds)
    found = {
        "citewell --help, whole process": shown,
        "citewell ask, cold, whole process": asked,
        "citewell ask beside citewell serve, whole process": _served(
            settings, served, words, progress
        ),
    }
    return [compare("answer", name, "s", ours=times, n=len(times)) for name, times in found.items()]


def _served(
    settings: Settings, questions: Sequence[str], words: Sequence[str], progress: Progress
) -> list[float]:
    options = ["--library", settings.library, "--home", str(settings.home)]
    options += ["--embedder", settings.embedder]
    with tempfile.TemporaryFile() as log, background("serve", *options, log=log) as server:
        deadline = time.monotonic() + SERVE_WAIT_S
        while not _announced(settings.home):
            if server.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                said = log.read().decode("utf-8", "replace").strip()[-600:]
                raise RagError(
                    f"'citewell serve' did not start: {said or 'it said nothing.'} Questions are "
                    "timed beside it. Run it by itself to see why."
                )
            time.sleep(0.1)
        run_citewell("ask", WARM, *words)  # the models are loaded by the first question
        times = []
        for number, text in enumerate(questions):
            progress("questions to a server", number + 1, len(questions))
            times.append(run_citewell("ask", text, *words).seconds)
        return times


def _announced(home: Path) -> bool:
    from rag.serving_files import announced

    return bool(announced(home))


# ---- an indexer in the background ----------------------------------------------------------------


def measure_indexer(
    settings: Settings, corpus: Slice, questions: Sequence[str], repeats: int, progress: Progress
) -> list[Row]:
    """Ask while an indexer embeds in the background and while none runs, block by block.

    Half of the papers are taken out and added again, so that they wait for the indexer. Both kinds
    of blocks ask the same half-embedded library, with the budget that the settings give, and once
    more without any budget, so that what the indexer takes can be told from what the question
    itself embeds. Who begins changes from one round to the next.

    Args:
        settings: They name a library of the corpus that may be changed.
        corpus: Its records.
        questions: Distinct.
        repeats: Rounds.
        progress: Told of every step.

    Raises:
        RagError: The indexer was done before the questions were.
    """
    rows = []
    half = len(questions) // 2
    for budget, asked in (
        (settings.embed_budget, questions[:half]),
        (0.0, questions[half : 2 * half]),
    ):
        own = settings.model_copy(update={"embed_budget": budget})
        with open_library(settings.library, settings=own, finish=False) as library:
            _let_half_wait(library, corpus, progress)
            idle, busy = _blocks(library, asked, repeats, progress)
        name = f"answer while an indexer runs, budget {budget:g} s"
        note = "the same half-embedded library without an indexer, in blocks by turns"
        rows += percentiles(
            "indexer", name, ours=busy, theirs=idle, against="no indexer", note=note
        )
    return rows


def _let_half_wait(library: Library, corpus: Slice, progress: Progress) -> None:
    """Take the second half of the papers out and add them again, without their vectors."""
    papers = [paper.id for paper in library.papers()]
    late = papers[len(papers) // IDLE_SHARE :]
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
        return [timed_answer(library, text, None)[0] for text in questions]
    library.start_indexer()
    try:
        times = [timed_answer(library, text, None)[0] for text in questions]
        if not library.waiting:
            raise RagError(
                "The indexer was done before the questions were. What is measured is asking while "
                "it works. Take a larger corpus, or ask less: --queries."
            )
        return times
    finally:
        library.stop_indexer()
