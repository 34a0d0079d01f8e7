"""Filters as people write them -> conditions of a search (Q2).

`field=value` asks for a value, `field>=number` and `field<=number` for a range; several on one field are ORed as
values and ANDed as bounds, different fields are ANDed.
"""

import contextlib
import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType, TypeAlias

from citewise.errors import BadRequest
from citewise.model.access import Reader, Scope

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


FilterValue: TypeAlias = str | bool | int | float

METADATA = "metadata."
NUMBERS = ("timestamp",)
LABELS = (
    "document",
    "module",
    "chapter",
    "content_type",
    "corpus_type",
    "tags",
    "language",
    "has_code",
    "has_equations",
    "service",
    "repo",
    "author",
    "channel",
)
PLURALS: Mapping[str, str] = {
    **{f"{name}s": name for name in LABELS if not name.startswith("has_") and name not in ("tags", "repo")},
    "repos": "repo",
    "tag": "tags",
}
YES_OR_NO = ("has_code", "has_equations")
MAX_FILTERS = 100

_FILTER = re.compile(r"\s*([\w.\-](?:[\w.\- ]*[\w.\-])?)\s*(>=|<=|=)(.*)", re.DOTALL)
_YEAR = re.compile(r"\d{4}")


def conditions_of(filters: Iterable[str]) -> tuple[Condition, ...]:
    """The conditions that filters such as `module=module-1` or `metadata.year>=2020` mean; BadRequest explains."""
    values: dict[str, set[str]] = {}
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for field, sign, value in map(_parts, _bounded(filters)):
        if sign == "=":
            values.setdefault(field, set()).add(_value(field, value))
        elif sign == ">=":
            lows[field] = max(_number(field, value), lows.get(field, -math.inf))
        else:
            highs[field] = min(_number(field, value), highs.get(field, math.inf))
    return (
        *(AnyOf(field, frozenset(some)) for field, some in sorted(values.items())),
        *(Between(field, lows.get(field), highs.get(field)) for field in sorted({*lows, *highs})),
    )


def conditions_from(filters: Mapping[str, FilterValue | Sequence[FilterValue]]) -> tuple[Condition, ...]:
    """The same from a mapping of fields to a value or several; `">=2020"` is a bound, an empty list filters nothing."""
    written = []
    for field, wanted in filters.items():
        if "=" in field:
            raise BadRequest(_unknown(field))
        several = wanted if isinstance(wanted, list | tuple | set | frozenset) else (wanted,)
        written += [_written(field, value) for value in several]
    return conditions_of(written)


def _written(field: str, value: object) -> str:
    if not isinstance(value, str | bool | int | float):
        raise BadRequest(
            f"filter on {field}: {value!r} is no value; give text, a number, true or false, or a list of them"
        )
    if isinstance(value, str) and value.startswith((">=", "<=")):
        return f"{field}{value}"
    return f"{field}={label_text(value)}"


def _bounded(filters: Iterable[str]) -> list[str]:
    listed = [filters] if isinstance(filters, str) else list(filters)
    if len(listed) > MAX_FILTERS:
        raise BadRequest(f"{len(listed)} filters were given; {MAX_FILTERS} are allowed")
    return listed


def _parts(written: str) -> tuple[str, str, str]:
    matched = _FILTER.fullmatch(written)
    if matched is None:
        raise BadRequest(f"filter {written!r} is not FIELD=VALUE, FIELD>=NUMBER or FIELD<=NUMBER")
    field, sign, value = matched[1], matched[2], matched[3].strip()
    known = PLURALS.get(field, field)
    if known in LABELS and sign != "=":
        raise BadRequest(f"filter {written!r}: {known} is text; ask for it with {known}=VALUE")
    if known in NUMBERS and sign == "=":
        raise BadRequest(f"filter {written!r}: {known} is a time; ask for a range with {known}>= and {known}<=")
    if known not in (*LABELS, *NUMBERS) and not (known.startswith(METADATA) and len(known) > len(METADATA)):
        raise BadRequest(_unknown(field))
    if not value:
        raise BadRequest(f"filter {written!r} names no value")
    return known, sign, value


def _unknown(field: str) -> str:
    near = difflib.get_close_matches(field, [*LABELS, *NUMBERS, *PLURALS], n=1, cutoff=0.75)
    hint = f"did you mean {PLURALS.get(near[0], near[0])}? " if near else ""
    return (
        f"there is no field {field!r} to filter on: {hint}known are {', '.join((*LABELS, *NUMBERS))}, "
        f"and {METADATA}NAME for anything else in the frontmatter"
    )


def _value(field: str, value: str) -> str:
    if field.startswith(METADATA):
        with contextlib.suppress(ValueError):
            return label_text(float(value)) if not value.isalpha() else value
    if field not in YES_OR_NO:
        return value
    lowered = value.lower()
    if lowered not in ("true", "false"):
        raise BadRequest(f"filter {field}={value}: it is true or false")
    return lowered


def _number(field: str, value: str) -> float:
    """A number, or an instant: a date alone is its first moment, in UTC."""
    if field in NUMBERS and _YEAR.fullmatch(value):  # timestamp>=2024 is a year, not the 2024th second of 1970
        return _seconds(field, f"{value}-01-01")
    try:
        number = float(value)
    except ValueError:
        number = _seconds(field, value)
    if not math.isfinite(number):
        raise BadRequest(f"filter on {field}: {value!r} is no number")
    return number


def _seconds(field: str, value: str) -> float:
    try:
        instant = datetime.fromisoformat(value)
    except ValueError as error:
        raise BadRequest(f"filter on {field}: {value!r} is no number and no date such as 2026-01-31") from error
    return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
