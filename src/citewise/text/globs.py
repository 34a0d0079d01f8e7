"""Patterns as in .gitignore, in time that grows with the length of the pattern times that of the path.

git's rules, but by characters: `?` is one `é`, where git sees two bytes. No regular expression is involved, since
`*a*a*a*b` has one try for each way to divide a name among its stars. All ways are followed at once instead: the bits of
a number say which places of the pattern are reached.
"""

import string
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Self

from citewise.errors import BadRequest

MAX_PATTERN = 4096  # characters; the longest path that a system call takes
MAX_PATTERNS = 5_000  # of one file or setting; real ones have some dozens

_LETTERS, _DIGITS = frozenset(string.ascii_letters), frozenset(string.digits)
_PUNCTUATION = frozenset(string.punctuation)
_POSIX = {
    "alnum": _LETTERS | _DIGITS,
    "alpha": _LETTERS,
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, (*range(32), 127))),
    "digit": _DIGITS,
    "graph": _LETTERS | _DIGITS | _PUNCTUATION,
    "lower": frozenset(string.ascii_lowercase),
    "print": _LETTERS | _DIGITS | _PUNCTUATION | {" "},
    "punct": _PUNCTUATION,
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "xdigit": frozenset(string.hexdigits),
}


class _Stars(Enum):
    WITHIN = "*"  # anything but a slash
    ACROSS = "**"  # anything
    FOLDERS = "**/"  # any folders, or none


@dataclass(frozen=True, slots=True)
class _Class:
    """One character that is no slash: `[a-z_]`, or `?`, which excludes none."""

    members: frozenset[str] = frozenset()
    ranges: tuple[tuple[str, str], ...] = ()
    excludes: bool = True

    def takes(self, char: str) -> bool:
        is_member = char in self.members or any(first <= char <= last for first, last in self.ranges)
        return is_member != self.excludes


@dataclass(frozen=True, slots=True)
class _Places:
    """The places of a pattern as bits: each character that is taken leads from one to the next."""

    literals: Mapping[str, int]  # where a character is taken
    classes: tuple[tuple[int, _Class], ...]
    within: int  # where a star takes any number of characters
    across: int  # where that may be slashes as well
    skipped: int  # whoever enters here is at the next place, too: `**/` may be nothing
    last: int
    head: str  # what every match begins with
    tail: str  # what every match ends with

    @classmethod
    def of(cls, text: str) -> Self:
        """Raises LookupError or ValueError for what git cannot read."""
        literals: dict[str, int] = {}
        classes: list[tuple[int, _Class]] = []
        loops = dict.fromkeys(_Stars, 0)
        place, tail = 1, ""
        for token in _tokens(text):
            if isinstance(token, _Stars):
                loops[token] |= place
            elif isinstance(token, _Class):
                classes.append((place, token))
            else:
                literals[token] = literals.get(token, 0) | place
            tail = tail + token if isinstance(token, str) else ""
            if token is _Stars.FOLDERS:
                literals["/"] = literals.get("/", 0) | place
            if token not in (_Stars.WITHIN, _Stars.ACROSS):
                place <<= 1
        folders = loops[_Stars.FOLDERS]
        across = loops[_Stars.ACROSS] | folders
        return cls(literals, tuple(classes), loops[_Stars.WITHIN], across, folders, place, _plain(text), tail)

    def match(self, text: str) -> bool:
        if not text.startswith(self.head) or not text.endswith(self.tail):
            return False
        length = len(self.tail)
        if self.last == 1 << length and self.within | self.across in (0, 1):  # `name` and `*.md`, the usual ones
            rest = text[: len(text) - length]
            return not rest or bool(self.across) or (bool(self.within) and "/" not in rest)
        return self._follow(text)

    def match_above(self, path: str) -> bool:
        """Whether a folder above a path matches."""
        return path.startswith(self.head) and self._follow(path, above=True)

    def _follow(self, text: str, *, above: bool = False) -> bool:
        if self.last.bit_length() - self.skipped.bit_count() > len(text) + 1:
            return False  # more characters are needed than there are
        reached = 1 | (self.skipped & 1) << 1
        for char in text:
            taken, stays = self.literals.get(char, 0), self.across
            if char != "/":
                stays |= self.within
                for place, chars in self.classes:
                    taken |= place if chars.takes(char) else 0
            elif above and reached & self.last:
                return True
            entered = (reached & taken) << 1
            reached = reached & stays | entered | (entered & self.skipped) << 1
            if not reached:
                return False
        return not above and bool(reached & self.last)


