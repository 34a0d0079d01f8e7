"""How large a chunk may be, in tokens of the embedding model."""

from dataclasses import dataclass, replace

SPECIAL_TOKENS = 2  # what a model puts around a text
TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes in tokens (I5). A chunk is closed once it reaches `target`, never passes `ceiling`, and is not
    left under `floor` while its section has more."""

    target: int = 500
    floor: int = 200
    ceiling: int = 800
    overlap: int = 50  # repeated from the neighbor before, in the same section

    def within(self, window_tokens: int, *, prefix_tokens: int, section_tokens: int) -> "ChunkSizes":
        """What holds for a section, given what the model sees at once (I6).

        A model that sees a whole chunk needs nothing else. For one that does not, a section up to the ceiling stays
        whole, and its windows' vectors are averaged; a longer one is cut into pieces that fit the window together
        with their breadcrumb (ADR 5 has the measurements).
        """
        room = max(window_tokens - SPECIAL_TOKENS - prefix_tokens, window_tokens // 4)
        if room >= self.ceiling:
            return self
        if section_tokens <= self.ceiling:
            return replace(self, target=self.ceiling)
        share = room / self.ceiling
        return replace(
            self,
            target=min(self.target, round(room * TARGET_SHARE)),
            floor=min(self.floor, round(self.floor * share)),
            ceiling=room,
        )


DEFAULT_SIZES = ChunkSizes()
