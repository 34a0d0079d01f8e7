"""Paths on the command line -> registered sources and what to look at in them."""

import logging
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from citewise.adapters.folder.source import FolderSource, Rules
from citewise.errors import BadRequest, Misconfigured, PathNotFound
from citewise.ingest.pipeline import Ingest, IngestRequest
from citewise.model.access import Access, Scope, checked_name
from citewise.model.document import SourceRef
from citewise.model.report import Event, IngestReport, IngestSummary
from citewise.settings import IngestSettings
from citewise.wiring.full import SUFFIXES, OpenLibrary

_log = logging.getLogger(__name__)

UNNAMED = "."  # names the first source of a scope, whose documents' paths start with nothing


@dataclass(frozen=True, slots=True)
class Wish:
    """What a caller asks to have ingested, and how."""

    scope: Scope = field(default_factory=Scope)
    access: tuple[str, ...] = ()
    corpus_type: str | None = None
    name: str | None = None  # of the source; its documents' paths start with it

    def __post_init__(self) -> None:
        """Refuse what cannot be meant before a library is made for it."""
        Access.of(self.access)
        if self.name is not None and ".." in self.name.split("/"):
            mount_named(self.name)
        if self.corpus_type is not None and re.fullmatch(r"[A-Z]+(_[A-Z]+)+", self.corpus_type) is None:
            raise BadRequest(f"corpus type {self.corpus_type!r} is none: write it like DOC_TEXTBOOK")


@dataclass(frozen=True, slots=True)
class Target:
    """A registered source, and the part of it that is meant (None: all)."""

    ref: SourceRef
    root: Path
    only: frozenset[str] | None


def existing(path: Path) -> Path:
    """The path in full, or BadRequest: checked before a library is made for it."""
    try:
        if not path.exists():
            raise PathNotFound(f"there is no folder or file at {path}")
        full = path.resolve()
        str(full).encode("utf-8")
    except PathNotFound:
        raise
    except OSError as error:
        raise BadRequest(f"{path} cannot be looked at: {error.strerror}") from error
    except UnicodeEncodeError as error:
        raise BadRequest(f"the name of {path!r} is not valid UTF-8: rename it, then ingest it") from error
    return full


def ingest(
    library: OpenLibrary, path: Path, wish: Wish, *, on_event: Callable[[Event], None] = lambda event: None
) -> IngestReport:
    """Bring the library up to date with a folder, a part of one, or a single file."""
    target = target_of(library, path, wish)
    return ingest_target(library, target, wish, on_event=on_event)


def ingest_changed(
    library: OpenLibrary,
    path: Path,
    changed: Iterable[Path],
    wish: Wish,
    *,
    on_event: Callable[[Event], None] = lambda event: None,
) -> IngestReport:
    """Look only at what changed below a path that was ingested before; new ignore rules concern all of it."""
    wish = replace(wish, access=())  # it was said, and remembered, when the path was ingested first
    target = target_of(library, path, wish)
    files = list(changed)
    if path not in files and not any(file.name == ".gitignore" for file in files):
        only = frozenset(file.relative_to(target.root).as_posix() for file in files)
        target = replace(target, only=only)
    return ingest_target(library, target, wish, on_event=on_event)


def ingest_target(
    library: OpenLibrary, target: Target, wish: Wish, *, on_event: Callable[[Event], None] = lambda event: None
) -> IngestReport:
    """Ingest a source, or only the parts of it that are named."""
    rules = library.settings.ingest
    _warn_if_emptied(library, target, wish.scope)
    source = FolderSource(
        target.root,
        suffixes=SUFFIXES,
        include=rules.include,
        exclude=rules.exclude,
        max_file_bytes=round(rules.max_file_mb * 1_000_000),
        own_folders=(library.folder.root.resolve(),),
        only=target.only,
    )
    ref = target.ref.with_rule(wish.access, target.only or {""}) if wish.access else target.ref
    library.catalog.register(wish.scope, ref)
    request = IngestRequest(
        scope=wish.scope,
        mount=target.ref.mount,
        access=access_by_path(rules, ref),
        corpus_type=wish.corpus_type,
        is_whole=target.only is None,
        gone=_known_below(library, wish.scope, target),
    )
    return Ingest(source, library.prepare, library.absorb)(request, on_event=on_event)


