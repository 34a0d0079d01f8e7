"""Storage: where a library lives, and which of its generations serves."""

from collections.abc import Callable, Mapping
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
    """The stores of one generation, open until `close`."""

    catalog: Catalog
    vectors: VectorIndex
    texts: TextIndex
    close: Callable[[], None]


class Storage(Protocol):
    """Keeps the generations of a library: one serves; a rebuild makes the next one, which then takes its place.

    Promises: `mark` changes with every swap and is cheap; None if there is no library. `current` raises PathNotFound
    where there is none and Misconfigured where it is lost. `writing` holds the only write lock or raises Locked; the
    lock ends with the process. Readers see the generation that `swap_to` named, whole; one that a reader has open
    stays readable after `remove_others`. `catalog` opens no index.
    """

    @property
    def root(self) -> Path: ...  # sources are registered relative to it, and messages name it
    @property
    def exists(self) -> bool: ...
    @property
    def index_names(self) -> tuple[str, ...]: ...  # under which the catalog records positions
    @property
    def engines(self) -> Mapping[str, str]: ...  # of the indexes, "vectors" and "words"
    def mark(self) -> tuple[int, int] | None: ...
    def current(self) -> Generation: ...
    def create(self) -> Generation: ...  # the first generation; the library exists once it is swapped to
    def next(self, *, is_empty: bool = False) -> Generation: ...  # what an interrupted run left stays, unless is_empty
    def swap_to(self, generation: Generation) -> None: ...
    def remove_others(self) -> None: ...
    def writing(self) -> AbstractContextManager[None]: ...
    def open(self, generation: Generation, model: EmbeddingModel, *, may_create: bool = False) -> Stores: ...
    def catalog(self, generation: Generation) -> AbstractContextManager[Catalog]: ...
    def size_bytes(self, part: str = "") -> int: ...  # of everything, or of "index"
