"""Files below a folder, as git would list them. What they say is left to the parsers."""

import errno
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec

from citewise.errors import BadData, BadRequest, Misconfigured
from citewise.model.document import FileProblem, Item

_VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
# Folders of other people's files, left out unless --include names them.
_VENDORED = frozenset({"bower_components", "jspm_packages", "node_modules", "third-party", "third_party", "vendor"})
_VENDORED |= {"__pycache__", "site-packages", "venv", "virtualenv"}  # Python's
_EVERYTHING = frozenset({"*", "**", "/**", "**/*", "/**/*"})
_MANY_STARS = re.compile(r"(?<!\\)\*{3,}")  # git reads any run of stars as two
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, and bytes that were not UTF-8
_IGNORE_FILE_BYTES = 1_000_000  # a larger .gitignore was not written by a person
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe without a writer must not block


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A pattern: as it was written, and what it matches."""

    pattern: str
    regex: re.Pattern[str]
    keeps: bool  # written with a leading "!"
    folders_only: bool
    open_ended: bool  # matches everything below a folder, at any depth

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the pattern names exactly this path, not merely a folder above it."""
        if self.folders_only and not is_folder:
            return False
        match = self.regex.match if self.open_ended else self.regex.fullmatch
        return match(path) is not None

    @property
    def names_left_out(self) -> frozenset[str]:
        """The hidden and vendored folders that the pattern names."""
        return frozenset(filter(_is_left_out, self.pattern.strip("!/").split("/")))

    def covers(self, path: str) -> bool:
        """Whether the pattern names this file or a folder above it."""
        return self.matches(path, is_folder=False) or any(
            self.matches(folder, is_folder=True) for folder in _folders_above(path)
        )


@dataclass(frozen=True, slots=True)
class Patterns:
    """A list of patterns, the last first, and the folder they are relative to ("" or "docs/")."""

    rules: tuple[_Pattern, ...] = ()
    prefix: str = ""

    @classmethod
    def of(cls, lines: Iterable[str], *, prefix: str = "") -> Self:
        """Read patterns; comments, blank lines and what git itself cannot read match nothing."""
        rules = [rule for rule in map(_pattern, lines) if rule is not None]
        return cls(tuple(reversed(rules)), prefix)

    def verdict(self, path: str, *, is_folder: bool) -> _Pattern | None:
        """The last rule that names this path."""
        inner = path[len(self.prefix) :]
        return next((rule for rule in self.rules if rule.matches(inner, is_folder=is_folder)), None)


def covering(pattern: str) -> Callable[[str], bool]:
    """Whether a pattern names a file or a folder above it; for the setting ingest.access_by_path."""
    rule = _pattern(pattern)
    if rule is None:
        raise Misconfigured(f"ingest.access_by_path: {pattern!r} is not a pattern that could match a path")
    return rule.covers


def _pattern(line: str) -> _Pattern | None:
    written = line if line.endswith("\\ ") else line.rstrip(" \r")
    core = _MANY_STARS.sub("**", written.removesuffix("/"))
    try:
        compiled = GitIgnoreSpec.from_lines([core]).patterns
    except ValueError:  # git, too, lets a pattern it cannot read match nothing
        return None
    if not compiled or compiled[0].include is None or compiled[0].regex is None:
        return None
    bare = core.removeprefix("!")
    return _Pattern(
        pattern=written,
        regex=compiled[0].regex,
        keeps=not compiled[0].include,
        folders_only=written.endswith("/"),
        open_ended=bare in _EVERYTHING or bare.endswith("/**"),
    )


