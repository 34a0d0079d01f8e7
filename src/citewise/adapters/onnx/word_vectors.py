"""Vectors of a text's words, packed: two neighbors in one, two bits a component.

Measured against more and fewer of both in `benchmarks/late_interaction.py` (ADR 15): a word of its own and sixteen bits
find nothing more that could be told from noise. The question's words are taken as they are; only what is stored is
rounded.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from citewise.adapters.rotation import rotated
from citewise.errors import BadData
from citewise.model.chunk import WordVectors

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

A_BYTE = 4  # components of two bits
COLUMNS = 32  # of a block: few enough that it has rows as well
LONELY = 200_000  # multiplications that OpenBLAS does in the calling thread; it asks for others from 262,144 on
# By how much a text is nearer to any question each time that it is e times as long, whatever it says: a word finds the
# nearest of more. Measured without a look at what is right (ADR 15); 0: listings come before prose; more: behind it.
BY_CHANCE = 0.03
# The best four values for what is normally distributed (Lloyd and Max): between which they change, and what they are.
STEP = 0.9816
VALUES = np.array([-1.510, -0.4528, 0.4528, 1.510], np.float32)
# A byte's four components, by its value.
UNPACKED: Floats = VALUES[(np.arange(256)[:, None] >> np.array([6, 4, 2, 0])) & 3]


def paired(words: Floats) -> Floats:
    """Two neighbors in one, their mean; a last one that has none stands for itself. All at unit length."""
    whole = unit(words)
    sums = whole[::2].copy()
    sums[: len(whole) // 2] += whole[1::2]
    return unit(sums)


def packed(texts: Sequence[Floats]) -> list[WordVectors]:
    """What is stored of texts, given their pairs of words."""
    if not texts:
        return []
    scaled = rotated(np.concatenate(texts)) * np.float32(np.sqrt(texts[0].shape[1]))
    codes = (scaled > -STEP).astype(np.uint8) + (scaled > 0) + (scaled > STEP)
    fours = codes.reshape(len(codes), -1, A_BYTE)
    rows = fours[..., 0] << 6 | fours[..., 1] << 4 | fours[..., 2] << 2 | fours[..., 3]
    ends = np.cumsum([len(pairs) for pairs in texts])
    return [WordVectors(rows[end - len(pairs) : end].tobytes()) for end, pairs in zip(ends, texts, strict=True)]


def closenesses(question: Floats, weights: Floats, texts: Sequence[WordVectors]) -> tuple[float, ...]:
    """For each text, how near the question's words find one in it: the weighted mean of the nearest (MaxSim).

    Beyond what a text of its length has by chance, so that a long one is no nearer for being long.
    """
    dimensions = question.shape[1]
    width = dimensions // A_BYTE
    if any(not text or len(text) % width for text in texts):
        raise BadData(
            f"vectors of words that are not rows of {width} bytes are of another model, or damaged: `citewise compact` "
            "with embedding.word_vectors off removes those of all texts, `citewise reindex` with it on makes them anew"
        )
    if not texts:
        return ()
    rows = [len(text) // width for text in texts]
    starts = np.cumsum([0, *rows])[:-1]
    # `take` is ten times as quick as an index; so is a maximum over rows against one over columns.
    stored = np.take(UNPACKED, np.frombuffer(b"".join(texts), np.uint8), axis=0).reshape(-1, dimensions)
    products = alone(stored, rotated(unit(question)).T)
    nearest = np.maximum.reduceat(products, starts, axis=0) @ weights
    return tuple(map(float, beyond_chance(nearest / (weights.sum() * np.sqrt(dimensions)), rows)))


def beyond_chance(nearness: Doubles, rows: Sequence[int]) -> Doubles:
    """The nearness of texts of so many rows, cosines, without what their length gives them."""
    return nearness - BY_CHANCE * np.log(rows)


def alone(one: Floats, other: Floats) -> Floats:
    """The product, block by block, so that no thread but this one works on it.

    BLAS would wake its own for anything larger, and on a busy machine they are waited for ten times as long as the
    work takes.
    """
    columns = range(0, other.shape[1], COLUMNS)
    return np.concatenate([_by_rows(one, other[:, at : at + COLUMNS]) for at in columns], axis=1)


def _by_rows(one: Floats, few: Floats) -> Floats:
    rows = max(1, LONELY // few.size)
    blocks = len(one) // rows
    whole = blocks * rows
    products = np.matmul(one[:whole].reshape(blocks, rows, one.shape[1]), few)
    return np.concatenate([products.reshape(whole, few.shape[1]), one[whole:] @ few])


def unit(vectors: Floats) -> Floats:
    scaled: Floats = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.float32(1e-9))
    return scaled
