"""Does the index find what is nearest? Its answers against those of every vector of a synthetic library, in floats.

The vectors are drawn again, block by block: a million of them would need 1.5 GB, and reading them out of the catalog
longer than drawing.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.synthetic import (
    SHARES,
    Floats,
    document_chunks,
    document_size,
    document_vectors,
    reader,
    synthetic_embedding,
)
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.settings import Settings
from citewise.wiring import stored_library

WANTED = 60
BLOCK = 500  # documents looked at together

Best = tuple[Floats, npt.NDArray[np.int64]]  # scores and chunk numbers, a row a question


def recalls(folder: Path, chunks: int, questions: Sequence[str]) -> Mapping[str, float]:
    """For readers of each share, how many of the 60 nearest chunks the index gives among its 60."""
    embedding = synthetic_embedding(chunks)
    vectors = [embedding.embedder.query(question) for question in questions]
    queries = np.stack([np.frombuffer(vector, dtype="<f4") for vector in vectors])
    exact = _exact(chunks, queries)
    found = {}
    with stored_library(Settings(library=folder), embedding).reading() as library:
        for share, best in exact.items():
            where = Where(Scope(), reader(share).readers)
            hits = [library.vectors.search(vector, where=where, limit=WANTED) for vector in vectors]
            same = [len({hit.id for hit in given} & _ids(row, chunks)) for given, row in zip(hits, best, strict=True)]
            found[share] = sum(same) / sum(len(row) for row in best)
    return found


def _exact(chunks: int, queries: Floats) -> dict[str, list[npt.NDArray[np.int64]]]:
    """The numbers of the nearest chunks, for each share and question."""
    size = document_size(chunks)
    documents = chunks // size
    nothing: Best = (np.empty((len(queries), 0), dtype=np.float32), np.empty((len(queries), 0), dtype=np.int64))
    best = dict.fromkeys(SHARES, nothing)
    for start in range(0, documents, BLOCK):
        numbers = range(start, min(documents, start + BLOCK))
        scores = queries @ np.concatenate([document_vectors(number, chunks) for number in numbers]).T
        at = np.arange(numbers.start * size, numbers.stop * size)
        for share, one_in in SHARES.items():
            seen = at // size % one_in == 0
            best[share] = _joined(best[share], scores[:, seen], at[seen])
    return {share: list(numbers) for share, (_, numbers) in best.items()}


def _joined(best: Best, scores: Floats, at: npt.NDArray[np.int64]) -> Best:
    all_scores = np.concatenate([best[0], scores], axis=1)
    all_at = np.concatenate([best[1], np.broadcast_to(at, scores.shape)], axis=1)
    order = np.argsort(-all_scores, axis=1)[:, :WANTED]
    return np.take_along_axis(all_scores, order, axis=1), np.take_along_axis(all_at, order, axis=1)


def _ids(numbers: npt.NDArray[np.int64], chunks: int) -> set[str]:
    size = document_size(chunks)
    return {document_chunks(int(number) // size, chunks)[int(number) % size] for number in numbers}
