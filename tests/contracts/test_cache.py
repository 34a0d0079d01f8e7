"""The promises of the port QueryCache."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from citewise.adapters.memory.cache import MemoryCache
from citewise.model.access import Scope
from citewise.model.ids import Digest, digest
from citewise.model.ranking import SearchResult
from citewise.ports.stores import CacheKey
from tests.builders import SCOPE, a_named_finding, a_query, a_vector
from tests.fakes.clock import Clock

LARGE = "The ferry leaves at nine. " * 100
KEY = CacheKey(SCOPE, "v1", digest("ann"), "When does the ferry leave?")
OTHERS = [
    replace(KEY, bucket=digest("bob"), question="ferry"),
    replace(KEY, scope=Scope("acme", "other"), question="ferry"),
    replace(KEY, version="v2", question="ferry"),
]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> MemoryCache:
    return MemoryCache(max_bytes=1_000_000, ttl_seconds=60, clock=clock)


def a_result(text: str = "The ferry leaves.") -> SearchResult:
    return SearchResult(a_query(), (a_named_finding("one", text=text),), 1, {})


def asked(question: object, *, bucket: Digest = KEY.bucket) -> CacheKey:
    return replace(KEY, question=str(question), bucket=bucket)


def test_a_result_comes_back_as_it_was(cache: MemoryCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, a_result())
    assert cache.get(KEY) == a_result()


@pytest.mark.parametrize("other", [replace(KEY, question="when does the ferry leave?"), *OTHERS])
def test_another_key_finds_nothing(cache: MemoryCache, other: CacheKey) -> None:
    cache.put(KEY, a_result())
    assert cache.get(other) is None


def test_the_nearest_question_is_found_if_it_is_near_enough(cache: MemoryCache) -> None:
    cache.put(asked("ferry"), a_result("Near."), a_vector("ferry"))
    cache.put(asked("tide"), a_result("Far."), a_vector("tide"))
    cache.put(asked("no vector"), a_result("Exact only."))
    assert cache.nearest(asked("Ferry?"), a_vector("ferry"), min_cosine=0.99) == a_result("Near.")
    assert cache.nearest(asked("Ferry?"), a_vector("something else"), min_cosine=0.99) is None


@pytest.mark.parametrize("other", OTHERS, ids=["bucket", "scope", "version"])
def test_no_question_of_another_bucket_scope_or_version_is_near(cache: MemoryCache, other: CacheKey) -> None:
    cache.put(KEY, a_result(), a_vector("ferry"))
    assert cache.nearest(other, a_vector("ferry"), min_cosine=0.0) is None


def test_a_result_that_is_put_again_replaces_the_old_one(cache: MemoryCache) -> None:
    cache.put(KEY, a_result("Old."), a_vector("old"))
    cache.put(KEY, a_result("New."), a_vector("new"))
    assert cache.get(KEY) == a_result("New.")
    assert cache.size == MemoryCache.size_of(a_result("New."))
    assert cache.nearest(asked("x"), a_vector("old"), min_cosine=0.99) is None


def test_nothing_outlives_its_time_however_often_it_is_asked_for(cache: MemoryCache, clock: Clock) -> None:
    cache.put(KEY, a_result(), a_vector("ferry"))
    clock.now += 59
    assert cache.get(KEY) is not None
    clock.now += 1
    assert cache.nearest(asked("x"), a_vector("ferry"), min_cosine=0.0) is None
    assert cache.get(KEY) is None
    assert cache.size == 0


def test_what_was_used_longest_ago_makes_room(clock: Clock) -> None:
    entry_bytes = MemoryCache.size_of(a_result(LARGE))
    cache = MemoryCache(max_bytes=3 * entry_bytes, ttl_seconds=60, clock=clock)
    for question in "abc":
        cache.put(asked(question), a_result(LARGE))
    cache.get(asked("a"))
    cache.put(asked("d"), a_result(LARGE))
    assert [cache.get(asked(question)) is not None for question in "abcd"] == [True, False, True, True]
    assert cache.size == 3 * entry_bytes


def test_a_result_larger_than_the_bound_is_not_kept_and_drives_nothing_out() -> None:
    cache = MemoryCache(max_bytes=MemoryCache.size_of(a_result(LARGE)) - 1, ttl_seconds=60)
    cache.put(asked("small"), a_result("x"))
    cache.put(KEY, a_result(LARGE))
    assert cache.get(KEY) is None
    assert cache.get(asked("small")) is not None


def test_threads_that_share_a_cache_never_see_the_entries_of_another_bucket() -> None:
    cache = MemoryCache(max_bytes=20 * MemoryCache.size_of(a_result("user 10")), ttl_seconds=60)

    def use(user: int) -> bool:
        draw, mine = random.Random(user), a_result(f"user {user}")
        for _ in range(200):
            key = asked(draw.randrange(20), bucket=digest(str(user)))
            found = (cache.get(key), cache.nearest(key, a_vector("ferry"), min_cosine=0.0))
            if any(result not in (None, mine) for result in found):
                return False
            cache.put(key, mine, a_vector("ferry"))
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(8)))
