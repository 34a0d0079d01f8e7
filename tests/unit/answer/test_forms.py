"""What kind of answer a question wants, and which blocks and excerpts are of that kind."""

import pytest

from citewise.answer.blocks import TextBlock, TextKind
from citewise.answer.forms import Form, Wanted, lacks_quantity, sides_of


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("What is the difference between a tide and a seiche?", "comparison"),
        ("Should I use a float or a radar gauge?", "comparison"),
        ("Show me an example of a gauge file", "code"),
        ("Which option serves it at example.com?", "fact"),
        ("Which option hides the button of the code blocks?", "fact"),
        ("How do I reset the gauge?", "how-to"),
        ("How to reset the gauge", "how-to"),
        ("What is the default interval?", "fact"),
        ("Which Node.js version do I need?", "fact"),
        ("How many gauges are there?", "fact"),
        ("Which firmware version must I install?", "fact"),
        ("Since which stable release can I read two gauges?", "fact"),
        ("Who reads the gauge?", "which"),
        ("Why does the gauge freeze?", "why"),
        ("What is a seiche?", "definition"),
        ("The gauge freezes at night", "other"),
        ("", "other"),
        ("怎么重置\uff1f", "how-to"),
    ],
)
def test_a_question_says_what_kind_of_answer_it_wants(question: str, form: Form) -> None:
    assert Wanted(question).form == form


def a_block(text: str, kind: TextKind = "prose") -> TextBlock:
    return TextBlock(0, kind, text, (0, len(text)))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is Hermes?", "[Hermes](https://hermes.example) is an open-source engine for gauges."),
        ("what is a tide gauge", "A **tide gauge** measures nothing by itself: it is read."),
        ("What does TIDE-204 mean?", "TIDE-204: the water level is flat."),
        ("what does `reset` do", "The `reset` command lets a gauge begin anew."),
        ("Explain the shore station", "> Shore stations are where gauges stand."),
    ],
)
def test_a_definition_begins_with_the_thing(question: str, text: str) -> None:
    wanted = Wanted(question)
    assert wanted.fit(a_block(text)) == 2
    assert wanted.fit(a_block(f"In winter it is often cold. {text}")) < 2


@pytest.mark.parametrize(
    "text", ["A variable `isHermes` is there to tell.", "Hermes is fun", "How the crew used Hermes in winter is told."]
)
def test_what_only_mentions_the_thing_does_not_define_it(text: str) -> None:
    kind: TextKind = "code" if text == "Hermes is fun" else "prose"
    assert Wanted("What is Hermes?").fit(a_block(text, kind)) < 2


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("The gauge is silent. What should I do?", "Mitigation"),
        ("How do I fix a frozen gauge?", "Solutions"),
        ("What are the downsides of floats?", "Benefits and Limitations"),
        ("Show me a gauge file", "Example usage"),
    ],
)
def test_a_heading_names_what_is_asked_for(question: str, heading: str) -> None:
    assert Wanted(question).is_below(heading)
    assert not Wanted(question).is_below("Meaning")
    assert not Wanted("When is the gauge read?").is_below(heading)


def test_what_one_can_do_is_worth_more_than_words_about_it() -> None:
    wanted = Wanted("How do I reset the gauge?")
    assert wanted.fit(a_block("```sh\ngauge reset\n```", "code")) == wanted.fit(a_block("1. Press it.", "item")) == 2
    assert wanted.fit(a_block("Resetting the gauge is simple.")) == 0


@pytest.mark.parametrize(
    ("question", "text", "is_lacking"),
    [
        ("How many gauges are there?", "There are gauges in the harbors of the north.", True),
        ("How many gauges are there?", "There are two gauges.", False),
        ("How long does the battery last?", "1. Charge the battery.\n2. Wait for the lamp.", True),
        ("How long does the battery last?", "1. Charge the battery.\n2. It lasts 30 hours.", False),
        ("What is the maximum number of gauges?", "Gauges may be added at any time.", True),
        ("Which firmware version do I need?", "The firmware has to be new.", True),
        ("Which firmware version do I need?", "Firmware `3.1` is needed.", False),
        ("How do I add a gauge?", "Gauges may be added at any time.", False),
        ("How often is the gauge read?", "The gauge is read weekly.", False),
        ("After how many days is a gauge read?", "Each of the 3 gauges is read.", True),
        ("After how many days is a gauge read?", "It is read after 48 h.", False),
        ("After how many days is a gauge read?", "Three gauges are read.\nDays are long.", True),
        ("What is the height of a row in pixels?", "A row is 3 lines high.", True),
        ("What is the height of a row in pixels?", "A row has `height: 12px`.", False),
    ],
)
def test_a_question_for_a_number_is_not_answered_without_one(question: str, text: str, *, is_lacking: bool) -> None:
    assert lacks_quantity(question, [text]) is is_lacking
    assert lacks_quantity(question, [text, "It was 12 days once, and 3px high."]) is False


@pytest.mark.parametrize("question", ["Why is the gauge new?", "What is a gauge?", "What is the default gauge?"])
def test_words_tell_more_than_code(question: str) -> None:
    told = "The default gauge is new because it is."
    assert Wanted(question).fit(a_block(told)) > Wanted(question).fit(a_block(told, "code"))


def test_a_number_is_worth_most_where_one_is_asked_for() -> None:
    wanted = Wanted("How many gauges are there?")
    assert wanted.fit(a_block("There are 12 gauges.")) == 3
    assert wanted.fit(a_block("1. Count the gauges.", "item")) == 0


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between early and late fusion of data?", ({"earli"}, {"late", "fusion"})),
        ("Float or radar: which is better for ice?", ({"float"}, {"radar"})),
        ("remark plugin vs. rehype plugin", ({"remark"}, {"rehyp"})),
        ("How do floats differ from radars?", ({"float"}, {"radar"})),
        ("Compare the old gauge with the new gauge", ({"old"}, {"new"})),
        ("join! vs try_join!", ()),
        ("layout\u306e doc \u3068 page \u306e\u9055\u3044\u306f\uff1f", ({"doc"}, {"page"})),
        ("What is a gauge?", ()),
    ],
)
def test_a_comparison_names_two_sides(question: str, sides: tuple[set[str], ...]) -> None:
    assert [side - {"\u306e", "layout"} for side in sides_of(question)] == list(sides)
