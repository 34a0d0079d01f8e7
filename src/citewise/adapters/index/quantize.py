"""Vectors as one byte a component, so that a library of a million fits into memory and is scanned exactly.

A fixed scale would waste the byte's range on models whose components are small, and clip those that have a few
large ones. So every vector is turned first, by a rotation that is the same everywhere and spreads each component
over all: afterwards the components of any unit vector look like draws from a normal distribution with variance
1/dimensions, and one scale suits every model.
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from citewise.model.vector import Vector

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]

DEVIATIONS = 5.0  # what the byte spans, in standard deviations: one component in two million is clipped
MIDDLE = 128  # FAISS's signed byte stores value + 128
LARGEST_MATRIX = 1024  # dimensions up to which one product with a matrix is quicker than many small steps


class Quantizer:
    """Turns, scales and rounds."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._scale = np.float32(127.0 / (DEVIATIONS / np.sqrt(dimensions)))

    def codes(self, vectors: Floats) -> Codes:
        """What is stored: one row of bytes a vector."""
        return (self._rounded(rotated(vectors)) + MIDDLE).astype(np.uint8)

    def query(self, vector: Vector) -> Floats:
        """A query in the units of the codes, since FAISS multiplies bytes with bytes."""
        one = as_floats([vector], self.dimensions)
        return self._rounded(one @ _turning(self.dimensions) if self.dimensions <= LARGEST_MATRIX else rotated(one))

    def cosines(self, products: Floats) -> Floats:
        """Inner products of codes as cosines."""
        cosines: Floats = products / (self._scale * self._scale)
        return cosines

    def _rounded(self, turned: Floats) -> Floats:
        rounded: Floats = np.clip(np.rint(turned * self._scale), -127, 127)
        return rounded


def as_floats(vectors: list[Vector], dimensions: int) -> Floats:
    """Vectors as a matrix, one a row."""
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dimensions)


def rotated(vectors: Floats) -> Floats:
    """Flip signs and mix, first the leading components, then the trailing ones, so that all take part."""
    dimensions = vectors.shape[1]
    size = 1 << (dimensions.bit_length() - 1)  # the largest power of two that fits
    turned = vectors * _signs(dimensions, 0)
    turned[:, :size] = _mixed(turned[:, :size])
    turned *= _signs(dimensions, 1)
    turned[:, dimensions - size :] = _mixed(turned[:, dimensions - size :])
    return turned


@lru_cache(maxsize=4)
def _turning(dimensions: int) -> Floats:
    """The rotation as a matrix: what it makes of each axis."""
    return rotated(np.eye(dimensions, dtype=np.float32))


def _mixed(vectors: Floats) -> Floats:
    """The fast Walsh-Hadamard transform of each row, kept at its length."""
    rows, size = vectors.shape
    step = 1
    while step < size:
        pairs = vectors.reshape(rows, size // (2 * step), 2, step)
        low, high = pairs[:, :, 0, :], pairs[:, :, 1, :]
        vectors = np.stack((low + high, low - high), axis=2).reshape(rows, size)
        step *= 2
    return vectors / np.float32(np.sqrt(size))


@lru_cache(maxsize=8)
def _signs(dimensions: int, turn: int) -> Floats:
    """The same +1s and -1s on every machine and in every version of numpy."""
    seed = f"citewise rotation {turn} {dimensions}".encode()
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(seed).digest(dimensions // 8 + 1), dtype=np.uint8))
    return np.where(bits[:dimensions], np.float32(1), np.float32(-1))
