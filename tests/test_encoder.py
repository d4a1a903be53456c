"""The encoder's graph, its numbers, and how texts are laid into passes."""

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from eval.bench.encoder_graph import Shape, graph
from rag import encoder
from rag.embedders.minilm import packaged_minilm
from rag.encoder import Encoder, Encoders, WordPieces, numbers_of, padded, passes, stored_in
from rag.errors import SettingsError

ROOT = Path(__file__).parents[1]
SMALL = Shape(layers=1, width=8, heads=2, inner=8, vocabulary=20, places=12)


def stored(shape=SMALL, seed=3):
    """Return random parameters under the names of Hugging Face's BertModel."""
    draw = np.random.default_rng(seed)
    width, inner = shape.width, shape.inner
    sizes = {
        "embeddings.word_embeddings.weight": (shape.vocabulary, width),
        "embeddings.position_embeddings.weight": (shape.places, width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,), "embeddings.LayerNorm.bias": (width,),
    }  # fmt: skip
    for n in range(shape.layers):
        for name, size in {
            "attention.self.query": (width, width), "attention.self.key": (width, width),
            "attention.self.value": (width, width), "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width), "output.dense": (width, inner),
        }.items():  # fmt: skip
            sizes[f"encoder.layer.{n}.{name}.weight"] = size
            sizes[f"encoder.layer.{n}.{name}.bias"] = size[:1]
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            sizes |= {f"encoder.layer.{n}.{name}.{kind}": (width,) for kind in ("weight", "bias")}
    return {name: draw.normal(size=size).astype(np.float32) for name, size in sizes.items()}


def test_the_packaged_graph_is_the_one_that_the_command_makes():
    packaged = resources.files("rag").joinpath("weights", "bert.onnx").read_bytes()
    assert packaged == graph(Shape())


def test_tokens_are_those_of_a_bert_written_down_step_by_step():
    given = stored()
    encoder = Encoder(numbers_of(given), graph(SMALL))
    ids = np.asarray([[3, 7, 5, 2], [4, 9, 0, 0]])
    mask = np.asarray([[1, 1, 1, 1], [1, 1, 0, 0]])
    types = np.asarray([[0, 0, 1, 1], [0, 1, 0, 0]])
    found = encoder.tokens(ids, types, mask)
    assert found.shape == (2, 4, 8)
    for row, length in ((0, 4), (1, 2)):
        expected = by_hand(given, ids[row, :length], types[row, :length])
        assert found[row, :length] == pytest.approx(expected, abs=1e-4)


def by_hand(given, ids, types):
    """Compute the vectors of one text's tokens in plain NumPy."""

    def norm(values, name):
        centred = values - values.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True))
        return scaled * given[f"{name}.weight"] + given[f"{name}.bias"]

    def dense(values, name):
        return values @ given[f"{name}.weight"].T + given[f"{name}.bias"]

    places = given["embeddings.position_embeddings.weight"][: len(ids)]
    values = given["embeddings.word_embeddings.weight"][ids] + places
    values = norm(values + given["embeddings.token_type_embeddings.weight"][types],
                  "embeddings.LayerNorm")  # fmt: skip
    at = "encoder.layer.0."
    asked, key, held = (
        dense(values, f"{at}attention.self.{part}").reshape(len(ids), 2, 4).transpose(1, 0, 2)
        for part in ("query", "key", "value")
    )
    weights = np.exp(asked @ key.transpose(0, 2, 1) / 2)
    weights /= weights.sum(axis=2, keepdims=True)
    seen = (weights @ held).transpose(1, 0, 2).reshape(len(ids), 8)
    seen = norm(dense(seen, f"{at}attention.output.dense") + values,
                f"{at}attention.output.LayerNorm")  # fmt: skip
    wide = dense(seen, f"{at}intermediate.dense")
    from math import erf

    bent = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
    return norm(dense(bent, f"{at}output.dense") + seen, f"{at}output.LayerNorm")


@pytest.mark.parametrize(
    "missing",
    ["embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.key.bias"],
)
def test_a_model_that_lacks_a_parameter_is_told(missing):
    given = stored()
    del given[missing]
    with pytest.raises(SettingsError, match=f"lacks the parameter '{missing}'"):
        numbers_of(given)


