"""A small library that has every kind of file, what its readers see of it, and damage to one of its files."""

import random
import re
import shutil
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Self

from citewise import Library
from citewise.api import LibraryView
from citewise.errors import CitewiseError
from citewise.model.access import OWNER, Principal, Scope
from citewise.model.ranking import Finding, SearchResult
from citewise.model.report import AccessNote
from tests.campaigns.worker import alive
from tests.pipelines.harness import Shelf

PAGING = {"ttl_seconds": 1e6}  # the cursors of the clean library outlive a long campaign
WORDS = ("harbor", "gauge", "keeper", "valve", "signal", "buoy", "ledger", "chart", "anchor", "winch", "pilot", "crane")
OTHER = Scope("beta", "yard")

# Who may not read a closed page has the names that a flipped bit makes of those who may.
_NEAR_HR = frozenset({"hs", "hp", "hv", "hz", "hb", "h2", "ir", "jr", "lr", "Hr", "hR"})
EVE = Principal("anf", _NEAR_HR)
READERS = {"owner": OWNER, "bob": Principal("bob", frozenset({"hr"})), "ann": Principal("ann"), "eve": EVE}
CLOSED = {  # what the words of a closed page are, and who may read it
    "hr/quince.md": (("quince", "medlar", "sorrel"), {"owner", "bob"}),
    "own/saffron.md": (("saffron", "juniper", "tansy"), {"owner", "ann"}),
    "part-2/basil.md": (("basil", "fennel", "chervil"), {"owner", "bob"}),  # moved here from a closed folder
}
FOREIGN = ("tamarind", "lovage", "borage")  # in the other scope
QUESTIONS = ("When is the harbor gauge read?", "Where is the quince medlar kept?", "saffron juniper `turn_valve`")


def pages() -> dict[str, str]:
    found = {
        f"part-{n % 3}/{word}.md": f"---\ntags: [tide, t{n}]\n---\n# The {word} page\n\nThe harbor {word} is read at "
        f"noon by keeper {n}.\n\n## Use of the {word}\n\nTurn it {n + 2} times, then call `turn_{word}`.\n\n"
        f"| when | who |\n| --- | --- |\n| {n} o'clock | {word} crew |\n"
        for n, word in enumerate(WORDS)
    }
    rules = {"hr": "access: group:hr\n", "own": "access: owner:ann\n"}
    for path, (secrets, _) in CLOSED.items():
        rule = rules.get(path.split("/")[0], "")
        body = (
            f"The {secrets[0]} is kept in drawer 7.\n\n## {secrets[1].title()} list\n\nEach {secrets[2]} has a gauge."
        )
        found[path] = f"---\ntags: [tide]\n{rule}---\n# {secrets[0].title()}\n\n{body}\n"
    return found


