"""What every index promises, whichever engine serves it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewise.adapters.guard import Breaker, Guard, GuardedIndex
from citewise.adapters.local_index.index import LocalIndex
from citewise.adapters.sqlite.catalog import SqliteCatalog
from citewise.adapters.sqlite.connections import Connections
from citewise.model.access import PUBLIC, Reader, Scope
from citewise.model.chunk import TermField
from citewise.model.filters import AnyOf, Between, Condition, Where
from citewise.ports.indexes import Index
from tests.builders import DIMENSIONS, SCOPE, a_point, a_vector, an_id, unit_vector
from tests.fakes.plain_index import PlainIndex

OTHER = Scope("rival", "handbook")


LOCAL = ("local", "local, as if large")


@pytest.fixture(params=["plain", "guarded", *LOCAL])
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    if request.param == "local, as if large":  # the ways that a million chunks are searched, taken by a few
        monkeypatch.setattr("citewise.adapters.local_index.vectors.SIGNS_FROM", 0)
        monkeypatch.setattr("citewise.adapters.local_index.vectors.MIN_DIMENSIONS", 1)
        monkeypatch.setattr("citewise.adapters.local_index.vectors.EXACT_FROM_FILES", 0)
        monkeypatch.setattr("citewise.adapters.local_index.vectors.LARGE", 0)
    if request.param in LOCAL:
        yield LocalIndex(tmp_path, dimensions=DIMENSIONS)
    elif request.param == "plain":
        yield PlainIndex()
    else:
        log = SqliteCatalog(Connections(tmp_path / "catalog.db", may_create=True), model_name="m")
        yield GuardedIndex(PlainIndex(), log, vectors=a_guard("vectors"), words=a_guard("words"))
        log.close()


def a_guard(part: str) -> Guard:
    return Guard(Breaker(part, remedy="-", failures=1, pause_seconds=30.0))


def where(*conditions: Condition, readers: frozenset[Reader] | None = None, scope: Scope = SCOPE) -> Where:
    return Where(scope, readers, tuple(conditions))


def test_an_empty_index_answers_nothing(index: Index) -> None:
    assert index.nearest(a_vector(1), where=where(), limit=5) == ()
    assert index.matching(["tide"], field=TermField.WORDS, where=where(), limit=5) == ()
    assert index.position(SCOPE) == 0


def test_the_nearest_point_comes_first(index: Index) -> None:
    index.write(SCOPE, puts=[a_point(n) for n in range(20)], drops=(), position=1)
    hits = index.nearest(a_vector(7), where=where(), limit=3)
    assert hits[0].id == an_id(7)
    assert hits[0].score == pytest.approx(1.0, abs=0.02)
    assert len(hits) == 3


def test_words_and_code_are_separate_rankings(index: Index) -> None:
    points = [a_point("prose", words="tide gauge tide"), a_point("code", code="tide read_gauge")]
    index.write(SCOPE, puts=points, drops=(), position=1)
    by_words = index.matching(["tide"], field=TermField.WORDS, where=where(), limit=5)
    by_code = index.matching(["tide"], field=TermField.CODE, where=where(), limit=5)
    assert [hit.id for hit in by_words] == [an_id("prose")]
    assert [hit.id for hit in by_code] == [an_id("code")]


def test_equal_scores_come_in_the_order_of_ids_even_at_the_cut(index: Index) -> None:
    same = a_vector("same")
    points = [a_point(n, vector=same, words="tide") for n in range(40)]
    index.write(SCOPE, puts=points[:25], drops=(), position=1)
    index.write(SCOPE, puts=points[25:], drops=(), position=2)
    expected = sorted(point.id for point in points)[:7]
    assert [hit.id for hit in index.nearest(same, where=where(), limit=7)] == expected
    found = index.matching(["tide"], field=TermField.WORDS, where=where(), limit=7)
    assert [hit.id for hit in found] == expected


def test_a_term_that_nearly_every_chunk_has_still_fills_the_list(index: Index) -> None:
    points = [a_point(n, words="tide gauge" if n == 7 else "tide") for n in range(30)]
    index.write(SCOPE, puts=points, drops=(), position=1)
    found = index.matching(["tide", "gauge"], field=TermField.WORDS, where=where(), limit=10)
    others = sorted(point.id for point in points if point.id != an_id(7))
    assert [hit.id for hit in found] == [an_id(7), *others[:9]]
    assert len(index.matching(["tide", "ebb"], field=TermField.WORDS, where=where(), limit=10)) == 10


def test_a_filter_never_moves_a_score(index: Index) -> None:
    points = [a_point(n, words="tide " * (n % 3 + 1), labels=[f"module={n % 2}"]) for n in range(10)]
    index.write(SCOPE, puts=points, drops=(), position=1)
    free = index.matching(["tide"], field=TermField.WORDS, where=where(), limit=10)
    odd = where(AnyOf("module", frozenset({"1"})))
    narrowed = index.matching(["tide"], field=TermField.WORDS, where=odd, limit=10)
    assert len(narrowed) == 5
    assert set(narrowed) <= set(free)


def test_limit_hits_come_back_whenever_that_many_are_visible(index: Index) -> None:
    points = [a_point(n, words="tide", readers=["group:ops"] if n % 50 == 0 else ["owner:ann"]) for n in range(1000)]
    index.write(SCOPE, puts=points, drops=(), position=1)
    ops = where(readers=frozenset({PUBLIC, Reader("group:ops")}))
    assert len(index.nearest(a_vector("q"), where=ops, limit=20)) == 20
    assert len(index.matching(["tide"], field=TermField.WORDS, where=ops, limit=20)) == 20
    assert len(index.nearest(a_vector("q"), where=ops, limit=100)) == 20


def test_a_filter_that_admits_most_but_none_of_the_best_is_filled_from_the_rest(index: Index) -> None:
    points = [
        a_point(n, words="tide tide tide" if n < 40 else "tide ebb", labels=[f"in={n >= 40}"]) for n in range(100)
    ]
    index.write(SCOPE, puts=points, drops=(), position=1)
    narrow = where(AnyOf("in", frozenset({"True"})))
    found = index.matching(["tide"], field=TermField.WORDS, where=narrow, limit=20)
    assert [hit.id for hit in found] == sorted(point.id for point in points[40:])[:20]


def test_numbers_are_filtered_by_range_with_both_ends_included(index: Index) -> None:
    points = [a_point(n, words="tide", numbers={"metadata.draft: no\"'*": n / 2}) for n in range(-10, 10)]
    index.write(SCOPE, puts=[*points, a_point("none", words="tide")], drops=(), position=1)
    for low, high, count in (
        (-1.0, 2.0, 7),
        (None, -4.5, 2),
        (4.5, None, 1),
        (None, None, 20),
        (3.0, 1.0, 0),
        (1.0, 2.5, 4),
        (0.5, 2.0, 4),
    ):
        narrow = where(Between("metadata.draft: no\"'*", low, high))
        assert len(index.nearest(a_vector(1), where=narrow, limit=50)) == count
        assert len(index.matching(["tide"], field=TermField.WORDS, where=narrow, limit=50)) == count


def test_scopes_never_meet(index: Index) -> None:
    index.write(SCOPE, puts=[a_point("ours", words="tide")], drops=(), position=1)
    index.write(OTHER, puts=[a_point("theirs", words="tide")], drops=(), position=1)
    for scope, name in ((SCOPE, "ours"), (OTHER, "theirs")):
        assert [hit.id for hit in index.nearest(a_vector(1), where=where(scope=scope), limit=9)] == [an_id(name)]
        found = index.matching(["tide"], field=TermField.WORDS, where=where(scope=scope), limit=9)
        assert [hit.id for hit in found] == [an_id(name)]


def test_writing_again_replaces_and_dropping_removes(index: Index) -> None:
    index.write(SCOPE, puts=[a_point(1, words="ebb"), a_point(2, words="ebb")], drops=(), position=1)
    index.write(SCOPE, puts=[a_point(1, words="flood", vector=a_vector("new"))], drops=[an_id(2)], position=2)
    assert index.matching(["ebb"], field=TermField.WORDS, where=where(), limit=5) == ()
    assert [hit.id for hit in index.nearest(a_vector("new"), where=where(), limit=5)] == [an_id(1)]
    assert index.position(SCOPE) == 2


def test_a_chunk_is_found_by_its_latest_labels_alone(index: Index) -> None:
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=yes"]) for n in range(10)], drops=(), position=1)
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=no"]) for n in range(3)], drops=(), position=2)
    narrow = where(AnyOf("in", frozenset({"yes"})))
    expected = {an_id(n) for n in range(3, 10)}
    assert {hit.id for hit in index.nearest(a_vector(1), where=narrow, limit=9)} == expected
    assert {hit.id for hit in index.matching(["tide"], field=TermField.WORDS, where=narrow, limit=9)} == expected


def test_a_filter_admits_what_was_written_after_it_was_first_asked(index: Index) -> None:
    narrow = where(AnyOf("in", frozenset({"yes"})))
    index.write(SCOPE, puts=[a_point(1, words="tide", labels=["in=no"])], drops=(), position=1)
    assert index.nearest(a_vector(1), where=narrow, limit=9) == ()
    assert index.matching(["tide"], field=TermField.WORDS, where=narrow, limit=9) == ()
    index.write(SCOPE, puts=[a_point(2, words="tide", labels=["in=yes"])], drops=(), position=2)
    assert [hit.id for hit in index.nearest(a_vector(1), where=narrow, limit=9)] == [an_id(2)]
    assert [hit.id for hit in index.matching(["tide"], field=TermField.WORDS, where=narrow, limit=9)] == [an_id(2)]


def test_writing_twice_is_writing_once(index: Index) -> None:
    for _ in range(2):
        index.write(SCOPE, puts=[a_point(1, words="ebb"), a_point(2, words="ebb")], drops=[an_id(3)], position=4)
    assert len(index.nearest(a_vector(1), where=where(), limit=9)) == 2
    assert len(index.matching(["ebb"], field=TermField.WORDS, where=where(), limit=9)) == 2


def test_an_index_made_anew_takes_the_place_of_the_one_that_answers_meanwhile(index: Index) -> None:
    for scope in (SCOPE, OTHER):
        index.write(scope, puts=[a_point(1, words="ebb")], drops=(), position=3)
    index.begin_anew(SCOPE)
    index.write(SCOPE, puts=[a_point(2, words="ebb")], drops=(), position=1)
    assert [hit.id for hit in index.nearest(a_vector(1), where=where(), limit=5)] == [an_id(1)]
    assert [hit.id for hit in index.matching(["ebb"], field=TermField.WORDS, where=where(), limit=5)] == [an_id(1)]
    index.write(SCOPE, puts=[a_point(3, words="ebb")], drops=(), position=2)
    index.finish_anew(SCOPE)
    assert index.position(SCOPE) == 2
    expected = {an_id(2), an_id(3)}
    assert {hit.id for hit in index.nearest(a_vector(1), where=where(), limit=5)} == expected
    assert {hit.id for hit in index.matching(["ebb"], field=TermField.WORDS, where=where(), limit=5)} == expected
    assert index.position(OTHER) == 3


def test_an_index_made_anew_of_nothing_is_empty(index: Index) -> None:
    index.write(SCOPE, puts=[a_point(1)], drops=(), position=3)
    index.begin_anew(SCOPE)
    index.finish_anew(SCOPE)
    assert index.position(SCOPE) == 0
    assert index.nearest(a_vector(1), where=where(), limit=5) == ()


@pytest.mark.parametrize("index", LOCAL, indirect=True)  # the others are the oracle, or give what it gives
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.001])
def test_recall_at_60_is_at_least_95_percent_at_every_selectivity(index: Index, share: float) -> None:
    draw = random.Random(5)
    centers = [[draw.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(20)]
    points = []
    for n in range(4000):
        center = draw.choice(centers)
        vector = unit_vector(value + draw.gauss(0, 0.6) for value in center)
        points.append(a_point(n, vector=vector, labels=["in=yes"] if n < 4000 * share else []))
    index.write(SCOPE, puts=points, drops=(), position=1)
    oracle = PlainIndex()
    oracle.write(SCOPE, puts=points, drops=(), position=1)
    narrow = where(AnyOf("in", frozenset({"yes"})))
    found = expected = 0
    for n in range(10):
        query = unit_vector(value + draw.gauss(0, 0.6) for value in centers[n])
        exact = {hit.id for hit in oracle.nearest(query, where=narrow, limit=60)}
        hits = {hit.id for hit in index.nearest(query, where=narrow, limit=60)}
        assert len(hits) == len(exact)
        found += len(hits & exact)
        expected += len(exact)
    assert found / expected >= 0.95
