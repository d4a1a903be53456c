"""A cross-encoder of the user's own that says whether a statement follows from a sentence."""

import json
import math
import os
import threading
from pathlib import Path
from typing import Any

from ..errors import SettingsError


class CrossEncoderEntailment:
    """A sentence-transformers cross-encoder for entailment, from a local folder.

    Its labels are read at once; its weights are loaded at the first call. Nothing is fetched, and
    no code from the folder is run.

    Args:
        folder: The model's folder.

    Raises:
        SettingsError: The folder holds no model that has a label for entailment.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._label, self._labels = entailment_label(folder)
        self._model: Any = None
        self._loading = threading.Lock()

    def __call__(self, statement: str, sentence: str) -> float:
        """Return the probability, 0 to 1, that a statement follows from a sentence.

        Raises:
            SettingsError: The model cannot be loaded, or gives other scores than it has labels.
        """
        with self._loading:  # one call at a time: tokenizers keep state
            if self._model is None:
                self._model = _load(self._folder)
            found = self._model.predict(
                [(sentence, statement)], apply_softmax=False, show_progress_bar=False
            )
        scores = [float(score) for score in found.reshape(-1)]
        if len(scores) != self._labels:
            raise _unusable(
                self._folder, f"it gives {len(scores)} scores for {self._labels} labels"
            )
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        return powers[self._label] / sum(powers)


def entailment_label(folder: Path) -> tuple[int, int]:
    """Return which of a model's labels means entailment, from 0, and how many labels it has.

    Raises:
        SettingsError: The folder has no readable config.json, or none of its labels says so.
    """
    try:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        labels = {int(n): str(name).casefold() for n, name in config["id2label"].items()}
    except FileNotFoundError as exc:
        raise _unusable(folder, "it holds no config.json") from exc
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as exc:
        raise _unusable(folder, "its config.json cannot be read or names no labels") from exc
    named = [n for n, name in labels.items() if name.startswith("entail")]
    if len(named) != 1 or len(labels) < 2:
        shown = ", ".join(sorted(labels.values())[:8])
        raise _unusable(folder, f"of its labels ({shown}) none is called 'entailment'")
    return named[0], len(labels)


def _load(folder: Path) -> Any:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from sentence_transformers import CrossEncoder

    try:
        return CrossEncoder(
            str(folder), device="cpu", local_files_only=True, trust_remote_code=False
        )
    except Exception as exc:  # a folder of the user's may be wrong in any way
        reason = str(exc).strip().partition("\n")[0] or type(exc).__name__
        raise _unusable(folder, reason[:200]) from exc


def _unusable(folder: Path, reason: str) -> SettingsError:
    return SettingsError(
        f"The verifier '{folder}' cannot be used: {reason}. The folder of a sentence-transformers "
        "cross-encoder with a label 'entailment' is expected. Name one with --verifier FOLDER, or "
        "leave it out."
    )
