"""Excerpts: whole blocks that answer, each with what it cannot be understood without, in valid Markdown."""

from collections.abc import Sequence

import pytest
from markdown_it import MarkdownIt

from citewise.answer.excerpts import MAX_RUNS, Excerpt, Excerpts
from citewise.answer.forms import SHAPES
from citewise.model.ranking import FoundSection
from citewise.text.cutting import ELLIPSIS
from tests.sections import sections_in, with_nearness

COMMONMARK = MarkdownIt("commonmark").enable("table")
ROOMY = Excerpts(shapes={form: shape._replace(lines=1_000) for form, shape in SHAPES.items()})


def excerpts(question: str, *pages: str, scores: Sequence[float] = ()) -> tuple[Excerpt, ...]:
    return Excerpts()(question, sections_in(*pages, scores=scores))


def texts(question: str, *pages: str) -> list[str]:
    return [excerpt.text for excerpt in excerpts(question, *pages)]


def top_blocks(text: str) -> list[str]:
    """The blocks of an excerpt as any reader of Markdown sees them."""
    tokens = COMMONMARK.parse(text)
    return [token.type.removesuffix("_open") for token in tokens if token.level == 0 and token.nesting >= 0]


def fillers(count: int, about: str = "Gulls rest on the roofs of the sheds") -> str:
    return "\n\n".join(f"{about}, and of these there are {at} or so. {about} for {at} days." for at in range(count))


def test_of_nothing_there_is_no_excerpt() -> None:
    assert Excerpts()("When?", ()) == ()
    for question in ("When is the gauge read?", "gauge vs staff", "How do I read the gauge?"):
        assert Excerpts()(question, ()) == excerpts(question, "# The gauge is read\n") == ()


# What belongs together


STEPS = "\n".join(f"{at}. Step {at}: turn valve number {at} until it clicks.\n" for at in range(1, 10))
PROCEDURE = f"# Valves\n\n{fillers(12)}\n\nTo close the pump down:\n\n{STEPS}\n{fillers(12)}\n"


@pytest.mark.parametrize("near", ["Step 2", "Step 9", "close the pump"])
def test_a_procedure_comes_with_its_lead_and_all_its_steps(near: str) -> None:
    (section,) = sections_in(PROCEDURE)
    (excerpt, *_) = Excerpts()("How do I close the pump down?", [with_nearness(section, {near: 0.9})])
    shown = excerpt.text
    assert "To close the pump down:" in shown
    assert [at for at in range(1, 10) if f"{at}. Step {at}:" in shown] == list(range(1, 10))


def test_the_commands_of_steps_come_with_them() -> None:
    steps = "\n".join(f"{at}. Do this:\n\n   ```sh\n   pump --step {at}\n   ```\n" for at in range(1, 5))
    (shown, *_) = texts("How do I close the pump?", f"# Pump\n\n{fillers(9)}\n\nTo close the pump:\n\n{steps}")
    assert all(f"pump --step {at}" in shown for at in range(1, 5))
    assert top_blocks(shown)[-1] == "ordered_list"
    assert shown.count("```") == 8


def test_steps_with_code_at_the_margin_between_them_are_one_procedure() -> None:
    steps = "\n".join(f"{at}. Do this:\n\n```sh\npump --step {at}\n```\n" for at in range(1, 4))
    (section,) = sections_in(f"# Pump\n\n{fillers(9)}\n\nTo close the pump:\n\n{steps}\n{fillers(9)}")
    for near in ("Do this", "pump --step 2", "3. Do"):
        (excerpt, *_) = Excerpts()("How do I close the pump?", [with_nearness(section, {near: 0.9})])
        assert all(f"{at}. Do this:\n\n```sh\npump --step {at}\n```" in excerpt.text for at in range(1, 4))
        assert ELLIPSIS not in excerpt.text.partition("1. Do")[2].partition("step 3")[0]


def test_code_of_a_list_that_is_only_indented_stays_as_it_is() -> None:
    page = "# Pump\n\n- Open it:\n\n      x[0] = 1\n      pump[0][1](go)\n\n- Close it.\n"
    (shown,) = texts("How do I open the pump?", page)
    assert shown == "- Open it:\n\n  ```\n  x[0] = 1\n  pump[0][1](go)\n  ```\n- Close it."


