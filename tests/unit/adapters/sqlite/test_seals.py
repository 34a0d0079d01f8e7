"""What is not as it was stored is noticed: text, titles, rules, vectors, sources; whoever asks."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.rows import SEALS, seal_of
from citewise.errors import CitewiseError, Misconfigured
from citewise.model.access import Access, Principal, Scope
from citewise.model.document import AccessRule, SourceRef
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, document_id
from citewise.model.ranking import Damaged, Passage
from citewise.model.report import LibraryFacts
from citewise.ports.catalog import DocumentWrite
from tests.builders import SCOPE, a_write, vectors_of
from tests.contracts.test_catalog import EVERYTHING, put, put_with_words, words_of

OF_ANN, OF_BNN = (Where(SCOPE, Principal(user).readers) for user in ("ann", "bnn"))
UNSEALED = {"scope", "stamp", "fingerprint"}  # scope: its names are in every seal
TEXT = "The safe dose is 125 mg per day."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "catalog.db"


@pytest.fixture
def catalog(file: Path) -> Iterator[SqliteCatalog]:
    with closing(SqliteCatalog(Connections(file, may_create=True), model_name="m")) as made:
        yield made


def damage(file: Path, statement: str, *values: object) -> None:
    """As a damaged disk does it: nothing else changes with it."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        assert connection.execute(statement, values).rowcount == 1


def dose(access: str = "project") -> DocumentWrite:
    write = a_write("dose.md", [TEXT, "Nets dry."], access=Access.of([access]))
    return replace(write, document=replace(write.document, text=TEXT, title="Dose"))


def of_dose(where: Where, catalog: SqliteCatalog) -> list[Passage | Damaged]:
    return list(catalog.passages([chunk.id for chunk in dose().chunks], where=where).values())


def assert_noticed(catalog: SqliteCatalog) -> None:
    with pytest.raises(Misconfigured, match=r"1 document is damaged \(dose\.md\): `citewise ingest`"):
        catalog.check()


