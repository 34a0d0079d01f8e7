"""Compressor: makes sources shorter."""

from collections.abc import Sequence
from typing import Protocol

from citewise.model.context import Evidence, Shortened, Source


class Compressor(Protocol):
    """Leaves out of sources what is not worth its tokens.

    Promises: what is kept stands in the order of the document, word for word, with `…` where a whole unit was left
    out; headings stay; code and tables are whole or not there; every source that is kept has its best unit that fits,
    unchanged; a source of which nothing fits is not in the outcome, which may be empty. As blocks of a context, the
    outcome takes `wanted_tokens`; more only where the best source's best unit does, and then no other one of that
    source; never over `most_tokens`, as far as tokens of parts add up to those of the whole. What cannot be loaded or
    breaks raises a CitewiseError.
    """

    @property
    def name(self) -> str: ...
    def shortened(
        self,
        question: str,
        sources: Sequence[Source],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        most_tokens: int,
    ) -> tuple[Shortened, ...]: ...
