"""Anchors must be the ones that Docusaurus writes into the page, or citations point nowhere."""

import pytest

from citewise.text.urls import Slugger


@pytest.mark.parametrize(
    ("title", "anchor"),
    [
        ("Getting Started", "getting-started"),
        ("  What's new in v2.0?  ", "whats-new-in-v20"),
        ("a - b", "a---b"),
        ("two  spaces", "two--spaces"),
        ("snake_case-name", "snake_case-name"),
        ("`useState(initial)`", "usestateinitial"),
        ("C++ & C#", "c--c"),
        ("Привет non-latin 你好", "привет-non-latin-你好"),
        ("Café naïve", "café-naïve"),
        ("cafe\u0301", "cafe\u0301"),
        ("हिन्दी", "हिन्दी"),
        ("😄 emoji", "-emoji"),
        ("Fast Track ⏱️", "fast-track-\ufe0f"),
        ("em\u2014dash \u2013 en", "emdash--en"),
        ("x² ½ Ⅷ ٣", "x--ⅷ-٣"),
        ("Ⓐ circled", "ⓐ-circled"),
        ("non\u00a0breaking\ttab", "nonbreakingtab"),
        ("日本語\uff08注\uff09", "日本語注"),
        ("!?", ""),
    ],
)
def test_a_title_becomes_the_anchor_that_docusaurus_builds(title: str, anchor: str) -> None:
    assert Slugger().anchor(title) == anchor


@pytest.mark.parametrize(
    ("titles", "anchors"),
    [
        (["Foo", "foo", "FOO!"], ["foo", "foo-1", "foo-2"]),
        (["Foo", "Foo 1", "Foo"], ["foo", "foo-1", "foo-2"]),
        (["Foo 1", "Foo", "Foo"], ["foo-1", "foo", "foo-2"]),
        (["Foo", "Foo", "Foo 1"], ["foo", "foo-1", "foo-1-1"]),
        (["", ""], ["", "-1"]),
    ],
)
def test_repeated_titles_are_numbered_around_those_that_exist(titles: list[str], anchors: list[str]) -> None:
    slugger = Slugger()
    assert [slugger.anchor(title) for title in titles] == anchors
