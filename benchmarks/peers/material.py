"""The same material for all: chunks as citewise cuts them, their MiniLM vectors, tenants, questions, one edit.

Everything is real text of the shared data. Pages, chunks and vectors come out of citewise's own libraries below
`.bench` (made on first use, which embeds the sets and takes minutes); tenants are drawn from a digest of the path, so
that every run and every machine draws the same ones.
"""

import json
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.catalogs import all_documents, chunks_at
from benchmarks.judged import DATA, TEXTBOOK, beir, library_at
from benchmarks.peers.files import TENANTS, Chunk, Corpus, Question, write_corpus
from citewise import Library, Settings
from citewise.errors import BadData, Misconfigured
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.chunk import Vector
from citewise.model.document import Document
from citewise.model.ids import digest
from citewise.ports.models import Embedding
from citewise.wiring import stored_library
from citewise.wiring_models import embedding_of

JUDGED = ("api_docs", "scifact")
BEIR = (*JUDGED, "cosqa_dev")
FEWEST_CHUNKS = 8  # of the document that is edited: one is rewritten, others go, most stay
REWRITTEN = "This paragraph was rewritten after the library had been made, and says nothing that it said before."


@dataclass(frozen=True, slots=True)
class Page:
    """A document: the file's text, and its chunks with their vectors."""

    set: str
    path: str
    text: str
    texts: tuple[str, ...]  # of its chunks, as embedded
    vectors: tuple[Vector, ...]

    @property
    def draw(self) -> str:
        """What decides its place in line and its tenant."""
        return digest(self.set, self.path)

    @property
    def tenant(self) -> str:
        return TENANTS[int(self.draw[-8:], 16) % len(TENANTS)]


def write_material(folder: Path, *, chunks: int, questions: int) -> None:
    """All corpora that the drivers read."""
    refuse_missing(DATA)
    embedding = embedding_of(Settings())
    shutil.rmtree(folder, ignore_errors=True)
    sets = {name: pages_of(name) for name in (*BEIR, TEXTBOOK)}
    questions_by_set = {name: beir(DATA / name).questions for name in BEIR} | {TEXTBOOK: _book_questions()}
    mixed = [page for pages in sets.values() for page in pages]
    pooled = {f"{name}/{id_}": text for name, texts in questions_by_set.items() for id_, text in texts.items()}
    write(folder / "tenants", by_tenant(chosen(mixed, chunks)), drawn(pooled, questions), embedding)
    for name in JUDGED:
        write(folder / name, [(page.path, page) for page in sets[name]], questions_by_set[name], embedding)
    book = [page for page in sets[TEXTBOOK] if page.texts]
    edited = edit(book, embedding)
    write(folder / "before", [(page.path, page) for page in book], {}, embedding)
    write(folder / "after", [(page.path, edited.get(page.path, page)) for page in book], {}, embedding)


def refuse_missing(data: Path) -> None:
    missing = [name for name in (*BEIR, TEXTBOOK) if not (data / name).is_dir()]
    if missing:
        raise Misconfigured(
            f"bench-peers needs ../shared/data beside the repository; {', '.join(missing)} cannot be found there"
        )


def pages_of(name: str) -> list[Page]:
    """The documents of a set with their chunks, out of its library."""
    with stored_library(Settings(library=library_at(name))).reading() as opened:
        return [page_in(opened, name, document) for document in all_documents(opened.catalog, Scope())]


def page_in(opened: OpenLibrary, name: str, document: Document) -> Page:
    chunks = chunks_at(opened.catalog, Scope(), document.path)
    vectors = opened.catalog.vectors([chunk.text_digest for chunk in chunks])
    return Page(
        set=name,
        path=document.path,
        text=document.text,
        texts=tuple(chunk.embedded_text for chunk in chunks),
        vectors=tuple(vectors[chunk.text_digest] for chunk in chunks),
    )


def chosen(pages: Iterable[Page], chunks: int) -> list[Page]:
    """So many chunks of all sets, whole documents, in an order that no set decides."""
    taken: list[Page] = []
    left = chunks
    for page in sorted(pages, key=lambda page: page.draw):
        if 0 < len(page.texts) <= left:
            taken.append(page)
            left -= len(page.texts)
    return taken


def by_tenant(pages: Iterable[Page]) -> list[tuple[str, Page]]:
    """Each page under a path that starts with its tenant."""
    return [(f"{page.tenant}/{page.set}/{page.path}", page) for page in pages]


def drawn(questions: Mapping[str, str], count: int) -> dict[str, str]:
    """So many questions of all sets, mixed."""
    order = sorted(questions, key=digest)
    return {id_: questions[id_] for id_ in order[:count]}


def edit(book: Sequence[Page], embedding: Embedding) -> dict[str, Page]:
    """One page of the book, changed: a paragraph rewritten and the last section gone."""
    for page in sorted(book, key=lambda page: page.draw):
        text = edited_text(page.text)
        if len(page.texts) >= FEWEST_CHUNKS and text is not None:
            return {page.path: recut(replace(page, text=text), embedding)}
    raise BadData("no page of the textbook has enough sections to be edited: is ../shared/data whole?")


def edited_text(text: str) -> str | None:
    """The text without its last second-level section and with one paragraph of the first one rewritten."""
    lines = text.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith("## ")]
    if len(starts) < 3:
        return None
    first = range(starts[0], starts[1])
    prose = [at for at in first if len(lines[at]) > 200 and lines[at][0].isalpha()]
    if not prose:
        return None
    kept = [REWRITTEN if at == prose[0] else line for at, line in enumerate(lines[: starts[-1]])]
    return "\n".join(kept) + "\n"


def recut(page: Page, embedding: Embedding) -> Page:
    """The page as citewise cuts and embeds it now."""
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "pages" / page.path
        file.parent.mkdir(parents=True)
        file.write_text(page.text, "utf-8")
        settings = Settings(library=Path(home) / "library")
        with Library(
            settings=settings,
            embedder=embedding.embedder,
            token_counter=embedding.counter,
            word_embedder=embedding.words,
        ) as library:
            library.ingest(Path(home) / "pages")
        with stored_library(settings, embedding).reading() as opened:
            [document] = all_documents(opened.catalog, Scope())
            return page_in(opened, page.set, document)


def write(folder: Path, pages: Sequence[tuple[str, Page]], questions: Mapping[str, str], embedding: Embedding) -> None:
    """A corpus: its files as they are, its chunks and questions with their vectors."""
    for path, page in pages:
        file = folder / "pages" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.text, "utf-8")
    chunks = [
        Chunk(key=f"{path}#{position}", document=path, tenant=page.tenant, text=text)
        for path, page in pages
        for position, text in enumerate(page.texts)
    ]
    vectors = [vector for _, page in pages for vector in page.vectors]
    rows = [Question(id_, text) for id_, text in questions.items()]
    corpus = Corpus(
        chunks,
        _matrix(vectors, embedding),
        rows,
        _matrix([embedding.embedder.query(question.text) for question in rows], embedding),
        folder / "pages",
    )
    write_corpus(folder, corpus)


def _matrix(vectors: Sequence[Vector], embedding: Embedding) -> "np.ndarray[tuple[int, int], np.dtype[np.float32]]":
    dimensions = embedding.embedder.model.dimensions
    return np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), dimensions)


def _book_questions() -> dict[str, str]:
    cases = json.loads((DATA / TEXTBOOK / "questions" / "answerable.json").read_text("utf-8"))
    return {str(at): case["question"] for at, case in enumerate(cases)}
