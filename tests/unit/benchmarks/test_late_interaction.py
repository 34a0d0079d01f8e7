"""What late interaction is worth: forms of keeping vectors, the product's stage in the lab, and its tables."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from benchmarks.lab_late import (
    BONUSES,
    DEFAULT,
    DEPTH,
    DEPTHS,
    EVERYWHERE,
    GATES,
    WEIGHTS,
    Blend,
    Gate,
    LateLab,
    Question,
    blend_rows,
    far_table,
    late_lab,
    late_tables,
    length_slope,
    length_table,
    pooled_table,
)
from benchmarks.lab_pools import Place, pool_of
from benchmarks.lab_sets import Case, Held
from benchmarks.late_interaction import check_fit, scored, set_names

from citewise.adapters.onnx import minilm
from citewise.adapters.onnx.word_vectors import LENGTH_BONUS
from citewise.errors import BadData
from citewise.evaluation.cases import Place as FoundPlace
from citewise.evaluation.cases import Unit
from citewise.model.chunk import Hit, Piece, Vector, WordVectors
from citewise.model.document import Location
from citewise.model.ids import ChunkId, Digest, digest
from citewise.model.ranking import CODE, DENSE, WORDS, Finding
from citewise.search.adjust import Cut, Deduplicate
from citewise.search.pipeline import Stage
from citewise.search.rescore import FAR, NEAR, Late
from tests.builders import a_named_finding, a_query, a_shortlist

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

    def keep(self, vectors: object, words: object) -> None:
        raise AssertionError("a search keeps nothing")


def found_at(name: str, score: float, cosine: float | None, text: str = "The ferry leaves.") -> Finding:
    finding = a_named_finding(name, score, text)
    scores = {} if cosine is None else {DENSE: cosine}
    return replace(finding, candidate=replace(finding.candidate, scores=scores))


def a_question(
    findings: Sequence[Finding],
    by_word: Sequence[float],
    *,
    unit: Unit = "document",
    later: tuple[Stage, ...] = (),
    top_k: int = 20,
    vectors: Sequence[int] = (),
) -> Question:
    """The last of the findings is the right one."""
    hits = [Hit(finding.candidate.id, finding.score) for finding in findings]
    places = {hit.id: Place(at, 2 * (at == len(hits) - 1)) for at, hit in enumerate(hits)}
    pool = pool_of("?", {DENSE: hits, WORDS: (), CODE: ()}, places, unit=unit, judged=[2])
    found = a_shortlist(*findings, query=a_query(top_k=top_k))
    return Question(pool, found, later, np.array(by_word), np.array(vectors or [1] * len(findings)), 2.0)


def a_pair(*by_word: float, cosine: float = 0.3, unit: Unit = "document") -> Question:
    """Two candidates; the search puts the wrong one first by 0.4."""
    findings = (found_at("wrong", 0.8, cosine), found_at("right", 0.4, cosine / 2))
    return a_question(findings, by_word, unit=unit)


def a_lab(**questions: Sequence[Question]) -> LateLab:
    return late_lab({name: (name,) for name in questions}, questions)


def rows_of(lab: LateLab, *blends: tuple[str, Blend]) -> dict[str, float]:
    """What each is worth to the first question of the small set."""
    return {row.name.removesuffix(DEFAULT): float(row.worths["small"][0]) for row in blend_rows(lab, dict(blends))}


@pytest.fixture(scope="module")
def model() -> minilm.MiniLm:
    return minilm.MiniLm()


@pytest.mark.parametrize("cosine", [0.2, FAR, 0.52, NEAR, 0.9, None])
def test_the_default_blend_does_what_the_products_stage_does(model: minilm.MiniLm, cosine: float | None) -> None:
    query = a_query("why do workloads lose their storage?")
    findings = [found_at(f"{at}", 0.9 - at / 50, cosine, TEXTS[at % 5]) for at in range(DEPTH + 3)]
    cache = Told({digest(text): stored for text, (_, stored) in zip(TEXTS, model.embedded(TEXTS), strict=True)})
    found = a_shortlist(*findings, query=query)
    product = Late(model, cache)(found)
    lab = scored(a_question(findings, ()).pool, found, (), model, cache).reordered(Blend())
    assert [finding.candidate.id for finding in lab.findings] == [row.candidate.id for row in product.findings]
    assert [finding.score for finding in lab.findings] == pytest.approx([row.score for row in product.findings])
    assert (lab.findings == tuple(findings)) is (cosine is None)


def test_the_weight_falls_from_far_to_near() -> None:
    gate = Gate(0.4, 0.6, times=5)
    assert [gate.factor(cosine) for cosine in (0.1, 0.4, 0.5, 0.6, 0.9)] == pytest.approx([5, 5, 3, 1, 1])
    assert EVERYWHERE.factor(0.1) == EVERYWHERE.factor(0.99) == 1
    assert (gate.name, EVERYWHERE.name) == ("5 times, 0.4 to 0.6", "as much everywhere")


def test_only_passages_within_the_depth_are_scored() -> None:
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3) for at in range(3)]
    question = a_question(findings, [0.0, 0.5, 1.0])
    order = [finding.candidate.id for finding in findings]
    for depth, places in ((1, [0, 1, 2]), (2, [1, 0, 2]), (3, [2, 1, 0])):
        found = question.reordered(Blend(depth=depth)).findings
        assert [order.index(finding.candidate.id) for finding in found] == places


def test_fewer_passages_are_scored_where_one_is_near() -> None:
    findings = [found_at(f"{at}", 0.9 - at / 100, NEAR) for at in range(3)]
    found = a_question(findings, [0.0, 0.5, 1.0]).reordered(Blend(depth=3, near_depth=2)).findings
    assert [finding.candidate.id for finding in found] == [findings[at].candidate.id for at in (1, 0, 2)]


def test_what_stands_behind_the_stage_is_done_as_well() -> None:
    texts = ("The ferry leaves.", "The ferry leaves.", "The tide is low.", "It rains.")
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3, text) for at, text in enumerate(texts)]
    question = a_question(findings, [0.0, 0.5, 1.0, 0.2], later=(Deduplicate(), Cut()), top_k=2)
    pool, scores = question.shown(Blend())
    shown = [findings[int(at)].candidate.id for at in (2, 1)]
    assert [pool.ids[at] for at in np.argsort(-scores)] == shown


def test_far_questions_count_the_same_whatever_set_they_are_of() -> None:
    lab = a_lab(small=[a_pair(0, 1)], large=[*[a_pair(1, 0)] * 2, a_pair(0, 1), a_pair(0, 1, cosine=0.9)])
    table = far_table(lab)
    assert table.title == "Late interaction, the 4 far questions of 5"
    assert table.columns[-2:] == ("small, 1 of 1", "large, 3 of 4")
    gain = 1 - 1 / np.log2(3)
    assert table.rows[1][2] == round(gain / 2, 4)
    assert table.rows[1][-2:] == (round(gain, 4), round(gain / 3, 4))


def test_far_passages_are_valued_by_place() -> None:
    lab = a_lab(book=[a_pair(0, 1, unit="passage")], other=[a_pair(1, 0)])
    assert far_table(lab).rows[1][-2:] == (round(1 - 1 / np.log2(3), 4), 0.0)


def test_a_weight_that_one_set_likes_is_tried_on_the_other() -> None:
    lab = a_lab(small=[a_pair(0, 1, cosine=0.59)], large=[a_pair(1, 0, cosine=0.59)] * 3)
    blends = [(f"{weight:g}", Blend(weight=weight)) for weight in WEIGHTS]
    *_, chosen = pooled_table(lab, blend_rows(lab, dict(blends)), "by weight").rows
    assert chosen[1:3] == (SECOND, SECOND)  # MaxSim is right on the small set, so the large one is given it in vain
    worths = rows_of(lab, *blends)
    assert [round(worths[name], 4) for name in ("0.3", "0.5", "0.7")] == [SECOND, 1.0, 1.0]


def test_gates_and_depths_are_compared_with_the_products_among_them() -> None:
    lab = a_lab(small=[a_pair(0, 1, cosine=0.5)], large=[a_pair(0, 1, cosine=0.2)])
    gates = rows_of(lab, *((gate.name, Blend(weight=0.2, gate=gate)) for gate in GATES))
    assert gates["10 times, 0.3 to 0.6"] == 1.0
    assert gates["as much everywhere"] == gates["10 times, 0.35 to 0.5"] == pytest.approx(SECOND, abs=1e-4)
    depths = blend_rows(lab, {f"{depth}, {near}": Blend(depth=depth, near_depth=near) for depth, near in DEPTHS})
    assert [row.name for row in depths if row.name.endswith(DEFAULT)] == ["30, 12 (default)"]


def test_all_tables_come_from_one_lab() -> None:
    tables = late_tables(a_lab(scifact=[a_pair(0, 1)], runbooks=[a_pair(0, 1)]))
    assert len(tables) == 8
    assert tables[-1].rows == ((1.0, 384 + 96, 2.0),)  # vectors, bytes and milliseconds


def test_passages_that_are_nearer_for_being_longer_show_by_how_much() -> None:
    vectors = [8, 16, 64]
    findings = [found_at(f"{at}", 0.9 - at / 100, 0.3) for at in range(3)]
    by_length = [0.2 + (0.05 - LENGTH_BONUS) * np.log(count) for count in vectors]  # as the product gives it
    level = a_question(findings, [0.3, 0.3, 0.3], vectors=vectors)
    growing = a_question(findings, by_length, vectors=vectors)
    assert length_slope([growing]) == pytest.approx(0.05)
    assert length_slope([level, growing]) == pytest.approx((0.05 + LENGTH_BONUS) / 2)
    assert length_slope([]) is length_slope([a_question(findings, by_length, vectors=[8, 8, 8])]) is None


def test_a_set_that_says_nothing_of_length_is_not_taken_for_one_that_says_none() -> None:
    near, far = (
        a_question([found_at(f"{at}", 0.5, cosine) for at in range(2)], [0.3, 0.3], vectors=[8, 64])
        for cosine in (0.9, 0.3)
    )
    small, large, mean = length_table(a_lab(small=[far], large=[near])).rows
    assert (small, large) == (("small", LENGTH_BONUS, LENGTH_BONUS), ("large", LENGTH_BONUS, None))
    assert mean == ("mean", LENGTH_BONUS, LENGTH_BONUS)


def test_what_is_taken_off_for_length_may_be_more_or_less() -> None:
    findings = (found_at("wrong", 0.5, 0.3), found_at("right", 0.4, 0.2))
    lab = a_lab(small=[a_question(findings, (0.3, 0.301), vectors=[10, 100])])
    worths = rows_of(lab, *((f"{bonus:g}", Blend(length_bonus=bonus)) for bonus in BONUSES))
    assert worths["0"] == worths[f"{LENGTH_BONUS:g}"] == 1.0
    assert worths[f"{max(BONUSES):g}"] == pytest.approx(SECOND, abs=1e-4)


def test_a_library_without_vectors_of_words_is_refused(model: minilm.MiniLm) -> None:
    finding = a_named_finding("tide")
    with pytest.raises(BadData, match=r"no vectors of words for 1 passages.*reindex"):
        scored(a_question([finding], ()).pool, a_shortlist(finding), (), model, Told({}))


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
