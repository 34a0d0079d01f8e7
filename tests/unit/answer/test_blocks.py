"""Blocks: what a section is made of, what each says by itself, and where it stands."""

from itertools import pairwise

import pytest

from citewise.answer.blocks import MAX_LIST_LINES, TextBlock, blocks_of
from citewise.answer.joining import Joined
from citewise.text.quoting import shortened
from tests.growth import assert_linear
from tests.sections import passages_of, sections_in, with_nearness

LONG_LIST = "\n".join(f"- item {at} of the list" for at in range(MAX_LIST_LINES + 1))


def blocks(page: str) -> tuple[TextBlock, ...]:
    return blocks_of(Joined.of(passages_of(f"# Page\n\n{page}\n")), ())


def one(page: str) -> TextBlock:
    (block,) = blocks(page)
    return block


@pytest.mark.parametrize(
    ("page", "kinds"),
    [
        ("One.\n\nTwo.", ["prose", "prose"]),
        ("- one\n- two", ["list"]),
        ("- one\n  - two\n\n  more of it", ["list"]),
        (LONG_LIST, ["item"] * (MAX_LIST_LINES + 1)),
        ("1. one\n\n   ```\n   x\n   ```\n\n2. two", ["item", "item"]),
        ("```\nx\n```", ["code"]),
        ("Text.\n\n    indented", ["prose", "code"]),
        ("| a |\n|---|\n| b |", ["table"]),
        ("> one\n> two\n\nThree.", ["prose", "prose"]),
        ("**pump.py**\n\n```\nx\n```", ["code"]),
        ("`pump.py`\n\n| a |\n|---|\n| b |", ["table"]),
        ("***\n\n\u2192\n\n<!-- nothing -->", []),
    ],
)
def test_a_section_is_made_of_blocks(page: str, kinds: list[str]) -> None:
    found = blocks(page)
    assert [block.kind for block in found] == kinds
    assert [block.position for block in found] == list(range(len(kinds)))


def test_items_of_one_list_have_its_number_and_those_of_another_another() -> None:
    found = blocks(f"{LONG_LIST}\n\nBetween.\n\n{LONG_LIST}")
    numbers = [block.list_number for block in found]
    size = MAX_LIST_LINES + 1
    assert numbers[size] == 0
    assert len(set(numbers[:size])) == len(set(numbers[size + 1 :])) == 1
    assert numbers[0] != numbers[-1]


def test_an_item_has_what_stands_in_it() -> None:
    first, second = blocks("1. one\n\n   ```sh\n   x\n   ```\n\n   and more\n   - deeper\n\n2. two")
    assert first.text == "1. one\n\n   ```sh\n   x\n   ```\n\n   and more\n   - deeper"
    assert (first.has_code, second.has_code, first.is_step) == (True, False, True)


def test_code_in_a_list_is_at_the_margin_and_closed() -> None:
    assert one("    make all\n\n    make -d").text == "```\nmake all\n\nmake -d\n```"
    assert one("```sh\nmake").text == "```sh\nmake\n```"


PROSE, BOXES = "Intro\nwrapped.\n\n- a\n  - b\n\n> quote\n> more", "```py\nx\n\ny\n```\n\n| a |\n|---|\n| b |"
PAGE = f"{PROSE}\n\n**x.py**\n\n{BOXES}\n\n{LONG_LIST}"


def test_a_block_stands_where_its_span_says() -> None:
    joined = Joined.of(passages_of(f"# Page\n\n{PAGE}\n"))
    found = blocks_of(joined, ())
    for block in found:
        assert block.text in joined.text[slice(*block.span)]
        assert joined.text[slice(*block.span)].strip() == block.text
    assert all(before.span[1] <= after.span[0] for before, after in pairwise(found))


@pytest.mark.parametrize("text", ["To read it:", "**Then run**:", "看\uff1a", "> So:"])
def test_a_colon_announces(text: str) -> None:
    assert one(text).announces
    assert not one("Read it: at noon.").announces


@pytest.mark.parametrize(
    "text",
    [
        "In this chapter we will look at the gauge.",
        "The next section tells how it is read.",
        "Later, you will see how.",
        "See also [gauges](a.md).",
        "For more information, read the manual.",
        "- [one](a.md)\n- [two](b.md)\n- [three](c.md)",
        "- [[one]]\n- [[two]]",
        "- [`pumps[]`](a.md)\n- [two](b.md 'Two')\n- [three](c_(d).md (Three))",
        "When is the gauge read?",
        "Added in version 2.1.",
        "*Deprecated since 3.0: use the other.*",
        "![the gauge](gauge.png)",
        "- A) noon\n- B) dusk\n- C) dawn",
        "**Note**",
    ],
)
def test_what_answers_nothing_is_weak(text: str) -> None:
    assert all(block.is_weak for block in blocks(text))


