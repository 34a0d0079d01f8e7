"""What every catalog promises, with its change log, embedding cache and registry."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.errors import Misconfigured, Unavailable
from citewise.model.access import Access, Scope
from citewise.model.chunk import ChunkCounts
from citewise.model.document import KnownDocument, Lines, SourceRef
from citewise.ports.catalog import DocumentWrite, ProjectionState
from tests.builders import SCOPE, a_document, a_vector, a_write, vectors_of

OTHER = Scope("rival", "handbook")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    opened = SqliteCatalog(Connections(tmp_path / "catalog.db", may_create=True), model_name="m")
    yield opened
    opened.close()


def put(catalog: SqliteCatalog, *writes: DocumentWrite) -> ChunkCounts:
    for write in writes:
        catalog.keep(vectors_of(write))
    return catalog.store(writes)


def test_what_is_stored_comes_back(catalog: SqliteCatalog) -> None:
    write = a_write("guide/a.md", ["one", "two"], access=Access.of(["group:ops", "owner:ann"]))
    assert put(catalog, write) == ChunkCounts(created=2)
    assert catalog.chunks(SCOPE, "guide/a.md") == write.chunks
    assert list(catalog.documents(SCOPE)) == [write.document]
    assert catalog.known(SCOPE) == {"guide/a.md": KnownDocument("", write.document.stamp, 2)}


def test_storing_again_changes_nothing_and_logs_nothing(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    before = catalog.last_position(SCOPE)
    assert put(catalog, a_write("a.md", ["one", "two"])) == ChunkCounts(unchanged=2)
    assert catalog.last_position(SCOPE) == before


def test_only_what_changed_is_logged(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one", "two", "three"]))
    before = catalog.last_position(SCOPE)
    now = a_write("a.md", ["one", "TWO"])
    assert put(catalog, now) == ChunkCounts(updated=1, deleted=1, unchanged=1)
    changes = catalog.changes(SCOPE, after=before, limit=10)
    assert {change.chunk_id: change.record is not None for change in changes} == {
        now.chunks[1].id: True,
        a_write("a.md", ["one", "two", "three"]).chunks[2].id: False,
    }


def test_moved_lines_are_kept_without_a_log_entry(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write)
    before = catalog.last_position(SCOPE)
    moved = replace(write.chunks[0], position=3, piece=replace(write.chunks[0].piece, location=Lines(9, 9)))
    assert put(catalog, replace(write, chunks=(moved,))) == ChunkCounts(unchanged=1)
    assert catalog.chunks(SCOPE, "a.md")[0].piece.location.first == 9
    assert catalog.last_position(SCOPE) == before


def test_a_new_access_rule_is_a_change_of_every_chunk(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    assert put(catalog, a_write("a.md", ["one", "two"], access=Access.of(["public"]))) == ChunkCounts(updated=2)


def test_removing_a_document_drops_its_chunks(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]), a_write("b.md", ["three"]))
    assert catalog.remove(SCOPE, ["a.md", "never.md"]) == 2
    assert catalog.chunks(SCOPE, "a.md") == ()
    drops = [change for change in catalog.changes(SCOPE, after=0, limit=10) if change.record is None]
    assert len(drops) == 2
    assert [each.documents for each in catalog.census()] == [1]


def test_reading_the_log_from_zero_gives_every_living_chunk_once(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one", "two"]))
    put(catalog, a_write("a.md", ["ONE", "two"]))
    changes = catalog.changes(SCOPE, after=0, limit=10)
    assert [change.record.text for change in changes if change.record] == ["two", "ONE"]
    assert [change.position for change in changes] == sorted(change.position for change in changes)


def test_forgotten_drops_raise_the_floor(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    catalog.remove(SCOPE, ["a.md"])
    last = catalog.last_position(SCOPE)
    catalog.forget_drops(SCOPE, up_to=last)
    assert catalog.floor(SCOPE) == last
    assert catalog.last_position(SCOPE) == last
    assert catalog.changes(SCOPE, after=0, limit=10) == ()
    assert [each.last_position for each in catalog.census()] == [last]
    put(catalog, a_write("a.md", ["one"]))
    assert catalog.last_position(SCOPE) > last


def test_the_log_goes_as_far_as_its_forgotten_drops(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]), a_write("b.md", ["two"]))
    catalog.remove(SCOPE, ["a.md"])
    last = catalog.last_position(SCOPE)
    catalog.forget_drops(SCOPE, up_to=last)
    assert catalog.last_position(SCOPE) == last
    assert [each.last_position for each in catalog.census()] == [last]


def test_scopes_keep_their_own_documents_and_logs(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["ours"]), a_write("a.md", ["theirs"], scope=OTHER))
    assert [change.record.text for change in catalog.changes(SCOPE, after=0, limit=9) if change.record] == ["ours"]
    assert catalog.remove(OTHER, ["a.md"]) == 1
    assert len(catalog.chunks(SCOPE, "a.md")) == 1


def test_vectors_are_remembered_by_text_even_after_removal(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write)
    catalog.remove(SCOPE, ["a.md"])
    key = write.chunks[0].text_digest
    assert catalog.vectors([key]) == {key: a_vector("one")}


def test_a_chunk_without_a_vector_is_named_with_what_to_do(catalog: SqliteCatalog) -> None:
    catalog.store([a_write("a.md", ["one"])])
    with pytest.raises(Misconfigured, match="citewise reindex"):
        catalog.changes(SCOPE, after=0, limit=9)


def test_many_may_open_a_new_catalog_at_once(tmp_path: Path) -> None:
    def opened(_: int) -> int:
        connections = Connections(tmp_path / "new.db", may_create=True)
        catalog = SqliteCatalog(connections, model_name="m")
        documents = len(catalog.known(SCOPE))
        catalog.close()
        return documents

    (tmp_path / "new.db").touch()
    sqlite3.connect(tmp_path / "new.db").execute("PRAGMA journal_mode = WAL").connection.close()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(opened, range(16))) == [0] * 16


def test_a_reader_does_not_make_a_catalog(tmp_path: Path) -> None:
    with pytest.raises(Unavailable):
        SqliteCatalog(Connections(tmp_path / "none.db"), model_name="m")
    assert not (tmp_path / "none.db").exists()


def test_vectors_of_another_model_are_not_found(catalog: SqliteCatalog, tmp_path: Path) -> None:
    write = a_write("a.md", ["one"])
    put(catalog, write)
    other = SqliteCatalog(Connections(tmp_path / "catalog.db"), model_name="n")
    assert other.vectors([write.chunks[0].text_digest]) == {}
    other.close()


def test_sources_and_facts_are_remembered(catalog: SqliteCatalog) -> None:
    catalog.register(SCOPE, SourceRef("", "../docs"))
    moved = SourceRef("", "../moved").with_rule(("group:ops",), ["", "open"]).with_rule(("public",), ["open"])
    catalog.register(SCOPE, moved)
    catalog.remember({"model": "m"})
    catalog.remember({"model": "n"})
    assert catalog.sources(SCOPE) == (moved,)
    assert moved.rule_for("a/b.md") == ("group:ops",)
    assert moved.rule_for("open/b.md") == ("public",)
    assert moved.with_rule(("project",), [""]).access == (("", ("project",)),)
    assert catalog.sources(OTHER) == ()
    assert catalog.facts() == {"model": "n"}


def test_a_failing_store_leaves_nothing_behind(catalog: SqliteCatalog) -> None:
    good = a_write("a.md", ["one"])
    bad = replace(good, document=replace(a_document("b.md"), title=None))  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        catalog.store([good, bad])
    assert catalog.known(SCOPE) == {}
    assert catalog.last_position(SCOPE) == 0


def test_a_full_disk_is_unavailable_and_loses_nothing(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    with catalog._connections.reading("limit") as connection:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Unavailable, match="make room on the disk"):
        put(catalog, a_write("big.md", ["x" * 100_000]))
    assert list(catalog.known(SCOPE)) == ["a.md"]


def test_a_newer_schema_is_refused(catalog: SqliteCatalog, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(Misconfigured, match="newer citewise"):
        SqliteCatalog(Connections(tmp_path / "catalog.db"), model_name="m")


def test_a_library_of_the_first_release_is_refused_with_the_command_that_rebuilds_it(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "catalog.db")
    connection.executescript((Path(__file__).parents[1] / "data" / "catalog_0_1.sql").read_text())
    connection.close()
    with pytest.raises(Misconfigured, match=r"move its folder away, then rebuild it with `citewise ingest PATH`"):
        SqliteCatalog(Connections(tmp_path / "catalog.db"), model_name="m")


def test_a_version_changes_with_its_own_scope_alone(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["ours"]), a_write("a.md", ["theirs"], scope=OTHER))
    ours, theirs = catalog.version(SCOPE), catalog.version(OTHER)
    seen = {ours}
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


def test_a_version_stays_while_nothing_is_committed(catalog: SqliteCatalog) -> None:
    put(catalog, a_write("a.md", ["one"]))
    before = catalog.version(SCOPE)
    catalog.known(SCOPE)
    catalog.keep(vectors_of(a_write("b.md", ["two"])))
    bad = replace(a_write("b.md", ["two"]), document=replace(a_document("b.md"), title=None))  # type: ignore[arg-type]
    with pytest.raises(sqlite3.IntegrityError):
        catalog.store([bad])
    assert catalog.version(SCOPE) == before


def test_two_catalogs_share_no_version(catalog: SqliteCatalog, tmp_path: Path) -> None:
    other = SqliteCatalog(Connections(tmp_path / "other.db", may_create=True), model_name="m")
    for each in (catalog, other):
        put(each, a_write("a.md", ["one"]))
    assert catalog.version(SCOPE) != other.version(SCOPE)
    other.close()


def test_a_projection_is_recorded_by_name_and_scope(catalog: SqliteCatalog) -> None:
    assert catalog.projection("vectors", SCOPE) is None
    catalog.record_projection("vectors", SCOPE, ProjectionState(1, 3))
    catalog.record_projection("vectors", SCOPE, ProjectionState(2, 9))
    catalog.record_projection("texts", SCOPE, ProjectionState(1, 5))
    assert catalog.projection("vectors", SCOPE) == ProjectionState(2, 9)
    assert catalog.projection("texts", SCOPE) == ProjectionState(1, 5)
    assert catalog.projection("vectors", OTHER) is None


def test_a_document_keeps_the_time_when_it_was_first_stored(catalog: SqliteCatalog) -> None:
    write = a_write("a.md", ["one"])
    new = replace(write, document=replace(write.document, created_at=None))
    put(catalog, write)
    put(catalog, new)
    assert next(catalog.documents(SCOPE)).created_at == write.document.created_at


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").write_bytes(b"not a database, just some text that goes on for a while" * 50)
    with pytest.raises(Misconfigured, match="damaged"):
        SqliteCatalog(Connections(tmp_path / "catalog.db"), model_name="m")
