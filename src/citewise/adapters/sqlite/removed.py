"""The texts of documents that were removed or replaced, which are recognized when they come back."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from citewise.adapters.sqlite import rows as records
from citewise.model.access import PUBLIC, Access, Scope
from citewise.model.document import RemovedText
from citewise.model.ids import Digest

COLUMNS = ("path", "readers", "content_hash")


def texts_of(rows: Iterable[Sequence[Any]], scope: Scope) -> tuple[RemovedText, ...]:
    """From rows of COLUMNS and their seal; nobody may read a text whose row is damaged."""
    found: dict[tuple[str, Access], set[Digest]] = {}
    for *columns, seal in rows:
        path, readers, content_hash = columns
        access = records.access_of(readers) if records.seal_of(columns, scope) == seal else records.NOBODY
        found.setdefault((path, access), set()).add(Digest(content_hash.hex()))
    return tuple(RemovedText(path, access, frozenset(hashes)) for (path, access), hashes in found.items())


def text_of(connection: sqlite3.Connection, scope_id: int, scope: Scope, path: str) -> RemovedText:
    """The text of a document that is going to be removed; nobody may read it where its rule is damaged."""
    rows = connection.execute(
        f"SELECT {records.sealed('d.rule_seal')}, c.content_hash FROM documents d "
        "JOIN chunks c ON c.document_id = d.id WHERE d.scope = ? AND d.path = ?",
        (scope_id, path),
    ).fetchall()
    is_intact = all(records.intact(row, scope, "d.rule_seal") for row in rows[:1])
    access = records.access_of(rows[0]["access"]) if rows and is_intact else records.NOBODY
    hashes = frozenset(Digest(row["content_hash"].hex()) for row in rows)
    return RemovedText(path, access, hashes)


def record(connection: sqlite3.Connection, scope_id: int, scope: Scope, text: RemovedText) -> None:
    """Remember a text that not everybody could read, so that it is recognized when it comes back."""
    if PUBLIC in text.access.readers:
        return
    rows = [(text.path, records.stored_access(text.access), bytes.fromhex(each)) for each in text.texts]
    connection.executemany(
        "INSERT OR REPLACE INTO removed_texts (scope, path, readers, content_hash, seal) VALUES (?, ?, ?, ?, ?)",
        [(scope_id, *row, records.seal_of(row, scope)) for row in rows],
    )
