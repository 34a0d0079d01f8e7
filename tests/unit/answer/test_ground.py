"""Grounds: what speaks for an answer and what against, and the evidence in every unit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from citewise.answer.ground import (
    ALL_WORDS,
    ANSWERED_CONFIDENCE,
    DEFAULT,
    MAX_CHARACTERS,
    MODEL_CONFIDENCE,
    SEARCH,
    SELECTION,
    SHOWN_CONFIDENCE,
    Calibration,
    Ground,
    Thresholds,
    coverages_of,
)
from citewise.answer.pack import Pack
from citewise.errors import Unavailable
from citewise.model.answer import Context, Evidence, Outcome
from citewise.model.chunk import Vector, cosine
from citewise.model.ranking import DENSE, WORDS, Finding
from citewise.ports.models import TokenCounter
from citewise.text.urls import Addresses
from tests.builders import a_finding, a_passage, a_vector
from tests.contexts import a_context, a_source
from tests.fakes.counters import HashEmbedder, WordCounter

GROUND = Ground(HashEmbedder(), WordCounter())
TEXT = "The gauge is read at noon. Gulls rest on the pier."
ASKED = "When is the gauge read?"


def packed(*findings: Finding) -> Context:
    return Pack(WordCounter(), Addresses())(findings)


def found(
    scores: Mapping[str, float], ranks: Mapping[str, int] | None = None, *, at: int = 0, text: str = TEXT
) -> Finding:
    finding = a_finding(a_passage(text, document=f"{at}.md"))
    return replace(finding, candidate=replace(finding.candidate, scores=scores, ranks=ranks or {}))


def signal(name: str, *findings: Finding, question: str = ASKED) -> float | None:
    return GROUND.search_signals(question, findings, top_k=5)[name]


def test_closeness_is_the_best_cosine_and_lead_how_far_it_is_ahead() -> None:
    findings = [found({DENSE: score}, at=at) for at, score in enumerate((0.5, 0.8, 0.3, 0.1) * 3)]
    assert signal("closeness", *findings) == 0.8
    assert signal("lead", *findings) == pytest.approx(0.6)


def test_among_a_few_nobody_leads() -> None:
    assert signal("lead", found({DENSE: 0.8}), found({DENSE: 0.1}, at=1)) is None


def test_matched_grows_with_the_stems_that_the_best_source_holds() -> None:
    first, second = found({}), found({}, at=1, text="Gulls.")
    assert signal("matched", first, second, question="Where do gulls eat fish?") == pytest.approx(math.log(2))
    assert signal("matched", first, second, question="Which gulls rest and eat?") == pytest.approx(math.log(3))
    assert signal("matched", question="gulls") == 0.0


def test_a_short_question_that_a_source_holds_whole_is_no_worse_than_others() -> None:
    assert signal("matched", found({}), question="gulls?") == pytest.approx(math.log(5))
    assert signal("matched", found({}), question="and what?") == 0.0


def test_agreement_is_the_share_of_chunks_high_in_both_rankings() -> None:
    both, first = {DENSE: 1, WORDS: 5}, {DENSE: 2, WORDS: 6}
    others = [found({}, {DENSE: at, WORDS: 40 + at}, at=at) for at in range(3, 10)]
    assert signal("agreement", found({}, both), found({}, first, at=1), *others) == pytest.approx(0.2)
    assert signal("agreement", found({}, both), found({}, first, at=1)) == pytest.approx(0.5)


def test_a_ranking_that_was_down_leaves_its_signals_open() -> None:
    only_words = found({WORDS: 7.0}, {WORDS: 1})
    assert [signal(name, only_words) for name in ("closeness", "lead", "agreement")] == [None, None, None]
    assert GROUND.of_search(ASKED, [only_words], top_k=5).confidence > 0


def test_an_open_signal_counts_as_an_average_one() -> None:
    calibration = Calibration({"a": (0.5, 0.1, 2.0), "b": (0.0, 1.0, 1.0)}, intercept=0.0)
    assert calibration.confidence({"a": None, "b": 0.0}) == calibration.confidence({"a": 0.5, "b": None}) == 0.5
    assert calibration.confidence({"a": 0.6, "b": None}) > 0.8


@pytest.mark.parametrize("calibration", [SEARCH, SELECTION])
def test_every_signal_speaks_for_an_answer_but_missing_names(calibration: Calibration) -> None:
    for signal, (_, spread, worth) in calibration.weights.items():
        assert spread > 0
        assert (worth < 0) == (signal == "missing")


NEAR = [found({DENSE: 0.8 - 0.1 * at}, {DENSE: at + 1, WORDS: at + 1}, at=at) for at in range(5)]
FAR = [found({DENSE: 0.2}, {DENSE: at + 1}, at=at) for at in range(5)]


def outcome(question: str, *findings: Finding, thresholds: Thresholds = DEFAULT) -> Outcome:
    return GROUND.of_search(question, findings, top_k=5, thresholds=thresholds).outcome


def test_near_agreed_and_mentioned_is_answered_and_far_and_unmentioned_is_not() -> None:
    assert outcome(ASKED, *NEAR) == "answered"
    assert outcome("How does MoveIt drive a UR5?", *FAR) == "nothing"


def test_between_the_two_thresholds_it_is_not_sure() -> None:
    confidence = GROUND.of_search(ASKED, FAR, top_k=5).confidence
    for answered, shown, expected in ((0.0, 0.0, "answered"), (1.0, 0.0, "unsure"), (1.0, 1.0, "nothing")):
        assert outcome(ASKED, *FAR, thresholds=Thresholds(answered, shown)) == expected
    assert Thresholds(confidence, confidence).outcome(confidence) == "answered"
    assert Thresholds(1.0, confidence).outcome(confidence) == "unsure"


def test_what_is_answered_is_shown_too() -> None:
    assert 0 < SHOWN_CONFIDENCE < ANSWERED_CONFIDENCE < 1
    assert SHOWN_CONFIDENCE <= MODEL_CONFIDENCE <= ANSWERED_CONFIDENCE


def test_only_the_best_sources_are_looked_at_for_the_words_of_a_question() -> None:
    far, says_it = found({}, text="Fish."), found({}, at=1)
    best, both = (GROUND.search_signals("Gulls?", [far, says_it], top_k=top_k) for top_k in (1, 2))
    assert (best["matched"], both["matched"]) == (0.0, math.log1p(ALL_WORDS))


def test_of_nothing_there_is_nothing() -> None:
    grounds = GROUND.of_search(ASKED, [], top_k=5)
    assert (grounds.confidence, grounds.outcome, grounds.evidence) == (0.0, "nothing", ())
    assert GROUND.of_selection(ASKED, packed()).outcome == "nothing"


def test_a_heading_alone_answers_nothing() -> None:
    heading = packed(found({}, text="# When the gauge is read"))
    assert GROUND.of_selection("When the gauge is read?", heading).outcome == "nothing"


def test_a_selection_that_says_it_is_answered_from_and_another_is_not() -> None:
    selection = packed(found({}))
    assert GROUND.of_selection("The gauge is read at noon?", selection).outcome == "answered"
    assert GROUND.of_selection("Who painted Las Meninas in Madrid?", selection).outcome != "answered"


def test_units_are_weighed_for_a_selection_alone() -> None:
    assert len(GROUND.of_selection(ASKED, packed(found({}))).evidence) == 2
    assert GROUND.of_search(ASKED, NEAR, top_k=5).evidence == ()


def test_a_selection_is_judged_by_words_where_nothing_can_be_embedded() -> None:
    ground = replace(GROUND, embedder=HashEmbedder(poison=" "))
    weighed = ground.weigh(ASKED, packed(found({})))[0]
    assert ground.selection_signals(ASKED, packed(found({})), weighed)["closeness"] is None


# What a question names and no source mentions


NAMES = "Set up the UR5 arm with ROS 2. The micro-controller reads ISO codes in Kenya."


class Vocabulary:
    """Knows every word but one; of that it makes two tokens."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [2 if text.lower().startswith("quadcopt") else 1 for text in texts]


