"""What every vector index and every text index promises, whichever engine serves it."""

import random
import runpy
from pathlib import Path

import pytest

from citewise.errors import Unavailable
from citewise.model.access import PUBLIC, Reader, Scope
from citewise.model.chunk import Point, TermField
from citewise.model.filters import AnyOf, Between, Condition, Where
from citewise.model.ids import ChunkId
from citewise.ports.catalog import ProjectionState
from citewise.ports.indexes import IndexBatch, KeepsPosition
from tests.builders import DIMENSIONS, SCOPE, a_point, a_vector, an_id, unit_vector
from tests.stores import Indexes

OTHER = Scope("rival", "handbook")

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_index.py"

TERM_FIELDS: tuple[TermField, ...] = ("words", "code")
LOCAL = ("local", "local, as if large")


@pytest.fixture(params=["plain", "example", *LOCAL])
def index(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Indexes:
    if request.param == "local, as if large":  # a million chunks are searched this way; here it is a few
        monkeypatch.setattr("citewise.adapters.local_index.scan.SIGNS_FROM", 0)
        monkeypatch.setattr("citewise.adapters.local_index.scan.MIN_DIMENSIONS", 1)
        monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 0)
        monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    if request.param in LOCAL:
        return Indexes.local(tmp_path)
    if request.param == "example":
        example = runpy.run_path(str(EXAMPLE))
        return Indexes(example["BruteForceVectorIndex"](), example["BruteForceTextIndex"]())
    return Indexes.plain()


def where(*conditions: Condition, readers: frozenset[Reader] | None = None, scope: Scope = SCOPE) -> Where:
    return Where(scope, readers, tuple(conditions))


def test_an_empty_index_answers_nothing(index: Indexes) -> None:
    assert index.found("tide", where()) == ([], [])
    assert states(index, SCOPE) == {None}


def test_the_nearest_point_comes_first(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(n) for n in range(20)])
    hits = index.nearest(a_vector(7), where=where(), limit=3)
    assert hits[0].id == an_id(7)
    assert hits[0].score == pytest.approx(1.0, abs=0.02)
    assert len(hits) == 3


def test_words_and_code_are_separate_rankings(index: Indexes) -> None:
    points = [a_point("prose", words="tide gauge tide"), a_point("code", code="tide read_gauge")]
    index.write(SCOPE, puts=points)
    by_words = index.matching(["tide"], field="words", where=where(), limit=5)
    by_code = index.matching(["tide"], field="code", where=where(), limit=5)
    assert [hit.id for hit in by_words] == [an_id("prose")]
    assert [hit.id for hit in by_code] == [an_id("code")]


def test_equal_scores_come_in_the_order_of_ids_even_at_the_cut(index: Indexes) -> None:
    same = a_vector("same")
    points = [a_point(n, vector=same, words="tide") for n in range(40)]
    index.write(SCOPE, puts=points[:25])
    index.write(SCOPE, puts=points[25:], position=2)
    expected = sorted(point.id for point in points)[:7]
    assert [hit.id for hit in index.nearest(same, where=where(), limit=7)] == expected
    found = index.matching(["tide"], field="words", where=where(), limit=7)
    assert [hit.id for hit in found] == expected


def test_a_term_that_nearly_every_chunk_has_still_fills_the_list(index: Indexes) -> None:
    points = [a_point(n, words="tide gauge" if n == 7 else "tide") for n in range(30)]
    index.write(SCOPE, puts=points)
    found = index.matching(["tide", "gauge"], field="words", where=where(), limit=10)
    others = sorted(point.id for point in points if point.id != an_id(7))
    assert [hit.id for hit in found] == [an_id(7), *others[:9]]
    assert len(index.matching(["tide", "ebb"], field="words", where=where(), limit=10)) == 10


def test_a_filter_never_moves_a_score(index: Indexes) -> None:
    points = [a_point(n, words="tide " * (n % 3 + 1), labels=[f"module={n % 2}"]) for n in range(10)]
    index.write(SCOPE, puts=points)
    free = index.matching(["tide"], field="words", where=where(), limit=10)
    odd = where(AnyOf("module", frozenset({"1"})))
    narrowed = index.matching(["tide"], field="words", where=odd, limit=10)
    assert len(narrowed) == 5
    assert set(narrowed) <= set(free)


