"""Citations: from an answer to the exact place it rests on."""

from dataclasses import dataclass

from citewise.model.ids import ChunkId

SELECTION = ChunkId("selection")  # stands for the text a reader selected, which is no chunk of any library


@dataclass(frozen=True, slots=True)
class Citation:
    """Source `n` of an answer. What is not known of a selection is None."""

    n: int
    chunk_id: ChunkId
    document_id: str | None
    document: str | None
    title: str
    section: str
    breadcrumb: tuple[str, ...]
    url: str | None
    module: str | None
    chapter: str | None
    lines: tuple[int, int] | None
    page: int | None
    excerpt: str  # 200 characters of the source as it stands there
    score: float
