"""Many readers, many secrets, in any order: ingest, change rules, delete, compact, ask, leaf on, read the log.

A library of real parts behind its public methods, open twice: what is done through one `Library` must hold at once for
the other, with its own cache and its own open files. Documents share their vocabulary, so that each is a candidate for
every question; markers stand in one document each, or in one and its copy.
"""

import re
import shutil
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from citewise import Scope
from citewise.errors import BadRequest
from citewise.model.answer import Answer
from citewise.model.ranking import SearchResult
from tests.leaks.world import NOBODY, RULES, Page, Reader, WorldMaker
from tests.props.access_library import SCOPES, SEED, file_of, first_pages, folder_of, library_in, new_page, view_of
from tests.props.access_oracle import Name, Oracle, check_opaque

QUESTIONS = ("What measures the tide?", "Who guards the harbor in a storm?", "When does the ferry carry cargo?")
PAGE = 1  # hits: so that even a small library has pages
ID = re.compile(r"[0-9a-f]{16}")
MAX_ROWS = 1_000  # of the log: more than one example asks

taken = {"steps": 0, "shown": 0, "hits": 0, "pages": 0, "refused": 0, "compactions": 0}

OWNER = Reader(None, frozenset(), is_owner=True)
# Few, so that they come again: what somebody was shown once, they may no longer see.
readers = st.sampled_from(
    (
        OWNER,
        Reader(None, frozenset()),
        Reader("ann", frozenset()),
        Reader("an", frozenset({"ops"})),
        Reader(None, frozenset({"crew"})),
    )
)
scopes = st.sampled_from(SCOPES)
questions = st.sampled_from(QUESTIONS)
rule_sets = st.frozensets(st.sampled_from(("public", *RULES)), min_size=1, max_size=2)
doors = st.sampled_from((0, 1))  # which of the two Library objects


@dataclass(slots=True)
class Leafing:
    """Somebody in the middle of a list."""

    reader: Reader
    scope: Scope
    question: str
    cursor: str  # empty at the end
    seen: set[str]
    most: int  # chunks that could be counted when it was begun
    compactions: int  # that there had been by then: each lets go of every list


def forms_of(word: str) -> tuple[bytes, ...]:
    """As it may stand in a file: as text, and an id as a number too, whichever end of it comes first."""
    if not ID.fullmatch(word):
        return (word.encode(),)
    number = bytes.fromhex(word)
    return word.encode(), number, number[::-1]


