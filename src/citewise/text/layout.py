"""Texts made shorter: cut at an end, or by leaving units out of them."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from citewise.model.answer import ContextSource, Evidence, Shortened, Unit, UnitKind
from citewise.text.analysis import stems
from citewise.text.markdown import fenced_lines, first_heading, is_heading, is_markup, paragraphs, unquoted
from citewise.text.units import sentence_starts

Span = tuple[int, int]

LEFT_OUT = "[\u2026]"  # a paragraph
MARK = "\u2026"  # where a unit was left out
MARK_TOKENS = 1
RULE_TOKENS = 3  # what stands between two sources

_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_BETWEEN = " \t\n>"  # what may stand between the units of a paragraph, a list or a quotation

Counts = Callable[[Sequence[str]], list[int]]  # as a TokenCounter counts
_LOST = re.compile(r"[\s>\\]+")  # what a unit may have lost: white space, quote marks, hard breaks
_VISIBLE = re.compile(r"[^\s>\\]+")


def _spans_of(text: str, units: Sequence[Unit]) -> Iterator[Span | None]:
    """For each unit of a text, in their order, from where to where it stands; None for one that cannot be found.

    Between two spans is what nobody quotes: white space, headings, marks of lists and quotations. They are found by
    comparing what is left of both without the characters that units lose.
    """
    runs = [match.span() for match in _VISIBLE.finditer(text)]
    visible = "".join(text[start:end] for start, end in runs)
    firsts = list(accumulate((end - start for start, end in runs), initial=0))  # of each run, in `visible`

    def place(at: int) -> int:
        run = bisect_right(firsts, at) - 1
        return runs[run][0] + at - firsts[run]

    def is_in_markup(at: int) -> bool:
        """A sentence never begins in a heading that has the same words."""
        begin, end = text.rfind("\n", 0, place(at)) + 1, text.find("\n", place(at))
        return is_markup(unquoted(text[begin : end if end >= 0 else len(text)])[0])

    done = 0
    for unit in units:
        wanted = _LOST.sub("", unit.text)
        at = visible.find(wanted, done)
        while at >= 0 and unit.kind is UnitKind.SENTENCE and is_in_markup(at):
            at = visible.find(wanted, at + 1)
        if at < 0 or not wanted:
            yield None
            continue
        done = at + len(wanted)
        yield place(at), place(done - 1) + 1


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits, up to the end of a line outside code and tables; then of any line; then of a
    sentence; then of a word; then anywhere, for writing without blanks. Empty if not even a character fits."""
    for ends in (
        tuple(_ends_of_lines(text, only_safe=True)),
        tuple(_ends_of_lines(text, only_safe=False)),
        tuple(len(text[:start].rstrip()) for start in (*sentence_starts(text), len(text))),
        (*(match.start() for match in _WORD_END.finditer(text)), len(text)),
        range(1, len(text) + 1),
    ):
        count = bisect_right(ends, False, key=lambda end: not fits(text[:end]))
        if count:
            return text[: ends[count - 1]]
    return ""


def _ends_of_lines(text: str, *, only_safe: bool) -> Iterator[int]:
    """Where lines end, but for blank ones and headings: a heading with nothing behind it says nothing.

    A line that is of one fence or one table with the next is not safe to end with.
    """
    lines = text.split("\n")
    in_fence = fenced_lines(lines)
    end = -1
    for line, following, is_code, goes_on in zip(
        lines, [*lines[1:], ""], in_fence, [*in_fence[1:], False], strict=True
    ):
        end += len(line) + 1
        says_something = bool(line.strip()) and (is_code or not is_heading(line))
        holds_together = (is_code and goes_on) or ("|" in line and "|" in following)
        if says_something and not (only_safe and holds_together):
            yield end


def best_paragraphs(text: str, question: str, *, counts: Counts, budget_tokens: int) -> str:
    """The text itself if it fits, else its best paragraphs in their own order, with a mark where others stood.

    A paragraph is as good as the share of the question's stems that it holds; rare ones count more, earlier
    paragraphs win ties. A single paragraph over the budget is left for the packing to cut.
    """
    if counts([text])[0] <= budget_tokens:
        return text
    whole = paragraphs(text)
    shared = [stems(question) & stems(paragraph) for paragraph in whole]
    spread = Counter(stem for present in shared for stem in present)
    worth = [sum(1 / spread[stem] for stem in present) for present in shared]
    ranked = sorted(range(len(whole)), key=worth.__getitem__, reverse=True)
    tokens, mark_tokens = counts(whole), counts([LEFT_OUT])[0]
    room, chosen = budget_tokens - mark_tokens, set[int]()
    for at in ranked:
        if tokens[at] + mark_tokens <= room:
            chosen.add(at)
            room -= tokens[at] + mark_tokens
    parts: list[str] = []
    for at, paragraph in enumerate(whole):
        if at in chosen or (not chosen and at == ranked[0]):
            parts.append(paragraph)
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "\n\n".join(parts)


@dataclass(frozen=True, slots=True)
class Part:
    """A unit where it stands, with what it takes and what it is worth."""

    unit: Unit
    span: Span
    tokens: int
    worth: float
    stands_apart: bool  # from the part above: a heading is between them


