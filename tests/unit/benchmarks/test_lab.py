"""How defaults are chosen: the same fusion as the product's, sets of equal weight, and choices made without a set."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from benchmarks.lab_choice import Alternative, change, choices_table, left_out, mean_worth, table, unseen_worths
from benchmarks.lab_features import climbed, features
from benchmarks.lab_pools import (
    Place,
    Pool,
    Scoring,
    blended,
    by_nearness,
    by_ranks,
    measured,
    place_worth,
    pool_of,
    worth,
)
from benchmarks.lab_terms import TermRules, VariantAnalyzer, word_index

from citewise.evaluation.cases import Unit
from citewise.evaluation.metrics import ndcg
from citewise.model.access import OWNER, Scope
from citewise.model.chunk import Hit
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.query import FEATURES, Query
from citewise.model.ranking import CODE, DENSE, RANKINGS, WORDS, Rankings
from citewise.search.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
from citewise.search.rescore import Features
from citewise.text.analysis import terms
from tests.builders import a_named_finding, a_shortlist

PARTS = {"small": ("small",), "large": ("large",)}
TEXT = "The Runner's running; Ümlaut ﬁles, snake_case and 3 getHTTPCodes isn't."


def some_rankings(seed: int, hits: int = 90) -> dict[str, tuple[Hit, ...]]:
    draw = Random(seed)
    rankings = {}
    for ranking in RANKINGS:
        ids = draw.sample(range(200), draw.choice((0, 5, hits)) if ranking == CODE else hits)
        rankings[ranking] = Hit.best(
            [ChunkId(f"{id_:016d}") for id_ in ids], [round(draw.random(), 2) for _ in ids], len(ids)
        )
    return rankings


def a_pool(rankings: dict[str, tuple[Hit, ...]], unit: Unit = "document") -> Pool:
    """Three chunks a document; every seventh document has a grade."""
    places = {
        hit.id: Place(int(hit.id) // 3, (int(hit.id) // 3 % 7 == 0) * 2) for hits in rankings.values() for hit in hits
    }
    return pool_of("?", rankings, places, unit=unit, judged=[2] * 10)


def graded(*grades: int, unit: Unit = "passage") -> tuple[Pool, "np.ndarray[tuple[int], np.dtype[np.float64]]"]:
    """Candidates of these grades, and scores that leave them in this order."""
    hits = tuple(Hit(ChunkId(f"{at:016d}"), 1 - at / 100) for at in range(len(grades)))
    places = {hit.id: Place(at, grade) for at, (hit, grade) in enumerate(zip(hits, grades, strict=True))}
    pool = pool_of("?", {DENSE: hits, WORDS: (), CODE: ()}, places, unit=unit, judged=grades)
    return pool, pool.scores[0]


def a_row(name: str, small: float, *large: float) -> Alternative:
    return Alternative(name, {"small": np.array([small]), "large": np.array(large)})


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("scoring", "fusion"),
    [
        (blended((0.5, 0.25, 0.25)), MinMax()),
        (blended((0.0, 0.0, 1.0)), MinMax({CODE: 1.0})),
        (by_nearness((1.0, 0.3, 0.3)), Nearness()),
        (by_ranks(60), ReciprocalRanks()),
    ],
)
def test_candidates_are_ordered_as_the_product_orders_them(seed: int, scoring: Scoring, fusion: Fusion) -> None:
    rankings = some_rankings(seed)
    pool = a_pool(rankings)
    ranked = fusion(Rankings(Query("?", request_id="", asked_at=0.0, principal=OWNER), rankings)).candidates()
    scores = dict(zip(pool.ids, scoring(pool), strict=True))
    largest = max(scores.values()) / ranked[0].score  # reciprocal ranks are on a scale of their own
    assert [scores[one.id] / largest for one in ranked] == pytest.approx([one.score for one in ranked])


@pytest.mark.parametrize("seed", range(3))
def test_fewer_hits_are_what_the_arms_would_have_given(seed: int) -> None:
    rankings = some_rankings(seed)
    cut, fewer = a_pool(rankings).within(20), a_pool({ranking: hits[:20] for ranking, hits in rankings.items()})
    assert cut.ids == fewer.ids
    assert (cut.scores == fewer.scores).all()
    assert (cut.ranks == fewer.ranks).all()
    assert (cut.grades == fewer.grades).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_document_counts_at_its_best_chunk(seed: int) -> None:
    pool = a_pool(some_rankings(seed))
    scores = by_nearness((1.0, 0.3, 0.3))(pool)
    order = sorted(range(len(pool.ids)), key=lambda at: (-scores[at], pool.ids[at]))
    grades = {int(pool.documents[at]): int(pool.grades[at]) for at in order}
    documents = dict.fromkeys(int(pool.documents[at]) for at in order)
    assert worth(pool, scores) == pytest.approx(ndcg([grades[one] for one in documents], [2] * 10, 10))


def test_a_full_answer_counts_among_the_first_five_passages_only() -> None:
    assert worth(*graded(1, 1, 1, 1, 2)) == 1.0
    assert worth(*graded(1, 1, 1, 1, 1, 2)) == 0.0


def test_by_place_a_full_answer_is_worth_less_the_later_it_comes() -> None:
    assert place_worth(*graded(2, 2)) == 1.0
    assert place_worth(*graded(1, 0, 2)) == pytest.approx(0.5)
    assert place_worth(*graded(*[1] * 10, 2)) == 0.0


def test_passages_are_valued_by_place_beside_being_found_or_not() -> None:
    pool, scores = graded(0, 0, 2)
    found = measured({"book": [(pool, scores)]})
    assert (found["book"].tolist(), found["book by place"].tolist()) == ([1.0], [pytest.approx(0.5)])
    made = table("Book", [Alternative("default", found)], {"book": ("book",)}, note="")
    assert dict(zip(made.columns, made.rows[0], strict=True))["mean by place"] == 0.5


def test_every_set_counts_the_same_however_many_questions_it_has() -> None:
    assert mean_worth(a_row("one", 1.0, 0.0, 0.0, 0.0).worths, PARTS) == 0.5


def test_parts_of_a_set_that_are_counted_apart_share_its_weight() -> None:
    parts = {"small": ("small",), "book": ("plain", "other")}
    worths = {"small": np.array([1.0]), "plain": np.array([0.0, 0.0]), "other": np.array([1.0])}
    assert mean_worth(worths, parts) == 0.75


def test_a_difference_is_paired_and_its_interval_spans_what_questions_vary() -> None:
    draw = np.random.default_rng(1)
    noise = draw.random(400)
    before = {"small": noise[:100], "large": noise[100:]}
    sure = change({name: values + 0.01 for name, values in before.items()}, before, PARTS)
    assert (sure.mean, sure.low, sure.high) == pytest.approx((0.01, 0.01, 0.01))
    unsure = change({name: draw.permutation(values) for name, values in before.items()}, before, PARTS)
    assert unsure.low < unsure.mean < unsure.high
    # Of a mean of two sets, each as uncertain as its own questions make it.
    error = 0.5 * (noise.var() * 2 / 100 + noise.var() * 2 / 300) ** 0.5
    assert unsure.high - unsure.low == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_what_is_chosen_for_a_set_is_chosen_without_it() -> None:
    rows = [a_row("default", 0.5, 0.5), a_row("for small", 1.0, 0.4), a_row("for large", 0.0, 0.6)]
    chosen = left_out(rows, PARTS)
    assert [(one.set, one.chosen.name) for one in chosen] == [("small", "for large"), ("large", "for small")]
    assert mean_worth(unseen_worths(chosen, PARTS), PARTS) == pytest.approx(0.2)


def test_of_equals_the_default_is_chosen() -> None:
    rows = [a_row("default", 0.5, 0.5), a_row("another", 0.5, 0.5)]
    assert {one.chosen.name for one in left_out(rows, PARTS)} == {"default"}


def test_the_last_row_of_a_table_is_what_unseen_sets_get() -> None:
    rows = [a_row("default", 0.5, 0.5), a_row("for small", 1.0, 0.4)]
    made = table("Sizes", rows, PARTS, note="")
    assert made.columns[:4] == ("", "small", "large", "mean of sets")
    assert made.rows[0][:5] == ("default", 0.5, 0.5, 0.5, None)
    assert made.rows[1][:5] == ("for small", 1.0, 0.4, 0.7, 0.2)
    assert made.rows[2][:5] == ("chosen on the other sets", 0.5, 0.4, 0.45, -0.05)
    assert choices_table("Chosen", rows, PARTS).rows[0] == ("small", "default", 0.5, 0.5, "for small", 1.0, "default")


def test_questions_that_are_answered_or_not_are_counted() -> None:
    made = table("Book", [a_row("default", 1.0, 1.0, 0.0, 1.0)], {"large": ("large",)}, note="")
    assert made.columns[1] == "large, of 3"
    assert made.rows == (("default", 2, 0.6667, None, None, None),)


def test_features_are_those_of_the_product() -> None:
    question, headings, texts = "red lamp post", ["Lamp", "Other"], ["A red lamp.", "The lamp is near a red post."]
    values = features(question, headings, texts)
    findings = [
        a_named_finding(at, 0.5, text, breadcrumb=(heading,))
        for at, (heading, text) in enumerate(zip(headings, texts, strict=True))
    ]
    query = Query(question, request_id="", asked_at=0.0, principal=OWNER)
    rescored = Features()(a_shortlist(*findings, query=query)).findings
    scores = {finding.passage.text: finding.candidate.scores for finding in rescored}
    assert values.T.tolist() == [[scores[text][name] for name in FEATURES] for text in texts]


def test_the_ascent_climbs_to_the_top_and_never_below_zero() -> None:
    top = climbed((0.3, 0.0, 0.2), lambda at: -((at[0] - 0.15) ** 2) - (at[1] - 0.4) ** 2 - at[2], (0.1, 0.05))
    assert top == pytest.approx((0.15, 0.4, 0.0))
    assert climbed((0.1,), lambda at: -at[0], (0.1,)) == (0.0,)


def test_by_the_usual_rules_terms_are_the_products() -> None:
    assert VariantAnalyzer(TermRules()).terms(TEXT) == terms(TEXT)


@pytest.mark.parametrize(
    ("rules", "words", "code"),
    [
        (TermRules(words_keep_stop_words=True), ("the", "run", "file"), ("the", "running", "files")),
        (TermRules(words_are_stemmed=False), ("running", "files"), ("the", "running", "files")),
        (TermRules(code_keeps_stop_words=False), ("run", "file"), ("running", "files")),
    ],
)
def test_each_rule_changes_what_it_says(rules: TermRules, words: tuple[str, ...], code: tuple[str, ...]) -> None:
    made = VariantAnalyzer(rules).terms("the running files")
    assert (made.words, made.code) == (words, code)


def test_texts_are_found_by_terms_of_the_same_rules() -> None:
    whole = VariantAnalyzer(replace(TermRules(), words_are_stemmed=False))
    texts = {ChunkId("0" * 16): "running water", ChunkId("1" * 16): "run"}
    with word_index(texts, whole) as index:
        found = index.search(whole.terms("running").words, field="words", where=Where(Scope(), None), limit=10)
    assert [hit.id for hit in found] == ["0" * 16]
