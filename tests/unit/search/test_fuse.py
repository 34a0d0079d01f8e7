"""Several orders into one, checked against values worked out by hand."""

import pytest

from citewise.model.chunk import Hit
from citewise.model.ranking import Ranking, Rankings
from citewise.search.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
from tests.builders import a_query, an_id

FUSIONS = [ReciprocalRanks(), MinMax(), Nearness()]
EVEN = {"dense": 1.0, "words": 1.0, "code": 1.0}


def hits(*scored: tuple[str, float]) -> tuple[Hit, ...]:
    return tuple(Hit(an_id(name), score) for name, score in scored)


def ranked(*names: str) -> tuple[Hit, ...]:
    return hits(*((name, 1.0 - at / 100) for at, name in enumerate(names)))


def rankings(**hits: tuple[Hit, ...]) -> Rankings:
    return Rankings(a_query(), {"dense": (), "words": (), "code": (), **hits})


def order(ranking: Ranking) -> list[str]:
    return [candidate.id for candidate in ranking.candidates()]


def ids(*names: str) -> list[str]:
    return [an_id(name) for name in names]


def test_reciprocal_ranks_are_what_one_works_out_by_hand() -> None:
    hits = {"dense": ranked("a", "b", "c"), "words": ranked("b", "d"), "code": ranked("c", "b")}
    sums = ReciprocalRanks(EVEN, 60).sums(hits)
    assert sums[an_id("a")] == pytest.approx(1 / 61)  # 0.016393
    assert sums[an_id("b")] == pytest.approx(1 / 62 + 1 / 61 + 1 / 62)  # 0.048652
    assert sums[an_id("c")] == pytest.approx(1 / 63 + 1 / 61)  # 0.032266
    assert sums[an_id("d")] == pytest.approx(1 / 62)  # 0.016129
    fused = ReciprocalRanks()(rankings(**hits))
    assert order(fused) == ids("b", "c", "a", "d")
    assert fused.candidates()[0].score == pytest.approx(0.048652 / (3 / 61), rel=1e-4)


def test_the_fifth_place_twice_narrowly_beats_the_first_and_the_tenth() -> None:
    filler = [f"x{at}" for at in range(20)]
    one = [*filler[:4], "both", *filler[4:8]]
    other = [*filler[8:12], "both", *filler[12:16]]
    hits = {"dense": ranked("split", *one[1:]), "words": ranked(*other[:5], *other[5:9], "split")}
    sums = ReciprocalRanks(EVEN, 60).sums(hits)
    assert sums[an_id("both")] == pytest.approx(2 / 65)
    assert sums[an_id("split")] == pytest.approx(1 / 61 + 1 / 70)
    assert sums[an_id("both")] > sums[an_id("split")]


def test_a_small_constant_makes_the_first_place_worth_more() -> None:
    hits = {"dense": ranked("first", "b", "c", "d", "second"), "words": ranked("x", "y", "second")}
    assert order(ReciprocalRanks(EVEN, 1)(rankings(**hits)))[0] != an_id("second")  # 1/2 > 1/6 + 1/4
    assert order(ReciprocalRanks(EVEN, 60)(rankings(**hits)))[0] == an_id("second")


def test_weights_shift_reciprocal_ranks() -> None:
    found = rankings(dense=ranked("a"), words=ranked("b"))
    assert order(ReciprocalRanks({"dense": 1.0, "words": 2.0})(found)) == ids("b", "a")


def test_four_documents_in_two_rankings_score_as_the_table_of_the_contract_says() -> None:
    hits = {"dense": ranked("A", "C", "B", "x", "D"), "words": ranked("B", "D", "A", "y", "C")}
    sums = ReciprocalRanks({"dense": 1.0, "words": 1.0}, 60).sums(hits)
    assert [round(sums[an_id(name)], 4) for name in "ABCD"] == [0.0323, 0.0323, 0.0315, 0.0315]
    assert order(ReciprocalRanks()(rankings(**hits)))[:4] == [*sorted(ids("A", "B")), *sorted(ids("C", "D"))]


