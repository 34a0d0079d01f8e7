"""Which way of cutting serves a model with a short window best (SPEC I6)? Measured on the textbook's questions.

Each row cuts the same book another way and asks the same 50 questions of a plain hybrid (min-max average of BM25 and
cosine). A question is answered when a passage that overlaps a full-answer section (grade 2) is among the first five,
and, since five long passages hold more than five short ones, when it is among the first 1,000 tokens.
"""

import argparse
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewise.adapters.analyze.english import EnglishAnalyzer
from citewise.adapters.index.local import LocalIndex
from citewise.adapters.parsers.markdown import MarkdownParser
from citewise.chunking import sizes as chunk_sizes
from citewise.chunking.heading import HeadingChunker
from citewise.chunking.sizes import ChunkSizes
from citewise.model.chunk import Piece, searchable_text
from citewise.model.document import title_of
from citewise.model.ids import ChunkId, digest
from citewise.model.point import Hit, Point
from citewise.model.scope import Scope
from citewise.model.terms import TermField
from citewise.model.vector import EmbeddingFailure, Vector
from citewise.model.where import Where
from citewise.settings import Settings
from citewise.wiring.embedding import Embedding, embedding_of

WIDE = 100_000  # a window that lowers nothing: long chunks are then embedded in pieces and pooled
Question = dict[str, Any]

EVERYTHING = Where(Scope(), None)


@dataclass(frozen=True, slots=True)
class Way:
    """One way of cutting."""

    name: str
    window: int
    target_share: float = 0.8
    overlap: int = 50
    breadcrumb: bool = True
    several_vectors: bool = False  # a vector for each window of a chunk, the best one counts


WAYS = (
    Way("small chunks, filled to 60 %", 256, 0.6),
    Way("small chunks, filled to 80 %", 256, 0.8),
    Way("small chunks, filled to 100 %", 256, 1.0),
    Way("small chunks, 80 %, no overlap", 256, 0.8, overlap=0),
    Way("small chunks, 80 %, no breadcrumb", 256, 0.8, breadcrumb=False),
    Way("500-token chunks, windows pooled", WIDE),
    Way("500-token chunks, a vector a window", WIDE, several_vectors=True),
)


@dataclass(frozen=True, slots=True)
class Cut:
    """A chunk with its file."""

    id: ChunkId
    path: str
    piece: Piece

    def text(self, way: Way) -> str:
        return searchable_text(self.piece.breadcrumb, self.piece.text) if way.breadcrumb else self.piece.text


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data/textbook"))
    data = arguments.parse_args().data
    if not data.is_dir():
        raise SystemExit(f"no textbook at {data}: this benchmark needs the shared data")
    questions = json.loads((data / "questions" / "answerable.json").read_text())
    embedding = embedding_of(Settings())
    print(f"{'way of cutting':<38} {'chunks':>6} {'tokens':>6} | plain@5 para@5 | plain@1k para@1k | dense@5 | seconds")
    for way in WAYS:
        started = time.perf_counter()
        cuts = cut_book(data / "website" / "docs", way, embedding)
        index, owners = indexed(cuts, way, embedding)
        print(
            row(way, cuts, questions, index, owners, embedding),
            f"{time.perf_counter() - started:7.0f}",
            flush=True,
        )


def cut_book(root: Path, way: Way, embedding: Embedding) -> list[Cut]:
    chunk_sizes.TARGET_SHARE = way.target_share
    chunker = HeadingChunker(embedding.counter, way.window, ChunkSizes(overlap=way.overlap))
    parser = MarkdownParser()
    cuts = []
    for file in sorted(root.rglob("*.md*")):
        path = file.relative_to(root).as_posix()
        parsed = parser.parse(file.read_text())
        title = title_of(parsed, path)
        for number, piece in enumerate(chunker(parsed.blocks, title=title.text if title.is_given else None)):
            cuts.append(Cut(ChunkId(digest(path, str(number))[:16]), path, piece))
    return cuts


