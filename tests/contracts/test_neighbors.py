"""What every reader of passages promises of what stands around them: of one section, as far as a reader may see it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.model.access import OWNER, Access, Principal, Scope
from citewise.model.chunk import Chunk
from citewise.model.filters import Where
from citewise.model.ids import ChunkId
from citewise.model.ranking import Passage
from citewise.ports.catalog import Catalog, DocumentWrite
from tests.builders import SCOPE, a_document, a_piece
from tests.contracts.test_catalog import put
from tests.stores import opened_catalog

OTHER = Scope("rival", "handbook")
EVERYTHING = Where(SCOPE, None)
ANN = Where(SCOPE, Principal("ann", frozenset({"ops"})).readers)
BOB = Where(SCOPE, Principal("bob", frozenset()).readers)


@pytest.fixture(params=["sqlite", "memory"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    opened = opened_catalog(request.param, tmp_path)
    yield opened
    opened.close()


def a_page(path: str, *anchors: str, scope: Scope = SCOPE, access: str = "project") -> DocumentWrite:
    """A document with a chunk in each of these sections, in order; the same anchor again is the same section."""
    document = a_document(path, scope=scope, access=Access.of([access]))
    pieces = [
        replace(a_piece(f"{path} {at}", ordinal=anchors[:at].count(anchor)), anchor=anchor)
        for at, anchor in enumerate(anchors)
    ]
    return DocumentWrite(document, Chunk.of_document(document, tuple(pieces)))


def ids_of(write: DocumentWrite, *positions: int) -> list[ChunkId]:
    return [write.chunks[position].id for position in positions]


def around(catalog: Catalog, ids: Sequence[ChunkId], *, reach: int = 2, where: Where = EVERYTHING) -> list[str]:
    return sorted(passage.text for passage in catalog.neighbors(ids, reach=reach, where=where))


def test_neighbors_are_the_others_within_reach_in_the_same_section(catalog: Catalog) -> None:
    page = a_page("a.md", *"ssssssss")
    put(catalog, page, a_page("b.md", *"ssssssss"))
    assert around(catalog, ids_of(page, 3)) == ["a.md 1", "a.md 2", "a.md 4", "a.md 5"]
    assert around(catalog, ids_of(page, 0), reach=1) == ["a.md 1"]
    assert around(catalog, ids_of(page, 3), reach=0) == []
    assert len(around(catalog, ids_of(page, 7), reach=99)) == 7


def test_another_section_is_not_around_however_near(catalog: Catalog) -> None:
    page = a_page("a.md", "s", "s", "t", "s", "", "")
    put(catalog, page)
    assert around(catalog, ids_of(page, 1)) == ["a.md 0", "a.md 3"]
    assert around(catalog, ids_of(page, 2)) == []
    assert around(catalog, ids_of(page, 4)) == ["a.md 5"]


def test_each_is_given_once_and_none_of_those_that_are_known(catalog: Catalog) -> None:
    page = a_page("a.md", *"sssss")
    put(catalog, page)
    assert around(catalog, ids_of(page, 1, 3)) == ["a.md 0", "a.md 2", "a.md 4"]
    assert around(catalog, ids_of(page, *range(5))) == []


def test_a_neighbor_is_the_passage_that_would_be_read_by_its_id(catalog: Catalog) -> None:
    page = a_page("a.md", *"sss")
    put(catalog, page)
    found = catalog.neighbors(ids_of(page, 1), reach=1, where=EVERYTHING)
    read = catalog.passages(ids_of(page, 0, 2), where=EVERYTHING)
    assert {passage.chunk_id: passage for passage in found} == read
    assert all(isinstance(passage, Passage) for passage in found)


def test_of_nothing_and_of_what_is_gone_there_are_no_neighbors(catalog: Catalog) -> None:
    page = a_page("a.md", *"sss")
    put(catalog, page)
    assert around(catalog, []) == []
    assert around(catalog, [ChunkId("0" * 16)]) == []
    catalog.remove(SCOPE, ["a.md"])
    assert around(catalog, ids_of(page, 1)) == []


@pytest.mark.parametrize(
    ("rule", "who"),
    [
        ("public", {"all", "ann", "bob"}),
        ("project", {"all", "ann", "bob"}),
        ("group:ops", {"all", "ann"}),
        ("owner:bob", {"all", "bob"}),
        ("owner:carl", {"all"}),
    ],
)
def test_nobody_learns_of_neighbors_in_a_document_that_is_not_for_them(
    catalog: Catalog, rule: str, who: set[str]
) -> None:
    page = a_page("a.md", *"sss", access=rule)
    put(catalog, page)
    readers = {"all": EVERYTHING, "ann": ANN, "bob": BOB}
    assert {name for name, where in readers.items() if around(catalog, ids_of(page, 1), where=where)} == who


def test_a_visible_chunk_beside_a_hidden_one_changes_nothing(catalog: Catalog) -> None:
    open_page, hidden = a_page("a.md", *"sss"), a_page("b.md", *"sss", access="group:ops")
    put(catalog, open_page, hidden)
    ids = [*ids_of(open_page, 1), *ids_of(hidden, 1)]
    assert around(catalog, ids, where=BOB) == ["a.md 0", "a.md 2"]
    assert len(around(catalog, ids, where=ANN)) == 4


def test_what_another_tenant_has_under_the_same_path_is_not_around(catalog: Catalog) -> None:
    ours, theirs = a_page("a.md", *"sss"), a_page("a.md", *"sss", scope=OTHER)
    put(catalog, ours)
    put(catalog, theirs)
    assert around(catalog, ids_of(theirs, 1)) == []
    assert around(catalog, ids_of(ours, 1), where=Where(OTHER, None)) == []
    assert around(catalog, [*ids_of(ours, 1), *ids_of(theirs, 1)], where=Where(OTHER, OWNER.readers)) == [
        "a.md 0",
        "a.md 2",
    ]


def test_a_rule_that_was_narrowed_hides_the_neighbors_at_once(catalog: Catalog) -> None:
    page = a_page("a.md", *"sss")
    put(catalog, page)
    assert around(catalog, ids_of(page, 1), where=BOB)
    put(catalog, a_page("a.md", *"sss", access="group:ops"))
    assert around(catalog, ids_of(page, 1), where=BOB) == []
