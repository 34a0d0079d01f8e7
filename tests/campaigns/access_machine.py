"""Eight readers and many secrets, in any order: files are moved, linked and damaged, rules are said, and people ask.

A library of real parts behind its public methods, open twice: what is done through one `Library` must hold at once for
the other. Documents share their vocabulary, so that each is a candidate for every question; markers stand in one text
each. Who may read what is stated in access_law.py, and access_shown.py looks through what is shown.
"""

import os
import re
import shutil
from collections.abc import Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from citewise import Library, LibraryView, Principal, Scope, Settings
from citewise.errors import BadRequest
from citewise.model.access import OWNER as OWNS
from citewise.model.ranking import SearchResult
from tests.campaigns.access_law import MEMBERS, Law, Place, Rule, Run, Said, admits
from tests.campaigns.access_shown import Shown, check_opaque
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.leaks.world import Page, Reader, RuleSource, WorldMaker

SCOPES = (Scope("acme", "book"), Scope("acme-book", "2"))
OWNER = Reader(None, frozenset(), is_owner=True)
READERS = (
    OWNER,
    Reader(None, frozenset()),
    Reader("zed", frozenset()),
    Reader("ann", frozenset()),
    Reader("an", frozenset({"ops"})),
    Reader(None, frozenset({"crew"})),
    Reader("eve", frozenset({"hr"})),
    Reader("bob", frozenset({"hr", "ops"})),
)
RULES: tuple[Rule, ...] = tuple(
    frozenset(rule.split())
    for rule in ("public", "project", "group:hr", "group:ops", "owner:ann", "group:hr owner:ann", "group:crew")
)
FOLDERS = ("", "hr", "pub")
QUESTIONS = ("What measures the tide?", "Who guards the harbor in a storm?", "When does the ferry carry cargo?")
DAMAGES = (b"a\0b", b"\xff\xfe text", b"x" * 20_001, b"---\naccess: [group\n---\n# A\n")
PAGE = 1  # hits: so that even a small library has pages
MAX_ROWS = 1_000
_ID = re.compile(r"[0-9a-f]{16}")

# What happens, and how often of all: files, rules, the library, and then what is shown.
OPERATIONS: Mapping[str, int] = {
    **{
        "write": 3,
        "edit": 1,
        "copy": 2,
        "copy_closed": 2,
        "rename_file": 3,
        "rename_folder": 2,
        "move_source": 1,
        "delete": 2,
        "link": 2,
    },
    **{"damage": 2, "own_access": 2, "tighten": 4, "widen": 3, "settings": 2, "ingest": 3, "ingest_above": 1},
    **{"second_name": 1, "move_library": 1, "reindex": 1, "compact": 1},
    **{"search": 4, "look_for": 2, "ask": 2, "first_page": 3, "next_page": 3, "read_log": 3, "read_documents": 1},
    **{"take_away_what_was_shown": 2, "show_delete_and_compact": 1},
}
SHOWING = ("write", "tighten", "delete", *[*OPERATIONS][-9:])  # where the files are not what matters


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