def missing(question: str, text: str, counter: TokenCounter) -> float | None:
    context = a_context(a_source(1, text, title=""))
    return Ground(HashEmbedder(), counter).selection_signals(question, context, ())["missing"]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How do I set up the UR5?", 0),
        ("How do I set up the UR10?", 1),
        ("Which vaccines do I need in Kenya?", 0),
        ("Which vaccines do I need in Peru?", 1),
        ("Does MoveIt 7 run on an ESP32 in Lima?", 2),
        ("Microcontroller with ISO codes?", 0),
        ("Peru is where? Lima is what?", 0),
        ("WHERE IS LIMA?", 0),
        ("What about ur5 and Micro-Controller?", 0),
        ("who and why", 0),
    ],
)
def test_names_that_no_text_holds_are_counted_up_to_two(question: str, names: float) -> None:
    assert missing(question, NAMES, WordCounter()) == names


def test_a_rare_word_counts_half_and_a_common_one_not_at_all() -> None:
    assert missing("How high does a quadcopter fly?", NAMES, Vocabulary()) == 0.5
    assert missing("How high does a pilot fly?", NAMES, Vocabulary()) == 0
    assert missing("How high?", "Quadcopters fly", Vocabulary()) == 0


# Evidence: every unit weighed, by words and by meaning, with bounded work


