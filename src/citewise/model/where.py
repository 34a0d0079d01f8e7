"""Filters as values: what a search may look at, before it looks.

A field holds labels (strings, several per chunk) or a number. Conditions are ANDed, values within one are ORed.
`Where.admits` is the meaning; every index must select exactly the chunks it admits.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import NewType

from citewise.model.scope import Reader, Scope

Label = NewType("Label", str)  # "field=value"

ACCESS_FIELD = "access"


def label_text(value: str | bool | int | float) -> str:
    """A value as labels spell it: 2 and 2.0 are the same, as they are to whoever filters by them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def label(field: str, value: str) -> Label:
    """The label that says: this chunk's `field` has `value` (among others)."""
    return Label(f"{field}={value}")


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has at least one of these values."""

    field: str
    values: frozenset[str]

    @property
    def labels(self) -> frozenset[Label]:
        return frozenset(label(self.field, value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Between:
    """The field's number lies in [low, high]; None leaves a side open. A chunk without the number is out."""

    field: str
    low: float | None = None
    high: float | None = None

    def holds(self, number: float | None) -> bool:
        if number is None:
            return False
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)


Condition = AnyOf | Between


@dataclass(frozen=True, slots=True)
class Where:
    """One scope, what its reader may see, and what the caller asked for besides."""

    scope: Scope
    readers: frozenset[Reader] | None  # None: the library's owner, whom no access rule narrows
    conditions: tuple[Condition, ...] = ()

    @property
    def all_conditions(self) -> tuple[Condition, ...]:
        """The caller's conditions behind the access rule, which is a condition like any other."""
        if self.readers is None:
            return self.conditions
        return (AnyOf(ACCESS_FIELD, frozenset(self.readers)), *self.conditions)

    def admits(self, labels: Set[Label], numbers: Mapping[str, float]) -> bool:
        """Whether a chunk of this scope with these labels and numbers may be found."""
        return all(
            bool(condition.labels & labels)
            if isinstance(condition, AnyOf)
            else condition.holds(numbers.get(condition.field))
            for condition in self.all_conditions
        )
