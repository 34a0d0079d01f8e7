"""The recipe for MiniLM's compute graph: int8 products, one activation scale a token, nothing padded.

The packaged file stores int8 weights but multiplies in float. This graph multiplies in integers. Three
choices carry it (docs/adr/0004-default-embedding.md has the numbers):

- Each token is quantized by its own largest component, so no token, and no text, depends on its neighbors.
  The few channels that are always loud are turned down first, and their weights up, or they would drown the rest.
- Weights are scaled so that no product pair can overflow the 16 bits in which AVX2 adds two of them: the
  integers are then exact, and equal on every processor.
- Skip connection and layer normalization stay separate nodes; onnxruntime's fused one is the slower.

Change anything here and RECIPE must change with it: it is part of the model's name.
"""

import numpy as np
from numpy.typing import NDArray

from citewise.adapters.onnx.onnx_file import Array, Graph, tensors
from citewise.model.chunk import EmbeddingModel

RECIPE = "q8-3"

LAYERS, HEADS, WIDTH = 6, 12, 384
MODEL = EmbeddingModel(name=f"all-MiniLM-L6-v2/{RECIPE}", dimensions=WIDTH, window_tokens=256)
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
Bytes = NDArray[np.int8]


def prepared(packaged: bytes) -> bytes:
    """The better graph, from the bytes of the packaged one; equal bytes in, equal bytes out."""
    return _Recipe(tensors(packaged)).model()


