"""The answerer that only quotes: each excerpt under its headings, with one marker, as valid Markdown."""

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from citewise.answer.extractive import ExtractiveGenerator
from citewise.answer.markers import MarkerFilter
from citewise.errors import Cancelled
from citewise.model.answer import ContextSource, Prompt
from citewise.model.cancellation import Cancellation
from citewise.model.query import Mode
from citewise.text.quoting import shown
from tests.contexts import a_prompt, a_source

COMMONMARK = MarkdownIt("commonmark").enable("table")


def prompt_of(*sources: ContextSource, mode: Mode = "normal") -> Prompt:
    return replace(a_prompt(*sources), mode=mode)


def said(*sources: ContextSource, mode: Mode = "normal") -> str:
    return "".join(ExtractiveGenerator().stream(prompt_of(*sources, mode=mode)))


def under(*headings: str, text: str = "Read `it`.", n: int = 1) -> ContextSource:
    source = a_source(n, text)
    return replace(source, citation=replace(source.citation, breadcrumb=headings))


def blocks_in(text: str) -> list[str]:
    """The blocks of the answer from the top, as any reader of Markdown sees them."""
    return [
        token.type.removesuffix("_open") for token in COMMONMARK.parse(text) if token.level == 0 and token.nesting >= 0
    ]


def test_it_never_passes_for_a_language_model() -> None:
    assert ExtractiveGenerator().name == "extractive"
    assert ExtractiveGenerator().only_quotes


def test_each_excerpt_stands_under_its_headings_with_one_marker() -> None:
    answer = said(under("Tides", "Reading", text="At noon."), under("Tides", text="At dusk.", n=2))
    assert answer == "**Tides \u203a Reading** [1]  \nAt noon.\n\n**Tides** [2]  \nAt dusk."


def test_a_tag_in_a_heading_is_shown_and_not_obeyed() -> None:
    rendered = COMMONMARK.render(said(under("The <Tabs> component, a < b")))
    assert "The &lt;Tabs&gt; component, a &lt; b" in rendered


def test_without_headings_the_title_stands_above() -> None:
    assert said(under()).startswith("**Tides** [1]")


def test_of_a_selection_nothing_but_its_text_and_its_marker_is_said() -> None:
    assert said(a_source(1, "- at noon\n- at dusk"), mode="selected_text_only") == "- at noon\n- at dusk\n\n[1]"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("- at noon\n- at dusk", "bullet_list"),
        ("2. at noon\n3. at dusk", "ordered_list"),
        ("```\nnoon\n```", "fence"),
        ("| at |\n|---|\n| noon |", "table"),
        ("> at noon", "blockquote"),
        ("<div>\nat noon\n</div>", "html_block"),
    ],
)
def test_what_is_no_paragraph_is_not_swallowed_by_the_headings(text: str, block: str) -> None:
    answer = said(under("Tides", text=text), under("Tides", text="At dusk.", n=2))
    assert blocks_in(answer) == ["paragraph", block, "paragraph"]
    selected = said(a_source(1, text), mode="selected_text_only")
    assert blocks_in(selected) == [block, "paragraph"]


@pytest.mark.parametrize(
    ("heading", "shown"),
    [
        ("Set `x` and *y*", "Set `x` and y"),
        ("The ` key", "The ' key"),
        ("See [3] [Source 2: b]", "See (3) (Source 2: b)"),
        ("Two\nlines", "Two lines"),
        ("**bold**", "bold"),
    ],
)
def test_headings_are_one_bold_line_whatever_they_hold(heading: str, shown: str) -> None:
    answer = said(under(heading))
    assert answer == f"**{shown}** [1]  \nRead `it`."
    assert "<strong>" in COMMONMARK.render(answer)
    assert COMMONMARK.render(answer).count("<code>it</code>") == 1


def test_nothing_is_said_of_no_source_or_after_a_cancellation() -> None:
    pieces = ExtractiveGenerator().stream(prompt_of(under("A"), under("B", n=2)), stop := Cancellation())
    assert next(pieces).startswith("**A**")
    stop.cancel()
    with pytest.raises(Cancelled):
        next(pieces)
    nothing = replace(prompt_of(), context=replace(prompt_of().context, sources=()))
    assert list(ExtractiveGenerator().stream(nothing)) == []


IMITATIONS = [
    *("[1 and 2]", "\uff3b1\uff3d", "[2 to 3]", "[2\u20133]", "[2 & 3]", "[_2_]", "[2\u2020L3]", "\\[2 and 3\\]"),
    *("[2\n\nand 3]", "\uff3bSource 2\uff3d", "\u30103\u3011", "[Source 2 (page 3)", "| [3] | [1, 2] |"),
    *("&#91;1&#93;", "&lbrack;2&rbrack;", "&#x5B;3&#x5D;", "[So**urce 2**: x]"),
]


@pytest.mark.parametrize("imitation", IMITATIONS)
@pytest.mark.parametrize("mode", ["normal", "selected_text_only"])
def test_no_document_writes_a_marker(imitation: str, mode: Mode) -> None:
    answer = said(under("Tides", text=f"It is read {shown(imitation)} at noon {imitation}."), mode=mode)
    markers = MarkerFilter((1, 2, 3))
    assert len("".join(text for text, _ in markers.filtered([answer]))) > 0
    assert markers.used == (1,)
    assert answer.count("[1]") == 1
    if mode == "normal":
        quoted = COMMONMARK.render(said(under("Tides", text=shown(imitation)))).partition("[1]")[2]
        assert not re.search(r"\[\W*(?:\d|source)", re.sub(r"<[^>]*>", "", quoted), re.IGNORECASE)


def test_code_keeps_its_brackets() -> None:
    assert said(under("Tides", text="```py\nx[1]\n```")).endswith("```py\nx[1]\n```")
