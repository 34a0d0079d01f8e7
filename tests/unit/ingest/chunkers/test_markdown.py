"""How blocks become pieces."""

import re
from collections.abc import Sequence

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.ingest.chunkers.parts import MAX_TOKEN_CHARACTERS
from citewise.model.chunk import Piece
from citewise.model.document import Block, BlockKind, Location
from tests.fakes.counters import WordCounter
from tests.growth import assert_linear

WIDE = 100_000
SMALL = ChunkSizes(target=20, floor=8, ceiling=30, overlap=0)


class CharacterCounter:
    """One token for each character that is no blank, as models count writing without spaces."""

    def counts(self, texts: Sequence[str]) -> list[int]:
        return [len("".join(text.split())) for text in texts]


def pieces_of(
    text: str, *, title: str | None = None, window: int = WIDE, sizes: ChunkSizes | None = None
) -> tuple[Piece, ...]:
    chunker = HeadingChunker(WordCounter(), window, sizes or ChunkSizes(target=20, floor=8, ceiling=30, overlap=5))
    return chunker(MarkdownParser().parse_text(text).blocks, title=title)


def words(count: int, stem: str = "word") -> str:
    return " ".join(f"{stem}{n}" for n in range(count))


def test_a_piece_never_crosses_a_heading() -> None:
    pieces = pieces_of("# A\n\none two\n\n## B\n\nthree\n\n## C\n\nfour\n")
    assert [piece.section for piece in pieces] == ["A", "B", "C"]
    assert [piece.text for piece in pieces] == ["# A\n\none two", "## B\n\nthree", "## C\n\nfour"]


def test_breadcrumbs_follow_the_headings_above() -> None:
    pieces = pieces_of("# Book\n\nx\n\n## Part\n\nx\n\n### Deep\n\nx\n\n## Other\n\nx\n")
    assert [piece.breadcrumb for piece in pieces] == [
        ("Book",),
        ("Book", "Part"),
        ("Book", "Part", "Deep"),
        ("Book", "Other"),
    ]


def test_a_given_title_stands_in_for_a_missing_first_heading() -> None:
    (first, second) = pieces_of("intro\n\n## Part\n\nx\n", title="Book")
    assert first.breadcrumb == ("Book",)
    assert first.section == "N/A"
    assert first.anchor == ""
    assert second.breadcrumb == ("Book", "Part")


def test_the_page_s_title_leads_below_a_top_heading_further_down() -> None:
    text = "intro\n\n# Reference\n\n## Props\n\n### onOpen\n\nx\n\n# Other\n\nx\n"
    pieces = pieces_of(text, title="Valve")
    assert [(piece.breadcrumb, piece.section, piece.anchor) for piece in pieces] == [
        (("Valve",), "N/A", ""),
        (("Valve", "Reference", "Props", "onOpen"), "onOpen", "onopen"),
        (("Valve", "Other"), "Other", "other"),
    ]


@pytest.mark.parametrize(
    ("text", "breadcrumb"),
    [
        ("intro\n\n# The `valve` !\n\n## Part\n\nx\n", ("The valve !", "Part")),
        ("intro\n\n# C++\n\nx\n", ("The Valve", "C++")),
        ("<p>\n\n# How it opens\n\n## Part\n\nx\n", ("How it opens", "Part")),
        ("# How it opens\n\nx\n\n# Reference\n\nx\n", ("The Valve", "Reference")),
        ("#\n\n## Part\n\nx\n", ("The Valve", "Part")),
        ("intro\n\n## The valve\n\nx\n", ("The Valve", "The valve")),
    ],
)
def test_the_title_is_not_repeated_above_the_top_heading_that_stands_for_it(
    text: str, breadcrumb: tuple[str, ...]
) -> None:
    assert pieces_of(text, title="The Valve")[-1].breadcrumb == breadcrumb


def test_titles_of_marks_alone_are_not_taken_for_each_other() -> None:
    assert pieces_of("intro\n\n# ???\n\nx\n", title="!!!")[-1].breadcrumb == ("!!!", "???")