def test_the_indented_body_of_a_tab_is_no_code() -> None:
    body = "    Close the **pump**:\n\n    {{< text syntax=bash >}}\n    $ pump close\n    {{< /text >}}\n"
    (shown,) = texts("How do I close the pump?", f'# Pump\n\n{{{{< tab name="Helm" >}}}}\n\n{body}')
    assert shown == "**Helm**  \n\nClose the **pump**:\n\n```bash\n$ pump close\n```"


def test_a_colon_whose_picture_is_not_shown_is_followed_by_a_mark() -> None:
    page = "# Pump\n\nThe pump looks like this:\n\n![pump](pump.png)\n\nIt is closed by hand.\n"
    (shown,) = texts("How is the pump closed?", page)
    assert shown == f"The pump looks like this:\n\n{ELLIPSIS}\n\nIt is closed by hand."


def test_what_is_further_off_is_shown_while_half_the_lines_are_left() -> None:
    sections = [
        with_nearness(section, {"noon": near, "winter": near})
        for section, near in zip(
            sections_in("# Reading\n\nThe gauge is read at noon.\n", "# Ice\n\nIn winter it freezes.\n"),
            (0.8, 0.7),
            strict=True,
        )
    ]
    question = "The gauge, and ice"
    assert len(Excerpts()(question, sections)) == 2
    assert len(Excerpts(max_early_gap=0.5)(question, sections)) == 1


def test_of_what_is_not_sure_to_answer_more_is_shown() -> None:
    page = f"# Gauge\n\nThe default interval is 6 minutes.\n\n{fillers(30, about='The interval is long')}"
    sections, question = sections_in(page), "What is the default interval?"
    (sure,), (unsure,) = Excerpts()(question, sections), Excerpts()(question, sections, is_sure=False)
    assert SHAPES["fact"].lines >= sure.text.count("\n") < unsure.text.count("\n") <= 2 * SHAPES["other"].lines


def test_lists_that_begin_again_are_two() -> None:
    page = "# Pump\n\n1. Open it.\n2. Close it.\n\nOr:\n\n1. Leave it.\n"
    (shown,) = texts("How do I close the pump?", page)
    assert shown == "1. Open it.\n2. Close it.\n\nOr:\n\n1. Leave it."


def test_long_code_of_a_step_is_cut_to_what_matters() -> None:
    body = "\n".join(f"   call({at})" for at in range(60))
    page = f"# Pump\n\n1. Run this:\n   ```py\n{body}\n   valve.close()\n   ```\n2. Wait.\n"
    (shown,) = texts("How do I close the valve?", page)
    assert "   valve.close()\n   ```\n2. Wait." in shown
    assert f"```py\n   {ELLIPSIS}\n   call(" in shown
    assert len(shown.splitlines()) < 40


def test_several_listings_of_a_step_share_the_lines_that_one_may_have() -> None:
    body = "\n".join(f"   call({at})" for at in range(40))
    code = f"   ```py\n{body}\n   ```\n"
    page = f"# Pump\n\n1. Run one of these:\n\n{code}\n{code}\n{code}\n2. Wait.\n"
    (shown,) = texts("How do I run the pump?", page)
    assert shown.count("```py") == 3
    assert len(shown.splitlines()) < SHAPES["how-to"].lines + 12
    assert shown.endswith("2. Wait.")


def test_both_sides_of_a_comparison_are_shown() -> None:
    names = ("Floats", "Radars")
    pages = [f"# Gauges\n\n## {name}\n\n{name} are sure, and cost little.\n\n{fillers(20)}" for name in names]
    sections = [
        with_nearness(section, {"sure": near}) for section, near in zip(sections_in(*pages), (0.9, 0.7), strict=True)
    ]
    one, *_ = Excerpts()("Are floats cheap?", sections)
    assert "Floats are sure" in one.text
    shown = [excerpt.text for excerpt in Excerpts()("Floats or radars: which are better?", sections)]
    assert "Floats are sure" in shown[0].replace("**", "")
    assert any("Radars are sure" in text for text in shown[1:])


