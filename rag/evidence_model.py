"""A small model of our own that reads a question and an abstract together, in one pass.

It is the packaged MiniLM with layers trained on labelled questions (``weights/evidence_model.*``):
every token of the abstract sees the question. A sentence's score is read from the mean of its
tokens, and one more score says whether the abstract answers the question at all. The idea of
scoring spans pooled from one joint pass is that of extractive question answering (Devlin et al.
2019, BERT). ``python -m eval.bench.train_evidence`` trains it anew; docs/evidence.md is its card.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import SettingsError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

QUESTION_TOKENS = 96  # of a longer question the rest is not read
TITLE_TOKENS = 48
WINDOW = 448  # tokens of one pass; a longer abstract is read in several
LONGEST_SENTENCE = 256  # tokens; of a longer one the rest is not read
WEIGHTS = "evidence_model.safetensors"
LOWEST = -20.0  # the logit of what was not read
PASSES = 8  # windows side by side
_LOADING = threading.Lock()
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
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._lock = threading.Lock()
        self._cls, self._sep = (self._id(mark) for mark in ("[CLS]", "[SEP]"))

    def _id(self, mark: str) -> int:
        found = self._tokenizer.token_to_id(mark)
        if found is None:
            raise SettingsError(
                f"The tokenizer of the evidence model lacks the mark {mark!r}. It is not that of "
                "the packaged MiniLM. Install Citewell again."
            )
        return found

    def _ids(self, texts: Sequence[str]) -> list[list[int]]:
        with self._lock:
            found = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [one.ids for one in found]

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
    """Reads pages for a question.

    Args:
        folder: The MiniLM that the trained layers stand on.
        weights: The trained part: a safetensors file that ``save`` wrote.

    Raises:
        SettingsError: The weights do not fit the model.
    """

    def __init__(self, folder: Path, weights: Path) -> None:
        self._tokenizer = PairTokenizer(folder)
        self._module = network(folder)
        load(self._module, weights)
        self._module.eval()
        self._reading = threading.Lock()

    def read(self, question: str, pages: Sequence[Page]) -> list[PageScores]:
        """Read pages beside a question.

        Args:
            question: The question, or a claim.
            pages: What to read; a page that is longer than one pass is read in several.

        Returns:
            The scores of each page, in order. A page without sentences gets no sentence scores and
            ``LOWEST`` as its own.
        """
        import torch

        scores = [PageScores(np.full(len(p.sentences), LOWEST, np.float32), LOWEST) for p in pages]
        placed = [(n, w) for n, p in enumerate(pages) for w in self._tokenizer.windows(question, p)]
        placed.sort(key=lambda pair: len(pair[1].ids))
        with torch.inference_mode():
            for start in range(0, len(placed), PASSES):
                self._read(placed[start : start + PASSES], scores)
        return scores

    def _read(self, placed: Sequence[tuple[int, Window]], scores: list[PageScores]) -> None:
        batch = batch_of([window for _, window in placed])
        with self._reading:  # passes side by side would only take the cores from each other
            logits, answers = run(self._module, batch)
        for row, (n, window) in enumerate(placed):
            found = scores[n].sentences
            found[window.first : window.first + window.count] = logits[row, : window.count].numpy()
            scores[n] = PageScores(found, max(scores[n].answers, float(answers[row])))


def packaged_model() -> EvidenceModel:
    """Return the model that ships with the package; it is loaded once, whoever asks first.

    Raises:
        SettingsError: Weights are missing or damaged.
    """
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> EvidenceModel:
    from .embedders.local import packaged_minilm

    with resources.as_file(resources.files(__package__).joinpath("weights", WEIGHTS)) as weights:
        return EvidenceModel(packaged_minilm(), weights)


def network(folder: Path, *, hidden: int = 128) -> Any:
    """Return the untrained PyTorch module: MiniLM of a folder with heads for our two scores."""
    import torch
    from safetensors.torch import load_file
    from torch import nn
    from transformers import AutoConfig, BertModel

    class Network(nn.Module):
        """MiniLM, a head that scores pooled sentences, and one for the page."""

        def __init__(self) -> None:
            super().__init__()
            config = AutoConfig.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False
            )
            self.body = BertModel(config, add_pooling_layer=False)
            stored = load_file(str(folder / "model.safetensors"))
            self.body.load_state_dict(stored, strict=False)  # the pooling layer is not used
            width = int(self.body.config.hidden_size)
            self.sentence = nn.Sequential(
                nn.Linear(2 * width + 1, hidden), nn.GELU(), nn.Linear(hidden, 1)
            )
            self.near = nn.Parameter(torch.tensor(6.0))
            self.page = nn.Sequential(
                nn.Linear(2 * width + 2, hidden), nn.GELU(), nn.Linear(hidden, 1)
            )

        def forward(self, ids: Any, types: Any, mask: Any, pool: Any, asked: Any) -> Any:
            """Return sentence logits ``(rows, sentences)`` and page logits ``(rows,)``."""
            tokens = self.body(
                input_ids=ids, token_type_ids=types, attention_mask=mask
            ).last_hidden_state
            pooled = torch.bmm(pool, tokens)
            question = torch.bmm(asked.unsqueeze(1), tokens)
            near = torch.cosine_similarity(pooled, question, dim=-1).unsqueeze(-1)
            seen = torch.cat([pooled, pooled * question, near], dim=-1)
            logits = (self.sentence(seen) + self.near * near).squeeze(-1)
            empty = pool.sum(-1) == 0
            logits = logits.masked_fill(empty, -1e4)
            best, at = logits.max(dim=1)
            rows = torch.arange(len(at))
            whole = torch.cat(
                [
                    tokens[:, 0],
                    pooled[rows, at] * question[:, 0],
                    best.unsqueeze(-1),
                    near[rows, at],
                ],
                dim=-1,
            )
            return logits, self.page(whole).squeeze(-1)

    return Network()


def run(module: Any, batch: Batch) -> tuple[Any, Any]:
    """Call the module on a batch."""
    import torch

    parts = (batch.ids, batch.types, batch.mask, batch.pool, batch.asked)
    logits, answers = module(*(torch.from_numpy(part) for part in parts))
    return logits, answers


def save(module: Any, weights: Path, card: Mapping[str, str]) -> None:
    """Write the trained part of a module as half floats, with its card as the file's metadata."""
    from safetensors.torch import save_file

    trained = {
        name: value.half().contiguous()
        for name, value in module.state_dict().items()
        if not name.startswith(FROZEN)
    }
    save_file(trained, str(weights), metadata=dict(card))


def load(module: Any, weights: Path) -> None:
    """Read the trained part into a module.

    Raises:
        SettingsError: The file is missing, damaged or of another model.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        trained = {name: value.float() for name, value in load_file(str(weights)).items()}
        missing, foreign = module.load_state_dict(trained, strict=False)
    except (OSError, SafetensorError, RuntimeError) as exc:
        raise SettingsError(
            f"The evidence model '{weights.name}' cannot be read: {str(exc)[:200]}. The file is "
            "damaged or of another version. Install Citewell again."
        ) from exc
    lacking = [name for name in missing if not name.startswith(FROZEN)]
    if lacking or foreign:
        raise SettingsError(
            f"The evidence model '{weights.name}' does not fit: {(lacking + list(foreign))[0]!r}. "
            "It was made for another model. Install Citewell again."
        )
