"""How blocks of documents read in an answer: unwrapped, without links and markers, long ones cut, one sentence bold."""

import re
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from citewise.text.cutting import ELLIPSIS
from citewise.text.quoting import emphasized, fenced, shortened, shown, unwrapped, without_tags
from tests.growth import assert_linear
from tests.props.markdown import document

COMMONMARK = MarkdownIt("commonmark").enable("table")


def kinds(text: str) -> list[str]:
    return [token.type for token in COMMONMARK.parse(text)]


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text)


# Unwrapped


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("The gauge\nis read\n  at noon.", "The gauge is read at noon."),
        ("- The gauge\n  is read\n- at noon", "- The gauge is read\n- at noon"),
        ("泵把水\n抬到高处\u3002\n水很深", "泵把水抬到高处\u3002水很深"),
        ("泵 pump\nlifts 水\nhere", "泵 pump lifts 水 here"),
        ("One  \ntwo\\\nthree", "One  \ntwo\\\nthree"),
        ("One.\n\nTwo.", "One.\n\nTwo."),
        ("> One\n> two", "> One\n> two"),
        ("| a |\n|---|\n| b |", "| a |\n|---|\n| b |"),
        ("# Head\ntext\nmore", "# Head\ntext more"),
        ("```\na\nb\n```", "```\na\nb\n```"),
        ("1. Do\n\n   ```sh\n   a\n   b\n   ```\n\n2. Do", "1. Do\n\n   ```sh\n   a\n   b\n   ```\n\n2. Do"),
        ("", ""),
    ],
)
def test_a_paragraph_becomes_one_line_and_every_other_line_stays(text: str, line: str) -> None:
    assert unwrapped(text) == line


@settings(max_examples=40, deadline=None)
@given(document)
def test_unwrapping_changes_no_block_and_no_word(text: str) -> None:
    made = unwrapped(text)
    assert kinds(made) == kinds(text)
    assert words_of(made) == words_of(text)
    assert unwrapped(made) == made


# Shown


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("By others [3] and [4, 5], but not in `a[3]`.", "By others (3) and (4, 5), but not in `a[3]`."),
        ("99 bar [Source 9: Evil - doc] and [^3] too.", "99 bar (Source 9: Evil - doc) and (^3) too."),
        ("See [the limits](../limits.md#upper) for `[a](b)`.", "See the limits for `[a](b)`."),
        (
            "See [`limit`](a.md) and [the rest][rest] and [[Page]] and [[a/b|Page B]].",
            "See `limit` and the rest and Page and Page B.",
        ),
        ("A [list] of [x] boxes", "A [list] of [x] boxes"),
        ("Seen <!-- hidden\nnote --> here", "Seen  here"),
        ("```\nx[2] = [y](z)\n```", "```\nx[2] = [y](z)\n```"),
        ("Set x[0] = a.y[1][2].z now [3].", "Set `x[0]` = `a.y[1][2].z` now (3)."),
        ("`a`x[0] and y[1]`b`", "`a`x(0) and y(1)`b`"),
        ("A stray ` and x[0]", "A stray ` and x(0)"),
        ("::: tip  Be quick  \nRun.\n:::", "**Be quick**  \nRun."),
        ("One{' '}<b>two</b>{' three'} and `{' '}`.", "One two three and `{' '}`."),
        ("!!! tip\n    Be quick.\n    Run.", "**Tip**  \nBe quick. Run."),
        ('=== "Sh"\n\n    ```sh\n    run\n    ```\n\n    Now.', "**Sh**  \n\n```sh\nrun\n```\n\nNow."),
        ("/// note | Be quick\nRun.\n///", "**Be quick**  \nRun."),
        ("> [!tip]\n> Run.\n>\n> ", "> **Tip**  \n> Run."),
        ("Run this:\n<<< ./run.sh#all\nNow.", "Run this: Now."),
        ("::: ]x", "::: ]x"),
        ("- one [1]\n\n  ```\n  x[2]\n  ```", "- one (1)\n\n  ```\n  x[2]\n  ```"),
    ],
)
def test_links_are_their_words_and_no_bracket_reads_as_a_source(text: str, said: str) -> None:
    assert shown(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<https://example.org/a>\n\n<keeper@example.org>", "<https://example.org/a>\n\n<keeper@example.org>"),
        ("Open <https://example.org/a> or <placeholder>.", "Open <https://example.org/a> or <placeholder>."),
        ("<placeholder>", "<placeholder>"),
        ("Copy <source> to <path> and List<Name>.", "Copy <source> to <path> and List<Name>."),
        ("`<p>` is a < b > c", "`<p>` is a < b > c"),
        ("```\n<p>\n```", "```\n<p>\n```"),
        ("Why is it wet?</summary>", "Why is it wet?"),
        ("<details>\n<summary>Why?</summary>\n\nTide.\n</details>", "Why?  \n\nTide."),
        ("<h3>Pumps</h3>\nThey lift.", "Pumps  \nThey lift."),
        ('<Tabs>\n<TabItem value="a" label="b">\n\nOne.\n\n</TabItem>\n</Tabs>', "**b**  \n\nOne."),
        ("<Gauge reading={() => 1} />Low.", "Low."),
        ("10<sup>6</sup> of H<sub>2</sub>O", "10^6 of H2O"),
        ("One<br/>\ntwo", "One  \ntwo"),
        ("- one\n\n  <p>two</p>", "- one\n\n  two"),
    ],
)
def test_tags_go_but_addresses_placeholders_and_code_stay(text: str, said: str) -> None:
    assert shown(text) == said
    assert without_tags(said) == said


