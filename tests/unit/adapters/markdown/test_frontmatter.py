"""Front matter in all the forms people and generators leave it in."""

import json
from itertools import pairwise

import pytest

from citewise.adapters.markdown.frontmatter import MAX_CHARACTERS, split_front_matter
from citewise.errors import BadRequest
from citewise.model.access import Access
from citewise.model.document import ParsedDocument

FULL = """---
title: A title
description: >
  Two lines
  of it
slug: /
id: 007
sidebar_label: Short
sidebar_position: 2.5
tags: [ros2, 3d]
learning_objectives:
  - Explain: how it works
  - Build one
keywords: [a, 1, true, null]
date: 2024-02-30
updated: 2024-02-03
1: one
---
# Body
"""


def front(inside: str) -> ParsedDocument:
    return split_front_matter(f"---\n{inside}\n---\nbody\n")[0]


def test_every_field_is_read_and_every_other_key_is_kept() -> None:
    found, body_line = split_front_matter(FULL)
    assert (found.title, found.description, found.metadata["slug"]) == ("A title", "Two lines of it", "/")
    assert (found.metadata["id"], found.metadata["sidebar_label"], found.metadata["sidebar_position"]) == (
        "007",
        "Short",
        2.5,
    )
    assert found.tags == ("ros2", "3d")
    assert found.metadata["learning_objectives"] == ("Explain: how it works", "Build one")
    assert found.metadata["keywords"] == ["a", 1, True, None]
    assert (found.metadata["date"], found.metadata["updated"]) == ("2024-02-30", "2024-02-03")
    assert found.metadata["1"] == "one"
    assert (body_line, found.warnings) == (19, ())


@pytest.mark.parametrize(
    ("text", "title", "body_line", "is_warned"),
    [
        ("# Only a body", None, 1, False),
        ("", None, 1, False),
        ("---", None, 1, False),
        ("----\ntitle: x\n----\n", None, 1, False),
        ("---\n---\nbody", None, 3, False),
        ("---\n\n# comment\n---", None, 5, False),
        ("---\ntitle: x\n---", "x", 4, False),
        ("---  \ntitle: x\n---\t\nbody", "x", 4, False),
        ("---\ntitle: x\n...\nbody", "x", 4, False),
        ("---\ntitle:\tx\n---\n", "x", 4, False),
        ("---\ntitle: x\nbody without end", None, 1, True),
        ("---\ntitle: Foo: bar\n---\n", "Foo: bar", 4, True),
        ("---\ntitle: 'it's'\ntags: [a]\n---\n", "it's", 5, True),
        ("---\nseo:\n\tdeep: 1\ntitle: x\n---\n", "x", 6, True),
        ("---\ntitle: @x\n---\n", "@x", 4, True),
        ("---\ntitle: a\ntitle: b\n---\n", "b", 5, True),
        ("---\n- a\n- b\n---\n", None, 1, True),
        ("---\nJust prose between rules.\n---\n", None, 1, True),
        ("---\n[unclosed\n---\n", None, 1, True),
        ("---\ntitle: [unclosed\n---\n", None, 1, True),
        ("---\ntitle: \x00\n---\n", "\x00", 4, True),
    ],
)
def test_the_body_starts_where_the_front_matter_ends(
    text: str, title: str | None, body_line: int, is_warned: bool
) -> None:
    found, line = split_front_matter(text)
    assert (found.title, line, bool(found.warnings)) == (title, body_line, is_warned)


@pytest.mark.parametrize(
    ("typed", "title"),
    [("2024", "2024"), ("1.10", "1.10"), ("2024-01-01", "2024-01-01"), ("on", "on"), ("12:30", "12:30")],
)
def test_a_title_keeps_the_characters_that_were_typed(typed: str, title: str) -> None:
    assert front(f"title: {typed}").title == title


@pytest.mark.parametrize("typed", ["", "null", "~", "''"])
def test_an_empty_title_is_no_title(typed: str) -> None:
    found = front(f"title: {typed}")
    assert (found.title, found.metadata, found.warnings) == (None, {}, ())


@pytest.mark.parametrize(
    ("field", "value"), [("title: [a]", ["a"]), ("tags: {a: 1}", {"a": 1}), ("sidebar_position: x", "x")]
)
def test_a_value_of_another_shape_is_kept_aside_with_a_warning(field: str, value: object) -> None:
    found = front(field)
    assert list(found.metadata.values()) == [value]
    assert len(found.warnings) == 1


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("tags: a, b ,", ("a", "b")),
        ("tags:\n  - a\n  - {label: B, permalink: /b}\n  - 1.0\n  -", ("a", "B", "1.0")),
        ("tags: []", ()),
    ],
)
def test_tags_come_as_a_list_a_comma_string_or_labels(tags: str, expected: tuple[str, ...]) -> None:
    assert front(tags).tags == expected