def test_limit_hits_come_back_whenever_that_many_are_visible(index: Indexes) -> None:
    points = [a_point(n, words="tide", readers=["group:ops"] if n % 50 == 0 else ["owner:ann"]) for n in range(1000)]
    index.write(SCOPE, puts=points)
    ops = where(readers=frozenset({PUBLIC, Reader("group:ops")}))
    assert len(index.nearest(a_vector("q"), where=ops, limit=20)) == 20
    assert len(index.matching(["tide"], field="words", where=ops, limit=20)) == 20
    assert len(index.nearest(a_vector("q"), where=ops, limit=100)) == 20


def test_a_filter_that_admits_most_but_none_of_the_best_is_filled_from_the_rest(index: Indexes) -> None:
    points = [
        a_point(n, words="tide tide tide" if n < 40 else "tide ebb", labels=[f"in={n >= 40}"]) for n in range(100)
    ]
    index.write(SCOPE, puts=points)
    narrow = where(AnyOf("in", frozenset({"True"})))
    found = index.matching(["tide"], field="words", where=narrow, limit=20)
    assert [hit.id for hit in found] == sorted(point.id for point in points[40:])[:20]


def test_numbers_are_filtered_by_range_with_both_ends_included(index: Indexes) -> None:
    points = [a_point(n, words="tide", numbers={"metadata.draft: no\"'*": n / 2}) for n in range(-10, 10)]
    index.write(SCOPE, puts=[*points, a_point("none", words="tide")])
    for low, high, count in (
        (-1.0, 2.0, 7),
        (None, -4.5, 2),
        (4.5, None, 1),
        (None, None, 20),
        (3.0, 1.0, 0),
        (1.0, 2.5, 4),
        (0.5, 2.0, 4),
    ):
        found = index.found("tide", where(Between("metadata.draft: no\"'*", low, high)), limit=50)
        assert list(map(len, found)) == [count, count]


def test_scopes_never_meet(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point("ours", words="tide")])
    index.write(OTHER, puts=[a_point("theirs", words="tide")])
    for scope, name in ((SCOPE, "ours"), (OTHER, "theirs")):
        assert index.found("tide", where(scope=scope)) == ([an_id(name)], [an_id(name)])


def test_writing_again_replaces_and_dropping_removes(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(1, words="ebb"), a_point(2, words="ebb")])
    index.write(SCOPE, puts=[a_point(1, words="flood", vector=a_vector("new"))], drops=[an_id(2)], position=2)
    assert index.matching(["ebb"], field="words", where=where(), limit=5) == ()
    assert [hit.id for hit in index.nearest(a_vector("new"), where=where(), limit=5)] == [an_id(1)]
    assert states(index, SCOPE) == {ProjectionState(1, 2)}