def test_code_comes_with_the_line_that_says_what_it_is() -> None:
    page = (
        f"# Pump\n\n{fillers(9)}\n\nClose the pump with this command:\n\n```sh\npump close --now\n```\n\n{fillers(9)}"
    )
    (section,) = sections_in(page)
    (excerpt, *_) = Excerpts()("How do I close it?", [with_nearness(section, {"pump close": 0.9})])
    assert "Close the pump with this command:\n\n```sh\npump close --now\n```" in excerpt.text


def test_the_instruction_comes_with_the_command_below_it() -> None:
    page = f"# Pump\n\n{fillers(9)}\n\nClose the pump.\n\n```sh\npump close\n```\n\n{fillers(9)}"
    (section,) = sections_in(page)
    (excerpt, *_) = Excerpts()("How do I close the pump?", [with_nearness(section, {"Close the pump": 0.9})])
    assert "Close the pump.\n\n```sh\npump close\n```" in excerpt.text.replace("**", "")


def test_what_a_colon_announces_comes_with_it() -> None:
    states = "\n".join(f"- state {at} of the gauge" for at in range(5))
    (section,) = sections_in(f"# Gauge\n\n{fillers(9)}\n\nThe states are these:\n\n{states}\n\n{fillers(9)}")
    (excerpt, *_) = Excerpts()("Which states are there?", [with_nearness(section, {"The states": 0.9})])
    assert f"The states are these:\n\n{states}" in excerpt.text


ENDINGS = {
    "end of the page": "# A\n\nThe gauge is read at noon.\n\nTo read the gauge:\n",
    "end of the section": "# A\n\nTo read the gauge:\n\n## B\n\nLook at it at noon.\n",
    "a huge block": f"# A\n\n{fillers(8)}\n\nThe gauge is read so:\n\n{'Word of the gauge. ' * 900}\n",
    "a huge list": f"# A\n\n{fillers(8)}\n\nThe gauge is read so:\n\n" + "".join(f"- gauge {at}\n" for at in range(99)),
}


