"""The rotation that every stored vector went through."""

import hashlib

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.adapters.rotation import rotated

Floats = npt.NDArray[np.float32]


def some_vectors(seed: int, dimensions: int) -> Floats:
    vectors = np.random.default_rng(seed).standard_normal((4, dimensions))
    scaled: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([32, 384, 768, 1536]))
def test_the_rotation_keeps_lengths_and_products(seed: int, dimensions: int) -> None:
    vectors = some_vectors(seed, dimensions)
    turned = rotated(vectors)
    assert turned @ turned.T == pytest.approx(vectors @ vectors.T, abs=1e-5)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8, 384, 1536])
def test_the_rotation_is_that_of_every_library_before(dimensions: int) -> None:
    """Another one would make the vectors of every library there is worthless, and nothing else would say so."""
    vectors = some_vectors(1, dimensions)
    assert rotated(vectors) == pytest.approx(by_definition(vectors), abs=1e-5)


def by_definition(vectors: Floats) -> Floats:
    """Signs from a hash, then +1 or -1 by the parity of the ones that two places have in common; at both ends."""
    dimensions = vectors.shape[1]
    size = 2 ** int(np.log2(dimensions))
    ones = [[(-1) ** (row & column).bit_count() for column in range(size)] for row in range(size)]
    mixing = np.array(ones) / np.sqrt(size)
    turned = vectors.astype(float)
    for turn, part in enumerate((slice(0, size), slice(dimensions - size, dimensions))):
        seed = f"citewise rotation {turn} {dimensions}".encode()
        digest = np.frombuffer(hashlib.shake_256(seed).digest(dimensions // 8 + 1), dtype=np.uint8)
        turned *= np.where(np.unpackbits(digest)[:dimensions], 1, -1)
        turned[:, part] = turned[:, part] @ mixing
    return turned.astype(np.float32)
