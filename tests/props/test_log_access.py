"""Nobody learns from the log, its statistics or what is popular more than they asked or may see: against an oracle."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.adapters.sqlite.query_log import SqliteLog
from citewise.insights import ReadLog
from citewise.model.access import Access, Principal, Scope
from citewise.model.filters import Where
from citewise.model.ids import document_id
from tests.builders import NOON, a_row, a_write
from tests.props.test_search_access import may_read, principals, rules

SCOPES = (Scope("acme", "book"), Scope("acme", "other"), Scope("x", "book"))
PAGES = tuple(f"page-{at}.md" for at in range(5))


@dataclass(frozen=True)
class Asked:
    """A question, who asked it where, and which pages were shown for it."""

    who: Principal
    scope: Scope
    shown: tuple[str, ...]


asked = st.builds(
    Asked,
    principals,
    st.sampled_from(SCOPES),
    st.lists(st.sampled_from(PAGES), unique=True, max_size=3).map(tuple),
)
worlds = st.lists(rules, min_size=len(PAGES), max_size=len(PAGES))


@contextmanager
def opened(before: list[set[str]], after: list[set[str]], rows: list[Asked]) -> Iterator[ReadLog]:
    """Real files: pages under their first rules, questions about them, then the rules of now."""
    with tempfile.TemporaryDirectory() as home:
        connections = Connections(Path(home) / "catalog.db", may_create=True)
        catalog = SqliteCatalog(connections, model_name="m")
        store = SqliteLog(Path(home) / "queries.db", retention_days=1e6, now=lambda: NOON)
        chunks: dict[tuple[Scope, str], str] = {}
        for some in (before, after):
            for scope in SCOPES:
                for path, rule in zip(PAGES, some, strict=True):
                    write = a_write(path, [f"{path} of {scope}"], scope=scope, access=Access.of(rule))
                    catalog.store([write])
                    chunks[scope, path] = write.chunks[0].id
        store.write(
            [
                a_row(
                    f"q{at}",
                    who=one.who,
                    scope=one.scope,
                    hits=0,
                    shown=[(chunks[one.scope, path], document_id(one.scope, path)) for path in one.shown],
                )
                for at, one in enumerate(rows)
            ],
            lost={},
        )
        try:
            yield ReadLog(store, catalog, now=lambda: NOON)
        finally:
            catalog.close()


def is_ones_own(reader: Principal, asker: Principal) -> bool:
    """The rule in plain words, written apart from the product's own."""
    if reader.owns_library:
        return True
    return reader.user is not None and asker.user == reader.user  # those without a name are many


@settings(max_examples=60, deadline=None)
@given(worlds, worlds, st.lists(asked, max_size=12), principals, st.sampled_from(SCOPES))
def test_the_log_tells_nobody_more_than_they_asked_and_may_see(
    before: list[set[str]], after: list[set[str]], rows: list[Asked], reader: Principal, scope: Scope
) -> None:
    visible = {path for path, rule in zip(PAGES, after, strict=True) if may_read(reader, rule)}
    here = [(f"q{at}", one) for at, one in enumerate(rows) if one.scope == scope]
    own = {text: one for text, one in here if is_ones_own(reader, one.who)}
    with opened(before, after, rows) as log:
        listed = log.rows(scope, reader, since=0.0, limit=100)
        overview = log.overview(scope, reader, since=0.0)
        found = log.popular(Where(scope, reader.readers), 100)
    assert {(seen.row.text, frozenset(one.path for one in seen.documents)) for seen in listed} == {
        (text, frozenset(visible & set(one.shown))) for text, one in own.items()
    }
    assert {document for seen in listed for _, document in seen.row.shown} <= {
        document_id(scope, path) for path in visible
    }
    assert overview.queries == len(own)
    assert {one.text for one in overview.unanswered.questions} <= own.keys()
    times = Counter(path for one in own.values() for path in one.shown if path in visible)
    assert {one.path: one.times for one in overview.documents} == times
    everybodys = Counter(path for _, one in here for path in one.shown if path in visible)
    assert [everybodys[one.document] for one in found] == sorted(everybodys.values(), reverse=True)
    assert {one.document for one in found} == everybodys.keys()


@settings(max_examples=30, deadline=None)
@given(worlds, st.lists(asked, max_size=12), st.lists(asked, max_size=12), principals)
def test_questions_about_what_one_may_not_see_change_nothing_that_one_is_shown(
    now: list[set[str]], rows: list[Asked], others: list[Asked], reader: Principal
) -> None:
    hidden = {path for path, rule in zip(PAGES, now, strict=True) if not may_read(reader, rule)}
    foreign = [one for one in others if not is_ones_own(reader, one.who) and set(one.shown) <= hidden]
    shown = []
    for asked_then in (rows, [*rows, *foreign]):
        with opened(now, now, asked_then) as log:
            where = Where(SCOPES[0], reader.readers)
            overview = log.overview(SCOPES[0], reader, since=0.0)
            listed = log.rows(SCOPES[0], reader, since=0.0, limit=100)
            shown.append((overview, listed, log.popular(where, 100)))
    assert shown[0] == shown[1]