class Machine:
    """A library in a folder, and what it must show."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._library_folder = home / "library"
        self._shown = Shown()
        self._laws = {scope: Law() for scope in SCOPES}
        self._maker = WorldMaker(Random(7))
        self._written: dict[bytes, Page] = {}
        self._patterns: dict[str, Rule] = {}
        self._leafings: list[Leafing] = []
        self._compactions = self._names = 0
        self.story: list[str] = []  # what was done, for a failure
        self._stack = ExitStack()
        self.counts = dict.fromkeys((*OPERATIONS, "shown", "hits", "pages", "refused", "closed", "sure"), 0)

    def begin(self) -> None:
        self._open()
        for scope in SCOPES:
            for folder in FOLDERS:
                self._write(self._base(scope) / "s" / folder, scope)
            self._write(self._base(scope) / "t", scope)
            for name in ("s", "t"):
                self._add(scope, self._base(scope) / name, name if name == "t" else "")

    def close(self) -> None:
        self._stack.close()
        self.counts["shown"] = self._shown.markers_shown

    def step(self, operation: str, seed: int) -> None:
        draw = Random(seed)
        scope = SCOPES[draw.random() < 0.2]
        self.counts[operation] += 1
        getattr(self, f"_{operation}_step")(draw, scope)

    # Files

    def _write_step(self, draw: Random, scope: Scope) -> None:
        self._write(draw.choice(self._folders(scope)), scope, draw.choice((None, None, *RULES)))
        self._maybe_ingest(draw, scope)

    def _edit_step(self, draw: Random, scope: Scope) -> None:
        for file, page in self._drawn(draw, scope):
            self._put(file, self._edited(page))
        self._maybe_ingest(draw, scope)

    def _copy_step(self, draw: Random, scope: Scope) -> None:
        for file, page in self._drawn(draw, scope):
            self._put(draw.choice(self._folders(scope)) / self._name(), page)
            self._maybe_ingest(draw, scope)
            if draw.random() < 0.5:
                self._unlink(file)
                self._maybe_ingest(draw, scope)

    def _copy_closed_step(self, draw: Random, scope: Scope) -> None:
        """A page is closed, copied, and deleted when the library has its copy."""
        for file, page in self._drawn(draw, scope):
            folder, place = draw.choice(self._folders(scope)), self._laws[scope].place_of(file)
            there = self._laws[scope].place_of(folder)
            if place is None or there is None or file.is_symlink():
                return
            self._run(scope, place, place.inner(file) or "", draw.choice(RULES), by=draw.randrange(2))
            self._put(folder / self._name(), page)
            self._run(scope, there, by=draw.randrange(2))
            self._unlink(file)
            self._run(scope, draw.choice((place, there)), by=draw.randrange(2))

    def _rename_file_step(self, draw: Random, scope: Scope) -> None:
        for file, page in self._drawn(draw, scope):
            new = draw.choice(self._folders(scope)) / self._name()
            self._tell("rename", file, new)
            file.rename(new)
            if draw.random() < 0.3 and not new.is_symlink():
                new.unlink()
                self._put(new, self._edited(page))
        self._maybe_ingest(draw, scope)

    def _rename_folder_step(self, draw: Random, scope: Scope) -> None:
        roots = {place.root for place in self._laws[scope].places.values()}
        folder = draw.choice([each for each in self._folders(scope) if each not in roots] or [None])
        if folder is not None:
            parents = [folder.parent, *self._roots(scope)]
            new = draw.choice([each for each in parents if not each.is_relative_to(folder)]) / self._folder_name()
            self._tell("rename", folder, new)
            folder.rename(new)
        self._maybe_ingest(draw, scope)

    def _move_source_step(self, draw: Random, scope: Scope) -> None:
        """With its name, or as if it were another."""
        law = self._laws[scope]
        place = draw.choice([each for each in law.places.values() if each.root.parent == self._base(scope)] or [None])
        if place is None or not place.root.exists() or sum(each.root == place.root for each in law.places.values()) > 1:
            return
        new = place.root.with_name(self._folder_name())
        self._tell("rename", place.root, new)
        place.root.rename(new)
        if draw.random() < 0.5:
            place.root = new
            self._run(scope, place, name=place.mount or ".", by=draw.randrange(2))
        else:
            self._add(scope, new, new.name)

    def _delete_step(self, draw: Random, scope: Scope) -> None:
        for file, _ in self._drawn(draw, scope):
            self._unlink(file)
        self._ingest_step(draw, scope)

    def _link_step(self, draw: Random, scope: Scope) -> None:
        """In place of a file, or as a new one."""
        for file, _ in self._drawn(draw, scope):
            link = draw.choice(self._folders(scope)) / self._name()
            if draw.random() < 0.2 and (others := [each for each in self._pages(scope) if each != file]):
                link = draw.choice(sorted(others))
                self._unlink(link)
            if file.is_symlink() or not file.exists():
                return
            self._tell("link", file, link)
            if draw.random() < 0.5:
                link.symlink_to(os.path.relpath(file, link.parent))
            else:
                os.link(file, link)
        self._maybe_ingest(draw, scope)

    def _damage_step(self, draw: Random, scope: Scope) -> None:
        for file, _ in self._drawn(draw, scope):
            if not file.is_symlink():
                self._unlink(file)
                self._tell("damage", file)
                file.write_bytes(draw.choice(DAMAGES))
        (self._tighten_step if draw.random() < 0.5 else self._maybe_ingest)(draw, scope)

    def _own_access_step(self, draw: Random, scope: Scope) -> None:
        for file, page in self._drawn(draw, scope):
            rules = draw.choice((frozenset[str](), *RULES))
            self._put(file, replace(page, rules=rules))
        self._maybe_ingest(draw, scope)

    # Rules

    def _tighten_step(self, draw: Random, scope: Scope) -> None:
        self._say(draw, scope, widen=False)

    def _widen_step(self, draw: Random, scope: Scope) -> None:
        self._say(draw, scope, widen=True)

    def _say(self, draw: Random, scope: Scope, *, widen: bool) -> None:
        """Of a source, a folder or a file."""
        place = self._a_place(draw, scope)
        if place is not None:
            parts = ["", *(place.inner(path) or "" for path in self._below(place))]
            self._run(scope, place, draw.choice(parts), draw.choice(RULES), widen=widen, by=draw.randrange(2))

    def _settings_step(self, draw: Random, scope: Scope) -> None:
        """Patterns are added, changed, removed or forgotten. The name of a source is no folder's here."""
        law = self._laws[scope]
        folders = {place.inner(path) for place in law.places.values() for path in self._below(place) if path.is_dir()}
        names = sorted(part for part in folders if part and "/" not in part and part not in ("s", "t", *law.places))
        part, rule = draw.choice(names or ["hr"]), draw.choice(RULES)
        self._patterns = draw.choice(({}, {part: rule}, {**self._patterns, part: rule}))
        self._open()
        self._ingest_step(draw, scope)

    # The library

    def _ingest_step(self, draw: Random, scope: Scope) -> None:
        place = self._a_place(draw, scope)
        if place is not None:
            parts = ["", "", *(place.inner(path) or "" for path in self._below(place))]
            self._run(scope, place, draw.choice(parts), by=draw.randrange(2), prune=draw.random() < 0.7)

    def _ingest_above_step(self, draw: Random, scope: Scope) -> None:
        if "all" not in self._laws[scope].places:
            self._add(scope, self._base(scope), "all", draw.choice((None, *RULES)))

    def _second_name_step(self, draw: Random, scope: Scope) -> None:
        root = draw.choice(self._roots(scope))
        path = draw.choice(
            [root, *sorted(file for file in self._pages(scope) if file.parent == root and not file.is_symlink())]
        )
        self._add(scope, path, self._folder_name(), draw.choice((None, *RULES)))

    def _move_library_step(self, draw: Random, scope: Scope) -> None:
        self._stack.close()
        self._names += 1
        new = self._home / draw.choice((".", "sub")) / f"library{self._names}"
        new.parent.mkdir(exist_ok=True)
        self._tell("move the library to", new)
        self._library_folder = Path(shutil.move(self._library_folder, new))
        self._open()
        self._ingest_step(draw, scope)

    def _reindex_step(self, draw: Random, scope: Scope) -> None:
        self._tell("reindex")
        self._libraries[draw.randrange(2)].reindex()
        self._check(scope)

    def _compact_step(self, draw: Random, scope: Scope) -> None:
        self._flush_logs()
        self._compact(scope, draw.randrange(2))

    def _compact(self, scope: Scope, by: int) -> None:
        self._tell("compact")
        assert self._libraries[by].compact().is_complete
        self._compactions += 1
        for law in self._laws.values():
            law.departed.clear()  # deleted means deleted: nothing remembers such a text
        self._check(scope)

    def _show_delete_and_compact_step(self, draw: Random, scope: Scope) -> None:
        """Afterward no file of the library holds any of it, and nothing is counted that is not there."""
        self._flush_logs()
        by = draw.randrange(2)
        self._search(OWNER, scope, QUESTIONS[0], by)  # the log has a row to write that names it
        self._delete_step(draw, scope)
        self._compact(scope, by)
        self._flush_logs()
        files = [file for file in self._library_folder.rglob("*") if file.is_file()]
        data = {file.name: file.read_bytes() for file in files}
        traces = [
            (name, word)
            for word in self._shown.deleted()
            for form in _forms(word)
            for name in data
            if form in data[name]
        ]
        assert traces == [], f"deleted and still there: {traces[:5]}"
        pages = self._shown.pages.values()
        status = self._libraries[draw.randrange(2)].status()
        assert (status.documents, status.chunks) == (len(pages), sum(len(page.sections) for page in pages))

    # What is shown, to whom

    def _search_step(self, draw: Random, scope: Scope) -> None:
        reader, question, by = draw.choice(READERS), draw.choice(QUESTIONS), draw.randrange(2)
        result = self._search(reader, scope, question, by)
        assert bool(result.findings) == bool(self._shown.visible(reader, scope)), f"{reader} finds nothing"
        assert self._search(reader, scope, question, by).findings == result.findings

    def _look_for_step(self, draw: Random, scope: Scope) -> None:
        """By a word that stands in no other text, whoever may know it."""
        pages = [page for page in self._shown.pages.values() if page.scope == scope]
        if pages:
            page, reader = draw.choice(pages), draw.choice(READERS)
            word = draw.choice((page.keeper, page.sections[0].heading.split()[-1]))
            result = self._search(reader, scope, f"What does {word} do?", draw.randrange(2))
            if page.path in self._shown.listed[reader, scope]:
                texts = {each.passage.text for each in result.findings}
                is_found = any(section.text in text for text in texts for section in page.sections)
                assert is_found or len(result.findings) >= 20, f"{reader} does not find {page.path}"

    def _ask_step(self, draw: Random, scope: Scope) -> None:
        """What one was given must not be given to another."""
        question, by = draw.choice(QUESTIONS), draw.randrange(2)
        for reader in draw.sample(READERS, 2):
            answer = self._view(reader, scope, by).ask(question)
            self._shown.check_answer(answer, reader, scope)
            self._shown.note(reader, scope, answer)

    def _take_away_what_was_shown_step(self, draw: Random, scope: Scope) -> None:
        """From then on nobody but the owner sees it: not found again, not on the next page, not in the log."""
        reader, question, by = draw.choice(READERS), draw.choice(QUESTIONS), draw.randrange(2)
        leafing = self._begin(reader, scope, question, by)
        result = self._search(reader, scope, question, by)
        doc = (
            self._laws[scope].docs.get(result.findings[min(1, len(result.findings) - 1)].passage.document)
            if result.findings
            else None
        )
        if doc is None or not doc.place.root.exists():
            return
        part = doc.inner if doc.file.exists() and not doc.file.is_symlink() else ""
        self._run(scope, doc.place, part, frozenset({"owner:nobody.here"}), by=1 - by)
        if leafing is not None:
            self._go_on(leafing, by)
        self._search(reader, scope, question, by)
        self._read_log(reader, scope, by)

    def _first_page_step(self, draw: Random, scope: Scope) -> None:
        """Nobody else can go on where it ends."""
        reader, other = draw.sample(READERS, 2)
        leafing = self._begin(reader, scope, draw.choice(QUESTIONS), draw.randrange(2))
        if leafing is not None:
            self._leafings.append(leafing)
            self._refused(leafing, other, draw.randrange(2))
            self.counts["refused"] += 1

    def _next_page_step(self, draw: Random, scope: Scope) -> None:
        self._leafings = [each for each in self._leafings if each.cursor]
        if self._leafings:
            self._go_on(draw.choice(self._leafings), draw.randrange(2))

    def _read_log_step(self, draw: Random, scope: Scope) -> None:
        self._read_log(draw.choice(READERS), scope, draw.randrange(2))

    def _read_documents_step(self, draw: Random, scope: Scope) -> None:
        reader, view = (chosen := draw.choice(READERS)), self._view(chosen, scope, draw.randrange(2))
        for path in self._laws[scope].docs:
            document, chunks = view.document(path), view.chunks(path)
            assert (document is not None) == bool(chunks) == (path in self._shown.listed[reader, scope])
            # Why it is closed and its other names: readers of it could read those when they were written down.
            told = document and replace(document, access_reason="", aliases=())
            self._shown.check_words(repr((told, chunks)), reader, scope)

    def _search(self, reader: Reader, scope: Scope, question: str, by: int, limit: int | None = None) -> SearchResult:
        result = self._view(reader, scope, by).search(question, limit=limit)
        self.counts["hits"] += result.cache_hit
        self._shown.check_result(result, reader, scope)
        self._shown.note(reader, scope, result)
        return result

    def _begin(self, reader: Reader, scope: Scope, question: str, by: int) -> Leafing | None:
        result = self._search(reader, scope, question, by, limit=PAGE)
        if result.next_cursor is None:
            return None
        seen: set[str] = {each.passage.chunk_id for each in result.findings}
        most = self._shown.chunks(reader, scope)
        return Leafing(reader, scope, question, result.next_cursor, seen, most, self._compactions)

    def _go_on(self, leafing: Leafing, by: int) -> None:
        """Whatever happened since, nothing comes twice and nothing comes that is not, or no longer, theirs."""
        if leafing.compactions < self._compactions:
            self._refused(leafing, leafing.reader, by)
            leafing.cursor = ""
            return
        result = self._page_of(leafing, leafing.reader, by)
        self._shown.check_result(result, leafing.reader, leafing.scope, most=leafing.most)
        ids = {each.passage.chunk_id for each in result.findings}
        assert not ids & leafing.seen
        leafing.seen |= ids
        if result.next_cursor is not None:
            check_opaque(result.next_cursor, leafing.cursor)
        leafing.cursor = result.next_cursor or ""
        self.counts["pages"] += 1

    def _page_of(self, leafing: Leafing, reader: Reader, by: int) -> SearchResult:
        return self._view(reader, leafing.scope, by).search(leafing.question, limit=PAGE, cursor=leafing.cursor)

    def _refused(self, leafing: Leafing, reader: Reader, by: int) -> None:
        try:
            self._page_of(leafing, reader, by)
        except BadRequest as refusal:
            self._shown.check_words(str(refusal), reader, leafing.scope, question=leafing.question)
        else:
            raise AssertionError(f"{reader} went on with the list of {leafing.reader}")

    def _read_log(self, reader: Reader, scope: Scope, by: int) -> None:
        self._flush_logs()
        view = self._view(reader, scope, by)
        self._shown.check_log(view.log(limit=MAX_ROWS), reader, scope)
        self._shown.check_overview(view.stats(), reader, scope)

    # How it is done

    def _open(self) -> None:
        self._stack.close()
        ingest = {
            "access_by_path": {f"{part}/**": tuple(sorted(rule)) for part, rule in self._patterns.items()},
            "max_file_mb": 0.02,
        }
        chosen = Settings(library=self._library_folder, cache=self._home / "cache")
        made = (  # each with settings of its own, as in two processes
            Library(
                settings=chosen.changed(query_log={"text": "full"}, ingest=ingest),
                embedder=HashEmbedder(),
                token_counter=WordCounter(),
            )
            for _ in range(2)
        )
        self._libraries = tuple(map(self._stack.enter_context, made))

    def _add(self, scope: Scope, path: Path, name: str, rule: Rule | None = None) -> None:
        """A new source: its first rule stands below the patterns, as the default does."""
        place = self._laws[scope].places[name] = Place(name, path if path.is_dir() else path.parent)
        part = place.inner(path) if path.is_file() else ""
        if rule is None or part:
            place.said.append(Said("", MEMBERS, "default"))
        if rule is not None:
            place.said.append(Said(part or "", rule, widens=bool(part)))
        self._run(scope, place, part or "", rule, name=name or None, is_new=True)

    def _run(
        self, scope: Scope, place: Place, part: str = "", rule: Rule | None = None, *, widen: bool = False,
        name: str | None = None, prune: bool = True, by: int = 0, is_new: bool = False,
    ) -> None:  # fmt: skip
        path, law = place.root / part, self._laws[scope]
        if name is None and (
            law.place_of(path) is not place or sum(each.root == place.root for each in law.places.values()) > 1
        ):
            name = place.mount or "."  # another source is nearer, or has the same folder
        before, new_patterns = [*place.said], place.set_patterns(self._patterns)
        if rule is not None and not is_new:
            place.say(part, rule, widen=widen)
        said = tuple(sorted(rule or ()))
        self._tell(
            "ingest", path, *said, "--widen" * widen, f"name={name}", "--prune" * prune, str(self._patterns or "")
        )
        report = self._libraries[by].ingest(path, scope=scope, access=said, widen=widen, name=name, prune=prune)
        pages = {
            file: page for file, page in self._pages(scope).items() if file.resolve().is_relative_to(place.root)
        }  # a link that leads out of its source is not followed
        listed = self._listed(OWNER, scope, by)
        wrong = [each for each in report.failed if place.root / each.path in pages]
        assert not wrong, f"failed: {wrong}"
        if rule is not None and not is_new:
            assert all(each.is_reached for each in report.access), f"not reached: {report.access}"
        is_widened = widen or (is_new and bool(part) and rule is not None)
        is_said = is_new or place.said != before
        law.run(Run(place, part, is_widened, tuple(new_patterns), is_said), pages, listed, self._pages(scope))
        for (of_scope, path_), _ in [*self._shown.pages.items()]:
            if of_scope == scope and path_ not in law.docs:
                del self._shown.pages[of_scope, path_]
        for doc in law.docs.values():
            self._shown.write(replace(doc.page, path=doc.path))
        missing = [
            file
            for file in pages
            if (inner := place.inner(file)) and not part and place.document(inner) not in law.docs
        ]
        assert not missing, f"not ingested: {missing}"
        self._check(scope)

    def _check(self, scope: Scope) -> None:
        """Compare who is shown which documents with the law."""
        law = self._laws[scope]
        for reader in READERS:
            listed = self._shown.listed[reader, scope] = frozenset(self._listed(reader, scope, 1))
            foreign = [
                path for path in sorted(listed) if path not in law.docs or not admits(law.docs[path].rule, reader)
            ]
            of = {path: sorted(law.docs[path].rule) for path in foreign if path in law.docs}
            assert not foreign, f"LEAK: {reader} is shown {foreign}, which is for {of}"
            sure = [doc.path for doc in law.docs.values() if doc.sure and admits(doc.rule, reader)]
            lost = [path for path in sure if path not in listed]
            assert not lost, (
                f"WRONGLY CLOSED: {reader} is not shown {lost}, for {[sorted(law.docs[p].rule) for p in lost]}"
            )
            self.counts["sure"] += len(sure)
            self.counts["closed"] += len(law.docs) - len(listed)

    def _listed(self, reader: Reader, scope: Scope, by: int) -> list[str]:
        return [document.path for document in self._view(reader, scope, by).documents(limit=MAX_ROWS)]

    def _view(self, reader: Reader, scope: Scope, by: int) -> LibraryView:
        principal = OWNS if reader.is_owner else Principal(reader.user, reader.groups)
        return self._libraries[by].as_principal(principal, scope)

    def _flush_logs(self) -> None:
        """Half a second may pass until rows are written: another process knows nothing of them before."""
        for library in self._libraries:
            library.as_owner().log(limit=1)

    def _maybe_ingest(self, draw: Random, scope: Scope) -> None:
        if draw.random() < 0.7:
            self._ingest_step(draw, scope)

    def _tell(self, *words: str | Path) -> None:
        paths = [str(word.relative_to(self._home)) if isinstance(word, Path) else word for word in words]
        self.story.append(" ".join(filter(None, paths)))

    # Files and folders

    def _base(self, scope: Scope) -> Path:
        return self._home / "pages" / f"{scope.tenant}+{scope.project}"

    def _roots(self, scope: Scope) -> list[Path]:
        return sorted(each for each in self._base(scope).iterdir() if each.is_dir())

    def _folders(self, scope: Scope) -> list[Path]:
        """The source folders, and those in them."""
        roots = self._roots(scope)
        return [*roots, *sorted(each for root in roots for each in root.rglob("*") if each.is_dir())]

    def _pages(self, scope: Scope) -> dict[Path, Page]:
        """Every file whose text can be read."""
        files = [file for file in self._base(scope).rglob("*.md") if file.is_file()]
        data = {file: file.read_bytes() for file in sorted(files)}
        return {file: self._written[each] for file, each in data.items() if each in self._written}

    def _drawn(self, draw: Random, scope: Scope) -> list[tuple[Path, Page]]:
        return (
            draw.sample(sorted(self._pages(scope).items(), key=lambda each: each[0]), 1) if self._pages(scope) else []
        )

    def _below(self, place: Place) -> list[Path]:
        """Its folders and files; to ingest a symbolic link is to ingest what it leads to."""
        return sorted(each for each in place.root.rglob("*") if not each.is_symlink())

    def _a_place(self, draw: Random, scope: Scope) -> Place | None:
        there = [place for place in self._laws[scope].places.values() if place.root.exists()]
        return draw.choice(there) if there else None

    def _write(self, folder: Path, scope: Scope, rule: Rule | None = None) -> None:
        page = self._maker.page(scope)
        self._put(folder / self._name(), replace(page, rules=rule or frozenset(), is_mounted=False))

    def _edited(self, page: Page) -> Page:
        """With a section more: at least half of it is as it was."""
        return replace(page, sections=(*page.sections, *self._maker.page(page.scope).sections[:1]))

    def _put(self, file: Path, page: Page) -> None:
        source = RuleSource.FRONTMATTER if page.rules else RuleSource.ARGUMENT
        page = replace(page, rule_source=source, path="")
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_symlink():
            self._tell("write", file, *page.rules, f"{len(page.sections)} sections")
            file.write_text(page.text, encoding="utf-8")
            self._written[page.text.encode()] = page

    def _unlink(self, file: Path) -> None:
        """And the links to it."""
        for each in [*self._home.joinpath("pages").rglob("*.md")]:
            if each == file or (each.is_symlink() and each.resolve() == file):
                self._tell("delete", each)
                each.unlink()

    def _name(self) -> str:
        return f"{self._maker.marker()}.md"

    def _folder_name(self) -> str:
        self._names += 1
        return f"f{self._names}"


def _forms(word: str) -> Collection[bytes]:
    """As it may stand in a file: as text, and an id as a number too, whichever end of it comes first."""
    if not _ID.fullmatch(word):
        return (word.encode(),)
    number = bytes.fromhex(word)
    return word.encode(), number, number[::-1]
