"""Commands that are killed, and what a library holds afterwards.

Run as a program, it is the command itself, with a fault of `FAULTS` planted if one is named.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TypeVar

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.cli.main import main
from citewise.ingest.project import Project
from citewise.library import OpenLibrary
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import DocumentWrite
from citewise.ports.indexes import IndexBatch, Projection
from citewise.ports.models import Embedding
from citewise.settings import Settings
from citewise.wiring import search_of, stored_library
from tests.pipelines.harness import a_question
from tests.stores import all_documents, chunks_at

ROOT = Path(__file__).parents[2]
WORDS = {
    "ingest": ["ingest", "docs", "--verbose"],
    "watch": ["ingest", "docs", "--watch", "--verbose"],
    "reindex": ["reindex"],
    "compact": ["compact"],
    "reembed": ["reindex"],  # with another size of chunks
}
SOONEST, LATEST = 0.05, 8.0  # seconds from the start of a command to its end by SIGKILL
SIZES = (120, 60)  # tokens of a chunk; to change it is to embed the library again
PAGES, QUERIES = 30, 20
WINDOW = "window"  # a file that says that a fault may be met now
VOCABULARY = ("tide", "gauge", "pilot", "beacon", "mooring", "dredge", "swell", "keel", "buoy", "anchor")
EVERYTHING = Where(Scope(), None)

T = TypeVar("T")
Content = Mapping[str, tuple[object, ...]]  # by path: the rule of a document, and its chunks with their vectors


@dataclass(frozen=True, slots=True)
class Step:
    """A command that is killed after so many seconds, unless it has ended; before it, pages are edited."""

    operation: str
    edition: int  # what the edit is drawn from; a watch sees the edit happen
    seconds: float

    @classmethod
    def drawn(cls, draw: random.Random) -> "Step":
        seconds = SOONEST * (LATEST / SOONEST) ** draw.random()
        return cls(draw.choice(list(WORDS)), draw.getrandbits(32), round(seconds, 2))


def edit(docs: Path, edition: int) -> None:
    """A third of the pages become other ones; some go, some come, some are renamed. One in three is for a group."""
    draw = random.Random(edition)
    for n in range(PAGES):
        name = docs / f"part-{n % 4}" / f"page-{n}.md"
        renamed = name.with_name(f"renamed-{n}.md")
        file = renamed if renamed.exists() else name
        chance = draw.random()
        if chance < 0.1 and file.exists():
            file.unlink()
        elif chance < 0.2 and file.exists():
            file.rename(name if file == renamed else renamed)
        elif chance < 0.5 or not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_page(draw, n))


def _page(draw: random.Random, n: int) -> str:
    rule = "---\naccess: group:ops\n---\n" if n % 3 == 0 else ""
    sections = [
        f"## Part {k} of {n}\n\nGauge {draw.randrange(10**6)}: {' '.join(draw.choices(VOCABULARY, k=25))}."
        for k in range(draw.randrange(1, 5))
    ]
    return f"{rule}# Harbor page {n}\n\n" + "\n\n".join(sections) + "\n"


def _chunk_sizes(target: int) -> dict[str, int]:
    return {
        "target_tokens": target,
        "floor_tokens": target // 4,
        "ceiling_tokens": 2 * target,
        "overlap_tokens": target // 10,
    }


class Killed:
    """A library in a folder beside its pages, and the commands that change it."""

    def __init__(self, home: Path, embedding: Embedding, *, fault: str = "") -> None:
        self.docs = home / "docs"
        self._home = home
        self._embedding = embedding
        self._fault = fault
        self._acknowledged: set[str] = set()
        self.kills = 0

    def run(self, step: Step) -> str:
        """Take a step; returns what is wrong with the library afterwards, if anything is."""
        self._edit(step.edition)
        if self._size() is None and step.operation in ("reindex", "compact", "reembed"):
            step = Step("ingest", step.edition, step.seconds)  # there is no library yet
        size = self._size() or SIZES[0]
        if step.operation == "reembed":
            size = next(other for other in SIZES if other != size)
        self._kill(step, size)
        return self._problem() if self._size() else ""

    def _edit(self, edition: int) -> None:
        """Edit the pages; what is gone, though it may come back in another edition, need not be held any more."""
        edit(self.docs, edition)
        self._acknowledged = {path for path in self._acknowledged if (self.docs / path).exists()}

    def _kill(self, step: Step, size: int) -> None:
        with tempfile.TemporaryFile("w+") as said:
            process = self._started(WORDS[step.operation], size, said, self._fault)
            self._wait(process, step)
            process.send_signal(signal.SIGKILL)  # which does nothing to one that has ended
            code = process.wait()
            said.seek(0)
            lines = said.read().split("\n")
        self.kills += code == -signal.SIGKILL
        assert code in (0, -signal.SIGKILL), lines
        done = {line.split(" ")[1] for line in lines if line.startswith("ingested ") and line.endswith(")")}
        self._acknowledged |= {path for path in done if (self.docs / path).exists()}

    def _wait(self, process: subprocess.Popen[bytes], step: Step) -> None:
        """Until the moment of the kill, or the command's end; with a fault planted, until its window is open."""
        if step.operation == "watch":
            time.sleep(step.seconds / 2)
            self._edit(step.edition + 1)
        if not self._fault:
            with suppress(subprocess.TimeoutExpired):
                process.wait(step.seconds / 2 if step.operation == "watch" else step.seconds)
        while self._fault and not (self._home / WINDOW).exists() and process.poll() is None:
            time.sleep(SOONEST)

    def ingest(self, library: str = ".citewise") -> None:
        """Ingest the pages, undisturbed and without a fault."""
        done = self._started(["ingest", "docs", "--library", library], self._size() or SIZES[0], subprocess.DEVNULL)
        assert done.wait() == 0

    def finished(self) -> str:
        """Ingest what is there, undisturbed, and compare with a new library of the same pages; the difference."""
        size = self._size() or SIZES[0]
        self.ingest()
        self.ingest("fresh")
        if problem := self._problem():
            return problem
        one, other = (self._opened(library, size, _contents) for library in (".citewise", "fresh"))
        if paths := [path for path in {**one, **other} if one.get(path) != other.get(path)]:
            return f"not equal to a fresh library: {sorted(paths)}"
        rankings, fresh = (self._opened(library, size, _rankings) for library in (".citewise", "fresh"))
        if questions := [question for question in rankings if rankings[question] != fresh[question]]:
            return f"ranked unlike a fresh library: {questions}"
        return ""

    def _problem(self) -> str:
        """What is wrong with the library as it is: an index that has other chunks than the catalog, a lost document."""
        held = self._opened(".citewise", self._size() or 0, _held)
        if isinstance(held, str):
            return held
        lost = self._acknowledged - held
        return f"lost: {sorted(lost)}" if lost else ""

    def _started(self, words: list[str], size: int, said: int | IO[str], fault: str = "") -> subprocess.Popen[bytes]:
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        sizes = {f"CITEWISE_CHUNKS__{name.upper()}": str(value) for name, value in _chunk_sizes(size).items()}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.campaigns.kills", fault, *words],
            cwd=self._home,
            env={**os.environ, "PYTHONPATH": paths, **sizes},
            stdout=subprocess.DEVNULL,
            stderr=said,
        )

    def _settings(self, library: str, size: int) -> Settings:
        return Settings(library=self._home / library).changed(chunks=_chunk_sizes(size))

    def _size(self) -> int | None:
        """The size of the library's chunks; None where there is no library yet."""
        if not (self._home / ".citewise" / "CURRENT").exists():
            return None
        stored = {size: stored_library(self._settings(".citewise", size), self._embedding) for size in SIZES}
        facts = stored[SIZES[0]].read(lambda catalog: catalog.facts())
        return next(size for size in SIZES if stored[size].facts == facts)

    def _opened(self, library: str, size: int, look: Callable[[OpenLibrary], T]) -> T:
        with stored_library(self._settings(library, size), self._embedding).reading() as opened:
            return look(opened)


