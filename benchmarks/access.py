"""What do secrets cost: filtering for a reader in twenty groups, loading a million rules, cache, log and deep pages.

    python -m benchmarks.access [--rounds 15]

100,000 chunks of as many documents, ten rules each, ten thousand groups (benchmarks/access_library.py makes them once).
Whatever is compared is asked in alternation, question by question, so that what else the machine does hits both alike.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.access_library import (
    CHUNKS,
    GROUPS,
    MEMBERSHIPS,
    RULES_A_DOCUMENT,
    access_folder,
    member,
    member_of,
    rules_of,
)
from benchmarks.printing import publish
from benchmarks.results import Table, results_now
from benchmarks.synthetic import questions, synthetic_embedding
from benchmarks.timing import Percentiles
from citewise import Library, Settings
from citewise.model.access import OWNER, Principal

QUESTIONS = 100
FIRST_RANKS = (10, 30, 100, 1_000)  # of readers in twenty groups of one size
LOADINGS = 3
MAX_SECONDS = 120
PAGE = 5
PAGES = (2, 10, 50)
PAGED_QUESTIONS = 20
ROOT = Path(__file__).parents[1]
NO_CACHE = {"megabytes": 0}
NO_LOG = {"retention_days": 0}

Ask = Callable[[str], object]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=15, help="how often every question is asked of each variant")
    chosen = arguments.parse_args()
    folder = access_folder()
    texts = questions(QUESTIONS)
    tables = [
        filter_table(folder, texts, chosen.rounds),
        loading_table(),
        cache_table(folder, texts, chosen.rounds),
        log_table(folder, texts, chosen.rounds),
        page_table(folder, texts[:PAGED_QUESTIONS], chosen.rounds),
    ]
    results = results_now(
        "access", tables=tables, title="Access, cache, log and pages", command="python -m benchmarks.access"
    )
    publish(results, decimals=2)


def filter_table(folder: Path, texts: Sequence[str], rounds: int) -> Table:
    readers = [member(), *(member_of(first) for first in FIRST_RANKS)]
    variants = {
        "owner, no filter": OWNER,
        **{f"sees {100 * visible_share(reader):.0f} %": reader for reader in readers},
    }
    with opened(folder, query_cache=NO_CACHE, query_log=NO_LOG) as library:
        times_ms = in_turn({name: _searching(library, reader) for name, reader in variants.items()}, texts, rounds)
    base = statistics.median(next(iter(times_ms.values())))
    return Table(
        f"Filtering for a reader in {MEMBERSHIPS} groups, {CHUNKS:,} chunks",
        ("reader", "p50 ms", "p95 ms", "p99 ms", "p50 against no filter"),
        tuple((name, *Percentiles.of(ms).row, statistics.median(ms) / base) for name, ms in times_ms.items()),
        f"{CHUNKS:,} documents with {RULES_A_DOCUMENT} rules each of {GROUPS:,} groups. The first reader is in groups "
        "of every size, the others in twenty neighbors from large to small.",
        "at most 1.2",
    )


def visible_share(principal: Principal) -> float:
    """By the rules themselves, of one document in fifty."""
    readers = principal.readers or frozenset()
    sample = range(0, CHUNKS, 50)
    return sum(bool(readers & rules_of(number).readers) for number in sample) / len(sample)


def loading_table() -> Table:
    loaded = [_loaded_in_new_process() for _ in range(LOADINGS)]
    best = min(loaded, key=lambda loading: loading["seconds"])
    return Table(
        f"Loading {CHUNKS * RULES_A_DOCUMENT:,} rules of {GROUPS:,} groups in a new process",
        ("seconds", "best", "second search ms", "resident MB"),
        (
            (
                statistics.median(loading["seconds"] for loading in loaded),
                best["seconds"],
                best["search_ms"],
                best["mb"],
            ),
        ),
        f"From opening to the first answer for a reader in {MEMBERSHIPS} groups; median and best of {LOADINGS}.",
        "under 5 s",
    )


def cache_table(folder: Path, texts: Sequence[str], rounds: int) -> Table:
    ann = member()
    with opened(folder, query_log=NO_LOG) as library:
        for question in texts:
            library.as_principal(ann).search(question)
        times_ms = in_turn({"exact hit": _hitting(library, ann)}, texts, rounds)
    rows = tuple((name, *Percentiles.of(ms).row) for name, ms in times_ms.items())
    return Table("Questions asked before", ("", "p50 ms", "p95 ms", "p99 ms"), rows, "", "at most 2 ms at p99")


def log_table(folder: Path, texts: Sequence[str], rounds: int) -> Table:
    with (
        opened(folder, query_cache=NO_CACHE, query_log=NO_LOG) as without,
        opened(folder, query_cache=NO_CACHE) as logging,
    ):
        ann = member()
        variants = {"no log": _searching(without, ann), "with the log": _searching(logging, ann)}
        times_ms = in_turn(variants, texts, rounds)
    bare, logged = times_ms.values()
    differences = [after - before for before, after in zip(bare, logged, strict=True)]
    return Table(
        "What the query log adds",
        ("no log, p50 ms", "with it, p50 ms", "median difference ms"),
        ((statistics.median(bare), statistics.median(logged), statistics.median(differences)),),
        "Each question once without and once with it, in alternation; the difference is that of neighbors.",
        "at most 0.2 ms",
    )


def page_table(folder: Path, texts: Sequence[str], rounds: int) -> Table:
    times_ms: dict[int, list[float]] = {page: [] for page in PAGES}
    with opened(folder, query_cache=NO_CACHE, query_log=NO_LOG) as library:
        for question in (*texts,) * rounds:
            cursor = library.as_owner().search(question, limit=PAGE).next_cursor
            for page in range(2, max(PAGES) + 1):
                started = time.perf_counter()
                result = library.as_owner().search(question, limit=PAGE, cursor=cursor)
                if page in times_ms:
                    times_ms[page].append(1000 * (time.perf_counter() - started))
                cursor = result.next_cursor
                assert cursor is not None or page == max(PAGES), f"{question!r} has only {page} pages"
    base = statistics.median(times_ms[PAGES[0]])
    return Table(
        f"Leafing on, {PAGE} hits a page",
        ("page", "p50 ms", f"against page {PAGES[0]}"),
        tuple((page, statistics.median(ms), statistics.median(ms) / base) for page, ms in times_ms.items()),
        f"{len(texts)} questions of the library's owner, {rounds} times.",
        "page 50 as fast as page 2",
    )


def opened(folder: Path, **settings: object) -> Library:
    made = synthetic_embedding(CHUNKS)
    chosen = Settings(library=folder).changed(**settings)
    return Library(settings=chosen, embedder=made.embedder, token_counter=made.counter)


def in_turn(variants: Mapping[str, Ask], texts: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each variant, every question in all of them before the next; the first round warms up."""
    times_ms: dict[str, list[float]] = {name: [] for name in variants}
    for round_ in range(rounds + 1):
        for question in texts:
            for name, ask in variants.items():
                started = time.perf_counter()
                ask(question)
                if round_:
                    times_ms[name].append(1000 * (time.perf_counter() - started))
    return times_ms