def test_a_long_title_is_cut_in_breadcrumbs_as_a_heading_is() -> None:
    (piece,) = pieces_of("x\n", title="a" * 1_000)
    assert len(piece.breadcrumb[0]) == 200


def test_a_heading_with_only_a_deeper_one_below_introduces_it() -> None:
    (piece,) = pieces_of("# Book\n\n## Part\n\ntext\n")
    assert piece.text == "# Book\n\n## Part\n\ntext"
    assert piece.anchor == "part"
    assert (piece.location.first, piece.location.last) == (1, 5)


def test_a_heading_without_any_text_is_found_with_the_section_below_it() -> None:
    pieces = pieces_of("# A\n\ntext\n\n## Empty\n\n## B\n\ntext\n\n## Last\n")
    assert [piece.text for piece in pieces] == ["# A\n\ntext", "## Empty\n\n## B\n\ntext", "## Last"]
    assert [piece.anchor for piece in pieces] == ["a", "b", "last"]
    assert [(piece.location.first, piece.location.last) for piece in pieces] == [(1, 3), (5, 9), (11, 11)]


def test_a_heading_without_text_stays_alone_if_the_section_below_would_not_fit_with_it() -> None:
    pieces = pieces_of(f"## Empty\n\n## B\n\n{words(27)}\n")
    assert [piece.section for piece in pieces] == ["Empty", "B"]


def test_thousands_of_empty_headings_become_few_pieces() -> None:
    text = "".join(f"# h{n}\n" for n in range(6_000))
    pieces = pieces_of(text, window=256, sizes=ChunkSizes())
    assert len(pieces) < 100
    assert [line for piece in pieces for line in piece.text.split("\n\n")] == text.splitlines()
    lines = [number for piece in pieces for number in (piece.location.first, piece.location.last)]
    assert lines[::2] == [1, *(last + 1 for last in lines[1:-1:2])]
    assert len({(piece.anchor, piece.ordinal) for piece in pieces}) == len(pieces)
    assert max(piece.tokens for piece in pieces) <= ChunkSizes().ceiling


def test_a_very_long_heading_is_not_repeated_whole_in_every_piece_below_it() -> None:
    text = f"# {words(100_000)}\n\ntext\n\n" + "".join(f"## Part {n}\n\ntext\n\n" for n in range(100))
    pieces = pieces_of(text)
    assert sum(len(name) for piece in pieces for name in (*piece.breadcrumb, piece.section)) < 10 * len(text)
    assert {*words(100_000).split()} <= {word for piece in pieces for word in piece.text.split()}


def test_paragraphs_fill_up_to_the_target_and_not_beyond() -> None:
    text = "# A\n\n" + "\n\n".join(words(9, f"p{n}w") for n in range(6))
    sizes = [piece.tokens for piece in pieces_of(text, sizes=ChunkSizes(target=20, floor=8, ceiling=30, overlap=0))]
    assert sizes == [20, 18, 18]


def test_a_short_rest_joins_its_neighbor_if_that_stays_under_the_ceiling() -> None:
    text = f"# A\n\n{words(18)}\n\n{words(3, 'tail')}\n"
    (piece,) = pieces_of(text, sizes=ChunkSizes(target=20, floor=8, ceiling=30, overlap=0))
    assert piece.tokens == 23


def test_neighbors_of_a_section_overlap_and_sections_do_not() -> None:
    text = f"# A\n\n{words(18, 'a')}\n\n{words(18, 'b')}\n\n## B\n\n{words(18, 'c')}\n"
    first, second, other = pieces_of(text)
    assert second.text.startswith("a13 a14 a15 a16 a17\n\nb0")
    assert second.location.first == 3
    assert first.text.startswith("# A\n\na0")
    assert other.text.startswith("## B\n\nc0")


def test_overlap_begins_with_a_whole_sentence_where_it_can() -> None:
    text = f"# A\n\n{words(15, 'a')}. One two. End.\n\n{words(18, 'b')}\n"
    _, second = pieces_of(text)
    assert second.text.startswith("One two. End.\n\nb0") or second.text.startswith("End.\n\nb0")


