"""Rows of the original contracts' tables that no other test has."""

import pytest

from citewise.model.chunk import Hit
from citewise.model.document import Location
from citewise.model.ranking import Rankings
from citewise.search.adjust import DAY, Freshness
from citewise.search.fuse import ReciprocalRanks
from tests.builders import an_id
from tests.shortlists import ASKED_AT, a_named_finding, a_query, a_shortlist

DENSE = ("A", "C", "B", "x", "D")
SPARSE = ("B", "D", "A", "y", "C")


def ranked(*names: str) -> tuple[Hit, ...]:
    return tuple(Hit(an_id(name), 1.0 - at / 100) for at, name in enumerate(names))


def test_four_documents_in_two_rankings_score_as_the_table_says() -> None:
    rankings = {"dense": ranked(*DENSE), "words": ranked(*SPARSE)}
    sums = ReciprocalRanks({"dense": 1.0, "words": 1.0}, 60).sums(rankings)
    assert [round(sums[an_id(name)], 4) for name in "ABCD"] == [0.0323, 0.0323, 0.0315, 0.0315]
    order = [each.id for each in ReciprocalRanks()(Rankings(a_query(), rankings)).candidates()]
    assert order[:4] == [*sorted((an_id("A"), an_id("B"))), *sorted((an_id("C"), an_id("D")))]


@pytest.mark.parametrize("constant", [1, 10, 60, 600])
def test_the_constant_moves_scores_and_never_what_leads_every_ranking(constant: int) -> None:
    rankings = {"dense": ranked("lead", "b", "c"), "words": ranked("lead", "c", "b"), "code": ranked("lead", "d")}
    first, second, *_ = ReciprocalRanks(constant=constant)(Rankings(a_query(), rankings)).candidates()
    assert first.id == an_id("lead")
    assert first.score == pytest.approx(1.0)
    assert second.score == pytest.approx((constant + 1) / 3 * (1 / (constant + 2) + 1 / (constant + 3)))


def test_what_is_no_conversation_keeps_its_order_while_conversations_move_around_it() -> None:
    found = a_shortlist(
        a_named_finding(
            "old talk",
            0.9,
            corpus_type="CONVO_SLACK",
            location=Location("messages", 1, 1, sent_at=ASKED_AT - 1000 * DAY),
        ),
        a_named_finding("page", 0.89),
        a_named_finding("code", 0.88, corpus_type="CODE_LOGIC"),
        a_named_finding("runbook", 0.7, corpus_type="DOC_RUNBOOK"),
    )
    order = [each.candidate.id for each in Freshness(weight=0.1)(found).findings]
    assert order == [an_id(name) for name in ("page", "code", "old talk", "runbook")]
