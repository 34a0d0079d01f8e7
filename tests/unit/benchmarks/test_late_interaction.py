"""What late interaction is worth: forms of keeping vectors, the product's stage in the lab, and its tables."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.lab_late import (
    FORMS,
    PRODUCT,
    AskedWords,
    Floats,
    Form,
    Halves,
    Kind,
    Kinds,
    TokenEncoder,
    Window,
    kept_vectors,
    pooled,
    windows_of,
)
from benchmarks.lab_late_rows import (
    CHANCES,
    DEFAULT,
    NONE,
    Lab,
    chance_rows,
    chance_table,
    depth_rows,
    far_table,
    form_rows,
    forms_table,
    gate_rows,
    growth,
    lab_with,
    late_results,
    pooled_table,
    weight_rows,
)
from benchmarks.lab_late_stage import DEPTH, EVERYWHERE, Blend, Gate, Question
from benchmarks.lab_pools import Place, pool_of
from benchmarks.lab_sets import Case, Held
from benchmarks.late_interaction import check_fit, set_names, stored_words, with_scores

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.word_vectors import LENGTH_BONUS
from citewise.errors import BadData
from citewise.evaluation.cases import Place as FoundPlace
from citewise.evaluation.cases import Unit
from citewise.model.chunk import Hit, Piece, Vector, WordVectors
from citewise.model.document import Location
from citewise.model.ids import ChunkId, Digest, digest
from citewise.model.ranking import CODE, DENSE, WORDS, Finding
from citewise.ports.catalog import NO_WORDS, EmbeddingCache
from citewise.search.adjust import Cut, Deduplicate
from citewise.search.pipeline import Stage
from citewise.search.rescore import FAR, NEAR, Late
from tests.shortlists import a_named_finding, a_query, a_shortlist

ALL, WORD, CONTENT = (Form(kind, 1, 16) for kind in Kind)
SECOND = round(1 / np.log2(3), 4)  # what the right document is worth at the second place
TEXTS = (
    "A pod that is evicted loses its volumes; the scheduler finds it another node.",
    "Nodes report their pressure to the control plane every ten seconds.",
    "The ferry leaves at noon, unless the tide is low.",
    "Volumes outlive the containers that mount them.",
    "Evictions are counted by the kubelet, and the count is exported as a metric.",
)


@dataclass(frozen=True, slots=True)
class Told:
    """An embedding cache that knows some texts' words and nothing else."""

    words: Mapping[Digest, WordVectors]

    def vectors(self, digests: object) -> Mapping[Digest, Vector]:
        return {}

    def word_vectors(self, digests: object) -> Mapping[Digest, WordVectors]:
        return self.words

    def keep(self, vectors: object, words: object = NO_WORDS) -> None:
        raise AssertionError("a search keeps nothing")


