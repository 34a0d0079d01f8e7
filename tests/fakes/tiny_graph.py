"""Writes ONNX models small enough for a test."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper


class TinyGraph:
    """A graph being written: nodes in the order they run, weights by name."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, NDArray[np.generic]] = {}

    def weight(self, name: str, values: NDArray[np.generic]) -> str:
        self._weights[name] = values
        return name

    def add(self, op: str, inputs: Sequence[str], output: str = "", **attributes: Any) -> str:
        """Append a node; the name of its output."""
        output = output or f"{op}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def model(self, inputs: Sequence[str], shape: Sequence[int], outputs: Mapping[str, Sequence[int]]) -> bytes:
        """The file; every input is of whole numbers and this shape, in which 0 stands for any length."""

        def info(name: str, kind: int, sizes: Sequence[int]) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, kind, [size or f"any{at}" for at, size in enumerate(sizes)])

        graph = helper.make_graph(
            self._nodes,
            "tiny",
            [info(name, TensorProto.INT64, shape) for name in inputs],
            [info(name, TensorProto.FLOAT, sizes) for name, sizes in outputs.items()],
            [numpy_helper.from_array(np.asarray(array), name) for name, array in self._weights.items()],
        )
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
        return bytes(made.SerializeToString())
