"""Filters as callers write them, and the conditions of a search that they mean.

Values of one field are alternatives, bounds of one field must all hold, and so must the conditions of different fields.
"""

import difflib
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NewType, TypeAlias, cast

from citewise.errors import BadRequest, shown
from citewise.model.access import Reader, Scope, checked_text

Label = NewType("Label", str)  # "field=value"

ACCESS_FIELD = "access"

FilterValue: TypeAlias = str | bool | int | float


def _spelled(value: FilterValue) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def label(field: str, value: FilterValue) -> Label:
    """The label that says: this chunk's `field` has `value` (among others). In metadata, 2 and 2.0 are the same."""
    text = _spelled(value)
    if field.startswith(METADATA) and (whole := _WHOLE.fullmatch(text)):
        text = whole[1]
    return Label(f"{field}={text}")


def number_of(value: FilterValue) -> float | None:
    """What ranges compare: a number, or the seconds since 1970 of a date (its first moment, in UTC) or a time."""
    with suppress(ValueError, OverflowError):
        return number if math.isfinite(number := float(value)) else None
    with suppress(ValueError):
        instant = datetime.fromisoformat(str(value))
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    return None


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The field has at least one of these values."""

    field: str
    values: frozenset[str]

    @property
    def labels(self) -> frozenset[Label]:
        return frozenset(label(self.field, value) for value in self.values)

    def holds(self, labels: Set[Label], _: Mapping[str, float]) -> bool:
        return not self.labels.isdisjoint(labels)


@dataclass(frozen=True, slots=True)
class Between:
    """The field's number lies in [low, high]; None leaves a side open. A chunk without the number is out."""

    field: str
    low: float | None = None
    high: float | None = None

    def holds(self, _: Set[Label], numbers: Mapping[str, float]) -> bool:
        number = numbers.get(self.field)
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
        return all(condition.holds(labels, numbers) for condition in self.all_conditions)


# `{"module": "m-1", "tags": ["a", "b"], "metadata.year": ">=2020"}`, `"module=m-1"` or a list of such texts, or
# `[{"field": "metadata.year", "operator": "range", "value": {"gte": 2020}}]`; operators are eq, in and range.
Filters: TypeAlias = (
    str | Mapping[str, FilterValue | Sequence[FilterValue] | None] | Iterable[str | Mapping[str, object]]
)

METADATA = "metadata."
NUMBERS = ("timestamp",)
SWITCHES = ("has_code", "has_equations")
NAMES = (
    *("document", "module", "chapter", "content_type", "corpus_type", "language"),
    *("service", "repo", "author", "channel"),
)
LABELS = (*NAMES, "tags", *SWITCHES)
PLURALS: Mapping[str, str] = {"tag": "tags", **{f"{name}s": name for name in NAMES}}
MAX_FILTERS = 100
_MAX_FIELD, _MAX_VALUE = 200, 1_000  # characters

_FIELD = r"[\w.\-](?:[\w.\- ]*[\w.\-])?"
_FILTER = re.compile(rf"\s*({_FIELD})\s*(>=|<=|=)(.*)", re.DOTALL)
_YEAR = re.compile(r"\d{4}")
_WHOLE = re.compile(r"(-?\d+)\.0")

_Filter: TypeAlias = tuple[str, str, str]  # field, sign and value


def conditions_of(filters: Filters | None) -> tuple[Condition, ...]:
    """The conditions that filters mean; BadRequest explains what cannot be understood."""
    values: dict[str, set[str]] = {}
    lows: dict[str, float] = {}
    highs: dict[str, float] = {}
    for field, sign, value in itertools.starmap(_checked, _written(filters)):
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


def _written(filters: Filters | None) -> list[_Filter]:
    """Filters in any notation, as field, sign and value."""
    if filters is None:
        return []
    parts: Iterable[Iterable[_Filter]]
    if isinstance(filters, Mapping):
        parts = itertools.starmap(_of_field, filters.items())
    else:
        listed = [filters] if isinstance(filters, str) else filters
        if not isinstance(listed, Iterable):
            raise BadRequest(f"filters are a mapping, a list or a string, not {shown(filters)}")
        parts = (_of_text(item) if isinstance(item, str) else _of_operator(item) for item in listed)
    found = list(itertools.islice(itertools.chain.from_iterable(parts), MAX_FILTERS + 1))
    if len(found) > MAX_FILTERS:
        raise BadRequest(f"more than {MAX_FILTERS} filters were given: give fewer")
    return found


