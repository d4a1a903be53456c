"""A small model of our own that reads a question and an abstract together, in one pass.

It is the packaged MiniLM with layers trained on labelled questions (``weights/evidence_model.*``):
every token of the abstract sees the question. A sentence's score is read from the mean of its
tokens, and one more score says whether the abstract answers the question at all. The idea of
scoring spans pooled from one joint pass is that of extractive question answering (Devlin et al.
2019, BERT). ``python -m eval.bench.train_evidence`` trains it anew; docs/evidence.md is its card.
"""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .encoder import Encoder, Encoders, Floats, Ints, WordPieces, numbers_of, passes, stored_in
from .errors import SettingsError

QUESTION_TOKENS = 96  # of a longer question the rest is not read
TITLE_TOKENS = 48
WINDOW = 448  # tokens of one pass; a longer abstract is read in several
LONGEST_SENTENCE = 256  # tokens; of a longer one the rest is not read
WEIGHTS = "evidence_model.safetensors"
KEPT = 4096  # pages whose scores are kept, each with the question it was read for: a few MB
LOWEST = -20.0  # the logit of what was not read
_LOADING = threading.Lock()
NO_SENTENCE = -1e4  # the logit of a place without a sentence
BODY = "body."
_KINDS = ("weight", "bias")
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)  # and .3275911
FROZEN = ("body.embeddings.", "body.encoder.layer.0.", "body.encoder.layer.1.")  # MiniLM's own


@dataclass(frozen=True, slots=True)
class Page:
    """What is read beside the question: a title, which may be empty, and the sentences."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageScores:
    """What reading one page gave, as logits: above 0 means more likely than not.

    ``sentences`` has one number a sentence; ``answers`` says whether the page answers at all.
    """

    sentences: Floats
    answers: float


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens of one pass. ``owner`` is each token's sentence in the page, -1 for none."""

    ids: Ints
    types: Ints
    owner: Ints
    asked: NDArray[np.bool_]  # the tokens of the question
    first: int  # the first sentence in it
    count: int  # sentences in it


class PairTokenizer:
    """Lays a question and a page out as one line of tokens.

    Args:
        folder: Holds ``tokenizer.json``.
    """

    def __init__(self, folder: Path) -> None:
        self._pieces = WordPieces(folder / "tokenizer.json")
        self._cls, self._sep = (self._id(mark) for mark in ("[CLS]", "[SEP]"))

    def _id(self, mark: str) -> int:
        found = self._pieces.id_of(mark)
        if found is None:
            raise SettingsError(
                f"The tokenizer of the evidence model lacks the mark {mark!r}. It is not that of "
                "the packaged MiniLM. Install Citewell again."
            )
        return found

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [one.ids for one in self._pieces.encode(texts, special=False)]

    def windows(self, question: str, page: Page) -> list[Window]:
        """Return the passes that a page needs; none for a page without sentences."""
        if not page.sentences:
            return []
        asked, title, *rest = self._ids([question, page.title, *page.sentences])
        head = [self._cls, *asked[:QUESTION_TOKENS], self._sep]
        named = [*title[:TITLE_TOKENS], self._sep] if title else []
        sentences = [ids[:LONGEST_SENTENCE] for ids in rest]
        room = WINDOW - len(head) - len(named) - 1
        return [
            self._window(head, named, sentences[start:stop], start)
            for start, stop in _packed([len(ids) for ids in sentences], room)
        ]

    def _window(
        self, head: list[int], named: list[int], sentences: list[list[int]], first: int
    ) -> Window:
        ids, owner = [*head, *named], [-1] * (len(head) + len(named))
        for number, tokens in enumerate(sentences):
            ids += tokens
            owner += [number] * len(tokens)
        ids.append(self._sep)
        owner.append(-1)
        asked = np.zeros(len(ids), bool)
        asked[1 : len(head) - 1] = True
        types = np.ones(len(ids), np.int64)
        types[: len(head)] = 0
        return Window(
            np.asarray(ids, np.int64), types, np.asarray(owner), asked, first, len(sentences)
        )


