"""What holds of every fusion, whatever the rankings."""

from hypothesis import given
from hypothesis import strategies as st

from citewise.model.chunk import Hit
from citewise.model.ranking import RANKINGS, Rankings
from citewise.search.fuse import Fusion, MinMax, Nearness, ReciprocalRanks
from tests.builders import a_query, an_id

scores = st.floats(min_value=-1, max_value=1, width=32)
ranking = st.dictionaries(st.integers(0, 15), scores, max_size=10).map(
    lambda found: Hit.best(map(an_id, found), found.values(), len(found))
)
rankings = st.fixed_dictionaries({name: ranking for name in RANKINGS})
fusions = st.sampled_from([ReciprocalRanks(), MinMax(), Nearness(), MinMax({"dense": 0.0, "words": 1.0, "code": 0.5})])


@given(rankings, fusions)
def test_everything_found_is_fused_on_one_scale(found: dict[str, tuple[Hit, ...]], fusion: Fusion) -> None:
    fused = fusion(Rankings(a_query(), found)).candidates()
    assert {each.id for each in fused} == {hit.id for hits in found.values() for hit in hits}
    assert all(0.0 <= each.score <= 1.0 + 1e-9 for each in fused)
    assert list(fused) == sorted(fused, key=lambda each: (-each.score, each.id))


@given(rankings, fusions, st.permutations(RANKINGS))
def test_the_order_of_the_arms_does_not_matter(
    found: dict[str, tuple[Hit, ...]], fusion: Fusion, names: list[str]
) -> None:
    shuffled = {name: found[name] for name in names}
    assert tuple(fusion(Rankings(a_query(), shuffled)).candidates()) == tuple(
        fusion(Rankings(a_query(), found)).candidates()
    )