def a_window(seed: int, count: int = 21) -> Window:
    return Window(some_vectors(seed, count), kinds(*[2, 0, 1] * (count // 3)))


def some_vectors(seed: int, count: int) -> Halves:
    vectors = np.random.default_rng(seed).normal(size=(count, 384))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float16)


def kinds(*values: int) -> Kinds:
    return np.array(values, np.uint8)


def axes(*rows: Mapping[int, float]) -> Halves:
    """Vectors by their components that are not 0."""
    made = np.zeros((len(rows), 384), np.float16)
    for at, row in enumerate(rows):
        made[at, list(row)] = list(row.values())
    return made


def found_at(name: str, score: float, cosine: float | None, text: str = "The ferry leaves.") -> Finding:
    one = a_named_finding(name, score, text)
    scores = {} if cosine is None else {DENSE: cosine}
    return replace(one, candidate=replace(one.candidate, scores=scores))


def a_question(
    findings: Sequence[Finding],
    by_word: Mapping[Form, Sequence[float]],
    *,
    unit: Unit = "document",
    later: tuple[Stage, ...] = (),
    top_k: int = 20,
    rows: Sequence[int] = (),
) -> Question:
    """The last of the findings is the right one."""
    hits = [Hit(one.candidate.id, one.score) for one in findings]
    places = {hit.id: Place(at, 2 * (at == len(hits) - 1)) for at, hit in enumerate(hits)}
    pool = pool_of("?", {DENSE: hits, WORDS: (), CODE: ()}, places, unit=unit, judged=[2])
    late = {form: np.array(scores) for form, scores in by_word.items()}
    found = a_shortlist(*findings, query=a_query(top_k=top_k))
    lengths = dict.fromkeys(late, np.array(rows or [1] * len(findings)))
    return Question(pool, found, later, late, dict.fromkeys(late, 2.0), lengths)


def a_pair(*by_word: float, cosine: float = 0.3, unit: Unit = "document") -> Question:
    """Two candidates; the search puts the wrong one first by 0.4."""
    findings = (found_at("wrong", 0.8, cosine), found_at("right", 0.4, cosine / 2))
    return a_question(findings, dict.fromkeys(FORMS, by_word), unit=unit)


def a_lab(**questions: Sequence[Question]) -> Lab:
    return lab_with({name: (name,) for name in questions}, questions, {form: 40 / form.pooled for form in FORMS})


@pytest.fixture(scope="module")
def encoder() -> TokenEncoder:
    return TokenEncoder()


@pytest.fixture(scope="module")
def model() -> minilm.MiniLm:
    return minilm.MiniLm()


def test_neighbors_share_their_mean_at_unit_length() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)
    half = 0.5**0.5
    assert pooled(vectors, 1) == pytest.approx(vectors)
    assert pooled(vectors, 2) == pytest.approx(np.array([[half, half], [0.6, 0.8]]))
    assert pooled(vectors, 4) == pytest.approx(np.array([[1.6, 1.8]]) / np.hypot(1.6, 1.8))


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_form_keeps_as_many_vectors_and_bytes_as_it_says(form: Form) -> None:
    windows = [a_window(1), a_window(2, 9)]
    assert len(form.stored(windows)) == form.vectors([one.kinds for one in windows]) * form.row_bytes


def test_words_in_twos_at_two_bits_are_ninety_six_bytes_each_and_no_two_windows_share_one() -> None:
    assert len(PRODUCT.stored([a_window(1)])) == 7 * 96  # 14 words of 21 tokens
    assert len(PRODUCT.stored([a_window(1, 9), a_window(2, 15)])) == (3 + 5) * 96  # of 6 and 10 words
    assert len(PRODUCT.stored([a_window(1, 3), a_window(2, 3)])) == 2 * 96
    assert len(Form(Kind.WORD, 2, 2).stored([Window(some_vectors(1, 3), kinds(1, 1, 1))] * 2)) == 4 * 96


def test_a_text_without_such_tokens_is_kept_whole() -> None:
    assert CONTENT.vectors([kinds(0, 1, 0)]) == 3
    assert CONTENT.vectors([kinds(0, 1, 0), kinds(2)]) == 1
    assert WORD.vectors([kinds(0, 1, 0)]) == 1
    assert ALL.vectors([kinds(0, 1, 0), kinds(0, 0)]) == 5


def test_each_token_of_the_question_counts_by_its_nearest_vector() -> None:
    question = axes({0: 1}, {1: 1}).astype(np.float32)
    chunks = [axes({0: 1}, {0: 0.6, 1: 0.8}), axes({1: 1})]
    stored = [ALL.stored([Window(chunk, kinds(*[1] * len(chunk)))]) for chunk in chunks]
    asked = AskedWords(question, np.ones(2, np.float32))
    chance = LENGTH_BONUS * np.log(2)  # of two vectors; of one there is none
    assert ALL.closeness(asked, stored) == pytest.approx([(1 + 0.8) / 2 - chance, (0 + 1) / 2], abs=1e-3)


@pytest.mark.parametrize("bits", [2, 1])
def test_fewer_bits_tell_chunks_apart_nearly_as_sixteen_do(bits: int) -> None:
    texts = [a_window(seed) for seed in range(12)]
    asked = [text.vectors[: 3 * at] for at, text in enumerate(texts[:6])]  # more and more of each text is asked for
    vectors: Floats = np.concatenate(asked).astype(np.float32)
    question = AskedWords(vectors, np.ones(len(vectors), np.float32))
    full, fewer = (
        form.closeness(question, [form.stored([text]) for text in texts]) for form in (WORD, Form(Kind.WORD, 1, bits))
    )
    assert np.corrcoef(full, fewer)[0, 1] > 0.98


def test_tokens_are_content_stop_words_or_neither(encoder: TokenEncoder) -> None:
    ((found,),) = encoder.kinds(["The tide, and 42 boats."])
    assert found.tolist() == [Kind.ANY, 1, 2, 0, 1, 2, 2, 0, Kind.ANY]  # [CLS] the tide , and 42 boats . [SEP]


def test_vectors_of_another_text_are_not_taken_for_its_tokens() -> None:
    with pytest.raises(ValueError, match="3 vectors for 2 tokens"):
        windows_of(some_vectors(1, 3), [kinds(0, 0)])


def test_only_texts_that_are_new_are_embedded_again(tmp_path: Path) -> None:
    made: list[str] = []

    def encode(texts: Sequence[str]) -> list[Halves]:
        made.extend(texts)
        return [np.full((2, 4), len(text), np.float16) for text in texts]

    file = tmp_path / "late" / "book.npz"
    for texts in (["a", "bb"], ["bb"], ["bb", "ccc", "bb"]):
        with kept_vectors(file, texts, encode) as kept:
            assert [kept[text].tolist() for text in texts] == [[[len(text)] * 4] * 2 for text in texts]
    assert sorted(made) == ["a", "bb", "ccc"]
    assert [path.name for path in file.parent.iterdir()] == ["book.npz"]


def test_tokens_of_a_long_text_lie_around_the_vector_that_the_product_keeps(
    encoder: TokenEncoder, model: minilm.MiniLm
) -> None:
    (windows,) = encoder.windows([TEXTS[0] * 20])
    product = np.frombuffer(model.query(TEXTS[0] * 20), "<f4")
    (mean,) = pooled(np.concatenate([one.vectors for one in windows]).astype(np.float32), 10_000)
    assert len(windows) == 2
    assert float(mean @ product) > 0.98


def test_the_products_form_is_what_the_product_stores(encoder: TokenEncoder, model: minilm.MiniLm) -> None:
    texts = [*TEXTS, TEXTS[0] * 20]
    for ours, theirs in zip(encoder.windows(texts), model.embedded(texts), strict=True):
        codes = [np.frombuffer(stored, np.uint8) for stored in (PRODUCT.stored(ours), theirs[1])]
        assert np.mean(codes[0] == codes[1]) > 0.999  # all but what the last bits of a product decide


@pytest.mark.parametrize("cosine", [0.2, FAR, 0.52, NEAR, 0.9, None])
def test_the_default_blend_does_what_the_products_stage_does(
    encoder: TokenEncoder, model: minilm.MiniLm, cosine: float | None
) -> None:
    asked = "why do workloads lose their storage?"
    findings = [found_at(f"{at}", 0.9 - at / 50, cosine, TEXTS[at % 5]) for at in range(DEPTH + 3)]
    theirs = {digest(text): stored for text, (_, stored) in zip(TEXTS, model.embedded(TEXTS), strict=True)}
    product = Late(model, Told(theirs))(a_shortlist(*findings, query=a_query(asked)))
    *windows, question = encoder.windows([*TEXTS, asked])
    ours = {one.candidate.id: PRODUCT.stored(windows[at % 5]) for at, one in enumerate(findings)}
    scored = with_scores(a_question(findings, {}), PRODUCT, PRODUCT.asked(question), ours)
    lab = scored.reordered(Blend())
    assert [one.candidate.id for one in lab.findings] == [one.candidate.id for one in product.findings]
    assert [one.score for one in lab.findings] == pytest.approx([one.score for one in product.findings], abs=1e-5)
    is_far = cosine is not None and cosine < NEAR
    assert (lab.findings != tuple(findings)) is is_far


def test_the_weight_falls_from_far_to_near() -> None:
    gate = Gate(0.4, 0.6)
    assert [gate.farness(cosine) for cosine in (0.1, 0.4, 0.5, 0.6, 0.9)] == pytest.approx([1, 1, 0.5, 0, 0])
    assert EVERYWHERE.farness(0.99) == 1
    assert (gate.name, EVERYWHERE.name) == ("0.4 to 0.6", "everywhere")


def test_only_passages_within_the_depth_are_scored() -> None:
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3) for at in range(3)]
    question = a_question(findings, {PRODUCT: [0.0, 0.5, 1.0]})
    order = [one.candidate.id for one in findings]
    for depth, places in ((1, [0, 1, 2]), (2, [1, 0, 2]), (3, [2, 1, 0])):
        found = question.reordered(Blend(depth=depth)).findings
        assert [order.index(one.candidate.id) for one in found] == places


