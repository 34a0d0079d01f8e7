"""Late interaction: whom it asks, how much it weighs, and what it makes of the scores."""

from collections.abc import Collection, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.errors import Unavailable
from citewise.model.chunk import Vector, WordVectors
from citewise.model.ids import Digest
from citewise.model.query import BY_WORD, LATE_WEIGHT
from citewise.model.ranking import DENSE, Candidate, Finding, Shortlist
from citewise.search.rescore import FAR, FAR_TIMES, NEAR, Late
from tests.builders import a_named_finding, a_query, a_shortlist
from tests.fakes.counters import HashEmbedder, HashWords

QUESTION = "When does the ferry leave?"
MODEL = HashWords(HashEmbedder())
TEXTS = ("Nets are mended in winter.", "The ferry does leave at noon.", "When does it leave?", "Bread and salt.")


class Shelved:
    """A cache in memory."""

    def __init__(self, *texts: str) -> None:
        self.words: dict[Digest, WordVectors] = {}
        for text, made in zip(texts, MODEL.embedded(texts), strict=True):
            assert not isinstance(made, Unavailable)
            self.words[a_named_finding("x", text=text).passage.text_digest] = made[1]
        self.asked: list[Digest] = []

    def vectors(self, digests: Collection[Digest]) -> Mapping[Digest, Vector]:
        return {}

    def word_vectors(self, digests: Collection[Digest]) -> Mapping[Digest, WordVectors]:
        self.asked.extend(digests)
        return {key: self.words[key] for key in digests if key in self.words}

    def keep(self, vectors: Mapping[Digest, Vector], words: Mapping[Digest, WordVectors]) -> None:
        self.words.update(words)


class Saying(HashWords):
    """Says how near texts are, one after the other, whatever they hold."""

    def __init__(self, *closeness: float) -> None:
        super().__init__(HashEmbedder())
        self._closeness = closeness

    def closeness(self, question: str, texts: Sequence[WordVectors]) -> tuple[float, ...]:
        return self._closeness[: len(texts)]


def a_found(name: object, score: float, dense: float | None, text: str) -> Finding:
    made = a_named_finding(name, score, text)
    scores = {**made.candidate.scores, **({} if dense is None else {DENSE: dense})}
    return Finding(made.passage, Candidate(made.candidate.id, score, scores, {DENSE: 1}), "/docs/x")


def a_list(*scores: float, dense: float | None = 0.3, texts: Sequence[str] = TEXTS) -> Shortlist:
    """Findings of these scores, each in a text of its own, all as near as a whole."""
    found = [a_found(text, score, dense, text) for score, text in zip(scores, texts, strict=False)]
    return a_shortlist(*found, query=a_query(QUESTION))


def many(count: int, dense: float = 0.3) -> tuple[Shortlist, Shelved]:
    """As many findings, each a little worse than the one before, and the cache that holds their words."""
    texts = [f"Page {at} speaks of boat{at}." for at in range(count)]
    return a_list(*(0.9 - 0.01 * at for at in range(count)), dense=dense, texts=texts), Shelved(*texts)


def late(cache: Shelved | None = None) -> Late:
    return Late(MODEL, Shelved(*TEXTS) if cache is None else cache)


def texts_of(found: Shortlist) -> list[str]:
    return [each.passage.text for each in found.findings]


# When it speaks, and how much it weighs


def test_one_that_was_found_by_meaning_is_enough_to_speak() -> None:
    unseen = a_list(0.8, 0.7, dense=None).findings
    found = a_shortlist(*unseen, a_found("seen", 0.6, 0.2, TEXTS[2]), query=a_query(QUESTION))
    assert all(BY_WORD in each.candidate.scores for each in late()(found).findings)