@pytest.mark.parametrize(
    "text",
    [
        "The gauge is read at noon.",
        "Read the gauge at [the pier](a.md), at noon, and write it down.",
        "- at noon\n- at dusk\n- at dawn",
        "- A gauge\n- a buoy\n- a dinghy",
        "```\nSee also?\n```",
        "| a |\n|---|\n| Why? |",
        "The page is stored in memory. " * 12 + "For more information, see below.",
        "**Seiche.** A slow sloshing of the sound.",
    ],
)
def test_what_says_something_is_not_weak(text: str) -> None:
    assert not any(block.is_weak for block in blocks(text))


def test_a_block_is_as_near_as_the_nearest_of_its_parts() -> None:
    (section,) = sections_in(f"# Page\n\nFar off.\n\n- near one\n- middle\n\n{'Word of it. ' * 400}\n\nLast end.")
    near = with_nearness(section, {"near": 0.9, "middle": 0.5, "Last": 0.4})
    found = blocks_of(Joined.of(near.passages), near.closeness)
    assert [found[0].closeness, found[1].closeness, found[-1].closeness] == [0.0, 0.9, 0.4]
    assert {block.closeness for block in blocks_of(Joined.of(section.passages), ())} == {None}


def test_lines_are_about_those_of_a_screen() -> None:
    assert one("word " * 50).lines == 3
    assert one("- a\n- b\n- c").lines == 3
    assert one("```\na\n\nb\n```").lines == 5
    assert one("one\ntwo\nthree").lines == 1


@pytest.mark.parametrize(
    "piece", ["[a](b) ", "[`a", "[a](<b ", "[[a|", "<!-- ", "A) x\n", "{{< x ", "word ", "** ", "(((", "_"]
)
def test_whether_a_block_is_weak_costs_in_proportion_to_it(piece: str) -> None:
    assert_linear(lambda text: TextBlock(0, "prose", text, (0, len(text))).is_weak, piece, characters=40_000)


@pytest.mark.parametrize(
    "page",
    [
        "[lamp]: https://lamps.example",
        "[//]: # 'iOS'",
        "::: gauges.Reader",
        "<<< ./gauge.yml#content [gauge.yml]",
        "--8<-- 'gauge.md'",
        "```rust\n{{#include ../gauge.rs:read}}\n```",
    ],
)
def test_what_only_the_sites_generator_reads_is_no_block(page: str) -> None:
    assert [block.text for block in blocks(f"Before.\n\n{page}\n\nAfter.")] == ["Before.", "After."]


def test_what_is_indented_below_a_note_is_prose_and_code_in_it_is_code() -> None:
    found = blocks("!!! note\n    One.\n\n    Two.\n\n    ```sh\n    three\n    ```\n\nFour.\n\n    five()")
    assert [(block.kind, block.text) for block in found[1:]] == [
        ("prose", "Two.\n\n```sh\nthree\n```"),
        ("prose", "Four."),
        ("code", "```\nfive()\n```"),
    ]


def test_the_title_of_a_callout_stays_with_its_list() -> None:
    assert one("> [!tip] Gauges\n> - one\n> - two").text == "> [!tip] Gauges\n> - one\n> - two"


def test_the_name_of_a_tab_belongs_to_what_stands_in_it() -> None:
    tabs = "".join(
        f'<TabItem value="{name}"{label}>\n\n```sh\n{name}\n```\n\n</TabItem>\n'
        for name, label in (("linux", ' label="Linux"'), ("mac", ""))
    )
    shortcode = '{{< tab name="Gateway" category-value="g" >}}\n\n{{< text bash >}}\nrun\n{{< /text >}}\n\n{{< /tab >}}'
    found = blocks(f"Before.\n\n<Tabs>\n{tabs}</Tabs>\n\n{shortcode}\n\nAfter.")
    assert [shortened(block.text, frozenset(), 9) if block.kind == "code" else block.text for block in found] == [
        "Before.",
        "**Linux**\n\n```sh\nlinux\n```",
        "**mac**\n\n```sh\nmac\n```",
        "**Gateway**\n\n```bash\nrun\n```",
        "After.",
    ]
