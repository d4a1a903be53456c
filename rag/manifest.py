"""What a library was built with, in ``manifest.json``; checked at every open."""

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import IndexMismatchError

NAME = "manifest.json"
FORMAT = 1
TERMS = 1  # version of the lexical schema and analyzer
CHUNKING = 1  # version of the sentence and passage rules


@dataclass(frozen=True, slots=True)
class Manifest:
    """The fingerprint of a library.

    ``embedder`` holds name, revision, prefixes and dimension; it is empty until something is
    embedded for the first time, apart from the name.
    """

    name: str
    embedder: dict[str, str | int]
    max_tokens: int = 0
    space: str = "cosine"
    format: int = FORMAT
    terms: int = TERMS
    chunking: int = CHUNKING
    citewell: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


def read(folder: Path) -> Manifest:
    """Read a library's manifest.

    Raises:
        IndexMismatchError: It is missing, damaged, or of a newer format.
    """
    path = folder / NAME
    try:
        fields = json.loads(path.read_text("utf-8"))
        known = {name: fields[name] for name in Manifest.__slots__ if name in fields}
        manifest = Manifest(**known)
    except (OSError, ValueError, TypeError) as exc:
        raise IndexMismatchError(
            f"The manifest '{path}' cannot be read: {exc}. It says what the library was built "
            "with. Restore the library from a backup: citewell restore FILE"
        ) from exc
    if manifest.format > FORMAT:
        raise IndexMismatchError(
            f"The library '{manifest.name}' was built by Citewell {manifest.citewell} in format "
            f"{manifest.format}; this version reads up to {FORMAT}. Install a newer Citewell."
        )
    return manifest


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest so that a crash leaves the old or the new one, never half of it."""
    path = folder / NAME
    draft = path.with_suffix(".tmp")
    draft.write_text(json.dumps(asdict(manifest), indent=1, ensure_ascii=False), "utf-8")
    os.replace(draft, path)


def renamed(manifest: Manifest, name: str) -> Manifest:
    """Return the manifest under another display name."""
    return replace(manifest, name=name)


def check_embedder(manifest: Manifest, fingerprint: dict[str, str | int]) -> None:
    """Compare an embedder with the one that a library was built with.

    Raises:
        IndexMismatchError: They differ, so that their vectors cannot be compared.
    """
    built = {key: value for key, value in manifest.embedder.items() if key in fingerprint}
    asked = {key: fingerprint[key] for key in built}
    different = next((key for key in built if built[key] != asked[key]), None)
    if different is None:
        return
    raise IndexMismatchError(
        f"The library '{manifest.name}' was built with the embedder '{manifest.embedder['name']}' "
        f"({different} '{built[different]}'); the settings ask for '{fingerprint['name']}' "
        f"({different} '{asked[different]}'). Their vectors cannot be compared. Use the old one "
        "with --embedder, or embed everything again: citewell rebuild --embed"
    )