@pytest.mark.parametrize(
    ("found", "words", "weight"),
    [
        (a_list(0.8, 0.7, 0.6, dense=None), MODEL, LATE_WEIGHT),
        (a_list(), MODEL, LATE_WEIGHT),
        (a_list(0.8), MODEL, LATE_WEIGHT),
        (a_list(0.8, 0.7, 0.6), None, LATE_WEIGHT),
        (a_list(0.8, 0.7, 0.6), MODEL, 0.0),
    ],
    ids=["found by words alone", "nothing", "a single one", "a model that does not tell words apart", "switched off"],
)
def test_where_it_has_nothing_to_say_nothing_is_read_and_the_order_stands(
    found: Shortlist, words: HashWords | None, weight: float
) -> None:
    cache = Shelved(*TEXTS)
    assert Late(words, cache, weight)(found) is found
    assert cache.asked == []


@pytest.mark.parametrize(
    ("nearest", "expected"),
    [(1.0, 1.0), (NEAR, 1.0), (0.525, 3.25), (0.45, 5.5), (0.375, 7.75), (FAR, FAR_TIMES), (-1.0, FAR_TIMES)],
)
def test_the_weight_falls_in_a_line_between_far_and_near(nearest: float, expected: float) -> None:
    assert Late.times(nearest) == pytest.approx(expected)


def test_the_nearest_passage_alone_says_how_far_a_question_is() -> None:
    findings = [a_found(text, 0.5, dense, text) for text, dense in zip(TEXTS, (None, -1.0, 0.45, 0.2), strict=True)]
    made = Late(Saying(0.1, 0.2, 0.3, 0.4), Shelved(*TEXTS), 0.2)(a_shortlist(*findings, query=a_query(QUESTION)))
    weight = 0.2 * Late.times(0.45)
    assert made.findings[0].score == pytest.approx((0.5 + weight) / (1 + weight))


def test_a_passage_that_others_outrank_by_a_little_rises_only_where_nothing_is_near() -> None:
    def first(dense: float) -> str:
        return texts_of(Late(Saying(0.2, 0.5), Shelved(*TEXTS))(a_list(0.9, 0.3, dense=dense)))[0]

    assert first(NEAR) == TEXTS[0]
    assert first(FAR) == TEXTS[1]


# What it says


def test_the_passage_that_has_the_questions_words_rises() -> None:
    found = a_list(0.60, 0.59, 0.58, 0.57)
    assert set(texts_of(late()(found))[:2]) == {TEXTS[1], TEXTS[2]}


@pytest.mark.parametrize(("nearest", "weight"), [(0.2, 2.0), (FAR, 2.0), (0.45, 1.1), (NEAR, 0.2), (0.9, 0.2)])
def test_the_score_is_the_mean_of_the_one_before_and_the_stretched_closeness(nearest: float, weight: float) -> None:
    scores, close = (0.9, 0.8, 0.4), (0.20, 0.45, 0.70)
    found = a_list(*scores, dense=nearest)
    made = Late(Saying(*close), Shelved(*TEXTS), 0.2)(found)
    by_text = {each.passage.text: each for each in made.findings}
    for text, score, closeness, share in zip(TEXTS, scores, close, (0.0, 0.5, 1.0), strict=False):
        expected = (score + weight * share) / (1 + weight)
        each = by_text[text]
        assert each.score == pytest.approx(expected)
        assert each.candidate.scores["late"] == each.score
        assert each.candidate.scores[BY_WORD] == closeness
    assert [each.score for each in made.findings] == sorted((each.score for each in made.findings), reverse=True)


def test_what_was_known_of_a_finding_stays() -> None:
    found = a_list(0.8, 0.7)
    before = {each.candidate.id: each for each in found.findings}
    for each in late()(found).findings:
        old = before[each.candidate.id]
        assert each.candidate.scores.items() >= old.candidate.scores.items()
        assert (each.passage, each.url, each.candidate.ranks) == (old.passage, old.url, old.candidate.ranks)


def test_where_all_are_equally_close_the_order_stays() -> None:
    found = a_list(0.8, 0.8, 0.7)
    made = Late(Saying(0.4, 0.4, 0.4), Shelved(*TEXTS))(found)
    assert texts_of(made) == texts_of(found)
    assert [each.score for each in made.findings] == [
        pytest.approx(score / (1 + FAR_TIMES * LATE_WEIGHT)) for score in (0.8, 0.8, 0.7)
    ]


