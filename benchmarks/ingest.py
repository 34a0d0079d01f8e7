"""How fast is ingestion, and is the pipeline ever the bottleneck? Prints the numbers that the docs quote.

Rates are ratios within one run wherever they can be, since machines are noisy.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.catalogs import all_chunks
from benchmarks.synthetic import Ready, writes
from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.ingest.targets import IngestOptions
from citewise.library import OpenLibrary
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.model.report import IngestReport
from citewise.settings import Settings
from citewise.wiring import stored_library
from citewise.wiring_models import embedding_of

COMMAND = str(Path(sys.executable).with_name("citewise"))
OPEN = """
import json, re, sys, time
from pathlib import Path
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.settings import Settings
from citewise.wiring import stored_library
from benchmarks.synthetic import query_vector
def resident_mb():  # ru_maxrss would count what the parent held when it forked
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) / 1000
before = resident_mb()
started = time.perf_counter()
with stored_library(Settings(library=Path(sys.argv[1]))).reading() as library:
    hits = library.vectors.search(query_vector(384, seed=3), where=Where(Scope(), None), limit=60)
    seconds = time.perf_counter() - started
    assert len(hits) == 60
    memory = resident_mb()
print(json.dumps({"seconds": seconds, "mb": memory, "more_mb": memory - before}))
"""


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments.add_argument("--chunks", type=int, default=100_000, help="size of the synthetic library")
    chosen = arguments.parse_args()
    parts: list[Callable[[], None]] = [bench_help, lambda: bench_synthetic(chosen.chunks)]
    if chosen.data.is_dir():
        parts = [lambda: bench_cutting(chosen.data), lambda: bench_textbook(chosen.data), *parts]
    else:
        print(f"no shared data at {chosen.data}: only the synthetic parts run")
    for part in parts:
        part()


def bench_cutting(data: Path) -> None:
    """Parsing and chunking alone, on three real trees."""
    trees = [data / "textbook/website/docs", data / "docs_docusaurus", data / "docs_react_native"]
    texts = [(file.name, file.read_text()) for tree in trees for file in sorted(tree.rglob("*.md*"))]
    size = sum(len(text.encode()) for _, text in texts) / 1e6
    embedding = embedding_of(Settings())
    parser = MarkdownParser()
    chunker = HeadingChunker(embedding.counter, embedding.embedder.model.window_tokens)
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        pieces = 0
        for _, text in texts:
            parsed = parser.parse_text(text)
            pieces += len(chunker(parsed.blocks, title=parsed.own_title))
        seconds.append(time.perf_counter() - started)
    said("parse and chunk", f"{size / min(seconds):.2f} MB/s", f"{len(texts)} files, {size:.2f} MB, {pieces} chunks")


def bench_textbook(data: Path) -> None:
    """A whole ingestion against the embedding model alone on the same texts, then the same tree again."""
    docs = data / "textbook/website/docs"
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(library=Path(home) / "library")
        embedding = embedding_of(settings)
        embedding.embedder.query("warm up")
        with stored_library(settings, embedding).writing() as library:
            *_, report = library.ingest({docs: None}, IngestOptions())
            assert isinstance(report, IngestReport)
            texts = [chunk.embedded_text for chunk in all_chunks(library.catalog, Scope())]
            recall = byte_recall(library, data / "textbook")
        alone = timed(lambda: embedding.embedder.documents(list(dict.fromkeys(texts))))
        rate, bare = report.embedded / report.seconds, len(set(texts)) / alone
        said("textbook ingest", f"{rate:.1f} chunks/s", f"{report.ingested} files, {report.embedded} embedded")
        said("model alone", f"{bare:.1f} chunks/s", "same texts, same run")
        said("ingest / model", f"{rate / bare:.0%}", "at least 80 % wanted")
        said("recall@60 of bytes", f"{recall:.3f}", "of the exact fp32 answer, 133 real queries (0.98 wanted)")
        again: list[str] = [COMMAND, "ingest", str(docs), "--library", str(settings.library), "--json"]
        started = time.perf_counter()
        second = json.loads(subprocess.run(again, capture_output=True, text=True, check=True).stdout)
        took = time.perf_counter() - started
        said("second ingest", f"{took:.2f} s", f"whole process; {second['embedded']} embedded (under 2 s wanted)")


def byte_recall(library: OpenLibrary, book: Path) -> float:
    """How much of the exact answer survives one byte a component, on the book's own questions and descriptions."""
    chunks = all_chunks(library.catalog, Scope())
    vectors = library.catalog.vectors([chunk.text_digest for chunk in chunks])
    matrix = np.stack([np.frombuffer(vectors[chunk.text_digest], dtype="<f4") for chunk in chunks])
    asked = [entry["question"] for entry in json.loads((book / "questions/answerable.json").read_text())]
    asked += [json.loads(line)["text"] for line in (book / "known_item/queries.jsonl").read_text().splitlines()]
    found = 0
    for text in asked:
        query = library.stored.embedding.embedder.query(text)
        scores = matrix @ np.frombuffer(query, dtype="<f4")
        exact = {chunks[row].id for row in np.argsort(-scores, kind="stable")[:60]}
        found += len(exact & {hit.id for hit in library.vectors.search(query, where=Where(Scope(), None), limit=60)})
    return found / (60 * len(asked))


def bench_synthetic(chunks: int) -> None:
    """Many chunks with ready vectors: writing, projecting, opening, memory."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(library=Path(home) / "library")
        with stored_library(settings).writing() as library:
            made = writes(chunks, library.stored.embedding.embedder.model.dimensions)
            stored = projected = 0.0
            while group := list(islice(made, 200)):
                stored += timed(lambda group=group: stored_group(library, group))  # type: ignore[misc]
                projected += timed(lambda: library.project(Scope()))
        said("catalog writes", f"{chunks / stored:,.0f} chunks/s", f"{chunks:,} chunks with ready vectors")
        said("index writes", f"{chunks / projected:,.0f} chunks/s", "terms, postings, codes and bitmaps")
        done = subprocess.run(
            [sys.executable, "-c", OPEN, str(settings.library)], capture_output=True, text=True, check=True
        )
        opened = json.loads(done.stdout)
        said("open and search", f"{opened['seconds']:.2f} s", "fresh process, checksums verified (under 1 s wanted)")
        said("memory", f"{opened['mb']:.0f} MB", f"{opened['more_mb']:.0f} MB more than before it was opened")


def stored_group(library: OpenLibrary, group: list[Ready]) -> None:
    for _, vectors in group:
        library.catalog.keep(vectors, {})
    library.catalog.store([write for write, _ in group])


def bench_help() -> None:
    """The time it takes to be told what there is."""
    runs = [timed(lambda: subprocess.run([COMMAND, "--help"], capture_output=True, check=True)) for _ in range(7)]
    said("citewise --help", f"{statistics.median(runs):.2f} s", "median of 7 (under 0.3 s wanted)")


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def said(what: str, figure: str, remark: str) -> None:
    print(f"{what:<18} {figure:>18}   {remark}", flush=True)


if __name__ == "__main__":
    main()
