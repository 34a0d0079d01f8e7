"""Vector segments: immutable files that hold rows of codes, the chunk key of each row, and label -> rows.

Layout: magic, header length (u32), header (JSON), keys (u64 a row), codes (u8 a component), then for each label
its rows as a serialized roaring bitmap, then for each number field its rows (u32) and values (f64).
"""

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from citewise.adapters.local_index.quantize import Codes
from citewise.model.filters import Label

FORMAT = 1  # of the shard as a whole; another one is rebuilt from the catalog


@dataclass(frozen=True, slots=True)
class FileMark:
    """How to know that a file is the one that was written."""

    name: str
    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a shard consists of, and how far in the log it stands. Written last, so it never says too much."""

    position: int = 0
    generation: int = 0  # grows with every write; new file names come from it
    segments: tuple[FileMark, ...] = ()
    dead: FileMark | None = None  # the rows that are deleted, as a bitmap

    @property
    def marks(self) -> tuple[FileMark, ...]:
        return (*self.segments, *((self.dead,) if self.dead else ()))


def write_durably(file: Path, parts: Iterable[bytes]) -> None:
    """Write beside, flush to disk, rename: a reader sees the old file or the new one, never half."""
    beside = file.with_name(f"{file.name}.new")
    with beside.open("wb") as opened:
        for part in parts:
            opened.write(part)
        opened.flush()
        os.fsync(opened.fileno())
    beside.replace(file)
    _flush_folder(file.parent)


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def crc_of(file: Path, *, size: int | None = None) -> int:
    """CRC-32 of a file, or of its first `size` bytes."""
    crc, left = 0, size if size is not None else file.stat().st_size
    with file.open("rb") as opened:
        while left > 0 and (block := opened.read(min(left, 1 << 22))):
            crc = zlib.crc32(block, crc)
            left -= len(block)
    return crc


def mark_of(file: Path) -> FileMark:
    return FileMark(file.name, file.stat().st_size, crc_of(file))


def is_whole(folder: Path, mark: FileMark) -> bool:
    """Whether the file is there, as long as it was, with the checksum it had."""
    file = folder / mark.name
    return file.is_file() and file.stat().st_size == mark.size and crc_of(file) == mark.crc


def write_manifest(file: Path, manifest: Manifest) -> None:
    body = json.dumps({"format": FORMAT, **asdict(manifest)}, separators=(",", ":")).encode()
    write_durably(file, [body, b"\n%08x\n" % zlib.crc32(body)])


def read_manifest(file: Path) -> Manifest | None:
    """The manifest, or None where there is none that can be trusted."""
    try:
        body, crc, _ = file.read_bytes().split(b"\n")
        if int(crc, 16) != zlib.crc32(body):
            return None
        said = json.loads(body)
        if said["format"] != FORMAT:
            return None
        dead = said["dead"]
        return Manifest(
            position=said["position"],
            generation=said["generation"],
            segments=tuple(FileMark(**mark) for mark in said["segments"]),
            dead=FileMark(**dead) if dead else None,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


MAGIC = b"CWSEG\x00\x00\x01"

Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Rows:
    """What a segment holds, in memory, before it is written."""

    keys: Keys
    codes: Codes
    labels: Mapping[Label, BitMap]
    numbers: Mapping[str, tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]]


def write_segment(file: Path, rows: Rows) -> None:
    """Write a segment so that it is wholly on disk when this returns."""
    bitmaps = [(name, bitmap.serialize()) for name, bitmap in sorted(rows.labels.items())]
    header = {
        "rows": len(rows.keys),
        "dimensions": rows.codes.shape[1],
        "labels": [[name, len(data)] for name, data in bitmaps],
        "numbers": [[name, len(values)] for name, (_, values) in sorted(rows.numbers.items())],
    }
    encoded = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    parts = [
        MAGIC,
        struct.pack("<I", len(encoded)),
        encoded,
        rows.keys.astype("<u8").tobytes(),
        rows.codes.tobytes(),
    ]
    parts.extend(data for _, data in bitmaps)
    for _, (at, values) in sorted(rows.numbers.items()):
        parts.extend((at.astype("<u4").tobytes(), values.astype("<f8").tobytes()))
    write_durably(file, parts)


class Segment:
    """A segment file, mapped; labels and numbers are read when asked for."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        with file.open("rb") as opened:
            self._data = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        if self._data[: len(MAGIC)] != MAGIC:
            raise ValueError(f"{file.name} is no vector segment")
        (length,) = struct.unpack_from("<I", self._data, len(MAGIC))
        start = len(MAGIC) + 4
        header: dict[str, Any] = json.loads(self._data[start : start + length].decode("utf-8", "surrogatepass"))
        self.rows: int = header["rows"]
        self.dimensions: int = header["dimensions"]
        self._keys_at = start + length
        self._codes_at = self._keys_at + 8 * self.rows
        self._labels, after = _offsets(header["labels"], self._codes_at + self.rows * self.dimensions, width=1)
        self._numbers, _ = _offsets(header["numbers"], after, width=12)

    @property
    def keys(self) -> Keys:
        return np.frombuffer(self._data, dtype="<u8", count=self.rows, offset=self._keys_at)

    @property
    def codes(self) -> Codes:
        count = self.rows * self.dimensions
        flat = np.frombuffer(self._data, dtype=np.uint8, count=count, offset=self._codes_at)
        return flat.reshape(self.rows, self.dimensions)

    @property
    def label_names(self) -> Sequence[str]:
        return list(self._labels)

    @property
    def number_names(self) -> Sequence[str]:
        return list(self._numbers)

    def labeled(self, name: str) -> BitMap:
        """The rows that carry a label."""
        at = self._labels.get(name)
        return BitMap.deserialize(self._data[at[0] : at[0] + at[1]]) if at else BitMap()

    def numbers(self, name: str) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float64]]:
        """The rows that have a number in this field, and the numbers."""
        offset, count = self._numbers.get(name, (0, 0))
        rows = np.frombuffer(self._data, dtype="<u4", count=count, offset=offset)
        values = np.frombuffer(self._data[offset + 4 * count : offset + 12 * count], dtype="<f8")
        return rows, values


def _offsets(entries: list[list[Any]], start: int, *, width: int) -> tuple[dict[str, tuple[int, int]], int]:
    found = {}
    for name, size in entries:
        found[name] = (start, size)
        start += size * width
    return found, start
