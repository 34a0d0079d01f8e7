"""The promises of the port Versioned."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.passages import SqlitePassages
from citewise.errors import Unavailable
from citewise.model.access import Access
from tests.builders import SCOPE, a_write, vectors_of


def opened(file: Path) -> SqliteCatalog:
    return SqliteCatalog(Connections(file, may_create=True), model_name="m")


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[SqliteCatalog]:
    made = opened(tmp_path / "catalog.db")
    made.store([a_write("a.md", ["The tide turns."]), a_write("b.md", ["Nets dry."])])
    yield made
    made.close()


def test_it_stays_the_same_while_nothing_is_committed(catalog: SqliteCatalog) -> None:
    before = catalog.version()
    catalog.known(SCOPE)
    catalog.census()
    assert catalog.version() == before


@pytest.mark.parametrize(
    "change",
    [
        lambda catalog: catalog.store([a_write("a.md", ["The tide turns twice."])]),
        lambda catalog: catalog.store([a_write("a.md", ["The tide turns."], access=Access.of(["owner:ann"]))]),
        lambda catalog: catalog.remove(SCOPE, ["a.md"]),
        lambda catalog: catalog.keep(vectors_of(a_write("c.md", ["Other."]))),
        lambda catalog: catalog.remember({"name": "value"}),
    ],
    ids=["an edit", "access alone", "a removal", "a vector", "a fact"],
)
def test_every_commit_of_the_same_opening_makes_another(
    catalog: SqliteCatalog, change: Callable[[SqliteCatalog], object]
) -> None:
    before = catalog.version()
    change(catalog)
    assert catalog.version() != before


def test_a_commit_through_another_opening_makes_another(catalog: SqliteCatalog, tmp_path: Path) -> None:
    before = catalog.version()
    other = opened(tmp_path / "catalog.db")
    other.remove(SCOPE, ["a.md"])
    other.close()
    assert catalog.version() != before


def test_a_commit_of_another_process_makes_another(catalog: SqliteCatalog, tmp_path: Path) -> None:
    before = catalog.version()
    program = (
        f"import sqlite3; c = sqlite3.connect({str(tmp_path / 'catalog.db')!r}); "
        "c.execute(\"UPDATE documents SET title = 'Other' WHERE path = 'a.md'\"); c.commit()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert catalog.version() != before


def test_asking_for_a_document_anew_makes_another(catalog: SqliteCatalog, tmp_path: Path) -> None:
    connections = Connections(tmp_path / "catalog.db")
    before = catalog.version()
    SqlitePassages(connections).make_anew([chunk.id for chunk in catalog.chunks(SCOPE, "a.md")])
    connections.close()
    assert catalog.version() != before


def test_a_file_that_was_replaced_under_a_reader_without_a_log_makes_another(
    catalog: SqliteCatalog, tmp_path: Path
) -> None:
    before = catalog.version()
    os.utime(tmp_path / "catalog.db", ns=(1, 1))
    assert catalog.version() != before


def test_what_is_not_committed_yet_is_not_seen(catalog: SqliteCatalog, tmp_path: Path) -> None:
    before = catalog.version()
    with sqlite3.connect(tmp_path / "catalog.db", isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("UPDATE documents SET title = 'Other'")
        assert catalog.version() == before  # and did not wait for it
        writer.execute("ROLLBACK")
    writer.close()
    assert catalog.version() == before


def test_no_value_of_one_opening_is_one_of_another(catalog: SqliteCatalog, tmp_path: Path) -> None:
    first = catalog.version()
    again, other = opened(tmp_path / "catalog.db"), opened(tmp_path / "other.db")
    assert len({first, again.version(), other.version()}) == 3
    again.close()
    other.close()


def test_threads_read_the_same(catalog: SqliteCatalog) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: catalog.version(), range(200)))) == 1
    catalog.remove(SCOPE, ["a.md"])
    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(lambda _: catalog.version(), range(200)))) == 1


def test_it_keeps_nobody_from_compacting(catalog: SqliteCatalog) -> None:
    catalog.version()
    assert catalog.compact()


def test_a_file_that_is_gone_is_unavailable(catalog: SqliteCatalog, tmp_path: Path) -> None:
    catalog.version()
    (tmp_path / "catalog.db").rename(tmp_path / "moved.db")
    with pytest.raises(Unavailable, match=r"catalog\.db"):
        catalog.version()
