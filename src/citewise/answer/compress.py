"""Context and evidence -> a shorter context: what speaks of the question, in the document's own order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from citewise.answer.pack import Pack
from citewise.errors import part_failed
from citewise.model.answer import Context, ContextSource, Evidence, Grounds, Shortened
from citewise.model.query import Query
from citewise.ports.models import Compressor, TokenCounter
from citewise.text.layout import Shortening

# Both were chosen on the textbook and the API documentation by `python -m benchmarks.compression`, which shows the
# curve. Tokens of a compressed context; 0: the best sentence alone; beyond what was found: only what is worthless goes.
COMPRESSED_TOKENS = 600
# Standing of the source and fit of the unit together, of 2 at most; 0: only the budget leaves something out; 1: the
# best source stays whole, and of the others what fits nearly as well.
MIN_WORTH = 0.65
MIN_WORDS = 5  # from which on a unit that stands inside another counts as said; 1: "No." would be, nearly anywhere

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Compress:
    """Makes a context shorter, where that is wanted; a compressor that fails is replaced by choosing sentences."""

    compressor: Compressor | None = None  # None: sentences are chosen
    is_on: bool = False  # for a query that does not say
    tokens: int = COMPRESSED_TOKENS

    def is_wanted(self, query: Query) -> bool:
        return self.is_on if query.compress is None else query.compress

    def __call__(
        self, question: str, context: Context, grounds: Grounds, *, pack: Pack
    ) -> tuple[Context, Grounds, tuple[str, ...]] | None:
        """A context with less in it, what still speaks for it, and what did not work on the way.

        None where nothing whole fits the budget: then packing has to cut.
        """
        chosen = self.compressor or Extractive(pack.counter)
        degraded: tuple[str, ...] = ()
        try:
            shorter = self._compressed(chosen, question, context, grounds, pack)
        except Exception as error:  # noqa: BLE001  it may be anybody's code, and no optional part may fail a query
            degraded = (part_failed("compress", error, "sentences were chosen instead"),)
            shorter = self._compressed(Extractive(pack.counter), question, context, grounds, pack)
        return shorter and (*shorter, degraded)

    def _compressed(
        self, compressor: Compressor, question: str, context: Context, grounds: Grounds, pack: Pack
    ) -> tuple[Context, Grounds] | None:
        budget = pack.budget_tokens
        shortened = compressor.shortened(
            question, context.sources, grounds.evidence, wanted_tokens=min(self.tokens, budget), max_tokens=budget
        )
        shorter = pack.shortened(context, {source.n: source.text for source in shortened})
        if not shorter.sources or shorter.tokens > budget:
            return None
        numbers = {n: at for at, n in enumerate(sorted(source.n for source in shortened), start=1)}
        chosen = {(source.n, position) for source in shortened for position in source.kept}
        evidence = [
            replace(evidence, unit=replace(evidence.unit, source=numbers[evidence.unit.source]))
            for evidence in grounds.evidence
            if (evidence.unit.source, evidence.unit.position) in chosen
        ]
        return shorter, replace(grounds, evidence=tuple(evidence))


@dataclass(frozen=True, slots=True)
class Extractive:
    """Keeps sentences and blocks by what they are worth: the standing of their source and how well they fit.

    The two are added, since what answers often says little of what was asked, and then only its place speaks for it.
    What was said already is left out.
    """

    name: ClassVar[str] = "extractive"
    counter: TokenCounter
    min_worth: float = MIN_WORTH

    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        worths = ((weighed, weighed.standing + weighed.fit) for weighed in evidence)
        shortening = Shortening(
            sources, worths, self.counter.counts, wanted_tokens=wanted_tokens, max_tokens=max_tokens
        )
        said = [_words(part.unit.text) for part in shortening.parts if shortening.keeps(part.unit)]
        # A heading has said its words.
        said += [_words(heading) for source in shortening.sources for heading in source.citation.breadcrumb]
        for part in shortening.parts:
            if part.worth < self.min_worth:
                break
            words = _words(part.unit.text)
            is_said = words in said or (words.count(" ") > MIN_WORDS and any(words in other for other in said))
            if not shortening.keeps(part.unit) and not is_said and shortening.add(part.unit, part.tokens):
                said.append(words)
        return shortening.outcome()


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "
