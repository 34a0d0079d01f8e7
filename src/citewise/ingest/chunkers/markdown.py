"""Blocks -> pieces, by headings: never across one, never inside a fence, table or admonition."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.model.chunk import NO_SECTION, Piece, searchable_text
from citewise.model.document import Block, BlockKind, BlockSpan, Location
from citewise.ports.models import TokenCounter
from citewise.text.units import cut_points

VERSION = "heading-4"  # changes when the same blocks may be cut differently
SPECIAL_TOKENS = 2  # what a model puts around a text
TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim

_WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION, BlockKind.MATH, BlockKind.HTML})
_EQUATION = re.compile(r"(?<![\\$\w])\$(?=\S)[^$\n]*[\\^_=+*/{][^$\n]*(?<=\S)\$(?![\d$])|\$\$")


@dataclass(frozen=True, slots=True)
class ChunkSizes:
    """Sizes in tokens. A chunk is closed once it reaches `target`, never passes `ceiling`, and is not left under
    `floor` while its section has more."""

    target: int = 500
    floor: int = 200
    ceiling: int = 800
    overlap: int = 50  # repeated from the neighbor before, in the same section

    def within(self, window_tokens: int, *, prefix_tokens: int, section_tokens: int) -> "ChunkSizes":
        """The sizes for a section, given how many tokens the model sees at once.

        A model that sees a whole chunk needs no other sizes. For one that does not, a section up to the ceiling stays
        whole, and the vectors of its windows are averaged; a longer one is cut into pieces that fit the window together
        with their breadcrumb (ADR 5 has the measurements).
        """
        room = max(window_tokens - SPECIAL_TOKENS - prefix_tokens, window_tokens // 4)
        if room >= self.ceiling:
            return self
        if section_tokens <= self.ceiling:
            return replace(self, target=self.ceiling)
        return replace(
            self,
            target=min(self.target, round(room * TARGET_SHARE)),
            floor=min(self.floor, round(self.floor * room / self.ceiling)),
            ceiling=room,
        )


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading, what stands under it up to the next one, and the headings above it."""

    breadcrumb: tuple[str, ...]
    title: str
    anchor: str
    blocks: tuple[Block, ...]  # headings first


@dataclass(frozen=True, slots=True)
class _SizedBlock:
    """A block that stays in one piece, and its size. `continues`: it goes on where the unit before ended."""

    block: Block
    tokens: int
    continues: bool = False

    @property
    def is_heading(self) -> bool:
        return self.block.kind is BlockKind.HEADING

    def glue_to(self, following: "_SizedBlock") -> str:
        """The white space that stood between this unit and the next."""
        here, there = self.block.location, following.block.location
        if here.unit != "lines":
            return " " if following.continues else "\n\n"
        if following.continues:
            return " " if there.first == here.last else "\n"
        return "\n" if there.first <= here.last + 1 and not self.is_heading else "\n\n"


_Blocks = tuple[_SizedBlock, ...]


