"""Scopes, access rules and principals."""

from typing import Any

import pytest

from citewise.errors import BadRequest
from citewise.model.access import OWNER, PROJECT, PUBLIC, Access, Principal, Reader, Scope


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a b", "-x", "x" * 65, "a\nb", "a=b"])
def test_names_that_could_leave_their_folder_are_refused(name: str) -> None:
    with pytest.raises(BadRequest):
        Scope(name)
    with pytest.raises(BadRequest):
        Access.of([f"group:{name}"])


@pytest.mark.parametrize("name", [None, 5, b"acme"])
def test_a_name_that_is_no_text_is_refused(name: Any) -> None:
    with pytest.raises(BadRequest, match="usable name"):
        Scope(name)


def test_rules_add_up_and_none_means_the_project() -> None:
    assert Access.of(["public", " owner:ann ", "group:ops"]).readers == {PUBLIC, "owner:ann", "group:ops"}
    assert Access.of([]).readers == {PROJECT}


@pytest.mark.parametrize("rule", ["everyone", "public:x", "group", "group:", "user:ann", ""])
def test_unknown_rules_are_refused(rule: str) -> None:
    with pytest.raises(BadRequest, match=r"access rule|usable name"):
        Access.of([rule])


@pytest.mark.parametrize("groups", [None, 5, "ops", [["ops"]], [None], b"ops"])
def test_groups_that_are_not_several_names_are_refused(groups: Any) -> None:
    with pytest.raises(BadRequest, match=r"several names|usable name"):
        Principal(groups=groups)


def test_who_counts_as_which_reader() -> None:
    assert OWNER.readers is None
    assert Principal().readers == frozenset({PUBLIC})
    assert Principal(user="ann").readers == frozenset({PUBLIC, PROJECT, Reader("owner:ann")})
    assert Principal(groups=frozenset({"ops"})).readers == frozenset({PUBLIC, PROJECT, Reader("group:ops")})


@pytest.mark.parametrize(
    ("rule", "other", "both"),
    [
        (["public"], ["project"], ["project"]),
        (["public", "group:ops"], ["group:hr"], ["group:hr"]),
        (["project"], ["owner:ann"], ["owner:ann"]),
        (["group:ops", "group:hr"], ["group:hr", "owner:ann"], ["group:hr"]),
        (["group:ops"], ["group:ops"], ["group:ops"]),
    ],
)
def test_a_narrowed_rule_admits_whom_both_admit(rule: list[str], other: list[str], both: list[str]) -> None:
    assert Access.of(rule).narrowed(Access.of(other)) == Access.of(other).narrowed(Access.of(rule)) == Access.of(both)


def test_two_groups_narrow_to_nobody() -> None:
    assert not Access.of(["group:ops"]).narrowed(Access.of(["group:hr"])).readers