def _searching(library: Library, principal: Principal) -> Ask:
    return lambda question: library.as_principal(principal).search(question, top_k=10)


def _hitting(library: Library, principal: Principal) -> Ask:
    def ask(question: str) -> None:
        assert library.as_principal(principal).search(question).cache_hit, f"{question!r} was not in the cache"

    return ask


def _loaded_in_new_process() -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.access", "--loaded"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=MAX_SECONDS,
    )
    loaded: dict[str, float] = json.loads(done.stdout)
    return loaded


def loaded_here() -> dict[str, float]:
    """What this process needs from opening to the first answer; imports and vectors of questions not counted."""
    from benchmarks.fresh import status_mb
    from citewise import library as _  # noqa: F401  (what a program imports before it opens anything)

    first, second = questions(2)
    with opened(access_folder(), query_cache=NO_CACHE, query_log=NO_LOG) as library:
        started = time.perf_counter()
        library.as_principal(member()).search(first)
        seconds = time.perf_counter() - started
        library.as_principal(member()).search(second)
        search_ms = 1000 * (time.perf_counter() - started - seconds)
        return {"seconds": seconds, "search_ms": search_ms, "mb": status_mb("VmRSS")}


if __name__ == "__main__":
    if sys.argv[1:] == ["--loaded"]:
        print(json.dumps(loaded_here()))
    else:
        main()
