"""What late interaction is worth: token vectors kept in several forms, MaxSim by hand, weights chosen without a set."""

import argparse
from pathlib import Path

import numpy as np
import pytest
from benchmarks.lab_late import (
    FORMS,
    Flags,
    Form,
    Halves,
    Scored,
    TokenEncoder,
    Tokens,
    is_content,
    kept_vectors,
    max_sims,
    pooled,
    stored_forms,
    stretched,
)
from benchmarks.lab_pools import Place, pool_of
from benchmarks.lab_sets import Case, Held
from benchmarks.late_interaction import (
    NONE,
    Lab,
    bytes_plot,
    check_fit,
    choice_table,
    set_names,
    unseen_table,
    weighed_table,
    weight_table,
)

from citewise.adapters.index.quantize import rotated
from citewise.evaluate.cases import Gold, Unit
from citewise.model.chunk import Piece
from citewise.model.errors import BadData
from citewise.model.ids import ChunkId
from citewise.model.point import Hit
from citewise.model.ranking import CODE, DENSE, WORDS
from citewise.settings import Settings
from citewise.wiring.embedding import embedding_of

ALL, CONTENT = Form(False, 1, 16), Form(True, 1, 16)
PARTS = {"small": ("small",), "large": ("large",)}


def some_tokens(seed: int, count: int = 21) -> Tokens:
    draw = np.random.default_rng(seed)
    vectors = draw.normal(size=(count, 384))
    return Tokens((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16), flags(*[1, 0, 1] * 7))


def flags(*values: int) -> Flags:
    return np.array(values, bool)


def a_question(late: list[float], unit: Unit = Unit.DOCUMENT) -> Scored:
    """Two candidates; the search puts the wrong one first by 0.4."""
    hits = (Hit(ChunkId("0" * 16), 0.8), Hit(ChunkId("1" * 16), 0.4))
    places = {hit.id: Place(at, 2 * at, 100) for at, hit in enumerate(hits)}
    pool = pool_of("?", {DENSE: hits, WORDS: (), CODE: ()}, places, unit=unit, judged=[2])
    return Scored(pool, {form: np.array(late) for form in FORMS}, dict.fromkeys(FORMS, 2.0))


def a_lab(*, small: list[float], large: list[float]) -> Lab:
    scored = {"small": [a_question(small)], "large": [a_question(large)] * 3}
    return Lab(PARTS, scored, {form: 40 / form.pooled for form in FORMS})


def test_neighbors_share_their_mean_at_unit_length() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    half = 0.5**0.5
    assert pooled(vectors, 2) == pytest.approx(np.array([[half, half], [0.6, 0.8]]))
    assert pooled(vectors, 1) == pytest.approx(vectors)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_keeps_as_many_vectors_and_bytes_as_it_says(form: Form) -> None:
    tokens = some_tokens(1)
    kept = stored_forms(tokens)[form]
    assert len(kept) == form.vectors(tokens.is_content)
    assert kept.nbytes == form.vectors_bytes(len(kept))


def test_fourteen_content_tokens_in_fours_at_a_bit_a_component_are_192_bytes() -> None:
    assert stored_forms(some_tokens(1))[Form(True, 4, 1)].nbytes == 4 * 48


def test_a_text_without_content_is_kept_whole() -> None:
    assert CONTENT.vectors(flags(0, 0, 0)) == 3
    assert CONTENT.vectors(flags(0, 1, 0)) == 1
    assert ALL.vectors(flags(0, 1, 0)) == 3


def test_each_token_of_the_question_counts_by_its_nearest_vector() -> None:
    question = np.array([[1, 0], [0, 1]], np.float32)
    chunks = [np.array([[1, 0], [0.6, 0.8]], np.float16), np.array([[0, 1]], np.float16)]
    assert max_sims(question, chunks) == pytest.approx([(1 + 0.8) / 2, (0 + 1) / 2], abs=1e-3)


def test_a_bit_is_a_sign() -> None:
    question = np.array([[1, 2, 0, 0, 0, 0, 0, 4]], np.float32)
    chunks = [np.packbits(flags(1, 1, 0, 0, 0, 0, 0, 0)[None], axis=1), np.packbits(flags(*[0] * 8)[None], axis=1)]
    assert max_sims(question, chunks).tolist() == [1 + 2 - 4, -1 - 2 - 4]


@pytest.mark.parametrize("bits", [8, 1])
def test_fewer_bits_order_chunks_nearly_as_sixteen_do(bits: int) -> None:
    texts = [some_tokens(seed) for seed in range(12)]
    chunks = [stored_forms(text) for text in texts]
    question = pooled(np.concatenate([text.vectors for text in texts]).astype(np.float32), 21)
    full, fewer = (max_sims(question, [chunk[form] for chunk in chunks]) for form in (CONTENT, Form(True, 1, bits)))
    assert np.corrcoef(full, fewer)[0, 1] > {8: 0.999, 1: 0.6}[bits]


def test_scores_of_any_scale_are_stretched_between_nothing_and_one() -> None:
    assert stretched(np.array([-3.0, 1.0, -1.0])).tolist() == [0.0, 1.0, 0.5]
    assert stretched(np.array([7.0, 7.0])).tolist() == [0.0, 0.0]
    assert stretched(np.array([])).tolist() == []