@dataclass(frozen=True, slots=True)
class HeadingChunker:
    """Cuts documents into pieces: sections as they are, and longer ones so that the model sees a piece at once."""

    counter: TokenCounter
    window_tokens: int
    sizes: ChunkSizes = ChunkSizes()

    @property
    def version(self) -> str:
        sizes = self.sizes
        return f"{VERSION}, window {self.window_tokens}, {sizes.floor}-{sizes.target}-{sizes.ceiling}+{sizes.overlap}"

    def __call__(self, blocks: Sequence[Block], *, title: str | None) -> tuple[Piece, ...]:
        """Every word of every block is in a piece; pieces come in the order of the document."""
        sections = tuple(_sections(blocks, title=title))
        texts = [text for each in sections for text in (_prefix(each), *(block.text for block in each.blocks))]
        distinct = list(dict.fromkeys(texts))
        tokens = dict(zip(distinct, self.counter.counts(distinct), strict=True))  # in one call: each has its price
        ordinals: defaultdict[str, int] = defaultdict(int)  # explicit ids may repeat, so counted per anchor
        pieces = []
        for section in sections:
            for units in self._packed(section, tokens):
                pieces.append(_piece(section, units, ordinals[section.anchor]))
                ordinals[section.anchor] += 1
        return tuple(pieces)

    def _packed(self, section: _Section, tokens: dict[str, int]) -> Iterator[_Blocks]:
        sizes = self.sizes.within(
            self.window_tokens,
            prefix_tokens=tokens[_prefix(section)],
            section_tokens=sum(tokens[block.text] for block in section.blocks),
        )
        units = [
            part
            for block in section.blocks
            for part in self._parts(_SizedBlock(block, tokens[block.text]), sizes.ceiling)
        ]
        before: _Blocks = ()
        for group in _groups(_with_headings(units), sizes):
            yield (*self._overlap(before, min(sizes.overlap, sizes.ceiling - _total(group))), *group)
            before = group

    def _parts(self, unit: _SizedBlock, ceiling: int) -> Iterator[_SizedBlock]:
        """The unit itself if it fits or may not be cut; else its children, else its sentences."""
        if unit.tokens <= ceiling or unit.block.kind in _WHOLE or unit.is_heading:
            yield unit
        elif unit.block.children:
            counts = self.counter.counts([child.text for child in unit.block.children])
            for child, tokens in zip(unit.block.children, counts, strict=True):
                yield from self._parts(_SizedBlock(child, tokens), ceiling)
        else:
            yield from self._sentence_runs(unit.block, ceiling // 2)

    def _sentence_runs(self, block: Block, max_tokens: int) -> Iterator[_SizedBlock]:
        """Runs of whole sentences of at most so many tokens; a single sentence may be longer."""
        sentences = list(_sentences(block))
        counts = self.counter.counts([sentence.text for sentence in sentences])
        run: _SizedBlock | None = None
        for sentence, tokens in zip(sentences, counts, strict=True):
            unit = _SizedBlock(sentence, tokens, continues=sentence is not sentences[0])
            if run is None:
                run = unit
            elif run.tokens + tokens <= max_tokens:
                text = run.block.text + run.glue_to(unit) + sentence.text
                location = Location.spanning((run.block.location, sentence.location))
                run = replace(run, block=replace(run.block, text=text, location=location), tokens=run.tokens + tokens)
            else:
                yield run
                run = unit
        if run is not None:
            yield run

    def _overlap(self, units: _Blocks, max_tokens: int) -> _Blocks:
        """The last words of a piece, for its neighbor to begin with; what may not be cut is not cut for it."""
        if not units or max_tokens <= 0:
            return ()
        last = units[-1]
        if last.tokens <= max_tokens:
            return () if last.is_heading else (last,)
        block = last.block
        while block.children and block.kind not in _WHOLE:  # a list may end in a fence: its last paragraph is cut
            block = block.children[-1]
        return () if block.kind in _WHOLE else self._tail(block, max_tokens)

    def _tail(self, block: Block, max_tokens: int) -> _Blocks:
        words = list(re.finditer(r"\S+", block.text))[-max_tokens:]
        counts = self.counter.counts([word.group() for word in words])
        first, total = len(words), 0
        while first > 0 and total + counts[first - 1] <= max_tokens:
            first -= 1
            total += counts[first]
        if first == len(words):
            return ()
        start = words[first].start()
        sentence = next((at for at in cut_points(block.text) if at > start), len(block.text))
        if (len(block.text) - sentence) * 2 >= len(block.text) - start:
            start = sentence  # begin with a whole sentence if at least half of the words remain
        tail = _part(block, start, len(block.text))
        return (_SizedBlock(tail, self.counter.counts([tail.text])[0]),)


def _sections(blocks: Iterable[Block], *, title: str | None) -> Iterator[_Section]:
    """Group blocks under their headings; a heading with nothing but a deeper heading below it joins that one."""
    above: list[tuple[int, str]] = []
    current: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.RULE:
            continue
        if block.heading is not None:
            level = block.heading.level
            if current and not all(each.heading is not None and each.heading.level < level for each in current):
                yield _section(current, above, title)
                current = []
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, block.heading.title))
        current.append(block)
    if current:
        yield _section(current, above, title)


