"""Vector segments: immutable files that hold rows of codes, the chunk key of each row, and label -> rows.

Layout: magic, header length (u32), header (JSON), keys (u64 a row), codes (u8 a component), remainders (4 bits a
component), then for each label its rows as a serialized roaring bitmap, then for each number field its rows (u32) and
values (f64).

Codes are vectors as one byte a component, so that a million of them fit into memory. A fixed scale would waste the
byte's range on models whose components are small, and clip those that have a few large ones; so every vector is rotated
first, and then one scale suits every model. What rounding to a byte leaves over is stored in 4 bits more, which are not
loaded: they decide among the best by their bytes (recall@60 of a million by bytes alone: 0.983).
"""

import json
import mmap
import struct
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.local_index.generations import FileMark
from citewise.adapters.rotation import rotated
from citewise.model.chunk import Point, Vector
from citewise.model.filters import Label
from citewise.model.ids import ChunkId

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]
Numbers = tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]  # rows, and the number of each

MAGIC = b"CWSEG\x00\x00\x02"
DEVIATIONS = 5.0  # what the byte spans, in standard deviations: one component in two million is clipped
MIDDLE = 128  # FAISS's signed byte stores value + 128
STEPS = 16  # of a remainder, which is in -0.5..0.5


class Quantizer:
    """Rotates, scales and rounds vectors."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._scale = np.float32(127.0 / (DEVIATIONS / np.sqrt(dimensions)))

    def codes(self, vectors: Sequence[Vector]) -> tuple[Codes, Codes]:
        """What is stored: a row of bytes for each vector, and a row of remainders, two in a byte."""
        scaled = self._scaled(vectors)
        rounded = _rounded(scaled)
        steps = np.clip((scaled - rounded + 0.5) * STEPS, 0, STEPS - 1).astype(np.uint8)
        if self.dimensions % 2:
            steps = np.pad(steps, ((0, 0), (0, 1)))
        return (rounded + MIDDLE).astype(np.uint8), steps[:, ::2] << 4 | steps[:, 1::2]

    def query(self, vector: Vector) -> tuple[Floats, npt.NDArray[np.float64]]:
        """A query in the units of the codes, since FAISS multiplies bytes with bytes; and in those of `cosines`."""
        scaled = self._scaled([vector])
        return _rounded(scaled), np.rint(scaled[0] * 2 * STEPS).astype(np.float64)

    def coarse_cosines(self, products: Floats) -> list[float]:
        cosines: list[float] = (products / (self._scale * self._scale)).tolist()
        return cosines

    def cosines(self, query: npt.NDArray[np.float64], codes: Codes, remainders: Codes) -> list[float]:
        """The cosine of each row.

        Of whole numbers whose sums a float64 holds exactly: equal rows have equal cosines, in whatever order a
        processor adds them up.
        """
        rows = codes.astype(np.float64)
        rows *= 2 * STEPS
        rows[:, ::2] += (remainders >> 4) * 2
        rows[:, 1::2] += (remainders[:, : self.dimensions // 2] & 15) * 2
        rows += 1 - STEPS - 2 * STEPS * MIDDLE
        cosines: list[float] = ((rows @ query) / float(2 * STEPS * self._scale) ** 2).tolist()
        return cosines

    def _scaled(self, vectors: Sequence[Vector]) -> Floats:
        floats = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), self.dimensions)
        scaled: Floats = rotated(floats) * self._scale
        return scaled


def _rounded(scaled: Floats) -> Floats:
    rounded: Floats = np.clip(np.rint(scaled), -127, 127)
    return rounded


@dataclass(frozen=True, slots=True)
class Rows:
    """What a segment holds, in memory, before it is written."""

    keys: Keys
    codes: Codes
    remainders: Codes
    labels: Mapping[Label, BitMap]
    numbers: Mapping[str, Numbers]

    @classmethod
    def of(cls, points: Sequence[Point], dimensions: int) -> Self:
        labels: defaultdict[Label, list[int]] = defaultdict(list)
        numbers: defaultdict[str, tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        for row, point in enumerate(points):
            for name in point.labels:
                labels[name].append(row)
            for field, value in point.numbers.items():
                numbers[field][0].append(row)
                numbers[field][1].append(value)
        codes, remainders = Quantizer(dimensions).codes([point.vector for point in points])
        return cls(
            keys=cls.keys_of([point.id for point in points]),
            codes=codes,
            remainders=remainders,
            labels={name: BitMap(rows) for name, rows in labels.items()},
            numbers={
                field: (np.array(rows, dtype=np.uint32), np.array(values, dtype=np.float64))
                for field, (rows, values) in numbers.items()
            },
        )

    @classmethod
    def merged(cls, segments: "Sequence[Segment]", deleted: BitMap, first: int) -> tuple[Self, BitMap]:
        """The living rows of the segments from `first` on as one, and what is still deleted before it."""
        start = sum(segment.rows for segment in segments[:first])
        tail = segments[first:]
        alive = np.ones(sum(segment.rows for segment in tail), dtype=bool)
        alive[np.array([row - start for row in deleted if row >= start], dtype=np.int64)] = False
        moved = np.cumsum(alive) - 1  # old row -> new row, for rows that are alive
        labels: defaultdict[Label, BitMap] = defaultdict(BitMap)
        numbers: defaultdict[str, list[Numbers]] = defaultdict(list)
        offset = 0
        for segment in tail:
            for name in segment.label_places:
                rows = np.asarray(segment.labeled(name).to_array(), dtype=np.int64) + offset
                living = moved[rows[alive[rows]]]
                if len(living):
                    labels[Label(name)].update(living.astype(np.uint32))
            for name in segment.number_places:
                of_number, values = segment.numbers(name)
                rows = of_number.astype(np.int64) + offset
                numbers[name].append((moved[rows[alive[rows]]].astype(np.uint32), values[alive[rows]]))
            offset += segment.rows
        merged = cls(
            keys=np.concatenate([segment.keys for segment in tail])[alive],
            codes=np.concatenate([segment.codes for segment in tail])[alive],
            remainders=np.concatenate([segment.remainders for segment in tail])[alive],
            labels=labels,
            numbers={
                name: (np.concatenate([rows for rows, _ in found]), np.concatenate([values for _, values in found]))
                for name, found in numbers.items()
            },
        )
        return merged, BitMap(row for row in deleted if row < start)

    @staticmethod
    def keys_of(ids: Sequence[ChunkId]) -> Keys:
        """A chunk id is 16 hex digits, so it is stored as 8 bytes."""
        return np.fromiter((int(id_, 16) for id_ in ids), dtype=np.uint64, count=len(ids))

    @staticmethod
    def ids_of(keys: npt.ArrayLike) -> list[ChunkId]:
        return cast(list[ChunkId], np.asarray(keys, dtype=">u8").tobytes().hex(" ", 8).split())

    def write(self, file: Path) -> FileMark:
        """Write them as a segment, which is wholly on disk when this returns."""
        bitmaps = [(name, bitmap.serialize()) for name, bitmap in sorted(self.labels.items())]
        header = {
            "rows": len(self.keys),
            "dimensions": self.codes.shape[1],
            "labels": [[name, len(data)] for name, data in bitmaps],
            "numbers": [[name, len(values)] for name, (_, values) in sorted(self.numbers.items())],
        }
        encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        parts = [MAGIC, struct.pack("<I", len(encoded)), encoded, self.keys.astype("<u8").tobytes()]
        parts += [self.codes.tobytes(), self.remainders.tobytes()]
        parts.extend(data for _, data in bitmaps)
        for _, (at, values) in sorted(self.numbers.items()):
            parts.extend((at.astype("<u4").tobytes(), values.astype("<f8").tobytes()))
        return FileMark.write(file, parts)


class Segment:
    """A segment file, mapped into memory; labels and numbers are read when they are asked for."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[: len(MAGIC)] != MAGIC:
            raise ValueError(f"{file.name} is no vector segment")
        (length,) = struct.unpack_from("<I", self._data, len(MAGIC))
        start = len(MAGIC) + 4
        header: dict[str, Any] = json.loads(self._data[start : start + length].decode("utf-8", "surrogatepass"))
        self.rows: int = header["rows"]
        self.dimensions: int = header["dimensions"]
        self._remainder_bytes = -(-self.dimensions // 2)
        self._keys_at = start + length
        self._codes_at = self._keys_at + 8 * self.rows
        self._remainders_at = self._codes_at + self.rows * self.dimensions
        after_remainders = self._remainders_at + self.rows * self._remainder_bytes
        self.label_places, after = _offsets(header["labels"], after_remainders, width=1)
        self.number_places, _ = _offsets(header["numbers"], after, width=12)

    @property
    def keys(self) -> Keys:
        return np.frombuffer(self._data, dtype="<u8", count=self.rows, offset=self._keys_at)

    @property
    def codes(self) -> Codes:
        return self._bytes(self._codes_at, self.dimensions)

    @property
    def remainders(self) -> Codes:
        return self._bytes(self._remainders_at, self._remainder_bytes)

    def _bytes(self, offset: int, width: int) -> Codes:
        flat = np.frombuffer(self._data, dtype=np.uint8, count=self.rows * width, offset=offset)
        return flat.reshape(self.rows, width)

    def labeled(self, name: str) -> BitMap:
        at = self.label_places.get(name)
        return BitMap.deserialize(self._data[at[0] : at[0] + at[1]]) if at else BitMap()

    def numbers(self, name: str) -> Numbers:
        """The rows that have a number in this field, and the numbers."""
        offset, count = self.number_places.get(name, (0, 0))
        rows = np.frombuffer(self._data, dtype="<u4", count=count, offset=offset)
        values = np.frombuffer(self._data[offset + 4 * count : offset + 12 * count], dtype="<f8")
        return rows, values


def _offsets(entries: list[list[Any]], start: int, *, width: int) -> tuple[dict[str, tuple[int, int]], int]:
    found = {}
    for name, size in entries:
        found[name] = (start, size)
        start += size * width
    return found, start