def test_objectives_in_one_text_are_its_lines() -> None:
    assert front("learning_objectives: |\n  - one\n  - two").metadata["learning_objectives"] == ("one", "two")


@pytest.mark.parametrize(
    ("access", "rules"),
    [
        ("access: public", ("public",)),
        ("access: owner:ann", ("owner:ann",)),
        ("access: [owner:ann, group:ops]", ("owner:ann", "group:ops")),
        ("access:\n  - owner: ann", ("owner:ann",)),
        ("access: {public: true}", ("public",)),
        ("access: {public: false, owner: ann, groups: [a, b]}", ("owner:ann", "group:a", "group:b")),
        ("title: a: b\naccess:\n  - owner:ann", ("owner:ann",)),
        ("Access: owner:ann", ("owner:ann",)),
    ],
)
def test_access_rules_are_flattened(access: str, rules: tuple[str, ...]) -> None:
    found = front(access)
    assert found.access == rules
    assert Access.of(found.access).readers == set(rules)


@pytest.mark.parametrize(
    "access",
    [
        "access:",
        "access: []",
        "access: true",
        "access: nobody",
        "access: {public: false}",
        "access: {public: 'true'}",
        "access: {owner: }",
        "access: {team: ops}",
        "access: [owner:ann, null]",
        "access: [owner:ann",
        "access: {owner: [[ann]]}",
        "access: owner:ann, group:ops",
        "access: public\naccess: owner:ann",
        "access: public\nAccess: owner:ann",
        "access: &a [*a]",
        "title: a: b\naccess: public\naccess: owner:ann",
        "{title: x, access: owner:ann",
        "tab:\tx\n\taccess: group:ops",
        "- access: owner:ann\n-access: x\naccess: y",
        "x: " + "y" * MAX_CHARACTERS + "\naccess: owner:ann",
    ],
)
def test_access_that_cannot_be_read_opens_nothing(access: str) -> None:
    rules = front(access).access
    with pytest.raises(BadRequest):
        Access.of(rules)


def test_access_in_front_matter_that_is_never_closed_opens_nothing() -> None:
    found, body_line = split_front_matter("---\ntitle: x\naccess: owner:ann\n\n# Secret\n")
    assert body_line == 1
    with pytest.raises(BadRequest):
        Access.of(found.access)


def bomb() -> str:
    """Each key is nine times the one before."""
    lines = [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in pairwise("abcdefghijkl")]
    return "\n".join(["a: &a [x, x, x]", *lines, "title: T"])


@pytest.mark.parametrize(
    ("inside", "title"),
    [
        (bomb(), "T"),
        ("a: &a [*a]\ntitle: T", "T"),
        ("title: T\na: &a [" + "x, " * 900 + "x]\n" + "? *a\n: b\n" * 5_000, "T"),
        ("title: T\na: " + "[" * 30_000, "T"),
        ("title: T\na: " + "{a: " * 10_000, "T"),
        ("title: T\n" + "".join(f"k{i}: a: b\n" for i in range(4_000)), "T"),
        ("title: T\nx: " + "y" * MAX_CHARACTERS, None),
    ],
)
def test_hostile_front_matter_is_refused_before_the_time_limit_of_a_test(inside: str, title: str | None) -> None:
    found, body_line = split_front_matter(f"---\n{inside}\n---\nbody")
    assert (found.title, body_line) == (title, inside.count("\n") + 4)
    assert found.warnings
    assert len(json.dumps(dict(found.metadata))) < 100_000


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("!!python/object/apply:os.system ['true']", ["true"]),
        ("!!python/name:os.system x", "x"),
        ("!custom y", "y"),
        ("!!binary aGk=", "aGk="),
        (".inf", ".inf"),
        ("1.10", "1.10"),
        ("01234", "01234"),
        ("12:30", "12:30"),
        ("[2, 2.0, 0.5]", [2, 2.0, 0.5]),
        ("!!int x", "x"),
        ("2024-01-02 03:04:05", "2024-01-02T03:04:05"),
        ("{1: {true: 2024-01-02}}", {"1": {"true": "2024-01-02"}}),
        ("{[1, 2]: x}", {"[1, 2]": "x"}),
    ],
)
def test_tags_and_odd_values_become_harmless_json(typed: str, value: object) -> None:
    assert front(f"k: {typed}").metadata == {"k": value}
