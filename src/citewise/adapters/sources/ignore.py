"""Ignore rules as git reads them: which paths a list of patterns takes out. No file is opened here.

pathspec translates each pattern; which pattern has the last word is decided here, because a walk that never
enters an ignored folder needs to know what a pattern says about one path, not about the folders above it.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from pathspec import GitIgnoreSpec

_EVERYTHING = frozenset({"*", "**", "/**", "**/*", "/**/*"})
_MANY_STARS = re.compile(r"(?<!\\)\*{3,}")  # git reads any run of stars as two


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern: as it was written, and what it matches."""

    pattern: str
    regex: re.Pattern[str]
    keeps: bool  # written with a leading "!"
    folders_only: bool
    open_ended: bool  # speaks of everything below a folder, at any depth

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the pattern speaks of exactly this path, not merely of a folder above it."""
        if self.folders_only and not is_folder:
            return False
        match = self.regex.match if self.open_ended else self.regex.fullmatch
        return match(path) is not None

    def covers(self, path: str) -> bool:
        """Whether the pattern speaks of this file or of a folder above it."""
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return self.matches(path, is_folder=False) or any(self.matches(at, is_folder=True) for at in folders)


@dataclass(frozen=True, slots=True)
class Rules:
    """The patterns of one list, the last one first."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, lines: Iterable[str]) -> Self:
        """Read patterns; comments, blank lines and what git itself cannot read match nothing."""
        read = [rule for rule in map(_rule, lines) if rule is not None]
        return cls(tuple(reversed(read)))

    def verdict(self, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule that speaks of this path."""
        return next((rule for rule in self.rules if rule.matches(path, is_folder=is_folder)), None)


def _rule(line: str) -> Rule | None:
    written = line if line.endswith("\\ ") else line.rstrip(" \r")
    core = _MANY_STARS.sub("**", written.removesuffix("/"))
    try:
        compiled = GitIgnoreSpec.from_lines([core]).patterns
    except ValueError:  # git, too, lets a pattern it cannot read match nothing
        return None
    if not compiled or compiled[0].include is None or compiled[0].regex is None:
        return None
    bare = core.removeprefix("!")
    return Rule(
        pattern=written,
        regex=compiled[0].regex,
        keeps=not compiled[0].include,
        folders_only=written.endswith("/"),
        open_ended=bare in _EVERYTHING or bare.endswith("/**"),
    )