def _packed(lengths: Sequence[int], room: int) -> Iterator[tuple[int, int]]:
    """Yield runs of sentences that fit a pass, each as (first, one past the last)."""
    start, used = 0, 0
    for at, length in enumerate(lengths):
        if at > start and used + length > room:
            yield start, at
            start, used = at, 0
        used += length
    yield start, len(lengths)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several windows side by side, padded, as arrays of ``(windows, tokens)``."""

    ids: Ints
    types: Ints
    mask: Ints
    pool: Floats  # (windows, most sentences, tokens): rows that average a sentence's tokens
    asked: Floats  # (windows, tokens): a row that averages the question's tokens
    counts: Ints


def batch_of(windows: Sequence[Window]) -> Batch:
    """Pad windows to the longest."""
    rows, width = len(windows), max(len(w.ids) for w in windows)
    most = max(w.count for w in windows)
    ids, types, mask = (np.zeros((rows, width), np.int64) for _ in range(3))
    pool = np.zeros((rows, most, width), np.float32)
    asked = np.zeros((rows, width), np.float32)
    for row, window in enumerate(windows):
        size = len(window.ids)
        ids[row, :size], types[row, :size], mask[row, :size] = window.ids, window.types, 1
        asked[row, :size] = window.asked / max(1, window.asked.sum())
        for number in range(window.count):
            inside = window.owner == number
            pool[row, number, :size] = inside / max(1, inside.sum())
    counts = np.asarray([w.count for w in windows], np.int64)
    return Batch(ids, types, mask, pool, asked, counts)


class EvidenceModel:
    """Reads pages for a question; threads may use it at the same time.

    What it said of the last pages is kept, so that a question asked again costs nothing.

    Args:
        folder: The MiniLM that the trained layers stand on.
        weights: The trained part: a safetensors file that training wrote.
        graph: The graph of that MiniLM's shape; None takes the packaged one.

    Raises:
        SettingsError: The weights are damaged, or do not fit the model.
    """

    def __init__(self, folder: Path, weights: Path, graph: bytes | None = None) -> None:
        self._tokenizer = PairTokenizer(folder)
        trained = stored_in(weights)
        self._heads = _Heads.of(trained, weights.name)
        numbers = _numbers(folder, trained, weights.name)
        self._encoders = Encoders(lambda: numbers, graph)
        self._kept: dict[tuple[str, Page], PageScores] = {}
        self._keeping = threading.Lock()

    def read(self, question: str, pages: Sequence[Page]) -> list[PageScores]:
        """Read pages beside a question.

        Args:
            question: The question, or a claim.
            pages: What to read; a page that is longer than one pass is read in several.

        Returns:
            The scores of each page, in order. A page without sentences gets no sentence scores and
            ``LOWEST`` as its own.
        """
        known = [self._kept.get((question, page)) for page in pages]
        fresh = [page for page, one in zip(pages, known, strict=True) if one is None]
        found = iter(self._read_afresh(question, fresh))
        scores = [next(found) if one is None else one for one in known]
        self._keep(question, pages, scores)
        return scores

    def _keep(self, question: str, pages: Sequence[Page], scores: Sequence[PageScores]) -> None:
        with self._keeping:
            for page, one in zip(pages, scores, strict=True):
                self._kept[question, page] = one
            for _ in range(len(self._kept) - KEPT):
                del self._kept[next(iter(self._kept))]

    def _read_afresh(self, question: str, pages: Sequence[Page]) -> list[PageScores]:
        scores = [PageScores(np.full(len(p.sentences), LOWEST, np.float32), LOWEST) for p in pages]
        placed = [(n, w) for n, p in enumerate(pages) for w in self._tokenizer.windows(question, p)]
        groups = passes([len(window.ids) for _, window in placed])
        batches = [batch_of([placed[i][1] for i in group]) for group in groups]
        read = self._encoders.each(batches, self._read)
        for group, (logits, answers) in zip(groups, read, strict=True):
            for row, i in enumerate(group):
                n, window = placed[i]
                found = scores[n].sentences
                found[window.first : window.first + window.count] = logits[row, : window.count]
                scores[n] = PageScores(found, max(scores[n].answers, float(answers[row])))
        for one in scores:
            one.sentences.flags.writeable = False  # they are kept, and seen by many
        return scores

    def _read(self, encoder: Encoder, batch: Batch) -> tuple[Floats, Floats]:
        return self._heads.judge(encoder.tokens(batch.ids, batch.types, batch.mask), batch)


@dataclass(frozen=True, slots=True)
class _Heads:
    """What is asked of the token vectors: two small networks with one hidden layer each."""

    near: float
    sentence: tuple[Floats, ...]  # weight and bias of its layers
    page: tuple[Floats, ...]

    @classmethod
    def of(cls, trained: Mapping[str, Floats], name: str) -> "_Heads":
        """Take the heads' parameters from a file's; ``name`` is the file's, for messages."""
        try:
            parts = {
                head: tuple(trained[f"{head}.{n}.{kind}"] for n in (0, 2) for kind in _KINDS)
                for head in ("sentence", "page")
            }
            near = float(trained["near"])
        except KeyError as exc:
            raise _misfit(name, str(exc.args[0])) from exc
        widths = [one.shape[0] for head in parts.values() for one in head]
        if widths[2:4] != [1, 1] or widths[6:] != [1, 1]:
            raise _misfit(name, "an output")
        return cls(near, parts["sentence"], parts["page"])

    def judge(self, tokens: Floats, batch: Batch) -> tuple[Floats, Floats]:
        """Return logits of sentences, ``(windows, sentences)``, and of windows, ``(windows,)``."""
        pooled = batch.pool @ tokens
        question = batch.asked[:, None, :] @ tokens
        near = _cosines(pooled, question)[:, :, None]
        logits = _layers(np.concatenate([pooled, pooled * question, near], axis=2), self.sentence)
        logits = (logits + self.near * near)[:, :, 0]
        logits[batch.pool.sum(axis=2) == 0] = NO_SENTENCE
        rows, at = np.arange(len(logits)), logits.argmax(axis=1)
        best = logits[rows, at][:, None]
        seen = [tokens[:, 0], pooled[rows, at] * question[:, 0], best, near[rows, at]]
        return logits, _layers(np.concatenate(seen, axis=1), self.page)[:, 0]