def test_a_fence_up_to_the_ceiling_stays_whole_with_its_heading() -> None:
    code = "\n".join(f"line{n} = {n}" for n in range(6))
    pieces = pieces_of(f"# A\n\nbefore\n\n## Code\n\n```python\n{code}\n```\n\nafter {words(9)}\n")
    fence = next(piece for piece in pieces if "```" in piece.text)
    assert fence.text == f"## Code\n\n```python\n{code}\n```"
    assert fence.kind == "code"
    assert fence.language == "python"
    assert fence.has_code


ROOMY = ChunkSizes(target=60, floor=8, ceiling=80, overlap=5)


@pytest.mark.parametrize("mark", ["", "> ", "   "])
def test_a_fence_above_the_ceiling_is_cut_at_blank_lines_each_part_in_its_fence(mark: str) -> None:
    functions = [f"def f{n}():\n{mark}    first = {n}\n{mark}    return first" for n in range(60)]
    lead = "1. run\n\n" if mark == "   " else ""
    text = f"{lead}{mark}```python\n{mark}" + f"\n{mark.rstrip()}\n{mark}".join(functions) + f"\n{mark}```\n"
    lines = text.split("\n")
    parts = [piece for piece in pieces_of(text, sizes=ROOMY) if piece.has_code]
    assert len(parts) > 5
    for piece in parts:
        assert piece.tokens <= ROOMY.ceiling
        assert (piece.kind, piece.language) == ("code", "python")
        (block,) = (block for block in piece.blocks if block.kind is BlockKind.CODE)
        code = piece.text[block.start : block.end]
        assert code.split("\n")[0] == f"{mark}```python"
        assert code.split("\n")[-1] == f"{mark}```"
        shown = piece.text[: block.start] + code[block.head : len(code) - block.tail]
        assert shown == "\n".join(lines[piece.location.first - 1 : piece.location.last])
    for function in functions:
        assert any(function in piece.text for piece in parts)


def test_a_fence_is_cut_at_definitions_before_other_blank_lines() -> None:
    steps = "\n\n".join(f"    step_{n} = {n}" for n in range(9))
    code = "\n\n".join(f"def f{n}():\n{steps}" for n in range(4))
    parts = pieces_of(f"```python\n{code}\n```\n", sizes=ROOMY)
    assert [piece.text.split("\n")[1] for piece in parts] == ["def f0():", "def f2():"]


def test_a_fence_that_begins_an_item_is_repeated_without_its_mark() -> None:
    code = "\n\n".join(f"  line_{n} = {n}" for n in range(60))
    first, *others = pieces_of(f"- ```sh\n{code}\n  ```\n", sizes=ROOMY)
    assert first.text.startswith("- ```sh\n  line_0")
    assert all(piece.text.startswith("  ```sh\n  line_") for piece in others)
    assert all(piece.text.endswith("\n  ```") for piece in (first, *others))


def test_what_follows_a_cut_fence_is_no_part_of_it_and_nothing_of_it_is_repeated() -> None:
    code = "\n\n".join(f"line_{n} = {n}" for n in range(30))
    *_, last, after = pieces_of(f"```sh\n{code}\n```\n\n{words(70)}\n", sizes=ROOMY)
    assert last.text.endswith("```")
    assert after.text.startswith("word0")


def test_a_table_above_the_ceiling_is_cut_between_rows_each_part_below_its_header() -> None:
    rows = [f"| {n} | value {n} |" for n in range(90)]
    header = "| key | value |\n| --- | --- |"
    table = "\n".join((header, *rows))
    pieces = [piece for piece in pieces_of(f"# A\n\ntext\n\n{table}\n", sizes=ROOMY) if "|" in piece.text]
    assert all(piece.tokens <= ROOMY.ceiling and piece.kind == "table" for piece in pieces)
    assert all(header in piece.text for piece in pieces)
    assert all(piece.text[piece.blocks[0].head :].startswith("| ") for piece in pieces[1:])
    found = [line for piece in pieces for line in piece.text.split("\n") if line in rows]
    assert list(dict.fromkeys(found)) == rows
    lines = [(piece.location.first, piece.location.last) for piece in pieces]
    assert [first for first, _ in lines[1:]] == [last + 1 for _, last in lines[:-1]]
    assert lines[-1][1] == 4 + 92


