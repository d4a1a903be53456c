"""Starts, shares and stops the processes that hold GGUF models."""

import atexit
import json
import logging
import os
import queue
import secrets
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ProviderError

logger = logging.getLogger(__name__)

_MAGIC = b"GGUF"
_LOG_LINES = 60
_STOP_WAIT_S = 2.0
_SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """How a GGUF model is run. ``context`` is in tokens, ``load_timeout_s`` in seconds."""

    path: Path
    context: int
    threads: int
    seed: int
    load_timeout_s: float


class Engine:
    """One GGUF model in a process of its own, started when first asked.

    ``turn`` is held by whoever is being answered: one answer at a time.
    """

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.key = secrets.token_urlsafe(32)
        self.turn = threading.Lock()
        self._starting = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._address = ""
        self._log: deque[str] = deque(maxlen=_LOG_LINES)

    def start(self) -> str:
        """Load the model unless it is loaded, and return the address of its server.

        Raises:
            ProviderError: The file cannot be used, or loading failed or took too long.
        """
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                self.close()
                check_file(self.options.path)
                self._address = self._launch()
            return self._address

    def close(self) -> None:
        """Stop the process, whatever it does; the next ``start`` loads the model again."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_STOP_WAIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _launch(self) -> str:
        process = self._process = subprocess.Popen(
            # As a file with -P: it needs xllamacpp only, and nothing of the current folder.
            [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
        )
        self._log.clear()
        listener = threading.Thread(target=self._keep_log, args=(process,), daemon=True)
        listener.start()
        answer = self._order(process)
        if "address" not in answer:
            self.close()
            listener.join(_STOP_WAIT_S)
            raise ProviderError(self._why_not_loaded(answer))
        return str(answer["address"])

    def _order(self, process: "subprocess.Popen[str]") -> Mapping[str, object]:
        """Tell the process what to load; return its answer, empty if there is none in time."""
        options = self.options
        order = {
            "path": str(options.path),
            "context": options.context,
            "threads": options.threads,
            "seed": options.seed,
            "key": self.key,
            "load_timeout_s": options.load_timeout_s,
        }
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            return {}
        answers: queue.SimpleQueue[str] = queue.SimpleQueue()

        def talk() -> None:
            try:
                stdin.write(json.dumps(order) + "\n")
                stdin.flush()
                answers.put(stdout.readline())
            except (OSError, ValueError):  # it ended first
                answers.put("")

        threading.Thread(target=talk, daemon=True).start()
        try:
            line = answers.get(timeout=options.load_timeout_s)
        except queue.Empty:
            return {"timeout": True}
        answer = json.loads(line) if line else {}
        return answer if isinstance(answer, dict) else {}

    def _keep_log(self, process: "subprocess.Popen[str]") -> None:
        """Send llama.cpp's log to ours, and keep its end to explain a failure."""
        if process.stderr is None:
            return
        with process.stderr as lines:
            for line in lines:
                self._log.append(line.rstrip())
                logger.debug("llama.cpp: %s", line.rstrip())

    def _why_not_loaded(self, answer: Mapping[str, object]) -> str:
        path = self.options.path
        if "timeout" in answer:
            return (
                f"The model {str(path)!r} was not loaded within {self.options.load_timeout_s:g} s. "
                "The file may be damaged, or the disk slow. Fetch the file again, or allow more "
                "time with --llm-timeout-s."
            )
        return (
            f"The model {str(path)!r} cannot be loaded{self._complaint()}. The file may be "
            "damaged, only partly downloaded, too large for the memory or of an unknown kind. "
            "Fetch it again, or choose another one with --llm gguf:PATH."
        )

    def _complaint(self) -> str:
        """Return llama.cpp's own reason, in brackets, if its log holds one."""
        for line in self._log:
            for mark in ("error loading model: ", "ModuleNotFoundError: "):
                _, found, reason = line.partition(mark)
                if found:
                    return f" ({reason[:200]})"
        return ""


_engines: dict[EngineOptions, Engine] = {}
_engines_lock = threading.Lock()


def engine_for(options: EngineOptions) -> Engine:
    """Return the one engine of this process for a model file and these options."""
    with _engines_lock:
        if not _engines:
            atexit.register(close_all)
        return _engines.setdefault(options, Engine(options))


def close_all() -> None:
    """Stop every model process of this program."""
    with _engines_lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()


def check_file(path: Path) -> None:
    """Refuse what cannot be a model before anything is started.

    Raises:
        ProviderError: The file is missing, a folder, unreadable, or no GGUF file.
    """
    advice = "Give the path of a model file, as in --llm gguf:MODEL.gguf."
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except FileNotFoundError as exc:
        raise ProviderError(f"There is no model file {str(path)!r}. {advice}") from exc
    except IsADirectoryError as exc:
        raise ProviderError(f"The model {str(path)!r} is a folder. {advice}") from exc
    except OSError as exc:
        raise ProviderError(
            f"The model file {str(path)!r} cannot be read: {exc.strerror}. {advice}"
        ) from exc
    except ValueError as exc:  # NUL in the name
        raise ProviderError(f"There is no model file {str(path)!r}. {advice}") from exc
    if start != _MAGIC:
        raise ProviderError(
            f"The file {str(path)!r} is not a GGUF model: it does not begin with 'GGUF'. {advice}"
        )


def _environment() -> dict[str, str]:
    """Return the environment without keys, which a model process has no use for."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.upper().endswith(_SECRET_ENDINGS)
    }
    return kept | {"GGML_NO_BACKTRACE": "1"}  # a crash must not start a debugger