def test_numbers_of_another_shape_are_refused():
    given = numbers_of(stored()) | {"0.up.w": np.zeros((3, 3), np.float32)}
    with pytest.raises(SettingsError, match="do not fit its graph"):
        Encoder(given, graph(SMALL))


@pytest.mark.parametrize("content", [None, b"", b"no weights"], ids=["missing", "empty", "other"])
def test_a_damaged_file_of_weights_is_told(tmp_path, content):
    path = tmp_path / "model.safetensors"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"'model.safetensors' cannot be read"):
        stored_in(path)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        pytest.param([], [], id="none"),
        pytest.param([5], [[0]], id="one"),
        pytest.param([2, 9, 3, 9], [[1, 3], [2, 0]], id="longest first, as many as fit"),
        pytest.param([50, 1], [[0], [1]], id="longer than a pass"),
        pytest.param([0, 0, 0], [[0, 1, 2]], id="without tokens"),
    ],
)
def test_passes_hold_texts_of_about_one_length(lengths, expected):
    assert passes(lengths, room=20) == expected


def test_rows_are_padded_to_the_longest():
    ids, mask = padded([[1, 2, 3], [4]])
    assert ids.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert padded([])[0].shape == (0, 0)


def test_a_damaged_tokenizer_is_told(tmp_path):
    with pytest.raises(SettingsError, match="cannot be read"):
        WordPieces(tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(SettingsError, match="Install Citewell again"):
        WordPieces(tmp_path / "tokenizer.json")


@pytest.mark.model
def test_b38_reading_leaves_no_trace_in_the_home_folder_and_names_no_collector(tmp_path):
    code = (
        "from rag.embedders.minilm import MiniLM, packaged_minilm\n"
        "assert len(MiniLM(packaged_minilm()).get_text_embedding('a text')) == 384\n"
    )
    home = tmp_path / "empty"
    home.mkdir()
    ours = {"PATH": os.environ["PATH"], "HOME": str(home)}  # no CI, which would hide it
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ours,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(home.rglob("*")) == []


def test_nothing_is_cut_or_padded_and_offsets_point_into_the_text():
    pieces = WordPieces(packaged_minilm() / "tokenizer.json")
    long, short = pieces.encode(["gulls nest " * 400, "one"])
    assert len(long.ids) > 800
    assert len(short.ids) == 3
    assert short.offsets == [(0, 0), (0, 3), (0, 0)]
    assert [len(one.ids) for one in pieces.encode(["one"], special=False)] == [1]
    assert pieces.id_of("[SEP]") == 102
    assert pieces.id_of("no such token") is None


@pytest.mark.parametrize(("cores", "widths"), [(1, {1}), (2, {1}), (4, {4})])
def test_passes_are_made_side_by_side_where_there_are_enough(monkeypatch, cores, widths):
    monkeypatch.setattr(encoder, "threads", lambda: cores)
    both = Encoders(lambda: numbers_of(stored()), graph(SMALL))
    work = [np.asarray([[3, 7, n]]) for n in range(3)]
    ones = np.ones((1, 3), np.int64)
    found = both.each(work, lambda one, ids: one.tokens(ids, 0 * ones, ones))
    assert set(both._opened) == widths
    alone = Encoder(numbers_of(stored()), graph(SMALL))
    for ids, its in zip(work, found, strict=True):
        assert its == pytest.approx(alone.tokens(ids, 0 * ones, ones), abs=1e-5)


def test_an_error_in_a_pass_beside_others_reaches_the_caller(monkeypatch):
    monkeypatch.setattr(encoder, "threads", lambda: 2)

    def fail(one, given):
        raise ValueError(given)

    with pytest.raises(ValueError, match="first"):
        Encoders(lambda: numbers_of(stored()), graph(SMALL)).each(["first", "second"], fail)


@pytest.mark.parametrize(("blas", "awake"), [("1", "1"), ("2", "0"), (None, "0")])
def test_threads_wait_awake_only_where_those_of_numpy_do_not(monkeypatch, blas, awake):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    if blas:
        monkeypatch.setenv("OPENBLAS_NUM_THREADS", blas)
    session = Encoder(numbers_of(stored()), graph(SMALL), width=2)._session
    options = session.get_session_options()
    assert options.get_session_config_entry("session.intra_op.allow_spinning") == awake