@pytest.mark.parametrize("constant", [1, 10, 60, 600])
def test_the_constant_moves_scores_and_never_what_leads_every_ranking(constant: int) -> None:
    hits = {"dense": ranked("lead", "b", "c"), "words": ranked("lead", "c", "b"), "code": ranked("lead", "d")}
    first, second, *_ = ReciprocalRanks(constant=constant)(rankings(**hits)).candidates()
    assert first.id == an_id("lead")
    assert first.score == pytest.approx(1.0)
    assert second.score == pytest.approx((constant + 1) / 3 * (1 / (constant + 2) + 1 / (constant + 3)))


def test_stretched_scores_are_what_one_works_out_by_hand() -> None:
    found = rankings(dense=hits(("a", 0.8), ("b", 0.6), ("c", 0.4)), words=hits(("c", 12.0), ("a", 6.0), ("d", 2.0)))
    # Meaning counts 0.8 either way (times the nearest cosine, 0.8), words 0.2: a = (0.8*1 + 0.2*0.4) / 1.0
    fused = Nearness({"dense": 1.0, "words": 0.2})(found)
    assert tuple(fused.candidates()) == tuple(MinMax({"dense": 0.8, "words": 0.2})(found).candidates())
    scores = {candidate.id: candidate.score for candidate in fused.candidates()}
    assert scores[an_id("a")] == pytest.approx(0.88)
    assert scores[an_id("b")] == pytest.approx(0.40)
    assert scores[an_id("c")] == pytest.approx(0.20)
    assert scores[an_id("d")] == 0.0


def test_meaning_counts_less_when_nothing_is_near() -> None:
    def best(nearest: float) -> str:
        found = rankings(dense=hits(("far", nearest), ("x", 0.0)), words=hits(("said", 9.0), ("x", 1.0)))
        return order(Nearness({"dense": 1.0, "words": 0.5})(found))[0]

    assert best(0.9) == an_id("far")
    assert best(0.2) == an_id("said")


def test_what_is_far_from_everything_keeps_the_order_of_meaning() -> None:
    assert order(Nearness()(rankings(dense=hits(("b", -0.01), ("a", -0.2))))) == ids("b", "a")


def test_more_hits_do_not_move_those_that_were_there() -> None:
    many = hits(*((f"n{at:03}", 1.0 - at / 200) for at in range(150)))
    words = hits(*((f"n{at * 7 % 150:03}", 50.0 - at / 3) for at in range(150)))
    few = MinMax()(rankings(dense=many[:60], words=words[:60]))
    more = MinMax()(rankings(dense=many, words=words))
    assert order(more)[:20] == order(few)[:20]
    assert len(more.candidates()) == 150


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("names", ["", "abc"], ids=["nothing", "three"])
def test_one_ranking_keeps_its_order(fusion: Fusion, names: str) -> None:
    assert order(fusion(rankings(words=ranked(*names)))) == ids(*names)


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("ranking", ["dense", "words", "code"])
def test_a_chunk_that_one_ranking_found_takes_full_part(fusion: Fusion, ranking: str) -> None:
    fused = fusion(rankings(**{ranking: ranked("alone", "other")}))
    alone = fused.candidates()[0]
    assert alone.id == an_id("alone")
    assert alone.ranks == {ranking: 1}
    assert set(alone.scores) == {ranking, "fused"}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_equal_scores_are_ordered_by_id(fusion: Fusion) -> None:
    fused = fusion(rankings(words=hits(("p", 1.0), ("q", 0.5)), code=hits(("q", 1.0), ("p", 0.5))))
    assert order(fused) == sorted(ids("p", "q"))


@pytest.mark.parametrize("fusion", FUSIONS)
def test_first_everywhere_is_first_and_scores_one(fusion: Fusion) -> None:
    fused = fusion(rankings(dense=ranked("a", "b"), words=ranked("a", "c"), code=ranked("a", "b")))
    assert order(fused)[0] == an_id("a")
    assert fused.candidates()[0].score == pytest.approx(1.0)
