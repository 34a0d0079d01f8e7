"""Text that a reader selected, and where."""

from dataclasses import dataclass

from citewise.model.question import checked_selection


@dataclass(frozen=True, slots=True)
class Selection:
    """What an answer in selected-text mode may rest on, and nothing else (Q13)."""

    text: str
    document: str | None = None
    section: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checked_selection(self.text))
