"""Stages that reorder or drop passages (Q7 to Q11), on passages made by hand."""

import math
from collections.abc import Sequence

import pytest

from citewise.errors import Misconfigured, Unavailable
from citewise.model.document import Location
from citewise.model.query import BoostRule
from citewise.model.ranking import Shortlist
from citewise.search.adjust import DAY, Boost, Cut, Deduplicate, Demote, Freshness
from citewise.search.pipeline import Search
from citewise.search.rescore import Rerank
from tests.builders import a_named_finding, a_query, a_shortlist, an_id

NOW = 1_700_000_000.0


def order(found: Shortlist) -> list[str]:
    return [finding.candidate.id for finding in found.findings]


def ids(*names: str) -> list[str]:
    return [an_id(name) for name in names]


class WordReranker:
    """Scores by the share of the question's words that a text holds."""

    name = "words"

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.read = 0

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        if self.error:
            raise self.error
        self.read += len(texts)
        words = set(question.lower().split())
        return tuple(len(words & set(text.lower().split())) / len(words) for text in texts)


class FixedReranker:
    """Gives these scores, whatever it is given."""

    name = "fixed"

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = tuple(scores)

    def scores(self, question: str, texts: Sequence[str]) -> tuple[float, ...]:
        return self._scores


# What stands beside the content


@pytest.mark.parametrize("content_type", ["exercise", "quiz", "objectives", "changelog", "links"])
def test_what_stands_beside_the_content_ranks_below_content_that_is_nearly_as_good(content_type: str) -> None:
    beside = a_named_finding("beside", 0.8, content_type=content_type)
    found = a_shortlist(beside, a_named_finding("content", 0.6), a_named_finding("far", 0.5))
    demoted = Demote(factor=0.7)(found)
    assert order(demoted) == ids("content", "beside", "far")
    assert demoted.findings[1].candidate.scores == {"fused": 0.8, "demote": pytest.approx(0.56)}
    assert "demote" not in demoted.findings[0].candidate.scores


def test_a_page_below_a_folder_of_assessments_is_content() -> None:
    """Its path says what the course does there, not that it asks instead of telling: late work, troubleshooting."""
    found = a_shortlist(a_named_finding("late work", 0.8, content_type="assessment"), a_named_finding("other", 0.6))
    assert Demote(factor=0.7)(found) == found


@pytest.mark.parametrize(
    ("question", "content_type"),
    [("exercises on valves", "exercise"), ("What changed in 2.3?", "changelog"), ("Is the quiz graded?", "quiz")],
)
def test_what_the_question_names_keeps_its_score(question: str, content_type: str) -> None:
    beside = a_named_finding("beside", 0.8, content_type=content_type)
    found = a_shortlist(beside, a_named_finding("content", 0.6), query=a_query(question))
    assert Demote()(found) == found


def test_a_guide_from_an_earlier_version_ranks_below_what_is_true_now_unless_the_question_asks_for_it() -> None:
    guide = a_named_finding("guide", 0.8, document="migration/v2.md")
    found = a_shortlist(guide, a_named_finding("content", 0.6))
    assert order(Demote(factor=0.7)(found)) == ids("content", "guide")
    asked = a_shortlist(guide, a_named_finding("content", 0.6), query=a_query("What changed since v1?"))
    assert Demote(factor=0.7)(asked) == asked


def test_a_passage_in_another_script_than_the_questions_comes_behind_those_in_its_own() -> None:
    names = {"chinese": "潮位计每天中午读取", "japanese": "潮位計は正午に読まれます", "code": "def read_gauge(): ..."}
    scores = {"chinese": 0.8, "japanese": 0.7, "code": 0.6}
    findings = [a_named_finding(name, scores[name], text) for name, text in names.items()]
    asked = a_shortlist(*findings, query=a_query("潮位計はいつ読まれますか"))
    assert order(Demote()(asked)) == ids("japanese", "code", "chinese")


def test_where_no_passage_is_in_the_questions_script_none_is_demoted() -> None:
    found = a_shortlist(a_named_finding("a", 0.8, "潮位计每天中午读取"), query=a_query("Когда читают?"))
    assert Demote()(found) == found


# Reranking


def test_a_reranker_reorders_by_what_it_read() -> None:
    query = a_query("red boats")
    found = a_shortlist(
        a_named_finding("a", 0.9, "green nets"), a_named_finding("b", 0.2, "red boats in the bay"), query=query
    )
    reranked = Rerank(WordReranker())(found)
    assert order(reranked) == ids("b", "a")
    assert reranked.findings[0].candidate.scores == {"fused": 0.2, "rerank": 1.0}
    assert reranked.findings[0].score == 1.0


def test_only_the_best_few_are_read_and_the_rest_stays_behind_them() -> None:
    findings = [a_named_finding(f"n{at}", 0.9 - at / 10, "red boats" if at == 4 else "nets") for at in range(5)]
    reranker = WordReranker()
    reranked = Rerank(reranker, depth=3)(a_shortlist(*findings, query=a_query("red boats")))
    assert reranker.read == 3
    assert order(reranked)[3:] == ids("n3", "n4")
    scores = [each.score for each in reranked.findings]
    assert scores == sorted(scores, reverse=True)


