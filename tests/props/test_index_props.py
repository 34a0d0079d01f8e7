"""The embedded index selects exactly what the definition of a filter admits, after any history of writes."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citewise.model.access import Reader
from citewise.model.chunk import Point
from citewise.model.filters import AnyOf, Between, Condition, Where
from tests.builders import SCOPE, a_point, a_vector, an_id
from tests.fakes.plain_index import PlainVectorIndex
from tests.stores import Indexes

names = st.integers(0, 30)
readers = st.sets(st.sampled_from(["public", "project", "owner:ann", "group:ops", "group:dev"]), max_size=3)
terms = st.lists(st.sampled_from(["tide", "wind", "buoy", "rare"]), max_size=6).map(" ".join)
labels = st.sets(st.sampled_from(["module=1", "module=2", "tags=a", "tags=b", "tags=ä =/"]), max_size=4)
numbers = st.dictionaries(
    st.sampled_from(["time", "metadata.x"]), st.floats(-1e12, 1e12, allow_subnormal=False), max_size=2
)


@st.composite
def points(draw: st.DrawFn) -> Point:
    name = draw(names)
    return a_point(
        name,
        vector=a_vector(draw(st.integers(0, 8))),
        words=draw(terms),
        code=draw(terms),
        labels=draw(labels),
        readers=draw(readers),
        numbers=draw(numbers),
    )


steps = st.lists(st.tuples(st.lists(points(), max_size=8), st.sets(names, max_size=5)), min_size=1, max_size=6)
conditions: st.SearchStrategy[Condition] = st.one_of(
    st.builds(AnyOf, st.just("module"), st.sets(st.sampled_from(["1", "2", "3"]), min_size=1).map(frozenset)),
    st.builds(AnyOf, st.just("tags"), st.sets(st.sampled_from(["a", "b", "ä =/"]), min_size=1).map(frozenset)),
    st.builds(
        Between,
        st.sampled_from(["time", "metadata.x", "absent"]),
        st.none() | st.floats(-1e12, 1e12),
        st.none() | st.floats(-1e12, 1e12),
    ),
)
principals = st.none() | st.sets(
    st.sampled_from(["public", "project", "owner:ann", "group:ops"]).map(Reader), min_size=1
).map(frozenset)


@settings(max_examples=60, deadline=None)
@given(steps, principals, st.lists(conditions, max_size=3), st.integers(1, 40))
def test_filters_mean_the_same_as_their_definition(
    history: list[tuple[list[Point], set[int]]],
    who: frozenset[Reader] | None,
    asked: list[Condition],
    limit: int,
) -> None:
    where = Where(SCOPE, who, tuple(asked))
    with tempfile.TemporaryDirectory() as folder:
        local, plain = Indexes.local(Path(folder)), Indexes.plain()
        for position, (puts, drops) in enumerate(history, start=1):
            latest = list({point.id: point for point in puts}.values())
            for index in (local, plain):
                index.write(SCOPE, puts=latest, drops=[an_id(name) for name in drops], position=position)
        reopened = Indexes.local(Path(folder))
        query = a_vector(3)
        assert isinstance(plain.vectors, PlainVectorIndex)
        visible = {point.id for point in plain.vectors.visible(where)}
        for index in (local, reopened):
            assert {hit.id for hit in index.nearest(query, where=where, limit=1000)} == visible
            found = index.nearest(query, where=where, limit=limit)
            expected = plain.nearest(query, where=where, limit=limit)
            assert [hit.id for hit in found] == [hit.id for hit in expected]
            for field in ("words", "code"):
                some = index.matching(["tide", "rare"], field=field, where=where, limit=1000)
                exact = plain.matching(["tide", "rare"], field=field, where=where, limit=1000)
                assert {hit.id for hit in some} == {hit.id for hit in exact}
                assert len(index.matching(["tide"], field=field, where=where, limit=limit)) == min(
                    limit, len(plain.matching(["tide"], field=field, where=where, limit=1000))
                )
