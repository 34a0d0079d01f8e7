"""Who may read a document."""

from collections.abc import Callable

import pytest

from citewise.errors import BadRequest, Misconfigured
from citewise.ingest.policy import Rules, access_of, with_access, with_default, with_inherited, with_patterns
from citewise.model.access import Access
from citewise.model.document import AccessRule, SourceRef

HR, OPS, PUBLIC, PROJECT = (Access.of([rule]) for rule in ("group:hr", "group:ops", "public", "project"))
NOBODY = Access(frozenset())
SOURCE = with_default(SourceRef("", "../docs"), ())
Step = Callable[[SourceRef], SourceRef]


def said(rule: str, part: str = "") -> Step:
    return lambda source: with_access(source, part, (rule,), widen=False)


def widened(rule: str, part: str = "") -> Step:
    return lambda source: with_access(source, part, (rule,), widen=True)


def patterns(**by_path: str) -> Step:
    return lambda source: with_patterns(source, {pattern: (rule,) for pattern, rule in by_path.items()})


def default(rule: str) -> Step:
    return lambda source: with_default(source, (rule,))


def held(rule: str, part: str) -> Step:
    return lambda source: with_inherited(source, [AccessRule(part, (rule,), "inherited", reason="moved")])


@pytest.mark.parametrize(
    ("steps", "path", "access"),
    [
        ([], "a.md", PROJECT),
        ([default("group:hr")], "a.md", HR),  # narrower settings count for a source that was given no rule
        ([default("public")], "a.md", PROJECT),
        ([widened("public"), default("group:hr")], "a.md", PUBLIC),
        ([said("group:hr")], "a.md", HR),
        ([said("public")], "a.md", PROJECT),
        ([said("group:hr"), said("project")], "a.md", HR),
        ([said("group:hr"), said("group:ops")], "a.md", NOBODY),
        ([said("group:hr"), widened("group:ops")], "a.md", OPS),
        ([said("group:hr", "hr")], "hr/a.md", HR),
        ([said("group:hr", "hr")], "hrs/a.md", PROJECT),
        ([said("group:hr", "hr"), said("project")], "hr/a.md", HR),
        ([said("group:hr", "hr"), widened("public")], "hr/a.md", HR),  # the rule of a part below stays
        ([said("group:hr", "hr"), widened("public")], "a.md", PUBLIC),
        ([said("group:hr", "hr"), widened("public", "hr")], "hr/a.md", PUBLIC),
        ([said("group:hr"), widened("public", "pub")], "pub/a.md", PUBLIC),
        ([said("group:hr"), widened("public", "pub"), said("group:hr")], "pub/a.md", PUBLIC),  # said again
        ([said("group:hr"), widened("public", "pub"), said("owner:ann")], "pub/a.md", Access.of(["owner:ann"])),
        ([widened("public", "pub"), said("group:hr")], "pub/a.md", HR),
        ([widened("public", "pub"), said("group:hr"), widened("project")], "pub/a.md", PROJECT),
        ([widened("public", "a/b"), said("group:hr"), widened("project", "a")], "a/b/c.md", PROJECT),
        ([patterns(hr="group:hr")], "deep/hr/a.md", HR),
        ([patterns(hr="group:hr"), patterns()], "hr/a.md", HR),  # remembered
        ([patterns(hr="group:hr"), patterns(pub="public")], "hr/a.md", HR),  # it goes on narrowing
        ([patterns(pub="public"), patterns(hr="group:hr")], "pub/a.md", PROJECT),  # it opens nothing any more
        ([patterns(hr="group:hr"), patterns(hr="project")], "hr/a.md", PROJECT),  # changed, in words
        ([patterns(hr="group:hr", a="public")], "hr/a", HR),  # the first counts
        ([patterns(a="public", hr="group:hr")], "hr/a", PUBLIC),
        ([patterns(hr="group:hr"), patterns(hr="group:hr", a="public")], "hr/a", HR),
        ([said("group:hr", "hr"), patterns(a="public")], "hr/a", HR),  # no pattern opens a part that was closed
        ([said("group:hr"), patterns(a="public")], "a", PUBLIC),
        ([patterns(a="public"), said("group:hr")], "a", HR),
        ([patterns(a="public"), said("group:hr"), patterns(a="public")], "a", HR),
        ([patterns(a="group:hr"), widened("project", "a")], "a", PROJECT),
        ([held("group:hr", "p")], "p/a.md", HR),
        ([held("group:hr", "p"), widened("project")], "p/a.md", HR),  # not by what is said of all
        ([held("group:hr", "p/a.md"), widened("project", "p")], "p/a.md", PROJECT),
        ([held("group:hr", "p"), patterns(p="public")], "p/a.md", HR),
    ],
)
def test_what_is_said_narrows_until_it_is_widened(steps: list[Step], path: str, access: Access) -> None:
    source = SOURCE
    for step in steps:
        source = step(source)
    assert Rules(source).of(path) == access


@pytest.mark.parametrize(("mount", "path"), [("", "hr/a.md"), ("hr", "a.md"), ("wiki", "hr/a.md"), ("wiki/hr", "a.md")])
def test_a_pattern_covers_a_path_in_the_library_and_a_path_in_the_source(mount: str, path: str) -> None:
    by_path = {"hr/": ("group:hr",), "a.md": ("public",)}
    source = with_patterns(with_default(SourceRef(mount, "../docs"), ()), by_path)
    assert Rules(source).of(path) == HR


@pytest.mark.parametrize("by_path", [{"open/": ("public",)}, {"open/": ("public",), "hr/": ("group:ops",)}])
def test_the_name_of_a_source_opens_nothing(by_path: dict[str, tuple[str, ...]]) -> None:
    source = with_access(SourceRef("open", "../open"), "", ("group:ops",), widen=False)
    assert Rules(with_patterns(source, by_path)).of("hr/a.md") == OPS


def test_what_is_said_again_and_again_is_remembered_once() -> None:
    source = SOURCE
    for _ in range(5):
        for step in (said("group:hr", "hr"), patterns(a="public"), held("group:hr", "p"), default("group:hr")):
            source = step(source)
    assert len(source.access) == 5


def test_everything_that_is_known_narrows_and_gives_its_reason() -> None:
    ruling = access_of(PUBLIC, narrowing=[(PROJECT, "a part"), (PUBLIC, "no reason")], own=("group:hr",))
    assert (ruling.access, ruling.reason, ruling.inherited) == (HR, "a part; narrowed by its own access:", None)
    ruling = access_of(PROJECT, past=[(HR, "its text was there")])
    assert (ruling.access, ruling.reason, ruling.inherited) == (HR, "its text was there", HR)
    ruling = access_of(HR, own=("public",))
    assert (ruling.access, ruling.inherited) == (HR, None)
    assert "asks for public" in ruling.reason
    assert access_of(HR, own=("group:hr",), past=[(PROJECT, "wider")]).reason == ""
    with pytest.raises(BadRequest, match="access rule"):
        access_of(PROJECT, own=("everyone",))


@pytest.mark.parametrize("pattern", ["!hr/", "!", "", "# hr"])
def test_a_pattern_that_names_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(Misconfigured, match="not a pattern"):
        with_patterns(SOURCE, {pattern: ("public",)})
