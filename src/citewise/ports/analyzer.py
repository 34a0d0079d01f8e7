"""Analyzer: makes terms of text, for documents and queries alike."""

from collections.abc import Collection, Sequence
from typing import Protocol

from citewise.model.terms import Places, Terms


class Analyzer(Protocol):
    """Splits text into the tokens that BM25 counts.

    Promises: the same text gives the same terms; no term is empty, holds white space or is longer than 64
    characters; never raises. `places` finds, in each text, those of the wanted words' terms that `terms` would give.
    """

    @property
    def version(self) -> str: ...  # changes when the same text may give other terms
    def terms(self, text: str) -> Terms: ...
    def places(self, texts: Sequence[str], wanted: Collection[str]) -> Sequence[Places]: ...