@settings(max_examples=50, deadline=None)
@given(document | st.text(alphabet="[]()0123456789source:!`<>-\n #", max_size=80))
def test_nothing_that_is_shown_reads_as_a_marker(text: str) -> None:
    rendered = re.sub(r"<code[^>]*>.*?</code>", "", COMMONMARK.render(shown(text)), flags=re.DOTALL)
    assert not re.search(r"\[\d+\]", rendered)


# Cut


ROWS = [f"| code {at} | meaning {at} |" for at in range(40)]
TABLE = ["| Code | Meaning |", "|---|---|", *ROWS]
CODE = [line for at in range(20) for line in (f"def step_{at}():", f"    return {at}", "")]


def inline_kinds(text: str) -> list[str]:
    return [child.type for token in COMMONMARK.parse(text) for child in token.children or ()]


def cut(lines: list[str], *asked: str, most: int = 6) -> list[str]:
    return shortened("\n".join(lines), frozenset(asked), most).splitlines()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('```js title="a.js" {1,3} live\nx\n```', "`a.js`\n```js\nx\n```"),
        ("```ts [a.ts (one)]\nx\n```", "`a.ts (one)`\n```ts\nx\n```"),
        ("```rust,edition2018\nx\n```", "```rust\nx\n```"),
        ("```js\n// highlight-next-line\nx\n  # highlight-end\n// ---cut---\ny\n```", "```js\nx\ny\n```"),
        ("```mdx\n// highlight-next-line\nx\n```", "```mdx\n// highlight-next-line\nx\n```"),
        ("```js\nx = '// highlight-next-line'\n```", "```js\nx = '// highlight-next-line'\n```"),
    ],
)
def test_code_keeps_its_language_and_the_name_of_its_file_and_loses_what_only_colors_it(code: str, said: str) -> None:
    assert shown(f"Before.\n\n{code}\n\nAfter.") == f"Before.\n\n{said}\n\nAfter."
    assert shortened(code, frozenset(), 9).replace("`\n\n```", "`\n```") == said


def test_links_of_a_vault_read_as_places() -> None:
    assert shown("See [[#Below]], [[Dates#Due date]] and [[a/b|B]].") == "See Below, Dates > Due date and B."


