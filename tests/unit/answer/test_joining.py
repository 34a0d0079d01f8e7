"""Neighbors of a section are joined to what the document says there, and every part of it has its lines."""

from dataclasses import replace

import pytest

from citewise.answer.joining import Joined
from citewise.model.document import BlockKind, BlockSpan, Location
from citewise.text.units import spans_of
from tests.builders import a_passage
from tests.sections import parts_of_a_block, passages_of

CODE, PARAGRAPH, TABLE = BlockKind.CODE, BlockKind.PARAGRAPH, BlockKind.TABLE
FENCE = "```sh\n"
HEADER = "| key | value |\n| --- | --- |\n"


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        # The chunker repeats the end of one at the beginning of the next.
        (("One. Two.", (1, 1)), ("Two. Three.", (1, 1)), "One. Two. Three."),
        (("One.\n\nTwo.", (1, 3)), ("Two.\n\nThree.", (3, 5)), "One.\n\nTwo.\n\nThree."),
        (("- a\n- b", (1, 2)), ("- a\n- b\n- c", (1, 3)), "- a\n- b\n- c"),
        (("One two", (1, 1)), ("two", (1, 1)), "One two"),
        # No overlap: the white space that must have been there.
        (("One.", (1, 1)), ("Two.", (3, 3)), "One.\n\nTwo."),
        (("One.", (1, 1)), ("Two.", (2, 2)), "One.\nTwo."),
        (("One.", (1, 1)), ("Two.", (1, 1)), "One. Two."),
        # Text that only looks repeated: on lines of its own, more lines than are shared, or parts of words.
        (("yes", (1, 1)), ("yes", (2, 2)), "yes\nyes"),
        (("- yes\n- yes", (4, 5)), ("- yes\n- yes", (5, 6)), "- yes\n- yes\n- yes"),
        (("salt data", (1, 1)), ("a tide", (1, 1)), "salt data a tide"),
        (("salt data", (1, 1)), ("database", (1, 1)), "salt data database"),
    ],
)
def test_neighbors_are_joined_with_their_overlap_said_once(
    first: tuple[str, tuple[int, int]], second: tuple[str, tuple[int, int]], text: str
) -> None:
    passages = [a_passage(words, position=n, lines=lines) for n, (words, lines) in enumerate((first, second))]
    joined = Joined.of(passages)
    assert (joined.text, joined.passages) == (text, tuple(passages))


def test_the_blocks_of_neighbors_are_those_of_the_joined_text() -> None:
    first = a_passage("Intro.\n\nThe gauge is", position=0, lines=(1, 3))
    second = a_passage("gauge is read.\n\n```\nx\n```", position=1, lines=(3, 7))
    before = replace(first, blocks=(BlockSpan(PARAGRAPH, 0, 6), BlockSpan(PARAGRAPH, 8, 20)))
    after = replace(second, blocks=(BlockSpan(PARAGRAPH, 0, 14), BlockSpan(CODE, 16, 25)))
    joined = Joined.of([before, after])
    assert [(span.kind, joined.text[span.start : span.end]) for span in joined.blocks] == [
        (PARAGRAPH, "Intro."),
        (PARAGRAPH, "The gauge is read."),
        (CODE, "```\nx\n```"),
    ]
    assert joined.origins == (((0, 0),), ((0, 1), (1, 0)), ((1, 1),))
    assert joined.starts == (0, joined.text.index("gauge is read"))


def test_where_the_blocks_of_one_are_not_known_none_are() -> None:
    known = replace(a_passage("One.", lines=(1, 1)), blocks=(BlockSpan(PARAGRAPH, 0, 4),))
    joined = Joined.of([known, a_passage("Two.", position=1, lines=(3, 3))])
    assert (joined.text, joined.blocks, joined.origins) == ("One.\n\nTwo.", (), ())


