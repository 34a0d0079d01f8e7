"""Frozen values, made quickly: for the few kinds of which every search makes dozens."""

from collections.abc import Callable
from copy import copy
from dataclasses import fields, is_dataclass, make_dataclass
from typing import ParamSpec, TypeVar, cast

Rest = ParamSpec("Rest")
Value = TypeVar("Value")


def quickly(kind: Callable[Rest, Value]) -> Callable[Rest, Value]:
    """Makes the same values as the class itself, a frozen dataclass with slots, in a third of the time or less.

    A frozen one fills each of its slots by a call. So they are filled in an open twin, which then becomes the class.
    """
    if not isinstance(kind, type) or not is_dataclass(kind) or hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind} is no dataclass, or looks at what it is made of")

    def close(twin: object) -> None:
        twin.__class__ = kind

    own = [(one.name, one.type, copy(one)) for one in fields(kind)]
    return cast(
        Callable[Rest, Value], make_dataclass(kind.__name__, own, slots=True, namespace={"__post_init__": close})
    )
