"""Whether an answer's sentences rest on their sources, judged by words, numbers and negations."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewise.answer.support import Support
from citewise.text.analysis import terms
from citewise.text.units import units_of
from tests.contexts import a_source
from tests.growth import assert_linear

HANDBOOK = Path(__file__).parents[3] / "src" / "citewise" / "data" / "handbook"
BATTERY = a_source(
    1,
    "The station runs on a sealed lead battery of 12 volts. A full charge lasts nine days without sun. Never open the "
    "battery. The charge controller stops at 14.4 V and keeps 1,000 log entries.",
    title="Power",
)
TIDES = a_source(2, "Spring tides follow the full moon. The staff is read at noon, and its zero lies 07 cm deep.")


def flagged(text: str) -> tuple[str, ...]:
    return Support.of(text, (BATTERY, TIDES)).unsupported


@pytest.mark.parametrize(
    "sentence",
    [
        "The station runs on a sealed lead battery of 12 volts [1].",
        "A sealed 12 volt lead battery powers the station [1].",
        "The battery must never be opened [1].",
        "Without sun, a full charge lasts 9 days [1].",
        "It stops charging at 14.40 V [1].",
        "The controller keeps 1000 log entries [1].",
        "The staff's zero lies 7 cm deep [2].",
        "Power: the controller stops the charge [1].",
        "Spring tides follow the full moon.",
        "Spring tides follow the full moon [1][2].",  # on either of them
        "Spring tides follow the full moon [7].",  # a marker without a source is none
        "1. Read the staff at noon [2].",
        "| what | when |\n| --- | --- |\n| staff is read | noon [2] |",
    ],
)
def test_what_a_source_says_is_supported(sentence: str) -> None:
    assert flagged(sentence) == ()


@pytest.mark.parametrize(
    "sentence",
    [
        "The station runs on a diesel generator with a large tank [1].",
        "A full charge lasts 12.5 days without sun [1].",
        "The battery holds 40 Ah [1].",
        "It is 5.",
        "Open the battery [1] every spring to refill the acid.",
        "The station does not run on a sealed lead battery [1].",
        "Spring tides don't follow the full moon [2].",
        "Spring tides follow the full moon [1].",
        "The mayor of the village paid for the harbor wall.",
        "The sources do not say it, but a diesel generator usually has a tank of 40 liters.",
    ],
)
def test_what_no_cited_source_says_is_flagged(sentence: str) -> None:
    assert flagged(sentence) == (sentence,)


def test_a_denial_that_is_left_out_is_flagged() -> None:
    assert flagged("Open the battery [1].") == ()  # too short to be held against anybody
    assert flagged("Open the battery often [1].") == ("Open the battery often [1].",)


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "In short:",
        "Here is what the manual says about the voltage of generators:",
        "## Diesel generators and their tanks",
        "```sh\nstart-diesel --tank 40\n```",
        "The sources do not say how large the tank of the generator is.",
        "The sources don't mention any diesel generator or its tank.",
        "The tank of the diesel generator is not mentioned in the excerpts.",
        "There is no information about a diesel generator.",
        "The selected text does not contain the size of the tank.",
        "The passages say nothing about diesel generators and tanks.",
        "I could not find how large the diesel tank is.",
        "This question cannot be answered from what is there.",
        "",
    ],
)
def test_what_states_nothing_about_the_matter_is_not_checked(text: str) -> None:
    assert flagged(text) == ()
    assert Support.of(text, (BATTERY, TIDES)).faithfulness == 1.0


def test_a_marker_behind_the_full_stop_belongs_to_the_sentence_before_it() -> None:
    text = "Spring tides follow the full moon. [2] A full charge lasts nine days. [1]"
    assert flagged(text) == ()
    assert flagged("Spring tides follow the full moon. [1] It is so.") == ("Spring tides follow the full moon. [1]",)


def test_faithfulness_is_the_share_of_checked_sentences_that_are_supported() -> None:
    text = "Yes. Spring tides follow the full moon [2]. The mayor of the village paid for the wall [1]."
    assert Support.of(text, (BATTERY, TIDES)).faithfulness == 0.5


def test_nothing_is_supported_by_no_source() -> None:
    text = "Spring tides follow the full moon."
    support = Support.of(text, ())
    assert (support.unsupported, support.faithfulness) == ((text,), 0.0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "[1][2]",
        "...",
        "The sources do not say how large the tank is.",
        "The sources do not answer this question [1][2].",
        "Unfortunately, the excerpts don't mention a diesel generator. [1]",
        "I'm sorry. I could not find how large the tank is.",
        "I don't know. There is no information about it.",
        "- The sources do not say it.\n- The text says nothing about tanks.",
        "1. The sources do not say it [1].",
        "**The sources do not contain the answer.**",
        "## Answer\n\nThe sources do not say.",
    ],
)
def test_an_answer_that_only_confesses_silence_says_nothing(text: str) -> None:
    assert Support.of(text, ()).says_nothing


@pytest.mark.parametrize(
    "text",
    [
        "Yes.",
        "No.",
        "9 days [1].",
        "Spring tides follow the full moon [2].",
        "The sources do not say it, but a tank usually holds 40 liters.",
        "The sources do not say it. Spring tides follow the full moon.",
        "The sources do not say it:\n\n```sh\nstart-diesel\n```",
        "The sources do not say it.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
        "## 12 volts",
    ],
)
def test_an_answer_with_a_claim_says_something(text: str) -> None:
    assert not Support.of(text, ()).says_nothing


@pytest.mark.parametrize("piece", [".", "!", "\u2026", "1.", "1,", "a. ", "[", "[1]", "*", "not ", "no source ", "; "])
def test_the_check_takes_no_longer_than_the_text_deserves(piece: str) -> None:
    assert_linear(lambda text: Support.of(text, (BATTERY,)), piece, characters=20_000)
    table = "| a |\n|---|\n| no source{}" + piece + " |"
    assert_linear(lambda text: Support.of(table.replace("{}", text), (BATTERY,)), " ", characters=20_000)


def handbook_sections() -> Iterator[list[str]]:
    """The sections of each page that are long enough to be a source."""
    for page in sorted(HANDBOOK.rglob("*.md*")):
        body = re.sub(r"\A---\n.*?\n---\n", "", page.read_text(), flags=re.DOTALL)
        yield [part for part in re.split(r"(?m)^(?=#{1,3} )", body) if len(part) > 200]


def sentences_of(section: str) -> list[str]:
    prose = (unit.text for unit in units_of(1, section) if unit.is_prose)
    return [text for text in prose if len(terms(text).words) >= 4 and not text.endswith(":")]


def share_flagged(pairs: list[tuple[str, str]]) -> float:
    flags = [bool(Support.of(text, (a_source(1, section),)).unsupported) for text, section in pairs]
    return sum(flags) / len(flags)


def test_the_handbook_supports_its_own_sentences_and_not_those_of_other_sections() -> None:
    pages = list(handbook_sections())
    own = [(text, section) for page in pages for section in page for text in sentences_of(section)]
    near = [
        (text, page[at - 1])
        for page in pages
        if len(page) > 1
        for at in range(len(page))
        for text in sentences_of(page[at])
    ]
    far = [
        (text, pages[at - 1][0]) for at, page in enumerate(pages) for section in page for text in sentences_of(section)
    ]
    assert min(len(own), len(near), len(far)) > 300
    assert share_flagged(own) == 0.0
    assert share_flagged(near) > 0.93
    assert share_flagged(far) > 0.95


def test_the_handbook_with_other_numbers_is_flagged() -> None:
    own = [(text, section) for page in handbook_sections() for section in page for text in sentences_of(section)]
    changed = [(re.sub(r"(?<=\S )\d+", lambda match: f"{match.group()}3", text), section) for text, section in own]
    assert share_flagged([pair for pair, before in zip(changed, own, strict=True) if pair != before]) > 0.9
