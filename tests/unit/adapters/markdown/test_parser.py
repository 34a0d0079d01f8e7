"""Markdown and MDX become the blocks, lines and anchors that a reader of the page would name."""

import pytest

from citewise.adapters.markdown.parser import MAX_WARNINGS, MarkdownParser
from citewise.model.document import Block, BlockKind, Heading, Location, ParsedDocument

PARSER = MarkdownParser()


def parsed(text: str) -> ParsedDocument:
    return PARSER.parse_text(text)


def named(block: Block) -> str:
    return f"{block.kind} {block.location.first}-{block.location.last}"


def outline(text: str) -> list[str]:
    return [named(block) for block in parsed(text).blocks]


def texts(text: str) -> list[str]:
    return [block.text for block in parsed(text).blocks]


def headings(text: str) -> list[Heading]:
    return [block.heading for block in parsed(text).blocks if block.heading]


def tree(block: Block) -> list[object]:
    return [named(block), *(tree(child) for child in block.children)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n\t\n\x0c\n", []),
        ("a\nb\n\nc\n", ["paragraph 1-2", "paragraph 4-4"]),
        ("# a\nb\n## c ##\n", ["heading 1-1", "paragraph 2-2", "heading 3-3"]),
        ("a\nb\n===\nc\n---\n---\n", ["heading 1-3", "heading 4-5", "rule 6-6"]),
        ("a\n```py\n\n# b\n\n```\nc", ["paragraph 1-1", "code 2-6", "paragraph 7-7"]),
        ("    a\n\n    b\n\n\nc", ["code 1-3", "paragraph 6-6"]),
        ("a\n    b\n", ["paragraph 1-2"]),
        ("a | b\n--|--\n1 | 2\n\nc", ["table 1-3", "paragraph 5-5"]),
        ("x\na | b\n--|--\n1 | 2\n> c", ["paragraph 1-1", "table 2-4", "quote 5-5"]),
        ("- a\n\n- b\n\n* c\n", ["list 1-3", "list 5-5"]),
        ("> a\nb\n\n> c\n", ["quote 1-2", "quote 4-4"]),
        ("<div>\n*a*\n\nb\n</div>\n", ["html 1-2", "paragraph 4-4", "html 5-5"]),
        ("<Tabs>\n\n## a\n\n</Tabs>\n", ["html 1-1", "heading 3-3", "html 5-5"]),
        ("[a]: http://b 'c'\n\n[d]: e\nf", ["paragraph 1-1", "paragraph 3-4"]),
        ("$$\na\n\nb\n$$\nc", ["math 1-5", "paragraph 6-6"]),
        ("a\n$$ x = 1 $$\n$$ y\nz $$\n", ["paragraph 1-1", "math 2-2", "math 3-4"]),
        ("$$a$$ and $$b$$\n\n$$PATH\n\nb $$\n", ["paragraph 1-1", "paragraph 3-3", "paragraph 5-5"]),
        ("<!-- a -->\n\nb\n\n<!--\nc\n--> d\n", ["paragraph 3-3", "paragraph 7-7"]),
        ("a\r\n\r\n# b\r\n", ["paragraph 1-1", "heading 3-3"]),
        ("a\r\r# b\r", ["paragraph 1-1", "heading 3-3"]),
        ("a\u2028b\x0bc\x85d\n\n# e", ["paragraph 1-1", "heading 3-3"]),
        ("a\0b\n# c\0d", ["paragraph 1-1", "heading 2-2"]),
        ("\ufeff# a", ["heading 1-1"]),
        ("\ufeff---\r\ntitle: x\r\n---\r\n# a", ["heading 4-4"]),
        ("---\rtitle: x\r---\r# a", ["heading 4-4"]),
        ("---\ntitle: x\n---\n\n# a\n", ["heading 5-5"]),
        ("---\ntitle: x\n# a\n", ["rule 1-1", "paragraph 2-2", "heading 3-3"]),
    ],
)
def test_the_blocks_are_those_of_the_page_with_their_source_lines(text: str, expected: list[str]) -> None:
    assert outline(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":::note\na\n:::\nb", ["admonition 1-3", "paragraph 4-4"]),
        ("a\n:::note Title\nb\n:::\n", ["paragraph 1-1", "admonition 2-4"]),
        (":::note[*T*]{.a #b}\n\na\n\n:::\n", ["admonition 1-5"]),
        ("::: tip\na\n::::\n", ["admonition 1-3"]),
        (":::note\n```\n:::\n```\n:::\n", ["admonition 1-5"]),
        (":::note\n~~~md\n```\n:::\n~~~\n:::\n", ["admonition 1-6"]),
        ("::::note\n:::tip\na\n:::\n::::\n", ["admonition 1-5"]),
        (":::note\n# a\n\n| b |\n|---|\n:::\n", ["admonition 1-6"]),
        ("- a\n\n  :::note\n  b\n  :::\n- c\n", ["list 1-6"]),
        (":::note\na\n\n# b\n", ["paragraph 1-2", "heading 4-4"]),
        (":::note\n# b\n:::tip\nc\n:::\n", ["paragraph 1-1", "heading 2-2", "admonition 3-5"]),
        ("::note\na\n::\n", ["paragraph 1-3"]),
        (":::note: no\na\n:::\n", ["paragraph 1-3"]),
        ("```\n:::note\n```\n:::\n", ["code 1-3", "paragraph 4-4"]),
    ],
)
def test_an_admonition_is_one_block_from_its_opening_to_its_own_close(text: str, expected: list[str]) -> None:
    assert outline(text) == expected


