"""What every parser promises."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.model.document import Block, Item
from citewise.ports.sources import Parser
from tests.fakes.formats import BookParser, ThreadParser, books, thread

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
TEXTS = ("Tides rise.", f"The token is {KEY} today.", "A gauge reads.")


BOOKS = [{"name": str(n), "title": "T", "pages": [text]} for n, text in enumerate(TEXTS)]


@dataclass(frozen=True, slots=True)
class Case:
    parser: Parser
    data: bytes  # an item that says TEXTS


CASES = {
    "markdown": Case(MarkdownParser(), "\n\n".join((f"---\ntitle: {KEY}\nkey: {KEY}\n---", *TEXTS)).encode()),
    "books": Case(BookParser(), books(*BOOKS)),
    "thread": Case(ThreadParser(), thread("ops", *(("ann", 1.0, text) for text in TEXTS))),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def leaves(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        yield from leaves(block.children) if block.children else (block,)


def test_every_word_is_in_a_block(case: Case) -> None:
    blocks = [block for document in case.parser.parse(case.data, an_item(case)) for block in leaves(document.blocks)]
    words = " ".join(block.text for block in blocks)
    assert all(word in words for text in TEXTS for word in text.split() if word != KEY)


def test_blocks_come_in_order_with_their_location(case: Case) -> None:
    for document in case.parser.parse(case.data, an_item(case)):
        places = [(block.location.first, block.location.last) for block in document.blocks]
        assert places == sorted(places)
        assert all(1 <= first <= last for first, last in places)


def test_secrets_are_masked_everywhere(case: Case) -> None:
    documents = case.parser.parse(case.data, an_item(case))
    assert KEY not in repr(documents)
    assert sum(count for document in documents for count in document.masked.values()) >= 1


def test_documents_of_an_item_have_different_names(case: Case) -> None:
    names = [document.name for document in case.parser.parse(case.data, an_item(case))]
    assert len(set(names)) == len(names)


def test_the_same_data_is_parsed_the_same_way(case: Case) -> None:
    first, again = (case.parser.parse(case.data, an_item(case)) for _ in range(2))
    assert first == again
    assert case.parser.version


def an_item(case: Case) -> Item:
    return Item("item", len(case.data), "any/type")
