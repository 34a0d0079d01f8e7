"""A stage that breaks costs a search that stage, and no more."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from citewise.errors import Misconfigured
from citewise.model.document import Location
from citewise.model.query import BoostRule
from citewise.model.ranking import Shortlist
from citewise.search.adjust import Boost, Deduplicate, Freshness
from citewise.search.pipeline import Search, Stage
from citewise.search.rescore import Features, Rerank
from tests.shortlists import a_named_finding, a_query, a_shortlist

NONSENSE = cast("Any", "nonsense")
FOUND = a_shortlist(
    a_named_finding("a", 0.9, corpus_type="CONVO_SLACK", location=Location("messages", 1, 1, sent_at=1.0)),
    a_named_finding("b", 0.2, "Nets dry in the sun."),
    query=a_query("When does the ferry leave?"),
)


class BrokenStage:
    name = "broken"

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __call__(self, found: Shortlist) -> Shortlist:
        raise self._error


class NamelessReranker:
    """Breaks where the stage that asks it does not look."""

    @property
    def name(self) -> str:
        raise RuntimeError("no name")

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        raise RuntimeError("no scores")


BROKEN: list[tuple[Stage, type[Exception]]] = [
    (BrokenStage(RuntimeError("key=hunter2")), RuntimeError),
    (Features({"title": NONSENSE}), TypeError),
    (Rerank(NamelessReranker()), RuntimeError),
    (Freshness(half_life_days=0.0), ZeroDivisionError),
    (Boost((BoostRule(("ferry",), ("CONVO_SLACK",), NONSENSE),)), TypeError),
    (Deduplicate(NONSENSE), TypeError),
]


@pytest.mark.parametrize(("stage", "error"), BROKEN, ids=[stage.name for stage, _ in BROKEN])
def test_where_a_stage_breaks_the_order_before_it_stands_and_it_is_named_without_its_message(
    stage: Stage, error: type[Exception]
) -> None:
    with pytest.raises(error):
        stage(FOUND)
    left = Search.attempted(stage, FOUND)
    assert left.findings == FOUND.findings
    assert left.degraded == (f"{stage.name}: it failed ({error.__name__}); the order before it stands",)


def test_an_error_of_ours_is_said_in_full() -> None:
    left = Search.attempted(BrokenStage(Misconfigured("no stop words")), FOUND)
    assert left.degraded == ("broken: no stop words; the order before it stands",)


def test_a_stage_that_works_is_only_itself() -> None:
    assert Search.attempted(Freshness(), FOUND) == Freshness()(FOUND) != FOUND


def test_to_be_stopped_is_not_to_break() -> None:
    stage = BrokenStage(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        Search.attempted(stage, FOUND)
