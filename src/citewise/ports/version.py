"""Versioned: a store that can say whether it is still the same."""

from typing import Protocol


class Versioned(Protocol):
    """Tells states apart.

    Promises: two equal values mean that nothing was committed between them, by this process or another; no value of
    one opening equals one of another, whatever they opened; it waits for no writer and keeps none waiting. Values
    mean nothing else: they do not tell which is newer, and nothing outside of this process.
    """

    def version(self) -> str: ...
