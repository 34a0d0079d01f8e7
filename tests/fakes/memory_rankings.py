"""Saved rankings in memory."""

import threading

from citewise.ports.stores import SavedRanking


class MemoryRankings:
    """The port `RankingStore` in memory."""

    is_shared = True

    def __init__(self, *, max_candidates: int = 200_000) -> None:
        self._max_candidates = max_candidates
        self._lock = threading.Lock()
        self._saved: dict[str, tuple[SavedRanking, float, float]] = {}  # with its time and its expiry; oldest first

    def save(self, cursor: str, ranking: SavedRanking, *, now: float, expires_at: float) -> None:
        with self._lock:
            self._saved = {key: saved for key, saved in self._saved.items() if saved[2] > now and key != cursor}
            self._saved[cursor] = (ranking, now, expires_at)
            total = sum(len(saved.candidates) for saved, *_ in self._saved.values())
            while total > self._max_candidates and len(self._saved) > 1:
                oldest, *_ = self._saved.pop(next(iter(self._saved)))
                total -= len(oldest.candidates)

    def load(self, cursor: str, *, now: float) -> SavedRanking | None:
        with self._lock:
            ranking, saved_at, expires_at = self._saved.get(cursor, (None, 0.0, 0.0))
        return ranking if saved_at <= now + 60.0 and expires_at > now else None

    def renew(self, cursor: str, *, now: float, expires_at: float) -> bool:
        with self._lock:
            ranking, saved_at, old = self._saved.get(cursor, (None, 0.0, 0.0))
            if ranking is None or old <= now or saved_at > now + 60.0:
                return False
            self._saved[cursor] = (ranking, saved_at, max(old, expires_at))
            return True

    def clear(self) -> bool:
        with self._lock:
            self._saved.clear()
        return True