def _cosines(rows: Floats, one: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=2) * np.linalg.norm(one, axis=2)
    return np.asarray((rows * one).sum(axis=2) / np.maximum(lengths, 1e-8), np.float32)


def _layers(values: Floats, parts: Sequence[Floats]) -> Floats:
    """Run one hidden layer with GELU (Hendrycks and Gimpel 2016, by the error function)."""
    inner, inner_bias, outer, outer_bias = parts
    hidden = values @ inner.T + inner_bias
    hidden = hidden * (0.5 + 0.5 * _erf(hidden / math.sqrt(2)))
    return np.asarray(hidden @ outer.T + outer_bias, np.float32)


def _erf(x: Floats) -> Floats:
    """Return the error function within 5e-7 (Abramowitz and Stegun 1964, formula 7.1.26)."""
    size = np.abs(x)
    t = 1 / (1 + 0.3275911 * size)
    tail = np.polyval([*reversed(_ERF), 0.0], t) * np.exp(-size * size)
    return np.asarray(np.copysign(1 - tail, x), np.float32)


def _numbers(folder: Path, trained: Mapping[str, Floats], name: str) -> dict[str, Floats]:
    """Return the encoder's parameters: MiniLM's own where they were not trained."""
    stored = stored_in(folder / "model.safetensors")
    body = {key.removeprefix(BODY): one for key, one in trained.items() if key.startswith(BODY)}
    heads = {
        f"{head}.{n}.{kind}" for head in ("sentence", "page") for n in (0, 2) for kind in _KINDS
    }
    foreign = [key for key in trained if not key.startswith(BODY) and key not in heads | {"near"}]
    foreign += [key for key, one in body.items() if _shape(stored, key) != one.shape]
    frozen = tuple(one.removeprefix(BODY) for one in FROZEN)
    lacking = [
        key
        for key in stored
        if key.startswith("encoder.") and not key.startswith(frozen) and key not in body
    ]
    if wrong := [*foreign, *lacking]:
        raise _misfit(name, wrong[0])
    return numbers_of({**stored, **body})


def _shape(stored: Mapping[str, Floats], key: str) -> tuple[int, ...] | None:
    return stored[key].shape if key in stored else None


def _misfit(name: str, parameter: str) -> SettingsError:
    return SettingsError(
        f"The evidence model '{name}' does not fit: {parameter!r}. "
        "It was made for another model. Install Citewell again."
    )


def packaged_model() -> EvidenceModel:
    """Return the model that ships with the package; it is loaded once, whoever asks first.

    Raises:
        SettingsError: Weights are missing or damaged.
    """
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> EvidenceModel:
    from .embedders.minilm import packaged_minilm

    with resources.as_file(resources.files(__package__).joinpath("weights", WEIGHTS)) as weights:
        return EvidenceModel(packaged_minilm(), weights)
