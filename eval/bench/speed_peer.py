"""Child processes that are measured: Citewell's own commands, and the starter beside them."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from rag.cli import ONE_THREAD
from rag.errors import RagError

from . import paced_starter
from .paced_starter import KEY

OWN = Path(__file__).with_name("starter.py")
NEEDED = ("records", "add_s")
LAST = 600  # characters of a child's last words in a message


@dataclass(frozen=True, slots=True)
class Starter:
    """The program that Citewell is compared with.

    Attributes:
        file: The program; by default our own short one.
        python: Runs it: the Python of the environment that has what it imports.
        model: Folder of the embedding model, its first argument.
    """

    model: Path
    file: Path = OWN
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class Added:
    """What a starter did: the line it wrote, and the texts that its model was given."""

    report: dict[str, Any]
    texts: tuple[str, ...]

    @property
    def records(self) -> int:
        """Return how many records it added."""
        return int(self.report["records"])

    @property
    def seconds(self) -> float:
        """Return how long adding took, by its own clock: without its start."""
        return float(self.report["add_s"])


def run_starter(starter: Starter, corpus: Path, limit: int | None = None) -> Added:
    """Let the starter add a corpus.

    Raises:
        RagError: It failed, or did not write its line.
    """
    with PacedStarter(starter, corpus, limit=limit) as running:
        return running.finish()


class PacedStarter:
    """A starter in a process of its own, whose retrievals wait to be told.

    Use it in a ``with`` block: its end ends the process.

    Args:
        starter: The program.
        corpus: Records with ``_id``, ``title`` and ``text``.
        queries: Queries that it retrieves for, one after the other; None for none.
        limit: Only the first records.
    """

    def __init__(
        self, starter: Starter, corpus: Path, *, queries: Path | None = None,
        limit: int | None = None,
    ) -> None:  # fmt: skip
        self._starter = starter
        self._folder = tempfile.TemporaryDirectory(prefix="citewell-speed-")
        self._texts = Path(self._folder.name) / "texts.jsonl"
        self._errors = (Path(self._folder.name) / "stderr").open("w+b")
        self._line: dict[str, Any] = {}
        hooks = ["--texts", str(self._texts), *(["--pace"] if queries else [])]
        rest = [str(starter.model), str(corpus)]
        rest += [] if limit is None else ["--limit", str(limit)]
        rest += ["--queries", str(queries)] if queries else []
        command = [starter.python, paced_starter.__file__, *hooks, str(starter.file), *rest]
        self._process = self._start(command)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=_environment(),
            )
        except OSError as exc:
            self._errors.close()
            self._folder.cleanup()
            raise RagError(
                f"The starter cannot be run with '{command[0]}': {exc.strerror}. Name the Python "
                "of its environment: --starter-python /path/to/venv/bin/python"
            ) from exc

    def __enter__(self) -> "PacedStarter":
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()
        self._folder.cleanup()

    def wait_ready(self) -> None:
        """Wait until the next retrieval is about to begin: the first time, the corpus is added.

        Raises:
            RagError: The starter ended before.
        """
        if self._next() != "ready":
            raise self._failed("was not ready to retrieve")

    def retrieve(self) -> float:
        """Let the waiting retrieval run and return how long it took, in milliseconds.

        Raises:
            RagError: The starter ended before.
        """
        told = self._process.stdin
        if told is None:
            raise self._failed("takes no orders")
        try:
            told.write("\n")
            told.flush()
        except OSError as exc:
            raise self._failed("ended early") from exc
        found = self._next()
        if not isinstance(found, int | float):
            raise self._failed("ended early")
        return float(found)

    def finish(self) -> Added:
        """Wait for its end and return its line.

        Raises:
            RagError: It failed, or its line is not there.
        """
        if self._process.stdin is not None:
            self._process.stdin.close()  # a retrieval that nobody asked for ends it
        while self._next() is not None:
            pass
        if self._process.wait() or not all(
            isinstance(self._line.get(name), int | float) for name in NEEDED
        ):
            raise self._failed("wrote no line of JSON with " + " and ".join(NEEDED))
        return Added(self._line, tuple(_lines(self._texts)))

    def _next(self) -> object:
        """Return what the hooks say next; None at the end. The starter's own line is kept."""
        for line in self._process.stdout or ():
            try:
                value = json.loads(line)
            except ValueError:
                continue
            if isinstance(value, dict) and KEY in value:
                said: object = value[KEY]
                return said
            if isinstance(value, dict):
                self._line = value
        return None

    def _failed(self, how: str) -> RagError:
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        self._errors.seek(0)
        last = " ".join(self._errors.read().decode("utf-8", "replace").split())[-LAST:]
        return RagError(
            f"The starter '{self._starter.file.name}' {how} (exit code {code}): "
            f"{last or 'it said nothing.'} It takes MODEL CORPUS [--limit N] [--queries FILE]. Run "
            "it by itself to see why, with the Python that has what it imports (--starter-python)."
        )


def _environment() -> dict[str, str]:
    """Return the starter's environment: its libraries keep their own numbers of threads."""
    own = {name: value for name, value in os.environ.items() if name not in ONE_THREAD}
    return {**own, "PYTHONSAFEPATH": "1", "TOKENIZERS_PARALLELISM": "false"}


def _lines(file: Path) -> Iterator[str]:
    if file.exists():
        with file.open(encoding="utf-8") as stream:
            yield from (json.loads(line) for line in stream)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run of a command of ours: how long as a whole process, and what it wrote."""

    seconds: float
    out: str

    @property
    def json(self) -> dict[str, Any]:
        """Return the JSON object that it wrote."""
        found = json.loads(self.out)
        return dict(found)


def command(*words: str) -> list[str]:
    """Return the words that run Citewell in a process of its own."""
    return [sys.executable, "-m", "rag", *words]


def run_citewell(*words: str) -> Ran:
    """Run a command of ours as a whole process.

    Raises:
        RagError: It failed.
    """
    began = time.perf_counter()
    done = subprocess.run(
        command(*words), capture_output=True, text=True, encoding="utf-8", check=False
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise RagError(
            f"'citewell {words[0]}' ended with exit code {done.returncode}: "
            f"{done.stderr.strip()[-LAST:]} The measuring needs it to succeed. Run it by itself."
        )
    return Ran(seconds, done.stdout)


@contextmanager
def background(*words: str, log: IO[bytes]) -> Iterator["subprocess.Popen[bytes]"]:
    """Keep a command of ours running inside a ``with`` block; its end ends the process."""
    process = subprocess.Popen(
        command(*words), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