VALVE = "# Valves\n\nTurn the valve left. A valve sticks when it rusts."


def context_of(*texts: str, scores: Sequence[float] = ()) -> Context:
    passages = [a_passage(text, document=f"{at}.md", breadcrumb=()) for at, text in enumerate(texts)]
    given = scores or [1.0] * len(texts)
    return packed(*(a_finding(passage, score=score) for passage, score in zip(passages, given, strict=True)))


def a_ground(embedder: HashEmbedder, **knobs: Any) -> Ground:
    return Ground(embedder, WordCounter(), **knobs)


def weighed(question: str, *texts: str, embedder: HashEmbedder | None = None) -> tuple[Evidence, ...]:
    return a_ground(embedder or HashEmbedder()).weigh(question, context_of(*texts))[0]


def best(found: Sequence[Evidence]) -> str:
    return max(found, key=lambda evidence: evidence.score).unit.text


def test_every_unit_of_every_source_is_weighed_in_order() -> None:
    found = weighed(ASKED, TEXT, VALVE)
    assert [(evidence.unit.source, evidence.unit.position) for evidence in found] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert all(0 <= evidence.score <= 1 for evidence in found)


def test_the_unit_that_shares_the_question_s_words_is_best() -> None:
    assert best(weighed(ASKED, TEXT, VALVE)) == "The gauge is read at noon."


def test_a_word_that_few_units_hold_tells_more() -> None:
    found = weighed("valve rust", VALVE)
    assert found[1].coverage == 1.0
    assert 0 < found[0].coverage < 0.5


def test_a_worse_source_s_units_count_less() -> None:
    context = context_of(TEXT, TEXT.replace("noon", "dusk"), scores=(1.0, 0.5))
    first, _, third, _ = a_ground(HashEmbedder()).weigh(ASKED, context)[0]
    assert first.score > third.score
    assert a_ground(HashEmbedder(), standing=0.0).weigh("When is it read?", context)[0][2].score > 0


def test_only_the_most_promising_units_are_embedded_and_only_their_beginning() -> None:
    embedder = HashEmbedder()
    long = " ".join(f"The valve has part {number}." for number in range(60))
    found = a_ground(embedder, max_embedded=5).weigh("Which valve?", context_of(long, "x" * 2000))[0]
    assert len(embedder.embedded) == 5
    assert sum(evidence.closeness is not None for evidence in found) == 5
    assert max(map(len, embedder.embedded)) <= MAX_CHARACTERS + len("Tides: ")


def test_a_unit_is_embedded_behind_its_heading_and_without_its_marker() -> None:
    embedder = HashEmbedder()
    a_ground(embedder).weigh("How?", packed(a_finding(a_passage("- Turn left.", breadcrumb=("Book", "Valves")))))
    assert embedder.embedded == ["Valves: Turn left."]


def test_a_unit_that_cannot_be_embedded_is_weighed_by_its_words() -> None:
    found = weighed(ASKED, TEXT, embedder=HashEmbedder(poison="gauge"))
    assert found[0].closeness is None
    assert found[0].score > 0


def test_without_an_embedder_words_alone_decide() -> None:
    class Silent(HashEmbedder):
        def query(self, text: str) -> Vector:
            raise Unavailable("no model")

    found = weighed(ASKED, TEXT, VALVE, embedder=Silent())
    assert {evidence.closeness for evidence in found} == {None}
    assert best(found) == "The gauge is read at noon."


def test_a_question_of_stop_words_covers_nothing() -> None:
    assert coverages_of(frozenset(), [frozenset({"a"})]) == [0.0]


def test_the_cosine_of_a_vector_with_itself_is_one() -> None:
    assert cosine(a_vector(1), a_vector(1)) == pytest.approx(1.0, abs=1e-6)
    assert math.isfinite(cosine(a_vector(1), a_vector(2)))