def _held(library: OpenLibrary) -> set[str] | str:
    """The paths of all documents; or how the indexes differ from the catalog."""
    paths = {
        document.path: chunks_at(library.catalog, Scope(), document.path)
        for document in all_documents(library.catalog, Scope())
    }
    ids = [chunk.id for chunks in paths.values() for chunk in chunks]
    vector = library.stored.embedding.embedder.query("harbor")
    found = {
        "words": [hit.id for hit in library.texts.search(["harbor"], field="words", where=EVERYTHING, limit=10_000)],
        "vectors": [hit.id for hit in library.vectors.search(vector, where=EVERYTHING, limit=10_000)],
    }
    for index, hits in found.items():
        if sorted(hits) != sorted(ids):
            return f"{index}: {len(hits)} hits, {len(set(ids) - set(hits))} lost, {len(set(hits) - set(ids))} too many"
    return set(paths)


def _contents(library: OpenLibrary) -> Content:
    catalog, found = library.catalog, {}
    for document in all_documents(catalog, Scope()):
        chunks = chunks_at(catalog, Scope(), document.path)
        vectors = catalog.vectors([chunk.text_digest for chunk in chunks])
        rows = [(chunk.id, chunk.piece, chunk.labels, vectors[chunk.text_digest]) for chunk in chunks]
        found[document.path] = (document.title, document.text, document.access, *rows)
    return found


def _rankings(library: OpenLibrary) -> dict[tuple[Principal, str], list[ChunkId]]:
    """The passages that two readers find for each question, in order."""
    draw, found = random.Random(0), {}
    with ThreadPoolExecutor(1) as threads:
        search = search_of(library, reranker=None, threads=threads)
        for _ in range(QUERIES):
            question = f"{' '.join(draw.sample(VOCABULARY, 3))} {draw.randrange(PAGES)}"
            for reader in (OWNER, Principal("ann")):
                result = search(a_question(question, principal=reader))
                found[reader, question] = [finding.passage.chunk_id for finding in result.findings]
    return found


# Faults. Each waits at the worst moment, so that the kill falls there.


def _open_window() -> None:
    Path(WINDOW).touch()
    time.sleep(3600)


def _record_positions_early() -> None:
    replayed = Project._replayed

    def early(
        self: Project, scope: Scope, targets: Sequence[tuple[Projection, int]], after: int
    ) -> Iterator[tuple[int, int]]:
        last = self.log.last_position(scope)
        for index, generation in targets:
            index.write(scope, generation, IndexBatch((), (), last))
        self._record(scope, targets, last)
        _open_window()
        yield from replayed(self, scope, targets, after)

    Project._replayed = early  # type: ignore[method-assign]


def _store_documents_before_their_chunks() -> None:
    store = SqliteCatalog.store

    def early(self: SqliteCatalog, writes: Sequence[DocumentWrite]) -> ChunkCounts:
        store(self, [replace(write, chunks=()) for write in writes])
        _open_window()
        return store(self, writes)

    SqliteCatalog.store = early  # type: ignore[method-assign]


FAULTS = {
    "a position is recorded before its changes are written": _record_positions_early,
    "a document is stored before its chunks": _store_documents_before_their_chunks,
}

if __name__ == "__main__":
    fault = sys.argv.pop(1)
    if fault:
        FAULTS[fault]()
    main()
