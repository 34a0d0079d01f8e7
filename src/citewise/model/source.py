"""What a walk over a source yields."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A registered source: documents from `root` carry paths that start with `mount` (often empty)."""

    mount: str
    root: str  # relative to the library folder, so that moving both together changes nothing
    access: tuple[tuple[str, tuple[str, ...]], ...] = ()  # part (empty: all) -> the rule it was last given

    def with_rule(self, rule: tuple[str, ...], parts: Iterable[str]) -> "SourceRef":
        """The source once these parts were given a rule: it holds until another is said, also for what is below."""
        given = sorted(parts)
        kept = [(part, old) for part, old in self.access if not any(_covers(each, part) for each in given)]
        return replace(self, access=(*kept, *((part, rule) for part in given)))

    def rule_for(self, path: str) -> tuple[str, ...]:
        """The rule of the innermost part that holds the path; empty where none was ever said."""
        rules = dict(self.access)
        above = sorted({"", *(each.rstrip("/") for each in at_or_above(path))}, key=len, reverse=True)
        return next((rules[part] for part in above if part in rules), ())


def _covers(part: str, other: str) -> bool:
    return not part or other == part or other.startswith(f"{part}/")


def at_or_above(path: str) -> Iterator[str]:
    """The path itself, and the folders above it with the slash that they are written with."""
    yield path
    for at, character in enumerate(path):
        if character == "/":
            yield path[: at + 1]


@dataclass(frozen=True, slots=True)
class Found:
    """A file worth reading; `path` is relative to the source, with forward slashes."""

    path: str
    size: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder (its path ends in a slash) that is not ingested, and why.

    `is_unseen`: what it holds could not be taken in, so what the library knew of it stays.
    """

    path: str
    reason: str
    is_unseen: bool = False
