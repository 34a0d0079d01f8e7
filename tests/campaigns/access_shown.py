"""What was shown to whom, and by whom it was asked: every output of the access machine is checked here.

Every `check_…` takes something that was shown and to whom. Each marker and each id in it must be of a document that the
reader may see now, each text must stand in one, and no number may be larger than such documents account for.
"""

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from citewise.answer.extractive import SEPARATOR
from citewise.insights import Overview, SeenDocument, SeenRow
from citewise.model.access import Scope
from citewise.model.answer import NOT_SURE, Answer, Citation
from citewise.model.ids import chunk_id, document_id
from citewise.model.ranking import Passage, SearchResult
from citewise.text.urls import Slugger
from tests.leaks.world import Page, Reader, markers_in

Name = tuple[Scope, str]  # of a page: its scope and its path

SURE = 60  # chunks that a ranking gives at least: up to here, what may be seen is also found
ALIKE_BYTES = 6  # in one scope of two cursors: by chance, one pair in 10^12 has them
_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
_HEADINGS = re.compile(r"\*\*(.+)\*\* \[\d+\]")  # the line above an excerpt


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what its asker was told."""

    reader: Reader
    scope: Scope
    way: str
    text: str
    total: int
    shown: frozenset[str]  # paths


@dataclass(slots=True)
class Shown:
    """All pages as they are now, and every question so far."""

    pages: dict[Name, Page] = field(default_factory=dict)
    listed: dict[tuple[Reader, Scope], frozenset[str]] = field(default_factory=dict)  # paths; compared with the law
    asked: list[Asked] = field(default_factory=list)
    ids_ever: dict[str, Name] = field(default_factory=dict)
    markers_ever: set[str] = field(default_factory=set)
    markers_shown: int = 0

    # What happens

    def write(self, page: Page) -> None:
        self.pages[page.scope, page.path] = page
        self.ids_ever |= dict.fromkeys(ids_of(page), (page.scope, page.path))
        self.markers_ever |= {*markers_in(page.text)}

    def note(self, reader: Reader, scope: Scope, told: SearchResult | Answer) -> None:
        if isinstance(told, Answer):
            result, way, shown = told.result, "ask", [one.document or "" for one in told.citations]
        else:
            result, way, shown = told, "search", [one.passage.document for one in told.findings]
        self.asked.append(Asked(reader, scope, way, result.query.text, result.total_candidates, frozenset(shown)))

    # What is so

    def visible(self, reader: Reader, scope: Scope) -> list[Page]:
        paths = self.listed[reader, scope]
        return [page for page in self.pages.values() if page.scope == scope and page.path in paths]

    def chunks(self, reader: Reader, scope: Scope) -> int:
        return sum(len(page.sections) for page in self.visible(reader, scope))

    def readable(self, reader: Reader, scope: Scope) -> list[Asked]:
        """The rows of the log that are theirs: their name's."""
        return [one for one in self.asked if one.scope == scope and _is_theirs(reader, one.reader)]

    def deleted(self) -> set[str]:
        """Markers of texts, and ids, that no page has any longer and nobody has asked for: words of questions are kept,
        and so are paths, in the rules that were said of them."""
        pages = self.pages.values()
        markers = {marker for page in pages for marker in markers_of(page)}.union(
            *(markers_in(one.text) for one in self.asked)
        )
        return (self.markers_ever - markers) | {id_ for id_, name in self.ids_ever.items() if name not in self.pages}

    # What may be shown

    def check_result(self, result: SearchResult, reader: Reader, scope: Scope, *, most: int | None = None) -> None:
        """`most`: what could be counted when the list was begun, if this is a later page of one."""
        shown = (result.findings, result.dropped, result.notes, result.degraded)
        self._check_names(repr(shown), reader, scope, said=result.query.text)
        for one in result.findings:
            self._check_text(one.passage, one.passage.text.splitlines(), reader, scope)
        visible = self.chunks(reader, scope)
        bound = visible if most is None else most
        candidates = [*(one.candidate for one in result.findings), *(one.candidate for one in result.dropped)]
        ranks = [rank for one in candidates for rank in one.ranks.values()]
        assert max((result.total_candidates, *result.counts.values(), *ranks)) <= bound
        assert most is not None or result.total_candidates >= min(visible, SURE)

    def check_answer(self, answer: Answer, reader: Reader, scope: Scope) -> None:
        self.check_result(answer.result, reader, scope)
        said = (answer.text, answer.citations, answer.unsupported_sentences, answer.suggestions, answer.quality)
        self._check_names(repr(said), reader, scope, said=answer.result.query.text)
        for one in answer.citations:
            self._check_text(one, [one.excerpt.removesuffix("\u2026")], reader, scope)
        if answer.outcome != "nothing":  # it quotes
            self._check_lines(quoted_in(answer.text), self.visible(reader, scope))
        assert {place.title for place in answer.suggestions} <= self._topics(reader, scope)

    def check_log(self, rows: Sequence[SeenRow], reader: Reader, scope: Scope) -> None:
        theirs = self.readable(reader, scope)
        told = [(one.row.kind, one.row.text, one.row.candidates) for one in reversed(rows)]
        expected = [(one.way, one.text, one.total) for one in theirs]
        assert told == expected, f"the log of {reader} is {told}, not {expected}"
        wordless = [replace(one, row=replace(one.row, text=None)) for one in rows]
        self._check_names(repr(wordless), reader, scope)

    def check_overview(self, overview: Overview, reader: Reader, scope: Scope) -> None:
        theirs = self.readable(reader, scope)
        told = overview
        assert told.kinds == {way: sum(one.way == way for one in theirs) for way in ("search", "ask")}
        assert sum(told.per_hour) == sum(told.per_day.values()) == len(told.latencies_ms) == len(theirs)
        assert max(told.unanswered.count, told.poor.count) <= len(theirs)
        assert overview.lost == (0 if reader.is_owner else None)
        texts = {one.text for one in theirs}
        assert {one.text for group in (told.unanswered, told.poor) for one in group.questions} <= texts
        self._check_names(repr(overview), reader, scope, said=" ".join(texts))
        self._check_times(overview.documents, theirs)

    def check_words(self, said: str, reader: Reader, scope: Scope, *, question: str = "") -> None:
        """Of an error, or of a document."""
        self._check_names(said, reader, scope, said=question)

    def _check_times(self, documents: Iterable[SeenDocument], theirs: Sequence[Asked]) -> None:
        for one in documents:
            assert one.times == sum(one.path in asked.shown for asked in theirs)

    def _check_names(self, text: str, reader: Reader, scope: Scope, *, said: str = "") -> None:
        """What the asker wrote is no leak."""
        mine = self.visible(reader, scope)
        seen = set(markers_in(text)) - set(markers_in(said))
        self.markers_shown += len(seen)
        allowed = {marker for page in mine for marker in markers_of(page)}
        assert all(any(marker.startswith(part) for marker in allowed) for part in seen), sorted(seen - allowed)
        ids = self.ids_ever.keys() & _ID.findall(text)
        assert ids <= {id_ for page in mine for id_ in ids_of(page)}

    def _check_text(self, shown: Passage | Citation, lines: Iterable[str], reader: Reader, scope: Scope) -> None:
        """All of it stands in the document that it is said to be of."""
        page = self.pages[scope, shown.document or ""]
        assert page.path in self.listed[reader, scope]
        self._check_lines((shown.title, shown.section, *shown.breadcrumb, *lines), [page])

    def _check_lines(self, lines: Iterable[str], pages: Collection[Page]) -> None:
        for line in lines:
            assert any(line.strip() in page.text for page in pages), f"{line} is in none of {[p.path for p in pages]}"

    def _topics(self, reader: Reader, scope: Scope) -> set[str]:
        mine = self.visible(reader, scope)
        return {f"{page.title} \u203a {section.heading}" for page in mine for section in page.sections}


