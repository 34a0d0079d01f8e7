"""What a hit of the cache shows and costs, on real libraries."""

import statistics
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.cache_pairs import questions_of, rewordings, some_of
from benchmarks.judged import library_at
from benchmarks.results import Table
from benchmarks.timing import Percentiles
from citewise.adapters.memory.cache import bytes_of
from citewise.adapters.memory.embeddings import RememberingEmbedder
from citewise.model.access import Principal, Scope
from citewise.model.chunk import cosine
from citewise.model.query import Query
from citewise.model.ranking import SearchResult
from citewise.ports.stores import Entry
from citewise.search.sameness import Sameness
from citewise.settings import QueryCacheSettings, Settings
from citewise.wiring.embedding import Embedding
from citewise.wiring.remembering import cached_of
from citewise.wiring.searching import Searching

ASKED = ("api_docs", "textbook")  # sets whose libraries are asked
DEPTH = 5  # passages that are compared
ROUNDS = 2_000  # hits that are timed
LONGEST_SECONDS = 3_600.0  # of a run: less, and what is asked again would be forgotten before its end
MEMBER = Principal("ann", frozenset(f"group-{at}" for at in range(20)))
SAMENESS = Sameness()

FIDELITY_NOTE = (
    "How many of the first five passages are those that a fresh search with the question's own words finds, where "
    "other words were taken for the same. A hit by the very same words is what a fresh search gives, always."
)
TIMES_NOTE = (
    "On the library of api_docs, as a member of 20 groups, in one thread. Versions: looking whether anything was "
    "committed or indexed since, which every question does, and twice if it is not a hit. A hit by other words embeds "
    "the question; to keep a result is what a miss costs besides the search."
)


def fidelity(embedding: Embedding, kept: Path) -> Table:
    """What a hit by other words shows, against what a fresh search with them would."""
    least = Settings().query_cache.min_cosine
    rows = []
    for name in ASKED:
        shared = []
        with closing(_Desk(embedding, library_at(name, kept=kept))) as desk:
            for pair in rewordings(some_of(questions_of(name))):
                near = cosine(embedding.embedder.query(pair.one), embedding.embedder.query(pair.other))
                if near >= least and SAMENESS.says_the_same(pair.one, pair.other):
                    one, other = (_ids(desk.fresh(_query(text))) for text in (pair.one, pair.other))
                    shared.append(len(set(one) & set(other)) / max(1, len(one)))
        rows.append((name, len(shared), statistics.mean(shared), sum(one == 1 for one in shared) / len(shared)))
    columns = ("library", "hits by other words", "of five passages the same", "all five the same")
    return Table("What a hit by other words shows", columns, tuple(rows), note=FIDELITY_NOTE)


def times(embedding: Embedding, kept: Path) -> Table:
    """Milliseconds of everything that the cache does, and of the search it saves."""
    asked = questions_of("api_docs")
    with closing(_Desk(embedding, library_at("api_docs", kept=kept))) as desk:
        fresh = [desk.fresh(_query(text)) for text in asked]
        for text in asked:
            desk.search(text)
        politely = [f"please tell me {text}" for text in asked if text.lower().startswith(("what", "how"))]
        entries = [Entry(result) for result in fresh]
        rows = [
            ("versions", *_timed(lambda at: desk.fresh.version(Scope()), ROUNDS)),
            ("hit by the very same words", *_timed(lambda at: desk.hit(asked[at % len(asked)]), ROUNDS)),
            ("hit by other words", *_timed(lambda at: desk.hit(politely[at]), len(politely))),
            ("does it say the same?", *_timed(lambda at: SAMENESS.saying(asked[at % len(asked)]), ROUNDS)),
            ("to estimate a result's size", *_timed(lambda at: bytes_of(entries[at % len(entries)]), ROUNDS)),
            ("search", *_timed(lambda at: desk.fresh(_query(f"Again: {asked[at]}")), len(asked))),
        ]
        kilobytes = statistics.mean(map(bytes_of, entries)) / 1000
    columns = ("what", "p50 ms", "p95 ms", "p99 ms")
    title = f"Times, and {kilobytes:.0f} kB a result of 20 passages"
    return Table(title, columns, tuple(rows), note=TIMES_NOTE, wanted="a hit by the very same words: 2 ms at p99")


class _Desk:
    """A library that is held open, with the cache in front of its search, as an answering one has them."""

    def __init__(self, embedding: Embedding, library: Path) -> None:
        settings = Settings(library=library, query_cache=QueryCacheSettings(ttl_seconds=LONGEST_SECONDS))
        remembering = replace(embedding, embedder=RememberingEmbedder(embedding.embedder))
        self.fresh = Searching(settings, remembering)
        cached = cached_of(settings, self.fresh)
        assert cached is not None
        self.cached = cached

    def search(self, text: str) -> SearchResult:
        return self.cached.search(_query(text), self.fresh)

    def hit(self, text: str) -> None:
        if not self.search(text).cache_hit:
            raise SystemExit(f"no hit: {text!r}")

    def close(self) -> None:
        self.fresh.close()


def _query(text: str) -> Query:
    return Query(text, "r", 0.0, principal=MEMBER)


def _ids(result: SearchResult) -> list[str]:
    return [one.candidate.id for one in result.findings[:DEPTH]]


def _timed(call: Callable[[int], object], rounds: int) -> tuple[float, float, float]:
    taken = []
    for at in range(rounds):
        started = time.perf_counter()
        call(at)
        taken.append(1000 * (time.perf_counter() - started))
    return Percentiles.of(taken).row
