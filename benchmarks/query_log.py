"""What the query log adds to a query: the same search with and without it, in turn, over a real file.

python -m benchmarks.query_log [--queries N]; the search is one that does nothing, so that what is left is the log.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Percentiles
from citewise.model.access import Principal
from citewise.model.document import Lines
from citewise.model.ids import ChunkId, Digest, DocumentId
from citewise.model.query import Query
from citewise.model.ranking import Candidate, Finding, Passage, SearchResult
from citewise.request_log import LoggedSearch
from citewise.settings import QueryLogSettings, Settings
from citewise.wiring.insights import log_store_of, query_log_of

QUERIES = 20_000
HITS = 20
GROUPS = 20
ALLOWED_MS = 0.2
PACES = {"back to back": 0.0, "one every 2 ms": 0.002}  # the second as a server that is busy with other things


@dataclass(frozen=True, slots=True)
class Overhead:
    """Milliseconds of one call, without the log and with it; rows that were written, and rows that were dropped."""

    bare: Percentiles
    logged: Percentiles
    written: int
    dropped: int

    @property
    def added_ms(self) -> float:
        return self.logged.p50 - self.bare.p50


def overhead(folder: Path, queries: int, *, pause_seconds: float = 0.0) -> Overhead:
    """Calls with and without the log, in turn."""
    settings = Settings(library=folder, query_log=QueryLogSettings(queue=max(1_000, queries)))
    log = query_log_of(settings)
    result = _result()
    bare: Callable[[Query], SearchResult] = lambda query: result  # noqa: E731
    logged = LoggedSearch(bare, log)
    taken: dict[str, list[float]] = {"bare": [], "logged": []}
    for _ in range(queries):
        taken["bare"].append(_ms(bare, result.query))
        taken["logged"].append(_ms(logged, result.query))
        if pause_seconds:
            time.sleep(pause_seconds)
    log.close()
    store = log_store_of(settings)
    return Overhead(
        Percentiles.of(taken["bare"]),
        Percentiles.of(taken["logged"]),
        written=_rows(folder),
        dropped=store.lost(result.query.scope, since=0.0),
    )


def _ms(search: Callable[[Query], SearchResult], query: Query) -> float:
    started = time.perf_counter()
    search(query)
    return 1000 * (time.perf_counter() - started)


def _rows(folder: Path) -> int:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(folder / "queries.db")) as connection:
        return int(connection.execute("SELECT count(*) FROM queries").fetchone()[0])


def _result() -> SearchResult:
    """A default search's, asked by somebody in many groups."""
    principal = Principal("ann", frozenset(f"group-{at}" for at in range(GROUPS)))
    text = "How do I calibrate the pressure sensor of a tide station after the winter?"
    query = Query(text, "r" * 32, time.time(), principal=principal)
    findings = tuple(Finding(_passage(at), Candidate(ChunkId(f"{at:016}"), 0.5, {}, {})) for at in range(HITS))
    return SearchResult(query, findings, total_candidates=100, timings_ms={"total": 5.0})


def _passage(at: int) -> Passage:
    return Passage(
        chunk_id=ChunkId(f"{at:016}"),
        document_id=DocumentId(f"{at // 3:016}"),
        document=f"page-{at // 3}.md",
        title="Tides",
        section="Reading",
        breadcrumb=("Tides", "Reading"),
        anchor="reading",
        position=at,
        location=Lines(1, 2),
        corpus_type="DOC_PAGE",
        content_type="prose",
        module="Unknown",
        chapter="Unknown",
        text="The gauge is read at noon.",
        tokens=6,
        text_digest=Digest("0" * 64),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES)
    queries = parser.parse_args().queries
    print(f"{'':<16}{'added p50':>12}{'added p95':>12}{'added p99':>12}{'written':>10}{'dropped':>10}   (milliseconds)")
    for name, pause in PACES.items():
        with tempfile.TemporaryDirectory() as folder:
            found = overhead(Path(folder), queries if not pause else queries // 10, pause_seconds=pause)
        added = [with_ - without for with_, without in zip(found.logged.row, found.bare.row, strict=True)]
        print(f"{name:<16}" + "".join(f"{ms:>12.4f}" for ms in added) + f"{found.written:>10,}{found.dropped:>10,}")
    print(f"allowed: {ALLOWED_MS} ms")


if __name__ == "__main__":
    main()
