"""The parts of the leak suite: worlds, the access rule, and the judge. A judge that misses leaks proves nothing."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest

from citewise.model.access import Scope
from tests.leaks.judge import (
    DEEP,
    Filter,
    Output,
    Request,
    RequestMaker,
    State,
    StoredIds,
    allowed_in_library,
    allowed_in_selection,
    violations,
)
from tests.leaks.world import PREFIX, Page, Reader, RuleSource, Section, World, WorldMaker, markers_in, may_read

SCOPE = Scope("acme", "book")
ANN = Reader("ann", frozenset())


def a_page(name: str, *rules: str, scope: Scope = SCOPE) -> Page:
    return Page(
        scope,
        path=f"zq{name}path.md",
        rules=frozenset(rules),
        rule_source=RuleSource.FRONTMATTER,
        title=f"The zq{name}title",
        tags=("sea",),
        level=2,
        keeper=f"zq{name}keeper",
        sections=(Section(f"Tide zq{name}head", f"The gauge zq{name}body waits."),),
    )


OWN = a_page("own", "owner:ann")
FOREIGN = a_page("foreign", "owner:bob")
ELSEWHERE = a_page("else", "public", scope=Scope("zed", "book"))
WORLD = World((OWN, FOREIGN, ELSEWHERE))
IDS = StoredIds(
    {(page.scope, page.path): f"{at:016x}" for at, page in enumerate(WORLD.pages, start=0xA0)},
    {(page.scope, page.path): (f"{at:016x}",) for at, page in enumerate(WORLD.pages, start=0xB0)},
    frozenset(f"{at:016x}" for at in (0xA0, 0xA1, 0xA2, 0xB0, 0xB1, 0xB2, 0xFF)),
)
NOW = State(WORLD, IDS)


def asked(reader: Reader = ANN, question: str = "What waits?", **changes: object) -> Request:
    return replace(Request(reader, SCOPE, question), **changes)  # type: ignore[arg-type]


def kinds(output: Output, request: Request | None = None, before: State | None = None) -> list[str]:
    chosen = request or asked()
    return [
        kind for kind, _ in violations(output, allowed_in_library(chosen, NOW, before=before), is_deep=chosen.is_deep)
    ]


@pytest.mark.parametrize(
    ("reader", "rules", "is_visible"),
    [
        (Reader(None, frozenset()), {"public"}, True),
        (Reader(None, frozenset()), {"project"}, False),
        (Reader(None, frozenset()), {"owner:None"}, False),
        (Reader(None, frozenset({"crew"})), {"project"}, True),
        (Reader("ann", frozenset()), {"project"}, True),
        (Reader("ann", frozenset()), {"owner:ann"}, True),
        (Reader("an", frozenset()), {"owner:ann", "owner:ann.b"}, False),
        (Reader("ops", frozenset()), {"group:ops"}, False),
        (Reader("ann", frozenset({"ops"})), {"owner:bob", "group:ops"}, True),
        (Reader("public", frozenset({"project"})), {"owner:bob"}, False),
        (Reader(None, frozenset(), is_owner=True), {"owner:bob"}, True),
    ],
)
def test_the_oracle_says_who_may_see_what(reader: Reader, rules: set[str], *, is_visible: bool) -> None:
    assert may_read(reader, a_page("one", *rules)) is is_visible


@pytest.mark.parametrize("part", sorted(FOREIGN.markers))
def test_any_part_of_a_foreign_page_is_a_leak(part: str) -> None:
    assert kinds(Output(f"before {part.upper()}, after", 1)) == ["text"]


@pytest.mark.parametrize(
    "text",
    ["zqelsebody", "zqforeig… is cut short", "https://docs/zqforeignpath#x", "zqneverheardof"],
    ids=["of another place", "cut short", "in an address", "of a page that is gone"],
)
def test_what_is_not_for_the_asker_is_a_leak_in_any_form(text: str) -> None:
    assert kinds(Output(text)) == ["text"]


def test_a_leak_says_what_it_was_and_what_stood_around_it() -> None:
    ((kind, what),) = violations(Output("see zqforeignbody there"), allowed_in_library(asked(), NOW), is_deep=False)
    assert (kind, what) == ("text", "'zqforeignbody' in 'see zqforeignbody there'")


@pytest.mark.parametrize("id_", [0xA1, 0xB1, 0xA2, 0xB2, 0xFF], ids=["page", "chunk", "page there", "there", "gone"])
def test_an_id_alone_is_a_leak(id_: int) -> None:
    assert kinds(Output(f"dropped: {id_:016x}")) == ["id"]


def test_what_the_asker_may_see_and_what_he_said_himself_is_no_leak() -> None:
    own = f"{OWN.path} {OWN.text} {0xA0:016x} {0xB0:016x} zqownbo… {'0' * 64}"
    assert kinds(Output(own, 1, {"dense": (1,)})) == []
    about = asked(question="Who is zqforeignbody?", filters=(Filter("tags", "=", "sea"),))
    assert kinds(Output("Who is zqforeignbody?"), about) == []
    assert kinds(Output("Who is zqforeignbody? zqforeignhead"), about) == ["text"]


@pytest.mark.parametrize(("total", "found"), [(0, ["missing"]), (1, []), (2, ["count"])])
def test_a_count_is_what_the_asker_may_see_no_more_and_no_less(total: int, found: list[str]) -> None:
    assert kinds(Output("", total)) == found


def test_a_count_is_of_what_the_filters_leave() -> None:
    assert kinds(Output("", 1), asked(filters=(Filter("metadata.level", ">=", "3"),))) == ["count"]
    assert kinds(Output("", 1), asked(filters=(Filter("metadata.level", "<=", "2"),))) == []
    assert kinds(Output("", 1), asked(filters=(Filter("document", "=", FOREIGN.path),))) == ["count"]


def test_while_the_index_lags_a_count_may_be_what_it_was_but_no_text_may() -> None:
    before = State(World((replace(FOREIGN, rules=frozenset({"public"})), OWN)), IDS)
    assert kinds(Output("", 2), before=before) == []
    assert kinds(Output("", 3), before=before) == ["count"]
    assert kinds(Output("", 0), before=before) == []
    assert kinds(Output("zqforeignbody"), before=before) == ["text"]


@pytest.mark.parametrize(("ranks", "found"), [((1,), []), ((2,), ["rank"])])
def test_a_place_behind_more_than_the_asker_may_see_is_a_leak(ranks: tuple[int, ...], found: list[str]) -> None:
    assert kinds(Output("", 1, {"words": ranks})) == found


def test_a_gap_between_places_is_a_leak_where_everything_is_shown() -> None:
    owner = asked(Reader(None, frozenset(), is_owner=True), top_k=DEEP)
    assert kinds(Output("", 2, {"words": (2,)}), owner) == ["rank"]
    assert kinds(Output("", 2, {"words": (2, 1)}), owner) == []
    assert kinds(Output("", 2, {"words": (2,)}), replace(owner, top_k=1)) == []


def test_of_a_selection_even_the_owner_is_shown_nothing_of_the_library() -> None:
    request = asked(Reader(None, frozenset(), is_owner=True), selection="The zqchosen.", selected_from=OWN.path)
    allowed = allowed_in_selection(request, IDS)
    output = Output(f"The zqchosen. {OWN.path} zqownbody {0xB0:016x}")
    assert [kind for kind, _ in violations(output, allowed, is_deep=False)] == ["text", "id"]


def test_where_a_selection_comes_from_is_said_with_the_selection_and_nowhere_else() -> None:
    request = asked(selection="The zqchosen.", selected_from=FOREIGN.path)
    assert kinds(Output(FOREIGN.path), request) == ["text"]
    assert list(violations(Output(FOREIGN.path), allowed_in_selection(request, IDS), is_deep=False)) == []


def test_some_selections_come_from_nowhere() -> None:
    draw = Random(1)
    maker = WorldMaker(draw)
    requests = RequestMaker(draw, maker, maker.world())
    given = {bool(requests.request().selected_from) for _ in range(40)}
    assert given == {True, False}


def test_the_same_seed_makes_the_same_world_and_questions() -> None:
    def made(seed: int) -> tuple[World, World, list[Request]]:
        draw = Random(seed)
        maker = WorldMaker(draw)
        world = maker.world()
        changed = maker.changed(world)
        requests = RequestMaker(draw, maker, changed)
        return world, changed, [requests.request() for _ in range(20)]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_a_world_has_what_could_be_mixed_up() -> None:
    draw = Random(1)
    worlds = [WorldMaker(draw).world() for _ in range(20)]
    for world in worlds:
        assert len({(page.scope, page.path) for page in world.pages}) == len(world.pages)
        assert len(world.scopes) == 3
    pages = [page for world in worlds for page in world.pages]
    assert {page.rule_source for page in pages} == set(RuleSource)
    pairs = [pair for world in worlds for pair in combinations(world.pages, 2)]
    assert any(page.path == other.path for page, other in pairs)
    assert any(page.sections == other.sections for page, other in pairs)


def test_a_change_takes_gives_removes_and_adds() -> None:
    maker = WorldMaker(Random(1))
    world = maker.world()
    changed = maker.changed(world)
    before = {(page.scope, page.path): page for page in world.pages}
    after = {(page.scope, page.path): page for page in changed.pages}
    assert before.keys() - after.keys()
    assert after.keys() - before.keys()
    kept = before.keys() & after.keys()
    assert any(before[key].rules != after[key].rules for key in kept)
    assert any(before[key].sections != after[key].sections for key in kept)


def test_marks_are_found_wherever_they_stand() -> None:
    assert list(markers_in("a zqone-zqTwo.md (zqthree)…")) == ["zqone", "zqtwo", "zqthree"]
    assert list(markers_in("nothing")) == []
    assert all(word.startswith(PREFIX) for word in markers_in("zq zq zq"))
