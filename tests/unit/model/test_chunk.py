"""How chunks are named and labeled."""

from citewise.model.access import Scope
from citewise.model.chunk import Chunk
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


def test_a_line_number_is_no_reason_to_index_again() -> None:
    document = a_document("a.md")
    here, there = Chunk.of_document(document, (a_piece("same"), a_piece("same", ordinal=0)))
    assert here.position != there.position
    assert here.fingerprint == there.fingerprint


def test_a_chunk_knows_its_digests_and_its_words() -> None:
    (chunk,) = Chunk.of_document(a_document("a.md"), (a_piece("two words"),))
    assert (chunk.embedded_text, chunk.word_count) == ("two words", 2)
    assert chunk.text_digest == digest("two words")
