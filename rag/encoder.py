"""Token ids → token vectors: a BERT encoder on onnxruntime, without torch or transformers.

The graph of MiniLM's six layers ships with the package as a few kilobytes without numbers
(``weights/bert.onnx``, made by ``python -m eval.bench.encoder_graph``); the numbers are read from a
model's own ``model.safetensors`` and put into the graph when it is opened, so nothing is exported
or cached. Its fused operators are those that onnxruntime documents as contributed operators. Adding
with it takes in 1.15 times the tokens a second of a plain PyTorch and Chroma program
(docs/benchmarks.md); opening it takes half a second, not ten.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .errors import SettingsError

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Given = TypeVar("Given")
Made = TypeVar("Made")

GRAPH = "bert.onnx"
MOST_THREADS = 8
PASS_TOKENS = 256  # padded tokens of one pass: more are slower, beyond the caches of a processor


class Encoder:
    """A BERT encoder; threads may use it at the same time.

    Args:
        numbers: The encoder's parameters, by the names of ``numbers_of``.
        graph: The ONNX graph they belong to; None takes the packaged one (MiniLM's shape).
        width: Threads of one pass; None takes all that ``threads`` allows.

    Raises:
        SettingsError: The numbers do not fit the graph.
    """

    def __init__(
        self,
        numbers: Mapping[str, Floats],
        graph: bytes | None = None,
        *,
        width: int | None = None,
    ) -> None:
        self._session = _session(numbers, graph or _packaged_graph(), width or threads())

    def tokens(self, ids: Ints, types: Ints, mask: Ints) -> Floats:
        """Return the vectors of all tokens.

        Args:
            ids: ``(rows, tokens)`` token numbers, padded with anything.
            types: ``(rows, tokens)``: 0 for the first text, 1 for the second.
            mask: ``(rows, tokens)``: 1 for a token, 0 for padding.

        Returns:
            ``(rows, tokens, width)`` float32; rows of padding hold nothing of use.
        """
        given = {"ids": ids, "types": types, "mask": mask}
        (found,) = self._session.run(None, {k: v.astype(np.int32) for k, v in given.items()})
        return np.asarray(found, np.float32)


class Encoders:
    """A BERT encoder for few passes and for many; threads may use it at the same time.

    Passes side by side, each on one thread, are a tenth faster than one after the other on all
    threads, if there are enough of them. Either kind is opened when it is first used.

    Args:
        numbers: Returns the encoder's parameters, by the names of ``numbers_of``; asked once for
            each kind.
        graph: The ONNX graph they belong to; None takes the packaged one (MiniLM's shape).
    """

    def __init__(
        self, numbers: Callable[[], Mapping[str, Floats]], graph: bytes | None = None
    ) -> None:
        self._numbers = numbers
        self._graph = graph
        self._opened: dict[int, Encoder] = {}
        self._opening = threading.Lock()

    def of(self, width: int) -> Encoder:
        """Return the encoder whose passes use so many threads.

        Raises:
            SettingsError: The numbers do not fit the graph.
        """
        with self._opening:
            if width not in self._opened:
                self._opened[width] = Encoder(self._numbers(), self._graph, width=width)
            return self._opened[width]

    def each(self, work: Sequence[Given], read: Callable[[Encoder, Given], Made]) -> list[Made]:
        """Do the work of some passes; return what each gave, in order.

        Args:
            work: What each pass is given.
            read: Makes one pass with the encoder that it is handed.
        """
        width = threads()
        if width == 1 or len(work) < width:
            return [read(self.of(width), one) for one in work]
        with ThreadPoolExecutor(width) as pool:
            return list(pool.map(partial(read, self.of(1)), work))


def _packaged_graph() -> bytes:
    return resources.files(__package__).joinpath("weights", GRAPH).read_bytes()


def _onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off.

    Since 1.29 its Linux builds send events and keep a device id in the home folder unless this
    variable is set before the import; the call covers a host that imported it earlier.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _session(numbers: Mapping[str, Floats], graph: bytes, width: int) -> Any:
    """Open the graph. Threads of a pass wait for each other awake only where NumPy's do not.

    That makes a question's vector a third faster, but two such groups take each other's cores.
    """
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = width
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors; they are raised as well
    # The graph is laid out by hand: onnxruntime would fuse norms into an operator that is slower.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    awake = "1" if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else "0"
    options.add_session_config_entry("session.intra_op.allow_spinning", awake)
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(one) for one in numbers.values()]
    try:
        options.add_external_initializers(list(numbers), values)
        return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    except Exception as exc:  # onnxruntime raises classes of its own, RuntimeError and ValueError
        raise SettingsError(
            f"The model's numbers do not fit its graph: {str(exc)[:200]}. The files are damaged or "
            "of different versions. Install Citewell again."
        ) from exc


def threads() -> int:
    """Return how many threads a pass uses: the cores this process may use, at most eight."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        cores = os.cpu_count() or 1
    return min(MOST_THREADS, cores)


# ---- numbers -------------------------------------------------------------------------------------

_SHARED = {
    "word": "embeddings.word_embeddings.weight",
    "place": "embeddings.position_embeddings.weight",
    "type": "embeddings.token_type_embeddings.weight",
    "norm.w": "embeddings.LayerNorm.weight",
    "norm.b": "embeddings.LayerNorm.bias",
}
_OF_LAYER = {
    "out.b": "attention.output.dense.bias",
    "norm1.w": "attention.output.LayerNorm.weight",
    "norm1.b": "attention.output.LayerNorm.bias",
    "up.b": "intermediate.dense.bias",
    "down.b": "output.dense.bias",
    "norm2.w": "output.LayerNorm.weight",
    "norm2.b": "output.LayerNorm.bias",
}
_TURNED = {  # multiplied from the right here, from the left in PyTorch
    "out.w": "attention.output.dense.weight",
    "up.w": "intermediate.dense.weight",
    "down.w": "output.dense.weight",
}
_ASKING = ("query", "key", "value")


def numbers_of(stored: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return a BERT model's parameters as the graph names and lays them out.

    Args:
        stored: Parameters by the names of Hugging Face's ``BertModel``.

    Returns:
        Name in the graph → float32 array.

    Raises:
        SettingsError: One is missing.
    """
    try:
        found = {name: stored[key] for name, key in _SHARED.items()}
        for layer in range(_layers(stored)):
            of = {key: stored[f"encoder.layer.{layer}.{key}"] for key in _keys()}
            found.update({f"{layer}.{name}": one for name, one in _layer(of).items()})
    except KeyError as exc:
        raise SettingsError(
            f"The model lacks the parameter {exc.args[0]!r}. A BERT encoder is expected. "
            "Install the model again."
        ) from exc
    return {name: np.ascontiguousarray(one, np.float32) for name, one in found.items()}


def _layers(stored: Mapping[str, Floats]) -> int:
    numbers = {int(key.split(".")[2]) for key in stored if key.startswith("encoder.layer.")}
    return max(numbers, default=-1) + 1


def _keys() -> list[str]:
    asking = [f"attention.self.{part}.{kind}" for part in _ASKING for kind in ("weight", "bias")]
    return [*asking, *_OF_LAYER.values(), *_TURNED.values()]


def _layer(of: Mapping[str, Floats]) -> dict[str, Floats]:
    asking = [f"attention.self.{part}" for part in _ASKING]
    return {
        "qkv.w": np.concatenate([of[f"{part}.weight"].T for part in asking], axis=1),
        "qkv.b": np.concatenate([of[f"{part}.bias"] for part in asking]),
        **{name: of[key] for name, key in _OF_LAYER.items()},
        **{name: of[key].T for name, key in _TURNED.items()},
    }


def stored_in(file: Path) -> dict[str, Floats]:
    """Return the parameters of a safetensors file as float32.

    Raises:
        SettingsError: It is missing or damaged.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        found = load_file(str(file))
    except (OSError, SafetensorError) as exc:
        raise SettingsError(
            f"The weights '{file.name}' cannot be read: {str(exc)[:200]}. The file is damaged or "
            "of another version. Install Citewell again."
        ) from exc
    return {name: one.astype(np.float32, copy=False) for name, one in found.items()}


# ---- passes --------------------------------------------------------------------------------------


def passes(lengths: Sequence[int], *, room: int = PASS_TOKENS) -> list[list[int]]:
    """Sort texts into passes of about one length, so that hardly anything is padded.

    Args:
        lengths: Tokens of each text.
        room: Tokens of a pass, padding included; a longer text is a pass of its own.

    Returns:
        Positions of the texts in each pass, longest texts first.
    """
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    found: list[list[int]] = []
    for i in order:
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= room:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def padded(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return token numbers side by side and their mask, both ``(rows, longest)``."""
    width = max(map(len, rows), default=0)
    ids, mask = (np.zeros((len(rows), width), np.int64) for _ in range(2))
    for n, row in enumerate(rows):
        ids[n, : len(row)], mask[n, : len(row)] = row, 1
    return ids, mask


class WordPieces:
    """A model's tokenizer; threads may use it at the same time.

    Args:
        file: Its ``tokenizer.json``.

    Raises:
        SettingsError: The file is missing or damaged.
    """

    def __init__(self, file: Path) -> None:
        from tokenizers import Tokenizer

        os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
        try:
            self._tokenizer = Tokenizer.from_file(str(file))
        except Exception as exc:  # tokenizers raises plain exceptions
            raise SettingsError(
                f"The tokenizer '{file}' cannot be read: {str(exc)[:200]}. Install Citewell again."
            ) from exc
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._lock = threading.Lock()

    def id_of(self, mark: str) -> int | None:
        """Return the number of a token; None where the model has none such."""
        found = self._tokenizer.token_to_id(mark)
        return None if found is None else int(found)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens texts have, the special ones included, without their places."""
        with self._lock:
            found = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=True)
        return [len(one.ids) for one in found]

    def encode(self, texts: Sequence[str], *, special: bool = True) -> list[Any]:
        """Return the encodings of texts (``ids`` and ``offsets``), none cut, none padded."""
        with self._lock:
            if len(texts) == 1:  # no threads for one text
                return [self._tokenizer.encode(texts[0], add_special_tokens=special)]
            found = self._tokenizer.encode_batch(list(texts), add_special_tokens=special)
        return list(found)
