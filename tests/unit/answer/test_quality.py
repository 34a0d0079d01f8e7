"""How far an answer can be trusted: each part means something, and a warning says what is wrong."""

from dataclasses import replace

import pytest

from citewise.answer.quality import DOUBTFUL, INSUFFICIENT, LOW, RETRIEVAL, UNCITED, UNFAITHFUL, CalibratedQuality
from citewise.model.answer import Citation, Context, Grounds, Outcome, Prompt, Quality, Signals
from citewise.model.query import Mode
from tests.contexts import a_wide_context, evidence_of

SIGNALS = {"closeness": 0.7, "lead": 0.2, "matched": 1.6, "missing": 0.0, "agreement": 0.4}


def judged(
    *texts: str,
    confidence: float = 0.95,
    faithfulness: float | None = 1.0,
    outcome: Outcome = "answered",
    mode: Mode = "normal",
    signals: Signals | None = None,
    is_cited: bool = True,
) -> Quality:
    context = a_wide_context(*((text, 0.9) for text in texts or ("The gauge is read at noon.",)))
    grounds = Grounds(confidence, outcome, evidence_of(context), {**SIGNALS, **(signals or {})})
    citations = [source.citation for source in context.sources if is_cited]
    return quality_of(mode, context, grounds, citations, faithfulness)


def quality_of(
    mode: Mode, context: Context, grounds: Grounds, citations: list[Citation], faithfulness: float | None
) -> Quality:
    prompt = Prompt("?", mode, context, grounds, ())
    return CalibratedQuality().quality(prompt, "text", citations=citations, faithfulness=faithfulness)


def test_overall_is_the_chance_of_a_right_passage_times_the_faithfulness() -> None:
    sure, half = judged(), judged(faithfulness=0.5)
    assert sure.overall == CalibratedQuality.chance("normal", Grounds(0.95, "answered"))
    assert half.overall == pytest.approx((sure.overall or 0) / 2)
    assert judged(outcome="nothing", faithfulness=None).overall == sure.overall


def test_overall_grows_with_the_confidence_and_stays_in_0_to_1() -> None:
    overalls = [judged(confidence=at / 100).overall or 0.0 for at in range(101)]
    assert overalls == sorted(overalls)
    assert (overalls[0], overalls[-1]) == (0.0, 1.0)


def test_sufficiency_is_what_the_decision_to_answer_rests_on() -> None:
    assert judged(confidence=0.62).sufficiency == 0.62


def test_retrieval_confidence_listens_to_the_rankings_alone() -> None:
    usual = judged().retrieval_confidence or 0.0
    assert judged(signals={"matched": 0.0, "missing": 2.0}, confidence=0.1).retrieval_confidence == usual
    agreed, tied = judged(signals={"agreement": 1.0}), judged(signals={"lead": 0.0})
    assert (agreed.retrieval_confidence or 0) > usual > (tied.retrieval_confidence or 0)


def test_without_a_ranking_there_is_no_retrieval_confidence() -> None:
    down: Signals = dict.fromkeys(RETRIEVAL.weights)
    assert judged(signals=down).retrieval_confidence is None
    assert judged(signals={**down, "closeness": 0.7}).retrieval_confidence is not None


def test_of_a_selection_all_rests_on_whether_it_holds_the_answer() -> None:
    quality = judged(confidence=0.7, mode="selected_text_only")
    assert (quality.overall, quality.retrieval_confidence, quality.sufficiency) == (0.7, 0.7, 0.7)


@pytest.mark.parametrize(
    ("texts", "diversity"),
    [
        (("The gauge is read.",), 0.0),
        (("The gauge is read.", "Reading the gauge."), 0.0),
        (("The gauge is read.", "Gulls rest."), 1.0),
        (("The gauge is read.", "The gauge rests."), 0.5),
        (("The gauge is read.", "Gulls rest.", "Gulls rest on roofs."), pytest.approx(2 / 3)),
        (("The gauge is read.", "---"), 0.0),
    ],
)
def test_diversity_is_how_little_two_sources_have_in_common(texts: tuple[str, ...], diversity: float) -> None:
    assert judged(*texts).diversity == diversity


@pytest.mark.parametrize(
    ("quality", "warning"),
    [
        (judged(), None),
        (judged(confidence=0.05, outcome="nothing", faithfulness=None), INSUFFICIENT),
        (judged(confidence=0.3, outcome="unsure"), INSUFFICIENT),
        (judged(faithfulness=0.9), UNFAITHFUL),
        (judged(confidence=0.5), DOUBTFUL),
        (judged(confidence=0.5, faithfulness=0.9), UNFAITHFUL),
        (judged(faithfulness=None), INSUFFICIENT),
        (judged(is_cited=False), UNCITED),
    ],
)
def test_a_warning_says_what_is_wrong(quality: Quality, warning: str | None) -> None:
    assert quality.warning == warning


def test_the_warning_comes_below_the_measured_threshold() -> None:
    qualities = [judged(confidence=at / 100) for at in range(1, 100)]
    assert all((quality.warning == DOUBTFUL) == ((quality.overall or 0) < LOW) for quality in qualities)


def test_silence_and_missing_markers_are_worth_nothing() -> None:
    assert (judged(faithfulness=None).overall, judged(faithfulness=None).faithfulness) == (0.0, None)
    assert judged(is_cited=False).overall == 0.0


def test_nothing_found_is_nothing_to_trust() -> None:
    empty = Grounds(0.0, "nothing", signals=dict.fromkeys(SIGNALS))
    quality = quality_of("normal", Context("", (), 0, 0), empty, [], None)
    assert quality == replace(quality, overall=0.0, retrieval_confidence=0.0, sufficiency=0.0, diversity=0.0)
    assert quality.warning == INSUFFICIENT
