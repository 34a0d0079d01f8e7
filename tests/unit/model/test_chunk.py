"""How chunks are named and labeled."""

from dataclasses import replace

import pytest

from citewise.model.access import Scope
from citewise.model.chunk import Chunk
from citewise.model.document import Json
from citewise.model.ids import chunk_id, digest, document_id
from tests.builders import SCOPE, a_document, a_piece


def test_ids_depend_on_every_part_and_on_nothing_else() -> None:
    base = chunk_id(SCOPE, "a.md", anchor="x", ordinal=0)
    assert base == chunk_id(SCOPE, "a.md", anchor="x", ordinal=0)
    others = {
        chunk_id(Scope("acme", "other"), "a.md", anchor="x", ordinal=0),
        chunk_id(SCOPE, "b.md", anchor="x", ordinal=0),
        chunk_id(SCOPE, "a.md", anchor="y", ordinal=0),
        chunk_id(SCOPE, "a.md", anchor="x", ordinal=1),
    }
    assert len({base, *others}) == 5
    assert len(base) == len(document_id(SCOPE, "a.md")) == 16


def test_labels_say_what_filters_may_ask() -> None:
    (chunk,) = Chunk.of_document(a_document("guide/a.md"), (a_piece("words"),))
    assert {"document=guide/a.md", "tags=tide", "access=project", "metadata.draft=false"} <= chunk.labels
    assert chunk.numbers == {"metadata.sidebar_position": 2.0}


@pytest.mark.parametrize(
    ("value", "number"),
    [("1970-01-02", 86_400.0), ("1970-01-02T00:00:01+00:00", 86_401.0), ("1.10", 1.1), (2**60, None), (10**400, None)]
    + [(value, None) for value in ("soon", "nan", True, "0001-01-01T00:00:00+14:00-")],
)
def test_ranges_compare_numbers_and_dates_of_the_metadata(value: Json, number: float | None) -> None:
    document = replace(a_document("a.md"), metadata={"reviewed": value})
    (chunk,) = Chunk.of_document(document, (a_piece("words"),))
    assert chunk.numbers.get("metadata.reviewed") == number


def test_a_line_number_is_no_reason_to_index_again() -> None:
    document = a_document("a.md")
    here, there = Chunk.of_document(document, (a_piece("same"), a_piece("same", ordinal=0)))
    assert here.position != there.position
    assert here.fingerprint == there.fingerprint


def test_a_chunk_knows_its_digests_and_its_words() -> None:
    (chunk,) = Chunk.of_document(a_document("a.md"), (a_piece("two words"),))
    assert (chunk.embedded_text, chunk.word_count) == ("two words", 2)
    assert chunk.text_digest == digest("two words")