@dataclass(frozen=True, slots=True)
class Glob:
    """A pattern: as it was written, and what it matches."""

    pattern: str
    keeps: bool  # written with a leading "!"
    folders_only: bool
    is_name: bool  # without a slash inside: the name alone counts, at any depth
    places: _Places

    @classmethod
    def of(cls, line: str) -> Self | None:
        """Read a line; None for a comment, and for what matches nothing. Raises BadRequest if it is too long."""
        written = _trimmed(line)
        if len(written) > MAX_PATTERN:
            raise BadRequest(f"a pattern has {len(written):,} characters: at most {MAX_PATTERN:,} are allowed")
        core = written.removeprefix("!").removesuffix("/")
        if not core or written.startswith("#"):
            return None
        try:
            places = _Places.of(core.removeprefix("/"))
        except (LookupError, ValueError):
            return None
        return cls(written, written.startswith("!"), written.endswith("/"), "/" not in core, places)

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the pattern names exactly this path, not merely a folder above it."""
        if self.folders_only and not is_folder:
            return False
        return self.places.match(path.rpartition("/")[2] if self.is_name else path)

    def covers(self, path: str) -> bool:
        """Whether the pattern names this file or a folder above it."""
        if self.matches(path, is_folder=False):
            return True
        return any(map(self.places.match, path.split("/")[:-1])) if self.is_name else self.places.match_above(path)


@dataclass(frozen=True, slots=True)
class Globs:
    """A list of patterns, the last first, and the folder they are relative to ("" or "docs/")."""

    rules: tuple[Glob, ...] = ()
    prefix: str = ""

    @classmethod
    def of(cls, lines: Iterable[str], *, prefix: str = "") -> Self:
        """Read patterns; comments, blank lines and what git itself cannot read match nothing."""
        rules = [rule for rule in map(Glob.of, lines) if rule is not None]
        if len(rules) > MAX_PATTERNS:  # each costs every path below it about 20 microseconds
            raise BadRequest(f"{len(rules):,} patterns: at most {MAX_PATTERNS:,} are read")
        return cls(tuple(reversed(rules)), prefix)

    def verdict(self, path: str, *, is_folder: bool) -> Glob | None:
        """The last rule that names this path."""
        inner = path[len(self.prefix) :]
        return next((rule for rule in self.rules if rule.matches(inner, is_folder=is_folder)), None)


def _trimmed(line: str) -> str:
    """A line without its end and the spaces before it; a space behind a backslash stays."""
    line = line.removesuffix("\r")
    bare = line.rstrip(" ")
    is_escaped = (len(bare) - len(bare.rstrip("\\"))) % 2 == 1
    return line[: len(bare) + 1] if is_escaped else bare


def _plain(text: str) -> str:
    """What comes before the first character with a meaning."""
    return text[: next((at for at, char in enumerate(text) if char in "*?[\\"), len(text))]


def _tokens(text: str) -> Iterator[str | _Class | _Stars]:
    at, before = 0, None
    while at < len(text):
        token, at = _token(text, at)
        if not token is before is _Stars.FOLDERS:  # `**/**/` is `**/`
            yield token
        before = token


def _token(text: str, at: int) -> tuple[str | _Class | _Stars, int]:
    """What stands at a place, and where the next begins."""
    match text[at]:
        case "*":
            return _stars(text, at)
        case "?":
            return _Class(), at + 1
        case "[":
            return _bracket(text, at + 1)
        case "\\":
            return text[at + 1], at + 2
        case plain:
            return plain, at + 1


def _stars(text: str, start: int) -> tuple[_Stars, int]:
    end = start
    while text[end : end + 1] == "*":
        end += 1
    # git takes what is plain off the front first, so that `a**/b` is read like `**/b`, against its manual.
    begins = text[start - 1] == "/" or start == len(_plain(text)) if start else True
    if end - start == 1 or not begins:
        return _Stars.WITHIN, end
    if text[end : end + 1] == "/":
        return _Stars.FOLDERS, end + 1
    return (_Stars.ACROSS if end == len(text) or text.startswith("\\/", end) else _Stars.WITHIN), end


def _bracket(text: str, at: int) -> tuple[_Class, int]:
    """The class whose inside begins at a place; as its first character, a closing bracket is a member."""
    excludes = text[at] in "!^"
    at += excludes
    members: set[str] = set()
    ranges: list[tuple[str, str]] = []
    before, start = "", at  # what a range could begin with
    while at == start or text[at] != "]":
        if name := _posix_name(text, at):
            members |= _POSIX[name]
            before, at = "", at + len(f"[:{name}:]")
            continue
        if text[at] == "-" and before and text[at + 1] != "]":
            at += 1 + (text[at + 1] == "\\")
            ranges.append((before, text[at]))
            before = ""
        else:
            at += text[at] == "\\"
            before = text[at]
            members.add(before)
        at += 1
    return _Class(frozenset(members), tuple(ranges), excludes), at + 1


def _posix_name(text: str, at: int) -> str | None:
    """`digit` where `[:digit:]` stands."""
    if not text.startswith("[:", at):
        return None
    end = text.index("]", at + 2)
    return text[at + 2 : end - 1] if end > at + 2 and text[end - 1] == ":" else None
