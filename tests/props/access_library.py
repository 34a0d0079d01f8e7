"""The library that the leak machine works on: where its pages are, what it begins with, and how it is asked."""

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random

from citewise import Library, LibraryView, Principal, Scope, Settings
from citewise.model.access import OWNER
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.leaks.world import Page, Reader, RuleSource, WorldMaker

SCOPES = (Scope("acme", "book"), Scope("acme-book", "2"))
FIRST_RULES = ("public", "project", "group:ops")  # of the pages that every example begins with, in either scope
SEED = 7  # of all that is drawn: the template's pages are those that the model begins with


def make_template(home: Path, template: Path) -> None:
    """A library as every example finds it; made where it will be used, since it remembers where its sources are."""
    for page in first_pages(WorldMaker(Random(SEED))):
        folder_of(home, page.scope).mkdir(parents=True, exist_ok=True)
        file_of(home, page).write_text(page.text, encoding="utf-8")
    with library_in(home) as library:
        for scope in SCOPES:
            library.ingest(folder_of(home, scope), scope=scope)
    shutil.copytree(home, template)


def first_pages(maker: WorldMaker) -> list[Page]:
    return [new_page(maker, scope, frozenset({rule_})) for scope in SCOPES for rule_ in FIRST_RULES]


def new_page(maker: WorldMaker, scope: Scope, rules: frozenset[str]) -> Page:
    """A page whose frontmatter states its rules."""
    drawn = maker.page(scope)
    return replace(drawn, rules=rules, rule_source=RuleSource.FRONTMATTER, path=drawn.path.rpartition("/")[2])


def library_in(home: Path) -> Library:
    chosen = Settings(library=home / "library", cache=home / "cache").changed(query_log={"text": "full"})
    return Library(settings=chosen, embedder=HashEmbedder(), token_counter=WordCounter())


def folder_of(home: Path, scope: Scope) -> Path:
    return home / "pages" / f"{scope.tenant}+{scope.project}"


def file_of(home: Path, page: Page) -> Path:
    return folder_of(home, page.scope) / page.path


def view_of(library: Library, reader: Reader, scope: Scope) -> LibraryView:
    return library.as_principal(OWNER if reader.is_owner else Principal(reader.user, reader.groups), scope)
