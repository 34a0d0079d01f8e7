"""Signs first, then bytes: what a large collection finds against what a look at every byte does."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from citewise.adapters.local_index.scan import Admitted, Scan
from citewise.adapters.local_index.segments import Floats, Keys, Quantizer, Rows, Segment
from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.model.chunk import Point, Vector
from citewise.model.filters import AnyOf, Where
from citewise.model.ids import ChunkId
from citewise.ports.indexes import IndexBatch
from tests.builders import SCOPE, a_point, an_id
from tests.stores import Indexes

DIMENSIONS = 384
ROWS = 15_000
QUANTIZER = Quantizer(DIMENSIONS)
EVERYTHING = Admitted(ROWS, None)


@pytest.fixture(scope="module")
def vectors() -> Floats:
    """Forty topics of as many pages, all drawn: neighbors are hard to tell apart."""
    draw = np.random.default_rng(3)
    topics = draw.standard_normal((40, DIMENSIONS), dtype=np.float32)
    drawn = topics[np.arange(ROWS) % 40] + draw.standard_normal((ROWS, DIMENSIONS), dtype=np.float32)
    unit: Floats = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def segments(vectors: Floats, tmp_path_factory: pytest.TempPathFactory) -> Sequence[Segment]:
    folder: Path = tmp_path_factory.mktemp("segments")
    made = []
    for number, part in enumerate(np.split(vectors, [7_000, 7_001, 12_000])):
        file = folder / f"{number}.rows"
        codes, remainders = QUANTIZER.codes([Vector(row.tobytes()) for row in part])
        Rows(np.arange(len(part), dtype=np.uint64), codes, remainders, {}, {}).write(file)
        made.append(Segment(file))
    return made


def admitted(one_in: int) -> Admitted:
    bits = np.arange(ROWS) % one_in == 0
    return Admitted(int(bits.sum()), np.packbits(bits, bitorder="little"))


def best(scan: Scan, vector: Floats, which: Admitted, wanted: int = 60) -> dict[int, float]:
    """Rows and their cosines, best first."""
    rows, cosines = scan.nearest(Vector(vector.tobytes()), which, min(wanted, which.count))
    ordered = sorted(zip(rows.tolist(), cosines, strict=True), key=lambda pair: -pair[1])
    return dict(ordered[:wanted])


@pytest.mark.parametrize("which", [EVERYTHING, admitted(2), admitted(10), admitted(100), admitted(1000)])
def test_signs_first_finds_nearly_all_of_the_exact_best(
    which: Admitted, vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.scan.COMPARED", 1_000)  # rows of 15,000
    monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 300)
    scan, rows = Scan(segments, DIMENSIONS, by_signs=True), np.arange(ROWS)[which.holds(np.arange(ROWS))]
    found = expected = 0
    for vector in vectors[::500]:
        exact = set(rows[np.argsort(-(vectors[rows] @ vector))[:60]].tolist())
        found += len(exact & best(scan, vector, which).keys())
        expected += len(exact)
    assert found / expected >= 0.98


@pytest.mark.parametrize(("by_signs", "error"), [(False, 0.003), (True, 0.0002)])  # a byte a component, or 12 bits
def test_hits_are_the_nearest_with_their_cosines_but_for_rounding(
    by_signs: bool, error: float, vectors: Floats, segments: Sequence[Segment]
) -> None:
    which, query = admitted(10), vectors[11]
    found = best(Scan(segments, DIMENSIONS, by_signs=by_signs), query, which)
    cosines = vectors @ query
    assert [cosines[row] for row in found] == pytest.approx(list(found.values()), abs=error)
    assert min(cosines[row] for row in found) >= sorted(cosines[which.rows])[-60] - 2 * error


def test_signs_of_dimensions_that_fill_no_byte_are_compared_too(tmp_path: Path) -> None:
    drawn = np.random.default_rng(1).standard_normal((5_000, 21), dtype=np.float32)
    points = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    codes, remainders = Quantizer(21).codes([Vector(row.tobytes()) for row in points])
    Rows(np.arange(len(points), dtype=np.uint64), codes, remainders, {}, {}).write(tmp_path / "1.rows")
    found = best(Scan([Segment(tmp_path / "1.rows")], 21, by_signs=True), points[7], Admitted(len(points), None), 1)
    assert found == {7: pytest.approx(1.0, abs=0.01)}


def test_nothing_is_found_that_was_not_admitted(
    vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 0)  # so that the signs decide
    scan = Scan(segments, DIMENSIONS, by_signs=True)
    for one_in in (2, 3, 300):
        found = best(scan, vectors[1], admitted(one_in), 30)
        assert len(found) == 30
        assert not any(row % one_in for row in found)


@pytest.mark.parametrize(
    ("changes", "by_signs"),
    [({}, False), ({"SIGNS_FROM": ROWS - 1}, True), ({"SIGNS_FROM": 0, "MIN_DIMENSIONS": DIMENSIONS + 1}, False)],
)
def test_only_what_is_large_is_looked_through_by_signs(
    changes: dict[str, int],
    by_signs: bool,
    vectors: Floats,
    segments: Sequence[Segment],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in changes.items():
        monkeypatch.setattr(f"citewise.adapters.local_index.scan.{name}", value)
    chosen, forced = Scan(segments, DIMENSIONS), Scan(segments, DIMENSIONS, by_signs=by_signs)
    assert best(chosen, vectors[5], EVERYTHING) == best(forced, vectors[5], EVERYTHING)
    assert best(chosen, vectors[5], EVERYTHING) != best(
        Scan(segments, DIMENSIONS, by_signs=not by_signs), vectors[5], EVERYTHING
    )


def test_whoever_may_read_the_folder_may_read_every_file_in_it(tmp_path: Path) -> None:
    index = LocalTextIndex(tmp_path)
    folder = tmp_path / SCOPE.tenant / SCOPE.project / "1"
    folder.mkdir(parents=True, mode=0o750)
    for number in range(2):
        index.write(SCOPE, 1, IndexBatch([a_point(number, words="tide")], (), number))
    assert {file.name: oct(file.stat().st_mode & 0o040) for file in folder.iterdir() if file.suffix == ".json"} == {
        "meta.json": "0o40",
        ".managed.json": "0o40",
    }


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every index counts as a large one."""
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)