@pytest.mark.parametrize(
    "opening", ["<!-- x", "<script>", "<style>", "<textarea>", "<?php", "<!DOCTYPE html>", "<pre>"]
)
def test_no_html_swallows_what_stands_below_it(opening: str) -> None:
    for text in (opening, f"> {opening}"):
        assert "strong_open" in inline_kinds(f"{shown(text)}\n\n**Below**")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[![b](i)](u)", ""),
        ("[a](u 'title') and [b](u (t))", "a and b"),
        ("[a](<u v> 'title' ) and [[b|c|d]]", "a and d"),
        ("\\[a\\](u)", "\\[a\\](u)"),
        ('[a]({{< ref "./b.md" >}}) is', "a is"),
        ("List<Tip> and Promise<Info>", "List<Tip> and Promise<Info>"),
        ("<Tip>Wait.</Tip>", "Wait."),
        ("> a\n>\n> ```sh\n> b\n> ```", "> a\n>\n> ```sh\n> b\n> ```"),
    ],
)
def test_links_types_and_quotations_read_as_they_should(text: str, said: str) -> None:
    assert shown(text) == said


def test_of_two_fences_each_is_cut() -> None:
    code = "\n".join(['```py title="pump.py"', *PLAIN_CODE, "```"])
    made = shown(f"{code}\n{code}", {"7"}, 6).splitlines()
    assert [made.count(line) for line in ("`pump.py`", "```py", "```", "call(7)", "call(20)")] == [2, 2, 2, 2, 0]


def test_embedded_pictures_show_nothing_and_embedded_notes_their_names() -> None:
    assert shown("See ![[pier.png|300]] and ![[Pier.svg]] below ![[Dates#Due]].") == "See  and  below Dates > Due."


def test_an_empty_title_of_a_note_is_none() -> None:
    assert shown('!!! note ""\n\n    Wait.').startswith("**Note**  \n")


def test_a_fence_without_a_language_has_none() -> None:
    assert shown('```title="a.py"\nx\n```') == "`a.py`\n```\nx\n```"


def test_code_in_a_quotation_is_cut_there() -> None:
    lines = ["> ```sh", *(f"> pump {at}" for at in range(60)), "> ```"]
    made = cut(lines, "25", most=6)
    assert all(line.startswith("> ") for line in made)
    assert f"> {ELLIPSIS}" in made
    assert "> pump 25" in made


def test_a_table_in_html_is_a_table() -> None:
    rows = '<tr class="x">\n  <th>Mode</th>\n  <th>Cost</th>\n</tr>\n<tr><td>Float</td><td>a|b<br/>c</td></tr>'
    text = f"Before.\n\n<table>\n{rows}\n<tr><td>Radar</td></tr>\n</table>\n\nBehind."
    table = "| Mode | Cost |\n| --- | --- |\n| Float | a\\|b  c |\n| Radar |  |"
    assert shown(text).replace("\n\n\n", "\n\n") == f"Before.\n\n{table}\n\nBehind."
    assert kinds(shown(text)).count("table_open") == 1


def test_a_list_in_html_is_no_table() -> None:
    assert "|" not in shown("<table>\n<tr><td>Float</td></tr>\n<tr><td>Radar</td></tr>\n</table>")


def test_a_picture_leaves_no_gap() -> None:
    assert shown("> One:\n> ![a](a.png)  \n> Two.") == "> One:\n> Two."
    assert shown("One:\n\n![a](a.png)\n\n![b](b.png)  \n*Below*") == "One:\n\n*Below*"


def test_what_is_short_enough_stays_whole() -> None:
    assert cut(["```py", *CODE, "```"], most=len(CODE)) == ["```py", *CODE, "```"]
    assert cut(TABLE, most=len(TABLE)) == TABLE


@pytest.mark.parametrize("at", [0, 9, 19])
def test_long_code_is_cut_around_a_definition_with_both_fences(at: int) -> None:
    made = cut(["```py", *CODE, "```"], f"step_{at}")
    assert (made[0], made[-1]) == ("```py", "```")
    assert (made[1] == ELLIPSIS, made[-2] == ELLIPSIS) == (at > 0, at < 19)
    body = [line for line in made[1:-1] if line != ELLIPSIS]
    assert f"def step_{at}():" in body
    assert "\n".join(body) in "\n".join(CODE)
    assert len(made) - 2 <= 6 + 1


