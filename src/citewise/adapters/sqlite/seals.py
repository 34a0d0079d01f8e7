"""Verification: which rows of the catalog are as they were stored, and what may be said of those that are not."""

import sqlite3
from collections.abc import Mapping

from citewise.adapters.sqlite import rows as records
from citewise.adapters.sqlite.connections import TOLERANT_TEXT
from citewise.errors import Misconfigured
from citewise.model.access import Scope
from citewise.model.filters import Where
from citewise.model.ids import ChunkId, DocumentId
from citewise.model.ranking import Damaged, Passage

INGEST_AGAIN = "`citewise ingest` of their sources reads them again"
# NULL, which no row has, if unknown
SCOPE = "(SELECT id FROM scopes WHERE tenant = :tenant AND project = :project)"
OF_PATHS = f"json_each(:paths) AS wanted CROSS JOIN documents d ON d.scope = {SCOPE} AND d.path = wanted.value"
VECTOR = "LEFT JOIN embeddings e ON e.text_digest = c.text_digest AND :model IN (e.model, '')"  # '': any model
OF_DOCUMENT, OF_CHUNK = ("d.rule_seal", "d.seal", "d.text_seal"), ("c.seal", "c.rest_seal")
# The rules of the documents of chunks that the log says are there.
_READ_RULES = f"""
    SELECT {records.sealed("d.rule_seal")}, l.chunk_id
    FROM json_each(:ids) AS wanted
    CROSS JOIN changes l ON l.chunk_id = wanted.value AND l.is_put AND l.scope = {SCOPE}
    LEFT JOIN chunks c ON c.id = l.chunk_id
    LEFT JOIN documents d ON d.id = c.document_id
"""


def passages(
    connection: sqlite3.Connection, values: Mapping[str, object], where: Where, *, count: int
) -> Mapping[ChunkId, Passage | Damaged]:
    """What is stored of the chunks `:ids`, of which there are `count`, for this reader."""
    read = _read_passages(connection, values, where.scope)
    if len(read) == count and all(read.values()):
        return {id_: passage for id_, passage in read.items() if passage}
    return _examined(connection, values, where)


def _read_passages(
    connection: sqlite3.Connection, values: Mapping[str, object], scope: Scope
) -> dict[ChunkId, Passage | None]:
    cursor = connection.cursor()
    cursor.row_factory = None  # plain tuples: names would cost more than the reading
    connection.text_factory = str  # tolerance would cost as much again
    try:
        return records.hydrated(cursor.execute(records.READ_PASSAGES, values).fetchall(), scope)
    except sqlite3.OperationalError:  # perhaps a text that is not UTF-8; if not, reading it again says so
        return {}
    finally:
        connection.text_factory = TOLERANT_TEXT


def _examined(
    connection: sqlite3.Connection, values: Mapping[str, object], where: Where
) -> dict[ChunkId, Passage | Damaged]:
    """The passages, where some are missing: those that are damaged, and not just gone or for other readers.

    Only a rule whose seal fits tells who may know of a document. A flip that hides a page, or opens it to somebody, is
    damage without a name.
    """
    connection.execute("BEGIN")  # both reads at one moment, whoever writes
    try:
        read = records.hydrated(map(tuple, connection.execute(records.READ_PASSAGES, values)), where.scope)
        rules = connection.execute(_READ_RULES, values).fetchall()
    finally:
        connection.execute("ROLLBACK")
    found = {id_: passage or Damaged() for id_, passage in read.items()}
    for *rule, id_ in rules:
        if read.get(id_) is not None:
            continue
        if not records.intact(rule, where.scope, "d.rule_seal"):
            found[id_] = Damaged()
        elif where.readers is None or not where.readers.isdisjoint(records.access_of(rule[2]).readers):
            found[id_] = Damaged(rule[1])
    return found


def checked(row: sqlite3.Row, scope: Scope, *seals: str) -> sqlite3.Row:
    """The row itself; Misconfigured if a seal does not fit, with the document's name if its rule is certain."""
    intact = records.intact(row, scope, *seals)
    if len(intact) == len(seals):
        return row
    name = row["path"] if "d.rule_seal" in intact else "a document"
    raise Misconfigured(f"{name} is damaged: {INGEST_AGAIN}")


def damaged(
    connection: sqlite3.Connection, values: Mapping[str, object], scope: Scope, *, is_thorough: bool = False
) -> set[str]:
    """Those of the documents at `:paths` of which something is not as it was stored, by path.

    A thorough look compares SHA-256 as well.
    """
    of_documents = f"SELECT {records.sealed(*OF_DOCUMENT)}, d.path FROM {OF_PATHS}"
    of_chunks = (
        f"SELECT {records.sealed(*OF_CHUNK)}, d.path, c.text_digest, e.vector, e.seal FROM {OF_PATHS} "
        f"JOIN chunks c ON c.document_id = d.id {VECTOR}"
    )
    found = set()
    for row in connection.execute(of_documents, values):
        if len(records.intact(row, scope, *OF_DOCUMENT)) < len(OF_DOCUMENT):
            found.add(row[-1])
    for row in connection.execute(of_chunks, values):
        *_, path, digest, vector, seal = row
        is_whole = len(records.intact(row, scope, *OF_CHUNK)) == len(OF_CHUNK)
        if is_thorough:
            is_whole = is_whole and records.has_digests(row)
        if not is_whole or records.seal_of((digest, vector)) != seal:
            found.add(path)
    return found


def seal(connection: sqlite3.Connection, document: DocumentId, scope: Scope) -> None:
    """Seal a document and its chunks as they are stored now."""
    connection.execute(f"UPDATE documents SET shown = {records.SHOWN} WHERE id = ?", (document,))
    for seal, columns in records.SEALS.items():
        alias, name = seal.split(".")
        table, tables = ("documents", "documents d")
        if alias == "c":
            table, tables = "chunks", "documents d JOIN chunks c ON c.document_id = d.id"
        rows = connection.execute(f"SELECT {', '.join(columns)} FROM {tables} WHERE d.id = ?", (document,)).fetchall()
        connection.executemany(
            f"UPDATE {table} SET {name} = ? WHERE id = ?", [(records.seal_of(row, scope), row[0]) for row in rows]
        )