def _section(blocks: list[Block], above: list[tuple[int, str]], title: str | None) -> _Section:
    names = [name for _, name in above if name]
    has_top = bool(above) and above[0][0] == 1
    last = next((block.heading for block in reversed(blocks) if block.heading is not None), None)
    return _Section(
        breadcrumb=tuple(names if has_top or not title else [title, *names]),
        title=last.title if last and last.title else NO_SECTION,
        anchor=last.anchor if last else "",
        blocks=tuple(blocks),
    )


def _prefix(section: _Section) -> str:
    return searchable_text(section.breadcrumb, "")


def _sentences(block: Block) -> Iterator[Block]:
    for start, end in pairwise((0, *cut_points(block.text), len(block.text))):
        text = block.text[start:end].rstrip() if end < len(block.text) else block.text[start:]
        yield _part(block, start, start + len(text))


def _part(block: Block, start: int, end: int) -> Block:
    """A part of a block's text, with its lines. Pages and messages cannot be told from the text itself."""
    location = block.location
    if location.unit == "lines":
        first = location.first + block.text.count("\n", 0, start)
        location = Location("lines", first, first + block.text.count("\n", start, end))
    return Block(block.kind, block.text[start:end], location)


def _with_headings(units: Sequence[_SizedBlock]) -> list[_Blocks]:
    """Headings travel with the unit behind them: a heading alone says nothing."""
    clusters: list[_Blocks] = []
    headings: _Blocks = ()
    for unit in units:
        if unit.is_heading:
            headings = (*headings, unit)
        else:
            clusters.append((*headings, unit))
            headings = ()
    return [*clusters, headings] if headings else clusters


def _groups(clusters: Sequence[_Blocks], sizes: ChunkSizes) -> list[_Blocks]:
    """Fill groups up to the target; pass it, but not the ceiling, rather than leave one under the floor."""
    groups: list[_Blocks] = []
    room = sizes.ceiling - sizes.overlap if len(clusters) > 1 else sizes.ceiling
    for cluster in clusters:
        filled = _total(groups[-1]) if groups else 0
        size = filled + _total(cluster)
        if groups and (size <= sizes.target or (filled < sizes.floor and size <= room)):
            groups[-1] = (*groups[-1], *cluster)
        else:
            groups.append(cluster)
    if len(groups) > 1 and _total(groups[-1]) < sizes.floor and _total(groups[-2]) + _total(groups[-1]) <= room:
        groups[-2:] = [(*groups[-2], *groups[-1])]
    return groups


def _total(units: Iterable[_SizedBlock]) -> int:
    return sum(unit.tokens for unit in units)


def _piece(section: _Section, units: _Blocks, ordinal: int) -> Piece:
    text, spans = units[0].block.text, list(_spans(units[0].block, 0))
    for before, unit in pairwise(units):
        text += before.glue_to(unit)
        spans += _spans(unit.block, len(text))
        text += unit.block.text
    kind, language = _character(units)
    return Piece(
        anchor=section.anchor,
        ordinal=ordinal,
        section=section.title,
        breadcrumb=section.breadcrumb,
        text=text,
        location=Location.spanning([unit.block.location for unit in units]),
        tokens=_total(units),
        kind=kind,
        has_code=any(span.kind is BlockKind.CODE for span in spans),
        has_equations="$" in text and _EQUATION.search(text) is not None,
        language=language,
        blocks=tuple(spans),
    )


def _spans(block: Block, start: int, *, kind: BlockKind = BlockKind.PARAGRAPH, depth: int = 0) -> Iterator[BlockSpan]:
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


def _character(units: _Blocks) -> tuple[str | None, str | None]:
    """What most of the piece is made of, and the language of its largest code block."""
    total = _total(units)
    for kind in (BlockKind.CODE, BlockKind.TABLE):
        same = [unit for unit in units if unit.block.kind is kind]
        if same and _total(same) * 2 >= total:
            return kind.value, max(same, key=lambda unit: unit.tokens).block.language
    languages = [unit for unit in units if unit.block.language]
    return None, max(languages, key=lambda unit: unit.tokens).block.language if languages else None
