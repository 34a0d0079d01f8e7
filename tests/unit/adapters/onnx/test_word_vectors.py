"""Vectors of words, packed into a few bits: how much of them is left, and how near a question is to them."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from citewise.adapters.onnx.word_vectors import LENGTH_BONUS, UNPACKED, closenesses, packed, paired, part_closenesses
from citewise.adapters.rotation import rotated
from citewise.errors import BadData
from citewise.model.chunk import WordVectors

Floats = npt.NDArray[np.float32]

DIMENSIONS = 384
WIDTH = DIMENSIONS // 4  # bytes of a row
ROUNDING = 1e-6  # what a product of matrices owes to the shape of its neighbors


def some_words(seed: int, count: int, dimensions: int = DIMENSIONS) -> Floats:
    """Words that mean this and that: no two are near each other."""
    return np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)


seeds = st.integers(0, 2**32 - 1)
texts = st.builds(some_words, seeds, st.integers(1, 24))
longer_texts = st.builds(some_words, seeds, st.integers(1, 120))  # of several blocks of a product, and a rest
a_few = settings(max_examples=25, deadline=None)  # numpy's threads may have to wait for a core


def unit(vectors: Floats) -> Floats:
    scaled: Floats = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def unpacked(text: WordVectors, dimensions: int = DIMENSIONS) -> Floats:
    """The rows as they are compared: turned, and at unit length."""
    return unit(UNPACKED[np.frombuffer(text, np.uint8)].reshape(-1, dimensions))


def components(text: WordVectors) -> npt.NDArray[np.int64]:
    """The two bits of each."""
    found: npt.NDArray[np.int64] = (np.frombuffer(text, np.uint8)[:, None] >> np.array([6, 4, 2, 0])) & 3
    return found


def close(question: Floats, texts: Sequence[WordVectors]) -> tuple[float, ...]:
    """Where each word of the question counts the same."""
    return closenesses(question, np.ones(len(question), np.float32), texts)


def stored(*words: Floats) -> list[WordVectors]:
    return packed([paired(each) for each in words])


@a_few
@given(seeds, st.integers(1, 24), st.sampled_from([32, 384, 768]))
@example(0, 1, DIMENSIONS)
def test_two_words_are_one_row_of_two_bits_a_component_whatever_the_model(
    seed: int, words: int, dimensions: int
) -> None:
    (text,) = stored(some_words(seed, words, dimensions))
    assert len(text) == math.ceil(words / 2) * dimensions / 4


@a_few
@given(texts)
def test_a_pair_is_the_mean_of_two_neighbors_and_a_last_word_alone_is_itself(words: Floats) -> None:
    pairs, whole = paired(words), words / np.linalg.norm(words, axis=1, keepdims=True)
    for at, pair in enumerate(pairs):
        mean = whole[2 * at : 2 * at + 2].mean(axis=0)
        assert pair == pytest.approx(mean / np.linalg.norm(mean), abs=1e-5)
    assert len(pairs) == math.ceil(len(words) / 2)


def test_pairing_leaves_the_words_as_they_were() -> None:
    words = some_words(1, 5)
    before = words.copy()
    paired(words)
    assert np.array_equal(words, before)


@a_few
@given(texts)
def test_what_comes_out_is_nearly_what_went_in(words: Floats) -> None:
    (text,) = stored(words)
    cosines = (unpacked(text) * rotated(paired(words))).sum(axis=1)
    assert cosines.min() > 0.9  # 0.94 for normally distributed components, the best that two bits can do


@pytest.mark.parametrize("axis", [0, 127, 128, 200, 255, 256, 383])
def test_a_word_with_all_its_length_in_one_component_comes_out_too(axis: int) -> None:
    word = np.eye(DIMENSIONS, dtype=np.float32)[axis : axis + 1]
    (text,) = stored(word)
    assert (unpacked(text) @ rotated(word).T).item() > 0.8


@a_few
@given(st.lists(texts, min_size=1, max_size=6))
def test_many_texts_at_once_are_each_what_they_are_alone(many: list[Floats]) -> None:
    for together, single in zip(stored(*many), (stored(each)[0] for each in many), strict=True):
        assert len(together) == len(single)
        # A component that lies within rounding of a step may fall on either side of it.
        assert np.mean(components(together) != components(single)) < 0.001
        assert np.abs(components(together) - components(single)).max() <= 1


@a_few
@given(st.lists(texts, min_size=1, max_size=6), texts)
def test_closeness_does_not_depend_on_the_neighbors_or_their_order(many: list[Floats], question: Floats) -> None:
    texts = stored(*many)
    together = close(question, texts)
    assert together == pytest.approx([close(question, [each])[0] for each in texts], abs=ROUNDING)
    assert close(question, texts[::-1]) == pytest.approx(together[::-1], abs=ROUNDING)


@a_few
@given(longer_texts, longer_texts)
def test_closeness_is_the_mean_of_what_each_word_finds_nearest(question: Floats, words: Floats) -> None:
    (text,) = stored(words)
    rows = UNPACKED[np.frombuffer(text, np.uint8)].reshape(-1, DIMENSIONS) / np.sqrt(DIMENSIONS)
    asked = rotated(unit(question))
    nearest = float((rows @ asked.T).max(axis=0).mean())
    assert close(question, [text]) == pytest.approx((nearest - LENGTH_BONUS * math.log(len(rows)),), abs=1e-5)


@a_few
@given(seeds, st.integers(1, 30))
def test_a_text_that_only_says_more_is_no_farther_than_its_length_makes_it(seed: int, more: int) -> None:
    question, words = some_words(seed, 5), some_words(seed + 1, 10)
    shorter, longer = stored(words, np.concatenate([words, some_words(seed + 2, more)]))
    near, nearer = close(question, [shorter, longer])
    length = LENGTH_BONUS * math.log(len(longer) / len(shorter))
    assert nearer >= near - length - 0.01  # a component on the edge of a step weighs less than this


@a_few
@given(seeds, st.integers(2, 12))
def test_a_word_that_weighs_nothing_might_as_well_not_be_asked(seed: int, words: int) -> None:
    question, texts = some_words(seed, words), stored(some_words(seed + 1, 9))
    weights = np.ones(words, np.float32)
    weights[-1] = 0
    assert closenesses(question, weights, texts) == pytest.approx(close(question[:-1], texts), abs=ROUNDING)
    assert closenesses(question, 3 * weights, texts) == pytest.approx(close(question[:-1], texts), abs=ROUNDING)


# Parts of texts


splits = st.lists(st.integers(0, 14), min_size=1, max_size=6).map(sorted)


@a_few
@given(st.lists(st.tuples(texts, splits), min_size=1, max_size=4), texts)
def test_a_part_is_as_near_as_its_rows_and_those_of_the_headings_alone(
    many: list[tuple[Floats, list[int]]], question: Floats
) -> None:
    weights = np.ones(len(question), np.float32)
    parts = [(text, [0, *starts]) for text, (_, starts) in zip(stored(*(each for each, _ in many)), many, strict=True)]
    for (text, starts), found in zip(parts, part_closenesses(question, weights, parts), strict=True):
        rows = [text[at : at + WIDTH] for at in range(0, len(text), WIDTH)]
        ends = [*starts, len(rows)]
        headings = rows[: ends[1]]
        for at, near in enumerate(found, start=1):
            own = headings + rows[ends[at] : ends[at + 1]]
            if own:
                assert near == pytest.approx(close(question, [WordVectors(b"".join(own))])[0], abs=ROUNDING)


def test_a_part_without_a_row_is_no_nearer_than_the_headings_or_than_any_other_part() -> None:
    question, weights, (text,) = some_words(1, 4), np.ones(4, np.float32), stored(some_words(2, 12))
    ((_, behind),) = part_closenesses(question, weights, [(text, [0, 2, 9])])
    assert behind == pytest.approx(close(question, [WordVectors(text[: 2 * WIDTH])])[0], abs=ROUNDING)
    ((first, between, last),) = part_closenesses(question, weights, [(text, [0, 0, 3, 3])])
    assert between <= min(first, last) + LENGTH_BONUS * math.log(3)  # they have three rows each


def test_no_texts_and_no_parts_have_no_closeness() -> None:
    question, weights, (text,) = some_words(1, 4), np.ones(4, np.float32), stored(some_words(2, 12))
    assert part_closenesses(question, weights, []) == ()
    assert part_closenesses(question, weights, [(text, [0])]) == ((),)


def test_no_texts_are_packed_into_nothing_and_have_no_closeness() -> None:
    assert packed([]) == []
    assert close(some_words(0, 3), []) == ()


@pytest.mark.parametrize(
    "wrong",
    [b"", b"x", b"x" * (WIDTH - 1), b"x" * (WIDTH + 1), b"x" * 8, b"x" * (2 * WIDTH + 32)],
    ids=["empty", "one byte", "cut short", "a byte too many", "of a smaller model", "a row and something"],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_is_not_whole_rows_of_the_model_is_bad_data_wherever_it_stands(wrong: bytes, place: int) -> None:
    texts = stored(some_words(1, 4), some_words(2, 7))
    texts.insert(place, WordVectors(wrong))
    with pytest.raises(BadData, match=r"do not fit this model: .*`citewise reindex`.* `citewise compact`"):
        close(some_words(0, 3), texts)


def test_a_row_too_few_in_one_and_too_many_in_another_do_not_make_up_for_each_other() -> None:
    first, other = WordVectors(bytes(WIDTH - 1)), WordVectors(bytes(WIDTH + 1))
    with pytest.raises(BadData):
        close(some_words(0, 3), [first, other])
