"""Pages of a list of hits, and the cursors between them: signed, and sealed so that they tell their holder nothing.

A cursor names an order that the library holds and a place in it. It is worth something only together with the very
search it was made for: the question, what was asked for besides, and the readers that its principal counts as.
"""

import base64
import hmac
import re
import struct
from dataclasses import dataclass
from typing import NewType

from citewise.errors import BadRequest
from citewise.model.filters import AnyOf, Condition
from citewise.model.ids import digest
from citewise.model.query import Query

HeldId = NewType("HeldId", bytes)  # 16 random bytes: an order that is held

PAGE_LIMIT = 5  # hits a page, unless more or fewer are asked for
MAX_LIMIT = 20

NOT_SHARED = "paging: nothing can be kept in the library's folder; cursors work in this process only"
BEGIN_ANEW = "search again without a cursor"

_FIELDS = struct.Struct(">16sIQd16s")  # as Cursor has them
_SIGNATURE_BYTES = 32  # of HMAC-SHA-256
_MARK = "c"  # in front, since a word that begins with a dash would be an option on a command line
_CHARACTERS = 1 + (_SIGNATURE_BYTES + _FIELDS.size) * 4 // 3  # 84 bytes fill them to the last bit: none is spare
_SHAPE = re.compile(_MARK + r"[A-Za-z0-9_-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which page is wanted: how many hits, behind which cursor. Without a cursor it is the first one."""

    limit: int = PAGE_LIMIT
    cursor: str | None = None
    is_open: bool = True  # no top_k was asked for: the pages go on through everything that was found

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int) or isinstance(self.limit, bool) or not 1 <= self.limit <= MAX_LIMIT:
            raise BadRequest(f"limit is {self.limit}; a page has 1 to {MAX_LIMIT} hits")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page begins."""

    held: HeldId
    place: int  # in the order, from 0
    position: int  # of the library's log, when the order was made
    expires_at: float  # seconds since 1970
    purpose: bytes  # which search it goes on with: see `purpose_of`


def purpose_of(query: Query, request: PageRequest) -> bytes:
    """16 bytes of everything that decides which hits there are and in which order; a page's size is not part of it."""
    readers = query.principal.readers
    options = (
        "open" if request.is_open else query.top_k,
        query.rerank,
        query.expand_graph,
        query.half_life_days,
        query.freshness_weight,
    )
    parts = (
        (query.text, query.scope.tenant, query.scope.project),
        ("the library's owner",) if readers is None else sorted(readers),
        [part for condition in sorted(map(_spelled, query.conditions)) for part in condition],
        map(repr, options),
    )
    return bytes.fromhex(digest(*(digest(*part) for part in parts)))[:16]


def _spelled(condition: Condition) -> tuple[str, ...]:
    if isinstance(condition, AnyOf):
        return (digest("any of", condition.field, *sorted(condition.values)),)
    return (digest("between", condition.field, repr(condition.low), repr(condition.high)),)


class Seal:
    """Makes cursors and reads them, with a library's own key.

    The signature is also what the fields are covered with: the same cursor is written the same way, and of two that
    differ nothing can be told but that they do.
    """

    def __init__(self, key: bytes) -> None:
        self._signing = hmac.digest(key, b"citewise cursor 1: sign", "sha256")
        self._covering = hmac.digest(key, b"citewise cursor 1: cover", "sha256")

    def written(self, cursor: Cursor) -> str:
        """The cursor as its holder gets it: opaque, and fit for a URL as it stands."""
        plain = _FIELDS.pack(cursor.held, cursor.place, cursor.position, cursor.expires_at, cursor.purpose)
        signature = self._signature(plain)
        return _MARK + base64.urlsafe_b64encode(signature + self._covered(plain, signature)).decode("ascii")

    def read(self, text: str) -> Cursor:
        """The same cursor again; BadRequest for anything that this key has not sealed."""
        if not isinstance(text, str) or len(text) != _CHARACTERS or not _SHAPE.fullmatch(text):
            raise BadRequest(
                f"the cursor is not whole: it has {_CHARACTERS} letters, digits, '-' and '_', the first a {_MARK}; "
                f"copy all of next_cursor, or {BEGIN_ANEW}"
            )
        data = base64.urlsafe_b64decode(text.removeprefix(_MARK))
        signature, covered = data[:_SIGNATURE_BYTES], data[_SIGNATURE_BYTES:]
        plain = self._covered(covered, signature)
        if not hmac.compare_digest(self._signature(plain), signature):
            raise BadRequest(f"the cursor was changed, or is not one of this library's: {BEGIN_ANEW}")
        held, place, position, expires_at, purpose = _FIELDS.unpack(plain)
        return Cursor(HeldId(held), place, position, expires_at, purpose)

    def _signature(self, plain: bytes) -> bytes:
        return hmac.digest(self._signing, plain, "sha256")

    def _covered(self, data: bytes, signature: bytes) -> bytes:
        """Covered, or uncovered again. 64 bytes of SHA-512 are more than there are to cover."""
        cover = hmac.digest(self._covering, signature, "sha512")
        return bytes(one ^ other for one, other in zip(data, cover, strict=False))


def checked_cursor(cursor: Cursor, *, purpose: bytes, position: int, now: float) -> Cursor:
    """The cursor, if it may be used for this search, in the library as it is, at this time."""
    if not hmac.compare_digest(cursor.purpose, purpose):
        raise BadRequest(
            "the cursor belongs to another search: repeat the question, filters, options and who asks as they were, "
            f"or {BEGIN_ANEW}"
        )
    if cursor.expires_at <= now:
        raise BadRequest(expired())
    if cursor.position > position:  # a log only grows: this one was restored from a backup, or made anew
        raise BadRequest(f"the cursor was made before the library was replaced: {BEGIN_ANEW}")
    return cursor


def expired() -> str:
    """What to say of a cursor whose order is no longer held, for whichever reason."""
    return f"the cursor has expired: {BEGIN_ANEW}"
