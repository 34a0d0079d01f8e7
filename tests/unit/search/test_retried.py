"""A store that is Unavailable once is asked again; what another try would not change is not."""

from collections.abc import Callable

import pytest

from citewise.errors import Misconfigured, Unavailable
from citewise.search import rankings
from citewise.search.rankings import retried


class Store:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "found"


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "BACKOFF_SECONDS", 0.0)


def test_a_store_that_fails_once_is_asked_again() -> None:
    store = Store(Unavailable("busy"))
    assert (retried(store), store.asked) == ("found", 2)


@pytest.mark.parametrize(
    ("errors", "raised", "asked"),
    [
        ([Unavailable("busy"), Unavailable("still busy")], Unavailable, 2),
        ([Misconfigured("damaged")], Misconfigured, 1),
        ([RuntimeError("a bug")], RuntimeError, 1),
    ],
)
def test_what_another_try_does_not_help_is_raised(errors: list[Exception], raised: type[Exception], asked: int) -> None:
    store: Callable[[], str] = Store(*errors)
    with pytest.raises(raised):
        retried(store)
    assert isinstance(store, Store)
    assert store.asked == asked
