"""Language models by name: ``kind:argument`` → a LlamaIndex LLM. Nothing is contacted to build."""

import importlib
from typing import TYPE_CHECKING, Any

from .. import plugins
from ..errors import SettingsError
from ..settings import Settings

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

QUOTE = "quote"
_SPELLINGS = "quote, gguf:PATH, hf:OWNER/NAME[/FILE.gguf], ollama:MODEL, openai:MODEL"


def build(settings: Settings) -> "LLM":
    """Build the language model that the settings name. It is loaded or contacted when first asked.

    Args:
        settings: ``llm`` names it as ``kind:argument``; the other ``llm_*`` settings apply.

    Returns:
        A LlamaIndex model; ask it through ``rag.llms.streaming.stream_text``.

    Raises:
        SettingsError: The kind is unknown, or a part of the name or the address is missing.
        ProviderError: A model of the hub is neither on this machine nor can it be fetched.
    """
    kind, argument = _split(settings)
    model: LLM = plugins.load("llm", kind)(argument, settings)
    return model


def describe(settings: Settings) -> str:
    """Say which model the settings name, for display: kind, model, address; never a key.

    Raises:
        SettingsError: The kind is unknown, or a part of the name or the address is missing.
    """
    if settings.llm == QUOTE:
        return "quote (no language model)"
    kind, argument = _split(settings)
    target = plugins.available("llm")[kind]
    module: Any = importlib.import_module(target.module)
    in_words = getattr(module, "describe", None)
    return f"{kind}: {in_words(argument, settings) if in_words else argument}"


def check(settings: Settings) -> str:
    """Make the named model write a first token.

    Returns:
        One sentence of success.

    Raises:
        SettingsError: The settings do not name a model that can be built.
        ProviderError: It cannot be loaded or reached, with its own explanation and the next step.
    """
    if settings.llm == QUOTE:
        return "No language model is set; answers quote the papers."
    from .streaming import first_sign

    first_sign(build(settings))
    return f"The language model answers ({describe(settings)})."


def _split(settings: Settings) -> tuple[str, str]:
    """Split ``kind:argument`` and make sure that the kind exists."""
    kind, _, argument = settings.llm.partition(":")
    kind = kind.strip().lower()
    if kind not in plugins.available("llm"):
        # The value is not repeated whole: a key may have been pasted into it.
        raise SettingsError(
            f"There is no language model kind {kind[:40]!r}. Known spellings: {_SPELLINGS}. "
            "Choose one with --llm."
        )
    return kind, argument.strip()


__all__ = ["QUOTE", "build", "check", "describe"]
