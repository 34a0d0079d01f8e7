"""Generator: writes an answer from a prompt."""

from collections.abc import Iterator
from typing import Protocol

from citewise.model.context import Prompt


class Generator(Protocol):
    """Writes an answer that rests on a prompt's sources.

    Promises: pieces of text in order, nothing but what the answer says, with `[n]` where source n is meant; closing
    the iterator stops the work and frees what it held; a server that refuses, is too slow or breaks off raises
    Unavailable, wrong credentials or an unknown model Misconfigured.
    """

    @property
    def name(self) -> str: ...  # shown with the answer: an extractive one never passes for a language model
    def stream(self, prompt: Prompt) -> Iterator[str]: ...
