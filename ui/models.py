"""Which language models could answer now, and why others cannot."""

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from rag.errors import RagError
from rag.settings import Settings

log = logging.getLogger(__name__)

QUOTE = "quote"
OLLAMA = "http://127.0.0.1:11434"
MOST = 50
WAIT_S = 1.0
LARGEST = 2_000_000  # bytes of a server's list


@dataclass(frozen=True, slots=True)
class Choice:
    """A model, as ``--llm`` spells it; ``why_not`` says why it cannot be used, with what to do."""

    name: str
    label: str
    why_not: str | None = None


def choices(settings: Settings) -> list[Choice]:
    """Return what can be chosen, the quoting answerer first; looks at files and asks servers.

    Takes about a second where a server does not answer.
    """
    found = [Choice(QUOTE, "Quotes only")]
    if settings.llm != QUOTE:
        found.append(_configured(settings))
    for more in (_files(settings), _ollama(settings), _openai(settings)):
        found += list(more)
    once: dict[str, Choice] = {}
    for choice in found:
        once.setdefault(choice.name or choice.label, choice)
    return list(once.values())


def _configured(settings: Settings) -> Choice:
    from rag.llms import describe

    try:
        return Choice(settings.llm, f"{describe(settings)} (configured)")
    except RagError as exc:
        return Choice("", "the configured model", str(exc))


def _files(settings: Settings) -> Iterator[Choice]:
    """Yield GGUF files in the libraries' folder ``models`` and in the hub's cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    own = settings.home / "models"
    paths = [
        *_glob(own, "*.gguf"),
        *_glob(Path(HF_HUB_CACHE), "models--*/snapshots/*/*.gguf"),
    ][:MOST]
    for path in paths:
        size = path.stat().st_size / 1e9
        yield Choice(f"gguf:{path}", f"{path.name} ({size:.1f} GB file)")
    if not paths:
        yield Choice("", "GGUF files", f"None found. Put one into '{own}', or start with --llm.")


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except OSError as exc:
        log.info("Models in '%s' cannot be listed: %s", folder, exc)
        return []


def _ollama(settings: Settings) -> Iterator[Choice]:
    is_other = settings.llm_base_url and not settings.llm.startswith("ollama:")
    if is_other:  # the address in the settings is that of another server
        return
    url = (settings.llm_base_url or OLLAMA).rstrip("/")
    listed, why = _asked(f"{url}/api/tags", {})
    if why is not None:
        yield Choice("", "Ollama", f"No answer at {_shown(url)} ({why}). Start it: ollama serve")
        return
    names = [str(one.get("name", "")) for one in _rows(listed, "models")]
    for name in filter(None, names[:MOST]):
        yield Choice(f"ollama:{name}", f"{name} (Ollama)")
    if not names:
        yield Choice("", "Ollama", "It has no model. Fetch one: ollama pull NAME")


def _openai(settings: Settings) -> Iterator[Choice]:
    if not settings.llm_base_url:
        why = "No address is set. Start with --llm-base-url URL."
        yield Choice("", "OpenAI-compatible server", why)
        return
    if settings.llm.startswith("ollama:"):
        return
    url = settings.llm_base_url.rstrip("/")
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    listed, why_not = _asked(f"{url}/models", {"Authorization": f"Bearer {key}"} if key else {})
    if why_not is not None:
        why = f"No list of models from {_shown(url)} ({why_not}). Start it, or correct the address."
        yield Choice("", "OpenAI-compatible server", why)
        return
    for one in _rows(listed, "data")[:MOST]:
        if name := str(one.get("id", "")):
            yield Choice(f"openai:{name}", f"{name} ({_shown(url)})")


def _asked(url: str, headers: dict[str, str]) -> tuple[Any, str | None]:
    """Return a server's JSON, or why there is none; never a key."""
    try:
        with httpx.Client(timeout=WAIT_S, trust_env=False) as client:
            reply = client.get(url, headers=headers)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as exc:
        return None, type(exc).__name__
    if reply.status_code != httpx.codes.OK:
        return None, f"status {reply.status_code}"
    if len(reply.content) > LARGEST:
        return None, "too long a list"
    try:
        return json.loads(reply.content), None
    except ValueError:
        return None, "not JSON"


def _rows(listed: Any, key: str) -> list[dict[str, Any]]:
    rows = listed.get(key) if isinstance(listed, dict) else None
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _shown(url: str) -> str:
    from rag.llms.provider import shown_address

    try:
        return shown_address(url)
    except RagError:
        return "the address in the settings"
