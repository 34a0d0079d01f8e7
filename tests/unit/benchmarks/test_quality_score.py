"""What the benchmarks of quality and compression count."""

import numpy as np
import pytest
from benchmarks.compression import _bearing, _kept
from benchmarks.grounding_sets import Gold
from benchmarks.logistic import Curve

from tests.compressing import a_wide_context, evidence_of


def test_a_score_that_is_as_sure_as_it_is_right_has_no_error() -> None:
    said = np.array([0.25] * 4 + [0.75] * 4)
    true = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    assert Curve(said, true, np.ones(8)).error() == pytest.approx(0.0)
    assert Curve(said, true, np.ones(8)).bins()[2] == (4, 0.25, 0.25)
    assert Curve(said, true, np.ones(8)).bins()[0] is None


def test_being_too_sure_is_an_error_by_as_much_as_it_is() -> None:
    said, true = np.array([1.0, 0.9, 0.1, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])
    assert Curve(said, true, np.ones(4)).error() == pytest.approx((0.9 + 0.1) / 4)


def test_a_question_of_a_rare_class_weighs_more() -> None:
    said, true = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert Curve(said, true, np.array([3.0, 1.0])).error() == pytest.approx(0.25)


def test_sentences_that_hold_half_of_the_best_one_s_answer_bear_it() -> None:
    context = a_wide_context(("At noon by two men. At noon. Gulls rest. Two.", 0.9), ("At noon by two men.", 0.2))
    gold = Gold((("1.md", 1, 1),), "")
    answer = frozenset({"noon", "two", "men"})
    bearing = _bearing(context, evidence_of(context), gold, answer)
    assert [(unit.source, unit.text) for unit in bearing] == [(1, "At noon by two men.")]
    wider = _bearing(context, evidence_of(context), gold, frozenset({"noon", "gull"}))
    assert [unit.text for unit in wider] == ["At noon by two men.", "At noon.", "Gulls rest."]


def test_a_sentence_is_kept_where_its_words_still_stand_together() -> None:
    context = a_wide_context(("At noon, by two men. Gulls \u2026 rest.", 0.9))
    units = [one.unit for one in evidence_of(a_wide_context(("at noon by two. By men. Gulls rest.", 0.9)))]
    assert _kept(units, context) == [True, False, False]