@pytest.mark.parametrize(
    "text",
    [
        words(5_000),
        "| a | b |\n| - | - |\n| " + words(5_000) + " | x |",
        "```\n" + words(5_000) + "\n```",
        ":::note Remember\n\n" + words(5_000) + "\n\n:::",
        "<details>\n" + words(5_000) + "\n</details>",
        "$$\n" + words(5_000) + "\n$$",
        "| " + " | ".join(words(2_000).split()) + " |\n|" + "-|" * 2_000 + "\n| " + words(3_000, "cell") + " |",
        "# " + words(5_000),
        "- item\n\n  ```\n  " + words(5_000) + "\n  ```",
    ],
    ids=["paragraph", "row", "fence", "admonition", "html", "math", "header", "heading", "item"],
)
def test_a_line_much_longer_than_the_ceiling_is_cut_between_words(text: str) -> None:
    pieces = pieces_of(text, sizes=ROOMY)
    assert max(piece.tokens for piece in pieces) <= ROOMY.ceiling
    assert set(re.findall(r"\w+", text)) <= {word for piece in pieces for word in re.findall(r"\w+", piece.text)}
    assert {(piece.location.first, piece.location.last) for piece in pieces} <= {
        (first, last) for first in range(1, 7) for last in range(first, 7)
    }


def test_a_word_of_a_megabyte_is_cut_though_it_is_one_token() -> None:
    pieces = pieces_of("x" * 1_000_000, sizes=ROOMY)
    assert sum(piece.text.count("x") for piece in pieces) >= 1_000_000
    assert max(len(piece.text) for piece in pieces) <= ROOMY.ceiling * MAX_TOKEN_CHARACTERS


@pytest.mark.parametrize(
    ("kind", "piece"),
    [
        *((BlockKind.PARAGRAPH, piece) for piece in ("word word. ", "word ", "x", ". ")),
        *((BlockKind.CODE, piece) for piece in ("x = 1\n", "> \n", "\ndef f():\n", "\n  public static ", "\n\n@")),
        *((BlockKind.HTML, piece) for piece in ("<tr>\n</tr>\n", "</tr> ", "</tr>\n\n")),
        (BlockKind.TABLE, "| a | b c d |\n"),
    ],
)
def test_time_grows_in_proportion_to_a_large_block(kind: BlockKind, piece: str) -> None:
    chunker = HeadingChunker(WordCounter(), 256)

    def cut(text: str) -> object:
        return chunker([Block(kind, text, Location("lines", 1, 1 + text.count("\n")))], title=None)

    assert_linear(cut, piece, characters=400_000)


def test_a_long_list_is_cut_between_its_items() -> None:
    items = "\n".join(f"- item {n} {words(6)}" for n in range(12))
    pieces = pieces_of(f"# A\n\n{items}\n", sizes=ChunkSizes(target=20, floor=8, ceiling=30, overlap=0))
    assert len(pieces) > 3
    assert all(piece.tokens <= 30 for piece in pieces)
    assert all(line.startswith(("#", "- item")) for piece in pieces for line in piece.text.split("\n") if line)


def test_a_fence_inside_a_long_list_is_not_cut_and_not_repeated_in_part() -> None:
    code = "\n".join(f"   step {n}" for n in range(20))
    text = f"# A\n\n1. first {words(10)}\n2. run\n\n   ```\n{code}\n   ```\n3. last {words(10)}\n"
    for piece in pieces_of(text):
        assert piece.text.count("```") in (0, 2)


