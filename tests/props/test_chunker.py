"""What holds of every document: cover, order, size, determinism, and that an edit stays local."""

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.model.chunk import Piece
from tests.fakes.counters import WordCounter
from tests.props.markdown import block, document, sections

SIZES = ChunkSizes(target=40, floor=15, ceiling=60, overlap=10)


def pieces_of(text: str) -> tuple[Piece, ...]:
    return HeadingChunker(WordCounter(), 100_000, SIZES)(MarkdownParser().parse_text(text).blocks, title=None)


def tokens(text: str) -> list[str]:
    return re.findall(r"\w+", text)


@settings(max_examples=150, deadline=None)
@given(document)
def test_every_word_is_in_a_piece_that_covers_its_line(text: str) -> None:
    pieces = pieces_of(text)
    for number, line in enumerate(text.split("\n"), start=1):
        covering = {
            token
            for piece in pieces
            if piece.location.first <= number <= piece.location.last
            for token in tokens(piece.text)
        }
        assert set(tokens(line)) <= covering


@settings(max_examples=100, deadline=None)
@given(document)
def test_pieces_come_in_order_and_are_the_same_each_time(text: str) -> None:
    pieces = pieces_of(text)
    assert pieces == pieces_of(text)
    lasts = [piece.location.last for piece in pieces]
    firsts = [piece.location.first for piece in pieces]
    assert lasts == sorted(lasts)
    assert firsts == sorted(firsts)
    places = [(piece.anchor, piece.ordinal) for piece in pieces]
    assert len(set(places)) == len(places)


@settings(max_examples=150, deadline=None)
@given(document)
def test_no_piece_passes_the_ceiling(text: str) -> None:
    for piece in pieces_of(text):
        assert piece.tokens <= SIZES.ceiling


@settings(max_examples=150, deadline=None)
@given(document)
def test_no_fence_table_or_admonition_is_cut_that_fits(text: str) -> None:
    whole = [
        each.text for each in MarkdownParser().parse_text(text).blocks if each.kind in ("code", "table", "admonition")
    ]
    pieces = pieces_of(text)
    for each, size in zip(whole, WordCounter().counts(whole), strict=True):
        assert size > SIZES.ceiling // 2 or any(each in piece.text for piece in pieces)  # half is left for headings
    for piece in pieces:
        fences = [line for line in piece.text.split("\n") if line.startswith(("```", "~~~~"))]
        assert len(fences) % 2 == 0


@settings(max_examples=150, deadline=None)
@given(sections, st.data())
def test_an_edit_in_one_section_changes_no_piece_of_another(texts: list[str], data: st.DataObject) -> None:
    # Headings are made unique, as an edit of one heading may renumber anchors of its namesakes.
    unique = [re.sub(r"^(#+ )", rf"\1Section {n} ", text, count=1) for n, text in enumerate(texts)]
    at = data.draw(st.integers(0, len(unique) - 1))
    edited = [*unique[:at], f"{unique[at]}\n\n{data.draw(block)}", *unique[at + 1 :]]
    before, after = ("\n\n".join(parts) + "\n" for parts in (unique, edited))

    def others(text: str) -> dict[tuple[str, int], str]:
        # Empty sections join the one below them if it fits: those around the edit count as edited too.
        first = next((n + 1 for n in range(at - 1, -1, -1) if "\n" in unique[n]), 0)
        last = next((n for n in range(at + 1, len(unique)) if "\n" in unique[n]), len(unique))
        near = tuple(f"section-{n}-" for n in range(first, last + 1))
        return {
            (piece.anchor, piece.ordinal): piece.text for piece in pieces_of(text) if not piece.anchor.startswith(near)
        }

    assert others(before) == others(after)


@settings(max_examples=150, deadline=None)
@given(document)
def test_the_blocks_of_a_chunk_come_in_order_and_hold_every_word(text: str) -> None:
    for piece in pieces_of(text):
        end = 0
        between = ""
        for _, start, stop, *_ in piece.blocks:
            assert end <= start < stop
            between += piece.text[end:start]
            end = stop
        assert not any(map(str.isalnum, between + piece.text[end:]))