@lru_cache(maxsize=10_000)
def markers_of(page: Page) -> frozenset[str]:
    return page.markers


@lru_cache(maxsize=10_000)
def ids_of(page: Page) -> frozenset[str]:
    """Of the document and of its chunks: one a section, since none of these is long."""
    scope = page.scope
    chunks = (chunk_id(scope, page.path, anchor=Slugger().anchor(one.heading), ordinal=0) for one in page.sections)
    return frozenset((document_id(scope, page.path), *chunks))


def quoted_in(answer: str) -> Iterator[str]:
    """What an answer says that is of documents: all but `Not sure`, numbers, bold and `…`."""
    for line in answer.removeprefix(NOT_SURE).splitlines():
        headings = _HEADINGS.fullmatch(line.rstrip())
        yield from headings[1].split(SEPARATOR) if headings else (line.replace("**", "").strip("\u2026 "),)


def check_opaque(cursor: str, before: str) -> None:
    """Two cursors of one list go on in the same order, for the same asker: nobody can tell by looking at them."""
    one, other = (base64.urlsafe_b64decode(text.removeprefix("c")) for text in (cursor, before))
    same = bytes(left == right for left, right in zip(one, other, strict=True))
    assert b"\x01" * ALIKE_BYTES not in same


def _is_theirs(reader: Reader, asker: Reader) -> bool:
    if reader.is_owner:
        return True
    return reader.user is not None and asker.user == reader.user  # a group is several people
