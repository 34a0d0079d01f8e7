"""The library that the leak machine works on: where its pages are, what it begins with, and how it is asked."""

import shutil
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypedDict

from citewise import Library, Principal, Scope, Settings
from citewise.evaluation.leak_world import Maker, Page, Way, Who
from citewise.model.access import LOCAL_PRINCIPAL
from citewise.settings import QueryLogSettings
from citewise.wiring.embedding import Embedding
from tests.fakes.counters import HashEmbedder, WordCounter
from tests.props.access_oracle import Place

PLACES: tuple[Place, ...] = (("acme", "book"), ("acme-book", "2"))
FIRST_RULES = ("public", "project", "group:ops")  # of the pages that every example begins with, in either place
SEED = 7  # of all that is drawn: the template's pages are those that the model begins with


class As(TypedDict):
    """Who asks, and where, as a library takes it."""

    scope: Scope
    principal: Principal


def make_template(home: Path, template: Path) -> None:
    """A library as every example finds it; made where it will be used, since it remembers where its sources are."""
    for page in first_pages(Maker(Random(SEED))):
        folder_of(home, page.place).mkdir(parents=True, exist_ok=True)
        file_of(home, page).write_text(page.text, encoding="utf-8")
    with library_in(home) as library:
        for place in PLACES:
            library.ingest(folder_of(home, place), scope=Scope(*place))
    shutil.copytree(home, template)


def first_pages(maker: Maker) -> list[Page]:
    return [new_page(maker, place, frozenset({rule_})) for place in PLACES for rule_ in FIRST_RULES]


def new_page(maker: Maker, place: Place, rules: frozenset[str]) -> Page:
    """One whose frontmatter says who may read it."""
    drawn = maker.page(place)
    return replace(drawn, rules=rules, way=Way.FRONTMATTER, path=drawn.path.rpartition("/")[2])


def library_in(home: Path) -> Library:
    chosen = Settings(library=home / "library", cache=home / "cache", query_log=QueryLogSettings(text="full"))
    return Library(settings=chosen, embedding=Embedding(HashEmbedder(), WordCounter()))


def folder_of(home: Path, place: Place) -> Path:
    return home / "pages" / "+".join(place)


def file_of(home: Path, page: Page) -> Path:
    return folder_of(home, page.place) / page.path


def asker_of(who: Who, place: Place) -> As:
    return {"scope": Scope(*place), "principal": LOCAL_PRINCIPAL if who.is_owner else Principal(who.user, who.groups)}
