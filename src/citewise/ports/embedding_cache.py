"""EmbeddingCache: vectors by the text they were made of, so that nothing is embedded twice."""

from collections.abc import Collection, Mapping
from typing import Protocol

from citewise.model.ids import Digest
from citewise.model.vector import Vector


class EmbeddingCache(Protocol):
    """Finds vectors made earlier.

    Promises: only vectors of the library's own model come back; a digest it does not know is simply absent; what
    is kept is durable when the call returns, whatever becomes of the documents it was made for.
    """

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]: ...
    def keep(self, vectors: Mapping[Digest, Vector]) -> None: ...
