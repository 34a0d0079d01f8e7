"""How searches take turns, and what the stages of a search are called."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewise.model.ranking import SCORES
from citewise.search.adjust import Boost, Demote, Freshness
from citewise.search.pipeline import Turns
from citewise.search.rescore import Features, Late, Rerank


@pytest.mark.parametrize("stage", [Features, Late, Rerank, Demote, Freshness, Boost])
def test_every_stage_that_gives_scores_is_among_the_scores_that_are_shown(stage: type) -> None:
    assert stage.name in SCORES  # type: ignore[attr-defined]


def test_no_more_than_the_limit_search_at_the_same_time() -> None:
    turns, lock = Turns(2), threading.Lock()
    inside, most = 0, 0

    def search(_: int) -> None:
        nonlocal inside, most
        with turns:
            with lock:
                inside += 1
                most = max(most, inside)
            with lock:
                inside -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(search, range(200)))
    assert 1 <= most <= 2
    assert inside == 0


def test_turns_are_taken_in_the_order_in_which_they_were_asked_for() -> None:
    turns, order = Turns(1), []
    threads = []

    def search(number: int) -> None:
        with turns:
            order.append(number)

    with turns:
        for number in range(5):
            threads.append(threading.Thread(target=search, args=[number]))
            threads[-1].start()
            while len(turns._waiting) <= number:  # it waits for its turn before the next one comes
                pass
    for thread in threads:
        thread.join()
    assert order == list(range(5))


def test_a_search_that_fails_gives_its_turn_back() -> None:
    turns = Turns(1)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="gone"), turns:
            raise RuntimeError("gone")
    with turns:
        pass
