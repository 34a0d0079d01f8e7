"""citewise, through its public Library: files in, questions with a principal, vectors looked up as for all others.

Tenants are groups of one scope, so that the filter has to work: as scopes each would have an index of its own. Its
ingestion reads, parses and cuts the files; the others are handed the chunks that came out of that.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.files import TENANTS
from benchmarks.peers.harness import Corpus, Driver, Hit, ReadyVectors, run
from citewise import Library, Principal, Settings
from citewise.model.access import OWNER
from citewise.model.chunk import EmbeddingModel, Vector, searchable_text
from citewise.ports.models import Embedding
from citewise.wiring_models import embedding_of


class Ready:
    """citewise's own model, by name; its vectors, looked up."""

    def __init__(self, vectors: ReadyVectors, model: EmbeddingModel) -> None:
        self.model = model
        self._vectors = vectors

    def documents(self, texts: Sequence[str]) -> tuple[Vector, ...]:
        return tuple(Vector(vector.tobytes()) for vector in self._vectors.documents(texts))

    def query(self, text: str) -> Vector:
        return Vector(self._vectors.query(text).tobytes())


class CitewiseHybrid:
    def __init__(self, vectors: ReadyVectors, folder: Path) -> None:
        built_in = embedding_of(Settings())
        rules = {f"/{tenant}/": (f"group:{tenant}",) for tenant in TENANTS}
        settings = Settings(library=folder / "library").changed(
            ingest={"access_by_path": rules},
            query_cache={"megabytes": 0},  # no peer remembers what it was asked
        )
        embedding = Embedding(Ready(vectors, built_in.embedder.model), built_in.counter)
        self._pages = folder / "pages"
        self._library = Library(
            settings=settings,
            embedder=embedding.embedder,
            token_counter=embedding.counter,
            word_embedder=embedding.words,
        )

    def ingest(self, corpus: Corpus) -> None:
        shutil.copytree(corpus.pages, self._pages, dirs_exist_ok=True)
        self._library.ingest(self._pages)

    def search(self, question: str, *, tenants: frozenset[str] | None, top_k: int) -> list[Hit]:
        principal = OWNER if tenants is None else Principal(groups=tenants)
        found = self._library.as_principal(principal).search(question, top_k=top_k).findings
        return [
            Hit(
                f"{finding.passage.document}#{finding.passage.position}",
                searchable_text(finding.passage.breadcrumb, finding.passage.text),
            )
            for finding in found
        ]


if __name__ == "__main__":
    run(Driver(CitewiseHybrid, updates={"ingest": CitewiseHybrid}))
