"""Context and evidence -> a shorter context: what speaks of the question, in the document's own order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from citewise.answer.ground import standings_of
from citewise.answer.pack import Pack
from citewise.errors import CitewiseError
from citewise.model.answer import Context, ContextSource, Evidence, Grounds, Shortened
from citewise.model.query import Query
from citewise.ports.models import Compressor, TokenCounter
from citewise.text.units import Layout, Part, best_parts, essentials, layouts_of, tokens_of

# Both were chosen on the textbook and the API documentation by `python -m benchmarks.compression`, which shows the
# curve. Tokens of a compressed context; 0: the best sentence alone; beyond what was found: only what is worthless goes.
COMPRESSED_TOKENS = 600
# Standing of the source and fit of the unit together, of 2 at most; 0: only the budget leaves something out; 1: the
# best source stays whole, and of the others what fits nearly as well.
MIN_WORTH = 0.65
FEWEST_WORDS = 5  # from which on a unit that stands inside another counts as said; 1: "No." would be, nearly anywhere

_WORD = re.compile(r"\w+")


class Compressed(NamedTuple):
    """A context with less in it, what still speaks for it, and what did not work on the way."""

    context: Context
    grounds: Grounds
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compress:
    """Makes a context shorter, where that is wanted; a compressor that fails is replaced by choosing sentences."""

    compressor: Compressor | None = None  # None: sentences are chosen
    is_on: bool = False  # for a query that does not say
    tokens: int = COMPRESSED_TOKENS

    def is_wanted(self, query: Query) -> bool:
        return self.is_on if query.compress is None else query.compress

    def __call__(self, question: str, context: Context, grounds: Grounds, *, pack: Pack) -> Compressed | None:
        """None where nothing whole fits the budget: then packing has to cut."""
        extractive = Extractive(pack.counter)
        chosen = self.compressor or extractive
        try:
            return _compressed(chosen, question, context, grounds, pack=pack, tokens=self.tokens)
        except CitewiseError as error:
            reason = str(error)
        except Exception as error:  # noqa: BLE001  it may be anybody's code, and no optional part may fail a query
            reason = f"{chosen.name} broke ({type(error).__name__})"
        shorter = _compressed(extractive, question, context, grounds, pack=pack, tokens=self.tokens)
        return shorter and shorter._replace(degraded=(f"compress: {reason}; sentences were chosen instead",))


def _compressed(
    compressor: Compressor, question: str, context: Context, grounds: Grounds, *, pack: Pack, tokens: int
) -> Compressed | None:
    most = pack.budget_tokens
    shortened = compressor.shortened(
        question, context.sources, grounds.evidence, wanted_tokens=min(tokens, most), max_tokens=most
    )
    shorter = pack.shortened(context, {one.n: one.text for one in shortened})
    if not shorter.sources or shorter.tokens > most:
        return None
    return Compressed(shorter, replace(grounds, evidence=tuple(_kept(grounds.evidence, shortened))))


def _kept(evidence: Sequence[Evidence], shortened: Sequence[Shortened]) -> Iterator[Evidence]:
    """The evidence that is still shown, under the sources' new numbers."""
    numbers = {one.n: at for at, one in enumerate(sorted(shortened, key=lambda one: one.n), start=1)}
    kept = {(one.n, position) for one in shortened for position in one.kept}
    for one in evidence:
        if (one.unit.source, one.unit.position) in kept:
            yield replace(one, unit=replace(one.unit, source=numbers[one.unit.source]))


@dataclass(frozen=True, slots=True)
class Extractive:
    """Keeps sentences and blocks by what they are worth: the standing of their source and how well they fit.

    The two are added, since what answers often says little of what was asked, and then only its place speaks for it.
    What was said already is left out.
    """

    counter: TokenCounter
    min_worth: float = MIN_WORTH

    @property
    def name(self) -> str:
        return "extractive"

    def shortened(
        self,
        question: str,
        sources: Sequence[ContextSource],
        evidence: Sequence[Evidence],
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> tuple[Shortened, ...]:
        standings = standings_of(sources)
        worths = ((one, standings.get(one.unit.source, 0.0) + one.fit) for one in evidence)
        layouts = layouts_of(sources, worths, self.counter.counts)
        musts = essentials(layouts, wanted_tokens=wanted_tokens, max_tokens=max_tokens)
        shown = {layout.source.n: layout for layout in layouts if layout.source.n in musts}
        kept = self._filled(shown, musts, wanted_tokens)
        return tuple(
            layout.put_together({part.unit.position: layout.text_of(part) for part in layout.parts if part in kept})
            for layout in shown.values()
        )

    def _filled(
        self, layouts: Mapping[int, Layout], musts: Mapping[int, frozenset[int]], wanted_tokens: int
    ) -> frozenset[Part]:
        """What fits, best first, and was not said yet; a heading has said its words."""
        parts = best_parts(part for layout in layouts.values() for part in layout.parts)
        positions, kept = dict(musts), {part for part in parts if part.unit.position in musts[part.unit.source]}
        said = [_words(part.unit.text) for part in kept]
        said += [_words(heading) for one in layouts.values() for heading in one.source.citation.breadcrumb]
        left = wanted_tokens - tokens_of(layouts.values(), musts)
        for part in parts:
            if part.worth < self.min_worth:
                break
            n, words = part.unit.source, _words(part.unit.text)
            wider = positions[n] | {part.unit.position}
            cost = layouts[n].tokens(wider) - layouts[n].tokens(positions[n])
            if part not in kept and cost <= left and not _is_said(words, said):
                kept.add(part)
                said.append(words)
                positions[n], left = wider, left - cost
        return frozenset(kept)


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _is_said(words: str, said: Sequence[str]) -> bool:
    if words.count(" ") <= FEWEST_WORDS:
        return words in said
    return any(words in one for one in said)
