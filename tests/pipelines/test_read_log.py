"""The log and what is popular, as one principal may see them: over the real catalog, whose rules may have changed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.insights import MAX_DOCUMENTS, MAX_POPULAR_ROWS, ReadLog
from citewise.model.access import OWNER, Access, Principal, Scope
from citewise.model.filters import AnyOf, Where
from citewise.model.ids import document_id
from citewise.model.logged import Logged
from tests.builders import DAY, NOON, SCOPE, a_row, a_write
from tests.fakes.kept_log import BrokenLog, KeptLog

ANN, BOB = Principal("ann"), Principal("bob")


class Desk:
    """A real catalog and a plain log."""

    def __init__(self, file: Path) -> None:
        connections = Connections(file, may_create=True)
        self.catalog = SqliteCatalog(connections, model_name="m")
        self.store = KeptLog(now=NOON)
        self.log = ReadLog(self.store, self.catalog, now=lambda: NOON)
        self._chunks: dict[str, list[str]] = {}

    def put(self, path: str, *texts: str, access: str = "project", scope: Scope = SCOPE) -> None:
        write = a_write(path, texts or (f"Of {path}.",), scope=scope, access=Access.of([access]))
        self.catalog.store([write])
        self._chunks[path] = [chunk.id for chunk in write.chunks]

    def asked(self, who: Principal, *paths: str, at: float = NOON, text: str = "What?", scope: Scope = SCOPE) -> Logged:
        """A question of somebody's, for which these documents were shown."""
        shown = [(chunk, document_id(scope, path)) for path in paths for chunk in self._chunks[path]]
        row = a_row(text, who=who, at=at, shown=shown, scope=scope)
        self.store.write([row], lost={})
        return row

    def rows(self, who: Principal, *, scope: Scope = SCOPE) -> list[tuple[str | None, list[str]]]:
        found = self.log.rows(scope, who, since=0.0, limit=100)
        return [(one.row.text, [document.path for document in one.documents]) for one in found]

    def top(self, who: Principal) -> dict[str, int]:
        found = self.log.overview(SCOPE, who, since=0.0)
        return {one.path: one.times for one in found.documents}

    def popular_to(self, who: Principal, limit: int = 10) -> list[str]:
        return [one.document for one in self.log.popular(Where(SCOPE, who.readers), limit)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "catalog.db")
    yield made
    made.catalog.close()


def test_a_row_names_only_what_its_reader_may_see_now(desk: Desk) -> None:
    desk.put("a.md")
    desk.put("b.md")
    desk.asked(ANN, "a.md", "b.md")
    desk.put("b.md", access="owner:bob")
    ((text, documents),) = desk.rows(ANN)
    assert (text, documents) == ("What?", ["a.md"])
    (seen,) = desk.log.rows(SCOPE, ANN, since=0.0, limit=1)
    assert len(seen.row.shown) == 1
    assert desk.rows(OWNER) == [("What?", ["a.md", "b.md"])]


def test_a_deleted_document_is_named_to_nobody(desk: Desk) -> None:
    desk.put("a.md")
    desk.asked(ANN, "a.md")
    desk.catalog.remove(SCOPE, ["a.md"])
    assert desk.rows(OWNER) == [("What?", [])]
    assert desk.top(OWNER) == {}
    assert desk.popular_to(OWNER) == []


def test_only_so_many_documents_are_named_however_many_are_hidden(desk: Desk) -> None:
    for at in range(150):
        desk.put(f"{at:03}.md", access="owner:bob" if at < 135 else "public")
        for _ in range(2 if at < 135 else 1):
            desk.asked(ANN, f"{at:03}.md")
    assert list(desk.top(ANN).values()) == [1] * MAX_DOCUMENTS


def test_a_document_that_changed_is_still_named_by_a_chunk_that_stayed(desk: Desk) -> None:
    desk.put("a.md", *(f"Part {at}." for at in range(4)))
    desk.asked(ANN, "a.md")
    desk.put("a.md", "Part 0.")
    assert desk.top(ANN) == {"a.md": 1}


def test_what_was_lost_is_the_owners_to_know(desk: Desk) -> None:
    desk.store.write([], lost={SCOPE: 7})
    assert desk.log.overview(SCOPE, OWNER, since=0.0).lost == 7
    assert desk.log.overview(SCOPE, ANN, since=0.0).lost is None


def test_statistics_say_when_there_is_more_than_they_count(desk: Desk) -> None:
    for at in range(4):
        desk.asked(ANN, at=NOON - at, text=str(at))
    few = ReadLog(desk.store, desk.log.catalog, max_rows=3, now=lambda: NOON)
    found = few.overview(SCOPE, ANN, since=0.0)
    assert (found.is_cut, found.queries) == (True, 3)
    assert not desk.log.overview(SCOPE, ANN, since=0.0).is_cut


def test_popular_counts_everybodys_questions_but_shows_what_one_may_see(desk: Desk) -> None:
    desk.put("a.md", access="public")
    desk.put("b.md")
    desk.put("c.md", access="owner:bob")
    for _ in range(3):
        desk.asked(BOB, "c.md")
    for _ in range(2):
        desk.asked(BOB, "b.md")
    desk.asked(ANN, "a.md")
    assert desk.popular_to(OWNER) == ["c.md", "b.md", "a.md"]
    assert desk.popular_to(BOB) == ["c.md", "b.md", "a.md"]
    assert desk.popular_to(ANN) == ["b.md", "a.md"]
    assert desk.popular_to(Principal()) == ["a.md"]
    assert desk.popular_to(ANN, limit=1) == ["b.md"]


def test_popularity_is_of_late(desk: Desk) -> None:
    desk.put("a.md")
    desk.asked(BOB, "a.md", at=NOON - 31 * DAY)
    assert desk.popular_to(ANN) == []


def test_hidden_passages_take_no_place_of_visible_ones(desk: Desk) -> None:
    desk.put("open.md", access="public")
    desk.asked(BOB, "open.md")
    for at in range(300):
        desk.put(f"hidden-{at}.md", access="owner:bob")
        desk.asked(BOB, f"hidden-{at}.md")
        desk.asked(BOB, f"hidden-{at}.md")
    assert MAX_POPULAR_ROWS > 2 * 300 + 1
    assert desk.popular_to(ANN, limit=3) == ["open.md"]


def test_a_narrowed_search_gets_nothing_popular(desk: Desk) -> None:
    desk.put("a.md")
    desk.asked(BOB, "a.md")
    where = Where(SCOPE, ANN.readers, (AnyOf("module", frozenset({"m-1"})),))
    assert desk.log.popular(where, 5) == ()


def test_a_log_or_a_catalog_that_cannot_be_read_has_nothing_popular(desk: Desk, tmp_path: Path) -> None:
    assert ReadLog(BrokenLog(), desk.log.catalog).popular(Where(SCOPE, None), 5) == ()
    desk.put("a.md")
    desk.asked(BOB, "a.md")
    gone = SqliteCatalog(Connections(tmp_path / "gone.db", may_create=True), model_name="m")
    (tmp_path / "gone.db").rename(tmp_path / "moved.db")
    gone.close()
    assert ReadLog(desk.store, gone, now=lambda: NOON).popular(Where(SCOPE, None), 5) == ()
