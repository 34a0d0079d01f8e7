"""Vectors of a text's words, packed: two neighbors share a vector, with two bits per component.

Measured against more and fewer of both in `benchmarks/late_interaction.py` (ADR 15): a vector for each word and sixteen
bits find nothing more, beyond noise. The question's words are used as they are; only what is stored is rounded.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citewise.adapters.rotation import rotated
from citewise.errors import BadData
from citewise.model.chunk import WordVectors

Floats = npt.NDArray[np.float32]

COMPONENTS_PER_BYTE = 4
BLOCK_COLUMNS = 32  # of a block of a product: few enough that it has rows as well
MAX_PRODUCTS = 200_000  # multiplications per call: OpenBLAS uses threads of its own from 262,144 on
# How much nearer a text is to any question if it is e times as long, whatever it says: a word has more to choose from.
# Measured without relevance judgments (ADR 15); 0: listings come before prose; more: behind it.
LENGTH_BONUS = 0.03
# The best four values for a normal distribution (Lloyd and Max), and the step between them.
STEP = 0.9816
VALUES = np.array([-1.510, -0.4528, 0.4528, 1.510], np.float32)
# A byte's four components, by its value.
UNPACKED: Floats = VALUES[(np.arange(256)[:, None] >> np.array([6, 4, 2, 0])) & 3]


def paired(words: Floats) -> Floats:
    """The means of neighbors, two by two; a last word without a neighbor stays. All at unit length."""
    whole = _unit(words)
    sums = whole[::2].copy()
    sums[: len(whole) // 2] += whole[1::2]
    return _unit(sums)


def packed(texts: Sequence[Floats]) -> list[WordVectors]:
    """The bytes to store for each text, from the means of its words."""
    if not texts:
        return []
    scaled = rotated(np.concatenate(texts)) * np.float32(np.sqrt(texts[0].shape[1]))
    codes = (scaled > -STEP).astype(np.uint8) + (scaled > 0) + (scaled > STEP)
    fours = codes.reshape(len(codes), -1, COMPONENTS_PER_BYTE)
    rows = fours[..., 0] << 6 | fours[..., 1] << 4 | fours[..., 2] << 2 | fours[..., 3]
    ends = np.cumsum([len(pairs) for pairs in texts])
    return [WordVectors(rows[end - len(pairs) : end].tobytes()) for end, pairs in zip(ends, texts, strict=True)]


def closenesses(question: Floats, weights: Floats, texts: Sequence[WordVectors]) -> tuple[float, ...]:
    """For each text, the weighted mean of how near each word of the question is to the nearest in it (MaxSim).

    Without what a text of its length has by chance, so that a long text is no nearer for being long.
    """
    if not texts:
        return ()
    products, rows = _products(question, texts)
    nearest = np.maximum.reduceat(products, np.cumsum([0, *rows])[:-1], axis=0)
    return tuple(_means(nearest, weights, rows))


def part_closenesses(
    question: Floats, weights: Floats, texts: Sequence[tuple[WordVectors, Sequence[int]]]
) -> tuple[tuple[float, ...], ...]:
    """The same for the parts of texts, given the row at which each begins; the first is counted into all others.

    What has no row of its own is no nearer than the first part is, or than any other if that has none either.
    """
    if not texts:
        return ()
    products, rows = _products(question, [text for text, _ in texts])
    firsts = np.cumsum([0, *rows])[:-1]
    begins = [np.minimum(starts, count) for (_, starts), count in zip(texts, rows, strict=True)]
    sizes = [np.diff([*starts, count]) for starts, count in zip(begins, rows, strict=True)]
    own = [(starts + first)[size > 0] for starts, first, size in zip(begins, firsts, sizes, strict=True)]
    nearest = np.split(np.maximum.reduceat(products, np.concatenate(own), axis=0), np.cumsum([*map(len, own)])[:-1])
    found = []
    for of_rows, size in zip(nearest, sizes, strict=True):
        near = np.repeat(of_rows[:1] if size[0] else of_rows.min(axis=0, keepdims=True), len(size), axis=0)
        near[size > 0] = of_rows
        found.append(tuple(_means(np.maximum(near[1:], near[0]), weights, np.maximum(size[1:] + size[0], 1))))
    return tuple(found)


def _products(question: Floats, texts: Sequence[WordVectors]) -> tuple[Floats, list[int]]:
    """Each stored row with each word of the question, and how many rows each text has."""
    dimensions = question.shape[1]
    width = dimensions // COMPONENTS_PER_BYTE
    if any(not text or len(text) % width for text in texts):
        raise BadData(
            "the stored word vectors do not fit this model: run `citewise reindex`, or set embedding.word_vectors to "
            "false and run `citewise compact`, which removes them"
        )
    # `take` is ten times as fast as an index; a maximum over rows ten times as fast as over columns.
    stored = np.take(UNPACKED, np.frombuffer(b"".join(texts), np.uint8), axis=0).reshape(-1, dimensions)
    scaled = rotated(_unit(question)).T / np.float32(np.sqrt(dimensions))
    return _single_threaded_product(stored, scaled), [len(text) // width for text in texts]


def _means(nearest: Floats, weights: Floats, rows: Sequence[int] | npt.NDArray[np.intp]) -> list[float]:
    """The weighted means of what the question's words have as their nearest, less what so many rows have by chance."""
    return [float(mean) for mean in nearest @ weights / weights.sum() - LENGTH_BONUS * np.log(rows)]


def _single_threaded_product(left: Floats, right: Floats) -> Floats:
    """The product, block by block, in this thread alone.

    For anything larger BLAS would use its own threads; on a busy machine, waiting for them takes ten times as long as
    the work.
    """
    products = []
    for at in range(0, right.shape[1], BLOCK_COLUMNS):
        columns = right[:, at : at + BLOCK_COLUMNS]
        rows = max(1, MAX_PRODUCTS // columns.size)
        whole = len(left) // rows * rows
        blocks = np.matmul(left[:whole].reshape(-1, rows, left.shape[1]), columns)
        products.append(np.concatenate([blocks.reshape(whole, columns.shape[1]), left[whole:] @ columns]))
    return np.concatenate(products, axis=1)


def _unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
    return scaled
