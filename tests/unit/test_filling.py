"""A page as it fills, and what is remembered of the places that were looked at for it."""

from dataclasses import replace

from citewise.model.ranking import Dropped, Finding
from citewise.ports.rankings import Seen
from citewise.search.hydrate import GONE, MALFORMED
from citewise.search.pages import Filling
from tests.shortlists import a_named_finding

A, B, C, NOTHING = b"eight by", b"tes each", b"one here", bytes(8)


def ranked(name: str, rank: int, text: str | None = None) -> Finding:
    finding = a_named_finding(name, text=text or f"{name} says so.")
    return replace(finding, candidate=replace(finding.candidate, ranks={"dense": rank}))


def filled(page: Filling, *findings: Finding, first: int = 0, gone: tuple[int, ...] = ()) -> Filling:
    for place, one in enumerate(findings, start=first):
        page.take(place, Dropped(one.candidate, "hydrate", GONE) if place in gone else one)
    return page


def dense_ranks(page: Filling) -> list[int]:
    return [one.candidate.ranks["dense"] for one in page.close_up()]


def test_a_page_ends_where_the_next_one_would_have_something_to_show() -> None:
    one, two, three, four = (ranked(name, 1) for name in "abcd")
    page = filled(Filling(2), one, two, three, four, gone=(2,))
    assert (page.findings, page.next_place) == ([one, two], 3)
    assert page.seen.end == 3


def test_a_page_without_anything_behind_it_is_the_last() -> None:
    page = filled(Filling(2), ranked("a", 1), ranked("b", 2), ranked("c", 3), gone=(2,))
    assert not page.is_done


def test_the_same_text_is_shown_once_on_a_page_and_does_not_begin_the_next() -> None:
    twins = [ranked(name, 1, "The ferry leaves.") for name in "abc"]
    page = filled(Filling(1), *twins)
    assert (page.findings, page.next_place) == (twins[:1], None)
    assert [one.candidate.id for one in page.dropped] == [one.candidate.id for one in twins[1:]]


def test_a_text_of_an_earlier_page_is_not_shown_again() -> None:
    first = filled(Filling(1), ranked("a", 1, "The ferry leaves."))
    page = filled(Filling(5, 1, first.seen), ranked("b", 2, "The ferry leaves."), first=1)
    assert page.findings == []


def test_what_cannot_be_read_is_named_on_its_page_and_what_is_gone_on_none() -> None:
    page = Filling(1)
    for place, reason in enumerate((MALFORMED, GONE)):
        page.take(place, Dropped(ranked("a", 1).candidate, "hydrate", reason))
    assert [one.reason for one in page.dropped] == [MALFORMED]
    assert set(page.seen.gone) == {1}


def test_ranks_close_up_where_something_is_gone_here_or_before() -> None:
    before = Seen(0, NOTHING, {0: {"dense": 1, "words": 9}})
    page = filled(Filling(5, 1, before), ranked("b", 2), ranked("c", 3), ranked("d", 4), first=1, gone=(2,))
    assert dense_ranks(page) == [1, 2]
    assert page.seen == Seen(1, page.seen.texts, {2: {"dense": 3}})


def test_what_comes_from_deeper_rankings_has_ranks_of_its_own() -> None:
    page = filled(Filling(9), ranked("a", 1), ranked("b", 2), ranked("c", 3), gone=(1,))
    page.begin_deeper()
    filled(page, ranked("d", 70), ranked("e", 71), ranked("f", 72), first=3, gone=(4,))
    assert dense_ranks(page) == [1, 2, 70, 71]
    assert dense_ranks(page) == [1, 2, 70, 71]
    assert set(page.seen.gone) == {4}


def test_later_notes_take_the_place_of_earlier_ones() -> None:
    earlier = Seen(0, A + B + C, {1: {"dense": 1}, 2: {"dense": 2}})
    assert earlier.then(Seen(1, NOTHING)) == Seen(0, A + NOTHING + C, {2: {"dense": 2}})
    assert earlier.then(Seen(4, A)) == Seen(0, A + B + C + NOTHING + A, earlier.gone)
    assert earlier.before(2) == Seen(0, A + B, {1: {"dense": 1}})


def test_a_text_counts_as_shown_only_where_it_stands_as_a_whole() -> None:
    shifted = (A + B)[3:11]
    assert Seen(0, A + B).shows(B)
    assert not Seen(0, A + B).shows(shifted)
    assert not Seen(0, A + B).shows(C)
    assert Seen(0, A + B + shifted).shows(shifted)
