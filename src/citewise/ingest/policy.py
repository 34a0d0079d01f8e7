"""Who may read a document: decided here and nowhere else, from what is known about it, without any I/O."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Protocol

from citewise.model.access import Access
from citewise.model.document import SourceRef


class _PathPattern(Protocol):
    """Whether a pattern names a path or a folder above it."""

    def covers(self, path: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The access rules of one source.

    In this order: the document's own rule, the first pattern that covers its path, the rule that was last given for the
    innermost part of the source that holds it, the default.
    """

    source: SourceRef
    default: tuple[str, ...] = ()
    by_path: tuple[tuple[_PathPattern, Access], ...] = ()

    def __call__(self, path: str, *, own: tuple[str, ...] = ()) -> Access:
        """Who may read the document at a path of the source. Raises BadRequest for a rule that is none."""
        if own:
            return Access.of(own)
        for pattern, access in self.by_path:
            if pattern.covers(path):
                return access
        return Access.of(_rule_for(self.source, path) or self.default)


def with_rule(source: SourceRef, rule: tuple[str, ...], parts: Iterable[str]) -> SourceRef:
    """The source once these parts (empty: all of it) were given a rule. It replaces the rules of what lies below."""
    given = sorted(parts)
    others = [(part, old) for part, old in source.access if not any(_covers(each, part) for each in given)]
    return replace(source, access=(*others, *((part, rule) for part in given)))


def _rule_for(source: SourceRef, path: str) -> tuple[str, ...]:
    rules = dict(source.access)
    parts = (path, *map(str, PurePosixPath(path).parents))  # the innermost first
    return next((rules[part] for part in parts if part in rules), rules.get("", ()))


def _covers(part: str, other: str) -> bool:
    return not part or other == part or other.startswith(f"{part}/")
