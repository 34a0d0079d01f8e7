"""Which source a path belongs to, and what its documents' paths start with."""

import logging
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from citewise.errors import BadRequest, PathNotFound
from citewise.ingest.policy import AccessPolicy
from citewise.model.access import Access, Scope, checked_name
from citewise.model.document import SourceRef
from citewise.ports.catalog import Catalog

_log = logging.getLogger(__name__)

UNNAMED = "."  # names the first source of a scope, whose documents' paths start with nothing


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What a caller may say about an ingestion besides its paths."""

    scope: Scope = field(default_factory=Scope)
    access: tuple[str, ...] = ()  # a rule for these paths, until another is given; empty: as it was
    corpus_type: str | None = None  # None: decided by the path
    name: str | None = None  # of the source; its documents' paths start with it

    @classmethod
    def of(cls, *, scope: Scope | None = None, access: str | Iterable[str] = (), **others: str | None) -> Self:
        """As callers give them: no scope is the default one, and a single rule may stand alone."""
        rules = (access,) if isinstance(access, str) or not isinstance(access, Iterable) else tuple(access)
        return cls(Scope() if scope is None else Scope.checked(scope), rules, **others)

    def __post_init__(self) -> None:
        others = self.name or "", self.corpus_type or ""
        if not all(isinstance(text, str) for text in (*self.access, *others)):
            raise BadRequest(f"access, name and corpus_type are text, not {(*self.access, *filter(None, others))}")
        Access.of(self.access)
        if self.name is not None and ".." in self.name.split("/"):
            _mount_named(self.name)
        if self.corpus_type is not None and re.fullmatch(r"[A-Z]+(_[A-Z]+)+", self.corpus_type) is None:
            raise BadRequest(f"corpus type {self.corpus_type!r} is not valid: write it like DOC_TEXTBOOK")


@dataclass(frozen=True, slots=True)
class Target:
    """What is ingested: a source, or parts of it, into a scope."""

    scope: Scope
    source: SourceRef
    only: frozenset[str] | None = None  # parts of the source; None: all of it
    corpus_type: str | None = None  # None: decided by the path
    root: Path = Path()  # of a folder

    @staticmethod
    def existing(path: Path) -> Path:
        """The path, absolute. Raises PathNotFound or BadRequest, before a library is created for it."""
        try:
            full = path.resolve() if path.exists() else None
            str(full).encode("utf-8")
        except OSError as error:
            raise BadRequest(f"{path} cannot be read: {error.strerror}") from error
        except UnicodeEncodeError as error:
            raise BadRequest(f"the name of {path!r} is not valid UTF-8: rename it, then ingest it") from error
        if full is None:
            raise PathNotFound(f"there is no folder or file at {path}")
        return full

    @classmethod
    def of(
        cls,
        path: Path,
        options: IngestOptions,
        catalog: Catalog,
        *,
        base: Path,  # the library's folder: roots are stored relative to it
        changed: Collection[Path] | None = None,  # only these files of it; None: all
    ) -> Self:
        """The source that a path belongs to, or a new one, with the access rule that it is given."""
        full = cls.existing(path)
        folders = {
            ref: Path(os.path.normpath(base / ref.root))
            for ref in catalog.sources(options.scope)
            if ref.kind == "folder"
        }
        name = None if options.name is None else _mount_named(options.name, [ref.mount for ref in folders])
        holding = [ref for ref, folder in folders.items() if full.is_relative_to(folder) and name in (None, ref.mount)]
        if holding:
            source = max(holding, key=lambda ref: len(folders[ref].parts))  # of nested sources the innermost
            root = folders[source]
        else:
            root = full if full.is_dir() else full.parent
            _warn_about_others(root, folders, name)
            mount = _free_mount(root, options.scope, catalog, [ref.mount for ref in folders]) if name is None else name
            source = SourceRef(mount, os.path.relpath(root, base))
        only = None if full == root else frozenset({full.relative_to(root).as_posix()})
        if changed is None and options.access:
            source = AccessPolicy.with_rule(source, options.access, only or {""})
        elif changed is not None and full not in changed and all(file.name != ".gitignore" for file in changed):
            only = frozenset(file.relative_to(root).as_posix() for file in changed)
        if only is None and not any(root.iterdir()) and (stored := catalog.paths(options.scope, mount=source.mount)):
            _log.warning("%s is empty now: the %d documents the library had from it are removed", root, len(stored))
        return cls(options.scope, source, only, options.corpus_type, root)

    @classmethod
    def of_source(cls, options: IngestOptions, catalog: Catalog) -> Self:
        """A source of the caller's own, unless its name is that of other documents."""
        scope, refs = options.scope, {ref.mount: ref for ref in catalog.sources(options.scope)}
        mount = _mount_named(options.name or "", refs)
        source = refs.get(mount, SourceRef(mount, "", kind="custom"))
        others = {*catalog.paths(scope, under=mount)} - {*catalog.paths(scope, mount=mount)}
        if not mount or source.kind == "folder" or others:
            raise BadRequest(f"{mount!r} is in use by other documents of {scope}: choose another name or project")
        if options.access:
            source = AccessPolicy.with_rule(source, options.access, {""})
        return cls(scope, source, corpus_type=options.corpus_type)


def _warn_about_others(root: Path, folders: Mapping[SourceRef, Path], name: str | None) -> None:
    """Say so if a new source holds another, or may be another that was moved."""
    for ref, folder in folders.items():
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