def test_what_was_not_read_keeps_its_distances_below_what_was() -> None:
    findings = [a_named_finding(f"n{at}", score) for at, score in enumerate((0.9, 0.8, 0.5, 0.1))]
    reranked = Rerank(FixedReranker([0.6, 0.4]), depth=2)(a_shortlist(*findings))
    assert [each.score for each in reranked.findings] == pytest.approx([0.6, 0.4, 0.5 * 0.4, 0.1 * 0.4])
    assert "rerank" not in reranked.findings[2].candidate.scores


def test_what_is_equally_good_to_the_reranker_keeps_the_fused_order() -> None:
    names = ("d", "a", "c", "b")
    found = a_shortlist(*(a_named_finding(name, 0.9 - at / 10) for at, name in enumerate(names)))
    assert order(Rerank(FixedReranker([0.5] * 4))(found)) == ids(*names)
    assert order(Rerank(FixedReranker([0.5, 0.7, 0.5, 0.7]))(found)) == ids("a", "b", "d", "c")


@pytest.mark.parametrize("scores", [[0.5], [0.5] * 3, [], [0.5, math.nan], [0.5, 7.0], [-0.1, 0.5]], ids=str)
def test_scores_that_are_none_degrade_and_the_fused_order_stands(scores: list[float]) -> None:
    found = a_shortlist(a_named_finding("a", 0.9), a_named_finding("b", 0.2))
    degraded = Search.attempted(Rerank(FixedReranker(scores)), found)
    assert degraded.findings == found.findings
    assert degraded.degraded == ("rerank: not available; the order before it stands",)


