"""Blocks -> pieces, by headings: never across one, never inside a fence, table or admonition."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.model.chunk import NO_SECTION, Piece, searchable_text
from citewise.model.document import Block, BlockKind, BlockSpan, Lines, Location, spanning
from citewise.ports.models import TokenCounter
from citewise.text.sentences import cut_points

SPECIAL_TOKENS = 2  # what a model puts around a text
TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes in tokens (I5). A chunk is closed once it reaches `target`, never passes `ceiling`, and is not
    left under `floor` while its section has more."""

    target: int = 500
    floor: int = 200
    ceiling: int = 800
    overlap: int = 50  # repeated from the neighbor before, in the same section

    def within(self, window_tokens: int, *, prefix_tokens: int, section_tokens: int) -> "ChunkSizes":
        """What holds for a section, given what the model sees at once (I6).

        A model that sees a whole chunk needs nothing else. For one that does not, a section up to the ceiling stays
        whole, and its windows' vectors are averaged; a longer one is cut into pieces that fit the window together
        with their breadcrumb (ADR 5 has the measurements).
        """
        room = max(window_tokens - SPECIAL_TOKENS - prefix_tokens, window_tokens // 4)
        if room >= self.ceiling:
            return self
        if section_tokens <= self.ceiling:
            return replace(self, target=self.ceiling)
        share = room / self.ceiling
        return replace(
            self,
            target=min(self.target, round(room * TARGET_SHARE)),
            floor=min(self.floor, round(self.floor * share)),
            ceiling=room,
        )


DEFAULT_SIZES = ChunkSizes()


WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION, BlockKind.MATH, BlockKind.HTML})


@dataclass(frozen=True, slots=True)
class Unit:
    """Text that stays in one piece, with its place and size. `continues`: it goes on where the unit before ended."""

    kind: BlockKind
    text: str
    location: Location
    tokens: int
    children: tuple[Block, ...] = ()
    language: str | None = None
    continues: bool = False

    def glue_to(self, following: "Unit") -> str:
        """What stood between this unit and the next: nothing lost is put back but the white space."""
        here, there = self.location.last, following.location.first
        if not isinstance(self.location, Lines):
            return " " if following.continues else "\n\n"
        if following.continues:
            return " " if there == here else "\n"
        return "\n" if there <= here + 1 and self.kind is not BlockKind.HEADING else "\n\n"


def unit_of(block: Block, tokens: int) -> Unit:
    """A block as a unit."""
    return Unit(
        kind=block.kind,
        text=block.text,
        location=block.location,
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
                location=spanning((run.location, sized.location)),
                tokens=run.tokens + tokens,
            )
            continue
        if run is not None:
            yield run
        run = sized
    if run is not None:
        yield run


def _located_sentences(unit: Unit) -> Iterator[Unit]:
    for start, end in pairwise((0, *cut_points(unit.text), len(unit.text))):
        text = unit.text[start:end].rstrip() if end < len(unit.text) else unit.text[start:]
        yield Unit(unit.kind, text, _location_in(unit, start, start + len(text)), 0, continues=start > 0)


def _location_in(unit: Unit, start: int, end: int) -> Location:
    """Where a part of a unit's text stands. Only lines can be told from the text itself."""
    if not isinstance(unit.location, Lines):
        return unit.location
    first = unit.location.first + unit.text.count("\n", 0, start)
    return Lines(first, first + unit.text.count("\n", start, end))


def overlap_of(units: Sequence[Unit], *, max_tokens: int, counter: TokenCounter) -> tuple[Unit, ...]:
    """The last words of a piece, for its neighbor to begin with; nothing that may not be cut is cut for it."""
    if not units or max_tokens <= 0:
        return ()
    last = units[-1]
    if last.tokens <= max_tokens:
        return () if last.kind is BlockKind.HEADING else (last,)
    while last.children and last.kind not in WHOLE:  # a list may end in a fence: what is cut is its last paragraph
        last = unit_of(last.children[-1], 0)
    if last.kind in WHOLE:
        return ()
    return _tail(last, max_tokens, counter)


def _tail(unit: Unit, max_tokens: int, counter: TokenCounter) -> tuple[Unit, ...]:
    words = list(re.finditer(r"\S+", unit.text))[-max_tokens:]
    counts = counter.counts([word.group() for word in words])
    kept, total = len(words), 0
    while kept > 0 and total + counts[kept - 1] <= max_tokens:
        kept -= 1
        total += counts[kept]
    if kept == len(words):
        return ()
    start = _sentence_start(unit.text, words[kept].start())
    text = unit.text[start:]
    tokens = counter.counts([text])[0]
    return (Unit(unit.kind, text, _location_in(unit, start, len(unit.text)), tokens),)