def target_of(library: OpenLibrary, path: Path, wish: Wish) -> Target:
    """The registered source that the path belongs to; a new folder is registered."""
    full = existing(path)
    known = {ref: _root(library, ref) for ref in library.catalog.sources(wish.scope) if ref.kind == "folder"}
    named = None if wish.name is None else mount_named(wish.name, [ref.mount for ref in known])
    holding = [ref for ref, root in known.items() if full.is_relative_to(root) and named in (None, ref.mount)]
    if holding:
        ref = max(holding, key=lambda each: len(known[each].parts))  # of nested sources the innermost
        only = None if full == known[ref] else frozenset({full.relative_to(known[ref]).as_posix()})
        return Target(ref, known[ref], only)
    root = full if full.is_dir() else full.parent
    for other in known:
        _warn_about(other, known[other], root, named)
    mount = _mount(library, wish.scope, root, known) if named is None else named
    ref = SourceRef(mount, os.path.relpath(root, library.folder.root.resolve()))
    return Target(ref, root, None if full.is_dir() else frozenset({full.name}))


def access_by_path(rules: IngestSettings, ref: SourceRef) -> Callable[[str], Access]:
    """Who may read which path: the first pattern that matches, else what was said of it, else the settings."""
    patterns = [(Rules.of([pattern]), Access.of(names)) for pattern, names in rules.access_by_path.items()]
    if broken := [pattern for pattern in rules.access_by_path if not Rules.of([pattern]).rules]:
        raise Misconfigured(f"ingest.access_by_path: {broken[0]!r} is no pattern that could match a path")

    def access(path: str) -> Access:
        return next(
            (rule for pattern, rule in patterns if any(each.covers(path) for each in pattern.rules)), None
        ) or Access.of(ref.rule_for(path) or rules.access)

    return access


def _root(library: OpenLibrary, ref: SourceRef) -> Path:
    return Path(os.path.normpath(library.folder.root.resolve() / ref.root))


def _warn_about(ref: SourceRef, other: Path, root: Path, named: str | None) -> None:
    """A new source beside others: say what its user may not have meant."""
    if other != root and other.is_relative_to(root):
        _log.warning("%s holds %s, which is a source already: its pages will be there twice", root, other)
    if not other.exists() and named != ref.mount:
        _log.warning(
            "the source folder %s is gone; its documents stay. If it has become %s, say so with --name %r",
            other,
            root,
            ref.mount or UNNAMED,
        )


def _warn_if_emptied(library: OpenLibrary, target: Target, scope: Scope) -> None:
    if target.only is not None or any(target.root.iterdir()):
        return
    if held := len(library.catalog.paths(scope, mount=target.ref.mount)):
        _log.warning("%s is empty now: the %d documents the library had from it are removed", target.root, held)


def mount_named(name: str, known: Iterable[str] = ()) -> str:
    """A name as a path's beginning; a single dot is the source that needed none, a known mount is taken as it is."""
    if name == UNNAMED:
        return ""
    if name in known:
        return name
    return "/".join(checked_name("source name", part) for part in name.strip("/").split("/"))


def _mount(library: OpenLibrary, scope: Scope, root: Path, known: Iterable[SourceRef]) -> str:
    """The first source of a scope needs no name; later ones get the end of their path, as long as it must be
    for no document to have a path that starts so already."""
    if not (mounts := {ref.mount for ref in known}):
        return ""
    parts = [part for part in root.parts if part != root.anchor]
    for length in range(1, len(parts) + 1):
        mount = "/".join(parts[-length:])
        if mount not in mounts and not library.catalog.paths(scope, under=mount):
            return mount
    raise BadRequest(f"{root} needs a name of its own: give one with --name")


def _known_below(library: OpenLibrary, scope: Scope, target: Target) -> frozenset[str]:
    """Paths of the source, without its mount, that the named parts would cover if they still existed."""
    if target.only is None:
        return frozenset()
    mount = target.ref.mount
    prefix = f"{mount}/" if mount else ""
    below = (library.catalog.paths(scope, under=f"{prefix}{part}", mount=mount) for part in target.only)
    return frozenset(path.removeprefix(prefix) for paths in below for path in paths)


def remember_ingest(library: OpenLibrary, report: IngestReport) -> None:
    """Keep the last report's outline for `citewise status`."""
    library.catalog.record_ingest(
        IngestSummary(
            finished_at=datetime.now(UTC).isoformat(timespec="seconds"),
            seen=report.seen,
            ingested=report.ingested,
            unchanged=report.unchanged,
            removed=report.removed,
            failed=len(report.failed),
            seconds=round(report.seconds, 3),
        )
    )
