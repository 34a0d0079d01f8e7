"""Signs first, then bytes: what a large collection finds against what a look at every byte does."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from citewise.adapters.local_index.scan import Admitted, SignsFirst, Whole, scan_of
from citewise.adapters.local_index.segments import Floats, Keys, Quantizer, Rows, Segment, keys_of
from citewise.adapters.local_index.texts import LocalTextIndex
from citewise.adapters.local_index.vectors import LocalVectorIndex
from citewise.model.chunk import Point, Vector
from citewise.model.filters import AnyOf, Where
from citewise.model.ids import ChunkId
from citewise.ports.indexes import IndexBatch
from tests.builders import SCOPE, a_point, an_id
from tests.indexes import Indexes

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


@pytest.mark.parametrize("which", [EVERYTHING, admitted(2), admitted(10), admitted(100), admitted(1000)])
def test_signs_first_finds_nearly_all_of_the_exact_best(
    which: Admitted, vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.scan.COMPARED", 1_000)  # rows of 15,000
    monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 300)
    whole, signs = Whole(segments, DIMENSIONS), SignsFirst(segments, DIMENSIONS)
    found = expected = 0
    for row in range(0, ROWS, 500):
        query = QUANTIZER.query(Vector(vectors[row].tobytes()))[0]
        exact = set(whole.best(query, which, min(60, which.count))[1][:60].tolist())
        found += len(exact & set(signs.best(query, which, min(60, which.count))[1][:60].tolist()))
        expected += len(exact)
    assert found / expected >= 0.98


def test_both_ways_give_the_same_scores_in_the_same_order(vectors: Floats, segments: Sequence[Segment]) -> None:
    query = QUANTIZER.query(Vector(vectors[11].tobytes()))[0]
    which = admitted(10)
    exact_scores, exact_rows = Whole(segments, DIMENSIONS).best(query, which, 60)
    scores, rows = SignsFirst(segments, DIMENSIONS).best(query, which, 60)
    assert scores.tolist() == exact_scores.tolist()
    assert rows.tolist() == exact_rows.tolist()


def test_nothing_is_found_that_was_not_admitted(
    vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.scan.EXACT_FROM_FILES", 0)  # so that the signs decide
    scan = SignsFirst(segments, DIMENSIONS)
    for one_in in (2, 3, 300):
        _, rows = scan.best(QUANTIZER.query(Vector(vectors[1].tobytes()))[0], admitted(one_in), 30)
        assert len(rows) >= 30
        assert not (rows % one_in).any()


def test_a_bit_says_whether_a_component_is_at_or_above_zero() -> None:
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 256, (5_000, 20), dtype=np.uint8)
    signs = np.unpackbits(SignsFirst.signs_of(codes), axis=1)
    assert (signs[:, :20] == (codes >= 128)).all()
    assert not signs[:, 20:].any()


def test_only_what_is_large_is_looked_through_by_signs(
    segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(scan_of(segments, DIMENSIONS), Whole)
    monkeypatch.setattr("citewise.adapters.local_index.scan.SIGNS_FROM", ROWS - 1)
    assert isinstance(scan_of(segments, DIMENSIONS), SignsFirst)
    monkeypatch.setattr("citewise.adapters.local_index.scan.MIN_DIMENSIONS", DIMENSIONS + 1)
    assert isinstance(scan_of(segments, DIMENSIONS), Whole)


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


class Bitmaps(LocalVectorIndex):
    """A vector index that is asked for nothing but what a filter admits."""

    def __init__(self, known: Sequence[ChunkId] | None) -> None:
        self._known = known

    def admits(self, keys: Keys, *, where: Where, position: int) -> npt.NDArray[np.bool_] | None:
        return None if self._known is None else np.isin(keys, keys_of(self._known))


def test_chunks_that_the_bitmaps_do_not_know_yet_make_the_filter_go_inside_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    puts = [a_point(n, words="tide", labels=["in=yes" if n > 2 else "in=no"]) for n in range(10)]
    found = found_by_texts(tmp_path, puts, bitmaps=Bitmaps(None), limit=5)
    assert len(found) == 5
    assert found <= {an_id(n) for n in range(3, 10)}


def test_in_a_large_index_the_bitmaps_decide_what_most_readers_may_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    puts = [a_point(n, words="tide", labels=["in=yes"]) for n in range(10)]
    known = [an_id(n) for n in range(3)]
    assert found_by_texts(tmp_path, puts, bitmaps=Bitmaps(known), limit=10) == set(known)


def test_bitmaps_of_another_position_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
    vectors = LocalVectorIndex(tmp_path / "vectors", dimensions=32)
    texts = LocalTextIndex(tmp_path / "texts", vectors=vectors)
    index = Indexes(vectors, texts)
    index.write(SCOPE, puts=[a_point(n, words="tide", labels=["in=yes"]) for n in range(10)])
    texts.write(SCOPE, 1, IndexBatch([a_point(n, words="tide", labels=["in=no"]) for n in range(5)], (), 2))
    narrow = Where(SCOPE, None, (AnyOf("in", frozenset({"yes"})),))
    assert {hit.id for hit in index.matching(["tide"], where=narrow, limit=9)} == {an_id(n) for n in range(5, 10)}


def test_in_a_large_index_terms_that_are_nearly_everywhere_count_only_if_the_others_find_too_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.texts.LARGE", 0)
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
