"""EmbeddingCache: vectors by the text they were made of, so that nothing is embedded twice."""

from collections.abc import Collection, Mapping
from typing import Protocol

from citewise.model.ids import Digest
from citewise.model.vector import Vector, WordVectors

NO_WORDS: Mapping[Digest, WordVectors] = {}


class EmbeddingCache(Protocol):
    """Finds vectors made earlier.

    Promises: only vectors of the library's own model come back; a digest it does not know is simply absent; what
    is kept is durable when the call returns, whole or not at all, whatever becomes of the documents it was made for.
    """

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]: ...
    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]: ...
    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors] = NO_WORDS) -> None: ...
