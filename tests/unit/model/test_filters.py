"""Filters as people write them."""

from typing import Any

import pytest

from citewise.errors import BadRequest
from citewise.model.access import Reader
from citewise.model.filters import AnyOf, Between, Condition, Label, Where, conditions_of, label
from tests.builders import SCOPE


def any_of(field: str, *values: str) -> AnyOf:
    return AnyOf(field, frozenset(values))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ((), ()),
        (("module=module-1",), (any_of("module", "module-1"),)),
        (("modules=module-1",), (any_of("module", "module-1"),)),
        (("tag=ros2",), (any_of("tags", "ros2"),)),
        (("documents=a/b.md",), (any_of("document", "a/b.md"),)),
        (("content_types=lab",), (any_of("content_type", "lab"),)),
        (("tags=a", "tags=b"), (any_of("tags", "a", "b"),)),
        (("tags=a", "module=m"), (any_of("module", "m"), any_of("tags", "a"))),
        (("has_code=TRUE",), (any_of("has_code", "true"),)),
        (("metadata.owner=ann=bob",), (any_of("metadata.owner", "ann=bob"),)),
        (("metadata.year>=2020", "metadata.year<=2024"), (Between("metadata.year", 2020.0, 2024.0),)),
        (("metadata.year>=2020", "metadata.year>=2022"), (Between("metadata.year", 2022.0, None),)),
        (("timestamp>=1970-01-02",), (Between("timestamp", 86_400.0, None),)),
        (("timestamp<=1970-01-01T01:00:00+01:00",), (Between("timestamp", None, 0.0),)),
    ],
)
def test_a_filter_means_a_condition(written: tuple[str, ...], meant: tuple[Condition, ...]) -> None:
    assert conditions_of(written) == meant


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("colour=red", "no field 'colour'"),
        ("modul=1", "did you mean module"),
        ("module", "is not FIELD=VALUE"),
        ("=x", "is not FIELD=VALUE"),
        ("module=", "has no value"),
        ("metadata.=x", "no field"),
        ("has_code=maybe", "true or false"),
        ("module>=3", "is text"),
        ("timestamp=3", "is a time"),
        ("metadata.year>=soon", "neither a number nor a date"),
        ("metadata.year>=nan", "neither a number"),
        ("access=public", "no field 'access'"),
        ({"field": "module"}, "is not"),
        (3, "is not"),
        ({"field": "module", "operator": "like", "value": "m"}, "it can be eq, in or range"),
        ({"field": "module", "operator": "range", "value": [1, 2]}, "a range is"),
        ({"field": "module", "operator": "range", "value": {"gte": 1}}, "is text"),
        ({"field": "access", "operator": "eq", "value": "public"}, "no field 'access'"),
        ({"field": "module", "operator": "eq", "value": {}}, "is not a value"),
    ],
)
def test_what_is_no_filter_is_explained(written: Any, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        conditions_of([written])


def test_a_mapping_means_the_same_and_an_empty_list_filters_nothing() -> None:
    assert conditions_of({"tags": ["a", "b"], "module": "m", "chapter": [], "has_code": True}) == conditions_of(
        ["tags=a", "tags=b", "module=m", "has_code=true"]
    )


@pytest.mark.parametrize("written", ["metadata.order=2", "metadata.order=2.0", "metadata.order= 2"])
def test_a_whole_number_is_the_same_with_and_without_a_decimal_zero(written: str) -> None:
    (wanted,) = conditions_of([written])
    for value in (2, 2.0, "2", "2.0"):
        assert wanted.holds({label("metadata.order", value)}, {})


@pytest.mark.parametrize(("written", "other"), [("1.10", "1.1"), ("01234", "1234"), ("12e4567", "inf"), ("1_0", "10")])
def test_other_values_are_compared_as_they_are_written(written: str, other: str) -> None:
    (wanted,) = conditions_of([f"metadata.version={written}"])
    assert wanted.holds({label("metadata.version", written)}, {})
    assert not wanted.holds({label("metadata.version", other)}, {})


@pytest.mark.parametrize("value", [{"gte": 2}, [None]])
def test_a_value_that_cannot_be_compared_is_refused(value: object) -> None:
    with pytest.raises(BadRequest, match="is not a value"):
        conditions_of({"module": value})


def test_null_filters_nothing() -> None:
    assert conditions_of(None) == conditions_of({"chapter": None}) == ()
    assert conditions_of([{"field": "chapter", "operator": "eq", "value": None}]) == ()


@pytest.mark.parametrize(
    ("operator", "value", "written"),
    [
        ("eq", 2020, ["metadata.year=2020"]),
        ("in", [2020, 2021], ["metadata.year=2020", "metadata.year=2021"]),
        ("range", {"gte": 2020, "lte": None}, ["metadata.year>=2020"]),
        ("range", {"gte": 2020, "lte": "2024"}, ["metadata.year>=2020", "metadata.year<=2024"]),
    ],
)
def test_a_filter_may_name_its_operator(operator: str, value: object, written: list[str]) -> None:
    assert conditions_of([{"field": "metadata.year", "operator": operator, "value": value}]) == conditions_of(written)


def test_a_year_is_a_year_and_a_single_filter_is_one() -> None:
    assert conditions_of("timestamp>=1971") == (Between("timestamp", 31_536_000.0, None),)


def test_too_many_filters_are_refused() -> None:
    with pytest.raises(BadRequest, match="more than 100 filters"):
        conditions_of(["tags=a"] * 101)


def test_a_where_needs_every_condition_and_any_value() -> None:
    where = Where(SCOPE, frozenset({Reader("public")}), (AnyOf("tags", frozenset({"a", "b"})), Between("time", 1, 2)))
    seen = {Label("access=public"), Label("tags=b")}
    assert where.admits(seen, {"time": 1.0})
    assert not where.admits(seen, {"time": 3.0})
    assert not where.admits(seen, {})
    assert not where.admits({Label("tags=b")}, {"time": 1.0})
    assert not where.admits({Label("access=public")}, {"time": 1.0})
    assert Where(SCOPE, None).admits(set(), {})
