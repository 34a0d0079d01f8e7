"""Who may read a document: decided here and nowhere else, from what is known about it, without any I/O."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from citewise.model.access import Access
from citewise.model.document import SourceRef


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The access rules of a library.

    In this order: the document's own rule, the first pattern that covers its path in the library or in its source, the
    rule that was last given for the innermost part of its source that holds it, the default.
    """

    default: tuple[str, ...] = ()
    by_path: tuple[tuple[Callable[[str], bool], Access], ...] = ()  # whether a pattern covers a path

    def __call__(self, source: SourceRef, path: str, *, own: tuple[str, ...] = ()) -> Access:
        """Who may read the document at a path of a source. Raises BadRequest for an invalid rule."""
        if own:
            return Access.of(own)
        for covers, access in self.by_path:
            if covers(path) or covers(source.mounted(path)):
                return access
        given = dict(source.access)
        return Access.of(next((given[part] for part in _at_or_above(path) if part in given), ()) or self.default)

    @staticmethod
    def with_rule(source: SourceRef, rule: tuple[str, ...], parts: Collection[str]) -> SourceRef:
        """The source once these parts ("": all of it) were given a rule. It replaces the rules of what lies below."""
        others = [(part, old) for part, old in source.access if not any(above in parts for above in _at_or_above(part))]
        return replace(source, access=(*others, *((part, rule) for part in sorted(parts))))


def _at_or_above(part: str) -> list[str]:
    """The part of a source itself and those that hold it, the innermost first; the whole source is ""."""
    return [part, *map(str, PurePosixPath(part).parents[:-1]), ""]
