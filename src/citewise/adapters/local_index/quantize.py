"""Vectors as one byte a component, so that a library of a million fits into memory and is scanned exactly.

A fixed scale would waste the byte's range on models whose components are small, and clip those that have a few
large ones. So every vector is turned first (rotation): afterwards one scale suits every model.
"""

import numpy as np
import numpy.typing as npt

from citewise.adapters.rotation import rotated
from citewise.model.chunk import Vector

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]

DEVIATIONS = 5.0  # what the byte spans, in standard deviations: one component in two million is clipped
MIDDLE = 128  # FAISS's signed byte stores value + 128


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
        return self._rounded(rotated(as_floats([vector], self.dimensions)))

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
