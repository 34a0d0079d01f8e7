"""How large a chunk may be, in tokens of the embedding model."""

from dataclasses import dataclass, replace

SPECIAL_TOKENS = 2  # what a model puts around a text


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes in tokens (I5). A chunk is closed once it reaches `target`, never passes `ceiling`, and is not
    left under `floor` while its section has more."""

    target: int = 500
    floor: int = 200
    ceiling: int = 800
    overlap: int = 50  # repeated from the neighbor before, in the same section

    def within(self, window_tokens: int, *, prefix_tokens: int) -> "ChunkSizes":
        """Lowered so that a chunk and its breadcrumb fit the model's window at once (I6)."""
        room = max(window_tokens - SPECIAL_TOKENS - prefix_tokens, window_tokens // 4)
        if room >= self.ceiling:
            return self
        share = room / self.ceiling
        return replace(
            self,
            target=min(self.target, round(room * TARGET_SHARE)),
            floor=min(self.floor, round(self.floor * share)),
            ceiling=room,
        )


TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim

DEFAULT_SIZES = ChunkSizes()
