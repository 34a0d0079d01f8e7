"""Orders held in the memory of this process: for a library in a folder that may not be written to."""

import threading
from dataclasses import dataclass

from citewise.adapters.sqlite.rankings import order_bytes, order_of
from citewise.model.paging import HeldId
from citewise.ports.rankings import HeldOrder, Seen

MAX_BYTES = 16_000_000  # of all orders; one of 140 hits takes about 5,000, one of a thousand 27,000


@dataclass(slots=True)
class _Held:
    data: bytes
    expires_at: float
    seen: Seen


class MemoryHeldOrders:
    """The port `HeldOrders`, for as long as the process lives."""

    def __init__(self, *, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: dict[HeldId, _Held] = {}  # oldest first
        self._bytes = 0

    def keep(self, id_: HeldId, order: HeldOrder, *, now: float, expires_at: float) -> None:
        made = _Held(order_bytes(order), expires_at, order.seen)
        with self._lock:
            self._drop(id_)
            for old in [id_ for id_, one in self._held.items() if one.expires_at <= now]:
                self._drop(old)
            while self._held and self._bytes + len(made.data) > self._max_bytes:
                self._drop(next(iter(self._held)))
            self._held[id_] = made
            self._bytes += len(made.data)

    def read(self, id_: HeldId, *, before: int) -> HeldOrder | None:
        with self._lock:
            held = self._held.get(id_)
            if held is None:
                return None
            seen = held.seen
        return order_of(held.data, seen.before(before))

    def note(self, id_: HeldId, seen: Seen, *, expires_at: float) -> None:
        with self._lock:
            held = self._held.get(id_)
            if held is not None:
                held.seen = held.seen.then(seen)
                held.expires_at = max(held.expires_at, expires_at)

    def _drop(self, id_: HeldId) -> None:
        held = self._held.pop(id_, None)
        if held is not None:
            self._bytes -= len(held.data)
