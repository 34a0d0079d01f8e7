"""Text into units: what stays whole, where sentences end, where a unit stands, and where a text is cut."""

import re
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.model.document import BlockKind, BlockSpan
from citewise.text.markdown import Markdown
from citewise.text.units import MAX_CHARACTERS, cut_to_fit, units_of
from tests.fakes.counters import WordCounter
from tests.props.test_units import pages

SENTENCE, CODE, TABLE = "sentence", "code", "table"


def texts(text: str) -> list[str]:
    return [unit.text for unit in units_of(1, text)]


def kinds(text: str) -> list[str]:
    return [unit.kind for unit in units_of(1, text)]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ("See Fig. 3 for it. Done.", ["See Fig. 3 for it.", "Done."]),
        ("Use a tool, e.g. This one. Or i.e. That.", ["Use a tool, e.g. This one.", "Or i.e. That."]),
        ("Dr. Smith met J. Doe. They spoke.", ["Dr. Smith met J. Doe.", "They spoke."]),
        ("In the U.S. Army it is so. Yes.", ["In the U.S. Army it is so.", "Yes."]),
        ("It took 2.5 s with v2.1.3 on a.b.txt. Good.", ["It took 2.5 s with v2.1.3 on a.b.txt.", "Good."]),
        ("Call `a.b. C d` now. Then go.", ["Call `a.b. C d` now.", "Then go."]),
        ("Wait... and see. Wait... Then see.", ["Wait... and see.", "Wait...", "Then see."]),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ('"Really?" he asked. Yes.', ['"Really?" he asked.', "Yes."]),
        ("Go to https://a.b/c.d?e=f. Then log in.", ["Go to https://a.b/c.d?e=f.", "Then log in."]),
        ("Bolts, nuts, etc. Then screws.", ["Bolts, nuts, etc.", "Then screws."]),
        ("See no. 5 in vol. 2 there. Fine.", ["See no. 5 in vol. 2 there.", "Fine."]),
        ("It said no. Five went.", ["It said no.", "Five went."]),
        ("one thing . another thing .", ["one thing .", "another thing ."]),
        ("Turn it on. 2. Turn it off. 3. Rest.", ["Turn it on.", "2. Turn it off.", "3. Rest."]),
        ("これは文です。。次の文です", ["これは文です。。", "次の文です"]),
        ("これは文です。次の文です。", ["これは文です。", "次の文です。"]),
    ],
)
def test_a_sentence_ends_where_a_reader_sees_its_end(text: str, sentences: list[str]) -> None:
    assert texts(text) == sentences


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("one\ntwo  \nthree\\\nfour:\nfive", ["one two", "three", "four:", "five"]),
        (
            "- one\n  more\n* two\n   - three\n1. Four. Five.\n10) six",
            ["- one more", "* two", "- three", "1. Four.", "Five.", "10) six"],
        ),
        ("It was the year\n1986. It rained.", ["It was the year 1986.", "It rained."]),
        ("# One\n\nTwo\n===\n\n---\n\n:::note Mind\nThree.\n:::\n<Tabs>\n<!-- four -->\n</Tabs>\n\n***", ["Three."]),
        ("One\ntwo.\n---\nThree.", ["One two.", "Three."]),
        ("> One\n> two.\n>> Three.\nFour.", ["One two.", "Three.", "Four."]),
        ("$$\na. B\n$$\n\n$$\nopen. End", ["$$ a. B $$", "$$ open.", "End"]),
    ],
    ids=[
        *("a hard break or a colon ends a text", "items keep their markers and further lines", "a year begins no list"),
        *("headings, rules, tags and fences of admonitions", "several lines over a rule", "quote marks", "a formula"),
    ],
)
def test_lines_that_belong_together_are_one_text_without_what_is_only_markup(text: str, units: list[str]) -> None:
    assert texts(text) == units


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("```py\na. B\n\nc\n```", "```py\na. B\n\nc\n```"),
        ("~~~\n```\na\n~~~", "~~~\n```\na\n~~~"),
        ("- ```\n  a\n    b\n  ```", "```\na\n  b\n```"),
        ("> ```\n> a\n> ```", "```\na\n```"),
        ("```\nnever closed\n\n# so", "```\nnever closed\n\n# so"),
        ("    a\n\n      b\n", "a\n\n  b"),
        ("\ta", "a"),
    ],
)
def test_code_stays_whole(text: str, code: str) -> None:
    assert [(unit.kind, unit.text) for unit in units_of(1, text)] == [(CODE, code)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Before.\n```\ncode\n```\nAfter.", [SENTENCE, CODE, SENTENCE]),
        ("> ```\n> code\nText.", [CODE, SENTENCE]),
        ("```code``` in a sentence.\nMore.", [SENTENCE, SENTENCE]),
        ("- one\n\n    two\n\nThree\n\n    four", [SENTENCE, SENTENCE, SENTENCE, CODE]),
        ("Text\na | b\n--|--\n1 | 2\n```\ncode\n```", [SENTENCE, TABLE, CODE]),
        ("a | b\nc | d", [SENTENCE]),
    ],
    ids=["around code", "behind a quoted fence", "ticks in a line", "indented in a list", "a table", "mere pipes"],
)
def test_text_code_and_tables_are_told_apart_and_keep_their_place(text: str, found: list[str]) -> None:
    assert kinds(text) == found


def test_a_table_stays_whole() -> None:
    table = "| a | b |\n|---|:-:|\n| 1. Two | 3 |"
    assert [(unit.kind, unit.text) for unit in units_of(1, f"Before:\n\n{table}\n\nAfter.")] == [
        (SENTENCE, "Before:"),
        (TABLE, table),
        (SENTENCE, "After."),
    ]


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    clause = "word " * 50
    parts = texts(f"{clause.strip()}, {clause.strip()}, {clause.strip()}.")
    assert [part[-5:] for part in parts] == ["word,", "word."]
    assert all(len(part) <= MAX_CHARACTERS for part in parts)


