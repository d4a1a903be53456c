"""Name → implementation, for readers, embedders and LLMs. Nothing is imported to be listed."""

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from .errors import SettingsError

Kind = Literal["reader", "embedder", "llm"]

# Built-ins use the same "module:function" form as third-party entry points.
BUILTIN: dict[Kind, dict[str, str]] = {
    "reader": {
        "listing": "rag.readers.listing:read",
        "bibtex": "rag.readers.bibtex:read",
        "ris": "rag.readers.ris:read",
        "jsonl": "rag.readers.jsonl:read",
    },
    "embedder": {
        "minilm": "rag.embedders.minilm:build",
        "st": "rag.embedders.local:build_folder",
        "word-hash": "rag.testing:build_word_hash",
    },
    "llm": {
        "gguf": "rag.llms.gguf:build",
        "hf": "rag.llms.hub:build",
        "ollama": "rag.llms.ollama:build",
        "openai": "rag.llms.openai_like:build",
        "scripted": "rag.testing:build_scripted",
    },
}


def available(kind: Kind) -> dict[str, EntryPoint]:
    """Return every plugin of one kind by name, imported by nobody yet; built-ins win a clash."""
    group = f"citewell.{kind}"
    own = (EntryPoint(name, target, group) for name, target in BUILTIN[kind].items())
    return {ep.name: ep for ep in (*entry_points(group=group), *own)}


def load(kind: Kind, name: str) -> Any:
    """Import one plugin.

    Raises:
        SettingsError: No plugin of that kind has the name.
    """
    found = available(kind)
    if name not in found:
        known = ", ".join(sorted(found))
        raise SettingsError(f"There is no {kind} {name!r}. Known: {known}. Choose one of these.")
    return found[name].load()
