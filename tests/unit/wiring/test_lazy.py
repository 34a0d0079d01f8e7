"""What a question can do without is loaded at the first call: nobody waits for it, no failure repeats."""

import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.errors import CitewiseError, Misconfigured, Unavailable
from citewise.model.chunk import EmbeddingFailure
from citewise.wiring.lazy import RETRY_SECONDS, LazyEmbedder, LazyWords, Loading, Once
from tests.fakes.clock import Clock
from tests.fakes.counters import HashEmbedder, HashWords


class Tries:
    """Fails as often as it is told to, then gives what is wanted."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        if self.count <= self.failures:
            raise Misconfigured(f"try {self.count} failed")
        return "there"


def test_it_is_loaded_once_and_not_before_it_is_asked() -> None:
    tries = Tries(0)
    loading = Loading("m", tries)
    assert (loading.name, tries.count) == ("m", 0)
    assert [loading.ready() for _ in range(3)] == ["there"] * 3
    assert tries.count == 1


def test_who_asks_while_another_loads_is_told_at_once() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def load() -> str:
        begun.set()
        assert go_on.wait(20)
        return "there"

    loading = Loading("m", load)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(loading.ready)
        assert begun.wait(20)
        second = threads.submit(loading.ready)
        try:
            with pytest.raises(Unavailable, match="m is still being loaded"):
                second.result(timeout=10)
        finally:
            go_on.set()
        assert first.result(timeout=20) == "there"
    assert loading.ready() == "there"


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 1), (RETRY_SECONDS - 1, 1), (RETRY_SECONDS + 1, 2)])
def test_a_failure_is_remembered_for_a_while(seconds: float, count: int) -> None:
    tries, clock = Tries(5), Clock()
    loading = Loading("m", tries, clock)
    with pytest.raises(Misconfigured, match="try 1 failed"):
        loading.ready()
    clock.now += seconds
    with pytest.raises(Misconfigured, match=f"try {count} failed"):
        loading.ready()
    assert tries.count == count


def test_a_failure_that_is_repeated_keeps_no_frames_of_those_who_were_told_before() -> None:
    loading = Loading("m", Tries(1), Clock())
    depths = []
    for _ in range(4):
        with pytest.raises(Misconfigured) as told:
            loading.ready()
        depths.append(len(list(traceback.walk_tb(told.value.__traceback__))))
    assert len(set(depths[1:])) == 1


def test_who_asks_while_another_repeats_a_failure_is_told_the_failure() -> None:
    clock = Clock()
    told: list[str] = []

    def asking_meanwhile() -> float:
        if loading is not None and not told:
            told.append("")
            with pytest.raises(CitewiseError) as error:
                loading.ready()
            told.append(str(error.value))
        return clock.now

    loading: Loading[str] | None = None
    failed = Loading("m", Tries(1), asking_meanwhile)
    with pytest.raises(Misconfigured):
        failed.ready()
    loading = failed
    with pytest.raises(Misconfigured):
        failed.ready()
    assert told == ["", "try 1 failed"]


def test_after_that_while_it_may_be_there() -> None:
    clock = Clock()
    loading = Loading("m", Tries(1), clock)
    with pytest.raises(Misconfigured):
        loading.ready()
    clock.now += RETRY_SECONDS + 1
    assert loading.ready() == "there"


def test_an_embedder_knows_its_model_before_it_is_loaded_and_is_loaded_once() -> None:
    loaded: list[HashEmbedder] = []

    def load() -> HashEmbedder:
        loaded.append(HashEmbedder())
        return loaded[-1]

    lazy, plain = LazyEmbedder(HashEmbedder().model, load), HashEmbedder()
    assert (lazy.model, lazy.documents(()), loaded) == (plain.model, (), [])
    lazy.warm()
    assert (lazy.query("tide"), lazy.documents(["tide"])) == (plain.query("tide"), plain.documents(["tide"]))
    assert len(loaded) == 1


def test_what_two_sides_share_is_made_once_though_both_ask_at_the_same_time() -> None:
    tries, gate = Tries(0), threading.Barrier(4)
    once = Once(tries)

    def ask(_: int) -> str:
        gate.wait(20)
        return once()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, range(4))) == ["there"] * 4
    assert tries.count == 1


def test_what_could_not_be_made_is_tried_again_by_the_next() -> None:
    once = Once(Tries(1))
    with pytest.raises(Misconfigured, match="try 1 failed"):
        once()
    assert once() == "there"


def test_words_are_loaded_with_the_first_text_and_not_for_none() -> None:
    loaded: list[HashWords] = []

    def load() -> HashWords:
        loaded.append(HashWords(HashEmbedder()))
        return loaded[-1]

    words = LazyWords(Once(load))
    assert words.embedded([]) == ()
    assert loaded == []
    (made,) = words.embedded(["a tide"])
    assert (made,) == HashWords(HashEmbedder()).embedded(["a tide"])
    assert not isinstance(made, EmbeddingFailure)
    assert words.closeness("a tide", [made.words]) == HashWords(HashEmbedder()).closeness("a tide", [made.words])
    assert len(loaded) == 1
