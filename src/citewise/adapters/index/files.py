"""Files that are whole or not there: durable writes, checksums, and the shard's manifest."""

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

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
