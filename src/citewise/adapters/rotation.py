"""A rotation of all vectors, after which their components have the same distribution, so that one scale suits all.

It is the same everywhere, but for last bits, and spreads each component over all: the components of any unit vector
then look like draws from a normal distribution with variance 1/dimensions. Lengths and products stay what they were.
"""

import hashlib
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def rotated(vectors: Floats) -> Floats:
    """Flip signs and mix, first the leading components, then the trailing ones, so that all take part."""
    dimensions = vectors.shape[1]
    size = 1 << (dimensions.bit_length() - 1)  # the largest power of two that fits
    turned = vectors * _signs(dimensions, 0)
    turned[:, :size] = _mixed(turned[:, :size])
    turned *= _signs(dimensions, 1)
    turned[:, dimensions - size :] = _mixed(turned[:, dimensions - size :])
    return turned


def _mixed(vectors: Floats) -> Floats:
    """The Walsh-Hadamard transform of each row; its length stays.

    Its matrix is the Kronecker product of two small ones, so each row is laid out as a grid and its columns and rows
    are mixed. The whole matrix would be fetched from memory for every question, which takes longer than the work.
    """
    rows, size = vectors.shape
    high = 1 << ((size.bit_length() - 1) // 2)
    grid = vectors.reshape(rows, high, size // high)
    mixed: Floats = np.matmul(np.matmul(_hadamard(high), grid), _hadamard(size // high))
    return mixed.reshape(rows, size)


@lru_cache(maxsize=8)
def _hadamard(size: int) -> Floats:
    """Every row as long as any other and at right angles to it; the size is a power of two."""
    signs: Floats = np.ones((1, 1), dtype=np.float32)
    while len(signs) < size:
        signs = np.block([[signs, signs], [signs, -signs]])
    return signs / np.float32(np.sqrt(size))


@lru_cache(maxsize=8)
def _signs(dimensions: int, turn: int) -> Floats:
    """The same +1s and -1s on every machine and in every version of numpy."""
    seed = f"citewise rotation {turn} {dimensions}".encode()
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(seed).digest(dimensions // 8 + 1), dtype=np.uint8))
    return np.where(bits[:dimensions], np.float32(1), np.float32(-1))
