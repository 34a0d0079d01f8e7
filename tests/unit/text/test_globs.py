"""Patterns as in .gitignore: the rules of git, and no pattern that takes long."""

import time

import pytest

from citewise.errors import BadRequest
from citewise.text.globs import MAX_PATTERN, MAX_PATTERNS, Glob, Globs
from tests.growth import assert_linear

MATCHES: tuple[tuple[str, list[str], list[str]], ...] = (
    # pattern, paths of files that it names, others that it does not
    ("*.md", ["a.md", "x/.md", "x/y/b.md"], ["a.mdx", "amd", "a.md/b"]),
    ("a*b*c", ["abc", "a-bb-c"], ["ab/c", "acb"]),
    ("/a.md", ["a.md"], ["x/a.md"]),
    ("x/a.md", ["x/a.md"], ["y/x/a.md", "a.md"]),
    ("x/*", ["x/a", "x/.a"], ["x/a/b", "x"]),
    ("x/*/b", ["x/a/b"], ["x/b", "x/a/a/b"]),
    ("**/b", ["b", "a/b", "a/a/b"], ["ab", "a/ab"]),
    ("a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
    ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "b"]),
    ("**/a/**/**/b/**", ["a/b/c", "x/a/y/z/b/c/d"], ["a/b", "b/a/c"]),
    ("x**y", ["xy", "x-y"], ["x/y"]),
    ("z/x**y/b", ["z/xy/b", "z/x-y/b"], ["z/x/y/b"]),
    ("*", ["a", "a/b"], []),
    ("**", ["a", "a/b"], []),
    ("?.md", ["a.md", "é.md", "🎉.md"], [".md", "ab.md"]),
    ("a?b", ["a-b"], ["a/b", "ab"]),
    ("x/a?b", ["x/a-b"], ["x/a/b"]),
    ("[a-cx].md", ["b.md", "x.md"], ["d.md", "-.md"]),
    ("[!a-c]", ["d", "é"], ["a"]),
    ("[^a-c]", ["d"], ["b"]),
    ("[]a]", ["]", "a"], ["b"]),
    ("[!]]", ["a"], ["]"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[--0]", ["-", ".", "0"], ["/", "1"]),
    (r"[\]-a]", ["]", "^", "a"], ["-", "b"]),
    ("[[:digit:]_][[:upper:]]", ["1A", "_Z"], ["1a", "a1", ":A"]),
    ("[[:alpha:]", [], ["a", "[", "l"]),
    ("[[:alfa:]]", [], ["a"]),
    ("[[:]", ["[", ":"], ["]"]),
    ("x/a[/]b", [], ["x/a/b", "x/ab"]),
    ("[a", [], ["[a", "a"]),
    ("a\\", [], ["a", "a\\"]),
    (r"\#x", ["#x"], ["x"]),
    (r"\!x", ["!x"], ["x"]),
    (r"a\*b", ["a*b"], ["a-b"]),
    (r"\\?", ["\\a"], ["\\", "?"]),
    ("a.md  \r", ["a.md"], []),
    ("a\\  ", ["a "], ["a", "a  "]),
    ("a\\\\ ", ["a\\"], ["a\\ "]),
    ("//a", [], ["a", "x/a"]),
    ("x/", [], ["x"]),
)


@pytest.mark.parametrize(("pattern", "named", "others"), MATCHES)
def test_a_pattern_names_what_git_says(pattern: str, named: list[str], others: list[str]) -> None:
    rules = Globs.of([pattern])
    assert [path for path in [*named, *others] if rules.verdict(path, is_folder=False)] == named


@pytest.mark.parametrize("line", ["", "# x", "!", "/", "!/", "   ", "[a", "\\", "[[:nothing:]]"])
def test_what_can_match_nothing_is_no_pattern(line: str) -> None:
    assert Glob.of(line) is None


COVERS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("hr/", ["hr/a.md", "x/hr/y/a.md"], ["hr", "x/hr", "hrs/a.md"]),
    ("/hr", ["hr", "hr/a.md"], ["x/hr/a.md", "hrs"]),
    ("x/*/z", ["x/y/z", "x/y/z/a.md"], ["x/y/a.md", "x/y/zz/a.md"]),
    ("x/**", ["x/a", "x/a/b"], ["x", "y/x/a"]),
    ("**/b/c/", ["b/c/a.md", "x/b/c/y/a.md"], ["b/c", "b/a.md"]),
)


@pytest.mark.parametrize(("pattern", "covered", "others"), COVERS)
def test_a_pattern_covers_a_file_and_what_is_below_a_folder(
    pattern: str, covered: list[str], others: list[str]
) -> None:
    glob = Glob.of(pattern)
    assert glob is not None
    assert list(filter(glob.covers, [*covered, *others])) == covered


def test_a_pattern_that_no_path_could_need_is_refused() -> None:
    assert Glob.of("a" * MAX_PATTERN)
    with pytest.raises(BadRequest, match="4,097 characters: at most 4,096"):
        Glob.of("a" * (MAX_PATTERN + 1))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 12 + "*b", "a" * 40),
        ("x/" + "*a" * 12 + "*b", "x/" + "a" * 40),
        ("**/a/" * 12 + "b", "a/" * 30 + "c"),
        ("**/*a*/" * 12 + "b", "aaa/" * 30 + "c"),
        ("[ab]*" * 12 + "c", "ab" * 20),
    ],
)
def test_a_pattern_of_many_stars_takes_no_time(pattern: str, path: str) -> None:
    glob = Glob.of(pattern)
    assert glob is not None
    started = time.thread_time()
    for _ in range(100):
        assert not glob.covers(path)
    assert time.thread_time() - started < 5  # a backtracking matcher needs years for the first


@pytest.mark.parametrize("pattern", ["*a" * 500 + "*b", "/**/" + "a*/**/" * 300 + "b", "/a/" + "*[!b]" * 400 + "/b"])
@pytest.mark.parametrize("piece", ["a", "a/", "aab/"])
def test_the_time_grows_with_the_length_of_the_path(pattern: str, piece: str) -> None:
    glob = Glob.of(pattern)
    assert glob is not None
    assert_linear(glob.covers, piece, characters=20_000)


def test_more_patterns_than_anybody_needs_are_refused() -> None:
    assert Globs.of(["a"] * MAX_PATTERNS + ["# a comment"])
    with pytest.raises(BadRequest, match="5,001 patterns: at most 5,000"):
        Globs.of(["a"] * (MAX_PATTERNS + 1))
