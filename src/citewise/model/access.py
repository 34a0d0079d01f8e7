"""Where documents live and who asks: scopes, principals, and the rule that joins them.

A scope is a hard wall: every search, file and log entry belongs to exactly one. Inside a scope an access rule
is a set of readers, a principal is another, and a document is visible when the two sets meet.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NewType, Self

from citewise.errors import BadRequest, shown

Reader = NewType("Reader", str)  # "public", "project", "owner:ann" or "group:ops"

PUBLIC = Reader("public")  # anyone who can reach the scope at all
PROJECT = Reader("project")  # every named member of the project

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_BLANKS = "\t\n\r"


def checked_name(kind: str, name: str) -> str:
    """The name itself, or BadRequest: names become folder names and labels, so they stay plain."""
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise BadRequest(
            f"{kind} {shown(name)} is not a usable name: use 1 to 64 letters, digits, '.', '_', '@' or '-', "
            "starting with a letter or digit"
        )
    return name


def checked_text(
    kind: str, text: str, *, max_characters: int, has_controls: bool = False, remedy: str = "make it shorter"
) -> str:
    """The text itself, or BadRequest: text of a request that no index, store or model could take goes no further.

    `has_controls`: control characters may be in it, since it repeats what stands in a document.
    """
    if not isinstance(text, str):
        raise BadRequest(f"{kind} must be text, not {type(text).__name__}")
    if len(text) > max_characters:  # before anything looks at each of them
        raise BadRequest(f"{kind} has {len(text):,} characters; {max_characters:,} are allowed: {remedy}")
    if not text.isprintable():  # it nearly always is
        found = next((each for each in text if is_control(each) and not (has_controls and each < "\ud800")), None)
        if found is not None and found >= "\ud800":
            raise BadRequest(f"{kind} is not valid UTF-8: type it again")
        if found is not None:
            raise BadRequest(f"{kind} holds the control character U+{ord(found):04X}: remove it and try again")
    return text


def is_control(character: str) -> bool:
    """Whether it is a control character or half of a surrogate pair, but no tab and no line break."""
    return unicodedata.category(character) in ("Cc", "Cs") and character not in _BLANKS


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
            raise BadRequest(f"a scope is a Scope(tenant, project), not {shown(scope)}")
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

    def __str__(self) -> str:
        return ", ".join(sorted(self.readers)) or "nobody but the owner"

    def is_within(self, other: "Access") -> bool:
        """Whether everybody who may read under this rule may read under the other."""
        if PUBLIC in other.readers:
            return True
        if PUBLIC in self.readers:
            return False
        return PROJECT in other.readers or (PROJECT not in self.readers and self.readers <= other.readers)

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
            raise BadRequest(f"groups are several names, such as {{'ops'}}, not {shown(self.groups)}")
        try:
            object.__setattr__(self, "groups", frozenset(self.groups))
        except TypeError as error:
            raise BadRequest(f"groups are several names, such as {{'ops'}}, not {shown(self.groups)}") from error
        if self.user is not None:
            checked_name("user", self.user)
        for group in self.groups:
            checked_name("group", group)

    @classmethod
    def checked(cls, principal: Self) -> Self:
        """The principal itself, or BadRequest: None means that somebody forgot who asks, and not the owner."""
        if not isinstance(principal, cls):
            raise BadRequest(
                f"who asks is a Principal, not {shown(principal)}; for the library's owner, use as_owner()"
            )
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
    raise BadRequest(f"access rule {shown(rule)} is not known: use public, project, owner:USER or group:GROUP")