def test_the_children_of_an_admonition_stand_between_its_first_and_last_line() -> None:
    (admonition,) = parsed(":::note Title\n\ntext\n\n- a\n- b\n:::").blocks
    assert list(map(named, admonition.children)) == ["paragraph 3-3", "list 5-6"]
    assert parsed(":::note\n:::").blocks[0].children == ()


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("a\n\n:::note\nb\n# c", "line 3: an admonition is never closed; read as text"),
        ("---\nid: x\n---\n```py\nb\n\n# c", "line 4: a code fence is never closed; the rest is code"),
        ("> ~~~\n> b\n\nc", "line 1: a code fence is never closed; the rest is code"),
        ("a\n<!-- b\n\n# c", "line 2: a comment is never closed; read as text"),
        ("a\nb {/* c\n\n# d */}", "line 2: a comment is never closed; read as text"),
        ("$$\na\n\n# b", "line 1: a math block is never closed; read as text"),
    ],
)
def test_what_is_never_closed_is_warned_of_with_its_line_and_loses_no_word(text: str, warning: str) -> None:
    found = parsed(text)
    assert found.warnings == (warning,)
    shown = " ".join(block.text for block in found.blocks)
    assert set("abcd") & set(text.split("---\n")[-1]) <= set(shown)


def test_headings_after_an_unclosed_comment_or_admonition_are_still_headings() -> None:
    assert [heading.title for heading in headings("<!-- a\n\n# b\n\n:::note\n\n# c")] == ["b", "c"]


def test_a_thousand_warnings_are_a_few_and_a_count() -> None:
    assert len(parsed(":::note\n\n" * 1000).warnings) == MAX_WARNINGS + 1


@pytest.mark.parametrize(
    ("source", "title", "anchor"),
    [
        ("# A *b* **c** _d_ ~~e~~", "A b c d e", "a-b-c-d-e"),
        ("# `code_span()` and `` a`b ``", "code_span() and a`b", "code_span-and-ab"),
        ("# [link](http://x 'y') ![alt](z.png)", "link alt", "link-alt"),
        ("# A &amp; B \\* C", "A & B * C", "a--b--c"),
        ("# <kbd>Ctrl</kbd> key", "Ctrl key", "ctrl-key"),
        ("# Title {#my-Id}", "Title", "my-Id"),
        ("# Title {/* #my-id */}", "Title", "my-id"),
        ("# *T* <!-- c --> {#x.y}", "T", "x.y"),
        ("# Title {/* note */}", "Title", "title"),
        ("# Use {#id} well", "Use {#id} well", "use-id-well"),
        ("# Use `{#id}`", "Use {#id}", "use-id"),
        ("# Title {#a} ##", "Title", "a"),
        ("Two\nlines {#z}\n---", "Two lines", "z"),
        ("# [text][ref]\n\n[ref]: /url", "text", "text"),
        ("# [1.0] - 2024", "[1.0] - 2024", "10---2024"),
        ("#", "", ""),
    ],
)
def test_a_heading_has_its_plain_title_and_its_anchor(source: str, title: str, anchor: str) -> None:
    found = headings(source)[0]
    assert (found.title, found.anchor) == (title, anchor)


def test_headings_share_one_count_of_anchors_also_inside_other_blocks() -> None:
    text = "# a\n\n- # a\n\n:::note\n## a\n:::\n\n> ## a\n\n## a\n"
    assert [(heading.level, heading.anchor) for heading in headings(text)] == [(1, "a"), (2, "a-4")]