def test_every_column_is_in_a_seal(catalog: SqliteCatalog, file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        for alias, table in (("d", "documents"), ("c", "chunks")):
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
            covered = {name[2:] for names in SEALS.values() for name in names if name.startswith(alias)}
            seals = {seal[2:] for seal in SEALS if seal.startswith(alias)}
            assert columns == covered | seals | (columns & UNSEALED)


def test_a_seal_is_the_same_number_in_every_version_of_python() -> None:
    assert seal_of(["Ebbe, é", 7, 1.5, None, b"\0\xff"], Scope("a", "b")) == 1_498_852_711
    assert seal_of(["Ebbe, é", 7, 1.5, None, b"\0\xff"], Scope("a", "c")) != 1_498_852_711


CHUNK_COLUMNS = [
    name[2:] for name in SEALS["c.seal"] if name.startswith("c.") and name not in ("c.id", "c.document_id")
]
DOCUMENT_COLUMNS = [name[2:] for name in (*SEALS["d.seal"], *SEALS["d.text_seal"]) if name != "d.id"]


@pytest.mark.parametrize("column", CHUNK_COLUMNS)
def test_a_chunk_of_which_anything_shown_changed_is_damaged_and_its_neighbor_is_not(
    catalog: SqliteCatalog, file: Path, column: str
) -> None:
    put(catalog, dose())
    damage(file, f"UPDATE chunks SET {column} = 'x' WHERE position = 0")
    found, neighbor = of_dose(EVERYTHING, catalog)
    assert found == Damaged("dose.md")
    assert isinstance(neighbor, Passage)
    assert_noticed(catalog)
    with pytest.raises(Misconfigured, match=r"dose\.md is damaged: `citewise ingest`"):
        catalog.chunks(EVERYTHING, dose().document.id)


@pytest.mark.parametrize("column", CHUNK_COLUMNS)
def test_a_damaged_chunk_is_around_nobody_and_has_no_damaged_neighbor(
    catalog: SqliteCatalog, file: Path, column: str
) -> None:
    put(catalog, dose())
    first, second = (chunk.id for chunk in dose().chunks)
    assert len(catalog.neighbors([second], reach=1, where=EVERYTHING)) == 1
    damage(file, f"UPDATE chunks SET {column} = 'x' WHERE position = 0")
    assert catalog.neighbors([second], reach=1, where=EVERYTHING) == ()
    assert len(catalog.neighbors([first], reach=1, where=EVERYTHING)) <= 1


def test_a_rule_that_was_damaged_opens_no_neighbor(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, dose("group:ops"))
    (first, _) = dose().chunks
    reader = Where(SCOPE, Principal("bob", frozenset()).readers)
    damage(file, "UPDATE documents SET access = ',public,'")
    assert catalog.neighbors([first.id], reach=1, where=reader) == ()


def test_text_that_is_no_longer_utf_8_hides_one_neighbor_and_not_all(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, three := a_write("dose.md", ["one", "two", "three"]))
    damage(file, "UPDATE chunks SET text = CAST(x'ff' AS TEXT) WHERE position = 0")
    found = catalog.neighbors([three.chunks[1].id], reach=1, where=EVERYTHING)
    assert [passage.text for passage in found] == ["three"]


@pytest.mark.parametrize("column", ["shown", "created_at"])
def test_a_document_of_which_anything_shown_changed_is_damaged_with_all_its_chunks(
    catalog: SqliteCatalog, file: Path, column: str
) -> None:
    put(catalog, dose())
    damage(file, f"UPDATE documents SET {column} = 'x'")
    assert of_dose(EVERYTHING, catalog) == [Damaged("dose.md")] * 2
    assert_noticed(catalog)
    with pytest.raises(Misconfigured, match=r"dose\.md is damaged"):
        catalog.chunks(EVERYTHING, dose().document.id)


@pytest.mark.parametrize("column", DOCUMENT_COLUMNS)
def test_a_document_of_which_anything_changed_is_refused_and_hits_are_right(
    catalog: SqliteCatalog, file: Path, column: str
) -> None:
    put(catalog, dose())
    before = of_dose(EVERYTHING, catalog)
    damage(file, f"UPDATE documents SET {column} = 'x'")
    if column not in ("created_at", "access"):
        assert of_dose(EVERYTHING, catalog) == before
    with pytest.raises(Misconfigured, match="is damaged"):
        catalog.document(EVERYTHING, dose().document.id)
    if column not in ("text", "blocks"):
        with pytest.raises(Misconfigured, match="is damaged"):
            catalog.documents(EVERYTHING, limit=9)
    with pytest.raises(Misconfigured, match="1 document is damaged"):
        catalog.check()


def test_a_text_that_is_no_longer_utf8_is_damaged_and_does_not_affect_others(
    catalog: SqliteCatalog, file: Path
) -> None:
    put(catalog, dose())
    damage(file, "UPDATE chunks SET text = CAST(x'54E820' AS TEXT) WHERE position = 0")
    found, neighbor = of_dose(EVERYTHING, catalog)
    assert found == Damaged("dose.md")
    assert isinstance(neighbor, Passage)
    assert_noticed(catalog)


@pytest.mark.parametrize("where", [EVERYTHING, OF_ANN, OF_BNN])
def test_a_changed_rule_opens_nothing_and_names_nothing(catalog: SqliteCatalog, file: Path, where: Where) -> None:
    """To nobody, its reader too: who that is, nobody knows any more."""
    put(catalog, dose("owner:ann"))
    damage(file, "UPDATE documents SET access = ',owner:bnn,'")
    assert of_dose(where, catalog) == [Damaged("")] * 2
    for read in (catalog.document, catalog.chunks):
        if where is OF_ANN:
            assert not read(where, dose().document.id)
        else:
            with pytest.raises(Misconfigured, match=r"^a document is damaged"):
                read(where, dose().document.id)
    assert_noticed(catalog)


def test_a_damaged_page_is_named_to_nobody_but_its_readers(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, dose("owner:ann"))
    damage(file, "UPDATE chunks SET text = 'The safe dose is 925 mg per day.' WHERE position = 0")
    assert of_dose(OF_ANN, catalog)[0] == Damaged("dose.md")
    assert of_dose(OF_BNN, catalog) == []


def test_a_document_in_another_scope_opens_nothing_there(catalog: SqliteCatalog, file: Path) -> None:
    rival = Scope("rival", "handbook")
    put(catalog, dose(), a_write("other.md", ["Nets dry."], scope=rival))
    damage(file, "UPDATE documents SET scope = (SELECT id FROM scopes WHERE tenant = 'rival') WHERE path = 'dose.md'")
    assert of_dose(Where(rival, None), catalog) == [Damaged("")] * 2
    assert of_dose(EVERYTHING, catalog) == [Damaged("dose.md")] * 2
    with pytest.raises(Misconfigured, match=r"^a document is damaged"):
        catalog.document(Where(rival, None), dose().document.id)


def test_a_scope_with_the_name_of_another_opens_nothing(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, dose())
    damage(file, "UPDATE scopes SET tenant = 'bcme'")
    for read in (catalog.document, catalog.chunks):
        with pytest.raises(Misconfigured, match=r"^a document is damaged"):
            read(Where(Scope("bcme", SCOPE.project), None), dose().document.id)
    assert of_dose(Where(Scope("bcme", SCOPE.project), None), catalog) == [Damaged("")] * 2


def test_a_chunk_that_lost_its_document_is_damage_without_a_name(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, dose())
    damage(file, "UPDATE chunks SET document_id = 'x' WHERE position = 0")
    assert of_dose(EVERYTHING, catalog)[0] == Damaged("")


def test_what_is_damaged_is_read_again_and_is_whole_when_it_is_stored_again(catalog: SqliteCatalog, file: Path) -> None:
    write = dose()
    put(catalog, write)
    created_at = passages_of(catalog)[0].created_at
    for statement in (
        "UPDATE chunks SET text = 'x' WHERE position = 0",
        "UPDATE chunks SET labels = '[]' WHERE position = 0",
        "UPDATE documents SET title = 'x'",
        "UPDATE documents SET created_at = 1.0",
        "UPDATE documents SET text = 'x'",
        "UPDATE embeddings SET vector = x'00' WHERE text_digest = (SELECT text_digest FROM chunks WHERE position = 0)",
    ):
        assert catalog.stamps(SCOPE, ["dose.md"])["dose.md"].stamp == write.document.stamp
        damage(file, statement)
        assert catalog.stamps(SCOPE, ["dose.md"])["dose.md"].stamp != write.document.stamp
        put(catalog, write)
        catalog.check()
        assert passages_of(catalog)[0].created_at == created_at


def passages_of(catalog: SqliteCatalog) -> list[Passage]:
    return [found for found in of_dose(EVERYTHING, catalog) if isinstance(found, Passage)]


def test_a_rebuild_leaves_out_what_is_damaged_and_asks_for_it(catalog: SqliteCatalog, file: Path) -> None:
    write = dose()
    put(catalog, write)
    damage(file, "UPDATE chunks SET text = 'The safe dose is 925 mg per day.' WHERE position = 0")
    assert texts_logged(catalog) == [None, "Nets dry."]
    assert put(catalog, write).updated == 1
    assert sorted(filter(None, texts_logged(catalog))) == ["Nets dry.", TEXT]
    damage(
        file, "UPDATE embeddings SET vector = x'00' WHERE text_digest = ?", bytes.fromhex(write.chunks[0].text_digest)
    )
    assert sorted(filter(None, texts_logged(catalog))) == ["Nets dry."]
    assert put(catalog, write).updated == 1
    assert sorted(filter(None, texts_logged(catalog))) == ["Nets dry.", TEXT]


def texts_logged(catalog: SqliteCatalog) -> list[str | None]:
    return [change.text for change in catalog.changes(SCOPE, after=0, limit=9)]


def test_a_damaged_vector_counts_as_unknown_until_it_is_kept_again(catalog: SqliteCatalog, file: Path) -> None:
    write = a_write("a.md", ["one"])
    (key,) = words_of(write)
    put_with_words(catalog, write)
    damage(file, "UPDATE embeddings SET vector = x'00'")
    damage(file, "UPDATE word_vectors SET vectors = x'00'")
    assert (catalog.vectors([key]), catalog.word_vectors([key])) == ({}, {})
    assert catalog.lacks_word_vectors()
    put_with_words(catalog, write)
    assert (catalog.vectors([key]), catalog.word_vectors([key])) == (vectors_of(write), words_of(write))
    assert not catalog.lacks_word_vectors()


@pytest.mark.parametrize(("column", "value"), [("access", '[["", ["public"]]]'), ("root", "x"), ("mount", "x")])
def test_a_source_whose_rules_are_damaged_is_refused(
    catalog: SqliteCatalog, file: Path, column: str, value: str
) -> None:
    catalog.register(SCOPE, SourceRef("hr", "../hr", (AccessRule("", ("group:hr",), "access"),)))
    damage(file, f"UPDATE sources SET {column} = ?", value)
    for use in (lambda: catalog.sources(SCOPE), catalog.check):
        with pytest.raises(Misconfigured, match=r"with its access rules, is damaged in .*: restore"):
            use()


def test_damaged_facts_are_refused(catalog: SqliteCatalog, file: Path) -> None:
    catalog.record_facts(LibraryFacts("m", 4, 256, {}, "a"))
    damage(file, "UPDATE facts SET value = '{' WHERE name = 'library'")
    with pytest.raises(CitewiseError, match="the record 'library' is damaged"):
        catalog.facts()


def test_a_mark_does_not_cover_up_damage(catalog: SqliteCatalog, file: Path) -> None:
    put(catalog, dose())
    damage(file, "UPDATE chunks SET text = 'x' WHERE position = 0")
    catalog.mark_stale(SCOPE, {"dose.md": "binary file"})
    assert of_dose(EVERYTHING, catalog)[0] == Damaged("dose.md")
    assert_noticed(catalog)


def test_nobody_takes_a_chunk_that_was_removed_for_damaged(catalog: SqliteCatalog) -> None:
    put(catalog, dose())
    catalog.remove(SCOPE, ["dose.md"])
    assert of_dose(EVERYTHING, catalog) == []
    assert catalog.passages([ChunkId("0" * 16)], where=EVERYTHING) == {}
    assert catalog.document(EVERYTHING, document_id(SCOPE, "dose.md")) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_nobody_could_read_what_is_gone_if_its_rule_is_damaged(catalog: SqliteCatalog, file: Path, when: str) -> None:
    put(catalog, a_write("hr.md", ["Salaries."], access=Access.of(["owner:ann"])))
    (known,) = catalog.stamps(SCOPE, ["hr.md"]).values()
    if when == "before":
        damage(file, "UPDATE documents SET access = ',public,'")
        assert catalog.stamps(SCOPE, ["hr.md"])["hr.md"].access == Access(frozenset())
    catalog.remove(SCOPE, ["hr.md"])
    if when == "after":
        assert [gone.access for gone in catalog.removed_texts(SCOPE)] == [known.access]
        damage(file, "UPDATE removed_texts SET readers = ',project,'")
    assert [gone.access for gone in catalog.removed_texts(SCOPE)] == [Access(frozenset())]