def test_a_long_paragraph_is_cut_between_sentences_with_true_lines() -> None:
    sentences = [f"Sentence {n} has {words(5)}." for n in range(12)]
    text = "# A\n\n" + "\n".join(sentences) + "\n"
    lines = text.split("\n")
    for piece in pieces_of(text, sizes=ChunkSizes(target=20, floor=8, ceiling=30, overlap=0)):
        assert piece.tokens <= 30
        first = piece.text.split("\n")[0]
        assert lines[piece.location.first - 1] == first


def wrapped(sentences: int, *, end: str = ".") -> str:
    """Sentences of 11 words, wrapped at every seventh word wherever that is."""
    all_words = " ".join(f"Sentence {n} has {words(8)}{end}" for n in range(sentences)).split()
    return "\n".join(" ".join(all_words[at : at + 7]) for at in range(0, len(all_words), 7))


def test_wrapped_prose_is_cut_between_sentences_and_never_inside_of_one() -> None:
    text = wrapped(20)
    pieces = pieces_of(text, sizes=ChunkSizes(target=20, floor=8, ceiling=30, overlap=14))
    assert len(pieces) > 5
    assert all(re.match(r"Sentence\s\d", piece.text) and piece.text.endswith(".") for piece in pieces)


def test_a_sentence_is_cut_only_if_it_is_larger_than_a_piece() -> None:
    fits, is_larger = words(28, "A") + ".", words(70, "B") + "."
    pieces = [piece.text for piece in pieces_of(f"{fits} {is_larger} Short one.", sizes=SMALL)]
    assert fits in pieces
    assert len(pieces) > 4
    assert all(len(piece.split()) <= 30 for piece in pieces)


@pytest.mark.parametrize("stop", ["", "\u3002", "\uff0c"])
def test_text_without_spaces_is_cut_at_its_stops_or_by_length(stop: str) -> None:
    text = ("\u6c34" * 39 + stop) * 100
    chunker = HeadingChunker(CharacterCounter(), WIDE, ChunkSizes(target=100, floor=40, ceiling=200, overlap=0))
    pieces = chunker([Block(BlockKind.PARAGRAPH, text, Location("lines", 1, 1))], title=None)
    assert max(len(piece.text) for piece in pieces) <= 200
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text.endswith(stop) for piece in pieces)


TERMS = [
    ("- **Float {n}**: rises with the tide."),
    ("* __Float {n}__ \u2014 rises with the tide."),
    ("- **Float {n}:** rises with the tide."),
    ("1. `float_{n}` (default 3) - rises with the tide."),
    ("- [`float_{n}`](floats.md): rises with the tide."),
    ("- [float {n}][floats]: rises with the tide."),
]


@pytest.mark.parametrize("entry", TERMS)
def test_each_entry_of_a_long_list_of_definitions_is_a_piece_under_its_heading(entry: str) -> None:
    entries = [entry.replace("{n}", str(n)) for n in range(8)]
    text = "# Terms\n\nThese are used here:\n\n" + "\n".join(entries) + "\n\nThat is all.\n"
    pieces = pieces_of(text, sizes=ChunkSizes())
    assert [piece.text for piece in pieces] == ["# Terms\n\nThese are used here:", *entries, "That is all."]
    assert {piece.breadcrumb for piece in pieces} == {("Terms",)}
    assert [piece.location.first for piece in pieces[1:-1]] == list(range(5, 13))


@pytest.mark.parametrize(
    ("entry", "count"),
    [
        ("- **Float {n}**: rises with the tide.", 7),
        ("- **Float {n}** rises with the tide.", 8),
        ("- [Float {n}](float_{n}.md): rises with the tide.", 8),
        ("- Turn valve {n}: then wait.", 8),
    ],
)
def test_a_short_list_and_one_of_other_items_stay_whole(entry: str, count: int) -> None:
    entries = "\n".join(entry.replace("{n}", str(n)) for n in range(count))
    (piece,) = pieces_of(f"# Floats\n\n{entries}\n", sizes=ChunkSizes())
    assert piece.text.endswith(entries)


