"""Make the graph of the encoder that ships with the package (``rag/weights/bert.onnx``).

It holds MiniLM's structure and no numbers; ``rag/encoder.py`` puts those in. ``onnx`` is needed for
this command only:

    python -m eval.bench.encoder_graph --out rag/weights/bert.onnx
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

FUSED = "com.microsoft"  # onnxruntime's contributed operators
OPSET = 18
IR_VERSION = 9


@dataclass(frozen=True, slots=True)
class Shape:
    """The structure of a BERT encoder; the defaults are MiniLM's."""

    layers: int = 6
    width: int = 384
    heads: int = 12
    inner: int = 1536
    vocabulary: int = 30522
    places: int = 512
    epsilon: float = 1e-12


def graph(shape: Shape) -> bytes:
    """Return the encoder's graph as a serialised ONNX model whose numbers are given later."""
    numbers = [_number(name, size) for name, size in _numbers(shape)]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT32, ["rows", "length"])
        for name in ("ids", "types", "mask")
    ]
    out = helper.make_tensor_value_info(
        "tokens", TensorProto.FLOAT, ["rows", "length", shape.width]
    )
    body = helper.make_graph(list(_nodes(shape)), "bert", inputs, [out], numbers)
    model = helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(FUSED, 1)]
    )
    model.ir_version = IR_VERSION
    model.producer_name, model.producer_version = "citewell", ""
    return bytes(model.SerializeToString(deterministic=True))


def _numbers(shape: Shape) -> Iterator[tuple[str, list[int]]]:
    width, inner = shape.width, shape.inner
    yield from (("word", [shape.vocabulary, width]), ("place", [shape.places, width]))
    yield from (("type", [2, width]), ("norm.w", [width]), ("norm.b", [width]))
    for layer in range(shape.layers):
        for name, size in (
            ("qkv.w", [width, 3 * width]), ("qkv.b", [3 * width]), ("out.w", [width, width]),
            ("out.b", [width]), ("norm1.w", [width]), ("norm1.b", [width]),
            ("up.w", [width, inner]), ("up.b", [inner]), ("down.w", [inner, width]),
            ("down.b", [width]), ("norm2.w", [width]), ("norm2.b", [width]),
        ):  # fmt: skip
            yield f"{layer}.{name}", size


def _number(name: str, size: list[int]) -> TensorProto:
    """Return a place for numbers that are kept outside the graph."""
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=size)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "none"), ("offset", "0"), ("length", str(4 * prod(size)))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _nodes(shape: Shape) -> Iterator[Any]:
    def node(kind: str, inputs: list[str], *outputs: str, **more: Any) -> Any:
        return helper.make_node(kind, inputs, list(outputs), domain=FUSED, **more)

    def plus(left: str, right: str, out: str) -> Any:
        return helper.make_node("Add", [left, right], [out])

    def norm(given: list[str], numbers: str, bias: str, out: str) -> Iterator[Any]:
        """Add a bias and what was skipped, then normalise: quicker than the fused operator."""
        yield plus(given[0], bias, f"{out}.biased")
        yield plus(f"{out}.biased", given[1], f"{out}.sum")
        scale = [f"{out}.sum", f"{numbers}.w", f"{numbers}.b"]
        yield helper.make_node("LayerNormalization", scale, [out], epsilon=shape.epsilon)

    def times(left: str, right: str, out: str) -> Any:
        return helper.make_node("MatMul", [left, right], [out])

    first = ["ids", "types", "word", "place", "type", "norm.w", "norm.b"]
    yield node("EmbedLayerNormalization", first, "0.in", "unused", epsilon=shape.epsilon)
    for n in range(shape.layers):
        into = f"{n}.in"
        out = "tokens" if n == shape.layers - 1 else f"{n + 1}.in"
        asked = [into, f"{n}.qkv.w", f"{n}.qkv.b", "mask"]
        yield node("Attention", asked, f"{n}.seen", num_heads=shape.heads)
        yield times(f"{n}.seen", f"{n}.out.w", f"{n}.mixed")
        yield from norm([f"{n}.mixed", into], f"{n}.norm1", f"{n}.out.b", f"{n}.middle")
        yield times(f"{n}.middle", f"{n}.up.w", f"{n}.wide")
        yield plus(f"{n}.wide", f"{n}.up.b", f"{n}.raised")
        yield node("Gelu", [f"{n}.raised"], f"{n}.bent")
        yield times(f"{n}.bent", f"{n}.down.w", f"{n}.narrow")
        yield from norm([f"{n}.narrow", f"{n}.middle"], f"{n}.norm2", f"{n}.down.b", out)


def main() -> None:
    """Write the graph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="e.g. rag/weights/bert.onnx")
    parser.parse_args().out.write_bytes(graph(Shape()))


if __name__ == "__main__":
    main()