def test_a_chunk_is_found_by_its_latest_labels_alone(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=yes"]) for n in range(10)])
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=no"]) for n in range(3)], position=2)
    narrow = where(AnyOf("in", frozenset({"yes"})))
    expected = {an_id(n) for n in range(3, 10)}
    assert [set(ids) for ids in index.found("tide", narrow)] == [expected, expected]


def test_a_filter_admits_what_was_written_after_it_was_first_asked(index: Indexes) -> None:
    narrow = where(AnyOf("in", frozenset({"yes"})))
    index.write(SCOPE, puts=[a_point(1, words="tide", labels=["in=no"])])
    assert index.found("tide", narrow) == ([], [])
    index.write(SCOPE, puts=[a_point(2, words="tide", labels=["in=yes"])], position=2)
    assert index.found("tide", narrow) == ([an_id(2)], [an_id(2)])


def test_writing_twice_is_writing_once(index: Indexes) -> None:
    for _ in range(2):
        index.write(SCOPE, puts=[a_point(1, words="ebb"), a_point(2, words="ebb")], drops=[an_id(3)], position=4)
    assert list(map(len, index.found("ebb", where()))) == [2, 2]


def test_a_term_counts_as_often_as_the_query_has_it(index: Indexes) -> None:
    points = [a_point("tide", words="tide gauge harbor"), a_point("ebb", words="ebb gauge harbor")]
    index.write(SCOPE, puts=[*points, *(a_point(n, words="harbor wall light") for n in range(5))])
    (tide, _) = index.matching(["tide", "ebb", "tide"], where=where(), limit=5)
    (once,) = index.matching(["tide"], where=where(), limit=5)
    assert tide.id == an_id("tide")
    assert tide.score == pytest.approx(2 * once.score, rel=1e-3)


def test_a_new_generation_is_seen_when_it_is_activated_and_replaces_the_others(index: Indexes) -> None:
    for scope in (SCOPE, OTHER):
        index.write(scope, puts=[a_point(1, words="ebb")], position=3)
    for position, name in ((1, 2), (2, 3)):
        for part in (index.vectors, index.texts):
            part.write(SCOPE, 2, IndexBatch([a_point(name, words="ebb")], (), position))
        assert index.found("ebb", where()) == ([an_id(1)], [an_id(1)])
    for part in (index.vectors, index.texts):
        part.activate(SCOPE, 2)
    expected = {an_id(2), an_id(3)}
    assert [set(ids) for ids in index.found("ebb", where())] == [expected, expected]
    assert states(index, SCOPE) == {ProjectionState(2, 2)}
    assert states(index, OTHER) == {ProjectionState(1, 3)}


def test_activating_a_generation_twice_is_activating_it_once(index: Indexes) -> None:
    for _ in range(2):
        index.write(SCOPE, puts=[a_point(1, words="ebb")], position=3)
        index.vectors.activate(SCOPE, 1)
        index.texts.activate(SCOPE, 1)
    assert index.found("ebb", where()) == ([an_id(1)], [an_id(1)])


def test_a_generation_without_any_writes_is_empty(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(1, words="ebb")], position=3)
    for part in (index.vectors, index.texts):
        part.activate(SCOPE, 2)
    assert index.found("ebb", where()) == ([], [])
    index.write(SCOPE, puts=[a_point(1, words="ebb")], position=4, generation=2)
    assert index.found("ebb", where()) == ([an_id(1)], [an_id(1)])


def test_a_generation_that_is_dropped_leaves_nothing_to_the_next_of_its_number(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(1, words="ebb")])
    for part in (index.vectors, index.texts):
        part.write(SCOPE, 2, IndexBatch([a_point(2, words="ebb")], (), 5))
        part.drop(SCOPE, 2)
    assert len(index.nearest(a_vector(1), where=where(), limit=5)) == 1
    index.write(SCOPE, puts=[a_point(3, words="ebb")], generation=2)
    assert index.found("ebb", where()) == ([an_id(3)], [an_id(3)])


def test_a_scope_that_is_dropped_is_unknown_again(index: Indexes) -> None:
    index.write(SCOPE, puts=[a_point(1, words="ebb")])
    index.write(OTHER, puts=[a_point(1, words="ebb")])
    index.vectors.drop(SCOPE)
    index.texts.drop(SCOPE)
    assert index.found("ebb", where()) == ([], [])
    assert states(index, SCOPE) == {None}
    assert len(index.nearest(a_vector(1), where=where(scope=OTHER), limit=5)) == 1


def test_the_two_indexes_are_recorded_under_two_names(index: Indexes) -> None:
    assert index.vectors.name != index.texts.name
    assert min(index.vectors.size_bytes(), index.texts.size_bytes()) >= 0


def states(index: Indexes, scope: Scope) -> set[ProjectionState | None]:
    assert isinstance(index.vectors, KeepsPosition)
    assert isinstance(index.texts, KeepsPosition)
    return {index.vectors.state(scope), index.texts.state(scope)}


@pytest.mark.parametrize("index", LOCAL, indirect=True)  # the others are the oracle, or give what it gives
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.001])
def test_recall_at_60_is_at_least_95_percent_at_every_selectivity(index: Indexes, share: float) -> None:
    draw = random.Random(5)
    centers = [[draw.gauss(0, 1) for _ in range(DIMENSIONS)] for _ in range(20)]
    points = []
    for n in range(4000):
        center = draw.choice(centers)
        vector = unit_vector(value + draw.gauss(0, 0.6) for value in center)
        points.append(a_point(n, vector=vector, labels=["in=yes"] if n < 4000 * share else []))
    index.write(SCOPE, puts=points)
    oracle = Indexes.plain()
    oracle.write(SCOPE, puts=points)
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


DAMAGES = ["vectors/**/*.rows", "texts/**/*.idx", "vectors/**/manifest", "texts/**/manifest", "texts/**/meta.json"]


