"""Which hit answers what, and what that is worth."""

import math

import pytest

from citewise.evaluation.cases import Place, Unit
from citewise.evaluation.metrics import RANKING_METRICS, documents_of, grade_of, ranking_measures
from tests.builders import an_id

UNITS: tuple[Unit, ...] = ("document", "passage")
HERE = Place("a.md", "Tides", (10, 20), an_id("here"))


@pytest.mark.parametrize(
    ("gold", "is_met"),
    [
        (Place("a.md"), True),
        (Place("b.md"), False),
        (Place("a.md", section="Tides"), True),
        (Place("a.md", section="Winds"), False),
        (Place("a.md", lines=(20, 25)), True),
        (Place("a.md", lines=(1, 10)), True),
        (Place("a.md", lines=(21, 25)), False),
        (Place("b.md", lines=(10, 20)), False),
        (Place("a.md", chunk=an_id("here")), True),
        (Place("a.md", chunk=an_id("there")), False),
        # The textbook has sections of the same name in one file: lines tell them apart, a chunk beats both.
        (Place("a.md", section="Tides", lines=(30, 40)), False),
        (Place("a.md", section="Winds", lines=(15, 15)), True),
        (Place("a.md", section="Winds", lines=(30, 40), chunk=an_id("here")), True),
    ],
)
def test_a_hit_is_where_the_gold_says_by_the_narrowest_thing_it_says(gold: Place, is_met: bool) -> None:
    assert gold.matches(HERE) is is_met
    assert not Place("a.md", lines=(1, 9)).matches(Place("a.md"))  # which has no lines to overlap with


def test_a_document_counts_at_its_best_passage() -> None:
    places = [Place("a.md", lines=(5, 6)), Place("b.md"), Place("a.md", lines=(1, 2))]
    assert documents_of(places) == (Place("a.md", lines=(5, 6)), Place("b.md"))


def test_a_hit_has_the_best_grade_of_what_it_shows() -> None:
    gold = [Place("a.md", grade=1), Place("a.md", "Tides", grade=3), Place("b.md", grade=9)]
    assert grade_of(HERE, gold) == 3
    assert grade_of(Place("c.md"), gold) == 0


def lines(first: int, last: int, document: str = "a.md") -> Place:
    return Place(document, "", (first, last))


def gold_lines(first: int, last: int, grade: int) -> Place:
    return Place("a.md", lines=(first, last), grade=grade)


def test_each_gold_place_counts_once() -> None:
    """The first hit shows two of them, the second shows one again, the third none, the fourth the last."""
    gold = [gold_lines(1, 5, 1), gold_lines(6, 9, 2), gold_lines(20, 30, 1)]
    places = [lines(4, 7), lines(1, 3), lines(12, 13), lines(25, 26)]
    found = ranking_measures(gold, "passage", places)["ndcg@10"]  # of the grades 2 1 0 1
    gain, best = 2 + 1 / math.log2(3) + 1 / math.log2(5), 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert found == pytest.approx(gain / best)


def test_the_worked_example_of_the_documentation() -> None:
    """docs/evaluation.md goes through the same question: two places answer, of grades 2 and 1.

    Hits: nothing, the grade-1 place, the grade-2 place, the grade-2 place again, nothing. Folded: 0 1 2 0.
    """
    gold = (gold_lines(10, 20, 2), gold_lines(40, 50, 1))
    places = [lines(1, 5), lines(42, 44), lines(8, 12), lines(13, 20), lines(60, 70)]
    found = ranking_measures(gold, "passage", places)
    gain = 1 / math.log2(3) + 2 / math.log2(4)  # 0.631 + 1 = 1.631
    best = 2 + 1 / math.log2(3)  # 2.631
    assert found["ndcg@10"] == pytest.approx(gain / best)  # 0.620
    assert round(found["ndcg@10"], 3) == 0.62
    assert found["recall@1"] == 0
    assert found["recall@5"] == 1  # the full answer is third
    assert found["mrr@10"] == pytest.approx(1 / 3)
    assert found["precision@5"] == pytest.approx(3 / 5)


@pytest.mark.parametrize("unit", UNITS)
def test_a_search_that_finds_nothing_or_has_nothing_to_find_is_worth_nothing(unit: Unit) -> None:
    assert set(ranking_measures((Place("a.md", grade=1),), unit, []).values()) == {0.0}
    assert set(ranking_measures((), unit, [HERE]).values()) == {0.0}


def test_the_list_of_metrics_is_what_rankings_have() -> None:
    names = {name for unit in UNITS for name in ranking_measures((Place("a.md", grade=1),), unit, [HERE])}
    assert names == set(RANKING_METRICS)