def test_what_stands_behind_the_stage_is_done_as_well() -> None:
    texts = ("The ferry leaves.", "The ferry leaves.", "The tide is low.", "It rains.")
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3, text) for at, text in enumerate(texts)]
    question = a_question(findings, {PRODUCT: [0.0, 0.5, 1.0, 0.2]}, later=(Deduplicate(), Cut()), top_k=2)
    pool, scores = question.shown(Blend())
    shown = [findings[int(at)].candidate.id for at in (2, 1)]
    assert [pool.ids[at] for at in np.argsort(-scores)] == shown


def test_every_form_is_held_against_none_where_questions_are_far() -> None:
    lab = a_lab(small=[a_pair(0, 1)], large=[a_pair(0, 1, cosine=0.9)] * 3)
    rows = form_rows(lab, Gate())
    none, form, *_, chosen = forms_table(lab, rows, "far questions only").rows
    assert none == (NONE, SECOND, SECOND, SECOND, None, None, None, 1.0, 384, None)
    assert form[:5] == (ALL.name, 1.0, SECOND, 0.8155, 0.1845)
    assert form[-3:] == (40.0, 384 + 40 * 768, 2.0)
    assert chosen[0] == "chosen on the other sets"
    assert sum(row[0] == "words, mean of two, 2 bits (default)" for row in forms_table(lab, rows, "").rows) == 1
    assert [row[1:3] for row in forms_table(lab, form_rows(lab, EVERYWHERE), "").rows[1:-1]] == [(1.0, 1.0)] * 9