@pytest.mark.parametrize("at", [0, 17, 39])
def test_a_long_table_keeps_its_header_and_the_rows_that_matter_in_order(at: int) -> None:
    made = cut(TABLE, str(at), most=3)
    assert made[:2] == TABLE[:2]
    assert [line for line in made[2:] if ELLIPSIS not in line] == [ROWS[at]]
    assert (made[2] == f"| {ELLIPSIS} |", made[-1] == f"| {ELLIPSIS} |") == (at > 0, at < 39)
    assert kinds("\n".join(made)).count("table_open") == 1


def test_rows_that_share_a_common_word_alone_are_left_out_where_one_tells_more() -> None:
    assert cut(TABLE, "code", "7", "the", most=3)[2:] == [f"| {ELLIPSIS} |", ROWS[7], f"| {ELLIPSIS} |"]
    assert cut(TABLE, "9", "3", "30", most=3)[3:6:2] == [ROWS[3], ROWS[9]]


def test_the_first_rows_stand_for_a_table_in_which_nothing_is_told() -> None:
    assert cut(TABLE, "tide", "the", most=3) == [*TABLE[:5], f"| {ELLIPSIS} |"]


PLAIN_CODE = [f"call({at})" for at in range(60)]


def test_long_code_without_definitions_is_cut_a_little_above_the_line_that_tells_most() -> None:
    lines = ["```", *PLAIN_CODE[:40], "read(tide, the)", *PLAIN_CODE[40:], "```"]
    made = cut(lines, "tide", "the")
    assert made == ["```", ELLIPSIS, PLAIN_CODE[39], "read(tide, the)", *PLAIN_CODE[40:43], ELLIPSIS, "```"]


def test_words_that_every_question_has_do_not_choose_the_code() -> None:
    lines = ["```", "read(tide)", *PLAIN_CODE, "for it in the: do(this)", "```"]
    assert cut(lines, "tide", "for", "the", "it", "do", "this")[1] == "read(tide)"


def test_code_without_a_fence_is_code_and_no_table() -> None:
    lines = [f"a[{at}] = b | c" for at in range(3)]
    assert cut(lines) == ["```", *lines, "```"]
    assert cut(["**x.py**", "", *(f"    {line}" for line in lines)]) == ["**x.py**", "", "```", *lines, "```"]


def test_a_table_may_stand_without_outer_bars_or_in_a_quotation() -> None:
    assert cut(["a | b", "--- | ---", "[1] | c<br/>d"]) == ["a | b", "--- | ---", "(1) | c  d"]
    assert cut([f"> {line}" for line in TABLE[:4]]) == [f"> {line}" for line in TABLE[:4]]


def test_a_label_stays_above_what_it_names() -> None:
    assert cut(["**pump.py** [2]", "```py", *CODE, "```"], "step_9")[:3] == ["**pump.py** (2)", "", "```py"]
    assert cut(["**Codes**", "", *TABLE])[:3] == ["**Codes**", "", TABLE[0]]


def test_cells_are_no_markers_and_code_stays_as_it_is() -> None:
    assert cut(["| a [1] |", "|---|", "| [b](c.md) |"]) == ["| a (1) |", "|---|", "| b |"]
    assert cut(["```", "a[1] = [b](c)", "```"]) == ["```", "a[1] = [b](c)", "```"]


@pytest.mark.parametrize("lines", [["```"], ["```", "```"], ["| a |"], ["| a |", "|---|"], ["", "```", "x", "```"]])
def test_hardly_anything_is_cut_into_hardly_anything(lines: list[str]) -> None:
    assert all(line in ("", *lines) for line in cut(lines, "a", most=1))


# Emphasized


