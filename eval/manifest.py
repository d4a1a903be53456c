"""How a run was made: corpus, questions, settings, versions, seeds, prompts, weights."""

import hashlib
import json
import platform
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from rag import __version__
from rag.errors import RecordError
from rag.schema import Paper
from rag.settings import Settings

from .cases import Case, dump_cases

FORMAT = 1
_FREE = frozenset({"run"})  # what may differ when a run is resumed
_PRIVATE = frozenset({"home", "library", "llm_api_key"})  # no figure depends on them
_PACKAGES = (
    *("chromadb", "llama-index-core", "numpy", "sentence-transformers", "tantivy"),
    *("tokenizers", "torch", "transformers", "xllamacpp"),
)
_USERINFO = re.compile(r"//[^/@]*@")


def build(
    cases: Sequence[Case],
    papers: Iterable[Paper],
    settings: Settings,
    *,
    questions: str,
    library: str,
    judge: str | None = None,
    workers: int = 1,
    seed: int = 0,
) -> dict[str, Any]:
    """Return a run's manifest as plain values, without secrets and without paths of libraries.

    Args:
        cases: The questions with their labels.
        papers: Every paper of the library.
        settings: The settings in force.
        questions: Name of the question file.
        library: Name of the library.
        judge: The judging model, spelt as in the settings; None without one.
        workers: Questions asked at once.
        seed: Seed of the bootstrap.

    Returns:
        All but ``run`` must agree for the run to be resumed.
    """
    return {
        "format": FORMAT,
        "questions": {"file": questions, "cases": len(cases), "sha256": _sha256(dump_cases(cases))},
        "corpus": {"library": library, **corpus_hash(papers)},
        "settings": _shown(settings),
        "judge": judge,
        "seeds": {"bootstrap": seed, "llm": settings.llm_seed},
        "prompts": _hashes("prompts"),
        "weights": _hashes("weights"),
        "versions": versions(),
        "run": {
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "workers": workers,
            "machine": platform.machine(),
            "system": platform.system(),
        },
    }


def corpus_hash(papers: Iterable[Paper]) -> dict[str, Any]:
    """Return the number of papers and a hash of their ids, titles and abstracts, in any order."""
    lines = sorted(json.dumps([p.id, p.title, p.abstract]) for p in papers)
    return {"papers": len(lines), "sha256": _sha256("\n".join(lines))}


def versions() -> dict[str, str]:
    """Return the versions of Citewell, Python and the packages that answers depend on."""
    found = {"citewell": __version__, "python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return in words what two manifests disagree on, beyond what may change in a resumed run."""
    found = []
    for name in dict.fromkeys([*before, *now]):
        if name in _FREE or before.get(name) == now.get(name):
            continue
        found.append(_difference(name, before.get(name), now.get(name)))
    return found


def read(path: Path) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        RecordError: It is no JSON object.
    """
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as exc:
        raise RecordError(
            f"{str(path)!r} cannot be read. It must be a JSON object. Name another folder."
        ) from exc
    if not isinstance(value, dict):
        raise RecordError(f"{str(path)!r} is no JSON object. Name another folder.")
    return value


def _difference(name: str, before: object, now: object) -> str:
    if isinstance(before, dict) and isinstance(now, dict):
        keys = [key for key in dict.fromkeys([*before, *now]) if before.get(key) != now.get(key)]
        if "sha256" in keys:
            return f"other {name}"
        return ", ".join(f"{key} was {before.get(key)!r}, now {now.get(key)!r}" for key in keys)
    return f"{name} was {before!r}, now {now!r}"


def _shown(settings: Settings) -> dict[str, Any]:
    shown = settings.model_dump(mode="json", exclude=set(_PRIVATE))
    address = shown.get("llm_base_url")
    if address:  # a name and a password may stand in it
        shown["llm_base_url"] = _USERINFO.sub("//", address)
    return shown


def _hashes(folder: str) -> dict[str, str]:
    """Return file name to sha256 of the files of a data folder of ``rag``."""
    root = Path(str(resources.files("rag").joinpath(folder)))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in _files(root)}


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.glob("*") if p.is_file() and not p.name.startswith("."))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
