"""A generator that says what a test tells it to, and remembers what it was asked and whether it was stopped."""

from collections.abc import Generator, Sequence

from citewise.model.answer import Prompt
from citewise.model.cancellation import Cancellation


class ScriptedGenerator:
    """Gives these pieces; an exception among them is raised in its place."""

    def __init__(self, pieces: Sequence[str | Exception], name: str = "scripted") -> None:
        self.name = name
        self._pieces = tuple(pieces)
        self.prompts: list[Prompt] = []
        self.given: list[str] = []
        self.is_at_work = False

    def stream(self, prompt: Prompt, cancellation: Cancellation | None = None) -> Generator[str, None, None]:
        self.prompts.append(prompt)
        self.is_at_work = True
        try:
            for piece in self._pieces:
                if cancellation:
                    cancellation.raise_if_cancelled()
                if isinstance(piece, Exception):
                    raise piece
                self.given.append(piece)
                yield piece
        finally:
            self.is_at_work = False
