"""Files below a folder, as git would list them. What they say is left to the parsers."""

import errno
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from citewise.errors import BadData, BadRequest
from citewise.model.document import FileProblem, Item
from citewise.text.globs import Glob, Globs

if TYPE_CHECKING:
    from citewise.adapters.folder.site import Site

_VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
# Folders of other people's files, left out unless --include names them.
_VENDORED = frozenset({"bower_components", "jspm_packages", "node_modules", "third-party", "third_party", "vendor"})
_VENDORED |= {"__pycache__", "site-packages", "venv", "virtualenv"}  # Python's
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")  # control characters, and bytes that were not UTF-8
_MAX_NAMES = 64  # of one file, by hard links; 48 hourly, daily and monthly copies of a tree have fewer
_IGNORE_FILE_BYTES = 1_000_000  # a larger .gitignore was not written by a person
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe without a writer must not block


@dataclass(frozen=True, slots=True)
class _FolderEntry:
    """A name in a folder, with the ignore files that apply to it, the nearest first."""

    path: str
    status: os.stat_result | OSError  # of a link itself, not of its target
    ignores: tuple[Globs, ...]

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


_Rules: TypeAlias = "tuple[Globs, ...] | FileProblem"  # the ignore files of what is in a folder, or why it is left out


class FolderSource:
    """Lists the files of a folder and reads them.

    `.gitignore` files count from the root downward; those above it are not read, so that the same folder gives the
    same files wherever it lies. `include` and `exclude` are written like .gitignore lines, relative to the root.
    Hidden and vendored folders are left out unless an include names them; such an include adds to the listing what it
    matches, and any other limits the listing to what one of them matches. `only` limits it to the named files and
    folders; a path that does not exist is not mentioned.

    A symbolic link is left out if its target is, a hard link if an ignore file or an exclude leaves out another name of
    its file in the source; else their items know the other names.
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
        site: "Site | FileProblem | None" = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._media_types = media_types
        self._include = Globs.of(include)
        self._exclude = Globs.of(exclude)
        self._max_file_bytes = max_file_bytes
        self._own = tuple(os.path.realpath(own) for own in own_folders)
        self._children = None if only is None else _children(only)
        self._site = site
        if any(_is_below(self._root, own) for own in self._own):
            raise BadRequest(f"{root} is inside the library itself: name the folder with your documents")

    def items(self) -> Iterator[Item | FileProblem]:
        """Every file, in the order of its path's code points, as an Item or as a FileProblem with the reason.

        What is wrong with the site's configuration comes first.
        """
        try:
            pending = self._entries("", ())
        except (OSError, BadData) as error:
            raise BadRequest(f"the folder {self._root} cannot be read: {_why(error)}") from error
        return self._published(self._named(self._walked(pending)))

    def read(self, item: Item) -> bytes:
        """The file's bytes. Raises BadData if it has become unreadable, too large, or a link to something else."""
        return read_below(self._root, item.path, limit=self._max_file_bytes, targets=item.aliases)

    def _published(self, entries: Iterable[Item | FileProblem]) -> Iterator[Item | FileProblem]:
        """The entries, with what the site says of them."""
        site = self._site
        if isinstance(site, FileProblem):
            yield site
            yield from (entry for entry in entries if entry.path != site.path)
        elif site is None:
            yield from entries
        else:
            for entry in entries:
                yield replace(entry, metadata=site.metadata(entry.path)) if isinstance(entry, Item) else entry

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

    def _entries(self, prefix: str, ignores: tuple[Globs, ...]) -> list[_FolderEntry]:
        """What is in a folder, the last path first."""
        folder = os.path.join(self._root, prefix)
        wanted = None if self._children is None else self._children.get(prefix)
        names = os.listdir(folder) if wanted is None else wanted
        applying = (*self._ignore_file(prefix), *ignores)
        statuses = ((name, _status_of(folder + name)) for name in names)
        entries = [_FolderEntry(prefix + name, status, applying) for name, status in statuses if status is not None]
        return sorted(entries, key=lambda entry: entry.shown, reverse=True)

    def _ignore_file(self, prefix: str) -> tuple[Globs, ...]:
        path = f"{prefix}.gitignore"
        status = _status_of(os.path.join(self._root, path))
        if isinstance(status, OSError):
            raise status
        if status is None or stat.S_ISDIR(status.st_mode):
            return ()
        try:
            data = read_below(self._root, path, limit=_IGNORE_FILE_BYTES)
            return (Globs.of(data.decode("utf-8-sig", "surrogateescape").split("\n"), prefix=prefix),)
        # Going on without the rules could ingest what its owner meant to leave out.
        except BadRequest as error:
            raise BadData(f"its .gitignore: {error}") from error
        except BadData as error:
            raise BadData(f"its .gitignore {error}") from error

    def _named(self, entries: Iterable[Item | FileProblem]) -> Iterator[Item | FileProblem]:
        """The entries, once the other names of linked files are known."""
        listed = list(entries)
        linked = self._hard_links([entry.path for entry in listed if isinstance(entry, Item) and entry.is_linked])
        known = {"": self._rules_below("", ())}
        for entry in listed:
            if isinstance(entry, Item) and (entry.aliases or entry.is_linked):
                yield self._with_names(entry, linked.get(entry.path, []), known)
            else:
                yield entry

    def _with_names(self, item: Item, hard_links: list[str], known: dict[str, _Rules]) -> Item | FileProblem:
        if len(hard_links) > _MAX_NAMES:
            names = f"{len(hard_links):,} names in the source; at most {_MAX_NAMES} are compared"
            return FileProblem(item.path, f"hard link to a file with {names}")
        others = [path for path in dict.fromkeys((*item.aliases, *hard_links)) if path != item.path]
        for path in others:
            left_out, is_target = self._rules_at(path, known), path in item.aliases
            if isinstance(left_out, FileProblem):
                is_choice = left_out.reason.startswith(("ignored", "excluded"))
                # Of hard links none is the target: a snapshot in a hidden folder says nothing about the others.
                if is_target or is_choice or left_out.is_unseen:
                    is_verb = left_out.reason.startswith(("ignored", "excluded", "not included"))
                    why = left_out.reason if is_verb else f"left out: {left_out.reason}"
                    kind = "symbolic" if is_target else "hard"
                    return FileProblem(item.path, f"{kind} link to a file that is {why}", is_unseen=left_out.is_unseen)
        return replace(item, aliases=tuple(others))

    def _rules_at(self, path: str, known: dict[str, _Rules]) -> _Rules:
        """Why a path is left out, or else its ignore files, whatever part of the source is listed."""
        rules = known[""]
        for at in (*_folders_above(path), path):
            if isinstance(rules, FileProblem):
                break
            if at not in known:
                entry = _FolderEntry(at, _status_of(os.path.join(self._root, at)) or FileNotFoundError(), rules)
                known[at] = self._skipped(entry) or (rules if at == path else self._rules_below(f"{at}/", rules))
            rules = known[at]
        return rules

    def _rules_below(self, prefix: str, above: tuple[Globs, ...]) -> _Rules:
        try:
            return (*self._ignore_file(prefix), *above)
        except (OSError, BadData) as error:
            return FileProblem(prefix, f"folder cannot be read: {_why(error)}", is_unseen=True)

    def _hard_links(self, paths: Iterable[str]) -> dict[str, list[str]]:
        """All names in the source of the files at these paths; folders that are left out are searched as well."""
        identities: dict[str, tuple[int, int]] = {}
        for path in paths:
            with suppress(OSError):  # gone since: reading it will say so
                identities[path] = _identity(os.stat(os.path.join(self._root, path)))
        names: dict[tuple[int, int], list[str]] = {identity: [] for identity in identities.values()}
        pending = [""] if names else []
        while pending:
            prefix = pending.pop()
            folder = os.path.join(self._root, prefix)
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(f"{prefix}{entry.name}/")
                    elif isinstance(status := _status_of(folder + entry.name), os.stat_result):
                        names.get(_identity(status), []).append(prefix + entry.name)
        return {path: sorted(names[identity]) for path, identity in identities.items()}

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
        is_named = any(entry.name in _names_left_out(rule) for rule in self._include.rules)
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
        is_limited = not all(map(_names_left_out, included))
        if is_limited or any(map(_is_left_out, entry.path.split("/")[:-1])):
            return f"not included by --include {', '.join(rule.pattern for rule in reversed(included))}"
        return None

    def _file(self, entry: _FolderEntry) -> Item | FileProblem:
        try:
            status, target = self._status(entry)
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
            kind, is_linked = self._media_types[suffix], status.st_nlink > 1
            return Item(entry.path, status.st_size, kind, aliases=target, is_linked=is_linked)
        return FileProblem(entry.path, reason, is_unseen=is_too_large)

    def _status(self, entry: _FolderEntry) -> tuple[os.stat_result, tuple[str, ...]]:
        """The status of a file, or of the target of a link and its path. Raises BadData if it must not be followed."""
        if isinstance(entry.status, OSError):
            raise BadData(f"cannot be read: {_why(entry.status)}") from entry.status
        if not stat.S_ISLNK(entry.status.st_mode):
            return entry.status, ()
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
        inner = os.path.relpath(target, self._root)
        if not _VERSION_CONTROL.isdisjoint(inner.split("/")):
            raise BadData("symbolic link into version control")
        return status, (inner,)