@dataclass(frozen=True, slots=True)
class Layout:
    """A source's text as parts that may be left out, and a frame that may not: label, headings, marks of lists."""

    source: ContextSource
    parts: tuple[Part, ...]
    begins: int  # behind a heading that the source's label repeats
    frame_tokens: int  # with the rule above it

    def put_together(self, shown: Mapping[int, str]) -> Shortened:
        """The source with these texts for its units, by position; a mark for one that has none, and one for several."""
        pieces: list[str] = []
        done, is_marked = self.begins, False
        for part in self.parts:
            text = shown.get(part.unit.position, "")
            if text or not is_marked or part.stands_apart:
                pieces += (self.source.text[done : part.span[0]], text or MARK)
            done, is_marked = part.span[1], not text
        pieces.append(self.source.text[done:])
        chosen = tuple(part.unit.position for part in self.parts if shown.get(part.unit.position))
        return Shortened(self.source.n, "".join(pieces).strip("\n"), chosen)

    def tokens(self, chosen: Collection[int]) -> int:
        """What the source takes with these units alone, by position: frame, units and marks."""
        units = sum(part.tokens for part in self.parts if part.unit.position in chosen)
        return self.frame_tokens + units + self._marks(chosen)

    def marks_added(self, chosen: Collection[int], position: int) -> int:
        """Tokens of marks, more or fewer, that one more unit makes."""
        return self._marks({*chosen, position}) - self._marks(chosen)

    def _marks(self, chosen: Collection[int]) -> int:
        marks, is_marked = 0, False
        for part in self.parts:
            is_kept = part.unit.position in chosen
            marks += not is_kept and (not is_marked or part.stands_apart)
            is_marked = not is_kept
        return MARK_TOKENS * marks

    def text_of(self, part: Part) -> str:
        return self.source.text[slice(*part.span)]


@dataclass(frozen=True, slots=True)
class Layouts:
    """The sources of a context, each laid out, by number."""

    by_number: Mapping[int, Layout]

    @classmethod
    def of(
        cls, sources: Sequence[ContextSource], worths: Iterable[tuple[Evidence, float]], counts: Counts
    ) -> "Layouts":
        """Each source with its units, which are worth what is said of them."""
        given: dict[int, list[tuple[Unit, float]]] = {source.n: [] for source in sources}
        for evidence, worth in worths:
            if evidence.unit.source in given:
                given[evidence.unit.source].append((evidence.unit, worth))
        return cls({source.n: _layout(source, given[source.n], counts) for source in sources})

    def only(self, numbers: Collection[int]) -> "Layouts":
        return Layouts({n: layout for n, layout in self.by_number.items() if n in numbers})

    def best_parts(self) -> list[Part]:
        return _best_parts(part for layout in self.by_number.values() for part in layout.parts)

    def tokens(self, chosen: Mapping[int, Collection[int]]) -> int:
        """What the sources take together with these units, by number and position."""
        return sum(layout.tokens(chosen[n]) for n, layout in self.by_number.items()) - RULE_TOKENS

    def essentials(self, *, wanted_tokens: int, max_tokens: int) -> dict[int, frozenset[int]]:
        """By source, the best unit that fits, which it must not lose. A source of which nothing fits is left out.

        The best source goes first and may take all there is: without it there may be nothing to answer from, and so
        there is nothing if it does not fit. What it takes beyond what is wanted is not at the others' expense.
        """
        chosen: dict[int, frozenset[int]] = {}
        spent, limit = -RULE_TOKENS, max_tokens  # no rule stands above the first
        for n, layout in sorted(self.by_number.items(), key=lambda item: (-item[1].source.score, item[0])):
            units = [frozenset({part.unit.position}) for part in _best_parts(layout.parts)] or [frozenset[int]()]
            best = next((unit for unit in units if spent + layout.tokens(unit) <= limit), None)
            if best is not None:
                spent += layout.tokens(best)
                if not chosen:
                    limit = wanted_tokens if spent <= wanted_tokens else min(max_tokens, spent + wanted_tokens)
                chosen[n] = best
            elif not chosen:
                break
        return chosen


def _layout(source: ContextSource, worths: Sequence[tuple[Unit, float]], counts: Counts) -> Layout:
    spans = tuple(_spans_of(source.text, [unit for unit, _ in worths]))
    tokens = counts([source.text[slice(*span)] if span else "" for span in spans])
    title, behind = first_heading(source.text)  # left out if it is the section that the label names anyway
    done = begins = behind if title in (source.citation.section, source.citation.title) else 0
    parts: list[Part] = []
    for (unit, worth), span, spent in zip(worths, spans, tokens, strict=True):
        if span is not None:
            stands_apart = bool(source.text[done : span[0]].strip(_BETWEEN))
            parts.append(Part(unit, span, spent, worth, stands_apart))
            done = span[1]
    frame = source.tokens - sum(tokens) - counts([source.text[:begins]])[0] + RULE_TOKENS
    return Layout(source, tuple(parts), begins, frame)


def _best_parts(parts: Iterable[Part]) -> list[Part]:
    return sorted(parts, key=lambda part: (-part.worth, part.unit.source, part.unit.position))