def _sentence_start(text: str, start: int) -> int:
    """Begin with a whole sentence if at least half of what would be repeated remains."""
    sentence = next((at for at in cut_points(text) if at > start), len(text))
    return sentence if (len(text) - sentence) * 2 >= len(text) - start else start


VERSION = "heading-3"  # changes when the same blocks may be cut differently

_EQUATION = re.compile(r"(?<![\\$\w])\$(?=\S)[^$\n]*[\\^_=+*/{][^$\n]*(?<=\S)\$(?![\d$])|\$\$")


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, what stands under it up to the next one, and the headings above it."""

    breadcrumb: tuple[str, ...]
    title: str
    anchor: str
    blocks: tuple[Block, ...]  # headings first


@dataclass(frozen=True, slots=True)
class HeadingChunker:
    """Cuts documents into pieces: sections as they are, and longer ones so that one look of the model takes them in."""

    counter: TokenCounter
    window_tokens: int
    sizes: ChunkSizes = DEFAULT_SIZES

    @property
    def version(self) -> str:
        sizes = self.sizes
        return f"{VERSION}, window {self.window_tokens}, {sizes.floor}-{sizes.target}-{sizes.ceiling}+{sizes.overlap}"

    def __call__(self, blocks: Sequence[Block], *, title: str | None) -> tuple[Piece, ...]:
        """Every word of every block is in a piece; pieces come in the order of the source."""
        sections = tuple(sections_of(blocks, title=title))
        tokens = self._tokens(sections)
        ordinals: defaultdict[str, int] = defaultdict(int)  # explicit ids may repeat, so counted per anchor
        pieces = []
        for section in sections:
            for units in self._packed(section, tokens):
                pieces.append(_piece(section, units, ordinals[section.anchor]))
                ordinals[section.anchor] += 1
        return tuple(pieces)

    def _tokens(self, sections: Sequence[Section]) -> dict[str, int]:
        """Counts of all blocks and breadcrumbs in one call, since each call has its price."""
        texts = list(
            dict.fromkeys(
                text
                for section in sections
                for text in (
                    searchable_text(section.breadcrumb, ""),
                    *(block.text for block in section.blocks),
                )
            )
        )
        return dict(zip(texts, self.counter.counts(texts), strict=True))

    def _packed(self, section: Section, tokens: dict[str, int]) -> Iterator[tuple[Unit, ...]]:
        prefix_tokens = tokens[searchable_text(section.breadcrumb, "")]
        sizes = self.sizes.within(
            self.window_tokens,
            prefix_tokens=prefix_tokens,
            section_tokens=sum(tokens[block.text] for block in section.blocks),
        )
        units = [
            part
            for block in section.blocks
            for part in parts_of(unit_of(block, tokens[block.text]), ceiling=sizes.ceiling, counter=self.counter)
        ]
        before: tuple[Unit, ...] = ()
        for group in packed(_with_headings_glued(units), sizes):
            overlap = overlap_of(before, max_tokens=_overlap_room(group, sizes), counter=self.counter)
            yield (*overlap, *group)
            before = group


def sections_of(blocks: Iterable[Block], *, title: str | None) -> Iterator[Section]:
    """Group blocks under their headings; a heading with nothing but a deeper heading below it joins that one."""
    above: list[tuple[int, str]] = []
    current: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.RULE:
            continue
        if block.heading is not None:
            if current and not _waits_for(current, block.heading.level):
                yield _section(current, above, title)
                current = []
            while above and above[-1][0] >= block.heading.level:
                above.pop()
            above.append((block.heading.level, block.heading.title))
        current.append(block)
    if current:
        yield _section(current, above, title)


def _waits_for(blocks: list[Block], level: int) -> bool:
    """Whether these are headings only, all above `level`: then they introduce what follows."""
    return all(block.heading is not None and block.heading.level < level for block in blocks)


def _section(blocks: list[Block], above: list[tuple[int, str]], title: str | None) -> Section:
    headings = [block.heading for block in blocks if block.heading is not None]
    names = [name for _, name in above if name]
    has_top = bool(above) and above[0][0] == 1
    breadcrumb = tuple(names if has_top or not title else [title, *names])
    last = headings[-1] if headings else None
    return Section(
        breadcrumb=breadcrumb,
        title=(last.title if last and last.title else NO_SECTION),
        anchor=last.anchor if last else "",
        blocks=tuple(blocks),
    )


def _with_headings_glued(units: Sequence[Unit]) -> list[tuple[Unit, ...]]:
    """Headings travel with the unit behind them: a heading alone says nothing."""
    glued: list[tuple[Unit, ...]] = []
    waiting: tuple[Unit, ...] = ()
    for unit in units:
        if unit.kind is BlockKind.HEADING:
            waiting = (*waiting, unit)
        else:
            glued.append((*waiting, unit))
            waiting = ()
    return [*glued, waiting] if waiting else glued


def packed(clusters: Sequence[tuple[Unit, ...]], sizes: ChunkSizes) -> list[tuple[Unit, ...]]:
    """Fill groups up to the target; pass it, but not the ceiling, rather than leave one under the floor."""
    groups: list[tuple[Unit, ...]] = []
    room = sizes.ceiling - sizes.overlap if len(clusters) > 1 else sizes.ceiling
    for cluster in clusters:
        held = _total(groups[-1]) if groups else 0
        size = held + _total(cluster)
        if groups and (size <= sizes.target or (held < sizes.floor and size <= room)):
            groups[-1] = (*groups[-1], *cluster)
        else:
            groups.append(cluster)
    if len(groups) > 1 and _total(groups[-1]) < sizes.floor and _total(groups[-2]) + _total(groups[-1]) <= room:
        groups[-2:] = [(*groups[-2], *groups[-1])]
    return groups


def _overlap_room(group: tuple[Unit, ...], sizes: ChunkSizes) -> int:
    return min(sizes.overlap, sizes.ceiling - _total(group))


def _total(units: Iterable[Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _piece(section: Section, units: tuple[Unit, ...], ordinal: int) -> Piece:
    text, blocks = _joined(units)
    kind, language = _character(units)
    return Piece(
        anchor=section.anchor,
        ordinal=ordinal,
        section=section.title,
        breadcrumb=section.breadcrumb,
        text=text,
        location=spanning([unit.location for unit in units]),
        tokens=_total(units),
        kind=kind,
        has_code=any(span.kind is BlockKind.CODE for span in blocks),
        has_equations="$" in text and _EQUATION.search(text) is not None,
        language=language,
        blocks=blocks,
    )


def _joined(units: tuple[Unit, ...]) -> tuple[str, tuple[BlockSpan, ...]]:
    """The units as one text, and the blocks in it."""
    text = ""
    blocks: list[BlockSpan] = []
    for before, unit in zip((None, *units), units, strict=False):
        if before is not None:
            text += before.glue_to(unit)
        blocks += _spans(unit, len(text))
        text += unit.text
    return text, tuple(blocks)


def _spans(
    block: Block | Unit, start: int, *, kind: BlockKind = BlockKind.PARAGRAPH, depth: int = 0
) -> Iterator[BlockSpan]:
    """The innermost blocks, from `start` on. `kind`: what a paragraph is here, such as the text of a list item."""
    depth += block.kind is BlockKind.ITEM
    if not block.children:
        own = kind if block.kind is BlockKind.PARAGRAPH else block.kind
        yield BlockSpan(own, start, start + len(block.text), block.language, depth)
        return
    kind = block.kind if block.kind in (BlockKind.ITEM, BlockKind.QUOTE) else kind
    at = 0
    if block.kind is BlockKind.ADMONITION:
        at = block.text.index("\n")
        yield BlockSpan(block.kind, start, start + at, depth=depth)
    for child in block.children:
        found = block.text.index(child.text, at)
        yield from _spans(child, start + found, kind=kind, depth=depth)
        at = found + len(child.text)
        kind = BlockKind.PARAGRAPH if kind is BlockKind.ITEM else kind  # only what stands behind the marker is the item


def _character(units: tuple[Unit, ...]) -> tuple[str | None, str | None]:
    """What most of the piece is made of, and the language of its largest code block."""
    total = _total(units)
    for kind in (BlockKind.CODE, BlockKind.TABLE):
        share = sum(unit.tokens for unit in units if unit.kind is kind)
        if share and share * 2 >= total:
            code = max((unit for unit in units if unit.kind is kind), key=lambda unit: unit.tokens)
            return kind.value, code.language
    languages = [unit for unit in units if unit.language]
    return None, max(languages, key=lambda unit: unit.tokens).language if languages else None
