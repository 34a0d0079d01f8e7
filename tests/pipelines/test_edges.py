"""What no request may hold is refused at the edge, in words that stay short; and nobody else notices."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

from citewise import BadRequest, Library, LibraryView, Principal, Scope, Selection
from citewise.errors import CitewiseError
from citewise.model.ranking import SearchResult
from tests.fakes.embedding_server import DIMENSIONS, Asked, Reply, running_server, well
from tests.pipelines.harness import Shelf

PAGES = {f"{name}.md": f"# {name}\n\nThe {name} leaves at noon.\n" for name in ("ferry", "barge", "tug", "skiff")}
ANN, OTHERS = Scope("ann", "p"), Scope("others", "p")
MAX_MESSAGE = 500

Call = Callable[[LibraryView, Any], object]


TEXTS = {
    "half a surrogate pair": "noon\udcff",
    "a control character": "noon\x1b[31m",
    "a NUL": "noon\x00",
    "a million characters": "x" * 1_000_000,
    "a million half pairs": "\ud800" * 1_000_000,
}
OTHER_TYPES = {"bytes": b"noon", "a list": ["x"], "a huge number": 10**5000, "an object": object()}
PATHS = {name: TEXTS[name] for name in ("half a surrogate pair", "a million characters", "a million half pairs")}
QUOTED = PATHS  # an answer, a path and a selection may hold what documents hold, control characters too

ENTRIES: dict[str, tuple[Call, dict[str, Any]]] = {
    "question of a search": (lambda view, bad: view.search(bad), TEXTS | OTHER_TYPES | {"nothing": None}),
    "question of an answer": (lambda view, bad: view.ask(bad), TEXTS | OTHER_TYPES),
    "cursor": (lambda view, bad: view.search("noon", cursor=bad), TEXTS | OTHER_TYPES | {"empty": ""}),
    "limit": (lambda view, bad: view.search("noon", limit=bad), TEXTS | OTHER_TYPES),
    "top_k": (lambda view, bad: view.search("noon", top_k=bad), TEXTS | OTHER_TYPES | {"nothing": None}),
    "rerank": (lambda view, bad: view.search("noon", rerank=bad), TEXTS | OTHER_TYPES),
    "half-life": (lambda view, bad: view.search("noon", half_life_days=bad), TEXTS | OTHER_TYPES),
    "weight": (lambda view, bad: view.search("noon", freshness_weight=bad), TEXTS | OTHER_TYPES),
    "budget": (lambda view, bad: view.ask("noon", budget_tokens=bad), TEXTS | OTHER_TYPES),
    "filters": (lambda view, bad: view.search("noon", filters=bad), TEXTS | OTHER_TYPES | {"five": [5]}),
    "filter without end": (lambda view, bad: view.search("noon", filters=repeat(bad)), {"tags": "tags=a", "five": 5}),
    "filter as text": (lambda view, bad: view.search("noon", filters=[f"tags={bad}"]), TEXTS),
    "key as text": (lambda view, bad: view.search("noon", filters=[f"metadata.{bad}=1"]), TEXTS),
    "key": (lambda view, bad: view.search("noon", filters={bad: "a"}), TEXTS | {"five": 5, "nothing": None}),
    "key of metadata": (lambda view, bad: view.search("noon", filters={f"metadata.{bad}": "a"}), TEXTS),
    "value": (lambda view, bad: view.search("noon", filters={"tags": bad}), {**TEXTS, **OTHER_TYPES, "a list": [[]]}),
    "one of many values": (lambda view, bad: view.search("noon", filters={"tags": ["a", bad]}), TEXTS | OTHER_TYPES),
    "bound": (lambda view, bad: view.search("noon", filters={"timestamp": f">={bad}"}), TEXTS),
    "field": (lambda view, bad: view.search("noon", filters=[operator(field=bad)]), TEXTS | OTHER_TYPES),
    "operator": (lambda view, bad: view.search("noon", filters=[operator(operator=bad)]), TEXTS | OTHER_TYPES),
    "value of an operator": (
        lambda view, bad: view.search("noon", filters=[operator(value=bad)]),
        {**TEXTS, **OTHER_TYPES, "a list": [[]]},
    ),
    "range": (
        lambda view, bad: view.search("noon", filters=[operator(operator="range", value={"gte": bad})]),
        TEXTS | OTHER_TYPES,
    ),
    "history": (lambda view, bad: view.ask("noon", history=bad), TEXTS | OTHER_TYPES),
    "message": (lambda view, bad: view.ask("noon", history=[bad]), TEXTS | OTHER_TYPES),
    "role": (lambda view, bad: view.ask("noon", history=[{"role": bad, "content": "noon"}]), TEXTS | OTHER_TYPES),
    "what the user said": (lambda view, bad: view.ask("noon", history=[turn("user", bad)]), TEXTS | OTHER_TYPES),
    "what was answered": (lambda view, bad: view.ask("noon", history=[turn("assistant", bad)]), QUOTED | OTHER_TYPES),
    "selection": (
        lambda view, bad: view.ask("noon", selection=bad),
        OTHER_TYPES | {"a million characters": "x" * 1_000_000},
    ),
    "document of a selection": (lambda _, bad: Selection("noon", document=bad), QUOTED | OTHER_TYPES),
    "section of a selection": (lambda _, bad: Selection("noon", section=bad), QUOTED | OTHER_TYPES),
    "list of documents": (lambda view, bad: view.documents(after=bad), PATHS | OTHER_TYPES | {"nothing": None}),
    "document": (lambda view, bad: view.document(bad), PATHS | OTHER_TYPES),
    "chunks": (lambda view, bad: view.chunks(bad), PATHS | OTHER_TYPES),
    "log": (lambda view, bad: view.log(since=bad), TEXTS | OTHER_TYPES | {"no number": float("nan")}),
    "statistics": (lambda view, bad: view.stats(since=bad), TEXTS | OTHER_TYPES),
    "tenant": (lambda _, bad: Scope(bad), TEXTS | OTHER_TYPES),
    "project": (lambda _, bad: Scope("a", bad), TEXTS | OTHER_TYPES),
    "user": (lambda _, bad: Principal(bad), TEXTS | OTHER_TYPES),
    "group": (lambda _, bad: Principal("ann", frozenset({bad})), TEXTS | {"a huge number": 10**5000}),
    "groups": (lambda _, bad: Principal("ann", bad), TEXTS | {"an object": object(), "huge": 10**5000}),
    "who asks": (lambda view, bad: view._library.as_principal(bad), TEXTS | OTHER_TYPES),
    "scope": (lambda view, bad: view._library.as_owner(bad), TEXTS | OTHER_TYPES),
    "folder of a library": (lambda _, bad: Library(bad), {"a NUL": "a\x00", **OTHER_TYPES}),
    "path to ingest": (lambda view, bad: view._library.ingest(bad), TEXTS | OTHER_TYPES),
    "path to watch": (lambda view, bad: view._library.watch(bad), TEXTS | OTHER_TYPES),
    "name of a source": (lambda view, bad: view._library.ingest(".", name=bad), TEXTS | OTHER_TYPES),
    "access": (lambda view, bad: view._library.ingest(".", access=bad), TEXTS | OTHER_TYPES),
    "corpus type": (lambda view, bad: view._library.ingest(".", corpus_type=bad), TEXTS | OTHER_TYPES),
}


def operator(**changes: object) -> dict[str, object]:
    return {"field": "metadata.year", "operator": "eq", "value": "1", **changes}


def turn(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    shelf = Shelf(tmp_path_factory.mktemp("edges"), query_cache={"megabytes": 0})  # every search is a new one
    for path, text in PAGES.items():
        shelf.write(path, text)
    with shelf.library() as library:
        for scope in (ANN, OTHERS):
            library.ingest(shelf.docs, scope=scope, access="public")
        yield library


CASES = [(entry, value) for entry, (_, values) in ENTRIES.items() for value in values]


@pytest.mark.parametrize(("entry", "value"), CASES, ids=[" with ".join(case) for case in CASES])
def test_a_bad_value_is_refused_in_few_words(library: Library, entry: str, value: str) -> None:
    call, values = ENTRIES[entry]
    with pytest.raises(BadRequest) as refused:
        call(library.as_owner(ANN), values[value])
    assert 10 < len(str(refused.value)) < MAX_MESSAGE
    str(refused.value).encode("utf-8")  # a program can write it anywhere


def saved_cursors(library: Library) -> tuple[int, list[tuple[Any, ...]]]:
    """The file of the cursors, by its inode, and all that is in it."""
    (file,) = Path(library._settings.library).rglob("pages.db")
    with closing(sqlite3.connect(file)) as opened:
        return file.stat().st_ino, opened.execute("SELECT cursor, data FROM rankings ORDER BY number").fetchall()


def shown(result: SearchResult) -> tuple[object, ...]:
    return result.findings, result.dropped, result.counts, result.degraded, result.notes


def test_the_bad_requests_of_one_tenant_change_nothing_for_another(library: Library) -> None:
    ours, theirs = library.as_owner(OTHERS), library.as_owner(ANN)
    before = shown(ours.search("When does the ferry leave?", rerank=False))
    page = ours.search("noon", limit=1)
    cursors = saved_cursors(library)
    for entry, value in CASES:
        call, values = ENTRIES[entry]
        with suppress(CitewiseError):
            call(theirs, values[value])
    assert saved_cursors(library) == cursors
    assert shown(ours.search("When does the ferry leave?", rerank=False)) == before
    assert ours.search("tug").degraded == ()
    assert ours.search("noon", limit=1, cursor=page.next_cursor).findings


@pytest.mark.server
@pytest.mark.parametrize("status", [400, 408, 409, 413, 422, 425, 429])
def test_texts_of_one_tenant_that_a_model_refuses_cost_another_no_ranking(tmp_path: Path, status: int) -> None:
    def answered(asked: Asked) -> Reply:
        is_refused = any("falcon" in text for text in asked.texts)
        body = b'{"error": {"code": "content_filter", "message": "falcon is not a word"}}'
        return Reply(status, body, {"Retry-After": "0"}) if is_refused else well(asked)

    with running_server() as server:
        server.rule = answered
        model = {"provider": "openai", "model": "m", "dimensions": DIMENSIONS, "base_url": server.url}
        shelf = Shelf(tmp_path, embedding=model, query_cache={"megabytes": 0}, guard={"failures": 2})
        shelf.write("ferry.md", PAGES["ferry.md"])
        with Library(settings=shelf.settings) as library:
            library.ingest(shelf.docs, scope=OTHERS)
            for number in range(5):
                assert library.as_owner(ANN).search(f"falcon {number}").degraded
            found = library.as_owner(OTHERS).search("ferry")
    assert found.degraded == ()
    assert "dense" in found.findings[0].candidate.ranks
