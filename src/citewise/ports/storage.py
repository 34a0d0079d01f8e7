"""Storage: where a library lives, and which of its generations serves."""

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, NewType, Protocol, TypeAlias

from citewise.model.chunk import EmbeddingModel
from citewise.ports.catalog import Catalog
from citewise.ports.indexes import TextIndex, VectorIndex

Generation = NewType("Generation", str)  # the name of one build of a library
IndexRole: TypeAlias = Literal["vectors", "texts"]


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one generation."""

    catalog: Catalog
    vectors: VectorIndex
    texts: TextIndex


@dataclass(frozen=True, slots=True)
class IndexFacts:
    """What is known of an index that is not open."""

    name: str  # that the catalog records its position under
    engine: str
    size_bytes: int


class Storage(Protocol):
    """Keeps the generations of a library: one serves; a rebuild makes the next one, which then takes its place.

    Promises: `mark` is another value after every activation, and cheap; None if there is no library. `current` raises
    PathNotFound where there is none and Misconfigured where it is lost. `writing` holds the only write lock or raises
    Locked; the lock ends with the process. `build` names the generation to build: the first one, or the one after the
    current; what an interrupted build left in it stays, unless it is to be empty. After `activate`, readers see that
    generation, whole, and the others are removed; a reader goes on in one that it has open. `open` opens its stores,
    `catalog` no index, and both close what they opened; `indexes` opens none.
    """

    def mark(self) -> Hashable: ...
    def current(self) -> Generation: ...
    def build(self, *, is_empty: bool = False) -> Generation: ...
    def activate(self, generation: Generation) -> None: ...
    def writing(self) -> AbstractContextManager[None]: ...
    def open(
        self, generation: Generation, model: EmbeddingModel, *, may_create: bool = False
    ) -> AbstractContextManager[Stores]: ...
    def catalog(self, generation: Generation) -> AbstractContextManager[Catalog]: ...
    def indexes(self, generation: Generation) -> Mapping[IndexRole, IndexFacts]: ...