@pytest.mark.parametrize("page", ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize("question", ["How do I read the gauge?", "When is the gauge read?", "gauge"])
def test_a_colon_is_never_left_with_nothing_behind_it(question: str, page: str) -> None:
    for text in texts(question, page):
        parts = [part for part in text.split("\n\n") if part != ELLIPSIS]
        assert not parts[-1].endswith(":")
        assert f":\n\n{ELLIPSIS}" not in text


def test_a_colon_with_nothing_behind_it_is_quoted_only_if_there_is_nothing_else() -> None:
    assert texts("How do I read the gauge?", "# A\n\nTo read the gauge:\n", "# B\n\nGulls.\n") == ["Gulls."]


# Code and tables that are too long


def long_code(lines: int, value_at: int) -> str:
    body = "\n".join(f"gauge.limit = {at}" if at == value_at else f"line_{at} = {at}" for at in range(lines))
    return f"# Code\n\nSet the limit so:\n\n```python\n{body}\n```\n"


@pytest.mark.parametrize("value_at", [0, 60, 119])
def test_a_long_block_of_code_is_cut_around_what_matters_with_both_fences(value_at: int) -> None:
    (shown, *_) = texts("How do I set gauge.limit?", long_code(120, value_at))
    lines = shown.splitlines()
    assert f"gauge.limit = {value_at}" in lines
    assert (lines.count("```python"), lines.count("```")) == (1, 1)
    assert (lines[lines.index("```python") + 1] == ELLIPSIS) == (value_at > 0)
    assert (lines[-2] == ELLIPSIS) == (value_at < 119)
    assert len(lines) < 60


def test_a_table_keeps_its_header_and_the_row_that_is_asked_for() -> None:
    rows = "\n".join(f"| code {at} | {'frost damage' if at == 71 else 'another thing'} |" for at in range(90))
    (shown, *_) = texts("Which code means frost damage?", f"# Codes\n\n| Code | Meaning |\n|---|---|\n{rows}\n")
    lines = shown.splitlines()
    assert lines[:2] == ["| Code | Meaning |", "|---|---|"]
    assert "| code 71 | frost damage |" in lines
    assert f"| {ELLIPSIS} |" in lines
    assert len(lines) < 20
    assert top_blocks(shown) == ["table"]


# What answers nothing


WEAK = {
    "announcement": "In this chapter you will learn how the gauge is read.",
    "later": "Later you will see how the gauge is read.",
    "see also": "For more information on how the gauge is read, see [Reading](reading.md).",
    "links": "- [Reading the gauge](a.md)\n- [When the gauge is read](b.md)\n- [Gauges](c.md)",
    "quiz": "When is the gauge read?\n\n- A) at noon\n- B) at dusk\n- C) at dawn\n- D) never",
    "question": "When is the gauge read, and who reads the gauge?",
    "picture": "![When the gauge is read](gauge.png)",
    "version": "*Added in version 2.1.*",
}


@pytest.mark.parametrize("weak", WEAK.values(), ids=WEAK)
@pytest.mark.parametrize("is_first", [True, False])
def test_what_answers_nothing_never_stands_alone_for_an_answer(weak: str, *, is_first: bool) -> None:
    says_it = "The keeper looks at it at noon and writes it down."
    below = [weak, says_it] if is_first else [says_it, weak]
    text = "\n\n".join((fillers(5), below[0], fillers(5), below[1], fillers(5)))
    (section,) = sections_in(f"# Gauge\n\n{text}\n")
    near = with_nearness(section, {weak.splitlines()[-1][-12:]: 0.9, weak[:12]: 0.9, "keeper": 0.5})
    shown = Excerpts()("When is the gauge read?", [near])
    assert says_it in shown[0].text
    assert weak not in "".join(excerpt.text for excerpt in shown)


# Choosing


def test_the_second_excerpt_is_of_another_section() -> None:
    pages = [f"# Gauge {at}\n\nThe gauge number {at} is read at {at} by keeper {at}." for at in range(6)]
    found = excerpts("When is the gauge read?", *pages)
    assert 1 < len(found) <= MAX_RUNS
    assert len({excerpt.section.best for excerpt in found}) == len(found)


def test_no_more_runs_than_asked_for() -> None:
    sections = sections_in(*(f"# Gauge\n\nThe {name} gauge is read {name}ly by {name}." for name in "abcdef"))
    assert [len(ROOMY("When?", sections, max_runs=runs)) for runs in (1, 2, 9)] == [1, 2, MAX_RUNS]


def test_what_two_sections_say_alike_is_said_once() -> None:
    said = "The tide gauge of the old harbor is read at noon by the keeper."
    shown = texts(
        "When is the gauge read?", f"# A\n\n{said}", f"# B\n\n{said}", "# C\n\nThe gauge is read at dusk, too."
    )
    assert [text.count("noon") for text in shown] == [1, 0]


def test_the_section_that_the_search_thinks_more_of_comes_first_where_all_else_is_equal() -> None:
    pages = ("# A\n\nThe gauge is read at noon.", "# B\n\nA gauge is read at dusk by two.")
    first, last = (
        excerpts("When is the gauge read?", *pages),
        excerpts("When is the gauge read?", *pages, scores=(0.2, 0.9)),
    )
    assert ("noon" in first[0].text, "dusk" in last[0].text) == (True, True)


def test_the_nearest_block_is_quoted_whatever_words_it_has() -> None:
    page = f"# Gauge\n\nThe gauge is read, as is known.\n\n{fillers(8)}\n\nLook at twelve.\n\n{fillers(8)}"
    (section,) = sections_in(page)
    (excerpt, *_) = Excerpts()("When is the gauge read?", [with_nearness(section, {"Look at twelve": 0.9})])
    assert "Look at twelve." in excerpt.text
    assert "Look at twelve." in excerpt.joined.text[slice(*excerpt.best)]


def test_without_nearness_the_questions_words_decide() -> None:
    page = f"# Harbor\n\n{fillers(8)}\n\nThe keeper reads the barometer at noon.\n\n{fillers(8)}"
    assert "barometer" in texts("Who reads the barometer?", page)[0]


def test_an_answer_is_as_long_as_its_question_deserves() -> None:
    page = f"# Gauge\n\n{fillers(60, 'The gauge is read')}"
    shown = {
        question: "\n\n".join(texts(question, page)) for question in ("How often is it read?", "How do I read it?")
    }
    fact, how_to = (sum(1 + len(line) // 100 for line in text.splitlines()) for text in shown.values())
    assert fact <= SHAPES["fact"].lines + 2
    assert fact < how_to <= SHAPES["how-to"].lines + 2


def test_a_short_section_comes_whole_and_in_order() -> None:
    page = "# Gauge\n\nOne says this.\n\nTwo says that.\n\n- three\n- four\n\nFive ends it."
    assert texts("How do I read two?", page) == [page.partition("\n\n")[2]]


# As Markdown, and as it stands in the document


MIXED = """# Reading

Before you begin, open the box
and look at the gauge.

- the float
- the dial
  - its hand

1. Open the box.
2. Read the gauge.

   ```sh
   gauge read
   ```

3. Close the box.

> A gauge that is wet
> is read twice.

| gauge | when |
|---|---|
| old | noon |

```sh
gauge --help

gauge read
```

* a star
* another

+ a plus
"""


def shape(text: str) -> list[str]:
    return top_blocks(text.replace(f"\n\n{ELLIPSIS}\n\n", "\n\n"))


def test_every_block_keeps_its_kind() -> None:
    (whole,) = ROOMY("How do I read the gauge?", sections_in(MIXED))
    assert shape(whole.text) == shape(MIXED)[1:]


@pytest.mark.parametrize(
    "nearest", ["the dial", "Read the gauge", "is read twice", "noon", "--help", "a star", "a plus"]
)
@pytest.mark.parametrize("question", ["How do I read the gauge?", "When is it read?", "gauge read example"])
def test_whatever_is_left_out_the_rest_is_valid_markdown(question: str, nearest: str) -> None:
    (section,) = sections_in(MIXED.replace("# Reading\n", f"# Reading\n\n{fillers(9)}\n"))
    for excerpt in Excerpts()(question, [with_nearness(section, {nearest: 0.9, "gauge": 0.3})]):
        kinds = shape(excerpt.text)
        whole = shape(MIXED)
        assert set(kinds) <= {*whole, "paragraph"}
        for kind in ("bullet_list", "ordered_list", "fence", "table", "blockquote"):
            assert kinds.count(kind) <= whole.count(kind)
        assert excerpt.text.count("```") % 2 == 0


def test_two_lists_do_not_run_into_each_other() -> None:
    page = "# Lists\n\n- read one\n- read two\n\n\u2192\n\n- gauge one\n- gauge two\n"
    (text,) = texts("How do I read the gauge?", page)
    assert shape(text) == ["bullet_list", "bullet_list"] or top_blocks(text).count("bullet_list") == 2


def squeezed(text: str) -> str:
    return "".join(text.split()).replace(ELLIPSIS, "").replace("*", "")


@pytest.mark.parametrize(
    "question", ["How do I read the gauge?", "When is it read?", "gauge read example", "the float"]
)
def test_everything_shown_stands_in_the_document_between_the_first_and_the_last_block(question: str) -> None:
    for excerpt in ROOMY(question, sections_in(MIXED, PROCEDURE)):
        whole = squeezed(excerpt.joined.text[slice(*excerpt.span)])
        for line in excerpt.text.splitlines():
            assert squeezed(line) in whole
        assert excerpt.span[0] <= excerpt.best[0] < excerpt.best[1] <= excerpt.span[1]


def test_an_excerpt_stands_in_the_lines_that_it_is_said_to() -> None:
    lines = PROCEDURE.split("\n")
    for excerpt in excerpts("How do I close the pump down?", PROCEDURE):
        place = excerpt.joined.location(*excerpt.span)
        cited = squeezed("\n".join(lines[place.first - 1 : place.last]))
        assert all(squeezed(part) in cited for part in excerpt.text.splitlines())
        assert squeezed(lines[place.first - 1]) in squeezed(excerpt.text)
        assert squeezed(lines[place.last - 1]) in squeezed(excerpt.text)


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        (
            "泵是什么\uff1f",
            "泵是一种把水从低处抬到高处的机器\u3002它很旧\u3002",
        ),
        (
            "מהי משאבה?",
            "משאבה היא מכונה שמעבירה מים (3 מפתחות).",
        ),
        ("Wat is \U0001f6b0?", "De pomp \U0001f6b0 heft wa\u0301ter \u2014 \u00abtot 3 m\u00bb."),
    ],
    ids=["chinese", "hebrew", "combining and emoji"],
)
def test_every_script_comes_out_as_it_went_in(question: str, sentence: str) -> None:
    assert texts(question, f"# {question}\n\n{sentence}\n") == [sentence]


def test_wrapped_chinese_is_joined_without_blanks() -> None:
    page = "# 泵\n\n泵把水从低处\n抬到高处\u3002\n"
    assert texts("泵是什么\uff1f", page) == ["泵把水从低处抬到高处\u3002"]


def test_what_looks_like_our_markers_does_not_in_an_excerpt() -> None:
    table = "| gauge [4] |\n|---|\n| [5, 6] |"
    page = f"# A\n\nRead [1] the gauge [Source 2: b].\n\n- gauge [3]\n\n{table}\n\n> gauge [7]\n\n`a[8]`\n"
    (text,) = (excerpt.text for excerpt in ROOMY("How do I read the gauge?", sections_in(page)))
    assert "[" not in text.replace("`a[8]`", "")


PAGES = {
    "all code": "```py\n" + "x = 1\n" * 3_000 + "```\n",
    "all table": "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 3_000,
    "all links": "".join(f"- [link {at}](p{at}.md)\n" for at in range(2_000)),
    "one line": "word " * 60_000,
    "one word": "水" * 100_000,
    "all headings": "# a\n" * 500,
    "all lists": "- a\n  - b\n    - c\n" * 700,
    "never closed": "```\n" + "<div>\n" * 100,
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("question", ["How do I link x?", "?", "\U0001f6b0", "a " * 1_000])
def test_a_page_of_one_kind_breaks_nothing_and_floods_nobody(question: str, page: str) -> None:
    for excerpt in excerpts(question, f"# Page\n\n{page}"):
        assert excerpt.text.strip()
        assert len(excerpt.text.splitlines()) <= 60


def test_the_same_sections_give_the_same_excerpts() -> None:
    sections: tuple[FoundSection, ...] = sections_in(MIXED, PROCEDURE)
    assert Excerpts()("gauge", sections) == Excerpts()("gauge", sections)


def test_a_sentence_that_points_elsewhere_does_not_hide_the_one_that_answers() -> None:
    page = (
        "# Pump\n\nThe pump stands in the shed.\n\nThe oil is changed every 400 hours. See also [maintenance](m.md).\n"
    )
    assert "every 400 hours" in texts("How often is the oil of the pump changed?", page)[0]


def test_an_address_in_angle_brackets_is_shown() -> None:
    page = "# Reports\n\nReport a hole in the fence at this address:\n\n<https://fence.example/report>\n"
    assert "<https://fence.example/report>" in texts("Where do I report a hole in the fence?", page)[0]


def test_a_long_procedure_keeps_its_lead_and_comes_step_by_step() -> None:
    turns = "half a turn to the left, wait until the needle of the gauge rests, and write down what it says there"
    steps = "\n".join(f"{at}. Turn wheel number {at} {turns}, before you go on with the others." for at in range(1, 21))
    shown = texts("How do I turn the wheels?", f"# Wheels\n\nDo this:\n\n{steps}\n")[0]
    assert shown.startswith("Do this:\n\n1. Turn")
    numbers = [int(line.partition(".")[0]) for line in shown.splitlines() if line[:1].isdigit()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 5


def test_code_that_was_asked_for_is_cut_and_not_left_out() -> None:
    code = "\n".join(f"line_{at} = fade(view, {at})" for at in range(60))
    shown = texts("Show me an example of a fade", f"# Fade\n\nThis fades a view in\n\n```python\n{code}\n```\n")[0]
    assert "fade(view, 0)" in shown
    assert top_blocks(shown)[-1] == "fence"


def test_a_fence_with_a_label_that_is_never_closed_is_closed_where_it_is_shown() -> None:
    shown = texts("How do I splice a rope?", "# Splice a rope\n\n**splice.py**\n\n```python\nsplice(rope)\n")[0]
    assert shown.count("```") == 2


@pytest.mark.parametrize("gap", ["\n" * 12_000, " " * 30_000])
def test_a_page_of_blanks_stops_no_question(gap: str) -> None:
    page = f"# Winch\n\n- The winch brake is released by{gap}  pulling the lever.\n\nThe winch{gap}is old.\n"
    assert texts("How is the winch brake released?", page)


def test_a_colon_whose_list_has_no_room_makes_way_for_what_fits() -> None:
    first = "# Gauge\n\nThe gauge is read at noon, and in winter at one.\n"
    turns = "   - gauge turn\n" * 40
    steps = "\n".join(f"{at}. Turn the gauge:\n\n{turns}" for at in range(1, 4))
    second = (
        f"# Reading\n\n{fillers(9)}\n\nA gauge is read in these ways:\n\n{steps}\n\nThe gauge is best read at noon.\n"
    )
    sections = sections_in(first, second)
    near = [
        with_nearness(sections[0], {"winter": 0.9}),
        with_nearness(sections[1], {"these ways": 0.89, "best read": 0.88}),
    ]
    shown = "\n".join(excerpt.text for excerpt in Excerpts()("When is the gauge read?", near))
    assert "these ways" not in shown
    assert "best read at noon" in shown


@pytest.mark.parametrize("next_to", [0.0, 0.1])
def test_what_goes_on_where_an_excerpt_ends_comes_before_what_is_a_little_nearer(next_to: float) -> None:
    pages = [f"# {name}\n\n{fillers(6)}\n\nAt {name} it rests.\n\nIt is read at noon.\n" for name in ("Aa", "Bb")]
    near = {"At Aa": 0.9, "At Bb": 0.86, "at noon": 0.85}
    sections = [with_nearness(section, near) for section in sections_in(*pages, scores=(0.5, 0.5))]
    shapes = {form: shape._replace(lines=8) for form, shape in SHAPES.items()}
    shown = Excerpts(shapes=shapes, around=0, rank=0, words=0, next_to=next_to)("Where is the gauge?", sections)
    texts = [excerpt.text for excerpt in shown]
    assert texts == (["At Aa it rests.\n\nIt is read at noon."] if next_to else ["At Aa it rests.", "At Bb it rests."])


def test_another_section_is_quoted_only_if_it_is_nearly_as_near() -> None:
    pages = (
        "# A\n\nThe gauge is read at noon.",
        "# B\n\nThe gauge is read at dusk.",
        "# C\n\nThe gauge is read by two.",
    )
    near = {"noon": 0.9, "dusk": 0.86, "by two": 0.7}
    sections = [with_nearness(section, near) for section in sections_in(*pages, scores=(0.5, 0.5, 0.5))]
    assert [excerpt.text.split()[-1] for excerpt in Excerpts()("Where is it?", sections)] == ["noon.", "dusk."]


def test_who_asks_how_is_shown_what_to_do_though_it_is_not_as_near() -> None:
    pages = ("# Port in use\n\nThe port of the gauge can be changed.", "# Other ports\n\n```sh\ngauge --port 2\n```")
    near = {"can be": 0.9, "--port": 0.65}
    sections = [with_nearness(section, near) for section in sections_in(*pages, scores=(0.5, 0.5))]
    shown = [excerpt.text for excerpt in Excerpts()("How do I change the port?", sections)]
    assert shown == ["The port of the gauge can be changed.", "```sh\ngauge --port 2\n```"]
    assert len(Excerpts()("Can the port be changed?", sections)) == 1
