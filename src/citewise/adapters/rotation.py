"""One rotation for all vectors: afterwards their components are alike, so that one scale suits each of them.

It is the same everywhere and spreads each component over all: the components of any unit vector then look like draws
from a normal distribution with variance 1/dimensions. Lengths and products stay what they were.
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

LARGEST_MATRIX = 1024  # dimensions up to which one product with a matrix is quicker than many small steps


def rotated(vectors: Floats) -> Floats:
    """Flip signs and mix, first the leading components, then the trailing ones, so that all take part."""
    dimensions = vectors.shape[1]
    size = 1 << (dimensions.bit_length() - 1)  # the largest power of two that fits
    turned = vectors * _signs(dimensions, 0)
    turned[:, :size] = _mixed(turned[:, :size])
    turned *= _signs(dimensions, 1)
    turned[:, dimensions - size :] = _mixed(turned[:, dimensions - size :])
    return turned


def quickly_rotated(vectors: Floats) -> Floats:
    """The same as one product of matrices, but for the last bits."""
    dimensions = vectors.shape[1]
    return vectors @ turning(dimensions).T if dimensions <= LARGEST_MATRIX else rotated(vectors)


@lru_cache(maxsize=4)
def turning(dimensions: int) -> Floats:
    """The rotation as a matrix that columns are multiplied by."""
    return np.ascontiguousarray(rotated(np.eye(dimensions, dtype=np.float32)).T)


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
