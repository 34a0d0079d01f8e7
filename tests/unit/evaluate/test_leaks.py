"""The leak suite's own parts: worlds, the oracle, and the judge. A judge that lets things pass proves nothing."""

from dataclasses import replace
from random import Random

import pytest

from citewise.evaluation.leak_world import MARK, Maker, Page, Section, Way, Who, World, marks_in, may_see
from citewise.evaluation.leaks import DEEP, Asker, Asking, Filter, Holdings, Shown, State, judged, sight_of
from citewise.evaluation.leaks import sight_of_selection as selection_sight

PLACE = ("acme", "book")
ANN = Who("ann", frozenset())


def a_page(name: str, *rules: str, place: tuple[str, str] = PLACE) -> Page:
    return Page(
        *place,
        path=f"zq{name}path.md",
        rules=frozenset(rules),
        way=Way.FRONTMATTER,
        title=f"The zq{name}title",
        tags=("sea",),
        level=2,
        keeper=f"zq{name}keeper",
        sections=(Section(f"Tide zq{name}head", f"The gauge zq{name}body waits."),),
    )


OWN = a_page("own", "owner:ann")
FOREIGN = a_page("foreign", "owner:bob")
ELSEWHERE = a_page("else", "public", place=("zed", "book"))
WORLD = World((OWN, FOREIGN, ELSEWHERE))
HELD = Holdings(
    {(*page.place, page.path): f"{at:016x}" for at, page in enumerate(WORLD.pages, start=0xA0)},
    {(*page.place, page.path): (f"{at:016x}",) for at, page in enumerate(WORLD.pages, start=0xB0)},
    frozenset(f"{at:016x}" for at in (0xA0, 0xA1, 0xA2, 0xB0, 0xB1, 0xB2, 0xFF)),
)
NOW = State(WORLD, HELD)


def asked(who: Who = ANN, question: str = "What waits?", **changes: object) -> Asking:
    return replace(Asking(who, PLACE, question), **changes)  # type: ignore[arg-type]


def kinds(shown: Shown, asking: Asking | None = None, before: State | None = None) -> list[str]:
    chosen = asking or asked()
    return [kind for kind, _ in judged(shown, sight_of(chosen, NOW, before=before), is_deep=chosen.is_deep)]


@pytest.mark.parametrize(
    ("who", "rules", "is_visible"),
    [
        (Who(None, frozenset()), {"public"}, True),
        (Who(None, frozenset()), {"project"}, False),
        (Who(None, frozenset()), {"owner:None"}, False),
        (Who(None, frozenset({"crew"})), {"project"}, True),
        (Who("ann", frozenset()), {"project"}, True),
        (Who("ann", frozenset()), {"owner:ann"}, True),
        (Who("an", frozenset()), {"owner:ann", "owner:ann.b"}, False),
        (Who("ops", frozenset()), {"group:ops"}, False),
        (Who("ann", frozenset({"ops"})), {"owner:bob", "group:ops"}, True),
        (Who("public", frozenset({"project"})), {"owner:bob"}, False),
        (Who(None, frozenset(), is_owner=True), {"owner:bob"}, True),
    ],
)
def test_the_oracle_says_who_may_see_what(who: Who, rules: set[str], *, is_visible: bool) -> None:
    assert may_see(who, a_page("one", *rules)) is is_visible


@pytest.mark.parametrize("part", sorted(FOREIGN.marks))
def test_any_part_of_a_foreign_page_is_a_leak(part: str) -> None:
    assert kinds(Shown(f"before {part.upper()}, after", 1)) == ["text"]


@pytest.mark.parametrize(
    "text",
    ["zqelsebody", "zqforeig… is cut short", "https://docs/zqforeignpath#x", "zqneverheardof"],
    ids=["of another place", "cut short", "in an address", "of a page that is gone"],
)
def test_what_is_not_for_the_asker_is_a_leak_in_any_form(text: str) -> None:
    assert kinds(Shown(text)) == ["text"]


def test_a_leak_says_what_it_was_and_what_stood_around_it() -> None:
    ((kind, what),) = judged(Shown("see zqforeignbody there"), sight_of(asked(), NOW), is_deep=False)
    assert (kind, what) == ("text", "'zqforeignbody' in 'see zqforeignbody there'")


@pytest.mark.parametrize("id_", [0xA1, 0xB1, 0xA2, 0xB2, 0xFF], ids=["page", "chunk", "page there", "there", "gone"])
def test_an_id_alone_is_a_leak(id_: int) -> None:
    assert kinds(Shown(f"dropped: {id_:016x}")) == ["id"]


def test_what_the_asker_may_see_and_what_he_said_himself_is_no_leak() -> None:
    own = f"{OWN.path} {OWN.text} {0xA0:016x} {0xB0:016x} zqownbo… {'0' * 64}"
    assert kinds(Shown(own, 1, {"dense": (1,)})) == []
    about = asked(question="Who is zqforeignbody?", filters=(Filter("tags", "=", "sea"),))
    assert kinds(Shown("Who is zqforeignbody?"), about) == []
    assert kinds(Shown("Who is zqforeignbody? zqforeignhead"), about) == ["text"]