def test_far_questions_count_the_same_whatever_set_they_are_of() -> None:
    lab = a_lab(small=[a_pair(0, 1)], large=[*[a_pair(1, 0)] * 2, a_pair(0, 1), a_pair(0, 1, cosine=0.9)])
    rows = form_rows(lab, Gate())
    table = far_table(lab, rows)
    assert table.title == "Late interaction, the 4 far questions of 5"
    assert table.columns[-2:] == ("small, 1 of 1", "large, 3 of 4")
    gain = 1 - 1 / np.log2(3)
    assert table.rows[1][2] == round(gain / 2, 4)
    assert table.rows[1][-2:] == (round(gain, 4), round(gain / 3, 4))


def test_far_passages_are_valued_by_place() -> None:
    lab = a_lab(book=[a_pair(0, 1, unit="passage")], other=[a_pair(1, 0)])
    assert far_table(lab, form_rows(lab, Gate())).rows[1][-2:] == (round(1 - 1 / np.log2(3), 4), 0.0)


def test_a_weight_that_one_set_likes_is_tried_on_the_other() -> None:
    lab = a_lab(small=[a_pair(0, 1)], large=[a_pair(1, 0)] * 3)
    *_, chosen = pooled_table(lab, weight_rows(lab), "by weight").rows
    assert chosen[1:3] == (SECOND, SECOND)  # MaxSim is right on the small set, so the large one is given it in vain
    worths = {one.name.removesuffix(DEFAULT): one.worths["small"][0] for one in weight_rows(lab)}
    assert [round(worths[name], 4) for name in ("0.3", "0.5", "0.7")] == [SECOND, 1.0, 1.0]