def test_a_long_run_without_clauses_is_cut_between_words_and_never_inside_one() -> None:
    assert [len(part) for part in texts("word " * 400)] == [599, 599, 599, 199]
    assert texts("x" * 2000) == ["x" * 2000]


def test_units_are_numbered_in_their_source() -> None:
    assert [(unit.source, unit.position) for unit in units_of(7, "One. Two.")] == [(7, 0), (7, 1)]


@pytest.mark.parametrize("text", ["", "\n\n", "***", "...", "```\n```", "# Heading", "|"])
def test_what_says_nothing_has_no_units(text: str) -> None:
    assert texts(text) == []


def test_an_item_is_known_by_its_marker_and_can_lose_it() -> None:
    item, sentence = units_of(1, "- One. Two.")
    assert (item.is_item, sentence.is_item) == (True, False)
    assert (item.content, sentence.content) == ("One.", "Two.")


def test_code_spans_reach_to_a_run_of_the_same_length() -> None:
    assert list(Markdown("a `b` ``c ` d`` ` e").code_spans()) == [(2, 5), (6, 15)]


# Where a text is cut that does not fit


LINE = "The gauge is read. Nets dry at noon! Does it blow?"


@pytest.mark.parametrize(
    ("characters", "left"),
    [
        (80, LINE),
        (40, "The gauge is read. Nets dry at noon!"),
        (20, "The gauge is read."),
        (14, "The gauge is"),
        (12, "The gauge is"),
        (2, "Th"),
        (0, ""),
    ],
)
def test_a_line_is_cut_at_a_sentence_then_at_a_word_then_anywhere(characters: int, left: str) -> None:
    assert cut_to_fit(LINE, lambda beginning: len(beginning) <= characters) == left


def test_whole_lines_come_before_more_of_the_next() -> None:
    assert cut_to_fit(f"Tides.\n{LINE}", lambda beginning: len(beginning) <= 30) == "Tides."


# Units of ingested text come from its stored blocks


HANDBOOK = Path(__file__).parents[3] / "src" / "citewise" / "data" / "handbook"
PAGE = """# Tides

The gauge is read. Twice a day.

1. Walk to the pier:

   ```sh
   > walk
   ```
2. Read it.

> Quoted. Twice.
> - an item

:::note Mind the gap

Mind it.

:::

| a | b |
|---|---|
| 1 | 2 |

$$
x = 1. Y = 2.
$$
"""


def test_every_page_of_the_handbook_has_the_same_units_either_way() -> None:
    chunker = HeadingChunker(WordCounter(), 200)
    texts = [PAGE, *(file.read_text("utf-8") for file in sorted(HANDBOOK.rglob("*.md*")))]
    pieces = [piece for text in texts for piece in chunker(MarkdownParser().parse_text(text).blocks, title="Page")]
    assert len(pieces) > 50
    for piece in pieces:
        assert units_of(1, piece.text, piece.blocks) == units_of(1, piece.text)


def test_stored_blocks_are_believed_where_parsing_would_say_otherwise() -> None:
    text = "a = [\n# not a heading\n]"
    (unit,) = units_of(1, text, (BlockSpan(BlockKind.CODE, 0, len(text)),))
    assert (unit.kind, unit.text) == ("code", text)


def test_a_comparison_in_a_quotation_keeps_its_sign() -> None:
    text = "> Alarm:\nlevel > 3 is high."  # the second line goes on without a mark
    units = units_of(1, text, (BlockSpan(BlockKind.QUOTE, 2, len(text)),))
    assert units[-1].text == "level > 3 is high."


# Where units stand in their text, however they are wrapped


def spans_of(text: str) -> list[tuple[int, int]]:
    return [unit.span for unit in units_of(1, text)]


def stands(text: str) -> list[str]:
    return [text[slice(*span)] for span in spans_of(text)]


def visible(text: str) -> str:
    return re.sub(r"[\s>\\]+", "", text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One two. Three.", ["One two.", "Three."]),
        ("One\ntwo. Three.", ["One\ntwo.", "Three."]),
        ("> One\n> two.\n\nThree.", ["One\n> two.", "Three."]),
        ("- one\n- two", ["- one", "- two"]),
        ("Read.\n\n```py\n# One.\nread()\n```", ["Read.", "```py\n# One.\nread()\n```"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |\n|---|---|\n| 1 | 2 |"]),
        ("One.\\\nTwo.", ["One.", "Two."]),
    ],
)
def test_a_unit_stands_where_its_words_do(text: str, found: list[str]) -> None:
    assert stands(text) == found


def test_a_sentence_is_not_taken_for_the_heading_above_it() -> None:
    text = "## Gauge\n\nGauge\n\n:::note Reading\n\nReading\n\n:::"
    assert spans_of(text) == [(10, 15), (34, 41)]


def test_words_that_come_twice_are_two_places() -> None:
    text = "Yes. No. Yes."
    assert spans_of(text) == [(0, 4), (5, 8), (9, 13)]


@given(pages | st.text())
def test_every_unit_stands_where_its_span_says_in_order(page: str) -> None:
    units = units_of(1, page)
    for unit in units:
        assert visible(page[slice(*unit.span)]) == visible(unit.text)
    assert all(before.span[1] <= after.span[0] for before, after in pairwise(units))


def test_a_long_run_of_blanks_is_not_slow() -> None:
    started = time.thread_time()
    units_of(1, f"a{' ' * 100_000}b")
    assert time.thread_time() - started < 5