def _is_left_out(folder: str) -> bool:
    """Whether a folder of this name is hidden or vendored."""
    return folder.startswith(".") or folder in _VENDORED


def _names_left_out(glob: Glob) -> frozenset[str]:
    """The hidden and vendored folders that a pattern names."""
    return frozenset(filter(_is_left_out, glob.pattern.strip("!/").split("/")))


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


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def read_below(root: str, path: str, *, limit: int, targets: tuple[str, ...] | None = None) -> bytes:
    """The bytes of a regular file below root, at most `limit` of them. Raises BadData with the reason if not.

    It may be a link to one of the `targets` (None: to any file below root).
    """
    try:
        descriptor = _opened(root, path, targets)
        try:
            return _bytes_of(descriptor, limit)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise BadData(f"cannot be read: {_why(error)}") from error


def _opened(root: str, path: str, targets: tuple[str, ...] | None) -> int:
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
    inner = os.path.relpath(target, top)
    if targets is not None and inner not in targets:
        raise BadData("has become a symbolic link to another file since it was listed")
    return _descended(root, inner)


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
        raise BadData("is not a regular file")
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        data = file.read(min(status.st_size, limit) + 1)
        while len(data) <= limit and (more := file.read(limit + 1 - len(data))):
            data += more
    if len(data) > limit:
        raise BadData(f"has grown beyond the limit of {limit} bytes since it was listed")
    return data


def _megabytes(size: int) -> str:
    return f"{math.ceil(size / 100_000) / 10:.1f}"  # rounded up: over the limit must look so
