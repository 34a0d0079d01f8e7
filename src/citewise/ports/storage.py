"""Storage: where a library lives, and which of its generations serves."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import NewType, Protocol

from citewise.model.chunk import EmbeddingModel
from citewise.ports.catalog import Catalog
from citewise.ports.indexes import TextIndex, VectorIndex

Generation = NewType("Generation", str)  # the name of one build of a library


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one generation."""

    catalog: Catalog
    vectors: VectorIndex
    texts: TextIndex


class Storage(Protocol):
    """Keeps the generations of a library: one serves; a rebuild makes the next one, which then takes its place.

    Promises: `mark` changes with every activation and is cheap; None if there is no library. `current` raises
    PathNotFound where there is none and Misconfigured where it is lost. `writing` holds the only write lock or raises
    Locked; the lock ends with the process. `build` names the generation to build: the first one, or the one after the
    current; what an interrupted build left in it stays, unless it is to be empty. After `activate`, readers see that
    generation, whole, and the others are removed; a reader goes on in one that it has open. `open` opens its stores,
    `catalog` no index, and both close what they opened.
    """

    @property
    def root(self) -> Path: ...  # sources are registered relative to it, and messages name it
    @property
    def indexes(self) -> Mapping[str, str]: ...  # of vectors, then of texts: name in the catalog -> engine
    def mark(self) -> tuple[int, int] | None: ...
    def current(self) -> Generation: ...
    def build(self, *, is_empty: bool = False) -> Generation: ...
    def activate(self, generation: Generation) -> None: ...
    def writing(self) -> AbstractContextManager[None]: ...
    def open(
        self, generation: Generation, model: EmbeddingModel, *, may_create: bool = False
    ) -> AbstractContextManager[Stores]: ...
    def catalog(self, generation: Generation) -> AbstractContextManager[Catalog]: ...
    def size_bytes(self, part: str = "") -> int: ...  # of everything, or of "index"