@pytest.mark.parametrize(("total", "found"), [(0, ["missing"]), (1, []), (2, ["count"])])
def test_a_count_is_what_the_asker_may_see_no_more_and_no_less(total: int, found: list[str]) -> None:
    assert kinds(Shown("", total)) == found


def test_a_count_is_of_what_the_filters_leave() -> None:
    assert kinds(Shown("", 1), asked(filters=(Filter("metadata.level", ">=", "3"),))) == ["count"]
    assert kinds(Shown("", 1), asked(filters=(Filter("metadata.level", "<=", "2"),))) == []
    assert kinds(Shown("", 1), asked(filters=(Filter("document", "=", FOREIGN.path),))) == ["count"]


def test_while_the_index_lags_a_count_may_be_what_it_was_but_no_text_may() -> None:
    before = State(World((replace(FOREIGN, rules=frozenset({"public"})), OWN)), HELD)
    assert kinds(Shown("", 2), before=before) == []
    assert kinds(Shown("", 3), before=before) == ["count"]
    assert kinds(Shown("", 0), before=before) == []
    assert kinds(Shown("zqforeignbody"), before=before) == ["text"]


@pytest.mark.parametrize(("ranks", "found"), [((1,), []), ((2,), ["rank"])])
def test_a_place_behind_more_than_the_asker_may_see_is_a_leak(ranks: tuple[int, ...], found: list[str]) -> None:
    assert kinds(Shown("", 1, {"words": ranks})) == found


def test_a_gap_between_places_is_a_leak_where_everything_is_shown() -> None:
    owner = asked(Who(None, frozenset(), is_owner=True), top_k=DEEP)
    assert kinds(Shown("", 2, {"words": (2,)}), owner) == ["rank"]
    assert kinds(Shown("", 2, {"words": (2, 1)}), owner) == []
    assert kinds(Shown("", 2, {"words": (2,)}), replace(owner, top_k=1)) == []


def test_of_a_selection_even_the_owner_is_shown_nothing_of_the_library() -> None:
    asking = asked(Who(None, frozenset(), is_owner=True), selection="The zqchosen.", selected_from=OWN.path)
    sight = selection_sight(asking, HELD)
    shown = Shown(f"The zqchosen. {OWN.path} zqownbody {0xB0:016x}")
    assert [kind for kind, _ in judged(shown, sight, is_deep=False)] == ["text", "id"]


def test_where_a_selection_comes_from_is_said_with_the_selection_and_nowhere_else() -> None:
    asking = asked(selection="The zqchosen.", selected_from=FOREIGN.path)
    assert kinds(Shown(FOREIGN.path), asking) == ["text"]
    assert list(judged(Shown(FOREIGN.path), selection_sight(asking, HELD), is_deep=False)) == []


def test_some_selections_come_from_nowhere() -> None:
    draw = Random(1)
    maker = Maker(draw)
    asker = Asker(draw, maker, maker.world())
    told = {bool(asker.asking().selected_from) for _ in range(40)}
    assert told == {True, False}


def test_the_same_seed_makes_the_same_world_and_questions() -> None:
    def made(seed: int) -> tuple[World, World, list[Asking]]:
        draw = Random(seed)
        maker = Maker(draw)
        world = maker.world()
        changed = maker.changed(world)
        asker = Asker(draw, maker, changed)
        return world, changed, [asker.asking() for _ in range(20)]

    assert made(1) == made(1)
    assert made(1) != made(2)


def test_a_world_has_what_could_be_mixed_up() -> None:
    draw = Random(1)
    worlds = [Maker(draw).world() for _ in range(20)]
    for world in worlds:
        assert len({(page.place, page.path) for page in world.pages}) == len(world.pages)
        assert len(world.places) == 3
    pages = [page for world in worlds for page in world.pages]
    assert {page.way for page in pages} == set(Way)
    assert any(
        one.path == other.path for world in worlds for one in world.pages for other in world.pages if one != other
    )
    assert any(
        one.sections == other.sections
        for world in worlds
        for one in world.pages
        for other in world.pages
        if one != other
    )


def test_a_change_takes_gives_removes_and_adds() -> None:
    maker = Maker(Random(1))
    world = maker.world()
    changed = maker.changed(world)
    before = {(page.place, page.path): page for page in world.pages}
    after = {(page.place, page.path): page for page in changed.pages}
    assert before.keys() - after.keys()
    assert after.keys() - before.keys()
    kept = before.keys() & after.keys()
    assert any(before[key].rules != after[key].rules for key in kept)
    assert any(before[key].sections != after[key].sections for key in kept)


def test_marks_are_found_wherever_they_stand() -> None:
    assert list(marks_in("a zqone-zqTwo.md (zqthree)…")) == ["zqone", "zqtwo", "zqthree"]
    assert list(marks_in("nothing")) == []
    assert all(word.startswith(MARK) for word in marks_in("zq zq zq"))
