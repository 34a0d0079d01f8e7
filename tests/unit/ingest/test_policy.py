"""Who may read a document."""

import pytest

from citewise.adapters.folder.source import Patterns
from citewise.errors import BadRequest
from citewise.ingest.policy import AccessPolicy
from citewise.model.access import Access
from citewise.model.document import SourceRef

OPS, PUBLIC, PROJECT = Access.of(["group:ops"]), Access.of(["public"]), Access.of(["project"])
SOURCE = SourceRef("", "../docs")
with_rule = AccessPolicy.with_rule


def test_without_any_rule_members_of_the_project_may_read() -> None:
    assert AccessPolicy()(SOURCE, "a.md") == PROJECT
    assert AccessPolicy(("group:ops",))(SOURCE, "a.md") == OPS


def test_the_rule_of_the_innermost_part_counts() -> None:
    source = with_rule(with_rule(SOURCE, ("group:ops",), [""]), ("public",), ["open", "a/b.md"])
    policy = AccessPolicy(("project",))
    paths = ("a/c.md", "open/b.md", "open", "a/b.md", "opened.md")
    assert [policy(source, path) for path in paths] == [OPS, PUBLIC, PUBLIC, PUBLIC, OPS]


def test_a_rule_replaces_the_rules_of_what_lies_below() -> None:
    source = with_rule(SOURCE, ("public",), ["open/deep", "open.md"])
    assert with_rule(source, ("project",), ["open"]).access == (("open.md", ("public",)), ("open", ("project",)))
    assert with_rule(source, ("project",), [""]).access == (("", ("project",)),)


def test_a_pattern_comes_before_the_rule_of_a_part_and_the_own_rule_before_both() -> None:
    (pattern,) = Patterns.of(["ops/**"]).rules
    policy, source = AccessPolicy(by_path=((pattern.covers, OPS),)), with_rule(SOURCE, ("public",), ["ops"])
    assert policy(source, "ops/deep/a.md") == OPS
    assert policy(source, "a.md") == PROJECT
    assert policy(source, "ops/deep/a.md", own=("owner:ann",)) == Access.of(["owner:ann"])


@pytest.mark.parametrize(("mount", "path"), [("", "hr/a.md"), ("hr", "a.md"), ("wiki", "hr/a.md"), ("wiki/hr", "a.md")])
def test_a_pattern_covers_a_path_in_the_library_and_a_path_in_the_source(mount: str, path: str) -> None:
    rules = [Patterns.of([pattern]).rules[0] for pattern in ("hr/", "a.md")]
    policy = AccessPolicy(by_path=tuple(zip((rule.covers for rule in rules), (OPS, PUBLIC), strict=True)))
    assert policy(SourceRef(mount, "../docs"), path) == OPS


@pytest.mark.parametrize("patterns", [["open/"], ["open/", "hr/"]])
def test_the_name_of_a_source_opens_nothing(patterns: list[str]) -> None:
    rules = [Patterns.of([pattern]).rules[0].covers for pattern in patterns]
    policy = AccessPolicy(by_path=tuple(zip(rules, (PUBLIC, OPS), strict=False)))
    source = with_rule(SourceRef("open", "../open"), ("group:ops",), [""])
    assert policy(source, "hr/a.md") == OPS


def test_an_own_rule_that_is_none_is_refused() -> None:
    with pytest.raises(BadRequest, match="access rule"):
        AccessPolicy()(SOURCE, "a.md", own=("everyone",))