@pytest.mark.parametrize(
    ("error", "said", "logged"),
    [
        (Unavailable("the server is gone"), "not available", "the server is gone"),
        (Misconfigured("no such model"), "not set up", "no such model"),
        (RuntimeError("key=hunter2"), "not available", "it failed (RuntimeError)"),
    ],
)
def test_a_failing_reranker_leaves_the_fused_order_and_is_named(
    error: Exception, said: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = a_shortlist(a_named_finding("a", 0.9), a_named_finding("b", 0.2))
    degraded = Search.attempted(Rerank(WordReranker(error)), found)
    assert degraded.findings == found.findings
    assert degraded.degraded == (f"rerank: {said}; the order before it stands",)
    assert f"rerank: {logged}" in caplog.messages


def test_to_be_stopped_is_not_to_break() -> None:
    with pytest.raises(KeyboardInterrupt):
        Search.attempted(Rerank(WordReranker(KeyboardInterrupt())), a_shortlist(a_named_finding("a")))


def test_without_a_reranker_or_with_it_off_the_result_says_so() -> None:
    found = a_shortlist(a_named_finding("a"))
    assert "no model is configured" in Rerank(None)(found).notes[0]
    off = a_shortlist(a_named_finding("a"), query=a_query(rerank=False))
    assert "switched off" in Rerank(WordReranker())(off).notes[0]


def test_a_shortlist_of_nothing_is_reranked_to_nothing() -> None:
    assert Rerank(WordReranker())(a_shortlist()).findings == ()


# Freshness


def said(
    days_ago: float | None, *, corpus_type: str = "CONVO_SLACK", name: object = "a", score: float = 0.5
) -> Shortlist:
    sent_at = None if days_ago is None else NOW - days_ago * DAY
    return a_shortlist(
        a_named_finding(name, score, corpus_type=corpus_type, location=Location("messages", 1, 1, sent_at=sent_at)),
        query=a_query(asked_at=NOW),
    )


@pytest.mark.parametrize(
    ("days_ago", "freshness"), [(90, 0.5), (180, 0.25), (0, 1.0), (-50, 1.0)], ids=["one", "two", "now", "to come"]
)
def test_freshness_halves_with_every_half_life_and_what_is_to_come_counts_as_now(
    days_ago: float, freshness: float
) -> None:
    aged = Freshness(half_life_days=90, weight=0.1)(said(days_ago))
    assert aged.findings[0].score == pytest.approx(0.9 * 0.5 + 0.1 * freshness)
    assert aged.findings[0].candidate.scores["freshness"] == aged.findings[0].score


def test_a_recent_conversation_rises_above_an_old_one() -> None:
    both = a_shortlist(*said(365, name="old").findings, *said(1, name="new").findings, query=a_query(asked_at=NOW))
    assert order(Freshness()(both)) == ids("new", "old")


@pytest.mark.parametrize(
    "found", [said(10, corpus_type="CODE_LOGIC"), said(None), said(10, corpus_type="DOC_RUNBOOK")], ids=str
)
def test_what_is_no_conversation_or_has_no_time_keeps_its_score(found: Shortlist) -> None:
    assert Freshness(weight=0.9)(found).findings == found.findings


def test_a_weight_of_nothing_changes_nothing_and_the_query_may_say_so() -> None:
    found = said(400)
    assert Freshness(weight=0.0)(found) == found
    asked = a_shortlist(*found.findings, query=a_query(asked_at=NOW, freshness_weight=0.0))
    assert Freshness(weight=0.5)(asked) == asked


def test_the_query_may_bring_its_own_half_life() -> None:
    asked = a_shortlist(*said(10).findings, query=a_query(asked_at=NOW, half_life_days=10.0, freshness_weight=1.0))
    assert Freshness()(asked).findings[0].score == pytest.approx(0.5)


def test_what_is_no_conversation_keeps_its_order_while_conversations_move_around_it() -> None:
    found = a_shortlist(
        a_named_finding(
            "old talk", 0.9, corpus_type="CONVO_SLACK", location=Location("messages", 1, 1, sent_at=NOW - 1000 * DAY)
        ),
        a_named_finding("page", 0.89),
        a_named_finding("code", 0.88, corpus_type="CODE_LOGIC"),
        a_named_finding("runbook", 0.7, corpus_type="DOC_RUNBOOK"),
    )
    assert order(Freshness(weight=0.1)(found)) == ids("page", "code", "old talk", "runbook")


# Boosts


@pytest.mark.parametrize(
    ("question", "corpus_type", "factor"),
    [
        ("k8s deployment of auth", "CODE_DEPLOY", 1.3),
        ("k8s deployment of auth", "DOC_RUNBOOK", 1.3),
        ("k8s deployment of auth", "DOC_PAGE", 1.0),
        ("the login page is down", "CONVO_SLACK", 1.3),
        ("download the login page", "CONVO_SLACK", 1.0),
        ("How to roll back", "DOC_README", 1.2),
        ("how does auth work", "DOC_README", 1.0),
        ("steps after an incident", "DOC_RUNBOOK", 1.3 * 1.2),
        ("podcast about containers", "CODE_DEPLOY", 1.0),
    ],
)
def test_words_of_the_question_speak_for_corpus_types(question: str, corpus_type: str, factor: float) -> None:
    found = a_shortlist(a_named_finding("a", 0.4, corpus_type=corpus_type), query=a_query(question))
    assert Boost()(found).findings[0].score == pytest.approx(0.4 * factor)


def test_a_boost_never_leaves_the_scale_and_keeps_the_order_at_its_top() -> None:
    findings = [a_named_finding(name, score, corpus_type="CODE_DEPLOY") for name, score in (("a", 0.95), ("b", 0.85))]
    boosted = Boost()(a_shortlist(*findings, query=a_query("deploy it")))
    assert [each.score for each in boosted.findings] == [1.0, 1.0]
    assert order(boosted) == ids("a", "b")


def test_rules_are_configuration() -> None:
    rule = BoostRule(("tide",), ("DOC_PAGE",), 2.0)
    found = a_shortlist(a_named_finding("a", 0.3), query=a_query("tide tables"))
    assert Boost((rule,))(found).findings[0].candidate.scores["boost"] == pytest.approx(0.6)


# Near-duplicates and the cut


def test_the_same_text_twice_is_shown_once_and_the_better_one_stays() -> None:
    text = "The ferry leaves at noon and comes back at six."
    found = a_shortlist(
        a_named_finding("a", 0.9, text),
        a_named_finding("b", 0.8, "Nets dry in the sun."),
        a_named_finding("c", 0.7, text),
    )
    kept = Deduplicate()(found)
    assert order(kept) == ids("a", "b")
    assert [(each.candidate.id, each.stage, each.reason) for each in kept.dropped] == [
        (an_id("c"), "dedup", f"says the same as {an_id('a')}")
    ]


@pytest.mark.parametrize(
    ("words", "shared", "added", "is_dropped"),
    [(100, 99, 1, True), (100, 97, 3, False), (20, 19, 0, True), (20, 18, 0, False)],
    ids=["99 of 101", "97 of 103", "19 of 20, which is 0.95 to the last bit", "18 of 20"],
)
def test_nearly_the_same_is_the_same_from_95_percent_on(
    words: int, shared: int, added: int, *, is_dropped: bool
) -> None:
    text = [f"w{at}" for at in range(words)]
    other = [*text[:shared], *(f"x{at}" for at in range(added))]
    found = a_shortlist(a_named_finding("a", 0.9, " ".join(text)), a_named_finding("b", 0.8, " ".join(other)))
    assert (len(Deduplicate()(found).findings) == 1) is is_dropped


def test_no_more_than_top_k_stay_and_the_others_are_named() -> None:
    found = a_shortlist(*(a_named_finding(at, 0.9 - at / 10) for at in range(4)), query=a_query(top_k=3))
    cut = Cut()(found)
    assert len(cut.findings) == 3
    assert cut.dropped[0].reason == "beyond the first 3"
