"""Whatever the text: the parser answers, no word is lost, and every line number is true."""

import re
from collections.abc import Sequence

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from citewise.adapters.markdown.frontmatter import split_front_matter
from citewise.adapters.markdown.parser import MarkdownParser
from citewise.model.document import Block, BlockKind

PARSER = MarkdownParser()
PLAIN = MarkdownIt("commonmark", {"maxNesting": 200}).enable("table").disable("reference")
PLAIN_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "fence": "code",
    "code_block": "code",
    "table_open": "table",
    "html_block": "html",
    "hr": "rule",
}
COMMONMARK = (
    "- ", "* ", "+", "1. ", "2) ", "> ", ">", "    ", "  ", "\t", "# ", "### ", "```", "~~~", "````js",
    "---", "===", "- - -", "***", "=", "-", "| a | b |", "|---|---|", "a | b", "--- | ---", "<div>",
    "</div>", "<p>x", "<?php", "?>", "<pre>", "</pre>", "<b>", "\\", "`", "a", "b c", "0", "\n", "\n", "\n",
    "\n\n", "  \n", "\t\n",
)  # fmt: skip
EXTRAS = (
    ":::note\n", ":::tip[T]\n", "::::info\n", "\n:::\n", "\n::::\n", "$$", "$$\n", "<!--", "-->", "{/*",
    "*/}", "{#id}", "import a from 'b'\n", "export c", "[r]: u", "\r", "\r\n", "\0", "\x0c", "\u2028",
    "\ufeff", "---\n", "title: x\n",
)  # fmt: skip
SNIPPETS = (
    "# Heading {n}", "## Heading {n} {{#id{n}}}", "Setext{n}\n---", "para{n} *graph*\nof{n} lines",
    "- one{n}\n- two{n}", "1. one{n}\n\n   more{n}\n\n   ```js\n   code{n}\n   ```\n2. two{n}",
    "> quote{n}\n>\n> > inner{n}\nlazy{n}", "```py title=t{n}\n# code{n}\n\n:::note\n```",
    "~~~\n```\ncode{n}\n~~~", "    indented{n}\n\n    code{n}",
    "| head{n} | b |\n|---|---|\n| cell{n} | `x{n}` |",
    ":::note Title{n}\n\ninside{n}\n\n```\n:::\n```\n\n:::", "::::info\n:::tip\nnested{n}\n:::\n::::",
    "$$\nmath{n}\n\n$$", "<Tabs>\n<p>html{n}</p>\n</Tabs>", "[ref{n}]: /url{n} 'T{n}'",
    "export e{n}", "***", ":::warning\nnever{n} closed{n}",
    "- a{n}\n\n  :::note\n  b{n}\n  :::\n",
)  # fmt: skip
SECRETS = (
    "<!-- secret -->", "<!--\n\nsecret\n\n# secret\n-->", "open{n} <!-- secret\nsecret --> kept{n}",
    "{{/* secret\n\nsecret */}}", "- item{n}\n\n  <!-- secret -->\n  more{n}",
    "> quote{n} {{/* secret */}}", "## Heading{n} <!-- secret -->", "| a{n} | <!-- secret --> |\n|---|---|",
    ":::note\n<!-- secret -->\ninside{n}\n:::", "```mdx-code-block\n<p>html{n}</p>\n\npara{n}\n```",
    "export const secret = {{\n  secret: `secret`,\n\n}};",
)  # fmt: skip


def documents(*parts: Sequence[str], glue: str) -> st.SearchStrategy[str]:
    """Parts in any order, each numbered so that its words are its own."""
    pieces = st.lists(st.sampled_from([part for group in parts for part in group]), max_size=25)
    return pieces.map(lambda chosen: glue.join(part.format(n=n) for n, part in enumerate(chosen)))


LEFT_OUT = re.compile(r"^export const|mdx-code-block$", re.MULTILINE)

raw = st.lists(st.sampled_from(COMMONMARK + EXTRAS), max_size=30).map("".join) | st.text()


def lines_of(text: str) -> list[str]:
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


def assert_in_order(blocks: Sequence[Block], first: int, last: int) -> None:
    for block in blocks:
        assert first <= block.location.first <= block.location.last <= last
        assert block.text.strip()
        assert_in_order(block.children, block.location.first, block.location.last)
        first = block.location.last + 1