def indexed(cuts: list[Cut], way: Way, embedding: Embedding) -> tuple[LocalIndex, dict[ChunkId, ChunkId]]:
    """The cuts in an index, and for each indexed id the cut it stands for."""
    analyzer = EnglishAnalyzer()
    texts: list[tuple[ChunkId, Cut, str]] = []
    for cut in cuts:
        parts = _windows(cut.text(way), embedding) if way.several_vectors else [cut.text(way)]
        texts += [(ChunkId(digest(cut.id, str(n))[:16]) if n else cut.id, cut, part) for n, part in enumerate(parts)]
    vectors = embedding.embedder.documents([text for _, _, text in texts])
    index = LocalIndex(Path(tempfile.mkdtemp()), dimensions=embedding.embedder.model.dimensions)
    points = [
        Point(id_, _made(vector), analyzer.terms(cut.text(way) if id_ == cut.id else ""), frozenset(), {})
        for (id_, cut, _), vector in zip(texts, vectors, strict=True)
    ]
    index.write(Scope(), puts=points, drops=(), position=1)
    return index, {id_: cut.id for id_, cut, _ in texts}


def row(
    way: Way,
    cuts: list[Cut],
    questions: list[Question],
    index: LocalIndex,
    owners: dict[ChunkId, ChunkId],
    embedding: Embedding,
) -> str:
    by_id = {cut.id: cut for cut in cuts}
    found = {"plain@5": 0, "para@5": 0, "plain@1k": 0, "para@1k": 0, "dense@5": 0}
    for question in questions:
        kind = "para" if question["type"] == "paraphrase" else "plain"
        hybrid, dense = rankings(question["question"], index, owners, embedding)
        found[f"{kind}@5"] += answered([by_id[id_] for id_ in hybrid[:5]], question)
        found[f"{kind}@1k"] += answered(_within([by_id[id_] for id_ in hybrid], 1000), question)
        found["dense@5"] += answered([by_id[id_] for id_ in dense[:5]], question)
    tokens = sum(cut.piece.tokens for cut in cuts) / len(cuts)
    return (
        f"{way.name:<38} {len(cuts):>6} {tokens:>6.0f} | {found['plain@5']:>7} {found['para@5']:>6} | "
        f"{found['plain@1k']:>8} {found['para@1k']:>7} | {found['dense@5']:>7} |"
    )


def rankings(
    question: str, index: LocalIndex, owners: dict[ChunkId, ChunkId], embedding: Embedding
) -> tuple[list[ChunkId], list[ChunkId]]:
    dense = _best(index.nearest(embedding.embedder.query(question), where=EVERYTHING, limit=120), owners)
    terms = EnglishAnalyzer().terms(question).words
    words = _best(index.matching(terms, field=TermField.WORDS, where=EVERYTHING, limit=60), owners)
    scaled = [_scaled(dense), _scaled(words)]
    total = {id_: sum(each.get(id_, 0.0) for each in scaled) for id_ in dense.keys() | words.keys()}
    ranked = sorted(total, key=lambda id_: (-total[id_], id_))
    return ranked, sorted(dense, key=lambda id_: (-dense[id_], id_))


def answered(cuts: list[Cut], question: Question) -> bool:
    return any(
        cut.path == gold["doc"]
        and gold["grade"] == 2
        and cut.piece.first_line <= gold["line_end"]
        and cut.piece.last_line >= gold["line_start"]
        for cut in cuts
        for gold in question["relevant"]
    )


def _best(hits: tuple[Hit, ...], owners: dict[ChunkId, ChunkId]) -> dict[ChunkId, float]:
    best: dict[ChunkId, float] = {}
    for hit in hits:
        owner = owners[hit.id]
        best[owner] = max(best.get(owner, -1.0), hit.score)
    return best


def _scaled(scores: dict[ChunkId, float]) -> dict[ChunkId, float]:
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=1.0)
    return {id_: (score - low) / ((high - low) or 1.0) for id_, score in scores.items()}


def _within(cuts: list[Cut], tokens: int) -> list[Cut]:
    kept: list[Cut] = []
    for cut in cuts:
        tokens -= cut.piece.tokens
        kept.append(cut)
        if tokens <= 0:
            break
    return kept


def _windows(text: str, embedding: Embedding) -> list[str]:
    """About as many words as fill a window, again and again."""
    words = text.split()
    counts = embedding.counter.counts(words)
    parts: list[str] = []
    part: list[str] = []
    held = 0
    for word, tokens in zip(words, counts, strict=True):
        if part and held + tokens > embedding.embedder.model.window_tokens - 2:
            parts.append(" ".join(part))
            part, held = [], 0
        part.append(word)
        held += tokens
    return [*parts, " ".join(part)]


def _made(vector: Vector | EmbeddingFailure) -> Vector:
    assert not isinstance(vector, EmbeddingFailure)
    return vector


if __name__ == "__main__":
    main()
