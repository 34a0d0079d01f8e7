"""The promises of the port QueryCache."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from citewise.adapters.memory import cache as memory
from citewise.adapters.memory.cache import MemoryCache, bytes_of
from citewise.model.access import Scope
from citewise.model.ids import Digest, digest
from citewise.model.ranking import SearchResult
from citewise.ports.stores import CacheKey, Entry, Meaning
from tests.builders import SCOPE, a_vector
from tests.shortlists import a_named_finding, a_query

OTHER = Scope("acme", "other")
LARGE = "The ferry leaves at nine. " * 100
KEY = CacheKey(SCOPE, "v1", digest("ann"), "When does the ferry leave?")


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cache(clock: Clock) -> MemoryCache:
    return MemoryCache(max_bytes=1_000_000, ttl_seconds=60, clock=clock)


def an_entry(text: str = "The ferry leaves.", *, saying: str | None = None) -> Entry:
    result = SearchResult(a_query(), (a_named_finding("one", text=text),), 1, {})
    return Entry(result, None if saying is None else Meaning(tuple(saying.split()), a_vector(saying)))


def kept(cache: MemoryCache, key: CacheKey, entry: Entry | None = None) -> Entry:
    """Asked for, as always before something is kept, and then kept."""
    cache.same(key)
    made = entry or an_entry()
    cache.keep(key, made)
    return made


def asked(question: object, *, bucket: Digest = KEY.bucket, version: str = KEY.version) -> CacheKey:
    return replace(KEY, question=str(question), bucket=bucket, version=version)


def test_what_was_kept_comes_back_as_it_was(cache: MemoryCache) -> None:
    assert cache.same(KEY) is None
    entry = kept(cache, KEY)
    assert cache.same(KEY) == entry


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, question="when does the ferry leave?"),
        replace(KEY, bucket=digest("bob")),
        replace(KEY, scope=OTHER),
    ],
    ids=["question", "bucket", "scope"],
)
def test_another_key_finds_nothing(cache: MemoryCache, other: CacheKey) -> None:
    entry = kept(cache, KEY)
    assert cache.same(other) is None
    assert cache.same(KEY) == entry


def test_another_version_finds_nothing_and_clears_the_scope_for_good(cache: MemoryCache) -> None:
    kept(cache, KEY, an_entry(LARGE, saying="when ferry"))
    other = kept(cache, replace(KEY, scope=OTHER))
    assert cache.same(replace(KEY, version="v2", question="Anything else?")) is None
    assert cache.size == bytes_of(other)  # the text is not held any more, not only not found
    assert cache.same(KEY) is None
    assert cache.alike(asked("When?"), ("when", "ferry")) == ()
    assert cache.same(replace(KEY, scope=OTHER)) == other


def test_a_version_that_is_first_named_to_look_for_the_like_clears_the_scope_too(cache: MemoryCache) -> None:
    kept(cache, KEY)
    cache.alike(replace(KEY, version="v2"), ("when",))
    assert cache.size == 0


def test_a_key_of_the_version_before_keeps_nothing(cache: MemoryCache) -> None:
    cache.same(KEY)
    cache.same(replace(KEY, version="v2"))  # somebody else, meanwhile
    cache.keep(KEY, an_entry())
    assert cache.size == 0
    assert cache.same(KEY) is None


def test_entries_that_say_the_same_are_found_newest_first(cache: MemoryCache) -> None:
    first = kept(cache, asked("ferry"), an_entry("First.", saying="when ferry"))
    second = kept(cache, asked("ferry?"), an_entry("Second.", saying="when ferry"))
    kept(cache, asked("tide"), an_entry(saying="when tide"))
    kept(cache, asked("no meaning"))
    assert cache.alike(asked("Ferry"), ("when", "ferry")) == (second, first)


def test_an_entry_is_not_like_itself(cache: MemoryCache) -> None:
    kept(cache, KEY, an_entry(saying="when ferry"))
    assert cache.alike(KEY, ("when", "ferry")) == ()


@pytest.mark.parametrize("other", [asked("x", bucket=digest("bob")), replace(KEY, scope=OTHER, question="x")])
def test_nothing_is_like_what_stands_in_another_bucket_or_scope(cache: MemoryCache, other: CacheKey) -> None:
    kept(cache, KEY, an_entry(saying="when ferry"))
    assert cache.alike(other, ("when", "ferry")) == ()


def test_what_is_kept_again_replaces_what_was(cache: MemoryCache) -> None:
    kept(cache, KEY, an_entry("Old.", saying="old words"))
    entry = kept(cache, KEY, an_entry("New.", saying="new words"))
    assert cache.same(KEY) == entry
    assert cache.size == bytes_of(entry)
    assert cache.alike(asked("x"), ("old", "words")) == ()
    assert cache.alike(asked("x"), ("new", "words")) == (entry,)


def test_nothing_outlives_its_time_however_often_it_is_asked_for(cache: MemoryCache, clock: Clock) -> None:
    entry = kept(cache, KEY, an_entry(saying="when ferry"))
    clock.now += 59
    assert cache.same(KEY) == entry
    clock.now += 1
    assert cache.alike(asked("x"), ("when", "ferry")) == ()
    assert cache.same(KEY) is None
    assert cache.size == 0


def test_what_expired_goes_whoever_asks_next(cache: MemoryCache, clock: Clock) -> None:
    kept(cache, KEY)
    clock.now += 60
    cache.same(replace(KEY, scope=OTHER))
    assert cache.size == 0


def test_what_was_asked_for_longest_ago_makes_room(clock: Clock) -> None:
    one = bytes_of(an_entry(LARGE))
    cache = MemoryCache(max_bytes=3 * one, ttl_seconds=60, clock=clock)
    for question in "abc":
        kept(cache, asked(question), an_entry(LARGE, saying=None))
    cache.same(asked("a"))
    kept(cache, asked("d"), an_entry(LARGE))
    assert [cache.same(asked(question)) is not None for question in "abcd"] == [True, False, True, True]
    assert cache.size == 3 * one


def test_what_is_given_for_other_words_counts_as_asked_for(clock: Clock) -> None:
    one = bytes_of(an_entry(LARGE, saying="x"))
    cache = MemoryCache(max_bytes=2 * one, ttl_seconds=60, clock=clock)
    for question in "ab":
        kept(cache, asked(question), an_entry(LARGE, saying=question))
    assert cache.alike(asked("A"), ("a",))
    kept(cache, asked("c"), an_entry(LARGE, saying="c"))
    assert [cache.same(asked(question)) is not None for question in "abc"] == [True, False, True]


@pytest.mark.parametrize("max_bytes", [0, bytes_of(an_entry(LARGE)) - 1])
def test_what_is_larger_than_the_bound_is_not_kept_and_drives_nothing_out(max_bytes: int) -> None:
    cache = MemoryCache(max_bytes=max_bytes, ttl_seconds=60)
    small = kept(cache, asked("small"), an_entry("x"))
    kept(cache, KEY, an_entry(LARGE))
    assert cache.same(KEY) is None
    assert cache.same(asked("small")) == (small if max_bytes else None)


def test_nothing_is_left_when_it_forgets(cache: MemoryCache) -> None:
    kept(cache, KEY, an_entry(saying="when ferry"))
    cache.forget()
    assert cache.size == 0
    assert cache.same(KEY) is None
    assert cache.alike(asked("x"), ("when", "ferry")) == ()


def test_scopes_that_nobody_asks_for_any_more_do_not_pile_up(
    cache: MemoryCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MAX_SCOPES", 3)
    kept(cache, KEY)
    for at in range(2):
        cache.same(replace(KEY, scope=Scope("acme", f"p{at}")))
    assert cache.same(KEY) is not None
    cache.same(replace(KEY, scope=OTHER))
    assert cache.size == 0


def test_threads_that_share_it_never_see_what_is_not_theirs() -> None:
    cache = MemoryCache(max_bytes=20 * bytes_of(an_entry("user 10")), ttl_seconds=60)

    def use(user: int) -> bool:
        draw = random.Random(user)
        for _ in range(500):
            key = asked(draw.randrange(20), bucket=digest(str(user)), version=draw.choice(["v1", "v1", "v2"]))
            mine = an_entry(f"user {user} {key.version}", saying="said")
            if cache.same(key) not in (None, mine):
                return False
            cache.keep(key, mine)
            if any(other != mine for other in cache.alike(key, ("said",))):
                return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(8)))
    cache.same(asked("end", version="end"))
    assert cache.size == 0
