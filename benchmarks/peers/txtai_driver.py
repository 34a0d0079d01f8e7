"""txtai: hybrid embeddings with content, asked in SQL with `similar()` and a condition on the tenant.

`similar()` takes its candidates before the condition looks at them, ten times the limit by default. A careful user
asks for more; the default is measured beside it. Vectors come through an external transform; no model is loaded.
"""

from pathlib import Path

import numpy as np
from txtai import Embeddings  # type: ignore[import-not-found]

from benchmarks.peers.harness import Chunk, Corpus, Driver, Floats, Hit, ReadyVectors, run

# Before the condition: ten times the limit is the default, all of them the only guarantee. Where a principal sees a
# tenth, 100 left 40 of 100 answers short and 300 one; more candidates cost more time.
CANDIDATES = 500


class TxtaiHybrid:
    candidates: int | None = CANDIDATES

    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        self._vectors = vectors
        self._asked: str | None = None
        self._embeddings = Embeddings(
            method="external", transform=lambda texts: self._embedded(texts), hybrid=True, content=True
        )

    def ingest(self, corpus: Corpus) -> None:
        self.write([row(chunk) for chunk in corpus.chunks])

    def write(self, rows: list[tuple[str, dict[str, str]]]) -> None:
        self._embeddings.upsert(rows)

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        similar, narrowed = "similar(:question)", ""
        if tenants is not None:
            similar = f"similar(:question, {self.candidates})" if self.candidates else similar
            narrowed = f" and tenant in ({', '.join(repr(tenant) for tenant in sorted(tenants))})"
        self._asked = question
        found = self._embeddings.search(
            f"select id, text from txtai where {similar}{narrowed}", limit=top_k, parameters={"question": question}
        )
        return [Hit(row["id"], row["text"]) for row in found]

    def _embedded(self, texts: list[str]) -> Floats:
        """A question is a text like any other to txtai; only documents are counted."""
        if texts == [self._asked]:
            return np.stack([self._vectors.query(texts[0])])
        return self._vectors.documents(texts)


class DefaultCandidates(TxtaiHybrid):
    candidates = None


class Rebuilt(TxtaiHybrid):
    """Indexed anew each time."""

    def write(self, rows: list[tuple[str, dict[str, str]]]) -> None:
        self._embeddings.index(rows)


def row(chunk: Chunk) -> tuple[str, dict[str, str]]:
    return chunk.key, {"text": chunk.text, "tenant": chunk.tenant}


if __name__ == "__main__":
    run(
        Driver(
            TxtaiHybrid,
            others={"default candidates": DefaultCandidates},
            updates={"upsert": TxtaiHybrid, "index": Rebuilt},
        )
    )