def test_equal_texts_are_equally_close() -> None:
    found = a_shortlist(*(a_found(name, 0.5, 0.1, TEXTS[1]) for name in "ab"), a_found("c", 0.5, 0.1, TEXTS[0]))
    made = late()(found).findings
    assert made[0].score == made[1].score > made[2].score


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(-1, 1)), min_size=2, max_size=4), st.floats(0, 10), st.floats(-1, 1)
)
def test_scores_stay_between_0_and_1(pairs: list[tuple[float, float]], weight: float, nearest: float) -> None:
    scores = sorted((score for score, _ in pairs), reverse=True)
    made = Late(Saying(*(close for _, close in pairs)), Shelved(*TEXTS), weight)(a_list(*scores, dense=nearest))
    assert all(0.0 <= each.score <= 1.0 for each in made.findings)
    assert sorted(texts_of(made)) == sorted(TEXTS[: len(pairs)])


# How far down it looks


def test_passages_behind_the_first_thirty_are_not_read_and_stay_behind_in_their_order() -> None:
    found, cache = many(35)
    made = late(cache)(found)
    assert len(cache.asked) == 30
    assert texts_of(made)[30:] == texts_of(found)[30:]
    for new, old in zip(made.findings[30:], found.findings[30:], strict=True):
        assert new.score == new.candidate.scores["late"] == pytest.approx(old.score / (1 + FAR_TIMES * LATE_WEIGHT))
        assert BY_WORD not in new.candidate.scores
    assert {each.passage.text for each in made.findings[:30]} == {each.passage.text for each in found.findings[:30]}
    assert [each.score for each in made.findings] == sorted((each.score for each in made.findings), reverse=True)


def test_where_a_passage_is_near_twelve_are_read_and_the_others_stay_behind_in_their_order() -> None:
    found, cache = many(25, dense=NEAR)
    made = late(cache)(found)
    assert len(cache.asked) == 12
    assert texts_of(made)[12:] == texts_of(found)[12:]


def test_reading_more_passages_does_not_change_the_first_thirty() -> None:
    found, cache = many(40)
    fewer = found.with_findings(found.findings[:30])
    assert late(cache)(found).findings[:30] == late(cache)(fewer).findings


def test_who_is_looked_at_is_chosen_as_rankings_have_them_whatever_features_said() -> None:
    found, cache = many(35)
    moved = [each.rescored("features", 0.95) if at >= 30 else each for at, each in enumerate(found.findings)]
    late(cache)(found.with_findings(Finding.in_order(moved)))
    assert set(cache.asked) == {each.passage.text_digest for each in found.findings[:30]}


def test_a_near_passage_behind_the_first_thirty_does_not_count() -> None:
    found, cache = many(30)
    deep = found.with_findings((*found.findings, a_found("deep", 0.1, 0.9, "Deep down.")))
    assert late(cache)(deep).findings[:30] == late(cache)(found).findings


# What is missing


def test_a_passage_without_vectors_is_counted_in_a_note_and_the_order_stands() -> None:
    found = a_list(0.60, 0.59, 0.58, 0.57)
    made = late(Shelved(*TEXTS[:1]))(found)
    assert made.findings is found.findings
    assert made.degraded == ()
    (note,) = made.notes
    assert note.startswith("late: 3 of 4 passages")
    assert "citewise reindex" in note


def test_a_passage_behind_the_first_thirty_may_lack_its_vectors() -> None:
    found, cache = many(31)
    del cache.words[found.findings[30].passage.text_digest]
    assert late(cache)(found).notes == ()


# Stretching


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20))
def test_stretching_keeps_the_order_from_0_for_the_farthest_to_1_for_the_nearest(scores: list[float]) -> None:
    shares = [share for _, share in sorted(zip(scores, Late.stretched(scores), strict=True))]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, float(min(scores) < max(scores)))
