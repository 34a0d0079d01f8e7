"""Whoever asks whatever, after whatever happened: the cache gives what a fresh search would."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from citewise.adapters.memory.cache import MemoryCache
from citewise.adapters.memory.query_log import NoLog
from citewise.model.access import Principal, Scope
from citewise.model.ids import digest
from citewise.model.ranking import SearchResult
from citewise.search import cache as result_cache
from citewise.search.cache import ResultCache
from citewise.service import Service
from tests.builders import a_write, vectors_of
from tests.fakes.searchable import FakeLibrary, no_answers
from tests.pipelines.harness import Shelf, a_question

WORDS = ("tide", "ferry", "gauge", "nets")
RULES = ("public", "project", "owner:ann", "group:ops")
TITLES = ("Harbor", "Quay", "Pier")
PRINCIPALS = (Principal(), Principal("ann"), Principal("bob", frozenset({"ops"})), Principal(owns_library=True))
WORDINGS = (  # the questions of a row are near each other
    ("How do I read the tide gauge?", "How do I read the tide gauge today?", "So how do I read the tide gauge?"),
    ("ferry nets", "ferry nets nets"),
    ("gauge harbor pier",),
)
HERE, ELSEWHERE = Scope(), Scope(project="other")
MIN_COSINE = 0.75  # of the embedder of these tests, which counts words


@dataclass(frozen=True, slots=True)
class Page:
    """What a file says now; the same with another title or rule is an edit of that alone."""

    words: tuple[str, ...] = WORDS
    title: str = TITLES[0]
    rule: str = RULES[0]

    def text_at(self, path: str) -> str:
        front = f"---\ntitle: {self.title}\naccess: {self.rule}\n---\n"
        return f"{front}# {path}\n\n{' '.join(self.words)} in {path}.\n"


@dataclass(frozen=True, slots=True)
class Written:
    path: str
    page: Page


@dataclass(frozen=True, slots=True)
class Deleted:
    path: str


@dataclass(frozen=True, slots=True)
class Asked:
    principal: Principal
    row: int = 0
    wording: int = 0
    top_k: int = 10
    scope: Scope = HERE


Step = Written | Deleted | Asked

paths = st.sampled_from(["a.md", "b.md", "c.md"])
pages = st.builds(
    Page,
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(tuple),
    st.sampled_from(TITLES),
    st.sampled_from(RULES),
)
questions = st.builds(
    Asked,
    st.just(PRINCIPALS[0]),
    st.integers(0, len(WORDINGS) - 1),
    st.integers(0, 2),
    st.sampled_from([10, 10, 1]),
    st.sampled_from([HERE, HERE, ELSEWHERE]),
)
changes = st.one_of(st.builds(Written, paths, pages), st.builds(Deleted, paths))


def told(asked: list[Asked], readers: list[Principal], changed: list[Step]) -> list[Step]:
    """Every reader asks everything, again and again, and in between something changes."""
    round_: list[Step] = [replace(one, principal=reader) for one in asked for reader in readers]
    return [*round_, *round_, *(step for change in changed for step in (change, *round_))]


histories = st.builds(
    told,
    st.lists(questions, min_size=1, max_size=3),
    st.lists(st.sampled_from(PRINCIPALS), min_size=1, max_size=3, unique=True),
    st.lists(changes, min_size=1, max_size=3),
)


class Desk:
    """A library that is held open, with a cache in front of its search; composed as the library does it."""

    was_opened = True

    def __init__(self, shelf: Shelf) -> None:
        self.shelf = shelf
        self.reader = shelf.reader()
        self.fresh = self.reader.search
        self.cached = ResultCache(
            MemoryCache(max_bytes=1_000_000, ttl_seconds=600),
            self.reader,
            settings=digest("these settings"),
            ttl_seconds=600,
            embedder=shelf.embedder,
            min_cosine=MIN_COSINE,
        )
        self.numbers = count()

    @property
    def service(self) -> Service:
        return Service(FakeLibrary(self.fresh), no_answers, log=NoLog(), cache=self.cached)

    def change(self, step: Written | Deleted) -> None:
        file = self.shelf.docs / step.path
        if isinstance(step, Written):
            self.shelf.write(step.path, step.page.text_at(step.path))
        else:
            file.unlink(missing_ok=True)
        self.shelf.ingest()

    def ask(self, step: Asked) -> bool:
        """Whether it was a hit; fails if a fresh search gives anything else."""
        wordings = WORDINGS[step.row]
        query = a_question(
            wordings[step.wording % len(wordings)],
            request_id=f"r-{next(self.numbers)}",
            scope=step.scope,
            principal=step.principal,
            top_k=step.top_k,
        )
        given_back = self.service.search(query)
        texts = [query.text, *wordings] if given_back.cache_hit else [query.text]
        assert shown(given_back) in [shown(self.fresh(replace(query, text=text))) for text in texts]
        assert given_back.query == query
        return given_back.cache_hit


def shown(result: SearchResult) -> list[object]:
    """Everything that a reader sees of a result."""
    found = [
        (one.passage.chunk_id, one.candidate, one.passage.text, one.passage.title, one.url) for one in result.findings
    ]
    return [found, result.total_candidates, result.dropped, result.notes]


@contextlib.contextmanager
def a_desk() -> Iterator[Desk]:
    with tempfile.TemporaryDirectory() as home:
        rules = {"a.md": "public", "b.md": "group:ops", "c.md": "owner:ann"}
        pages = {path: Page(rule=rule).text_at(path) for path, rule in rules.items()}
        desk = Desk(Shelf.holding(Path(home), pages))
        try:
            yield desk
        finally:
            desk.reader.close()
            desk.reader._threads.shutdown()


def played(history: Sequence[Step], *, version: Callable[[Scope], str] | None = None) -> list[bool]:
    """Which of the questions were hits; with another idea of what a version is, to see that it matters."""
    with a_desk() as desk:
        vars(desk.reader)["version"] = version or desk.reader.version
        hits = []
        for step in history:
            if isinstance(step, Asked):
                hits.append(desk.ask(step))
            else:
                desk.change(step)
        return hits


@settings(max_examples=30, deadline=None)
@given(histories)
def test_cached_and_fresh_are_equal(history: list[Step]) -> None:
    assert any(played(history))


ANN, OWNER = Asked(PRINCIPALS[1]), Asked(PRINCIPALS[3])


@pytest.mark.parametrize(
    "change",
    [
        Written("a.md", Page(rule="public", title="Pier")),
        Written("c.md", Page(rule="group:ops")),
        Written("a.md", Page(words=("tide", "tide"))),
        Written("d.md", Page(rule="owner:ann")),
        Deleted("a.md"),
    ],
    ids=["a title alone", "access alone", "an edit", "a new document", "a deletion"],
)
def test_every_kind_of_change_counts_at_once_and_what_stays_is_given_again(change: Step) -> None:
    assert played([ANN, ANN, change, ANN, ANN]) == [False, True, False, True]


def test_other_words_and_other_readers_take_part_in_it() -> None:
    history = [ANN, replace(ANN, wording=1), OWNER, replace(OWNER, wording=2), replace(ANN, row=1), replace(ANN, row=2)]
    assert played(history) == [False, True, False, True, False, False]


def assert_caught(version: Callable[[Scope], str] | None = None) -> None:
    """The property must fail, and on one of the first histories."""

    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    @given(histories)
    def the_property(history: list[Step]) -> None:
        played(history, version=version)

    with pytest.raises(AssertionError):
        the_property()


def test_a_cache_that_forgets_who_asks_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    real = result_cache.key_parts
    monkeypatch.setattr(result_cache, "key_parts", lambda query: real(replace(query, principal=Principal())))
    assert_caught()


def test_a_cache_that_forgets_what_changed_is_caught() -> None:
    assert_caught(lambda scope: "always the same")


def test_what_the_index_takes_up_later_than_the_catalog_counts_then() -> None:
    write = a_write("late.md", ["The tide gauge is read by the nets."], scope=HERE)
    with a_desk() as desk, desk.shelf.opened() as library:
        library.catalog.keep(vectors_of(write), {})
        library.catalog.store([write])
        desk.ask(OWNER)
        library.project(HERE)
        assert desk.ask(OWNER) is False
