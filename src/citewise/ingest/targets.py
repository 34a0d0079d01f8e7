"""Which source a path belongs to, and what its documents' paths start with."""

import logging
import os
import re
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from citewise.errors import BadRequest, PathNotFound, shown
from citewise.ingest.policy import with_access, with_default, with_patterns
from citewise.model.access import Access, Scope, checked_name
from citewise.model.document import SourceRef
from citewise.ports.catalog import Catalog

_log = logging.getLogger(__name__)

UNNAMED = "."  # names the first source of a scope, whose documents' paths start with nothing


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What a caller may say about an ingestion besides its paths."""

    scope: Scope = field(default_factory=Scope)
    access: tuple[str, ...] = ()  # a rule for these paths, which can only narrow what they had; empty: as it was
    widen: bool = False  # the rule replaces what they had
    corpus_type: str | None = None  # None: decided by the path
    name: str | None = None  # of the source; its documents' paths start with it
    prune: bool = False  # remove what is gone from disk even if it is more than half of a source

    @classmethod
    def of(
        cls,
        *,
        scope: Scope | None = None,
        access: str | Iterable[str] = (),
        widen: bool = False,
        prune: bool = False,
        **others: str | None,
    ) -> Self:
        """As callers give them: no scope is the default one, and a single rule may stand alone."""
        rules = (access,) if isinstance(access, str) or not isinstance(access, Iterable) else tuple(access)
        return cls(Scope() if scope is None else Scope.checked(scope), rules, widen, prune=prune, **others)

    def __post_init__(self) -> None:
        others = self.name or "", self.corpus_type or ""
        if not all(isinstance(text, str) for text in (*self.access, *others)):
            raise BadRequest(
                f"access, name and corpus_type are text, not {shown((*self.access, *filter(None, others)))}"
            )
        Access.of(self.access)
        if self.widen and not self.access:
            raise BadRequest("widening needs the rule that is meant: say who may read, with --access RULE --widen")
        if self.name is not None and ".." in self.name.split("/"):
            _mount_named(self.name)
        if self.corpus_type is not None and re.fullmatch(r"[A-Z]+(_[A-Z]+)+", self.corpus_type) is None:
            raise BadRequest(f"corpus type {self.corpus_type!r} is not valid: write it like DOC_TEXTBOOK")


@dataclass(frozen=True, slots=True)
class AccessDefaults:
    """What the settings say about access: of every source, and of paths by patterns."""

    access: tuple[str, ...] = ()
    by_path: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """What is ingested: a source, or parts of it, into a scope."""

    scope: Scope
    source: SourceRef
    only: frozenset[str] | None = None  # parts of the source; None: all of it
    corpus_type: str | None = None  # None: decided by the path
    root: Path = Path()  # of a folder
    prune: bool = False  # whether documents that are gone from disk may be more than half of the source
    before: SourceRef | None = None  # the source as it was before this run; None: it is new
    said: Access | None = None  # the rule that was given in this run, and the part that it was given for
    part: str = ""
    widen: bool = False
    others: tuple[tuple[SourceRef, Path], ...] = ()  # the other folders of the scope
    started_at: float | None = None  # seconds since 1970: what is new in one run is equally old

    def of_neighbor(self, other: SourceRef, folder: Path) -> "Target":
        """Another source of the scope, beside the source of this target as it is from now on."""
        others = ((ref, place) for ref, place in self.others if ref.mount != other.mount)
        return Target(self.scope, other, root=folder, before=other, others=((self.source, self.root), *others))

    @staticmethod
    def existing(path: Path) -> Path:
        """The path, absolute. Raises PathNotFound or BadRequest, before a library is created for it."""
        try:
            is_there = path.exists()
            str(path.resolve()).encode("utf-8")
        except OSError as error:
            raise BadRequest(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeEncodeError as error:
            raise BadRequest(f"the name of {path!r} is not valid UTF-8: rename it, then ingest it") from error
        if not is_there:
            raise PathNotFound(f"there is no folder or file at {path}")
        return path.absolute()

    @classmethod
    def of(
        cls,
        path: Path,
        options: IngestOptions,
        catalog: Catalog,
        *,
        base: Path,  # the library's folder: roots are stored relative to it
        defaults: AccessDefaults,
        changed: Collection[Path] | None = None,  # only these files of it; None: all
    ) -> Self:
        """The source that a path belongs to, or a new one, with the access rule that it is given."""
        full = cls.existing(path).resolve()
        folders = {ref: _folder(ref, base) for ref in catalog.sources(options.scope) if ref.kind == "folder"}
        name = None if options.name is None else _mount_named(options.name, [ref.mount for ref in folders])
        holding = [ref for ref, folder in folders.items() if full.is_relative_to(folder) and name in (None, ref.mount)]
        before = max(holding, key=lambda ref: len(folders[ref].parts), default=None)  # of nested ones the innermost
        root = folders[before] if before else full if full.is_dir() else full.parent
        if options.widen:
            _check_link(path.absolute(), root)
        if before is None:
            before = next((ref for ref in folders if ref.mount == name), None)  # it was moved
            _check_others(root, folders, name)
        mounts = [ref.mount for ref in folders]
        mount = _free_mount(root, options.scope, catalog, mounts) if name is None and before is None else name or ""
        source = replace(before or SourceRef(mount, ""), root=os.path.relpath(root, base), place=str(root))
        part = "" if full == root else full.relative_to(root).as_posix()
        only = frozenset({part}) if part else None
        if changed is not None and full not in changed and all(file.name != ".gitignore" for file in changed):
            only = frozenset(file.relative_to(root).as_posix() for file in changed)
        others = tuple(
            (ref, _moved_along(folder, folders[before] if before else root, root))
            for ref, folder in folders.items()
            if ref.mount != source.mount
        )
        target = cls(options.scope, source, only, options.corpus_type, root, options.prune, others=others)
        return target._ruled(options, defaults, before, part)

    @classmethod
    def of_source(cls, options: IngestOptions, catalog: Catalog, defaults: AccessDefaults) -> Self:
        """A source of the caller's own, unless its name is that of other documents."""
        scope, refs = options.scope, {ref.mount: ref for ref in catalog.sources(options.scope)}
        mount = _mount_named(options.name or "", refs)
        before = refs.get(mount)
        source = before or SourceRef(mount, "", kind="custom")
        others = {*catalog.paths(scope, under=mount)} - {*catalog.paths(scope, mount=mount)}
        if not mount or source.kind == "folder" or others:
            raise BadRequest(f"{mount!r} is in use by other documents of {scope}: choose another name or project")
        target = cls(scope, source, corpus_type=options.corpus_type, prune=options.prune)
        return target._ruled(options, defaults, before, "")

    def _ruled(self, options: IngestOptions, defaults: AccessDefaults, before: SourceRef | None, part: str) -> Self:
        """With the rules of the settings and of this run."""
        is_new, source = before is None, self.source
        if not (is_new and options.access and not part):
            source = with_default(source, defaults.access)
        said = Access.of(options.access) if options.access else None
        if is_new:  # the first rule of a source stands below the patterns, as the default does
            source = with_access(source, part, options.access, widen=bool(part)) if said else source
            source = with_patterns(source, defaults.by_path)
        else:
            source = with_patterns(source, defaults.by_path)
            source = with_access(source, part, options.access, widen=options.widen) if said else source
        started_at = time.time()
        return replace(
            self, source=source, before=before, said=said, part=part, widen=options.widen, started_at=started_at
        )


