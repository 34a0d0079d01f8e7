"""How blocks become pieces."""

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.model.chunk import Piece
from tests.fakes.counters import WordCounter

WIDE = 100_000


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


def test_a_heading_with_only_a_deeper_one_below_introduces_it() -> None:
    (piece,) = pieces_of("# Book\n\n## Part\n\ntext\n")
    assert piece.text == "# Book\n\n## Part\n\ntext"
    assert piece.anchor == "part"
    assert (piece.location.first, piece.location.last) == (1, 5)


def test_a_heading_without_any_text_is_still_found() -> None:
    pieces = pieces_of("# A\n\ntext\n\n## Empty\n\n## B\n\ntext\n\n## Last\n")
    assert [piece.text for piece in pieces] == ["# A\n\ntext", "## Empty", "## B\n\ntext", "## Last"]


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


def test_a_large_fence_stays_whole_with_its_heading() -> None:
    code = "\n".join(f"line{n} = {n}" for n in range(40))
    pieces = pieces_of(f"# A\n\nbefore\n\n## Code\n\n```python\n{code}\n```\n\nafter {words(9)}\n")
    fence = next(piece for piece in pieces if "```" in piece.text)
    assert fence.text == f"## Code\n\n```python\n{code}\n```"
    assert fence.kind == "code"
    assert fence.language == "python"
    assert fence.has_code


def test_a_large_table_stays_whole() -> None:
    rows = "\n".join(f"| {n} | value {n} |" for n in range(20))
    table = f"| key | value |\n| --- | --- |\n{rows}"
    pieces = pieces_of(f"# A\n\n{words(15)}\n\n{table}\n")
    assert any(piece.text == table and piece.kind == "table" for piece in pieces)


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
