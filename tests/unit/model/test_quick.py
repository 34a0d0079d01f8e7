"""Values that are made quickly are the values that their class makes."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from citewise.model.quick import quickly


@dataclass(frozen=True, slots=True)
class Kept:
    name: str
    parts: list[str] = field(default_factory=list)
    size: int | None = None


kept_of = quickly(Kept)


def test_what_is_made_quickly_is_a_value_of_the_class_and_equals_its_own() -> None:
    made = kept_of("a", ["b"], size=2)
    assert type(made) is Kept
    assert made == Kept("a", ["b"], 2)
    assert repr(made) == repr(Kept("a", ["b"], 2))


def test_what_is_left_out_is_as_the_class_has_it_and_shared_with_nobody() -> None:
    made = kept_of("a")
    assert made == Kept("a")
    made.parts.append("b")
    assert kept_of("a").parts == []


def test_it_is_frozen_and_can_be_replaced() -> None:
    made = kept_of("a")
    with pytest.raises(FrozenInstanceError):
        made.name = "b"  # type: ignore[misc]
    assert replace(made, name="b") == Kept("b")


def test_arguments_that_the_class_refuses_are_refused() -> None:
    with pytest.raises(TypeError):
        kept_of()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        kept_of("a", color="red")  # type: ignore[call-arg]


@dataclass(frozen=True, slots=True)
class Checked:
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError("sizes are not below 0")


def test_a_class_that_checks_its_values_is_not_made_past_its_checks() -> None:
    with pytest.raises(TypeError, match="looks at what it is made of"):
        quickly(Checked)
