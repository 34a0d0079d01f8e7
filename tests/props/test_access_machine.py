"""Many readers, many secrets, in any order: ingest, change rules, delete, ask, leaf on, ask again, read the log.

A library of real parts behind its public methods, and beside it a model in plain words: who wrote what, who may see
it. Whatever a method shows, every mark in it must belong to a document that the asker may see at that moment. Documents
share their vocabulary, so that each is a candidate for every question; marks stand in one document each.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule, run_state_machine_as_test

from citewise import Library, Principal, Scope, Settings
from citewise.evaluate.leak_world import NOBODY, RULES, Maker, Page, Way, Who, marks_in, may_see
from citewise.flows.search import Search
from citewise.model.query import Query
from citewise.model.result import SearchResult
from citewise.model.scope import LOCAL_PRINCIPAL
from citewise.model.where import Where
from citewise.settings import QueryLogSettings
from citewise.wiring.embedding import Embedding
from tests.fakes.counters import HashEmbedder, WordCounter

STEPS = 50
EXAMPLES = 32  # of up to STEPS: well over a thousand steps in all
LEAST_STEPS = 1_000
PLACES = (("acme", "book"), ("acme-book", "2"))
QUESTIONS = ("What measures the tide?", "Who guards the harbor in a storm?", "When does the ferry carry cargo?")
PAGE = 1  # hits: so that even a small library has pages

taken = {"steps": 0, "shown": 0, "hits": 0, "pages": 0}

# Few, so that they come again: what somebody was shown once, they may no longer see.
whos = st.sampled_from(
    (
        Who(None, frozenset(), is_owner=True),
        Who(None, frozenset()),
        Who("ann", frozenset()),
        Who("an", frozenset({"ops"})),
        Who(None, frozenset({"crew"})),
    )
)
places = st.sampled_from(PLACES)
questions = st.sampled_from(QUESTIONS)
rule_sets = st.frozensets(st.sampled_from(("public", *RULES)), min_size=1, max_size=2)


class Leafing:
    """Somebody in the middle of a list."""

    def __init__(self, who: Who, place: tuple[str, str], question: str, cursor: str, seen: set[str]) -> None:
        self.who, self.place, self.question, self.cursor, self.seen = who, place, question, cursor, seen


class Readers(RuleBasedStateMachine):
    """A library, and who may see what in it."""

    pages = Bundle("pages")
    leafings = Bundle("leafings")

    def __init__(self) -> None:
        super().__init__()
        self._stack = ExitStack()
        self._home = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="citewise-machine-")))
        self._maker = Maker(Random(7))
        self._pages: dict[tuple[tuple[str, str], str], Page] = {}
        # Words of questions are kept out of the log: the same name may have asked with other marks before.
        chosen = Settings(
            library=self._home / "library", cache=self._home / "cache", query_log=QueryLogSettings(text="none")
        )
        self._library = self._stack.enter_context(
            Library(settings=chosen, embedding=Embedding(HashEmbedder(), WordCounter()))
        )
        for place in PLACES:
            for rule_ in ("public", "project", "group:ops"):
                self._write(self._page(place, frozenset({rule_})))

    def teardown(self) -> None:
        self._stack.close()

    # What happens to documents

    @rule(target=pages, place=places, rules=rule_sets)
    def ingest(self, place: tuple[str, str], rules: frozenset[str]) -> tuple[tuple[str, str], str]:
        page = self._page(place, rules)
        self._write(page)
        return page.place, page.path

    @rule(name=pages, rules=rule_sets)
    def change_rule(self, name: tuple[tuple[str, str], str], rules: frozenset[str]) -> None:
        page = self._pages.get(name)
        if page is not None:
            self._write(self._maker_page(page, rules))

    @rule(name=consumes(pages))
    def delete(self, name: tuple[tuple[str, str], str]) -> None:
        page = self._pages.pop(name, None)
        if page is not None:
            (self._folder(page.place) / page.path).unlink()
            self._library.ingest(self._folder(page.place), scope=Scope(*page.place))

    # What is shown, to whom

    @rule(who=whos, place=places, question=questions)
    def search(self, who: Who, place: tuple[str, str], question: str) -> None:
        result = self._library.search(question, **self._as(who, place))
        self._check(result, who, place)
        taken["hits"] += result.cache_hit
        visible = sum(may_see(who, page) for page in self._pages.values() if page.place == place)
        assert bool(result.findings) == bool(visible)

    @rule(who=whos, place=places, question=questions)
    def take_away_what_was_shown(self, who: Who, place: tuple[str, str], question: str) -> None:
        """From then on nobody but the owner sees it: not found again, not on the next page, not in the log."""
        leafing = self.first_page(who, place, question)
        result = self._library.search(question, **self._as(who, place))
        shown = [one.passage.document for one in result.findings[:2]]  # the first page has one, the next the other
        page = self._pages.get((place, shown[-1])) if shown else None
        if page is not None:
            self._write(self._maker_page(page, frozenset({NOBODY})))
            self.next_page(leafing)
            self._check(self._library.search(question, **self._as(who, place)), who, place)
            self.read_the_log(who, place)

    @rule(who=whos, other=whos, place=places, question=questions)
    def ask_what_another_asked(self, who: Who, other: Who, place: tuple[str, str], question: str) -> None:
        """What one was given must not be given to another."""
        self._library.ask(question, **self._as(who, place))
        answer = self._library.ask(question, **self._as(other, place))
        self._check(answer, other, place)

    @rule(target=leafings, who=whos, place=places, question=questions)
    def first_page(self, who: Who, place: tuple[str, str], question: str) -> Leafing | None:
        result = self._library.search(question, limit=PAGE, **self._as(who, place))
        self._check(result, who, place)
        if result.next_cursor is None:
            return None
        return Leafing(who, place, question, result.next_cursor, {one.passage.chunk_id for one in result.findings})

    @rule(leafing=leafings)
    def next_page(self, leafing: Leafing | None) -> None:
        """Whatever happened since, nothing comes twice and nothing comes that is not, or no longer, theirs."""
        if leafing is None or not leafing.cursor:
            return
        options = self._as(leafing.who, leafing.place)
        result = self._library.search(leafing.question, limit=PAGE, cursor=leafing.cursor, **options)
        self._check(result, leafing.who, leafing.place)
        ids = {one.passage.chunk_id for one in result.findings}
        assert not ids & leafing.seen
        leafing.seen |= ids
        leafing.cursor = result.next_cursor or ""
        taken["pages"] += 1

    @rule(who=whos, place=places)
    def read_the_log(self, who: Who, place: tuple[str, str]) -> None:
        options = self._as(who, place)
        self._check(self._library.log(limit=50, **options), who, place)
        self._check(self._library.stats(**options), who, place)
        self._check(self._library.topics(limit=20, **options), who, place)

    @invariant()
    def count(self) -> None:
        taken["steps"] += 1

    def _check(self, shown: object, who: Who, place: tuple[str, str]) -> None:
        """Every mark in it is of a document that the asker may see now."""
        text = repr(shown if not isinstance(shown, SearchResult) else (shown.findings, shown.dropped, shown.notes))
        seen = set(marks_in(text))
        taken["shown"] += len(seen)
        mine = {page for page in self._pages.values() if page.place == place and may_see(who, page)}
        allowed = {mark for page in mine for mark in page.marks}
        assert all(any(mark.startswith(part) for mark in allowed) for part in seen), sorted(seen - allowed)

    def _as(self, who: Who, place: tuple[str, str]) -> Any:
        principal = LOCAL_PRINCIPAL if who.is_owner else Principal(who.user, who.groups)
        return {"scope": Scope(*place), "principal": principal}

    def _page(self, place: tuple[str, str], rules: frozenset[str]) -> Page:
        drawn = self._maker.page(place)
        return self._maker_page(drawn, rules, path=drawn.path.rpartition("/")[2])

    def _maker_page(self, page: Page, rules: frozenset[str], path: str | None = None) -> Page:
        values = {name: getattr(page, name) for name in Page.__slots__}
        return Page(**{**values, "rules": rules, "way": Way.FRONTMATTER, "path": path or page.path})

    def _write(self, page: Page) -> None:
        file = self._folder(page.place) / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(page.text, encoding="utf-8")
        self._pages[page.place, page.path] = page
        self._library.ingest(self._folder(page.place), scope=Scope(*page.place))

    def _folder(self, place: tuple[str, str]) -> Path:
        return self._home / "pages" / "+".join(place)


def run(*phases: Phase) -> None:
    run_state_machine_as_test(
        Readers,
        settings=settings(
            max_examples=EXAMPLES,
            phases=phases,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_nothing_is_shown_to_whom_it_is_not_for_in_a_thousand_steps() -> None:
    taken.update(dict.fromkeys(taken, 0))
    run(*Phase)
    assert taken["steps"] >= LEAST_STEPS
    assert taken["shown"] > LEAST_STEPS  # it is no blind machine
    assert taken["hits"] > 0
    assert taken["pages"] > 0


@contextmanager
def broken(monkeypatch: pytest.MonkeyPatch, target: str, value: object) -> Iterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(target, value)
        yield


def seeing_all(scope: Any, readers: object, conditions: Any = ()) -> Where:
    return Where(scope, None, conditions)


read_on = Search.passages


def for_the_owner(self: Search, query: Query, candidates: Any) -> Any:
    return read_on(self, replace(query, principal=LOCAL_PRINCIPAL), candidates)


MUTATIONS = {
    "no rule in a search": (
        "citewise.model.query.Query.where",
        property(lambda query: Where(query.scope, None, query.conditions)),
    ),
    "a memory for everybody": ("citewise.flows.cached.bucket_parts", lambda query: (str(query.scope),)),
    "a memory that never hears of changes": (
        "citewise.wiring.searching.Searching.version",
        lambda self, scope: "always",
    ),
    "pages for everybody": ("citewise.flows.search.Search.passages", for_the_owner),
    "names in the log for everybody": ("citewise.flows.read_log.Where", seeing_all),
    "topics for everybody": ("citewise.entry.api.Where", seeing_all),
}


@pytest.mark.parametrize("which", MUTATIONS)
def test_the_machine_notices(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, value = MUTATIONS[which]
    with broken(monkeypatch, target, value), pytest.raises(AssertionError):
        run(Phase.generate)  # that it fails is enough: nobody needs the shortest way there
