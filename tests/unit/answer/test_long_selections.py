"""A selection that is too long for a prompt: which of its paragraphs stay."""

import pytest

from citewise.answer.pack import LABEL_TOKENS, LEFT_OUT
from citewise.model.access import OWNER
from citewise.model.query import Query, Selection
from tests.compressing import PACK
from tests.fakes.counters import WordCounter
from tests.growth import assert_linear

QUERY = Query("When does the tide gauge freeze?", request_id="r-1", asked_at=0.0, principal=OWNER)
GULLS = "Gulls rest on the pier and on the roofs of the sheds."
TIDE = "The tide comes twice a day, as everybody here knows."
OTHER_TIDE = "A tide is high at the springs and low at the neaps."
FREEZE = "Its float and its gauge freeze below minus ten degrees."


def fit(*paragraphs: str, budget_tokens: int) -> str:
    """What is left of a selection where its text has so much room."""
    context = PACK.within(LABEL_TOKENS + budget_tokens).selected(QUERY, Selection("\n\n".join(paragraphs)))
    return context.sources[0].text


def tokens(text: str) -> int:
    return WordCounter().counts([text])[0]


def test_a_text_that_fits_is_left_as_it_is() -> None:
    text = f"{GULLS}\n\n\n \n{FREEZE}"
    assert fit(text, budget_tokens=tokens(text)) == text


def test_the_paragraphs_with_the_question_s_stems_stay_in_their_order_and_a_mark_stands_for_the_others() -> None:
    kept = fit(GULLS, TIDE, GULLS, GULLS, FREEZE, GULLS, budget_tokens=40)
    assert kept.split("\n\n") == [LEFT_OUT, TIDE, LEFT_OUT, FREEZE, LEFT_OUT]


def test_one_rare_stem_counts_more_than_two_that_stand_everywhere() -> None:
    common = "The gauge of the tide stands on the outer pier."
    rare = "Below minus ten degrees the float and its well freeze."
    assert fit(common, common, common, rare, budget_tokens=20).split("\n\n") == [LEFT_OUT, rare]


def test_of_equally_good_paragraphs_the_earlier_one_stays() -> None:
    assert fit(TIDE, OTHER_TIDE, budget_tokens=20).split("\n\n") == [TIDE, LEFT_OUT]


def test_a_fence_is_kept_whole_or_not_at_all() -> None:
    fence = "```python\n# the tide gauge\n\nfreeze(gauge)\n\nthaw(gauge)\n```"
    kept = fit(GULLS, GULLS, fence, GULLS, budget_tokens=30)
    assert kept.split(f"{LEFT_OUT}\n\n")[1].removesuffix(f"\n\n{LEFT_OUT}") == fence
    assert "gauge" not in fit(GULLS, fence, GULLS, budget_tokens=20)


def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    kept = fit(*[GULLS] * 4, "~~~\nfreeze(gauge)", "thaw(gauge)", budget_tokens=25)
    assert kept.endswith("~~~\nfreeze(gauge)\n\nthaw(gauge)")


def test_one_paragraph_over_the_budget_is_left_for_the_packing_to_cut() -> None:
    long = "The gauge may freeze. " * 50
    assert long.startswith(fit(long, budget_tokens=20))
    assert fit(GULLS, long.strip(), budget_tokens=8).startswith("The gauge may freeze. The gauge")


def test_the_budget_holds_with_all_marks_counted() -> None:
    paragraphs = [f"{FREEZE} {at}" if at % 2 else f"Gull {at}." for at in range(60)]
    for budget in range(20, 300, 7):
        assert 0 < tokens(fit(*paragraphs, budget_tokens=budget)) <= budget


@pytest.mark.parametrize("piece", [f"{GULLS}\n\n", "x ", "```\n\n"])
def test_the_work_grows_with_the_selection_and_no_faster(piece: str) -> None:
    assert_linear(lambda text: fit(text, FREEZE, budget_tokens=1_900), piece, characters=150_000)