def assert_children_cover(block: Block, lines: Sequence[str]) -> None:
    covered = {n for child in block.children for n in range(child.location.first, child.location.last + 1)}
    edge = block.kind is BlockKind.ADMONITION  # its first and last line are in no child
    for number in range(block.location.first + edge, block.location.last + 1 - edge):
        assert not block.children or number in covered or not lines[number - 1].strip()
    for child in block.children:
        assert child.text == "\n".join(lines[child.location.first - 1 : child.location.last])
        assert_children_cover(child, lines)


@given(raw)
@settings(max_examples=400, deadline=None)
def test_any_text_parses_into_ordered_blocks_that_do_not_overlap(text: str) -> None:
    assert_in_order(PARSER.parse_text(text).blocks, 1, len(lines_of(text)))


@given(raw)
@settings(max_examples=400, deadline=None)
def test_every_line_with_a_word_is_in_a_block_and_every_block_is_its_source_lines(text: str) -> None:
    lines = lines_of(text)
    assume(
        not re.search(r"<!--|\{/\*|^(?:import|export)|mdx-code-block", "\n".join(lines), re.MULTILINE)
    )  # what is left out on purpose
    body_line = split_front_matter("\n".join(lines))[1]
    covered: set[int] = set()
    for block in PARSER.parse_text(text).blocks:
        assert block.text == "\n".join(lines[block.location.first - 1 : block.location.last])
        assert_children_cover(block, lines)
        covered.update(range(block.location.first, block.location.last + 1))
    blank = {number for number, line in enumerate(lines, 1) if number < body_line or not line.strip()}
    assert set(range(1, len(lines) + 1)) == covered | blank


@given(documents(SNIPPETS, glue="\n\n"))
@settings(max_examples=200, deadline=None)
def test_no_word_of_a_composed_document_is_lost_and_its_lines_are_true(text: str) -> None:
    lines = lines_of(text)
    blocks = PARSER.parse_text(text).blocks
    assert all(block.text == "\n".join(lines[block.location.first - 1 : block.location.last]) for block in blocks)
    for block in blocks:
        assert_children_cover(block, lines)
    assert re.findall(r"\w+", text) == re.findall(r"\w+", "\n".join(block.text for block in blocks))


@given(documents(SNIPPETS, SECRETS, glue="\n\n"))
@settings(max_examples=200, deadline=None)
def test_comments_exports_and_fences_for_mdx_vanish_and_take_no_other_word_with_them(text: str) -> None:
    shown = "\n".join(block.text for block in PARSER.parse_text(text).blocks)
    words = [word for word in re.findall(r"\w+", LEFT_OUT.sub("", text)) if word != "secret"]
    assert words == re.findall(r"\w+", shown)


def plain_outline(tokens: Sequence[Token], lines: Sequence[str]) -> list[tuple[str, int, int]]:
    tops = [token for token in tokens if token.level == 0 and token.type in PLAIN_KINDS]
    found = []
    for token in tops:
        first, end = token.map or [0, 0]
        text = [number for number in range(first, end) if lines[number].strip()]
        found += [(PLAIN_KINDS[token.type], text[0] + 1, text[-1] + 1)] if text else []
    return found


@given(st.lists(st.sampled_from(COMMONMARK), max_size=30).map("".join))
@settings(max_examples=400, deadline=None)
def test_on_plain_commonmark_the_blocks_are_those_of_markdown_it(text: str) -> None:
    assume(not text.startswith("---"))
    try:
        tokens = PLAIN.parse(text)
    except IndexError:  # markdown-it 4 fails on some unclosed HTML in lists
        assume(False)
    blocks = PARSER.parse_text(text).blocks
    outline = [(str(block.kind), block.location.first, block.location.last) for block in blocks]
    assert outline == plain_outline(tokens, lines_of(text))


@given(st.lists(st.sampled_from("abc:-#'\"[]{}&*!|>%@`,\n\t ?.") | st.just("access: "), max_size=40).map("".join))
@settings(max_examples=400, deadline=None)
def test_any_front_matter_is_read_without_raising(inside: str) -> None:
    text = f"---\n{inside}\n---\nbody"
    front, body_line = split_front_matter(text)
    assert 1 <= body_line <= len(lines_of(text)) + 1
    if re.search(r"^access:", inside, re.MULTILINE) and body_line > inside.count("\n") + 3:
        assert front.access
