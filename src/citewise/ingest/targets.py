"""Which source a path belongs to, and what its documents' paths start with."""

import logging
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from citewise.errors import BadRequest, PathNotFound
from citewise.ingest.policy import with_rule
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

    def __post_init__(self) -> None:
        Access.of(self.access)
        if self.name is not None and ".." in self.name.split("/"):
            _mount_named(self.name)
        if self.corpus_type is not None and re.fullmatch(r"[A-Z]+(_[A-Z]+)+", self.corpus_type) is None:
            raise BadRequest(f"corpus type {self.corpus_type!r} is not valid: write it like DOC_TEXTBOOK")


@dataclass(frozen=True, slots=True)
class Target:
    """A registered source, and the parts of it that are to be ingested (None: all)."""

    source: SourceRef
    root: Path
    only: frozenset[str] | None

    def narrowed(self, changed: Collection[Path]) -> "Target":
        """Only the changed files. The target itself or an ignore file among them concerns all of it."""
        asked = self.root if self.only is None else self.root / next(iter(self.only))
        if asked in changed or any(file.name == ".gitignore" for file in changed):
            return self
        return replace(self, only=frozenset(file.relative_to(self.root).as_posix() for file in changed))

    def with_rule(self, rule: tuple[str, ...]) -> "Target":
        """The same with an access rule for what is to be ingested; an empty one changes nothing."""
        return replace(self, source=with_rule(self.source, rule, self.only or {""})) if rule else self


def existing(path: Path) -> Path:
    """The path, absolute. Raises PathNotFound or BadRequest, before a library is created for it."""
    try:
        if not path.exists():
            raise PathNotFound(f"there is no folder or file at {path}")
        full = path.resolve()
        str(full).encode("utf-8")
    except PathNotFound:
        raise
    except OSError as error:
        raise BadRequest(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise BadRequest(f"the name of {path!r} is not valid UTF-8: rename it, then ingest it") from error
    return full


def target_of(path: Path, options: IngestOptions, catalog: Catalog, *, base: Path) -> Target:
    """The source that a path belongs to, or a new one. Roots are stored relative to `base`, the library's folder."""
    full = existing(path)
    sources = {ref: _root(ref, base) for ref in catalog.sources(options.scope) if ref.kind == "folder"}
    name = None if options.name is None else _mount_named(options.name, [ref.mount for ref in sources])
    holding = [ref for ref, root in sources.items() if full.is_relative_to(root) and name in (None, ref.mount)]
    if holding:
        ref = max(holding, key=lambda each: len(sources[each].parts))  # of nested sources the innermost
        only = None if full == sources[ref] else frozenset({full.relative_to(sources[ref]).as_posix()})
        return Target(ref, sources[ref], only)
    root = full if full.is_dir() else full.parent
    for other in sources:
        _warn_about(other, sources[other], root, name)
    mount = _free_mount(root, options.scope, catalog, [ref.mount for ref in sources]) if name is None else name
    return Target(
        SourceRef(mount, os.path.relpath(root, base)), root, None if full.is_dir() else frozenset({full.name})
    )


def warn_if_emptied(target: Target, scope: Scope, catalog: Catalog) -> None:
    """Say so if a folder that had documents is empty now."""
    if target.only is None and not any(target.root.iterdir()):
        count = len(catalog.paths(scope, mount=target.source.mount))
        if count:
            _log.warning("%s is empty now: the %d documents the library had from it are removed", target.root, count)


def _root(ref: SourceRef, base: Path) -> Path:
    return Path(os.path.normpath(base / ref.root))


def _warn_about(ref: SourceRef, other: Path, root: Path, name: str | None) -> None:
    if other != root and other.is_relative_to(root):
        _log.warning("%s holds %s, which is a source already: its pages will be there twice", root, other)
    if not other.exists() and name != ref.mount:
        _log.warning(
            "the source folder %s is gone; its documents stay. If it was moved to %s, use --name %r",
            other,
            root,
            ref.mount or UNNAMED,
        )


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
