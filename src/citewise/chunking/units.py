"""Units: the smallest things a chunk is packed from, and how larger blocks come apart."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from citewise.model.block import Block, BlockKind
from citewise.ports.token_counter import TokenCounter

WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION, BlockKind.MATH, BlockKind.HTML})

_SENTENCE_END = re.compile(r"(?<=[.!?\u2026\u3002\uff01\uff1f])[\"')\]*_`]*\s+(?=\S)|\n(?=\S)")


@dataclass(frozen=True, slots=True)
class Unit:
    """Text that stays in one piece, with its lines and size. `continues`: it goes on where the unit before ended."""

    kind: BlockKind
    text: str
    first_line: int
    last_line: int
    tokens: int
    children: tuple[Block, ...] = ()
    language: str | None = None
    continues: bool = False

    def glue_to(self, following: "Unit") -> str:
        """What stood between this unit and the next: nothing lost is put back but the white space."""
        if following.continues:
            return " " if following.first_line == self.last_line else "\n"
        return "\n" if following.first_line <= self.last_line + 1 and self.kind is not BlockKind.HEADING else "\n\n"


def unit_of(block: Block, tokens: int) -> Unit:
    """A block as a unit."""
    return Unit(
        kind=block.kind,
        text=block.text,
        first_line=block.first_line,
        last_line=block.last_line,
        tokens=tokens,
        children=block.children,
        language=block.language,
    )


def parts_of(unit: Unit, *, ceiling: int, counter: TokenCounter) -> Iterator[Unit]:
    """The unit itself if it fits or may not be cut; else its children, else its sentences."""
    if unit.tokens <= ceiling or unit.kind in WHOLE or unit.kind is BlockKind.HEADING:
        yield unit
    elif unit.children:
        counts = counter.counts([child.text for child in unit.children])
        for child, tokens in zip(unit.children, counts, strict=True):
            yield from parts_of(unit_of(child, tokens), ceiling=ceiling, counter=counter)
    else:
        yield from _sentences_of(unit, ceiling=ceiling, counter=counter)


def _sentences_of(unit: Unit, *, ceiling: int, counter: TokenCounter) -> Iterator[Unit]:
    """Runs of whole sentences under half the ceiling; one sentence alone may be longer."""
    sentences = list(_located_sentences(unit))
    counts = counter.counts([sentence.text for sentence in sentences])
    run: Unit | None = None
    for sentence, tokens in zip(sentences, counts, strict=True):
        sized = replace(sentence, tokens=tokens)
        if run is not None and run.tokens + tokens <= ceiling // 2:
            run = replace(
                run,
                text=run.text + run.glue_to(sized) + sized.text,
                last_line=sized.last_line,
                tokens=run.tokens + tokens,
            )
            continue
        if run is not None:
            yield run
        run = sized
    if run is not None:
        yield run


def _located_sentences(unit: Unit) -> Iterator[Unit]:
    start, line = 0, unit.first_line
    ends = [match.span() for match in _SENTENCE_END.finditer(unit.text)] + [(len(unit.text), len(unit.text))]
    for gap_start, gap_end in ends:
        # Closing quotes and brackets belong to the sentence; only white space is the gap.
        text = unit.text[start:gap_end].rstrip() if gap_end > gap_start else unit.text[start:gap_start]
        last = line + text.count("\n")
        yield Unit(unit.kind, text, line, last, 0, continues=start > 0)
        line += unit.text.count("\n", start, gap_end)
        start = gap_end


def overlap_of(units: Sequence[Unit], *, most_tokens: int, counter: TokenCounter) -> tuple[Unit, ...]:
    """The last words of a piece, for its neighbor to begin with; nothing that may not be cut is cut for it."""
    if not units or most_tokens <= 0:
        return ()
    last = units[-1]
    if last.tokens <= most_tokens:
        return () if last.kind is BlockKind.HEADING else (last,)
    while last.children:  # a list may end in a fence: what is cut is its last paragraph
        last = unit_of(last.children[-1], 0)
    if last.kind in WHOLE:
        return ()
    return _tail(last, most_tokens, counter)


def _tail(unit: Unit, most_tokens: int, counter: TokenCounter) -> tuple[Unit, ...]:
    words = list(re.finditer(r"\S+", unit.text))[-most_tokens:]
    counts = counter.counts([word.group() for word in words])
    kept, total = len(words), 0
    while kept > 0 and total + counts[kept - 1] <= most_tokens:
        kept -= 1
        total += counts[kept]
    if kept == len(words):
        return ()
    start = _sentence_start(unit.text, words[kept].start())
    text = unit.text[start:]
    tokens = counter.counts([text])[0]
    first_line = unit.first_line + unit.text.count("\n", 0, start)
    return (Unit(unit.kind, text, first_line, unit.last_line, tokens),)


def _sentence_start(text: str, start: int) -> int:
    """Begin with a whole sentence if at least half of what would be repeated remains."""
    match = _SENTENCE_END.search(text, start)
    if match and (len(text) - match.end()) * 2 >= len(text) - start:
        return match.end()
    return start