LONG = "The gulls rest on the roofs of the sheds and on the pier, as they always do in the long winter of the coast. "
SAYS_IT = "The tide gauge freezes at noon."


FREEZES = re.compile(r"\bfreezes\b")


def bold(text: str) -> list[str]:
    made = emphasized(text, FREEZES)
    assert made.replace("**", "") == text.replace("**", "")
    return re.findall(r"<strong>(.*?)</strong>", COMMONMARK.render(made))


def test_the_one_sentence_that_tells_it_is_bold_in_a_long_text() -> None:
    assert bold(LONG * 3 + SAYS_IT) == [SAYS_IT]
    assert bold(f"{LONG * 2}{SAYS_IT} {LONG}") == [SAYS_IT]


@pytest.mark.parametrize(
    "text",
    [
        f"Gulls rest. {SAYS_IT}",
        f"{SAYS_IT} {LONG * 3}",
        LONG * 3,
        f"{LONG * 3}{SAYS_IT} It freezes at one, too.",
        f"{LONG * 3}\n\n- {SAYS_IT}",
        f"{LONG * 3}\n\n```\n{SAYS_IT}\n```",
        f"{LONG * 3}\n\n# {SAYS_IT}",
        f"{LONG * 3}\n\n| a |\n|---|\n| {SAYS_IT} |",
        "",
    ],
    ids=[
        "short text",
        "it stands first",
        "none tells it",
        "two tell it",
        "item",
        "code",
        "heading",
        "table",
        "nothing",
    ],
)
def test_nothing_is_bold_where_it_would_not_help(text: str) -> None:
    assert bold(text) == []


def test_what_is_bold_already_is_not_made_bold_again() -> None:
    assert bold(f"{LONG * 3}The **tide** gauge freezes at noon.") == ["tide"]


def test_no_asterisk_is_left_over_in_writing_without_blanks() -> None:
    text = "海鸥在屋顶上休息\u3002" * 40 + "潮汐仪在中午结冰\u3002" + "海鸥在屋顶上休息\u3002" * 4
    assert "*" not in COMMONMARK.render(emphasized(text, re.compile("结冰")))


@settings(max_examples=40, deadline=None)
@given(document, st.sampled_from(["tide", "read", "[ab]", r"\d", "."]))
def test_emphasis_changes_no_word_and_no_block(text: str, telling: str) -> None:
    made = emphasized(text, re.compile(telling))
    assert words_of(made) == words_of(text)
    assert kinds(made) == kinds(text)


@pytest.mark.parametrize("piece", ["word ", "[a](b) ", "[[", "| a ", "> x\n", "```\n", "<!-- ", "`", "**", "- a\n"])
def test_the_work_grows_with_the_text_and_no_faster(piece: str) -> None:
    assert_linear(shown, piece, characters=40_000)


SLOW_PIECES = (
    *(" ", "\n", "a:\n", "1)\n", "\u3002\n", "</a\n", "{ ", "[", "[[", "<!--", "{{< ", "`", "*", "- a\n", "::: ", "> "),
    *(
        "| a |\n",
        "a ",
        "a\n",
        "a. ",
        "a.",
        "<a '\"",
        "<Tab {",
        "::: a ",
        "x[0]",
        "[`a",
        "[a](<b ",
        "[[a|",
        "[a](b (",
        '[a](b "',
        " - ",
        "!!! a",
    ),
)
WORKS: Mapping[str, Callable[[str], str]] = {
    **{"unwrapped": unwrapped, "shown": shown, "fenced": fenced, "without_tags": without_tags},
    "shortened": lambda text: shortened(text, {"a"}, 14),
    "emphasized": lambda text: emphasized(text, re.compile("a")),
}


@pytest.mark.parametrize("piece", SLOW_PIECES)
@pytest.mark.parametrize("work", WORKS)
def test_no_repeated_piece_is_slow(work: str, piece: str) -> None:
    started = time.thread_time()
    WORKS[work](f"a{piece * (200_000 // len(piece))}x")
    assert time.thread_time() - started < 5