def test_an_entry_keeps_what_is_nested_in_it() -> None:
    entries = "\n".join(f"- **Float {n}**: rises.\n  - Of cork.\n\n  More on it." for n in range(9))
    pieces = pieces_of(f"# Floats\n\n{entries}\n", sizes=ChunkSizes())
    assert len(pieces) == 9
    assert pieces[3].text == "- **Float 3**: rises.\n  - Of cork.\n\n  More on it."


def test_a_piece_that_stands_beside_the_content_is_of_that_kind_even_if_it_is_code() -> None:
    code = f"```sh\n{words(9)}\n```"
    pieces = pieces_of(f"# Pumps\n\ntext\n\n## Exercises\n\nClose it.\n\n### First\n\n{code}\n\n## End\n\n{code}\n")
    assert [piece.kind for piece in pieces] == [None, "exercise", "exercise", "code"]
    assert [piece.has_code for piece in pieces] == [False, False, True, True]


def test_sizes_are_lowered_to_the_window_with_the_breadcrumb_counted() -> None:
    text = f"# {words(10, 'title')}\n\n" + "\n\n".join(words(20, f"p{n}w") for n in range(50))
    pieces = pieces_of(text, window=64, sizes=ChunkSizes())
    assert len(pieces) > 1
    for piece in pieces:
        assert piece.tokens + len(piece.breadcrumb[0].split()) + 2 <= 64


def test_a_section_up_to_the_ceiling_stays_whole_though_the_window_is_shorter() -> None:
    heading = "# Title\n\n"
    fits = heading + "\n\n".join(words(20, f"p{n}w") for n in range(39))  # 780 words and the heading's
    too_long = heading + "\n\n".join(words(20, f"p{n}w") for n in range(41))
    assert len(pieces_of(fits, window=64, sizes=ChunkSizes())) == 1
    assert max(piece.tokens for piece in pieces_of(too_long, window=64, sizes=ChunkSizes())) <= 64


def test_a_model_that_sees_a_whole_chunk_has_sections_cut_at_the_target() -> None:
    text = "# Title\n\n" + "\n\n".join(words(20, f"p{n}w") for n in range(39))
    assert len(pieces_of(text, window=4096, sizes=ChunkSizes())) == 2


def test_duplicate_explicit_ids_still_give_different_places() -> None:
    pieces = pieces_of("## A {#same}\n\none\n\n## B {#same}\n\ntwo\n")
    assert len({(piece.anchor, piece.ordinal) for piece in pieces}) == 2


def test_math_marks_equations() -> None:
    plain, block, inline = pieces_of("# A\n\ncosts $5 and $6\n\n## B\n\n$$\nx\n$$\n\n## C\n\n$a = b$ holds\n")
    assert not plain.has_equations
    assert block.has_equations
    assert inline.has_equations


def test_a_piece_knows_its_blocks() -> None:
    text = (
        "# Pumps\n\nFirst:\n\n1. Close the valve.\n   - Turn it right.\n2. Run\n   ```sh\n   pump on\n   ```\n"
        "\n   Wait for the lamp.\n\n> Never alone.\n\n:::tip Note this\nListen.\n:::\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n$$\nx^2\n$$\n"
    )
    (piece,) = pieces_of(text, sizes=ChunkSizes(target=90, floor=8, ceiling=90, overlap=5))
    blocks = [(str(block.kind), block.depth, piece.text[block.start : block.end]) for block in piece.blocks]
    assert blocks == [
        ("heading", 0, "# Pumps"),
        ("paragraph", 0, "First:"),
        ("list_item", 1, "1. Close the valve."),
        ("list_item", 2, "   - Turn it right."),
        ("list_item", 1, "2. Run"),
        ("code", 1, "   ```sh\n   pump on\n   ```"),
        ("paragraph", 1, "   Wait for the lamp."),
        ("quote", 0, "> Never alone."),
        ("admonition", 0, ":::tip Note this"),
        ("paragraph", 0, "Listen."),
        ("table", 0, "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("math", 0, "$$\nx^2\n$$"),
    ]
    assert [block.language for block in piece.blocks if block.language] == ["sh"]
