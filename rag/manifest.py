"""What a library was built with, in ``manifest.json``; checked at every open."""

import json
import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from .errors import IndexMismatchError, RagError

NAME = "manifest.json"
FORMAT = 1
TERMS = 2  # version of the lexical schema and analyzer
CHUNKING = 1  # version of the sentence and passage rules
TO_CHUNK = 0  # stands for it while a new embedder's passages are not cut yet
SPACE = "cosine"
BIGGEST = 100_000  # bytes of a manifest


@dataclass(frozen=True, slots=True)
class Manifest:
    """The fingerprint of a library.

    ``embedder`` holds name, revision, prefixes and dimension; it is empty until something is
    embedded for the first time, apart from the name.
    """

    name: str
    embedder: dict[str, str | int]
    max_tokens: int = 0
    space: str = SPACE
    format: int = FORMAT
    terms: int = TERMS
    chunking: int = CHUNKING
    citewell: str = ""
    extra: dict[str, object] = field(default_factory=dict)

    @property
    def pinned(self) -> bool:
        """Say whether something was embedded, so that the embedder is fixed in every detail."""
        return "dim" in self.embedder


def read(folder: Path) -> Manifest:
    """Read a library's manifest.

    Raises:
        IndexMismatchError: It is missing, damaged, of a newer format or of another space.
    """
    path = folder / NAME
    try:
        with path.open("rb") as file:
            manifest = _parse(file.read(BIGGEST))
    except (OSError, ValueError) as exc:
        raise IndexMismatchError(
            f"The manifest '{path}' cannot be read: {_first_line(exc)}. It says what the library "
            "was built with. Restore the library from a backup: citewell restore FILE"
        ) from exc
    newer = (manifest.format, manifest.terms, manifest.chunking)
    if any(its > ours for its, ours in zip(newer, (FORMAT, TERMS, CHUNKING), strict=True)):
        raise IndexMismatchError(
            f"The library '{manifest.name}' was built by Citewell {manifest.citewell} in format "
            f"{manifest.format}; this version reads up to {FORMAT}. Install a newer Citewell."
        )
    if manifest.space != SPACE:
        raise IndexMismatchError(
            f"The library '{manifest.name}' compares in the space '{manifest.space}'; Citewell "
            f"compares by {SPACE}. Add its papers to a new library: citewell add FILE --library NEW"
        )
    return manifest


def _parse(content: bytes) -> Manifest:
    manifest = TypeAdapter(Manifest).validate_json(content, strict=True)
    if "name" not in manifest.embedder:
        raise ValueError("it names no embedder")
    return manifest


def _first_line(exc: Exception) -> str:
    if isinstance(exc, ValidationError):
        first = exc.errors(include_url=False, include_input=False)[0]
        return ": ".join([*(str(part) for part in first["loc"]), first["msg"]])
    return getattr(exc, "strerror", None) or str(exc)


def write(folder: Path, manifest: Manifest) -> None:
    """Write the manifest so that a crash leaves the old or the new one, never half of it.

    Only the holder of the writer lock may write it.

    Raises:
        RagError: The folder cannot be written.
    """
    path = folder / NAME
    draft = path.with_suffix(".tmp")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(json.dumps(asdict(manifest), indent=1, ensure_ascii=False))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as exc:
        raise RagError(
            f"The manifest '{path}' cannot be written: {exc.strerror}. The library's folder has to "
            "be writable and the disk must have room. Change that and run the command again."
        ) from exc


def renamed(manifest: Manifest, name: str) -> Manifest:
    """Return the manifest under another display name."""
    return replace(manifest, name=name)


def check_name(manifest: Manifest, embedder: str) -> None:
    """Compare the embedder of the settings with the library's by name, without loading it.

    Two folders of the kind ``st:`` may hold the same weights, which only loading tells.

    Raises:
        IndexMismatchError: They differ.
    """
    built = str(manifest.embedder["name"])
    if not (built.startswith("st:") and embedder.startswith("st:")):
        check_embedder(manifest, {"name": embedder})


def check_embedder(manifest: Manifest, fingerprint: dict[str, str | int]) -> None:
    """Compare an embedder with the one that a library was built with.

    Raises:
        IndexMismatchError: They differ, so that their vectors cannot be compared.
    """
    built = {key: value for key, value in manifest.embedder.items() if key in fingerprint}
    asked = {key: fingerprint[key] for key in built}
    if built.get("revision") and built["revision"] == asked["revision"]:
        del built["name"]  # the same weights in another place
    different = next((key for key in built if built[key] != asked[key]), None)
    if different is None:
        return
    raise IndexMismatchError(
        f"The library '{manifest.name}' was built with the embedder '{manifest.embedder['name']}' "
        f"({different} '{built[different]}'); the settings ask for '{fingerprint['name']}' "
        f"({different} '{asked[different]}'). Their vectors cannot be compared. Use the old one "
        "with --embedder, or embed everything again: citewell rebuild --embed"
    )