def _folder(ref: SourceRef, base: Path) -> Path:
    """Where a source is: relative to the library, or where it was last, if only the library was moved."""
    folder = Path(os.path.normpath(base / ref.root))
    # Without links: where a folder was that was moved, one may lead to it.
    return (folder if folder.exists() or not ref.place else Path(ref.place)).resolve()


def _moved_along(folder: Path, old: Path, new: Path) -> Path:
    """Where the folder of a source is that was inside of another, or the same, when that one was moved."""
    if old == new or folder.exists() or not folder.is_relative_to(old):
        return folder
    moved = new / folder.relative_to(old)
    return moved if moved.exists() else folder


def _check_link(path: Path, root: Path) -> None:
    """Refuse to widen a link in a source: whoever made it would decide what is opened."""
    for each in (path, *path.parents):
        if each.is_symlink() and each.parent.resolve().is_relative_to(root):
            raise BadRequest(f"{path} is a link to {path.resolve()}: if that is meant, widen it by its own path")


def _check_others(root: Path, folders: Mapping[SourceRef, Path], name: str | None) -> None:
    """Say so if a new source holds another, or may be another that was moved; refuse a name that is in use."""
    for ref, folder in folders.items():
        if ref.mount == name and folder.exists():
            raise BadRequest(f"source {name or UNNAMED} is {folder}, which is still there: choose another --name")
        if folder != root and folder.is_relative_to(root):
            _log.warning("%s holds %s, which is a source already: its documents will be ingested twice", root, folder)
        if not folder.exists() and name != ref.mount:
            advice = "the source folder %s is gone; its documents stay. If it was moved to %s, use --name %r"
            _log.warning(advice, folder, root, ref.mount or UNNAMED)


def _mount_named(name: str, mounts: Iterable[str] = ()) -> str:
    """A name as the beginning of paths; a single dot is the source without one, a known mount is taken as it is."""
    if name == UNNAMED:
        return ""
    if name in mounts:
        return name
    return "/".join(checked_name("source name", part) for part in name.strip("/").split("/"))


def _free_mount(root: Path, scope: Scope, catalog: Catalog, mounts: Collection[str]) -> str:
    """Nothing for the first source of a scope; for others the end of the path, as long as needed to be unique."""
    if not mounts:
        return ""
    parts = [part for part in root.parts if part != root.anchor]
    for length in range(1, len(parts) + 1):
        mount = "/".join(parts[-length:])
        if mount not in mounts and not catalog.paths(scope, under=mount):
            return mount
    raise BadRequest(f"{root} needs a name of its own: give one with --name")