class Readers(RuleBasedStateMachine):
    """A library, and a model of who may see what in it."""

    home: ClassVar[Path]  # where every example lives, one after the other
    template: ClassVar[Path]  # what is there at its beginning: made once, for making it takes as long as many steps

    pages = Bundle("pages")
    leafings = Bundle("leafings")

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.template, self.home)
        self._oracle = Oracle()
        self._maker = WorldMaker(Random(SEED))
        for page in first_pages(self._maker):
            self._oracle.write(page)
        self._compactions = 0
        self._stack = ExitStack()
        self._libraries = tuple(self._stack.enter_context(library_in(self.home)) for _ in range(2))

    def teardown(self) -> None:
        self._stack.close()
        taken["shown"] += self._oracle.markers_shown

    # What happens to documents

    @rule(target=pages, scope=scopes, rules=rule_sets, by=doors)
    def ingest(self, scope: Scope, rules: frozenset[str], by: int) -> Name:
        page = new_page(self._maker, scope, rules)
        self._write(page, by)
        return page.scope, page.path

    @rule(target=pages, name=pages, rules=rule_sets, by=doors)
    def copy(self, name: Name, rules: frozenset[str], by: int) -> Name:
        """Two say the same, to different readers: one of them is left out of what is shown, and not another's."""
        page = self._oracle.pages.get(name)
        if page is None:
            return name
        twin = replace(new_page(self._maker, page.scope, rules), sections=page.sections)
        self._write(twin, by)
        return twin.scope, twin.path

    @rule(name=pages, rules=rule_sets, by=doors)
    def change_rule(self, name: Name, rules: frozenset[str], by: int) -> None:
        page = self._oracle.pages.get(name)
        if page is not None:
            self._write(replace(page, rules=rules), by)

    @rule(name=consumes(pages), by=doors)
    def delete(self, name: Name, by: int) -> None:
        page = self._oracle.pages.pop(name, None)
        if page is not None:
            file_of(self.home, page).unlink()
            self._ingest(page.scope, by)

    @rule(name=pages, reader=readers, by=doors)
    def show_delete_and_compact(self, name: Name, reader: Reader, by: int) -> None:
        """Afterward no file of the library holds any of it, and nothing is counted that is not there."""
        self._flush_logs()
        self._search(OWNER, name[0], QUESTIONS[0], by)  # the log has a row to write that names it
        self.delete(name, by)
        assert self._libraries[by].compact().is_complete
        self._compactions += 1
        taken["compactions"] += 1
        self._flush_logs()
        assert self._traces(self._oracle.deleted()) == []
        status = self._libraries[by].status()
        assert (status.documents, status.chunks) == self._held()
        self.search(reader, name[0], QUESTIONS[0], 1 - by)

    # What is shown, to whom

    @rule(reader=readers, scope=scopes, question=questions, by=doors)
    def search(self, reader: Reader, scope: Scope, question: str, by: int) -> None:
        result = self._search(reader, scope, question, by)
        assert bool(result.findings) == bool(self._oracle.visible(reader, scope))
        again = self._search(reader, scope, question, by)
        assert again.findings == result.findings

    @rule(reader=readers, name=pages, by=doors)
    def look_for(self, reader: Reader, name: Name, by: int) -> None:
        """By a word that stands in no other document, whoever may know it."""
        page = self._oracle.pages.get(name)
        word = page.keeper if page is not None else name[1].removesuffix(".md")
        self._search(reader, name[0], f"What does {word} do?", by)

    @rule(reader=readers, scope=scopes, question=questions, by=doors)
    def take_away_what_was_shown(self, reader: Reader, scope: Scope, question: str, by: int) -> None:
        """From then on nobody but the owner sees it: not found again, not on the next page, not in the log."""
        leafing = self.first_page(reader, reader, scope, question, by)
        result = self._search(reader, scope, question, by)
        shown = [one.passage.document for one in result.findings[:2]]  # the first page has one, the next the other
        page = self._oracle.pages.get((scope, shown[-1])) if shown else None
        if page is not None:
            self._write(replace(page, rules=frozenset({NOBODY})), by=1 - by)
            self.next_page(leafing, by)
            self._search(reader, scope, question, by)
            self.read_the_log(reader, scope, by)

    @rule(reader=readers, other=readers, scope=scopes, question=questions, by=doors)
    def ask_what_another_asked(self, reader: Reader, other: Reader, scope: Scope, question: str, by: int) -> None:
        """What one was given must not be given to another."""
        self._ask(reader, scope, question, by)
        self._ask(other, scope, question, by)

    @rule(target=leafings, reader=readers, other=readers, scope=scopes, question=questions, by=doors)
    def first_page(self, reader: Reader, other: Reader, scope: Scope, question: str, by: int) -> Leafing | None:
        """Nobody else can go on where it ends."""
        result = self._search(reader, scope, question, by, limit=PAGE)
        if result.next_cursor is None:
            return None
        seen: set[str] = {one.passage.chunk_id for one in result.findings}
        most = self._oracle.chunks(reader, scope)
        leafing = Leafing(reader, scope, question, result.next_cursor, seen, most, self._compactions)
        if other != reader:
            self._refused(leafing, other, 1 - by)
            taken["refused"] += 1
        return leafing

    @rule(leafing=leafings, by=doors)
    def next_page(self, leafing: Leafing | None, by: int) -> None:
        """Whatever happened since, nothing comes twice and nothing comes that is not, or no longer, theirs."""
        if leafing is None or not leafing.cursor:
            return
        if leafing.compactions < self._compactions:
            self._refused(leafing, leafing.reader, by)
            leafing.cursor = ""
            return
        result = self._page_of(leafing, leafing.reader, by)
        self._oracle.check_result(result, leafing.reader, leafing.scope, most=leafing.most)
        ids = {one.passage.chunk_id for one in result.findings}
        assert not ids & leafing.seen
        leafing.seen |= ids
        if result.next_cursor is not None:
            check_opaque(result.next_cursor, leafing.cursor)
        leafing.cursor = result.next_cursor or ""
        taken["pages"] += 1

    @rule(reader=readers, scope=scopes, by=doors)
    def read_the_log(self, reader: Reader, scope: Scope, by: int) -> None:
        self._flush_logs()
        view = view_of(self._libraries[by], reader, scope)
        self._oracle.check_log(view.log(limit=MAX_ROWS), reader, scope)
        self._oracle.check_overview(view.stats(), reader, scope)
        self._oracle.check_listed([document.path for document in view.documents()], reader, scope)

    @invariant()
    def count(self) -> None:
        taken["steps"] += 1

    def _search(self, reader: Reader, scope: Scope, question: str, by: int, limit: int | None = None) -> SearchResult:
        result = view_of(self._libraries[by], reader, scope).search(question, limit=limit)
        taken["hits"] += result.cache_hit
        self._oracle.check_result(result, reader, scope)
        self._oracle.note(reader, scope, result)
        return result

    def _ask(self, reader: Reader, scope: Scope, question: str, by: int) -> Answer:
        answer = view_of(self._libraries[by], reader, scope).ask(question)
        self._oracle.check_answer(answer, reader, scope)
        self._oracle.note(reader, scope, answer)
        return answer

    def _page_of(self, leafing: Leafing, reader: Reader, by: int) -> SearchResult:
        view = view_of(self._libraries[by], reader, leafing.scope)
        return view.search(leafing.question, limit=PAGE, cursor=leafing.cursor)

    def _refused(self, leafing: Leafing, reader: Reader, by: int) -> None:
        try:
            self._page_of(leafing, reader, by)
        except BadRequest as refusal:
            self._oracle.check_words(str(refusal), reader, leafing.scope, question=leafing.question)
        else:
            raise AssertionError(f"{reader} went on with the list of {leafing.reader}")

    def _write(self, page: Page, by: int) -> None:
        file_of(self.home, page).write_text(page.text, encoding="utf-8")
        self._oracle.write(page)
        self._ingest(page.scope, by)

    def _ingest(self, scope: Scope, by: int) -> None:
        self._libraries[by].ingest(folder_of(self.home, scope), scope=scope)

    def _flush_logs(self) -> None:
        """Half a second may pass until rows are written: another process knows nothing of them before."""
        for library in self._libraries:
            library.as_owner().log(limit=1)

    def _traces(self, words: Collection[str]) -> list[tuple[str, str]]:
        """Where any of the words stand in a file of the library."""
        files = {file.name: file.read_bytes() for file in (self.home / "library").rglob("*") if file.is_file()}
        forms = [(word, form) for word in words for form in forms_of(word)]
        return [(name, word) for name, data in files.items() for word, form in forms if form in data]

    def _held(self) -> tuple[int, int]:
        """Documents and chunks, of everybody."""
        pages = self._oracle.pages.values()
        return len(pages), sum(len(page.sections) for page in pages)
