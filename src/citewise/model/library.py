"""What a library was made with: it can only be read and extended by the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class LibraryFacts:
    """The embedding model, the way of cutting and the way of making terms."""

    model: str
    dimensions: int
    window_tokens: int
    chunker: str
    analyzer: str

    @classmethod
    def of(cls, stored: Mapping[str, str]) -> Self:
        return cls(
            model=stored.get("model", ""),
            dimensions=int(stored.get("dimensions", "0")),
            window_tokens=int(stored.get("window_tokens", "0")),
            chunker=stored.get("chunker", ""),
            analyzer=stored.get("analyzer", ""),
        )

    @property
    def stored(self) -> Mapping[str, str]:
        return {
            "model": self.model,
            "dimensions": str(self.dimensions),
            "window_tokens": str(self.window_tokens),
            "chunker": self.chunker,
            "analyzer": self.analyzer,
        }

    def differences(self, ours: "LibraryFacts") -> tuple[str, ...]:
        """In words, what keeps this library and those settings apart; the analyzer's work is redone unasked."""
        named = (
            ("embedding model", self.model, ours.model),
            ("dimensions", self.dimensions, ours.dimensions),
            ("window", self.window_tokens, ours.window_tokens),
            ("chunker", self.chunker, ours.chunker),
        )
        return tuple(f"{name} is {theirs}, the settings say {mine}" for name, theirs, mine in named if theirs != mine)