@pytest.mark.parametrize(
    ("kind", "parts", "head", "tail", "whole"),
    [
        (CODE, ((f"{FENCE}a\nb", (1, 3)), ("c", (5, 5)), ("d\n```", (6, 7))), FENCE, "\n```", "a\nb\n\nc\nd\n```"),
        (TABLE, ((f"{HEADER}| a | 1 |", (1, 3)), ("| b | 2 |", (4, 4))), HEADER, "", "| a | 1 |\n| b | 2 |"),
    ],
)
def test_the_parts_of_a_block_are_joined_to_what_the_source_says(
    kind: BlockKind, parts: tuple[tuple[str, tuple[int, int]], ...], head: str, tail: str, whole: str
) -> None:
    joined = Joined.of(parts_of_a_block(kind, *parts, head=head, tail=tail))
    assert joined.text == f"{head}{whole}"
    assert joined.blocks == (BlockSpan(kind, 0, len(joined.text)),)
    assert joined.origins == (tuple((number, 0) for number in range(len(parts))),)


# Where a part of the text stands in the document


def located(joined: Joined, part: str) -> tuple[int, int]:
    start = joined.text.index(part)
    location = joined.location(start, start + len(part))
    return location.first, location.last


def test_a_part_is_where_its_lines_are() -> None:
    passages = [
        a_passage("One.\n\nTwo\nand more.", lines=(11, 14)),
        a_passage("more.\n\nThree.", position=1, lines=(14, 16)),
    ]
    joined = Joined.of(passages)
    assert joined.text == "One.\n\nTwo\nand more.\n\nThree."
    places = {part: located(joined, part) for part in ("One.", "Two", "Two\nand", "more.", "Three.", joined.text)}
    assert places == {
        **{"One.": (11, 11), "Two": (13, 13), "Two\nand": (13, 14), "more.": (14, 14), "Three.": (16, 16)},
        joined.text: (11, 16),
    }


def test_a_part_of_what_left_a_comment_out_may_stand_anywhere_in_it() -> None:
    joined = Joined.of([a_passage("One.\n\nTwo.", lines=(1, 9)), a_passage("Three.", position=1, lines=(11, 11))])
    assert located(joined, "Two.") == (1, 9)
    assert located(joined, "Three.") == (11, 11)


def test_a_part_of_a_printed_page_is_on_the_page() -> None:
    joined = Joined.of([a_passage("One.", page=3), a_passage("Two.", position=1, page=4)])
    start = joined.text.index("Two.")
    assert joined.location(start, start + 4) == Location("pages", 4, 4)


def test_a_fence_that_was_added_is_in_no_line() -> None:
    first, middle, last = parts_of_a_block(
        CODE, (f"{FENCE}a\nb", (1, 3)), ("c\nd", (4, 5)), ("e\n```", (6, 7)), head=FENCE, tail="\n```"
    )
    assert located(Joined.of([middle]), f"{FENCE}c\nd\n```") == (4, 5)
    assert located(Joined.of([middle, last]), "d\ne") == (5, 6)
    assert located(Joined.of([first, middle, last]), "c") == (4, 4)


PAGE = "# Tides\n\n" + "\n\n".join(
    f"Sentence {at} tells of the tide at the gauge number {at}.\nIt is line {at} of the page." for at in range(60)
)


def test_every_block_of_a_long_section_is_located_where_it_stands() -> None:
    joined, lines = Joined.of(passages_of(PAGE)), PAGE.split("\n")
    assert len(joined.passages) > 2
    for span in joined.blocks:
        place = joined.location(span.start, span.end)
        assert "\n".join(lines[place.first - 1 : place.last]) == joined.text[span.start : span.end]


def test_blocks_of_text_without_known_ones_can_be_found() -> None:
    text = "Intro.\n\n> A quote.\n\n- one\n  - two\n\n```\ncode\n```\n\n| a |\n|---|\n| b |"
    kinds = [(span.kind, span.depth) for span in spans_of(text)]
    assert kinds == [
        *((PARAGRAPH, 0), (BlockKind.QUOTE, 0), (BlockKind.ITEM, 1), (BlockKind.ITEM, 2), (CODE, 0), (TABLE, 0))
    ]
