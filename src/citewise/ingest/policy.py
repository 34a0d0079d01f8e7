"""Who may read a document: decided here and nowhere else, from what is known about it, without any I/O."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from citewise.model.access import Access
from citewise.model.document import SourceRef


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """The access rules of a library.

    In this order: the document's own rule, the first pattern that covers its path in its source, the rule that was last
    given for the innermost part of its source that holds it, the default. A pattern that covers its path in the library
    narrows all but the first: the name of a source opens nothing.
    """

    default: tuple[str, ...] = ()
    by_path: tuple[tuple[Callable[[str], bool], Access], ...] = ()  # whether a pattern covers a path

    def __call__(self, source: SourceRef, path: str, *, own: tuple[str, ...] = ()) -> Access:
        """Who may read the document at a path of a source. Raises BadRequest for an invalid rule."""
        if own:
            return Access.of(own)
        given = dict(source.access)
        rule = next((given[part] for part in _at_or_above(path) if part in given), ()) or self.default
        access, mounted = self._by_pattern(path) or Access.of(rule), self._by_pattern(source.mounted(path))
        return access.narrowed(mounted) if mounted else access

    def _by_pattern(self, path: str) -> Access | None:
        return next((access for covers, access in self.by_path if covers(path)), None)

    @staticmethod
    def with_rule(source: SourceRef, rule: tuple[str, ...], parts: Collection[str]) -> SourceRef:
        """The source once these parts ("": all of it) were given a rule. It replaces the rules of what lies below."""
        others = [(part, old) for part, old in source.access if not any(above in parts for above in _at_or_above(part))]
        return replace(source, access=(*others, *((part, rule) for part in sorted(parts))))


def _at_or_above(part: str) -> list[str]:
    """The part of a source itself and those that hold it, the innermost first; the whole source is ""."""
    return [part, *map(str, PurePosixPath(part).parents[:-1]), ""]
