"""Text into units: what stays whole, where sentences end, and what is no unit."""

import pytest

from citewise.text.markdown import Markdown
from citewise.text.units import MAX_CHARACTERS, units_of

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