@dataclass(frozen=True, slots=True)
class _FolderEntry:
    """A name in a folder, with the ignore files that apply to it, the nearest first."""

    path: str
    status: os.stat_result | OSError  # of a link itself, not of its target
    ignores: tuple[Patterns, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        return not isinstance(self.status, OSError) and stat.S_ISDIR(self.status.st_mode)

    @property
    def shown(self) -> str:
        """The path as a report prints it: a folder ends in a slash, unusable characters are spelled out."""
        # Python hands an undecodable byte over as 0xDC00 + byte.
        plain = _UNUSABLE.sub(lambda character: f"\\x{ord(character.group()) & 0xFF:02x}", self.path)
        return f"{plain}/" if self.is_folder else plain


class FolderSource:
    """Lists the files of a folder and reads them.

    `.gitignore` files count from the root downward; those above it are not read, so that the same folder gives the
    same files wherever it lies. `include` and `exclude` are written like .gitignore lines, relative to the root.
    Hidden and vendored folders are left out unless an include names them; such an include adds to the listing what it
    matches, and any other limits the listing to what one of them matches. `only` limits it to the named files and
    folders; a path that does not exist is not mentioned.
    """

    def __init__(
        self,
        root: Path,
        *,
        media_types: Mapping[str, str],  # by suffix, in lower case
        include: tuple[str, ...] = (),
        exclude: tuple[str, ...] = (),
        max_file_bytes: int,
        own_folders: tuple[Path, ...] = (),
        only: frozenset[str] | None = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._media_types = media_types
        self._include = Patterns.of(include)
        self._exclude = Patterns.of(exclude)
        self._max_file_bytes = max_file_bytes
        self._own = tuple(os.path.realpath(own) for own in own_folders)
        self._children = None if only is None else _children(only)
        if any(_is_below(self._root, own) for own in self._own):
            raise BadRequest(f"{root} is inside the library itself: name the folder with your documents")

    def items(self) -> Iterator[Item | FileProblem]:
        """Every file, in the order of its path's code points, as an Item or as a FileProblem with the reason."""
        try:
            pending = self._entries("", ())
        except (OSError, BadData) as error:
            raise BadRequest(f"the folder {self._root} cannot be read: {_why(error)}") from error
        return self._walked(pending)

    def read(self, item: Item) -> bytes:
        """The file's bytes. Raises BadData if it has become unreadable, too large, or a link out of the root."""
        return _read_below(self._root, item.path, limit=self._max_file_bytes)

    def _walked(self, pending: list[_FolderEntry]) -> Iterator[Item | FileProblem]:
        # A stack instead of recursion: folders may be nested deeper than Python may call.
        while pending:
            entry = pending.pop()
            skipped = self._skipped(entry)
            if skipped is not None:
                yield skipped
            elif not entry.is_folder:
                yield self._file(entry)
            else:
                try:
                    pending += self._entries(f"{entry.path}/", entry.ignores)
                except (OSError, BadData) as error:
                    yield FileProblem(entry.shown, f"folder cannot be read: {_why(error)}", is_unseen=True)

    def _entries(self, prefix: str, ignores: tuple[Patterns, ...]) -> list[_FolderEntry]:
        """What is in a folder, the last path first."""
        folder = os.path.join(self._root, prefix)
        wanted = None if self._children is None else self._children.get(prefix)
        names = os.listdir(folder) if wanted is None else wanted
        applying = (*self._ignore_file(prefix), *ignores)
        statuses = ((name, _status_of(folder + name)) for name in names)
        entries = [_FolderEntry(prefix + name, status, applying) for name, status in statuses if status is not None]
        return sorted(entries, key=lambda entry: entry.shown, reverse=True)

    def _ignore_file(self, prefix: str) -> tuple[Patterns, ...]:
        path = f"{prefix}.gitignore"
        status = _status_of(os.path.join(self._root, path))
        if isinstance(status, OSError):
            raise status
        if status is None or stat.S_ISDIR(status.st_mode):
            return ()
        try:
            data = _read_below(self._root, path, limit=_IGNORE_FILE_BYTES)
        except BadData as error:
            # Going on without the rules could ingest what its owner meant to leave out.
            raise BadData(f"its .gitignore {error}") from error
        return (Patterns.of(data.decode("utf-8-sig", "surrogateescape").split("\n"), prefix=prefix),)

    def _skipped(self, entry: _FolderEntry) -> FileProblem | None:
        reason = self._reason(entry)
        if reason is None and (kind := self._left_out_kind(entry)):
            return FileProblem(entry.shown, f"{kind} folder (add it with --include)", is_by_default=True)
        reason = reason or self._choice_reason(entry)
        return FileProblem(entry.shown, reason) if reason else None

    def _reason(self, entry: _FolderEntry) -> str | None:
        """Why an entry is left out for its name or place, or None."""
        if unusable := _UNUSABLE.findall(entry.name):
            what = "is not valid UTF-8" if max(unusable) >= "\ud800" else "holds a control character"
            return f"{'folder' if entry.is_folder else 'file'} name {what}"
        if entry.name in _VERSION_CONTROL:
            return "version control"
        if os.path.join(self._root, entry.path) in self._own:
            return "the library itself"
        verdicts = (ignore.verdict(entry.path, is_folder=entry.is_folder) for ignore in entry.ignores)
        nearest = next((rule for rule in verdicts if rule is not None), None)
        return "ignored by .gitignore" if nearest is not None and not nearest.keeps else None

    def _left_out_kind(self, entry: _FolderEntry) -> str | None:
        """What kind of folder it is, if it is left out unless an include names it."""
        is_named = any(entry.name in rule.names_left_out for rule in self._include.rules)
        if is_named or not entry.is_folder or not _is_left_out(entry.name):
            return None
        return "vendored" if entry.name in _VENDORED else "hidden"

    def _choice_reason(self, entry: _FolderEntry) -> str | None:
        rule = self._exclude.verdict(entry.path, is_folder=entry.is_folder)
        if rule is not None and not rule.keeps:
            return f"excluded by --exclude {rule.pattern}"
        included = self._include.rules
        if entry.is_folder or any(rule.covers(entry.path) for rule in included):
            return None
        is_limited = not all(rule.names_left_out for rule in included)
        if is_limited or any(map(_is_left_out, entry.path.split("/")[:-1])):
            return f"not included by --include {', '.join(rule.pattern for rule in reversed(included))}"
        return None

    def _file(self, entry: _FolderEntry) -> Item | FileProblem:
        try:
            status = self._status(entry)
        except BadData as error:
            return FileProblem(entry.path, str(error), is_unseen=isinstance(entry.status, OSError))
        suffix = os.path.splitext(entry.name)[1].lower()
        is_too_large = status.st_size > self._max_file_bytes
        if not stat.S_ISREG(status.st_mode):
            reason = "not a regular file"
        elif suffix not in self._media_types:
            reason = f"no parser for {suffix} files" if suffix else "no parser for files without a suffix"
        elif is_too_large:
            limit = f"the limit of {_megabytes(self._max_file_bytes)} MB (raise it with --max-file-mb)"
            reason = f"{_megabytes(status.st_size)} MB is over {limit}"
        elif not status.st_size:
            reason = "empty file"
        else:
            return Item(entry.path, status.st_size, self._media_types[suffix])
        return FileProblem(entry.path, reason, is_unseen=is_too_large)

    def _status(self, entry: _FolderEntry) -> os.stat_result:
        """The status of a file, or of the target of a link. Raises BadData for a link that must not be followed."""
        if isinstance(entry.status, OSError):
            raise BadData(f"cannot be read: {_why(entry.status)}") from entry.status
        if not stat.S_ISLNK(entry.status.st_mode):
            return entry.status
        try:
            target = os.path.realpath(os.path.join(self._root, entry.path), strict=True)
            status = os.stat(target)
        except OSError as error:
            known = {errno.ELOOP: "symbolic link loop", errno.ENOENT: "symbolic link to nothing"}
            other = f"symbolic link that cannot be followed: {_why(error)}"
            raise BadData(known.get(error.errno or 0, other)) from error
        if stat.S_ISDIR(status.st_mode):
            raise BadData("symbolic link to a folder")
        if not _is_below(target, self._root):
            raise BadData("symbolic link points outside the source")
        if any(_is_below(target, own) for own in self._own):
            raise BadData("symbolic link into the library itself")
        if not _VERSION_CONTROL.isdisjoint(os.path.relpath(target, self._root).split("/")):
            raise BadData("symbolic link into version control")
        return status


def _is_left_out(folder: str) -> bool:
    """Whether a folder of this name is hidden or vendored."""
    return folder.startswith(".") or folder in _VENDORED


def _why(error: OSError | BadData) -> str:
    """The reason of the operating system or our own, in words."""
    return (error.strerror or type(error).__name__).lower() if isinstance(error, OSError) else str(error)


def _is_below(path: str, folder: str) -> bool:
    """Whether a resolved path is the folder or is inside it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _folders_above(path: str) -> tuple[str, ...]:
    parts = path.split("/")
    return tuple("/".join(parts[:depth]) for depth in range(1, len(parts)))


def _children(only: frozenset[str]) -> Mapping[str, frozenset[str]]:
    """Which names to look at in each folder; a folder that is wanted itself has no list: all of it is."""
    paths = {os.path.normpath(path) for path in only}
    if any(os.path.isabs(path) or path.split("/")[0] == ".." for path in paths):
        raise BadRequest("only paths below the source can be listed")
    names: dict[str, set[str]] = {} if "." in paths else {"": set()}
    for path in paths:
        above = _folders_above(path)
        if "." not in paths and paths.isdisjoint(above):
            for inside, child in zip(("", *above), (*above, path), strict=True):
                names.setdefault(f"{inside}/" if inside else "", set()).add(child.rpartition("/")[2])
    return {folder: frozenset(children) for folder, children in names.items()}


def _status_of(path: str) -> os.stat_result | OSError | None:
    """The status of a path, without following a link; None if nothing is there."""
    try:
        return os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error


def _read_below(root: str, path: str, *, limit: int) -> bytes:
    """The bytes of a regular file below root, at most `limit` of them. Raises BadData with the reason if not."""
    try:
        descriptor = _opened(root, path)
        try:
            return _bytes_of(descriptor, limit)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BadData(f"cannot be read: {_why(error)}") from error


def _opened(root: str, path: str) -> int:
    """Open a file folder by folder, so that no link leads out of the root; only its last name may be a link inside."""
    try:
        return _descended(root, path)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
    top = os.path.realpath(root)
    target = os.path.realpath(os.path.join(top, path), strict=True)
    if not _is_below(target, top):
        raise BadData("symbolic link points outside the source")
    return _descended(root, os.path.relpath(target, top))


def _descended(root: str, path: str) -> int:
    *folders, name = path.split("/")
    at = os.open(root, _OPEN_FOLDER)
    try:
        for folder in folders:
            deeper = os.open(folder, _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(name, _OPEN_FILE, dir_fd=at)
    finally:
        os.close(at)


def _bytes_of(descriptor: int, limit: int) -> bytes:
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise BadData("not a regular file")
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        data = file.read(min(status.st_size, limit) + 1)
        while len(data) <= limit and (more := file.read(limit + 1 - len(data))):
            data += more
    if len(data) > limit:
        raise BadData(f"has grown beyond the limit of {limit} bytes since it was listed")
    return data


def _megabytes(size: int) -> str:
    return f"{math.ceil(size / 100_000) / 10:.1f}"  # rounded up: over the limit must look so