def pair_limited(exact: Doubles) -> tuple[Bytes, Floats]:
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
    """One pass over the layers, writing nodes as it goes. Between nodes a batch is flat: one row a token."""

    def __init__(self, source: dict[str, Array]) -> None:
        self._source = source
        self._matrices = sorted(
            (name[:-2] for name in source if name.startswith("val_") and name.endswith("_q")),
            key=lambda name: int(name.removeprefix("val_")),
        )  # six a layer: query, key, value, attention output, intermediate, output
        self._graph = Graph()

    def model(self) -> bytes:
        rows = self._embedded()
        for layer in range(LAYERS):
            rows = self._layer(layer, rows)
        shape = self._graph.add("Concat", ["shape", self._constant("width", [WIDTH])], axis=0)
        self._graph.add("Reshape", [rows, shape], ["last_hidden_state"])
        return self._graph.model(
            ("input_ids", np.zeros((0, 0), np.int64)),
            ("last_hidden_state", np.zeros((0, 0, WIDTH), np.float32)),
        )

    def _embedded(self) -> str:
        graph, source = self._graph, self._source
        words, positions = (f"inner.embeddings.{kind}_embeddings.weight" for kind in ("word", "position"))
        places = source[f"{positions}_q"].astype(np.float32) * source[f"{positions}_scale"].astype(np.float32)
        places = places + source["inner.embeddings.token_type_embeddings.weight"][0]  # every token is of type 0
        found = graph.add("Gather", [graph.weight("words", source[f"{words}_q"]), "input_ids"])
        scale = graph.add("Gather", [graph.weight("word_scales", source[f"{words}_scale"]), "input_ids"])
        found = graph.add("Mul", [graph.add("Cast", [found], to=1), scale])
        graph.add("Shape", ["input_ids"], ["shape"])
        length = graph.add("Shape", ["input_ids"], start=1, end=2)
        start, axis = self._constant("start", [0]), self._constant("axis", [0])
        place = graph.add("Slice", [graph.weight("places", places), start, length, axis])
        rows = graph.add("Reshape", [graph.add("Add", [found, place]), self._constant("flat", [-1, WIDTH])])
        count = graph.add("ReduceProd", ["shape"], keepdims=1)
        for name, point in (("zero", ZERO_POINT), ("gelu_zero", GELU_ZERO_POINT)):
            graph.add("Expand", [graph.weight(name, np.array(point, np.uint8)), count], [f"{name}s"])
        return self._normalized("inner.embeddings.LayerNorm", rows)

    def _layer(self, layer: int, rows: str) -> str:
        graph, name = self._graph, f"inner.encoder.layer.{layer}"
        query, key, value, mixed, wide, narrow = self._matrices[layer * 6 : layer * 6 + 6]
        attended = self._attention(f"{name}.attention.self", rows, [query, key, value])
        after = self._product(attended, self._exact([mixed]), mixed)
        rows = self._joined(f"{name}.attention.output", after, skipped=rows)
        hidden = self._calm_product(rows, [wide])
        hidden = graph.add("BiasGelu", [hidden, self._kept(f"{name}.intermediate.dense.bias")], domain=CONTRIB)
        after = self._product(hidden, self._exact([narrow]), narrow, gelu=True)
        return self._joined(f"{name}.output", after, skipped=rows)

    def _attention(self, name: str, rows: str, matrices: list[str]) -> str:
        graph = self._graph
        shape = graph.add("Concat", ["shape", self._constant("width_3", [3 * WIDTH])], axis=0)
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        biases = np.concatenate([self._source[f"{part}.bias"] for part in parts])
        joined = graph.add("Reshape", [self._calm_product(rows, matrices), shape])
        graph.add("Split", [joined], parts, axis=-1, num_outputs=3)
        bias = graph.weight(f"{name}.bias", biases)
        mixed = graph.add("MultiHeadAttention", [*parts, bias], domain=CONTRIB, num_heads=HEADS)
        return graph.add("Reshape", [mixed, "flat"])

    def _calm_product(self, rows: str, matrices: list[str]) -> str:
        """For rows fresh from a normalization, the only ones with loud channels."""
        loudness = np.ones(WIDTH)
        loudness[list(LOUD)] = list(LOUD.values())
        calm = self._graph.weight("calm", (1 / loudness).astype(np.float32))
        exact = self._exact(matrices) * loudness[:, None]
        return self._product(self._graph.add("Mul", [rows, calm]), exact, matrices[0])

    def _product(self, rows: str, exact: Doubles, name: str, *, gelu: bool = False) -> str:
        """Rows times a matrix, in integers, back in floats, bias left out."""
        graph = self._graph
        weights, scales = pair_limited(exact)
        scale = self._row_scales(rows, gelu=gelu)
        zero = "gelu_zero" if gelu else "zero"
        quantized = graph.add("QuantizeLinear", [rows, scale, f"{zero}s"], axis=0)
        one, none = graph.weight("one", np.array(1, np.float32)), graph.weight("none", np.array(0, np.int8))
        factors = [quantized, graph.weight(name, weights), one, graph.weight(f"{name}_scale", scales)]
        product = graph.add("MatMulIntegerToFloat", [*factors, zero, none], domain=CONTRIB)
        return graph.add("Mul", [product, graph.add("Unsqueeze", [scale, self._constant("last", [-1])])])

    def _exact(self, matrices: list[str]) -> Doubles:
        """The packaged weights of several matrices, side by side."""
        weights = np.concatenate([self._source[f"{name}_q"] for name in matrices], axis=1)
        scales = np.concatenate([self._source[f"{name}_scale"] for name in matrices], axis=1)
        return weights.astype(np.float64) * scales.astype(np.float64)

    def _row_scales(self, rows: str, *, gelu: bool) -> str:
        graph, last = self._graph, self._constant("last", [-1])
        if not gelu:
            peak = graph.add("ReduceMax", [graph.add("Abs", [rows]), last], keepdims=0)
            return graph.add("Mul", [peak, graph.weight("step", np.array(1 / LEVELS, np.float32))])
        step = np.array(1 / (HIGHEST - GELU_ZERO_POINT), np.float32)
        least = np.array(-GELU_DEPTH / GELU_ZERO_POINT, np.float32)  # below it, negative values would be cut off
        peak = graph.add("ReduceMax", [rows, last], keepdims=0)
        scale = graph.add("Mul", [peak, graph.weight("gelu_step", step)])
        return graph.add("Max", [scale, graph.weight("gelu_least", least)])

    def _joined(self, name: str, rows: str, *, skipped: str) -> str:
        biased = self._graph.add("Add", [rows, self._kept(f"{name}.dense.bias")])
        return self._normalized(f"{name}.LayerNorm", self._graph.add("Add", [biased, skipped]))

    def _normalized(self, name: str, rows: str) -> str:
        gain, bias = self._kept(f"{name}.weight"), self._kept(f"{name}.bias")
        return self._graph.add("LayerNormalization", [rows, gain, bias], axis=-1, epsilon=EPSILON)

    def _kept(self, name: str) -> str:
        return self._graph.weight(name, self._source[name])

    def _constant(self, name: str, values: list[int]) -> str:
        return self._graph.weight(name, np.array(values, np.int64))