@pytest.mark.parametrize("pattern", DAMAGES)
def test_a_damaged_local_index_raises_instead_of_finding_nothing(tmp_path: Path, pattern: str) -> None:
    Indexes.local(tmp_path).write(SCOPE, puts=[a_point(n, words="ebb") for n in range(9)])
    (file, *_) = tmp_path.glob(pattern)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.unlink()
    file.write_bytes(data)
    index = Indexes.local(tmp_path)
    with pytest.raises(Unavailable, match="of acme/handbook is damaged"):
        _ = (
            index.nearest(a_vector(1), where=where(), limit=5)
            if pattern.startswith("v")
            else index.matching(["ebb"], where=where(), limit=5)
        )
    assert None in states(index, SCOPE)
    other = index.vectors if pattern.startswith("t") else index.texts
    assert isinstance(other, KeepsPosition)
    assert other.state(SCOPE) == ProjectionState(1, 1)  # each is rebuilt without the other


def test_a_local_index_with_another_count_in_its_head_is_damaged(tmp_path: Path) -> None:
    Indexes.local(tmp_path).write(SCOPE, puts=[a_point(n, words="ebb") for n in range(9)])
    (head,) = tmp_path.glob("texts/**/meta.json")
    text = head.read_text("utf-8")
    head.write_text(text.replace('"max_doc": 9', '"max_doc": 8'), "utf-8")
    assert head.read_text("utf-8") != text
    with pytest.raises(Unavailable, match="of acme/handbook is damaged"):
        Indexes.local(tmp_path).matching(["ebb"], where=where(), limit=9)


def test_a_commit_that_no_manifest_names_yet_is_no_damage(tmp_path: Path) -> None:
    index = Indexes.local(tmp_path)
    index.write(SCOPE, puts=[a_point(n, words="ebb") for n in range(9)])
    (manifest,) = tmp_path.glob("texts/**/manifest")
    before = manifest.read_bytes()
    index.write(SCOPE, puts=[a_point(9, words="ebb")], position=2)
    manifest.write_bytes(before)  # as if the writer had been killed before it wrote this
    assert len(Indexes.local(tmp_path).matching(["ebb"], where=where(), limit=20)) == 10


VOCABULARY = [f"w{n}" for n in range(60)]


def pages(draw: random.Random, names: range, *, longest: int) -> dict[ChunkId, Point]:
    """Points of drawn words and code."""
    texts = [[" ".join(draw.choices(VOCABULARY, k=draw.randrange(1, longest))) for _ in range(2)] for _ in names]
    return {
        an_id(name): a_point(name, words=words, code=code) for name, (words, code) in zip(names, texts, strict=True)
    }


def test_what_was_deleted_or_replaced_counts_for_no_score(index: Indexes) -> None:
    draw = random.Random(4)
    held = pages(draw, range(300), longest=200)
    index.write(SCOPE, puts=list(held.values()))
    for position in range(2, 16):  # enough for an engine that merges what was written
        puts = pages(draw, range(10 * position, 10 * position + 12), longest=60)
        drops = [an_id(name) for name in range(10 * position + 100, 10 * position + 105)]
        index.write(SCOPE, puts=list(puts.values()), drops=drops, position=position)
        held = {id_: point for id_, point in held.items() if id_ not in drops} | puts
    index.write(OTHER, puts=list(held.values()))
    nearest = [index.nearest(a_vector("q"), where=where(scope=scope), limit=400) for scope in (SCOPE, OTHER)]
    assert nearest[0] == nearest[1]
    for field in TERM_FIELDS:
        for asked in (["w1"], ["w2", "w3", "w2"], VOCABULARY[5:15]):
            edited = index.matching(asked, field=field, where=where(), limit=400)
            fresh = index.matching(asked, field=field, where=where(scope=OTHER), limit=400)
            assert [hit.id for hit in edited] == [hit.id for hit in fresh]
            assert [hit.score for hit in edited] == pytest.approx([hit.score for hit in fresh], rel=1e-5)


def test_the_text_of_another_scope_counts_for_no_score(index: Indexes) -> None:
    points = [a_point(n, words="tide gauge" if n % 3 else "gauge harbor wall") for n in range(30)]
    index.write(SCOPE, puts=points)
    before = index.matching(["tide", "harbor"], where=where(), limit=40)
    index.write(OTHER, puts=[a_point(n, words="harbor " * 20) for n in range(100, 200)])
    assert index.matching(["tide", "harbor"], where=where(), limit=40) == before
