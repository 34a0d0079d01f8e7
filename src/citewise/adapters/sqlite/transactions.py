"""One transaction of SQLite: shared ground of the adapters that keep something in a file of its kind, no adapter."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of the block is committed at its end, or none of it happened; other writers wait meanwhile.

    For connections that were opened with `isolation_level=None`: Python begins no transaction by itself there.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
