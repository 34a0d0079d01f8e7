"""Signs first, then bytes: what a large collection finds against what a look at every byte does."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from citewise.adapters.local_index.files import Rows, Segment, write_segment
from citewise.adapters.local_index.quantize import Floats, Quantizer
from citewise.adapters.local_index.vectors import Admitted, SignsFirst, Whole, id_to_key, scan_of, signs_of
from citewise.adapters.local_index.words import WordIndex
from citewise.model.chunk import TermField
from citewise.model.filters import AnyOf
from tests.builders import a_point, an_id

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
        write_segment(file, Rows(np.arange(len(part), dtype=np.uint64), QUANTIZER.codes(part), {}, {}))
        made.append(Segment(file))
    return made


def admitted(one_in: int) -> Admitted:
    bits = np.arange(ROWS) % one_in == 0
    return Admitted(int(bits.sum()), np.packbits(bits, bitorder="little"))


@pytest.mark.parametrize("which", [EVERYTHING, admitted(2), admitted(10), admitted(100), admitted(1000)])
def test_signs_first_finds_nearly_all_of_the_exact_best(
    which: Admitted, vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.vectors.COMPARED", 1_000)  # rows of 15,000
    monkeypatch.setattr("citewise.adapters.local_index.vectors.EXACT_FROM_FILES", 300)
    whole, signs = Whole(segments, DIMENSIONS), SignsFirst(segments, DIMENSIONS)
    found = expected = 0
    for row in range(0, ROWS, 500):
        query = QUANTIZER.query(vectors[row].tobytes())
        exact = set(whole.best(query, which, min(60, which.count))[1][:60].tolist())
        found += len(exact & set(signs.best(query, which, min(60, which.count))[1][:60].tolist()))
        expected += len(exact)
    assert found / expected >= 0.98


def test_both_ways_give_the_same_scores_in_the_same_order(vectors: Floats, segments: Sequence[Segment]) -> None:
    query = QUANTIZER.query(vectors[11].tobytes())
    which = admitted(10)
    exact_scores, exact_rows = Whole(segments, DIMENSIONS).best(query, which, 60)
    scores, rows = SignsFirst(segments, DIMENSIONS).best(query, which, 60)
    assert scores.tolist() == exact_scores.tolist()
    assert rows.tolist() == exact_rows.tolist()


def test_nothing_is_found_that_was_not_admitted(
    vectors: Floats, segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.vectors.EXACT_FROM_FILES", 0)  # so that the signs decide
    scan = SignsFirst(segments, DIMENSIONS)
    for one_in in (2, 3, 300):
        _, rows = scan.best(QUANTIZER.query(vectors[1].tobytes()), admitted(one_in), 30)
        assert len(rows) >= 30
        assert not (rows % one_in).any()


def test_a_bit_says_whether_a_component_is_at_or_above_zero() -> None:
    draw = np.random.default_rng(1)
    codes = draw.integers(0, 256, (5_000, 20), dtype=np.uint8)
    signs = np.unpackbits(signs_of(codes), axis=1)
    assert (signs[:, :20] == (codes >= 128)).all()
    assert not signs[:, 20:].any()


def test_only_what_is_large_is_looked_through_by_signs(
    segments: Sequence[Segment], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(scan_of(segments, DIMENSIONS), Whole)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.SIGNS_FROM", ROWS - 1)
    assert isinstance(scan_of(segments, DIMENSIONS), SignsFirst)
    monkeypatch.setattr("citewise.adapters.local_index.vectors.MIN_DIMENSIONS", DIMENSIONS + 1)
    assert isinstance(scan_of(segments, DIMENSIONS), Whole)


def test_whoever_may_read_the_folder_may_read_every_file_in_it(tmp_path: Path) -> None:
    folder = tmp_path / "words"
    folder.mkdir(mode=0o750)
    words = WordIndex(folder)
    for number in range(2):
        words.write([a_point(number, words="tide")], ())
    assert {file.name: oct(file.stat().st_mode & 0o040) for file in folder.iterdir() if file.suffix == ".json"} == {
        "meta.json": "0o40",
        ".managed.json": "0o40",
    }


def test_chunks_that_the_bitmaps_do_not_know_yet_make_the_filter_go_inside_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.vectors.LARGE", 0)
    words = WordIndex(tmp_path)
    words.write([a_point(n, words="tide", labels=["in=yes" if n > 2 else "in=no"]) for n in range(10)], ())
    narrow = (AnyOf("in", frozenset({"yes"})),)
    found = words.matching(["tide"], TermField.WORDS, narrow, 5, admits=lambda keys: None)
    assert len(found) == 5
    assert {hit.id for hit in found} <= {an_id(n) for n in range(3, 10)}


def test_in_a_large_index_the_bitmaps_decide_what_most_readers_may_see(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("citewise.adapters.local_index.vectors.LARGE", 0)
    words = WordIndex(tmp_path)
    words.write([a_point(n, words="tide", labels=["in=yes"]) for n in range(10)], ())
    known = np.array([id_to_key(an_id(n)) for n in range(3)], dtype=np.uint64)
    narrow = (AnyOf("in", frozenset({"yes"})),)
    found = words.matching(["tide"], TermField.WORDS, narrow, 10, admits=lambda keys: np.isin(keys, known))
    assert {hit.id for hit in found} == {an_id(n) for n in range(3)}