class Bitmaps(LocalVectorIndex):
    """A vector index that is asked for nothing but what a filter admits."""

    def __init__(self, known: Sequence[ChunkId] | None) -> None:
        self._known = known

    def admits(self, keys: Keys, *, where: Where, position: int) -> npt.NDArray[np.bool_] | None:
        return None if self._known is None else np.isin(keys, Rows.keys_of(self._known))


@pytest.mark.usefixtures("large")
def test_chunks_that_the_bitmaps_do_not_know_yet_make_the_filter_go_inside_the_search(tmp_path: Path) -> None:
    puts = [a_point(n, words="tide", labels=["in=yes" if n > 2 else "in=no"]) for n in range(10)]
    found = found_by_texts(tmp_path, puts, bitmaps=Bitmaps(None), limit=5)
    assert len(found) == 5
    assert found <= {an_id(n) for n in range(3, 10)}


@pytest.mark.usefixtures("large")
def test_in_a_large_index_the_bitmaps_decide_what_most_readers_may_see(tmp_path: Path) -> None:
    puts = [a_point(n, words="tide", labels=["in=yes"]) for n in range(10)]
    known = [an_id(n) for n in range(3)]
    assert found_by_texts(tmp_path, puts, bitmaps=Bitmaps(known), limit=10) == set(known)


@pytest.mark.usefixtures("large")
def test_bitmaps_of_another_position_are_not_used(tmp_path: Path) -> None:
    vectors = LocalVectorIndex(tmp_path / "vectors", dimensions=32)
    texts = LocalTextIndex(tmp_path / "texts", vectors=vectors)
    index = Indexes(vectors, texts)
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=yes"]) for n in range(10)])
    texts.write(SCOPE, 1, IndexBatch([a_point(n, words="tide", labels=["in=no"]) for n in range(5)], (), 2))
    narrow = Where(SCOPE, None, (AnyOf("in", frozenset({"yes"})),))
    assert {hit.id for hit in index.matching(["tide"], where=narrow, limit=9)} == {an_id(n) for n in range(5, 10)}


@pytest.mark.usefixtures("large")
def test_in_a_large_index_terms_that_are_nearly_everywhere_count_only_if_the_others_find_too_little(
    tmp_path: Path,
) -> None:
    index = Indexes.local(tmp_path)
    index.write(SCOPE, puts=[a_point(n, words="tide ebb" if n < 30 else "tide") for n in range(100)])
    everything = Where(SCOPE, None)
    few = index.matching(["the", "tide", "ebb"], where=everything, limit=10)
    assert few == index.matching(["ebb"], where=everything, limit=10)
    assert len(index.matching(["tide", "ebb"], where=everything, limit=50)) == 50
    assert len(index.matching(["tide"], where=everything, limit=10)) == 10


def found_by_texts(folder: Path, puts: list[Point], *, bitmaps: Bitmaps, limit: int) -> set[ChunkId]:
    texts = LocalTextIndex(folder, vectors=bitmaps)
    texts.write(SCOPE, 1, IndexBatch(puts, (), 1))
    texts.activate(SCOPE, 1)
    narrow = Where(SCOPE, None, (AnyOf("in", frozenset({"yes"})),))
    return {hit.id for hit in texts.search(["tide"], field="words", where=narrow, limit=limit)}


def test_deletions_that_no_commit_names_do_not_stop_the_next_writer(tmp_path: Path) -> None:
    index = LocalTextIndex(tmp_path / "index")
    index.write(SCOPE, 1, IndexBatch(puts=[a_point(n, words="tide") for n in range(3)], drops=(), position=3))
    index.activate(SCOPE, 1)
    removal = IndexBatch(puts=(), drops=[an_id(1)], position=4)
    shutil.copytree(tmp_path / "index", tmp_path / "killed")
    LocalTextIndex(tmp_path / "killed").write(SCOPE, 1, removal)
    left = [file for file in (tmp_path / "killed").rglob("*.del")]
    assert left
    for file in left:  # all that the killed writer had done
        shutil.copy(file, tmp_path / "index" / file.relative_to(tmp_path / "killed"))
    index.write(SCOPE, 1, removal)
    hits = index.search(["tide"], field="words", where=Where(SCOPE, None), limit=9)
    assert {hit.id for hit in hits} == {an_id(0), an_id(2)}
