"""``gguf:PATH``: a model file on this machine, run by llama.cpp, with no server to set up."""

import os
from pathlib import Path
from typing import Any

from openai import OpenAI
from pydantic import PrivateAttr

from ..errors import SettingsError
from ..settings import Settings
from .engine import Engine, EngineOptions, check_file, engine_for
from .openai_like import OpenAICompatible
from .provider import Provider


class GgufModel(OpenAICompatible):
    """A model file behind llama.cpp's own server, loaded when first asked."""

    _engine: Engine = PrivateAttr()
    _client_address: str = PrivateAttr(default="")

    def __init__(self, engine: Engine, provider: Provider, **options: Any) -> None:
        super().__init__(provider, url="", key=None, **options)
        self._engine = engine

    def _where(self) -> tuple[str, str | None]:
        return f"{self._engine.start()}/v1", self._engine.key

    def _get_client(self) -> OpenAI:
        address = self._engine.start()
        if address != self._client_address:  # first use, or the process had to be started again
            self._client, self._client_address = None, address
        return super()._get_client()

    def close(self) -> None:
        """Stop the model's process and free its memory; asking again loads it again."""
        self._engine.close()


def build(argument: str, settings: Settings) -> GgufModel:
    """Build a model from a GGUF file. Nothing is loaded before the first question.

    Args:
        argument: Path of the file; ``~`` stands for the home folder.
        settings: ``llm_context``, ``llm_threads``, ``llm_seed``, ``llm_max_tokens`` and
            ``llm_timeout_s`` apply.

    Raises:
        SettingsError: No file is named.
        ProviderError: The file is missing, or no GGUF file that can be read.
    """
    if not argument:
        raise SettingsError("--llm 'gguf:' names no file. Give one, as in --llm gguf:MODEL.gguf.")
    path = Path(argument).expanduser().absolute()
    check_file(path)
    engine = engine_for(
        EngineOptions(
            path=path,
            context=settings.llm_context,
            threads=settings.llm_threads or default_threads(),
            seed=settings.llm_seed,
            load_timeout_s=settings.llm_timeout_s,
        )
    )
    provider = Provider(
        kind="gguf",
        model=path.name,
        address="llama.cpp in this program",
        timeout_s=settings.llm_timeout_s,
        off="Ask again: it is started anew.",
        key="Ask again: it is started anew.",
        missing="Choose another file with --llm gguf:PATH.",
        secrets=(engine.key,),
        prepare=engine.start,
        turn=engine.turn,
    )
    return GgufModel(
        engine,
        provider,
        max_tokens=settings.llm_max_tokens,
        context_window=settings.llm_context,
    )


def describe(argument: str, settings: Settings) -> str:
    """Say in a few words which model this is."""
    return f"{Path(argument).name} on this machine"


def default_threads() -> int:
    """Return one thread less than there are cores: with all of them llama.cpp can stall."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return max(1, (usable or 2) - 1)
