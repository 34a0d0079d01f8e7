"""What every chunker promises."""

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import ChunkSizes, HeadingChunker
from citewise.model.document import Block, Item
from citewise.ports.sources import Chunker
from tests.fakes.counters import WordCounter
from tests.fakes.formats import BookParser, ThreadChunker, ThreadParser, books, thread

TEXTS = [f"Sentence {n} of the harbor book. It has another one." for n in range(12)]
SIZES = ChunkSizes(target=30, floor=10, ceiling=40, overlap=5)
HEADINGS = HeadingChunker(WordCounter(), 1000, SIZES)


def blocks_of(kind: str) -> tuple[Block, ...]:
    item = Item("item", 1, "any/type")
    if kind == "books":
        return BookParser().parse(books({"name": "a", "title": "T", "pages": TEXTS}), item)[0].blocks
    if kind == "thread":
        messages = [("ann", 4000.0 * n, text) for n, text in enumerate(TEXTS)]
        return ThreadParser().parse(thread("ops", *messages), item)[0].blocks
    return MarkdownParser().parse("\n\n".join(("# Book", *TEXTS)).encode(), item)[0].blocks


CASES: dict[str, Chunker] = {"markdown": HEADINGS, "books": HEADINGS, "thread": ThreadChunker()}


@pytest.mark.parametrize("kind", CASES)
def test_every_word_is_in_a_piece_in_the_order_of_the_document(kind: str) -> None:
    pieces = CASES[kind](blocks_of(kind), title="Title")
    assert len(pieces) > 1
    joined = " ".join(piece.text for piece in pieces)
    places = [joined.find(text) for text in TEXTS]
    assert -1 not in places
    assert places == sorted(places)
    firsts = [piece.location.first for piece in pieces]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize("kind", CASES)
def test_pieces_have_places_of_their_own_and_know_their_blocks(kind: str) -> None:
    pieces = CASES[kind](blocks_of(kind), title="Title")
    assert len({(piece.anchor, piece.ordinal) for piece in pieces}) == len(pieces)
    for piece in pieces:
        assert type(piece.location) is type(blocks_of(kind)[0].location)
        assert piece.blocks[0].start == 0
        assert piece.blocks[-1].end == len(piece.text)


@pytest.mark.parametrize("kind", CASES)
def test_the_same_blocks_are_cut_the_same_way(kind: str) -> None:
    assert CASES[kind](blocks_of(kind), title=None) == CASES[kind](blocks_of(kind), title=None)
    assert CASES[kind].version
