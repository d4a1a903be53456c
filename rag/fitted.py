"""The fitted models that mix features, by name, and the file that ships them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import numpy as np

from .embedders import Vectors

Mode = Literal["read", "plain"]  # with the evidence model of our own, or without
SENTENCE_FEATURES = (
    "cosine",
    "cosine_below_best",
    "coverage",
    "coverage_below_best",
    "joint_coverage",
    "names",
    "paper_score",
    "paper_below_best",
    "paper_cosine",
    "first",
    "last",
    "place",
    "length",
    "number_wanted_and_there",
    "number_wanted_not_there",
    "series_wanted_and_there",
    "ours",
    "result",
    "result_and_number",
    "read",
    "read_below_best",
    "read_page",
)
TOPIC_FEATURES = (
    "cosine",
    "paper_cosine",
    "coverage_paper",
    "coverage_sentence",
    "missing_weight",
    "name_met",
    "name_unknown",
    "rarest_met",
    "lexical_terms",
    "gap",
)
DETAIL_FEATURES = (
    "read_best",
    "read_page",
    "read_page_of_best",
    "number_missing",
    "name_met",
    "missing_weight",
)
PAPER_FEATURES = (
    "score",
    "below_best",
    "cosine",
    "coverage",
    "names",
    "read_best",
    "read_page",
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A logistic model: probability = 1 / (1 + exp(-(features · weights + bias)))."""

    weights: tuple[float, ...]
    bias: float

    def logits(self, features: Vectors) -> Vectors:
        """Return one number a row; above 0 means more likely than not."""
        return np.asarray(features @ np.asarray(self.weights, np.float32) + self.bias, np.float32)


@dataclass(frozen=True, slots=True)
class Weights:
    """The fitted models and the probability below which the default is to abstain.

    ``topic`` says whether the library is about what is asked, ``detail`` whether a paper on it
    holds the very thing; without ``detail`` every paper is taken to hold it. ``paper`` orders the
    papers that were read; None leaves them as they were found. ``claim`` chooses sentences where
    something is stated instead of asked; None leaves that to ``sentence``.
    """

    sentence: Linear
    topic: Linear
    abstain_below: float
    detail: Linear | None = None
    paper: Linear | None = None
    claim: Linear | None = None


@cache
def packaged_weights(mode: Mode = "read") -> Weights:
    """Return the weights that ship with the package, for reading with or without our model."""
    text = resources.files(__package__).joinpath("weights/evidence.json").read_text("utf-8")
    stored = json.loads(text)[mode]
    return Weights(
        _linear(stored["sentence"], SENTENCE_FEATURES),
        _linear(stored["topic"], TOPIC_FEATURES),
        float(stored["abstain_below"]),
        _linear(stored["detail"], DETAIL_FEATURES) if "detail" in stored else None,
        _linear(stored["paper"], PAPER_FEATURES) if "paper" in stored else None,
        _linear(stored["claim"], SENTENCE_FEATURES) if "claim" in stored else None,
    )


def _linear(stored: Mapping[str, Any], order: Sequence[str]) -> Linear:
    """Read a model stored by name; a feature that it lacks weighs nothing."""
    by_name: Mapping[str, float] = stored["weights"]
    return Linear(tuple(by_name.get(name, 0.0) for name in order), float(stored["bias"]))
