"""Where documents live and who asks: scopes, principals, and the rule that joins them.

A scope is a hard wall: every search, file and log entry belongs to exactly one. Inside a scope an access rule
is a set of readers, a principal is another, and a document is visible when the two sets meet.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType, Self

from citewise.errors import BadRequest

Reader = NewType("Reader", str)  # "public", "project", "owner:ann" or "group:ops"

PUBLIC = Reader("public")  # anyone who can reach the scope at all
PROJECT = Reader("project")  # every named member of the project

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def checked_name(kind: str, name: str) -> str:
    """The name itself, or BadRequest: names become folder names and labels, so they stay plain."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise BadRequest(
            f"{kind} {name!r} is not a usable name: use 1 to 64 letters, digits, '.', '_', '@' or '-', "
            "starting with a letter or digit"
        )
    return name


@dataclass(frozen=True, slots=True, order=True)
class Scope:
    """One tenant's project: nothing is ever found, cited or counted across two of them."""

    tenant: str = "default"
    project: str = "default"

    def __post_init__(self) -> None:
        checked_name("tenant", self.tenant)
        checked_name("project", self.project)

    def __str__(self) -> str:
        return f"{self.tenant}/{self.project}"

    @classmethod
    def checked(cls, scope: Self) -> Self:
        if not isinstance(scope, cls):
            raise BadRequest(f"a scope is a Scope(tenant, project), not {scope!r}")
        return scope


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read a document; the default is every member of its project."""

    readers: frozenset[Reader] = frozenset({PROJECT})

    @classmethod
    def of(cls, rules: Iterable[str]) -> Self:
        """Parse rules such as `public`, `project`, `owner:ann`, `group:ops`; none at all is the default."""
        readers = frozenset(_reader(rule) for rule in rules)
        return cls(readers) if readers else cls()

    def narrowed(self, other: "Access") -> "Access":
        """Who may read under both rules; of two lists of names, those on both."""
        for everyone in (PUBLIC, PROJECT):
            if everyone in self.readers or everyone in other.readers:
                return other if everyone in self.readers else self
        return Access(self.readers & other.readers)


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks. The library's owner sees all of a scope; an unnamed stranger only what is public."""

    user: str | None = None
    groups: frozenset[str] = frozenset()
    owns_library: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.groups, str):
            raise BadRequest(f"groups are several names: write {{{self.groups!r}}}, not {self.groups!r}")
        try:
            object.__setattr__(self, "groups", frozenset(self.groups))
        except TypeError as error:
            raise BadRequest(f"groups are several names, such as {{'ops'}}, not {self.groups!r}") from error
        if self.user is not None:
            checked_name("user", self.user)
        for group in self.groups:
            checked_name("group", group)

    @classmethod
    def checked(cls, principal: Self) -> Self:
        """The principal itself, or BadRequest: None means that somebody forgot who asks, and not the owner."""
        if not isinstance(principal, cls):
            raise BadRequest(f"who asks is a Principal, not {principal!r}; for the library's owner, use as_owner()")
        return principal

    @property
    def readers(self) -> frozenset[Reader] | None:
        """The readers this principal counts as; None means no rule narrows what they see."""
        if self.owns_library:
            return None
        named = [Reader(f"group:{group}") for group in self.groups]
        if self.user is not None:
            named.append(Reader(f"owner:{self.user}"))
        return frozenset({PUBLIC, *([PROJECT] if named else []), *named})


OWNER = Principal(owns_library=True)


def _reader(rule: str) -> Reader:
    kind, colon, name = rule.strip().partition(":")
    if not colon and kind in (PUBLIC, PROJECT):
        return Reader(kind)
    if colon and kind in ("owner", "group"):
        return Reader(f"{kind}:{checked_name(kind, name.strip())}")
    raise BadRequest(f"access rule {rule!r} is not known: use public, project, owner:USER or group:GROUP")
