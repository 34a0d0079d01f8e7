"""Making rows: of new points, and of segments that have become too many or too dead."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.local_index.files import Rows, Segment
from citewise.adapters.local_index.quantize import Quantizer, as_floats
from citewise.adapters.local_index.vectors import id_to_key
from citewise.model.chunk import Point
from citewise.model.filters import Label


def rows_of_points(points: Sequence[Point], dimensions: int) -> Rows:
    """Points as rows, in their order."""
    labels: defaultdict[Label, list[int]] = defaultdict(list)
    numbers: defaultdict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
    for row, point in enumerate(points):
        for name in point.labels:
            labels[name].append(row)
        for field, value in point.numbers.items():
            numbers[field][0].append(row)
            numbers[field][1].append(value)
    return Rows(
        keys=np.fromiter((id_to_key(point.id) for point in points), dtype=np.uint64, count=len(points)),
        codes=Quantizer(dimensions).codes(as_floats([point.vector for point in points], dimensions)),
        labels={name: BitMap(rows) for name, rows in labels.items()},
        numbers={
            field: (np.array(rows, dtype=np.uint32), np.array(values, dtype=np.float64))
            for field, (rows, values) in numbers.items()
        },
    )


def merged(segments: Sequence[Segment], dead: BitMap, first: int) -> tuple[Rows, BitMap]:
    """The living rows of the segments from `first` on as one, and what is still dead before it."""
    start = sum(segment.rows for segment in segments[:first])
    tail = segments[first:]
    alive = np.ones(sum(segment.rows for segment in tail), dtype=bool)
    alive[np.array([row - start for row in dead if row >= start], dtype=np.int64)] = False
    moved = np.cumsum(alive) - 1  # old row -> new row, for rows that are alive
    rows = Rows(
        keys=np.concatenate([segment.keys for segment in tail])[alive],
        codes=np.concatenate([segment.codes for segment in tail])[alive],
        labels=_moved_labels(tail, alive, moved),
        numbers=_moved_numbers(tail, alive, moved),
    )
    return rows, BitMap(row for row in dead if row < start)


def _moved_labels(
    segments: Sequence[Segment], alive: npt.NDArray[np.bool_], moved: npt.NDArray[np.int64]
) -> dict[Label, BitMap]:
    found: dict[Label, BitMap] = {}
    start = 0
    for segment in segments:
        for name in segment.label_names:
            rows = np.asarray(segment.labeled(name).to_array(), dtype=np.int64) + start
            kept = moved[rows[alive[rows]]]
            if len(kept):
                found.setdefault(Label(name), BitMap()).update(kept.astype(np.uint32))
        start += segment.rows
    return found


def _moved_numbers(
    segments: Sequence[Segment], alive: npt.NDArray[np.bool_], moved: npt.NDArray[np.int64]
) -> dict[str, tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]]:
    parts: defaultdict[str, list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]] = defaultdict(list)
    start = 0
    for segment in segments:
        for name in segment.number_names:
            rows, values = segment.numbers(name)
            shifted = rows.astype(np.int64) + start
            parts[name].append((moved[shifted[alive[shifted]]], values[alive[shifted]]))
        start += segment.rows
    return {
        name: (
            np.concatenate([rows for rows, _ in found]).astype(np.uint32),
            np.concatenate([values for _, values in found]),
        )
        for name, found in parts.items()
    }