@pytest.mark.parametrize(
    ("token", "expected"),
    [("pod", True), ("##ing", True), ("42", True), ("the", False), (",", False), ("[SEP]", False)],
)
def test_stop_words_punctuation_and_special_tokens_have_no_content(token: str, expected: bool) -> None:
    assert is_content(token) is expected


def test_only_texts_that_are_new_are_embedded_again(tmp_path: Path) -> None:
    made: list[str] = []

    def encode(text: str) -> Halves:
        made.append(text)
        return np.full((2, 4), len(text), np.float16)

    file = tmp_path / "late" / "book.npz"
    for texts in (["a", "bb"], ["bb"], ["bb", "ccc", "bb"]):
        with kept_vectors(file, texts, encode) as kept:
            assert [kept[text].tolist() for text in texts] == [[[len(text)] * 4] * 2 for text in texts]
    assert sorted(made) == ["a", "bb", "ccc"]
    assert [path.name for path in file.parent.iterdir()] == ["book.npz"]


def test_tokens_of_a_long_text_lie_around_the_vector_that_the_product_keeps() -> None:
    text = "A pod that is evicted loses its volumes; the scheduler finds it another node. " * 20
    tokens = TokenEncoder(Settings().cache).tokens(text)
    product = np.frombuffer(embedding_of(Settings()).embedder.query(text), "<f4")
    (mean,) = pooled(tokens.vectors.astype(np.float32), len(tokens.vectors))
    assert len(tokens.vectors) == len(tokens.is_content) > 256
    assert float(mean @ rotated(product[None])[0]) > 0.98


def test_a_weight_that_one_set_likes_is_tried_on_the_other() -> None:
    lab = a_lab(small=[0.0, 1.0], large=[1.0, 0.0])  # MaxSim is right on the small set and wrong on the large one
    rows = {CONTENT: lab.alternatives(CONTENT)}
    assert choice_table(lab, rows).rows == ((CONTENT.name, "0", "0.5"),)
    none, form, either = unseen_table(lab, rows, "as counted").rows
    first = round(1 / np.log2(3), 4)  # the right candidate at the second place
    assert none[:4] == (NONE, first, first, first)
    assert form[:5] == (CONTENT.name, first, first, first, 0.0)
    assert either[1:5] == form[1:5]
    assert (none[-3:], form[-3:]) == ((1.0, 384, None), (40.0, 384 + 40 * 768, 2.0))


def test_a_weight_that_helps_everywhere_is_found_without_any_one_set() -> None:
    lab = a_lab(small=[0.0, 1.0], large=[0.0, 1.0])
    rows = {form: lab.alternatives(form) for form in FORMS}
    assert {row[1:5] for row in unseen_table(lab, rows, "as counted").rows[1:]} == {(1.0, 1.0, 1.0, 0.3691)}
    assert {row[1:4] for row in weighed_table(lab, rows, 0.5).rows[1:]} == {(1.0, 1.0, 1.0)}
    assert weight_table(lab, rows).rows[0][1:] == (*[0.6309] * 5, 1.0, 1.0)
    level, *forms = bytes_plot(lab, rows).series
    assert [line.name for line in forms] == [
        "content tokens, 16 bits",
        "content tokens, 8 bits",
        "content tokens, 1 bit",
    ]
    assert forms[-1].points[0] == (384 + 5 * 48, 1.0)
    assert [y for _, y in level.points] == pytest.approx([1 / np.log2(3)] * 2)


def test_a_weight_is_chosen_by_place_as_well_where_passages_are_judged() -> None:
    book = a_question([0.0, 1.0], unit=Unit.PASSAGE)  # the answer is among five with any weight, and first with 0.5
    lab = Lab({"book": ("book",), "other": ("other",)}, {"book": [book], "other": [a_question([1.0, 0.0])]}, {})
    rows = {CONTENT: lab.alternatives(CONTENT)}
    table = choice_table(lab, rows)
    assert table.columns == ("", "book as counted", "other as counted", "book by place", "other by place")
    assert table.rows == ((CONTENT.name, "0", "0", "0", "0.5"),)


def test_a_library_that_holds_none_of_the_judged_documents_is_refused() -> None:
    case = Case("?", "small", {"small/1.md": (Gold("small/1.md", 1),)})
    piece = Piece("", 0, "", (), "text", 1, 1, 1, None, has_code=False, has_equations=False, language=None)
    check_fit("small", [case], {ChunkId("0" * 16): Held("small/1.md", piece)})
    with pytest.raises(BadData, match=r"none of the 1 documents.*'small/1.md'"):
        check_fit("small", [case], {ChunkId("0" * 16): Held("000/000001.md", piece)})


def test_sets_are_named_with_commas_and_two_are_the_least() -> None:
    assert set_names("textbook,api_docs") == ("api_docs", "textbook")
    with pytest.raises(argparse.ArgumentTypeError, match="no judged set is called 'novels'"):
        set_names("textbook,novels")
    with pytest.raises(argparse.ArgumentTypeError, match="two or more"):
        set_names("textbook")
