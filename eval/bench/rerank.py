"""A cross-encoder of the user's own that sorts what the hybrid found anew."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rag.errors import SettingsError
from rag.schema import RankedPaper


class Reranker:
    """A sentence-transformers cross-encoder from a local folder.

    Nothing is fetched, and no code from the folder is run.

    Args:
        folder: The model's folder.

    Raises:
        SettingsError: The folder holds no cross-encoder that can be loaded.
    """

    def __init__(self, folder: Path) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        from sentence_transformers import CrossEncoder

        if not (folder / "config.json").is_file():
            raise _unusable(folder, "it holds no config.json")
        try:
            self._model: Any = CrossEncoder(
                str(folder), device="cpu", local_files_only=True, trust_remote_code=False
            )
        except (OSError, ValueError, KeyError) as exc:
            raise _unusable(folder, str(exc).splitlines()[0]) from exc

    def scores(self, query: str, papers: Sequence[RankedPaper]) -> list[float]:
        """Return how well each paper's title and abstract fit a query, higher is better."""
        if not papers:
            return []
        pairs = [(query, f"{one.paper.title}\n{one.paper.abstract}".strip()) for one in papers]
        found = self._model.predict(pairs, show_progress_bar=False)
        return [float(score) for score in found.reshape(len(pairs), -1)[:, -1]]


def _unusable(folder: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"The reranker '{folder}' cannot be loaded: {reason}. The folder of a "
        "sentence-transformers cross-encoder is expected. Name one with --reranker FOLDER, or "
        "leave it out."
    )
