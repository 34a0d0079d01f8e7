"""One scope's part of the embedded index: words, vectors, and the manifest that joins them."""

import logging
import threading
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from pyroaring import BitMap

from citewise.adapters.local_index.compact import merged, rows_of_points
from citewise.adapters.local_index.files import (
    FileMark,
    Manifest,
    Segment,
    is_whole,
    mark_of,
    read_manifest,
    write_durably,
    write_manifest,
    write_segment,
)
from citewise.adapters.local_index.vectors import VectorSet, id_to_key
from citewise.adapters.local_index.words import WordIndex, is_damaged
from citewise.model.chunk import Hit, Point, TermField, Vector
from citewise.model.filters import Condition
from citewise.model.ids import ChunkId

_log = logging.getLogger(__name__)

MAX_DEAD = 0.3  # share of deleted rows at which all segments are rewritten; 0: always, 1: never
TRIES = 5  # at reading a manifest's files while a writer replaces them


class Shard:
    """Searches and writes one scope. Searches wait for each other only while a newer manifest is taken up."""

    def __init__(self, folder: Path, *, dimensions: int) -> None:
        self._folder = folder
        self._manifest_file = folder / "manifest"
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None  # the manifest file that was last taken up
        self._manifest = Manifest()
        self._segments: list[Segment] = []
        self._dead_rows = BitMap()
        self._vectors: VectorSet | None = None  # of this manifest, once somebody searches: a writer needs none
        self._words: WordIndex | None = None

    @property
    def position(self) -> int:
        """How far in the log this shard stands, once its files have been found whole."""
        self._refresh()
        return self._manifest.position

    @property
    def rows(self) -> int:
        """How many rows were there when this shard was last searched or written, deleted ones among them."""
        return sum(segment.rows for segment in self._segments)

    def nearest(self, vector: Vector, conditions: tuple[Condition, ...], limit: int) -> tuple[Hit, ...]:
        self._refresh()
        return self._vector_set().nearest(vector, conditions, limit)

    def matching(
        self, terms: Sequence[str], field: TermField, conditions: tuple[Condition, ...], limit: int
    ) -> tuple[Hit, ...]:
        self._refresh()
        words = self._words
        if words is None:
            return ()
        return words.matching(
            terms, field, conditions, limit, admits=lambda keys: self._vector_set().admits(keys, conditions)
        )

    def write(self, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> None:
        """Words first, then vectors, then the manifest: a crash in between is healed by replaying."""
        self._refresh()
        with self._lock:
            latest = list({point.id: point for point in puts}.values())
            words = self._words or WordIndex(self._folder / "words")
            words.write(latest, drops)
            manifest = self._written_vectors(latest, drops, position)
            write_manifest(self._manifest_file, manifest)
            self._sweep(manifest)
        self._refresh()

    def _written_vectors(self, puts: Sequence[Point], drops: Collection[ChunkId], position: int) -> Manifest:
        old = self._manifest
        generation = old.generation + 1
        segments = [Segment(self._folder / mark.name) for mark in old.segments]
        marks = list(old.segments)
        dead = self._dead(old) | self._rows_of(segments, [*drops, *(point.id for point in puts)])
        if puts:
            name = f"{generation}.rows"
            write_segment(self._folder / name, rows_of_points(puts, self._dimensions))
            segments.append(Segment(self._folder / name))
            marks.append(mark_of(self._folder / name))
        first = _first_to_merge(segments, dead)
        if first is not None:
            name = f"{generation}m.rows"
            rows, dead = merged(segments, dead, first)
            write_segment(self._folder / name, rows)
            marks = [*marks[:first], mark_of(self._folder / name)] if len(rows.keys) else marks[:first]
        return Manifest(position, generation, tuple(marks), self._written_dead(dead, generation))

    def _written_dead(self, dead: BitMap, generation: int) -> FileMark | None:
        if not dead:
            return None
        file = self._folder / f"{generation}.dead"
        write_durably(file, [dead.serialize()])
        return mark_of(file)

    def _dead(self, manifest: Manifest) -> BitMap:
        return BitMap.deserialize((self._folder / manifest.dead.name).read_bytes()) if manifest.dead else BitMap()

    def _rows_of(self, segments: Sequence[Segment], ids: Collection[ChunkId]) -> BitMap:
        wanted = np.fromiter((id_to_key(id_) for id_ in ids), dtype=np.uint64, count=len(ids))
        found, start = BitMap(), 0
        for segment in segments:
            found |= BitMap(np.flatnonzero(np.isin(segment.keys, wanted)).astype(np.uint32)).shift(start)
            start += segment.rows
        return found

    def _sweep(self, manifest: Manifest) -> None:
        """Remove files that no manifest names any more; open readers keep what they have mapped."""
        named = {mark.name for mark in manifest.marks}
        for file in self._folder.iterdir():
            if file.suffix in (".rows", ".dead", ".new") and file.name not in named:
                file.unlink(missing_ok=True)

    def _refresh(self) -> None:
        """Take up the manifest on disk if it is another one than before.

        If it is gone, the shard is being rebuilt or its generation was replaced: what is in memory still answers.
        """
        seen = _mark(self._manifest_file)
        if seen in (None, self._seen):
            return
        with self._lock:
            for _ in range(TRIES):
                seen = _mark(self._manifest_file)
                if seen is None or seen == self._seen:
                    return
                if self._taken_up():
                    self._seen = seen
                    return
                if _mark(self._manifest_file) == seen:
                    break  # nobody is writing: the files really are not what the manifest says
            if seen is not None:
                self._take_up_nothing(seen)

    def _taken_up(self) -> bool:
        """Whether the files on disk are what the manifest says; if so, they are what is searched now."""
        manifest = read_manifest(self._manifest_file)
        try:
            return manifest is not None and self._opened(manifest)
        except (OSError, ValueError):  # a file is missing or no longer what it was
            return False

    def _opened(self, manifest: Manifest) -> bool:
        known = {segment.name for segment in self._manifest.segments}
        if not all(is_whole(self._folder, mark) for mark in manifest.marks if mark.name not in known):
            return False
        if self._words is not None:
            self._words.reload()
        elif is_damaged(self._folder / "words"):
            return False
        else:
            self._words = WordIndex(self._folder / "words")
        self._segments = [Segment(self._folder / mark.name) for mark in manifest.segments]
        self._dead_rows = self._dead(manifest)
        self._vectors = None
        self._manifest = manifest
        return True

    def _vector_set(self) -> VectorSet:
        """The vectors of the manifest that was taken up last, loaded when they are first asked for."""
        vectors = self._vectors
        if vectors is None:
            with self._lock:
                if self._vectors is None:
                    self._vectors = VectorSet(self._segments, self._dead_rows, dimensions=self._dimensions)
                vectors = self._vectors
        return vectors

    def _take_up_nothing(self, seen: tuple[int, int]) -> None:
        _log.warning("the index in %s is damaged and has to be rebuilt from the catalog", self._folder)
        self._seen = seen
        self._manifest = Manifest()
        self._segments, self._dead_rows, self._vectors = [], BitMap(), None
        self._words = None


def _mark(file: Path) -> tuple[int, int] | None:
    try:
        state = file.stat()
    except FileNotFoundError:
        return None
    return state.st_mtime_ns, state.st_ino


def _first_to_merge(segments: Sequence[Segment], dead: BitMap) -> int | None:
    """Where merging begins: everything once much is dead, else the tail while it is not smaller by half."""
    total = sum(segment.rows for segment in segments)
    if total and len(dead) > MAX_DEAD * total:
        return 0
    first, rows = len(segments) - 1, segments[-1].rows if segments else 0
    while first > 0 and segments[first - 1].rows <= 2 * rows:
        first -= 1
        rows += segments[first].rows
    return first if first < len(segments) - 1 else None
