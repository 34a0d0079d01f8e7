"""The few ONNX messages a prepared graph needs, read and written as protobuf without the onnx package.

Field numbers are those of onnx.proto; each table below is one message.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from struct import pack

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types

MODEL_IR_VERSION, MODEL_GRAPH, MODEL_OPSET = 1, 7, 8
OPSET_DOMAIN, OPSET_VERSION = 1, 2
GRAPH_NODE, GRAPH_NAME, GRAPH_TENSOR, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 5, 11, 12
NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE, NODE_DOMAIN = 1, 2, 3, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_TYPE = 1, 2, 3, 20
TENSOR_DIMS, TENSOR_TYPE, TENSOR_NAME, TENSOR_RAW = 1, 2, 8, 9
VALUE_NAME, VALUE_TYPE = 1, 2
DIM_VALUE, DIM_NAME = 1, 2

IS_FLOAT, IS_INT = 1, 2  # AttributeProto.AttributeType
ELEMENT_TYPES: Mapping[int, str] = {1: "<f4", 2: "|u1", 3: "|i1", 6: "<i4", 7: "<i8", 9: "|b1"}
ELEMENT_CODES = {np.dtype(name): code for code, name in ELEMENT_TYPES.items()}

IR_VERSION = 9
OPSETS = {"": 19, "com.microsoft": 1}


def tensors(model: bytes) -> dict[str, Array]:
    """The named weights of a model file."""
    found = {}
    for number, graph in _fields(memoryview(model)):
        if number == MODEL_GRAPH:
            for part, message in _fields(_block(graph)):
                if part == GRAPH_TENSOR:
                    name, array = _tensor(_block(message))
                    found[name] = array
    return found


@dataclass(slots=True)
class Graph:
    """A graph being written: nodes in the order they run, weights by name."""

    nodes: list[bytes] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)

    def weight(self, name: str, values: Array) -> str:
        """Keep an array under a name; the name, to be used as an input."""
        self.weights[name] = values
        return name

    def add(
        self,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[str] = (),
        *,
        domain: str = "",
        **attributes: float,
    ) -> str:
        """Append a node; the name of its first output."""
        name = f"{op}_{len(self.nodes)}"
        outputs = outputs or (name,)
        self.nodes.append(
            b"".join(_text(NODE_INPUT, one) for one in inputs)
            + b"".join(_text(NODE_OUTPUT, one) for one in outputs)
            + _text(NODE_NAME, name)
            + _text(NODE_OP, op)
            + b"".join(_attribute(key, value) for key, value in attributes.items())
            + _text(NODE_DOMAIN, domain)
        )
        return outputs[0]

    def model(self, source: tuple[str, Array], result: tuple[str, Array]) -> bytes:
        """The finished file; input and output are given by name and an array of their type.

        A length of 0 in that array stands for "any".
        """
        graph = b"".join(_message(GRAPH_NODE, node) for node in self.nodes) + _text(GRAPH_NAME, "prepared")
        graph += b"".join(_message(GRAPH_TENSOR, _packed(*item)) for item in self.weights.items())
        graph += _message(GRAPH_INPUT, _value(*source)) + _message(GRAPH_OUTPUT, _value(*result))
        opsets = (_text(OPSET_DOMAIN, name) + _int(OPSET_VERSION, version) for name, version in OPSETS.items())
        head = _int(MODEL_IR_VERSION, IR_VERSION) + b"".join(_message(MODEL_OPSET, one) for one in opsets)
        return head + _message(MODEL_GRAPH, graph)


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    at = 0
    while at < len(data):
        key, at = _varint_at(data, at)
        wire = key & 7
        if wire == VARINT:
            value, at = _varint_at(data, at)
            yield key >> 3, value
            continue
        if wire == BYTES:
            size, at = _varint_at(data, at)
        else:
            size = {FIXED64: 8, FIXED32: 4}[wire]
        yield key >> 3, data[at : at + size]
        at += size


def _varint_at(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _block(value: int | memoryview) -> memoryview:
    assert isinstance(value, memoryview)
    return value


def _tensor(message: memoryview) -> tuple[str, Array]:
    name, kind, dims, raw = "", 1, list[int](), memoryview(b"")
    for number, value in _fields(message):
        if isinstance(value, int):
            if number == TENSOR_DIMS:
                dims.append(value)
            elif number == TENSOR_TYPE:
                kind = value
        elif number == TENSOR_DIMS:  # packed
            dims.extend(_varints(value))
        elif number == TENSOR_NAME:
            name = bytes(value).decode()
        elif number == TENSOR_RAW:
            raw = value
    return name, np.frombuffer(raw, np.dtype(ELEMENT_TYPES[kind])).reshape(dims)


def _varints(data: memoryview) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = _varint_at(data, at)
        yield value


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as their two's complement
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _int(number: int, value: int) -> bytes:
    return _varint(number << 3 | VARINT) + _varint(value)


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | BYTES) + _varint(len(content)) + content


def _text(number: int, value: str) -> bytes:
    return _message(number, value.encode())


def _attribute(name: str, value: float) -> bytes:
    if isinstance(value, int):
        content = _int(ATTRIBUTE_INT, value) + _int(ATTRIBUTE_TYPE, IS_INT)
    else:
        content = _varint(ATTRIBUTE_FLOAT << 3 | FIXED32) + pack("<f", value)
        content += _int(ATTRIBUTE_TYPE, IS_FLOAT)
    return _message(NODE_ATTRIBUTE, _text(ATTRIBUTE_NAME, name) + content)


def _packed(name: str, values: Array) -> bytes:
    kind = ELEMENT_CODES[values.dtype.newbyteorder("<")]
    dims = b"".join(_int(TENSOR_DIMS, size) for size in values.shape)
    raw = values.astype(ELEMENT_TYPES[kind]).tobytes()
    return dims + _int(TENSOR_TYPE, kind) + _text(TENSOR_NAME, name) + _message(TENSOR_RAW, raw)


def _value(name: str, like: Array) -> bytes:
    dims = (_int(DIM_VALUE, size) if size else _text(DIM_NAME, f"any{at}") for at, size in enumerate(like.shape))
    shape = b"".join(_message(1, one) for one in dims)
    tensor = _int(1, ELEMENT_CODES[like.dtype]) + _message(2, shape)  # element type, shape
    return _text(VALUE_NAME, name) + _message(VALUE_TYPE, _message(1, tensor))