@pytest.mark.parametrize(
    ("info", "language"), [("py", "py"), (" JSX {1,3} title=x", "jsx"), ("js{4}", "js"), ("", None), ("{x}", None)]
)
def test_the_language_is_the_first_word_of_the_info_string(info: str, language: str | None) -> None:
    assert parsed(f"```{info}\na\n```").blocks[0].language == language


def test_indented_code_has_no_language() -> None:
    assert parsed("    a").blocks[0].language is None


def test_lists_may_be_cut_between_items_and_their_blocks() -> None:
    (block,) = parsed("- a\n\n  b\n- - c\n  - d\n-\n  e\n").blocks
    assert tree(block) == [
        "list 1-7",
        ["list_item 1-3", ["paragraph 1-1"], ["paragraph 3-3"]],
        ["list_item 4-5", ["list 4-5", ["list_item 4-4", ["paragraph 4-4"]], ["list_item 5-5", ["paragraph 5-5"]]]],
        ["list_item 6-7", ["paragraph 6-7"]],
    ]
    assert block.children[2].children[0].text == "-\n  e"


def test_the_parts_of_a_quote_share_out_all_its_lines() -> None:
    (block,) = parsed("> a\n>\n> - b\n>   c\n").blocks
    assert [child.text for child in block.children] == ["> a\n>", "> - b\n>   c"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n\n<!-- b -->\n\nc", ["a", "c"]),
        ("<!--\n\n# b\n\n-->\nc", ["c"]),
        ("<!-- b --> c", [" c"]),
        ("a <!-- b --> c", ["a  c"]),
        ("a <!-- b\nb --> c", ["a\n c"]),
        ("a\n<!-- b -->\nc", ["a", "c"]),
        ("a {/* b */} c\n{/*\n\nb\n*/}\nd", ["a  c", "d"]),
        ("`<!-- a -->` <!-- b -->", ["`<!-- a -->`"]),
        ("`` <!-- ` --> `` <!-- ` -->", ["`` <!-- ` --> ``"]),
        ("\\<!-- a --> \\` <!-- b --> \\`", ["\\<!-- a --> \\`  \\`"]),
        ("```\n<!-- a -->\n```", ["```\n<!-- a -->\n```"]),
        ("    <!-- a -->", ["    <!-- a -->"]),
        ("<!--> a <!---> c", [" a  c"]),
        ("<div>\n<!-- b -->\nc\n</div>", ["<div>\nc\n</div>"]),
        ("## a <!-- b -->", ["## a"]),
        ("- <!-- b -->\n- c\n- d <!-- b -->", ["- c\n- d"]),
        ("> <!-- b -->\n> c", ["> c"]),
        ("- a\n<!-- b\n\nb -->\nc", ["- a", "c"]),
        ("|a `|\n|--|\n|`<!-- c -->`|\n|<!-- b -->d|", ["|a `|\n|--|\n|`<!-- c -->`|\n|d|"]),
        (":::note\n<!-- b -->\n```\n<!-- c -->\n```\n:::", [":::note\n```\n<!-- c -->\n```\n:::"]),
    ],
)
def test_comments_are_dropped_everywhere_but_in_code(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import A from 'a';\nimport 'b.css'\n\n# c", ["# c"]),
        ("import A from 'a'; import {B} from \"b\"; import * as c from 'c'\n", []),
        ("import A, {b as B,\n  type C,\n} from 'x'\n\nd", ["d"]),
        ("import type {A} from 'a'\n<B/>\n", ["<B/>"]),
        ("import A from 'a'\nimport goods from abroad", ["import goods from abroad"]),
        ("import the goods", ["import the goods"]),
        ("import A from 'a' today", ["import A from 'a' today"]),
        ("import numpy as np", ["import numpy as np"]),
        ("a\nimport B from 'b'", ["a\nimport B from 'b'"]),
        ("- import A from 'a'", ["- import A from 'a'"]),
        ("```\nimport A from 'a'\n```", ["```\nimport A from 'a'\n```"]),
    ],
)
def test_only_true_imports_at_the_top_level_are_dropped(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export const a = 1", []),
        ("import A from 'a'\nexport const title = 'On (and off';\n\nb", ["b"]),
        ("export const a =\n  'b';\nc", ["c"]),
        ("export function A() {\n  return <p>\n    <hr />\n\n  </p>;\n}\n\nb", ["b"]),
        ("export const a = `\n(b\n\nc`\nd", ["d"]),
        ("export {a} from 'a'\nexport * from \"b\"\nexport default A;", []),
        ("export {a} to a file", ["export {a} to a file"]),
        ("export default (recommended) settings.", ["export default (recommended) settings."]),
        ("export the data", ["export the data"]),
        ("export const a = {\n\n# b", ["export const a = {", "# b"]),
        ("a\nexport const b = 1", ["a\nexport const b = 1"]),
        ("- export const a = 1", ["- export const a = 1"]),
        ("> export const a = 1", ["> export const a = 1"]),
        ("```\nexport const a = 1\n```", ["```\nexport const a = 1\n```"]),
    ],
)
def test_only_true_exports_at_the_top_level_are_left_out(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_the_inside_of_a_fence_for_mdx_is_read_as_the_page_around_it() -> None:
    text = "````mdx-code-block\nimport A from 'a'\n\n<A>\n\n## b\n\n```js\nc\n```\n\n</A>\n````\n\nd"
    assert outline(text) == ["html 4-4", "heading 6-6", "code 8-10", "html 12-12", "paragraph 15-15"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a\n  ```mdx-code-block\n  b\n  ```\n- c", [["list 1-5", ["list_item 1-3"], ["list_item 5-5"]]]),
        ("```md\n~~~mdx-code-block\na\n~~~\n```", [["code 1-5"]]),
        ("~~~mdx-code-block\na", [["code 1-2"]]),
    ],
)
def test_a_fence_for_mdx_is_found_in_a_list_but_not_in_code_and_only_if_closed(
    text: str, expected: list[list[object]]
) -> None:
    trees = [tree(block) for block in parsed(text).blocks]
    assert [[name, *(child[:1] for child in rest if isinstance(child, list))] for name, *rest in trees] == expected