# A passage, a citation or a document: where it comes from, and last its text, an excerpt of it, or nothing of it.
Part = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one request gave: the parts that it shows, and what it named as not in order."""

    parts: tuple[Part, ...] = ()
    answer: str = ""
    named: str = ""  # the error, or what `degraded` says
    crash: str = ""  # an error that is none of ours


Look = Mapping[tuple[str, str], Seen]  # by reader and request


def looked(home: Path, cursors: Mapping[str, str]) -> Look:
    """Everything that every reader can see of a library, as questions, answers, pages and documents."""
    seen: dict[tuple[str, str], Seen] = {}
    with _library(home) as library:
        for name, principal in READERS.items():
            for request, call in _requests(library.as_principal(principal), cursors[name]).items():
                alive()
                seen[name, request] = _seen(call)
        seen["eve", "other scope"] = _seen(lambda: _found(library.as_principal(EVE, OTHER).search("harbor")))
    return seen


def _library(home: Path) -> Library:
    return Shelf(home, paging=PAGING).library()


def _requests(view: LibraryView, cursor: str) -> Mapping[str, Callable[[], Seen]]:
    searches = {f"search {question}": _partly(_searched, view, question) for question in QUESTIONS}
    paths = pages() if view.principal == OWNER else CLOSED  # the others may read the same, or must not
    documents = {path: _partly(_document, view, path) for path in paths}
    return {
        **searches,
        "ask": _partly(_answered, view, QUESTIONS[0]),
        "pages": _partly(_paged, view, QUESTIONS[0]),
        "cursor": lambda: _found(view.search(QUESTIONS[0], limit=4, cursor=cursor)),
        "documents": lambda: Seen(tuple((entry.path, entry.title, "") for entry in view.documents())),
        **documents,
    }


def _partly(call: Callable[[LibraryView, str], Seen], view: LibraryView, text: str) -> Callable[[], Seen]:
    return lambda: call(view, text)


def _seen(call: Callable[[], Seen]) -> Seen:
    try:
        return call()
    except CitewiseError as error:
        return Seen(named=f"{error.code}: {error}")
    except Exception as error:  # noqa: BLE001 - this is what the campaign looks for
        return Seen(crash=f"{type(error).__name__}: {error}")


def _found(*results: SearchResult) -> Seen:
    named = "; ".join(part for result in results for part in result.degraded)
    return Seen(tuple(_part(finding) for result in results for finding in result.findings), named=named)


def _part(finding: Finding) -> Part:
    passage = finding.passage
    lines = (passage.location.first, passage.location.last)
    return (passage.document, passage.title, passage.section, passage.breadcrumb, lines, finding.url, passage.text)


def _searched(view: LibraryView, question: str) -> Seen:
    return _found(view.search(question, top_k=50))


def _paged(view: LibraryView, question: str) -> Seen:
    first = view.search(question, limit=4)
    cursor = first.next_cursor
    return _found(first, view.search(question, limit=4, cursor=cursor)) if cursor else _found(first)


def _answered(view: LibraryView, question: str) -> Seen:
    answer = view.ask(question)
    cited = tuple(
        (each.document, each.title, each.section, each.breadcrumb, each.lines, each.url, each.excerpt)
        for each in answer.citations
    )
    return Seen(cited, answer.text, "; ".join(answer.result.degraded))


def _document(view: LibraryView, path: str) -> Seen:
    found = view.document(path)
    return Seen() if found is None else Seen(((found.path, found.title, found.text),))


@dataclass(frozen=True, slots=True)
class Clean:
    """A library before any damage: its folder, and what is seen of it."""

    home: Path
    cursors: Mapping[str, str]
    look: Look
    notes: frozenset[AccessNote]  # what an ingestion says of rules
    earlier: Look  # what was seen before the last change: a catalog without its log goes back there

    @classmethod
    def made(cls, home: Path, *, with_log: bool) -> Self:
        """A library with deleted and changed pages, questions and saved pages; its last change still in the log of
        SQLite (the WAL), if that is wanted."""
        shelf = _filled(home)
        cursors = {name: _cursor(home, principal) for name, principal in READERS.items()}
        earlier = looked(home, cursors)
        shelf.write("part-0/harbor.md", "# The harbor page\n\nThe harbor moved to the quay, and is read at noon.\n")
        kept = home.with_name(f"{home.name}-kept")
        with closing(sqlite3.connect(shelf.generation / "catalog.db", isolation_level=None)) as reader:
            if with_log:  # a reader of the state before keeps the log from being folded into the file
                reader.execute("BEGIN")
                reader.execute("SELECT * FROM documents").fetchone()
            notes = frozenset(shelf.ingest().access)
            shutil.copytree(home, kept)
        assert (kept / "library" / "gen-1" / "catalog.db-wal").exists() == with_log
        return cls(kept, cursors, looked(_copied(kept, home), cursors), notes, earlier)


def _copied(kept: Path, home: Path) -> Path:
    shutil.rmtree(home)
    shutil.copytree(kept, home)
    return home


def _filled(home: Path) -> Shelf:
    shelf = Shelf(home, paging=PAGING)
    for path, text in pages().items():
        shelf.write(path, text)
    moved = shelf.docs / "part-2/basil.md"
    closed = shelf.write("vault/basil.md", moved.read_text())
    moved.unlink()
    gone = shelf.write("part-0/gone.md", "# Gone\n\nThe gone gauge is read by nobody.\n")
    with shelf.library() as library:
        library.ingest(shelf.docs)
        library.ingest(closed.parent, access=["group:hr"])
        closed.rename(moved)
        (home / "other").mkdir()
        (home / "other" / "page.md").write_text(f"# {FOREIGN[0]}\n\nThe {FOREIGN[1]} harbor and its {FOREIGN[2]}.\n")
        library.ingest(home / "other", scope=OTHER, access=["owner:zoe"])
        gone.unlink()
        shelf.write("part-1/gauge.md", pages()["part-1/gauge.md"].replace("noon", "midnight"))
        library.ingest(shelf.docs)
    return shelf


def _cursor(home: Path, principal: Principal) -> str:
    with _library(home) as library:
        found = library.as_principal(principal).search(QUESTIONS[0], limit=4).next_cursor
    assert found is not None
    return found


# What can happen to a file. Aimed is a flipped bit inside something that readers see or rules rest on.
WHAT = ("flip", "flip", "flip", "aim", "aim", "aim", "cut", "zero", "noise", "lose", "empty")


@dataclass(frozen=True, slots=True)
class Damage:
    """One thing that happens to one file."""

    file: str  # below the library's folder
    what: str
    at: int = 0
    length: int = 0
    noise: bytes = b""

    @classmethod
    def drawn(cls, draw: random.Random, library: Path, kinds: Collection[str], whats: Sequence[str]) -> Self:
        """One of some damages to a file of some kinds, or of any kind if none is named."""
        files: dict[str, list[Path]] = {}
        for file in sorted(library.rglob("*")):
            if file.is_file() and (not kinds or kind_of(file) in kinds):
                files.setdefault(kind_of(file), []).append(file)
        catalog = [kind for kind in files if kind == "catalog.db"]
        file = draw.choice(files[draw.choice([*files, *catalog * 8])])  # texts and rules are stored only there
        name, data = file.relative_to(library).as_posix(), file.read_bytes()
        what = draw.choice(whats)
        at = draw.randrange(len(data)) if data else 0
        if what in ("flip", "aim"):
            at = (_aimed(draw, data) if what == "aim" else None) or at
            return cls(name, "flip", at, noise=bytes([1 << draw.randrange(8)]))
        if what == "zero":
            return cls(name, what, at - at % 4096, 4096)
        return cls(name, what, at, 64, draw.randbytes(64) if what == "noise" else b"")

    def apply(self, library: Path) -> None:
        file = library / self.file
        data = bytearray(file.read_bytes())
        if self.what == "lose":
            file.unlink()
            return
        if self.what == "empty":
            data.clear()
        elif self.what == "cut":
            del data[self.at :]
        elif self.what == "flip" and data:
            data[self.at] ^= self.noise[0]
        elif self.what in ("zero", "noise"):
            span = slice(self.at, min(len(data), self.at + self.length))
            data[span] = (self.noise or bytes(self.length))[: span.stop - span.start]
        file.write_bytes(data)


def kind_of(file: PurePath) -> str:
    """Files of one suffix are of one kind; databases, manifests and CURRENT are each of their own."""
    return file.name if ".db" in file.suffix else file.suffix or file.name


def _aimed(draw: random.Random, data: bytes) -> int | None:
    """A place inside a word that matters; chance alone mostly hits free space."""
    closed = [word for words, _ in CLOSED.values() for word in words]
    word = draw.choice([*WORDS, *closed, *FOREIGN, "group:hr", "owner:ann", "project"]).encode()
    places = [match.start() for match in re.finditer(word, data)]
    return draw.choice(places) + draw.randrange(len(word)) if places else None
