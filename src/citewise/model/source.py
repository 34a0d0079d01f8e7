"""What a walk over a source yields."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SourceRef:
    """A registered source: documents from `root` carry paths that start with `mount` (often empty)."""

    mount: str
    root: str  # relative to the library folder, so that moving both together changes nothing
    access: tuple[str, ...] = ()  # the rule its documents were last given, used again where none is said


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
