"""What does it cost a search to compare the seals of what it reads, and what would other checksums cost?

    python -m benchmarks.seals [--seconds 5]

Rows are those that real searches read: of the textbook, and of 10,000 synthetic chunks, where a search is at its
shortest. A search is timed as a whole, then each way to seal its rows by itself, in the middle of a search: the
difference between two runs of a search is larger than what is measured. All times are of the processor, whatever else
the machine does. Libraries are made once, in .bench.
"""

import argparse
import hashlib
import json
import marshal
import statistics
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from benchmarks.judged import DATA, KEPT
from benchmarks.printing import publish
from benchmarks.results import Cell, Table, results_now
from benchmarks.synthetic import library_folder, questions, synthetic_embedding
from benchmarks.timing import FORGETFUL, timed
from citewise import Library
from citewise.adapters.sqlite import rows as records
from citewise.model.access import OWNER, Scope

CHUNKS = 10_000
QUESTIONS = 200

Row = list[Any]
_TEXT = records.SEALS["c.seal"].index("c.text")

WAYS: Mapping[str, Callable[[Row], object]] = {
    "marshal, CRC-32 (the seal)": lambda row: zlib.crc32(marshal.dumps(row, 2)),
    "marshal, Adler-32": lambda row: zlib.adler32(marshal.dumps(row, 2)),
    "marshal, SHA-256": lambda row: hashlib.sha256(marshal.dumps(row, 2)).digest(),
    "joined as text, CRC-32": lambda row: zlib.crc32("\x1f".join(map(str, row)).encode()),
    "the text alone, CRC-32": lambda row: zlib.crc32(row[_TEXT].encode()),
    "the text alone, SHA-256": lambda row: hashlib.sha256(row[_TEXT].encode()).digest(),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one library: milliseconds of a search, microseconds of each way, and how many rows a search reads."""

    search_ms: float
    ways_us: Mapping[str, float]
    rows: float


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=5.0, help="of searches, for each library")
    seconds = arguments.parse_args().seconds
    measured = {"textbook": _of_the_textbook(seconds), f"{CHUNKS:,} chunks": _of_synthetic_chunks(seconds)}
    command = "python -m benchmarks.seals"
    publish(results_now("seals", tables=[_table(measured)], title="Verified text", command=command), decimals=2)


def _of_the_textbook(seconds: float) -> Measured:
    book = DATA / "textbook"
    texts = [case["question"] for case in json.loads((book / "questions" / "answerable.json").read_text("utf-8"))]
    with Library(KEPT / "textbook" / "library", settings=FORGETFUL) as library:
        library.ingest(book / "website" / "docs")
        return _measured(library, texts[:QUESTIONS], seconds)


def _of_synthetic_chunks(seconds: float) -> Measured:
    made = synthetic_embedding(CHUNKS)
    folder = library_folder(CHUNKS)
    with Library(folder, settings=FORGETFUL, embedder=made.embedder, token_counter=made.counter) as library:
        return _measured(library, questions(QUESTIONS), seconds)


def _measured(library: Library, texts: Sequence[str], seconds: float) -> Measured:
    search_ms = timed(library, texts, OWNER, seconds).cpu.p50
    ways_us: dict[str, float] = {}
    counts: list[int] = []
    for name, way in WAYS.items():
        taken: list[float] = []
        with patch.object(records, "hydrated", _timing(way, taken, counts)):
            for text in texts:
                library.as_owner().search(text)
        ways_us[name] = 1e6 * statistics.median(taken)
    return Measured(search_ms, ways_us, statistics.mean(counts))


def _timing(way: Callable[[Row], object], taken: list[float], counts: list[int]) -> Callable[..., object]:
    """Hydration that first goes over the rows, just read, in this way; as lists, which it makes of them anyway."""
    hydrated = records.hydrated

    def timing(rows: Sequence[Sequence[Any]], scope: Scope) -> object:
        lists = [list(row) for row in rows]
        started = time.thread_time()
        for row in lists:
            way(row)
        taken.append(time.thread_time() - started)
        counts.append(len(rows))
        return hydrated(rows, scope)

    return timing


def _table(measured: Mapping[str, Measured]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for name in WAYS:
        costs = [(each.ways_us[name], each.ways_us[name] / (10 * each.search_ms)) for each in measured.values()]
        lines.append((name, *(cell for pair in costs for cell in pair)))
    columns = [f"{name}, {what}" for name in measured for what in ("us", "% of a search")]
    searches = "; ".join(
        f"{name}: {each.search_ms:.2f} ms for {each.rows:.0f} rows read" for name, each in measured.items()
    )
    note = f"Processor time of a whole search, {searches}."
    return Table("Comparing seals at hydration", ("way", *columns), tuple(lines), note, "under 2 % of a search")


if __name__ == "__main__":
    main()
