"""Held orders: what a paged search found, kept for the pages after the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from citewise.model.ids import ChunkId
from citewise.model.paging import HeldId
from citewise.model.ranking import Candidate

TEXT_BYTES = 8  # of a text's digest that are remembered: two texts of a list share them once in 10^13 lists


@dataclass(frozen=True, slots=True)
class Seen:
    """What became of a stretch of places when their page was made."""

    first: int = 0  # place, from 0
    texts: bytes = b""  # TEXT_BYTES a place: of the digest of what was shown there; zeros where nothing was
    gone: Mapping[int, Mapping[str, int]] = field(default_factory=dict)  # place -> ranks of what its reader lost

    def then(self, later: "Seen") -> "Seen":
        """Both; what they have in common is as the later one has it."""
        begin, end = ((one - self.first) * TEXT_BYTES for one in (later.first, later.end))
        kept = {place: ranks for place, ranks in self.gone.items() if not later.first <= place < later.end}
        texts = self.texts[:begin].ljust(begin, b"\0") + later.texts + self.texts[end:]
        return Seen(self.first, texts, {**kept, **later.gone})

    def before(self, place: int) -> "Seen":
        """What is known of the places before this one."""
        gone = {one: ranks for one, ranks in self.gone.items() if one < place}
        return Seen(self.first, self.texts[: (place - self.first) * TEXT_BYTES], gone)

    @property
    def end(self) -> int:
        return self.first + len(self.texts) // TEXT_BYTES

    def shows(self, text: bytes) -> bool:
        """Whether one of the places showed a text whose digest begins like this."""
        at = self.texts.find(text)
        while at % TEXT_BYTES and at >= 0:  # found across two of them
            at = self.texts.find(text, at + 1)
        return at >= 0


@dataclass(frozen=True, slots=True)
class HeldOrder:
    """Ids with their scores, best first; no word of what they say, nor of what was asked."""

    candidates: Sequence[Candidate]
    total_candidates: int
    is_whole: bool = True  # else there may be more to find behind the last one
    left_out: tuple[ChunkId, ...] = ()  # what said the same as a better one, and must not come again from behind
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: Seen = Seen()


class HeldOrders(Protocol):
    """Keeps orders until their cursors have expired.

    Promises: an order is read back as it was kept, to the last bit of a score, with what was seen of places before
    `before`, whichever page noted it; of what was noted twice, the later counts; an id that is not held, or no longer,
    is None. It is bounded: at each `keep`, what has expired goes, then the oldest until there is room. To note
    something of an order that is not held does nothing; else it lives until `expires_at` at least. To read on costs
    the same at every place. Threads may share one. A place that cannot be used now raises Unavailable.
    """

    def keep(self, id_: HeldId, order: HeldOrder, *, now: float, expires_at: float) -> None: ...
    def read(self, id_: HeldId, *, before: int) -> HeldOrder | None: ...
    def note(self, id_: HeldId, seen: Seen, *, expires_at: float) -> None: ...
