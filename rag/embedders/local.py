"""sentence-transformers models from a local folder of the user's."""

import json
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from ..errors import SettingsError
from ..schema import Span
from ..settings import Settings
from . import Embedded, Vectors, normalised
from .minilm import weights_sha256
from .pooling import pool_spans

log = logging.getLogger(__name__)

LONGEST_INPUT = 8192  # tokens; some models name an absurd limit
OWN_MODULES = "sentence_transformers."


class LocalEmbedding(BaseEmbedding):
    """A sentence-transformers model in a local folder, as a LlamaIndex embedding.

    Nothing is fetched and no code from the folder is run. Questions and passages get the prefixes
    that the model's own configuration declares (``prompts``), each exactly once.

    Args:
        folder: The model's folder.
        revision: What tells its weights from others in the manifest (a checksum).
        batch_size: Texts in one pass.
    """

    _model: Any = PrivateAttr()
    _profile: dict[str, Any] = PrivateAttr()
    _threads: int = PrivateAttr()
    _tokenizing: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, folder: Path, *, revision: str, batch_size: int = 32) -> None:
        super().__init__(model_name=folder.name, embed_batch_size=batch_size)
        self._model = _load(folder)
        prompts = dict(self._model.prompts or {})
        query = prompts.get("query", "")
        passage = prompts.get("document") or prompts.get("passage") or ""
        if not any(prompts.values()):
            log.info("The model in %s declares no prefixes; none are used.", folder.name)
        self._threads = _threads()
        self._profile = {
            "revision": revision,
            "query_prefix": query,
            "passage_prefix": passage,
            "dim": int(self._model.get_embedding_dimension()),
            "max_tokens": min(int(self._model.max_seq_length or 512), LONGEST_INPUT),
            "count_tokens": self._count_tokens,
        }

    @property
    def profile(self) -> dict[str, Any]:
        """Return prefixes, dimension, token limit and token counter."""
        return self._profile

    def _count_tokens(self, text: str) -> int:
        with self._tokenizing:  # it keeps state and fails when two threads use it at once
            encoding = self._model.tokenizer(
                self._profile["passage_prefix"] + text, truncation=False, verbose=False
            )
        return len(encoding["input_ids"])

    def _get_query_embedding(self, query: str) -> list[float]:
        with self._one_thread():
            return self._encode([self._profile["query_prefix"] + query])[0]

    def embed_queries(self, queries: Sequence[str]) -> Vectors:
        """Embed many queries at once: ``(n, dim)`` float32, rows of length 1, in order."""
        return normalised(self._encode([self._profile["query_prefix"] + one for one in queries]))

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        """Use one thread: for one short text a second one only waits, on a busy machine long."""
        import torch

        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(self._threads)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._encode([self._profile["passage_prefix"] + text for text in texts])

    def _encode(self, texts: list[str]) -> list[list[float]]:
        with self._tokenizing:
            vectors = self._model.encode(
                texts,
                prompt="",  # the prefix is in the text already
                batch_size=self.embed_batch_size,
                show_progress_bar=False,
                normalize_embeddings=True,
            )
        rows: list[list[float]] = vectors.tolist()
        return rows

    def embed_in_context(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[Embedded]:
        """Embed texts and their sentences in one pass, each sentence as the mean of its tokens.

        Args:
            texts: Passages, each within the model's token limit.
            spans: For each text its sentences, as offsets in that text.

        Returns:
            One ``Embedded`` a text, in the order given.
        """
        results: list[Embedded | None] = [None] * len(texts)
        for batch in _by_length(texts, self.embed_batch_size):
            found = self._pass([texts[i] for i in batch], [spans[i] for i in batch])
            for i, embedded in zip(batch, found, strict=True):
                results[i] = embedded
        return [embedded for embedded in results if embedded is not None]

    def _pass(self, texts: list[str], spans: list[Sequence[Span]]) -> list[Embedded]:
        """Run the model once over a batch and pool passages and sentences from its tokens."""
        import torch

        prefix = self._profile["passage_prefix"]
        with self._tokenizing:
            features = self._model.tokenizer(
                [prefix + text for text in texts],
                padding=True,
                truncation=True,
                max_length=self._profile["max_tokens"],
                return_offsets_mapping=True,
                return_tensors="pt",
            )
        offsets = features.pop("offset_mapping").numpy() - len(prefix)
        with torch.inference_mode():
            output = self._model.forward(dict(features))
        vectors = normalised(output["sentence_embedding"].float().numpy())
        tokens = output["token_embeddings"].float().numpy()
        return [
            Embedded(vectors[i], pool_spans(tokens[i], offsets[i], spans[i]))
            for i in range(len(texts))
        ]


def _threads() -> int:
    """Return how many threads PyTorch uses unless told otherwise."""
    import torch

    return int(torch.get_num_threads())


def _by_length(texts: Sequence[str], size: int) -> Iterator[list[int]]:
    """Yield batches of positions, longest texts first, so that little is padded."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _load(folder: Path) -> Any:
    """Load a model folder with sentence-transformers, offline and without its own code."""
    _check_modules(folder)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # has no types
    try:
        return SentenceTransformer(
            str(folder), device="cpu", local_files_only=True, trust_remote_code=False
        )
    except Exception as exc:  # a folder of the user's may be wrong in any way
        reason = str(exc).strip().partition("\n")[0] or type(exc).__name__
        raise SettingsError(
            f"The embedding model in '{folder}' cannot be loaded: {reason[:200]}. "
            "A sentence-transformers folder with modules.json and model.safetensors is expected. "
            "Name another with --embedder st:FOLDER, or leave it at 'minilm'."
        ) from exc


def _check_modules(folder: Path) -> None:
    """Refuse a model whose list of modules would import anything but sentence-transformers' own."""
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        foreign = [m["type"] for m in modules if not m["type"].startswith(OWN_MODULES)]
    except FileNotFoundError:
        return  # a plain transformers model; sentence-transformers adds its own pooling
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise SettingsError(
            f"The file '{folder / 'modules.json'}' cannot be read: {exc}. It lists the parts of "
            "the embedding model. Get the model again, or leave --embedder at 'minilm'."
        ) from exc
    if foreign:
        raise SettingsError(
            f"The embedding model in '{folder}' wants to run {foreign[0]!r}. Only parts of "
            "sentence-transformers itself are run. Choose another model with --embedder."
        )


def build_folder(argument: str, settings: Settings) -> LocalEmbedding:
    """Build a model from the user's own folder (``st:FOLDER``).

    Raises:
        SettingsError: No folder was named, or it holds no usable model.
    """
    if not argument:
        raise SettingsError(
            "The embedder 'st' needs a folder. Name one: --embedder st:/path/to/model"
        )
    folder = Path(argument).expanduser()
    revision = weights_sha256(folder)[:16]
    return LocalEmbedding(folder, revision=revision, batch_size=settings.embed_batch)
