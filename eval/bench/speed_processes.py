"""How fast whole processes answer: cold, and beside a running server."""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from rag.errors import RagError
from rag.index import Progress
from rag.settings import Settings

from .speed_asking import WARM
from .speed_peer import background, run_citewell
from .speed_rows import Row, compare

SERVE_WAIT_S = 120.0


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
