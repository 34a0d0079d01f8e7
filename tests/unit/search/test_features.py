"""Where the question's words stand in a passage."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.model.query import FEATURE_WEIGHTS, PROXIMITY, TITLE
from citewise.model.ranking import Shortlist
from citewise.search.rescore import Features
from citewise.text.analysis import terms
from citewise.text.positions import Places, term_positions
from tests.builders import a_named_finding, a_query, a_shortlist

PLACES = st.dictionaries(st.integers(0, 60), st.sampled_from("abcd")).map(lambda terms: placed(terms))


def placed(terms: Mapping[int, str]) -> Places:
    """Where each term stands, given what stands where."""
    return {term: sorted(at for at in terms if terms[at] == term) for term in terms.values()}


def weighed(found: Shortlist, **weights: float) -> Shortlist:
    return Features(weights or FEATURE_WEIGHTS)(found)


def names(found: Shortlist) -> list[str]:
    return [each.passage.document for each in found.findings]


def test_a_passage_whose_heading_names_the_question_rises() -> None:
    query = a_query("When is the tide gauge read?")
    plain = a_named_finding("plain", 0.52, breadcrumb=("Harbor",))
    named = a_named_finding("named", 0.5, breadcrumb=("Harbor", "Reading the tide gauges"))
    found = weighed(a_shortlist(plain, named, query=query))
    assert names(found) == ["named.md", "plain.md"]
    assert found.findings[0].candidate.scores[TITLE] == 1.0
    assert found.findings[1].candidate.scores[TITLE] == 0.0


def test_words_side_by_side_count_for_more_than_the_same_words_apart() -> None:
    query = a_query("tide gauge")
    apart = a_named_finding("apart", 0.5, text="The tide was low when the old harbor clock struck and the gauge fell.")
    together = a_named_finding("together", 0.5, text="The tide gauge fell when the old harbor clock struck low.")
    found = weighed(a_shortlist(apart, together, query=query))
    assert names(found) == ["together.md", "apart.md"]
    assert found.findings[0].candidate.scores[PROXIMITY] == 1.0
    assert found.findings[1].candidate.scores[PROXIMITY] == pytest.approx(
        1 / 6
    )  # low, old, harbor, clock, struck between


def test_the_score_is_a_mean_of_the_fused_one_and_what_was_measured() -> None:
    finding = a_named_finding("one", 0.4, text="The tide gauge.", breadcrumb=("Tide",))
    found = weighed(a_shortlist(finding, query=a_query("tide gauge")), title=0.2, proximity=0.1)
    # title 1 of 2 words, side by side: (0.4 + 0.2 * 0.5 + 0.1 * 1) / 1.3
    assert found.findings[0].score == pytest.approx(0.6 / 1.3)
    assert found.findings[0].candidate.scores["features"] == found.findings[0].score


def test_features_of_weight_zero_and_a_question_of_stop_words_alone_change_nothing() -> None:
    found = a_shortlist(a_named_finding("one"), query=a_query("tide gauge"))
    assert weighed(found, title=0.0, proximity=0.0) == found
    stopped = a_shortlist(a_named_finding("one"), query=a_query("what is it"))
    assert weighed(stopped) == stopped


def test_what_stands_behind_the_depth_keeps_its_order_and_counts_as_having_nothing() -> None:
    query = a_query("tide gauge")
    findings = [a_named_finding(n, 0.9 - n / 10, text="tide gauge", breadcrumb=("Tide gauge",)) for n in range(3)]
    found = Features({"title": 0.5}, depth=1)(a_shortlist(*findings, query=query))
    assert [each.score for each in found.findings] == pytest.approx([1.4 / 1.5, 0.8 / 1.5, 0.7 / 1.5])
    assert all(TITLE not in each.candidate.scores for each in found.findings[1:])


def test_one_word_has_no_neighbor_to_be_near() -> None:
    for question in ("tide", "tide tide"):
        found = a_shortlist(a_named_finding("one", 1.0, text="tide tide"), query=a_query(question))
        assert weighed(found, proximity=0.1).findings[0].candidate.scores["proximity"] == 0.0


@given(PLACES)
def test_proximity_is_that_of_the_nearest_pair(places: Places) -> None:
    distances = [abs(each - other) for each in places.get("a", ()) for other in places.get("b", ())]
    assert Features.proximity([("a", "b")], places) == (1 / min(distances) if distances else 0.0)


@given(st.text(max_size=300), st.text(max_size=60))
def test_scores_stay_between_0_and_1_whatever_is_written(text: str, question: str) -> None:
    query = a_query(f"tide {''.join(each for each in question if each.isprintable())}")
    found = weighed(a_shortlist(a_named_finding("one", 1.0, text=text), query=query), title=0.2, proximity=0.1)
    assert 0.0 <= found.findings[0].score <= 1.0


WRITTEN = st.lists(
    st.text(alphabet="abdeginrsty -_.\n'\u2019\x00\ud800漢字。ÄéΣX9", max_size=80)
    | st.sampled_from(("the tides", "they're", "dying to tie", "rock'n'roll", "don\u2019t", "Été")),
    max_size=8,
)


@given(st.lists(WRITTEN.map(" ".join), max_size=4), st.text(alphabet="abdeginrsty '漢字é", max_size=60))
def test_places_are_those_of_the_terms_where_no_term_is_too_long_to_be_one(texts: list[str], question: str) -> None:
    wanted = frozenset(terms(f"{question} die tides rock'n'roll").words)
    expected = [placed({at: term for at, term in enumerate(terms(text).words) if term in wanted}) for text in texts]
    assert term_positions(texts, wanted) == expected
