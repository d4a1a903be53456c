"""``ollama:MODEL``: a model that an Ollama server on this machine, or a named one, runs."""

import os
from typing import Any

from llama_index.llms.ollama import Ollama  # type: ignore[import-untyped]  # ships no types
from ollama import AsyncClient, Client
from pydantic import PrivateAttr

from ..errors import SettingsError
from ..settings import Settings
from .provider import Provider, parse_address, shown_address, url_secrets
from .wire import client_options, event_hooks

DEFAULT_URL = "http://127.0.0.1:11434"


class OllamaServer(Ollama):  # type: ignore[misc]  # the base ships no types
    """LlamaIndex's Ollama, with requests that can be cut off and no key in sight."""

    _provider: Provider = PrivateAttr()

    def __init__(self, provider: Provider, **options: Any) -> None:
        super().__init__(
            model=provider.model,
            base_url=provider.address,
            temperature=0.0,
            request_timeout=provider.timeout_s,
            **options,
        )
        self._provider = provider

    @property
    def provider(self) -> Provider:
        """Say where the model runs."""
        return self._provider


def build(argument: str, settings: Settings) -> OllamaServer:
    """Build a model that Ollama runs.

    Args:
        argument: The model's name, as ``ollama list`` shows it.
        settings: ``llm_base_url`` names another server than the one on this machine.

    Raises:
        SettingsError: The name is missing, or the address cannot be used.
    """
    url = address(argument, settings)
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else None
    provider = Provider(
        kind="ollama",
        model=argument,
        address=shown_address(url),
        timeout_s=settings.llm_timeout_s,
        off="Start it with: ollama serve",
        key="Set the key with CITEWELL_LLM_API_KEY.",
        missing=f"Fetch it with: ollama pull {argument}",
        secrets=_secrets(key, url),
    )
    options = client_options(url, settings.llm_timeout_s, key=key)
    return OllamaServer(
        provider,
        client=Client(host=url, **options, event_hooks=event_hooks()),
        async_client=AsyncClient(host=url, **options),
        # Named here, because the model's own longest context may not fit into memory.
        context_window=settings.llm_context,
        additional_kwargs={"num_predict": settings.llm_max_tokens, "seed": settings.llm_seed},
    )


def address(argument: str, settings: Settings) -> str:
    """Return the address of the Ollama server.

    Raises:
        SettingsError: The model is missing, or the address cannot be used.
    """
    if not argument:
        raise SettingsError("--llm 'ollama:' names no model. Give one, as in --llm ollama:MODEL.")
    url = settings.llm_base_url or DEFAULT_URL
    parse_address(url)
    return url.rstrip("/").removesuffix("/v1")  # that end belongs to its other interface


def describe(argument: str, settings: Settings) -> str:
    """Say in a few words which model this is."""
    return f"{argument} at {shown_address(address(argument, settings))}"


def _secrets(key: str | None, url: str) -> tuple[str, ...]:
    """Collect what no message may show; the client library takes a key of its own from outside."""
    own = os.environ.get("OLLAMA_API_KEY")
    return tuple(secret for secret in (key, own) if secret) + url_secrets(url)