def _of_text(text: str) -> list[_Filter]:
    matched = _FILTER.fullmatch(checked_text("a filter", text, max_characters=_MAX_FIELD + _MAX_VALUE))
    if matched is None:
        raise BadRequest(f"filter {shown(text)} is not FIELD=VALUE, FIELD>=NUMBER or FIELD<=NUMBER")
    return [(matched[1], matched[2], matched[3])]


def _of_field(field: str, value: object) -> Iterator[_Filter]:
    """A field of a mapping: a value, a list of them, or a bound such as ">=2020"; None and [] filter nothing."""
    for item in _several(value):
        text = _text(field, item)
        is_bound = isinstance(item, str) and text.startswith((">=", "<="))
        yield (field, text[:2], text[2:]) if is_bound else (field, "=", text)


def _of_operator(item: object) -> list[_Filter]:
    if not isinstance(item, Mapping) or item.keys() != {"field", "operator", "value"}:
        raise BadRequest(f'filter {shown(item)} is not "FIELD=VALUE" or {{"field", "operator", "value"}}')
    field, operator, value = _field(item["field"]), item["operator"], item["value"]
    if operator in ("eq", "in"):
        return [(field, "=", _text(field, each)) for each in _several(value)]
    if operator != "range":
        raise BadRequest(f"filter on {field}: the operator is {shown(operator)}; it can be eq, in or range")
    if not isinstance(value, Mapping) or not value.keys() <= {"gte", "lte"}:
        raise BadRequest(f'filter on {field}: a range is {{"gte": number, "lte": number}}, not {shown(value)}')
    signs = ((">=", value.get("gte")), ("<=", value.get("lte")))
    return [(field, sign, _text(field, bound)) for sign, bound in signs if bound is not None]


def _several(value: object) -> Iterable[object]:
    if value is None:
        return ()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def _field(field: object) -> str:
    return checked_text("the field of a filter", cast("str", field), max_characters=_MAX_FIELD)


def _text(field: str, value: object) -> str:
    is_large = isinstance(value, int) and value.bit_length() > _MAX_VALUE  # Python writes no number of 5,000 digits
    if is_large or not isinstance(value, str | bool | int | float):
        raise BadRequest(
            f"filter on {_field(field)}: {shown(value)} is not a value; give text, a number, true or false, or a list "
            "of them"
        )
    return checked_text(f"the value of a filter on {_field(field)}", _spelled(value), max_characters=_MAX_VALUE)


def _checked(field: str, sign: str, value: str) -> _Filter:
    """The field by its own name, if it can be compared like this."""
    known, value, written = PLURALS.get(field, field), value.strip(), shown(f"{field}{sign}{value}")
    if known in LABELS and sign != "=":
        raise BadRequest(f"filter {written}: {known} is text; ask for it with {known}=VALUE")
    if known in NUMBERS and sign == "=":
        raise BadRequest(f"filter {written}: {known} is a time; ask for a range with {known}>= and {known}<=")
    is_metadata = re.fullmatch(_FIELD, known) and known.startswith(METADATA) and len(known) > len(METADATA)
    if known not in (*LABELS, *NUMBERS) and not is_metadata:
        raise BadRequest(_unknown(field))
    if not value:
        raise BadRequest(f"filter {written} has no value")
    return known, sign, value


def _unknown(field: str) -> str:
    near = difflib.get_close_matches(field, [*LABELS, *NUMBERS, *PLURALS], n=1, cutoff=0.75)
    hint = f"did you mean {PLURALS.get(near[0], near[0])}? " if near else ""
    return (
        f"there is no field {shown(field)} to filter on: {hint}known are {', '.join((*LABELS, *NUMBERS))}, "
        f"and {METADATA}NAME for anything else in the frontmatter"
    )


def _value(field: str, value: str) -> str:
    if field not in SWITCHES:
        return value
    lowered = value.lower()
    if lowered not in ("true", "false"):
        raise BadRequest(f"filter {field}={shown(value)}: the value is true or false")
    return lowered


def _number(field: str, value: str) -> float:
    is_year = field in NUMBERS and _YEAR.fullmatch(value)  # timestamp>=2024: not the 2024th second of 1970
    number = number_of(f"{value}-01-01" if is_year else value)
    if number is None:
        raise BadRequest(f"filter on {field}: {shown(value)} is neither a number nor a date such as 2026-01-31")
    return number