HOSTILE = {
    "quotes": ">" * 5_000 + " a\n" + ">" * 5_000 + " b",
    "lists": "- " * 5_000 + "a",
    "indents": "".join("  " * depth + "- a\n" for depth in range(400)),
    "mixed": "> - 1. " * 2_000 + "a",
    "long line": "word " * 200_000,
    "long blank": " " * 1_000_000 + "x",
    "backticks": "".join("`" * length + "a" for length in range(1_000)) + "<!-- b -->",
    "admonitions": ":::note\n" * 20_000,
    "admonitions in a quote": "> :::note\n" * 20_000 + "\n:::",
    "admonitions before a fence": ":::note\n\n" * 10_000 + "```\n:::\n",
    "math": "$$ x\n" * 20_000,
    "comments": "<!--\n" * 20_000,
    "comments in a quote": "> <!--\n" * 20_000 + "\nx -->",
    "comments in an item": "- a\n" + "  <!--\n" * 20_000 + "\nx -->",
    "comments in a line": "a <!-- {/* " * 50_000,
    "tags": "<a " + "a " * 300_000,
    "brackets": "# " + "[" * 100_000,
    "imports": "import {" + " a," * 200_000,
    "exports": "export const a = {\n" * 20_000,
    "an export that never ends": "export const a = {\n" + "b(\n" * 100_000,
    "fences for MDX": "```mdx-code-block\n" * 20_000,
    "nested fences for MDX": "".join(f"{'`' * n}mdx-code-block\n" for n in range(400, 3, -1)) + "```\n" * 400,
    "table": "|a" * 20_000 + "|\n" + "|-" * 20_000 + "|\n",
    "NUL": "\0\n" * 20_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_parsed_before_the_time_limit_of_a_test(name: str) -> None:
    assert parsed(HOSTILE[name]).blocks


def test_text_nested_too_deeply_to_follow_is_still_there() -> None:
    assert parsed("> " * 100 + "deep\n\n# after").blocks[0].text.endswith("deep")
    assert headings("- " * 100 + "deep\n\n# after")[0].title == "after"


def test_lines_that_no_rule_claims_become_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markdown_it.parser_block.ParserBlock.parse", lambda *_: [])
    assert parsed("# a\nb\n\nc\n").blocks == (
        Block(BlockKind.PARAGRAPH, "# a\nb", Location("lines", 1, 2)),
        Block(BlockKind.PARAGRAPH, "c", Location("lines", 4, 4)),
    )


def test_a_fault_in_the_block_rules_costs_the_structure_but_no_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("markdown_it.rules_block.paragraph", lambda *_: False)
    found = parsed("# a\n\nb\n")
    assert [block.text for block in found.blocks] == ["# a", "b"]
    assert found.warnings == ("line 1: blocks could not be parsed (RuntimeError); read as paragraphs",)