def test_gates_and_depths_are_compared_with_the_products_among_them() -> None:
    lab = a_lab(small=[a_pair(0, 1, cosine=0.57)], large=[a_pair(0, 1, cosine=0.2)])
    gates = {one.name.removesuffix(DEFAULT): one.worths["small"][0] for one in gate_rows(lab)}
    assert gates["everywhere"] == 1.0
    assert gates["0.45 to 0.55"] == gates["0.4 to 0.55"] == pytest.approx(SECOND, abs=1e-4)
    assert [one.name for one in depth_rows(lab)] == [NONE, "10", "20 (default)", "40"]


def test_all_tables_are_made_of_one_lab() -> None:
    made = late_results(a_lab(scifact=[a_pair(0, 1)], runbooks=[a_pair(0, 1)]))
    assert made.name == "late-interaction"
    assert made.command.endswith("late_interaction --sets scifact,runbooks")
    assert len(made.tables) == 9


def test_passages_that_are_nearer_for_being_longer_show_by_how_much() -> None:
    rows = [8, 16, 64]
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3) for at in range(3)]
    by_length = [0.2 + (0.05 - LENGTH_BONUS) * np.log(each) for each in rows]  # as the product gives it
    level = a_question(findings, {PRODUCT: [0.3, 0.3, 0.3]}, rows=rows)
    growing = a_question(findings, {PRODUCT: by_length}, rows=rows)
    assert growth([growing]) == pytest.approx(0.05)
    assert growth([level, growing]) == pytest.approx((0.05 + LENGTH_BONUS) / 2)
    assert growth([]) is growth([a_question(findings, {PRODUCT: by_length}, rows=[8, 8, 8])]) is None


def test_a_set_that_says_nothing_of_length_is_not_taken_for_one_that_says_none() -> None:
    near, far = (
        a_question([found_at(f"{at}", 0.5, cosine) for at in range(2)], {PRODUCT: [0.3, 0.3]}, rows=[8, 64])
        for cosine in (0.9, 0.3)
    )
    small, large, mean = chance_table(a_lab(small=[far], large=[near])).rows
    assert (small, large) == (("small", LENGTH_BONUS, LENGTH_BONUS), ("large", LENGTH_BONUS, None))
    assert mean == ("mean", LENGTH_BONUS, LENGTH_BONUS)


def test_what_is_taken_off_for_length_may_be_more_or_less() -> None:
    findings = (found_at("wrong", 0.5, 0.3), found_at("right", 0.4, 0.2))
    long_and_near = a_question(findings, dict.fromkeys(FORMS, (0.3, 0.301)), rows=[10, 100])
    rows = {one.name: one.worths["small"][0] for one in chance_rows(a_lab(small=[long_and_near]))}
    assert rows["0"] == rows[f"{LENGTH_BONUS:g}{DEFAULT}"] == 1.0
    assert rows[f"{max(CHANCES):g}"] == pytest.approx(SECOND, abs=1e-4)


def test_a_library_without_vectors_of_words_is_refused() -> None:
    one = a_named_finding("tide")
    cache: EmbeddingCache = Told({one.passage.text_digest: WordVectors(b"w")})
    assert stored_words("small", cache, [a_shortlist(one)]) == {one.candidate.id: b"w"}
    with pytest.raises(BadData, match=r"library of small has no vectors of words for 1 passages.*reindex"):
        stored_words("small", Told({}), [a_shortlist(one)])


def test_a_library_that_holds_none_of_the_judged_documents_is_refused() -> None:
    case = Case("?", "small", {"small/1.md": (FoundPlace("small/1.md", grade=1),)})
    piece = Piece(
        "", 0, "", (), "text", Location("lines", 1, 1), 1, None, has_code=False, has_equations=False, language=None
    )
    check_fit("small", [case], {ChunkId("0" * 16): Held("small/1.md", piece)})
    with pytest.raises(BadData, match=r"none of the 1 documents.*'small/1.md'"):
        check_fit("small", [case], {ChunkId("0" * 16): Held("000/000001.md", piece)})


def test_sets_are_named_with_commas_and_two_are_the_least() -> None:
    assert set_names("textbook,api_docs") == ("api_docs", "textbook")
    with pytest.raises(argparse.ArgumentTypeError, match="no judged set is called 'novels'"):
        set_names("textbook,novels")
    with pytest.raises(argparse.ArgumentTypeError, match="two or more"):
        set_names("textbook")
