"""What every catalog promises: reading, writing, change log, projections, embedding cache, registry, maintenance."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.errors import Misconfigured
from citewise.model.access import Access, Principal, Scope
from citewise.model.chunk import ChunkCounts, WordVectors
from citewise.model.document import AccessRule, BlockKind, BlockSpan, KnownDocument, Location, RemovedText, SourceRef
from citewise.model.filters import AnyOf, Where
from citewise.model.ids import ChunkId, Digest, digest, document_id
from citewise.model.ranking import Passage
from citewise.model.report import IngestReport, LibraryFacts
from citewise.ports.catalog import Catalog, DocumentWrite, ProjectionState
from tests.builders import SCOPE, a_document, a_vector, a_write, vectors_of
from tests.stores import all_documents, chunks_at, opened_catalog

OTHER = Scope("rival", "handbook")
EVERYTHING = Where(SCOPE, None)
ANN = Principal("ann", frozenset({"ops"}))
OF_ANN = Where(SCOPE, ANN.readers)


@pytest.fixture(params=["sqlite", "memory"])
def catalog(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Catalog]:
    opened = opened_catalog(request.param, tmp_path)
    yield opened
    opened.close()


def put(catalog: Catalog, *writes: DocumentWrite) -> ChunkCounts:
    for write in writes:
        catalog.keep(vectors_of(write), {})
    return catalog.store(writes)


def put_text(catalog: Catalog, path: str, *texts: str, scope: Scope = SCOPE, access: str = "project") -> list[ChunkId]:
    write = a_write(path, texts, scope=scope, access=Access.of([access]))
    put(catalog, write)
    return [chunk.id for chunk in write.chunks]


def words_of(write: DocumentWrite) -> dict[Digest, WordVectors]:
    return {chunk.text_digest: WordVectors(f"words of {chunk.piece.text}".encode()) for chunk in write.chunks}


def put_with_words(catalog: Catalog, *writes: DocumentWrite) -> None:
    for write in writes:
        catalog.keep(vectors_of(write), words_of(write))
    catalog.store(writes)


# Writing


def test_what_is_stored_comes_back(catalog: Catalog) -> None:
    write = a_write("guide/a.md", ["one", "two"], access=Access.of(["group:ops", "owner:ann"]))
    assert put(catalog, write) == ChunkCounts(created=2)
    assert chunks_at(catalog, SCOPE, "guide/a.md") == write.chunks
    assert all_documents(catalog, SCOPE) == [write.document]
    known = KnownDocument("", write.document.stamp, 2, write.document.access, created_at=1.7e9)
    assert catalog.stamps(SCOPE, ["guide/a.md", "b.md"]) == {"guide/a.md": known}
    assert catalog.count(SCOPE) == (1, 2)
    assert catalog.count(OTHER) == (0, 0)


def test_storing_again_changes_nothing_and_logs_nothing(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    before = catalog.last_position(SCOPE)
    assert put(catalog, a_write("a.md", ["one", "two"])) == ChunkCounts(unchanged=2)
    assert catalog.last_position(SCOPE) == before


def test_only_what_changed_is_logged(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one", "two", "three"]))
    before = catalog.last_position(SCOPE)
    now = a_write("a.md", ["one", "TWO"])
    assert put(catalog, now) == ChunkCounts(updated=1, deleted=1, unchanged=1)
    changes = catalog.changes(SCOPE, after=before, limit=10)
    assert {change.chunk_id: change.text is not None for change in changes} == {
        now.chunks[1].id: True,
        a_write("a.md", ["one", "two", "three"]).chunks[2].id: False,
    }


def test_a_chunk_that_moved_is_stored_without_a_log_entry(catalog: Catalog) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write)
    before = catalog.last_position(SCOPE)
    moved = replace(write.chunks[0], position=3, piece=replace(write.chunks[0].piece, location=Location("lines", 9, 9)))
    assert put(catalog, replace(write, chunks=(moved,))) == ChunkCounts(unchanged=1)
    assert chunks_at(catalog, SCOPE, "a.md") == (moved,)
    assert catalog.last_position(SCOPE) == before


def test_a_new_access_rule_is_a_change_of_every_chunk(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    assert put(catalog, a_write("a.md", ["one", "two"], access=Access.of(["public"]))) == ChunkCounts(updated=2)


def test_removing_a_document_drops_its_chunks(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]), a_write("b.md", ["three"]))
    assert catalog.remove(SCOPE, ["a.md", "never.md"]) == 2
    assert chunks_at(catalog, SCOPE, "a.md") == ()
    drops = [change for change in catalog.changes(SCOPE, after=0, limit=10) if change.text is None]
    assert len(drops) == 2
    assert catalog.count(SCOPE) == (1, 1)


def test_a_document_keeps_the_time_when_it_was_first_stored(catalog: Catalog) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write)
    put(catalog, replace(write, document=replace(write.document, created_at=None)))
    assert all_documents(catalog, SCOPE)[0].created_at == write.document.created_at


def test_paths_are_those_at_or_below_a_folder_and_of_one_source(catalog: Catalog) -> None:
    of_wiki = a_write("wiki/a.md", ["x"])
    of_wiki = replace(of_wiki, document=replace(of_wiki.document, mount="wiki"))
    put(catalog, of_wiki, *(a_write(path, [path]) for path in ("a/b.md", "a.md", "a-c.md", "a/b/c.md", "a")))
    assert catalog.paths(SCOPE) == ("a", "a-c.md", "a.md", "a/b.md", "a/b/c.md", "wiki/a.md")
    assert catalog.paths(SCOPE, under="a") == ("a", "a/b.md", "a/b/c.md")
    assert catalog.paths(SCOPE, mount="wiki") == ("wiki/a.md",)
    assert catalog.paths(SCOPE, mount="", under="wiki") == ()
    assert catalog.paths(OTHER) == ()


def test_a_document_to_be_ingested_again_no_longer_has_its_stamp(catalog: Catalog) -> None:
    (broken,) = put_text(catalog, "a.md", "The tide turns.")
    put_text(catalog, "b.md", "Nets dry.")
    before = catalog.stamps(SCOPE, ["a.md", "b.md"])
    catalog.request_reingest([broken])
    after = catalog.stamps(SCOPE, ["a.md", "b.md"])
    assert after["a.md"].stamp != before["a.md"].stamp
    assert after["b.md"].stamp == before["b.md"].stamp


def test_storing_a_chunk_that_was_to_be_ingested_again_is_a_change_of_it_alone(catalog: Catalog) -> None:
    """An index may have lost it meanwhile, and hears of nothing but changes."""
    write = a_write("a.md", ["one", "two"])
    put(catalog, write)
    catalog.request_reingest([write.chunks[1].id])
    before = catalog.last_position(SCOPE)
    assert put(catalog, write) == ChunkCounts(updated=1, unchanged=1)
    assert [change.text for change in catalog.changes(SCOPE, after=before, limit=9)] == ["two"]


def test_a_stale_document_says_why_until_it_is_stored_again(catalog: Catalog) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write, a_write("b.md", ["two"]))
    versions = [catalog.version(SCOPE)]
    for _ in range(2):
        catalog.mark_stale(SCOPE, {"a.md": "binary file", "unknown.md": "binary file"})
        versions.append(catalog.version(SCOPE))
    assert versions[0] != versions[1] == versions[2]
    assert stale_of(catalog, "a.md") == "binary file"
    assert stale_of(catalog, "b.md") == ""
    assert catalog.stamps(SCOPE, ["a.md"])["a.md"].stamp != write.document.stamp
    put(catalog, write)
    assert stale_of(catalog, "a.md") == ""


def stale_of(catalog: Catalog, path: str) -> str:
    """As a passage and the document say it."""
    (chunk,) = catalog.chunks(EVERYTHING, document_id(SCOPE, path))
    passage, document = (
        catalog.passages([chunk.id], where=EVERYTHING)[chunk.id],
        catalog.document(EVERYTHING, chunk.document_id),
    )
    assert isinstance(passage, Passage)
    assert document is not None
    assert passage.stale == document.stale
    return passage.stale


# Reading


def test_documents_come_page_by_page(catalog: Catalog) -> None:
    for path in ("c.md", "a.md", "b.md"):
        put_text(catalog, path, f"Of {path}.")
    put_text(catalog, "z.md", "Elsewhere.", scope=OTHER)
    first = catalog.documents(EVERYTHING, limit=2)
    assert [document.path for document in first] == ["a.md", "b.md"]
    assert [document.path for document in catalog.documents(EVERYTHING, after="b.md", limit=2)] == ["c.md"]
    assert (first[0].id, first[0].chunks, first[0].access) == (
        document_id(SCOPE, "a.md"),
        1,
        Access.of(["project"]),
    )


@pytest.mark.parametrize(
    ("rule", "is_seen"),
    [
        ("public", True),
        ("project", True),
        ("owner:ann", True),
        ("owner:bob", False),
        ("group:ops", True),
        ("group:x", False),
    ],
)
def test_the_catalogs_own_rule_decides_who_reads(catalog: Catalog, rule: str, *, is_seen: bool) -> None:
    ids, document = put_text(catalog, "a.md", "The tide turns.", access=rule), document_id(SCOPE, "a.md")
    for where, expected in ((OF_ANN, is_seen), (EVERYTHING, True), (Where(OTHER, None), False)):
        assert bool(catalog.passages(ids, where=where)) is expected
        assert (catalog.document(where, document) is not None) is expected
        assert bool(catalog.documents(where, limit=9)) is expected
        assert bool(catalog.chunks(where, document)) is expected
        assert bool(catalog.facets(where)["tags"]) is expected


def test_a_rule_that_changed_counts_at_once(catalog: Catalog) -> None:
    ids = put_text(catalog, "a.md", "The tide turns.", access="public")
    put_text(catalog, "a.md", "The tide turns.", access="owner:bob")
    assert catalog.passages(ids, where=OF_ANN) == {}
    assert catalog.document(OF_ANN, document_id(SCOPE, "a.md")) is None


def test_chunks_are_narrowed_by_conditions(catalog: Catalog) -> None:
    put_text(catalog, "a.md", "The tide turns.")
    document = document_id(SCOPE, "a.md")
    for value, count in (("tide", 1), ("moon", 0)):
        where = replace(EVERYTHING, conditions=(AnyOf("tags", frozenset({value})),))
        assert len(catalog.chunks(where, document)) == count


def test_facets_count_documents_by_value(catalog: Catalog) -> None:
    for path in ("a.md", "b.md"):
        put_text(catalog, path, "The tide turns.", "The gauge is read.")
    found = catalog.facets(EVERYTHING)
    assert found == {
        "module": {"Unknown": 2},
        "chapter": {"Unknown": 2},
        "corpus_type": {"DOC_PAGE": 2},
        "content_type": {"prose": 2},
        "tags": {"tide": 2},
    }


def test_passages_come_in_the_order_of_the_ids_with_their_documents(catalog: Catalog) -> None:
    first, second = put_text(catalog, "a.md", "The tide turns.", "The gauge is read.")
    (third,) = put_text(catalog, "b.md", "Nets dry.")
    read = catalog.passages([third, first, second], where=EVERYTHING)
    passages = [passage for passage in read.values() if isinstance(passage, Passage)]
    assert list(read) == [third, first, second] == [passage.chunk_id for passage in passages]
    assert [passage.text for passage in passages] == ["Nets dry.", "The tide turns.", "The gauge is read."]
    assert [passage.document for passage in passages] == ["b.md", "a.md", "a.md"]
    assert passages[1].metadata == {"sidebar_position": 2, "draft": False}
    assert passages[1].word_count == 3
    assert passages[1].created_at == a_document("a.md").created_at


def test_the_blocks_of_a_chunk_come_back_with_what_was_added_to_them(catalog: Catalog) -> None:
    blocks = (
        BlockSpan(BlockKind.ITEM, 0, 9, depth=2),
        BlockSpan(BlockKind.CODE, 9, 20, "sh", 1, head=4, tail=4),
    )
    write = a_write("a.md", ["- lamp:\n\n```\nlit\n```"])
    (chunk,) = write.chunks
    put(catalog, replace(write, chunks=(replace(chunk, piece=replace(chunk.piece, blocks=blocks)),)))
    read = catalog.passages([chunk.id], where=EVERYTHING)[chunk.id]
    assert isinstance(read, Passage)
    assert read.blocks == blocks


def test_unknown_and_removed_chunks_are_left_out(catalog: Catalog) -> None:
    (gone,) = put_text(catalog, "a.md", "The tide turns.")
    (there,) = put_text(catalog, "b.md", "Nets dry.")
    (foreign,) = put_text(catalog, "a.md", "The tide turns.", scope=OTHER)
    catalog.remove(SCOPE, ["a.md"])
    read = catalog.passages([gone, ChunkId("0" * 16), foreign, there], where=EVERYTHING)
    assert list(read) == [there]


# Change log


def test_reading_the_log_from_zero_gives_every_living_chunk_once(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    put(catalog, a_write("a.md", ["ONE", "two"]))
    changes = catalog.changes(SCOPE, after=0, limit=10)
    assert [change.text for change in changes if change.text is not None] == ["two", "ONE"]
    assert [change.position for change in changes] == sorted(change.position for change in changes)


def test_trimmed_removals_raise_the_floor(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    catalog.remove(SCOPE, ["a.md"])
    last = catalog.last_position(SCOPE)
    catalog.trim(SCOPE, up_to=last)
    assert catalog.floor(SCOPE) == last
    assert catalog.last_position(SCOPE) == last
    assert catalog.changes(SCOPE, after=0, limit=10) == ()
    put(catalog, a_write("a.md", ["one"]))
    assert catalog.last_position(SCOPE) > last


def test_trimming_keeps_what_was_put(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one"]), a_write("b.md", ["two"]))
    catalog.remove(SCOPE, ["a.md"])
    last = catalog.last_position(SCOPE)
    catalog.trim(SCOPE, up_to=last)
    assert catalog.last_position(SCOPE) == last
    assert [change.text for change in catalog.changes(SCOPE, after=0, limit=9) if change.text is not None] == ["two"]


def test_scopes_have_their_own_documents_and_logs(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["ours"]), a_write("a.md", ["theirs"], scope=OTHER))
    assert catalog.scopes() == (SCOPE, OTHER)
    assert [change.text for change in catalog.changes(SCOPE, after=0, limit=9) if change.text is not None] == ["ours"]
    assert catalog.remove(OTHER, ["a.md"]) == 1
    assert len(chunks_at(catalog, SCOPE, "a.md")) == 1


def test_no_position_appears_at_or_below_one_that_was_read(catalog: Catalog) -> None:
    """Several writers at once, and a reader that goes on from what it has read: it must miss nothing."""
    writes = [[a_write(f"{writer}-{n}.md", [f"text {writer} {n}"]) for n in range(12)] for writer in range(4)]
    read: list[str] = []
    with ThreadPoolExecutor(4) as writers:
        running = [writers.submit(lambda group: [put(catalog, write) for write in group], group) for group in writes]
        position, is_last = 0, False
        while not is_last:
            is_last = all(each.done() for each in running)  # asked before the last read
            while changes := catalog.changes(SCOPE, after=position, limit=3):
                assert changes[0].position > position
                position = changes[-1].position
                read += [change.chunk_id for change in changes]
        for each in running:
            each.result()
    assert sorted(read) == sorted(chunk.id for group in writes for write in group for chunk in write.chunks)


def test_a_version_changes_with_its_own_scope_alone(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["ours"]), a_write("a.md", ["theirs"], scope=OTHER))
    theirs, seen = catalog.version(OTHER), {catalog.version(SCOPE)}
    for change in (
        lambda: catalog.store([a_write("a.md", ["ours"])]),
        lambda: catalog.remove(SCOPE, ["a.md"]),
        lambda: catalog.record_projection("vectors", SCOPE, ProjectionState(1, 3)),
    ):
        change()
        assert catalog.version(SCOPE) not in seen
        seen.add(catalog.version(SCOPE))
    assert catalog.version(OTHER) == theirs
    assert catalog.version(Scope("nobody", "x")) == 0


def test_a_version_stays_while_no_document_changes(catalog: Catalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    before = catalog.version(SCOPE)
    catalog.stamps(SCOPE, ["a.md"])
    catalog.keep(vectors_of(a_write("b.md", ["two"])), {})
    assert catalog.version(SCOPE) == before


def test_two_catalogs_share_no_version(request: pytest.FixtureRequest, catalog: Catalog, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = opened_catalog(catalog.engine, tmp_path / "other")
    for each in (catalog, other):
        put(each, a_write("a.md", ["one"]))
    assert catalog.version(SCOPE) != other.version(SCOPE)
    other.close()


def test_a_chunk_without_a_vector_is_named_with_what_to_do(catalog: Catalog) -> None:
    catalog.store([a_write("a.md", ["one"])])
    with pytest.raises(Misconfigured, match="citewise reindex"):
        catalog.changes(SCOPE, after=0, limit=9)


def test_a_projection_is_recorded_by_name_and_scope(catalog: Catalog) -> None:
    assert catalog.projection("vectors", SCOPE) is None
    catalog.record_projection("vectors", SCOPE, ProjectionState(1, 3))
    catalog.record_projection("vectors", SCOPE, ProjectionState(2, 9))
    catalog.record_projection("texts", SCOPE, ProjectionState(1, 5))
    assert catalog.projection("vectors", SCOPE) == ProjectionState(2, 9)
    assert catalog.projection("texts", SCOPE) == ProjectionState(1, 5)
    assert catalog.projection("vectors", OTHER) is None


# What is gone


def test_the_texts_of_documents_are_known_by_their_hashes(catalog: Catalog) -> None:
    write, other = a_write("a.md", ["one", "two"]), a_write("b.md", ["two"])
    put(catalog, write, other, a_write("c.md", ["two"], scope=OTHER))
    one, two = (chunk.content_hash for chunk in write.chunks)
    assert catalog.texts(SCOPE, ["a.md", "b.md", "none.md"]) == {"a.md": {one, two}, "b.md": {two}}
    assert catalog.holders(SCOPE, [two, digest("never seen")], limit=9) == {two: ("a.md", "b.md")}
    assert catalog.holders(SCOPE, [one, two], limit=1).keys() == {one, two}
    assert [len(paths) for paths in catalog.holders(SCOPE, [one, two], limit=1).values()] == [1, 1]
    assert catalog.holders(SCOPE, [], limit=9) == {}


def test_a_removed_document_is_recognized_until_compaction_unless_all_could_read_it(catalog: Catalog) -> None:
    closed, read_by_all = a_write("a.md", ["one", "two"], access=Access.of(["group:hr"])), a_write("b.md", ["three"])
    put(catalog, closed, replace(read_by_all, document=replace(read_by_all.document, access=Access.of(["public"]))))
    catalog.remove(SCOPE, ["a.md", "b.md"])
    hashes = frozenset(chunk.content_hash for chunk in closed.chunks)
    gone = RemovedText("a.md", Access.of(["group:hr"]), hashes)
    assert catalog.removed_texts(SCOPE) == (gone,)
    assert catalog.removed_texts(OTHER) == ()
    catalog.record_removed(OTHER, [gone])
    catalog.record_removed(OTHER, [gone])
    assert catalog.removed_texts(OTHER) == (gone,)
    catalog.compact()
    assert catalog.removed_texts(SCOPE) == catalog.removed_texts(OTHER) == ()


def test_a_text_that_is_replaced_is_remembered_with_what_replaces_it(catalog: Catalog) -> None:
    old, new = a_write("a.md", ["one"], access=Access.of(["group:hr"])), a_write("a.md", ["moved"])
    replaced = RemovedText("a.md", Access.of(["group:hr"]), frozenset({old.chunks[0].content_hash}))
    put(catalog, old)
    put(catalog, replace(new, replaced=replaced))
    assert catalog.removed_texts(SCOPE) == (replaced,)


def test_what_a_rule_rests_on_is_kept_with_the_document(catalog: Catalog) -> None:
    write = a_write("a.md", ["one"], access=Access.of(["group:hr"]))
    document = replace(
        write.document,
        own_access=("group:hr",),
        aliases=("hr/a.md",),
        copied_from=("hr/b.md",),
        access_reason="a link",
    )
    put(catalog, replace(write, document=document))
    assert catalog.document(Where(SCOPE, None), document.id) == document
    known = catalog.stamps(SCOPE, ["a.md"])["a.md"]
    assert (known.access, known.own_access, known.aliases) == (document.access, ("group:hr",), ("hr/a.md",))


# Embedding cache


def test_vectors_are_remembered_by_text_even_after_removal(catalog: Catalog) -> None:
    write = a_write("a.md", ["one", "two"])
    put_with_words(catalog, write)
    catalog.remove(SCOPE, ["a.md"])
    keys = [chunk.text_digest for chunk in write.chunks]
    assert catalog.vectors(keys) == vectors_of(write)
    assert catalog.word_vectors(keys) == words_of(write)
    assert catalog.word_vectors([*keys[:1], digest("never seen")]) == {keys[0]: WordVectors(b"words of one")}
    assert catalog.word_vectors([]) == {}


def test_many_vectors_come_back_from_one_call(catalog: Catalog) -> None:
    write = a_write("a.md", [f"text {at}" for at in range(1_234)])
    put_with_words(catalog, write)
    keys = [chunk.text_digest for chunk in write.chunks]
    assert catalog.vectors(keys) == vectors_of(write)
    assert catalog.word_vectors(keys) == words_of(write)


def test_the_first_vectors_of_a_text_stay_and_its_words_can_come_later(catalog: Catalog) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    put(catalog, write)
    assert catalog.word_vectors([key]) == {}
    catalog.keep({key: a_vector("another")}, words_of(write))
    catalog.keep({}, {key: WordVectors(b"others")})
    assert catalog.word_vectors([key]) == words_of(write)
    assert catalog.vectors([key]) == vectors_of(write)


def test_a_catalog_knows_whether_a_chunk_lacks_its_words(catalog: Catalog) -> None:
    assert not catalog.lacks_word_vectors()  # there is no chunk
    put_with_words(catalog, a_write("a.md", ["one", "two"]))
    assert not catalog.lacks_word_vectors()
    put(catalog, a_write("b.md", ["two", "three"], scope=OTHER))
    assert catalog.lacks_word_vectors()
    catalog.remove(OTHER, ["b.md"])
    assert not catalog.lacks_word_vectors()  # no chunk has that text any more
    put(catalog, a_write("b.md", ["two"]))
    assert not catalog.lacks_word_vectors()  # an equal text has them


# Registry


def test_sources_are_remembered_by_mount(catalog: Catalog) -> None:
    catalog.register(SCOPE, SourceRef("", "../docs"))
    said = AccessRule("", ("group:ops",), "access"), AccessRule("open/*", ("public",), "by_path", widens=True, rank=3)
    moved = SourceRef("", "../moved", said, place="/srv/moved")
    judged = SourceRef("judged", "corpus.jsonl", kind="corpus")
    for source in (judged, moved):
        catalog.register(SCOPE, source)
    assert catalog.sources(SCOPE) == (moved, judged)
    assert catalog.sources(OTHER) == ()


def test_facts_and_the_last_ingestion_are_remembered(catalog: Catalog) -> None:
    assert catalog.facts() is None
    assert catalog.last_ingest() is None
    facts = LibraryFacts("m", 32, 256, {"text/markdown": "headings-1"}, "english-1")
    summary = IngestReport(ingested=2, unchanged=1, seconds=0.25).summary("2026-11-17T12:00:00+00:00")
    catalog.record_facts(replace(facts, model="n"))
    catalog.record_facts(facts)
    catalog.record_ingest(summary)
    assert catalog.facts() == facts
    assert catalog.last_ingest() == summary


# Maintenance


@pytest.mark.parametrize("keep_word_vectors", [True, False])
def test_compaction_removes_the_vectors_of_texts_that_are_gone(catalog: Catalog, *, keep_word_vectors: bool) -> None:
    gone, stays = a_write("a.md", ["one", "both"]), a_write("b.md", ["both", "two"])
    put_with_words(catalog, gone, stays)
    catalog.remove(SCOPE, ["a.md"])
    assert catalog.compact(keep_word_vectors=keep_word_vectors)
    catalog.check()
    keys = [chunk.text_digest for write in (gone, stays) for chunk in write.chunks]
    assert catalog.vectors(keys) == vectors_of(stays)
    assert catalog.word_vectors(keys) == (words_of(stays) if keep_word_vectors else {})
    assert catalog.size_bytes() > 0
