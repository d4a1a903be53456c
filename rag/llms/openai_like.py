"""``openai:MODEL``: any OpenAI-compatible server that was named (vLLM, LM Studio, llama-server)."""

import os
from typing import Any

import httpx
from llama_index.llms.openai_like import (  # type: ignore[import-untyped]  # ships no types
    OpenAILike,
)
from openai import AsyncOpenAI, OpenAI
from pydantic import PrivateAttr

from ..errors import SettingsError
from ..settings import Settings
from .provider import Provider, parse_address, shown_address, url_secrets
from .wire import client_options, event_hooks

_NO_KEY = "none"  # the client library insists on one; a real key travels in the request only


class OpenAICompatible(OpenAILike):  # type: ignore[misc]  # the base ships no types
    """LlamaIndex's OpenAILike, without its key in sight and with requests that can be cut off."""

    _client: OpenAI | None = PrivateAttr(default=None)
    _aclient: AsyncOpenAI | None = PrivateAttr(default=None)
    _provider: Provider = PrivateAttr()
    _url: str = PrivateAttr()
    _key: str | None = PrivateAttr()

    def __init__(self, provider: Provider, *, url: str, key: str | None, **options: Any) -> None:
        super().__init__(
            model=provider.model,
            api_base=provider.address,
            api_key=_NO_KEY,
            is_chat_model=True,
            temperature=0.0,
            max_retries=0,
            timeout=provider.timeout_s,
            **options,
        )
        self._provider, self._url, self._key = provider, url, key

    @property
    def provider(self) -> Provider:
        """Say where the model runs."""
        return self._provider

    def _where(self) -> tuple[str, str | None]:
        """Return the address to call and the key for it."""
        return self._url, self._key

    def _get_client(self) -> OpenAI:
        if self._client is None:
            url, key = self._where()
            options = client_options(url, self._provider.timeout_s, key=key)
            http = httpx.Client(**options, event_hooks=event_hooks())
            self._client = OpenAI(api_key=_NO_KEY, base_url=url, max_retries=0, http_client=http)
        return self._client

    def _get_aclient(self) -> AsyncOpenAI:
        if self._aclient is None:
            url, key = self._where()
            http = httpx.AsyncClient(**client_options(url, self._provider.timeout_s, key=key))
            self._aclient = AsyncOpenAI(
                api_key=_NO_KEY, base_url=url, max_retries=0, http_client=http
            )
        return self._aclient


def build(argument: str, settings: Settings) -> OpenAICompatible:
    """Build a model behind an OpenAI-compatible server.

    Args:
        argument: The model's name as the server knows it.
        settings: ``llm_base_url`` says where; there is no default, so nothing is asked unnamed.

    Raises:
        SettingsError: The name or the address is missing, or the address cannot be used.
    """
    url = address(argument, settings)
    key = _key(settings)
    provider = Provider(
        kind="openai",
        model=argument,
        address=shown_address(url),
        timeout_s=settings.llm_timeout_s,
        off="Start the server, or correct the address with --llm-base-url.",
        key="Set the key with CITEWELL_LLM_API_KEY or OPENAI_API_KEY.",
        missing=f"List its models with: curl {shown_address(url)}/models",
        secrets=((key,) if key else ()) + url_secrets(url),
    )
    try:
        return OpenAICompatible(
            provider,
            url=url,
            key=key,
            max_tokens=settings.llm_max_tokens,
            context_window=settings.llm_context,
        )
    except ValueError as exc:  # the library knows some models that have no chat interface
        raise SettingsError(
            f"The model {argument!r} cannot be used: it has no chat interface. Choose another "
            "one with --llm."
        ) from exc


def address(argument: str, settings: Settings) -> str:
    """Return the address that the settings name, ending in a path.

    Raises:
        SettingsError: The model or the address is missing, or the address cannot be used.
    """
    if not argument:
        raise SettingsError("--llm 'openai:' names no model. Give one, as in --llm openai:MODEL.")
    if not settings.llm_base_url:
        raise SettingsError(
            f"--llm 'openai:{argument}' needs the address of a server, and none is set. No server "
            "is asked by default. Name it, for example: --llm-base-url http://127.0.0.1:8000/v1"
        )
    parts = parse_address(settings.llm_base_url)
    if parts.path.strip("/"):
        return settings.llm_base_url
    return parts._replace(path="/v1").geturl()


def describe(argument: str, settings: Settings) -> str:
    """Say in a few words which model this is."""
    return f"{argument} at {shown_address(address(argument, settings))}"


def _key(settings: Settings) -> str | None:
    if settings.llm_api_key is not None:
        return settings.llm_api_key.get_secret_value() or None
    return os.environ.get("OPENAI_API_KEY") or None
