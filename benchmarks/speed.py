"""How fast is search, with every filter and at every size; how fast does a library open, what does it weigh?

    python -m benchmarks.speed [--sizes 1000,10000,100000,1000000] [--seconds 10]

Questions' vectors are ready, so nothing is embedded (but see the textbook's table). Synthetic libraries are made once
and kept in .bench/speed-N; the largest takes about 15 minutes. Then a size takes up to 14 times `--seconds`, and a
minute more at a million for the exact answers. Times are those of whatever else the machine does: trust ratios.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fresh import Opened, opened_in_new_process
from benchmarks.judged import DATA, KEPT
from benchmarks.printing import publish
from benchmarks.recall import recalls
from benchmarks.results import Cell, Table, results_now
from benchmarks.synthetic import SHARES, library_folder, questions, reader, synthetic_embedding
from benchmarks.timing import FORGETFUL, STAGES, WHOLE, Timed, searches_a_second, timed, warm
from citewise import Library, Principal
from citewise.model.access import OWNER

SIZES = (1_000, 10_000, 100_000, 1_000_000)
QUESTIONS = 300
THREADS = (1, 2, 8)
OPENINGS = 3
RECALL_QUESTIONS = 40
OWNER_ROW = "owner"  # whom no rule narrows
READERS: Mapping[str, Principal] = {OWNER_ROW: OWNER, **{f"{share} %": reader(share) for share in SHARES}}
STAGED = "50 %"  # the reader whose times are shown stage by stage, and who asks from several threads
COMMAND = str(Path(sys.executable).with_name("citewise"))
COLD_QUESTION = "What is the embodiment hypothesis?"


@dataclass(frozen=True, slots=True)
class Measured:
    """All that is known of one size."""

    chunks: int
    searches: Mapping[str, Timed]  # by reader
    a_second: Mapping[int, float]  # by threads
    openings: Sequence[Opened]
    recalls: Mapping[str, float]  # by share
    made_seconds: Mapping[str, float]  # of catalog and index
    disk_mb: Mapping[str, float]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sizes", default=",".join(map(str, SIZES)), help="chunks, with commas")
    arguments.add_argument("--seconds", type=float, default=10.0, help="for each reader and number of threads")
    chosen = arguments.parse_args()
    measured = [measure(int(size), chosen.seconds) for size in chosen.sizes.split(",")]
    tables = [*tables_of(measured), *textbook_tables(chosen.seconds)]
    results = results_now(
        "speed",
        tables=tables,
        title="Speed of search",
        command="python -m benchmarks.speed",
    )
    publish(results, decimals=2)


def measure(chunks: int, seconds: float) -> Measured:
    print(f"{chunks:,} chunks …", flush=True)
    folder = library_folder(chunks)
    openings = [opened_in_new_process(chunks) for _ in range(OPENINGS)]
    texts = questions(QUESTIONS)
    made = synthetic_embedding(chunks)
    with Library(folder, settings=FORGETFUL, embedder=made.embedder, token_counter=made.counter) as library:
        warm(library, texts, 4 * seconds)
        searches = {name: timed(library, texts, principal, seconds) for name, principal in READERS.items()}
        a_second = {
            threads: searches_a_second(library, texts, READERS[STAGED], seconds, threads=threads) for threads in THREADS
        }
    return Measured(
        chunks,
        searches,
        a_second,
        openings,
        recalls(folder, chunks, texts[:RECALL_QUESTIONS]),
        json.loads((folder / "made.json").read_text()),
        disk_mb(folder),
    )


def disk_mb(folder: Path) -> dict[str, float]:
    parts = {"catalog": "gen-*/catalog.db*", "words": "gen-*/index/texts/**/*", "vectors": "gen-*/index/vectors/**/*"}
    sizes = {part: sum(file.stat().st_size for file in folder.glob(pattern)) for part, pattern in parts.items()}
    return {part: size / 1e6 for part, size in sizes.items()}


def tables_of(measured: Sequence[Measured]) -> list[Table]:
    return [
        Table(
            "Search without embedding, by size and by what the reader may see",
            ("chunks", "reader sees", "first ms", "p50 ms", "p95 ms", "p99 ms", "CPU p50 ms", "CPU p99 ms", "searches"),
            tuple(
                (
                    size.chunks,
                    name,
                    times.first_ms,
                    *times.stages[WHOLE].row,
                    times.cpu.p50,
                    times.cpu.p99,
                    times.searches,
                )
                for size in measured
                for name, times in size.searches.items()
            ),
            "The whole call of a warm process, one after the other; `first` is the first one with that filter. CPU is "
            "the time of all its threads: what a search costs, whatever else the machine does.",
            "p99 under 100 ms at a million, with every filter",
        ),
        _stage_table(f"Where the time goes, for a reader of {STAGED}", {size.chunks: size for size in measured}),
        Table(
            f"Searches a second, a reader of {STAGED}",
            ("chunks", *(f"{threads} threads" for threads in THREADS)),
            tuple((size.chunks, *size.a_second.values()) for size in measured),
            "Each thread asks again as soon as it has its answer.",
        ),
        _opening_table(measured),
        Table(
            "Recall@60 of the nearest vectors, by what the reader may see",
            ("chunks", *(f"{share} %" for share in SHARES)),
            tuple((size.chunks, *size.recalls.values()) for size in measured),
            f"Against every vector in 32-bit floats; {RECALL_QUESTIONS} questions.",
            "0.95",
        ),
        _weight_table(measured),
    ]


def _stage_table(title: str, by_size: Mapping[int, Measured]) -> Table:
    columns = [f"{chunks:,} chunks, {which} ms" for chunks in by_size for which in ("p50", "p99")]
    rows: list[tuple[Cell, ...]] = []
    for stage in STAGES[1:]:  # nothing is embedded
        times = [size.searches[STAGED].stages[stage] for size in by_size.values()]
        rows.append((stage, *(ms for stage_ms in times for ms in (stage_ms.p50, stage_ms.p99))))
    note = "Dense, words and code run side by side, and are together the rankings."
    return Table(title, ("stage", *columns), tuple(rows), note)


def _opening_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for size in measured:
        best = min(size.openings, key=lambda opening: opening.seconds)
        middle = statistics.median(opening.seconds for opening in size.openings)
        rows.append((size.chunks, middle, best.seconds, best.first_search_ms, best.resident_mb, best.own_mb))
    return Table(
        "Opening a library in a new process",
        ("chunks", "seconds", "best", "second search ms", "resident MB", "of its own MB"),
        tuple(rows),
        f"From opening to the first answer, checksums verified; median and best of {OPENINGS}. Memory after a search "
        "with each filter; what is not its own are pages of mapped files, which the system takes back at need.",
        "a million: under 3 s and under 4 GB",
    )


def _weight_table(measured: Sequence[Measured]) -> Table:
    return Table(
        "Making and keeping it",
        ("chunks", "catalog chunks/s", "index chunks/s", "catalog MB", "words MB", "vectors MB"),
        tuple(
            (size.chunks, *(size.chunks / seconds for seconds in size.made_seconds.values()), *size.disk_mb.values())
            for size in measured
        ),
        "Vectors were ready. Measured when the library was made.",
    )


def textbook_tables(seconds: float) -> list[Table]:
    """A real library of 2,000 chunks with its own embedding model, and the command from a cold shell."""
    book = DATA / "textbook"
    if not book.is_dir():
        print(f"no shared data at {book}: the textbook is left out")
        return []
    texts = [case["question"] for case in json.loads((book / "questions" / "answerable.json").read_text("utf-8"))]
    folder = KEPT / "textbook" / "library"
    with Library(folder, settings=FORGETFUL) as library:
        library.ingest(book / "website" / "docs")
        times = timed(library, texts, OWNER, seconds)
        a_second = [searches_a_second(library, texts, OWNER, seconds, threads=threads) for threads in THREADS]
    cold = sorted(_cold_seconds(folder) for _ in range(7))
    return [
        Table(
            "The textbook, embedding included",
            ("stage", "p50 ms", "p95 ms", "p99 ms"),
            tuple((stage, *times.stages[stage].row) for stage in STAGES),
            f"{len(texts)} questions in turn, {times.searches} searches.",
        ),
        Table(
            "The textbook, searches a second",
            tuple(f"{threads} threads" for threads in THREADS),
            (tuple(a_second),),
            "As above, with the model.",
        ),
        Table(
            "`citewise search` from a cold shell",
            ("median s", "best s"),
            ((statistics.median(cold), cold[0]),),
            f"A new process for each of {len(cold)} questions.",
            "1 s",
        ),
    ]


def _cold_seconds(folder: Path) -> float:
    started = time.perf_counter()
    subprocess.run(
        [COMMAND, "search", COLD_QUESTION, "--library", str(folder)], check=True, capture_output=True, timeout=60
    )
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
