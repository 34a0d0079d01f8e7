"""Sources made shorter: which of their units are kept, within how many tokens, and how the rest reads."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from citewise.model.answer import ContextSource, Evidence, Shortened, Unit
from citewise.text.markdown import Line

MARK = "\u2026"  # where a unit was left out
MARK_TOKENS = 1
RULE_TOKENS = 3  # what stands between two sources

_BETWEEN = " \t\n>"  # what may stand between the units of a paragraph, a list or a quotation

_Counts = Callable[[Sequence[str]], list[int]]  # as a TokenCounter counts


@dataclass(frozen=True, slots=True)
class _Part:
    """A unit as it stands in its source, with what it takes and what it is worth."""

    unit: Unit
    text: str
    tokens: int
    worth: float
    stands_apart: bool  # from the part above: a heading is between them


class Shortening:
    """Sources of which units are kept until the tokens are spent.

    Each begins with its best unit that fits, which it must not lose. A source of which nothing fits is left out. The
    best source goes first and may take all there is: without it there may be nothing to answer from, and so there is
    nothing if it does not fit. What it takes beyond what is wanted is not at the others' expense.
    """

    def __init__(
        self,
        sources: Sequence[ContextSource],
        worths: Iterable[tuple[Evidence, float]],
        counts: _Counts,
        *,
        wanted_tokens: int,
        max_tokens: int,
    ) -> None:
        given: defaultdict[int, list[tuple[Unit, float]]] = defaultdict(list)
        for evidence, worth in worths:
            given[evidence.unit.source].append((evidence.unit, worth))
        layouts = {source.n: _Layout.of(source, given[source.n], counts) for source in sources}
        spent, limit = -RULE_TOKENS, max_tokens  # no rule stands above the first
        kept: dict[int, set[int]] = {}
        for n, layout in sorted(layouts.items(), key=lambda item: (-item[1].source.score, item[0])):
            units = [{part.unit.position} for part in _best_first(layout.parts)] or [set[int]()]
            best = next((unit for unit in units if spent + layout.tokens(unit) <= limit), None)
            if best is not None:
                spent += layout.tokens(best)
                if not kept:
                    limit = wanted_tokens if spent <= wanted_tokens else min(max_tokens, spent + wanted_tokens)
                kept[n] = best
            elif not kept:
                break
        self._layouts = {n: layout for n, layout in layouts.items() if n in kept}
        self._kept = kept  # by source, positions of units
        self.left = wanted_tokens - spent  # tokens
        self.parts = _best_first(part for layout in self._layouts.values() for part in layout.parts)

    @property
    def sources(self) -> list[ContextSource]:
        return [layout.source for layout in self._layouts.values()]

    def keeps(self, unit: Unit) -> bool:
        return unit.position in self._kept[unit.source]

    def add(self, unit: Unit, tokens: int) -> bool:
        """Spend so many tokens on a unit, or on a word of it, and those of the marks that move; False: no room."""
        layout, kept = self._layouts[unit.source], self._kept[unit.source]
        cost = tokens + layout.marks({*kept, unit.position}) - layout.marks(kept)
        if cost > self.left:
            return False
        kept.add(unit.position)
        self.left -= cost
        return True

    def outcome(self, texts: Mapping[Unit, str] | None = None) -> tuple[Shortened, ...]:
        """The sources with the units that are kept, some with other texts than their own."""
        return tuple(layout.with_units(self._kept[n], texts or {}) for n, layout in self._layouts.items())


@dataclass(frozen=True, slots=True)
class _Layout:
    """A source's text as parts that may be left out, and a frame that may not: label, headings, marks of lists."""

    source: ContextSource
    parts: tuple[_Part, ...]
    begins: int  # behind a heading that the source's label repeats
    frame_tokens: int  # with the rule above it

    @classmethod
    def of(cls, source: ContextSource, worths: Sequence[tuple[Unit, float]], counts: _Counts) -> "_Layout":
        texts = [source.text[slice(*unit.span)] for unit, _ in worths]
        first, _, rest = source.text.lstrip().partition("\n")
        title = first.lstrip("#").strip()
        is_repeated = Line(first).is_heading and title in (source.citation.section, source.citation.title)
        done = begins = len(source.text) - len(rest.lstrip("\n")) if rest and is_repeated else 0
        *tokens, title_tokens = counts([*texts, source.text[:begins]])
        parts: list[_Part] = []
        for (unit, worth), text, spent in zip(worths, texts, tokens, strict=True):
            stands_apart = bool(source.text[done : unit.span[0]].strip(_BETWEEN))
            parts.append(_Part(unit, text, spent, worth, stands_apart))
            done = unit.span[1]
        return cls(source, tuple(parts), begins, source.tokens - sum(tokens) - title_tokens + RULE_TOKENS)

    def with_units(self, kept: Collection[int], texts: Mapping[Unit, str]) -> Shortened:
        """The source with these units, by position; a mark for one that is left out, and one for several."""
        pieces: list[str] = []
        done, is_marked = self.begins, False
        for part in self.parts:
            is_kept = part.unit.position in kept
            if is_kept or not is_marked or part.stands_apart:
                shown = texts.get(part.unit, part.text) if is_kept else MARK
                pieces += (self.source.text[done : part.unit.span[0]], shown)
            done, is_marked = part.unit.span[1], not is_kept
        pieces.append(self.source.text[done:])
        positions = tuple(part.unit.position for part in self.parts if part.unit.position in kept)
        return Shortened(self.source.n, "".join(pieces).strip("\n"), positions)

    def tokens(self, kept: Collection[int]) -> int:
        """What the source takes with these units alone, by position: frame, units and marks."""
        units = sum(part.tokens for part in self.parts if part.unit.position in kept)
        return self.frame_tokens + units + self.marks(kept)

    def marks(self, kept: Collection[int]) -> int:
        """Tokens of the marks between these units."""
        marks, is_marked = 0, False
        for part in self.parts:
            is_kept = part.unit.position in kept
            marks += not is_kept and (not is_marked or part.stands_apart)
            is_marked = not is_kept
        return MARK_TOKENS * marks


def _best_first(parts: Iterable[_Part]) -> list[_Part]:
    return sorted(parts, key=lambda part: (-part.worth, part.unit.source, part.unit.position))
