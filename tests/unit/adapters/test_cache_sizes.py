"""The bytes that a cache counts are those that its entries take."""

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import pytest

from citewise.adapters.memory.cache import MemoryCache
from citewise.model.answer import Answer
from citewise.model.ranking import Candidate, Dropped, SearchResult
from citewise.ports.stores import CachedResult
from tests.builders import a_named_finding, a_query, an_id
from tests.contexts import a_source
from tests.pipelines.harness import Shelf
from tests.unit.answers import an_answer


def walked(value: object, seen: set[int]) -> int:
    """Every object that can be reached from a value, each once."""
    if id(value) in seen:
        return 0
    seen.add(id(value))
    if isinstance(value, type):
        return 0
    parts: list[object] = []
    if is_dataclass(value):
        parts = [getattr(value, one.name) for one in fields(value)]
    elif isinstance(value, Mapping):
        parts = [*value.keys(), *value.values()]
    elif isinstance(value, tuple | frozenset | list):
        parts = list(value)
    return sys.getsizeof(value) + sum(walked(part, seen) for part in parts)


def a_result(findings: int, text: str) -> SearchResult:
    scores = {name: 0.1 * at for at, name in enumerate(("dense", "words", "code", "fused", "title", "features"))}
    dropped = (
        Dropped(Candidate(an_id(at), 0.1, dict(scores), {"dense": at}), "cut", f"beyond {at}") for at in range(40)
    )
    found = tuple(a_named_finding(at, text=f"{text} {at}") for at in range(findings))
    return SearchResult(a_query(), found, 60, {"total": 1.0}, dropped=tuple(dropped))


def answered(text: str) -> Answer:
    citations = (a_source(n, f"Source {n}. " * 15).citation for n in range(1, 6))
    return an_answer(a_result(5, "The ferry leaves."), text, *citations)


@pytest.mark.parametrize(
    "entry",
    [
        a_result(0, ""),
        a_result(1, "Short."),
        a_result(20, "The ferry leaves at nine. " * 60),
        a_result(5, "潮汐表每六分钟读一次。" * 200),
        answered("The ferry leaves at nine [1]. " * 40),
    ],
    ids=["nothing found", "one passage", "twenty passages", "not ASCII", "an answer"],
)
def test_an_estimate_is_no_less_than_what_an_entry_takes_and_not_much_more(entry: CachedResult) -> None:
    taken = walked(entry, set())
    assert taken <= MemoryCache.size_of(entry) <= 3 * taken + 4_000


def test_what_a_real_search_found_is_counted_as_it_is(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    for at in range(30):
        shelf.write(f"page-{at}.md", f"---\ntags: [tide, gauge]\n---\n# Page {at}\n\n{f'Boat {at} sails. ' * 8}\n")
    shelf.ingest()
    entry = shelf.search("When does boat 7 sail?", top_k=10)
    taken = walked(entry, set())
    assert taken <= MemoryCache.size_of(entry) <= 3 * taken


def test_text_counts_in_full() -> None:
    small, large = (a_result(1, "x" * length) for length in (100, 100_100))
    assert MemoryCache.size_of(large) - MemoryCache.size_of(small) == 100_000
    longer = replace(answered("short"), text="x" * 50_000)
    assert MemoryCache.size_of(longer) - MemoryCache.size_of(answered("short")) == 49_995
