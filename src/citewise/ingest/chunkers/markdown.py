"""Blocks -> pieces, by headings: never across one with text below it, never inside a fence, table or admonition that
fits."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewise.ingest.chunkers.parts import Cutter, SizedBlock, defines_terms, part_of, size_of
from citewise.model.chunk import NO_SECTION, Piece, searchable_text
from citewise.model.document import Block, BlockKind, BlockSpan, Location
from citewise.ports.models import TokenCounter
from citewise.text.roles import role_of

VERSION = "heading-9"  # changes when the same blocks may be cut differently
SPECIAL_TOKENS = 2  # what a model puts around a text
TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim
MAX_NAME = 200  # characters of a heading in breadcrumbs, which are repeated in every chunk below it

_WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION, BlockKind.MATH, BlockKind.HTML})
_WORDLESS = frozenset({BlockKind.RULE, BlockKind.HTML})  # a logo or an anchor may stand above the title
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


_Blocks = tuple[SizedBlock, ...]


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
        for section in _joined(sections, tokens, self.sizes.ceiling):
            for units in self._packed(section, tokens):
                pieces.append(_piece(section, units, ordinals[section.anchor]))
                ordinals[section.anchor] += 1
        return tuple(pieces)

    def _packed(self, section: _Section, tokens: dict[str, int]) -> Iterator[_Blocks]:
        sizes = self.sizes.within(
            self.window_tokens,
            prefix_tokens=tokens[_prefix(section)],
            section_tokens=sum(size_of(block.text, tokens[block.text]) for block in section.blocks),
        )
        units = list(self._units(section, tokens, sizes))
        before: _Blocks = ()
        for group in _groups(_with_headings(units, self.sizes.ceiling), sizes):
            overlap = 0 if group[-1].stands_alone else min(sizes.overlap, sizes.ceiling - _total(group))
            yield (*self._overlap(before, overlap), *group)
            before = group

    def _units(self, section: _Section, tokens: dict[str, int], sizes: ChunkSizes) -> Iterator[SizedBlock]:
        """The section's blocks, in parts that fit under the headings directly above them."""
        above = 0
        for block in section.blocks:
            unit = SizedBlock(block, tokens[block.text])
            room = self.sizes.ceiling - (above if above <= self.sizes.ceiling // 2 else 0)
            yield from self._parts(unit, replace(sizes, ceiling=min(sizes.ceiling, room)), room)
            above = above + unit.size if unit.is_heading else 0

    def _parts(self, unit: SizedBlock, sizes: ChunkSizes, room: int) -> Iterator[SizedBlock]:
        """The unit itself if it fits; else its children, else its lines, else its sentences.

        What should stay whole may pass the lowered ceiling, but not `room`.
        """
        block = unit.block
        limit = self.sizes.ceiling // 2 if unit.is_heading else room if block.kind in _WHOLE else sizes.ceiling
        if defines_terms(block):
            counts = self.counter.counts([item.text for item in block.children])
            for item, tokens in zip(block.children, counts, strict=True):
                parts = tuple(self._parts(SizedBlock(item, tokens), sizes, room))
                yield from (replace(part, stands_alone=len(parts) == 1) for part in parts)
        elif unit.size <= limit:
            yield unit
        elif block.children:
            opening = [part_of(block, 0, block.text.index("\n"))] if block.kind is BlockKind.ADMONITION else []
            children = [*opening, *block.children]
            counts = self.counter.counts([child.text for child in children])
            for child, tokens in zip(children, counts, strict=True):
                yield from self._parts(SizedBlock(child, tokens), sizes, room)
        elif block.kind in _WHOLE:
            yield from Cutter(self.counter).lines(block, room)
        else:
            yield from Cutter(self.counter).sentences(block, sizes.ceiling)

    def _overlap(self, units: _Blocks, max_tokens: int) -> _Blocks:
        """The last words of a piece, for its neighbor to begin with; what may not be cut is not cut for it."""
        if not units or max_tokens <= 0:
            return ()
        last = units[-1]
        if last.is_heading or last.is_framed or last.stands_alone:
            return ()
        if last.size <= max_tokens:
            return (last,)
        block = last.block
        while block.children and block.kind not in _WHOLE:  # a list may end in a fence: its last paragraph is cut
            block = block.children[-1]
        return () if block.kind in _WHOLE else Cutter(self.counter).tail(block, max_tokens)


@dataclass(frozen=True, slots=True)
class _PageHeadings:
    """The title of a page, and the names under which a top heading stands for it."""

    title: str
    names: frozenset[str]

    @staticmethod
    def of(blocks: Sequence[Block], title: str | None) -> "_PageHeadings":
        """A page that begins with its only top heading shows that as its title, whatever its metadata says."""
        tops = [block for block in blocks if block.heading is not None and block.heading.level == 1]
        first = next((block for block in blocks if block.kind not in _WORDLESS), None)
        shown = [_name(top.heading.title) for top in tops if top.heading is not None] if tops == [first] else []
        title = _name(title or "")
        return _PageHeadings(title, frozenset(_letters(name) for name in (title, *shown) if name))

    def breadcrumb(self, above: Sequence[tuple[int, str]]) -> tuple[str, ...]:
        """The headings above a section, led by the page's title. One below the top has an address of its own, so it
        never stands for the title, even if it reads the same."""
        names = tuple(name for _, name in above if name)
        stands_for_title = bool(above) and above[0][0] == 1 and _letters(above[0][1]) in self.names
        return names if stands_for_title or not self.title else (self.title, *names)


def _letters(name: str) -> str:
    """What two spellings of a name have in common; one of marks alone is compared as it is."""
    return "".join(filter(str.isalnum, name.casefold())) or name


def _sections(blocks: Sequence[Block], *, title: str | None) -> Iterator[_Section]:
    """Group blocks under their headings; a heading with nothing but a deeper heading below it joins that one."""
    page = _PageHeadings.of(blocks, title)
    above: list[tuple[int, str]] = []
    current: list[Block] = []
    for block in blocks:
        if block.kind is BlockKind.RULE:
            continue
        if block.heading is not None:
            level = block.heading.level
            if current and not all(each.heading is not None and each.heading.level < level for each in current):
                yield _section(current, page.breadcrumb(above))
                current = []
            while above and above[-1][0] >= level:
                above.pop()
            above.append((level, _name(block.heading.title)))
        current.append(block)
    if current:
        yield _section(current, page.breadcrumb(above))


def _section(blocks: list[Block], breadcrumb: tuple[str, ...]) -> _Section:
    last = next((block.heading for block in reversed(blocks) if block.heading is not None), None)
    return _Section(
        breadcrumb=breadcrumb,
        title=(_name(last.title) if last else "") or NO_SECTION,
        anchor=last.anchor if last else "",
        blocks=tuple(blocks),
    )


def _name(title: str) -> str:
    return title if len(title) <= MAX_NAME else f"{title[: MAX_NAME - 1].rstrip()}\u2026"


def _prefix(section: _Section) -> str:
    return searchable_text(section.breadcrumb, "")


def _joined(sections: Iterable[_Section], tokens: Mapping[str, int], ceiling: int) -> Iterator[_Section]:
    """A section of headings alone joins the one below it, as long as both fit into a chunk."""
    above: _Section | None = None
    size = 0
    for section in sections:
        added = sum(size_of(block.text, tokens[block.text]) for block in section.blocks)
        if above is not None and size + added > ceiling:
            yield above
            above, size = None, 0
        joined = replace(section, blocks=(*above.blocks, *section.blocks)) if above else section
        size += added
        if all(block.heading for block in section.blocks):
            above = joined
        else:
            yield joined
            above, size = None, 0
    if above is not None:
        yield above


def _with_headings(units: Sequence[SizedBlock], ceiling: int) -> list[_Blocks]:
    """Headings travel with the unit behind them, if both fit: a heading alone says nothing."""
    clusters: list[_Blocks] = []
    headings: _Blocks = ()
    for unit in units:
        if headings and _total(headings) + unit.size > ceiling:
            clusters.append(headings)
            headings = ()
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
        fits = size <= sizes.target or (filled < sizes.floor and size <= room)
        if groups and fits and not _begins(groups[-1], cluster):
            groups[-1] = (*groups[-1], *cluster)
        else:
            groups.append(cluster)
    before, last = ((), (), *groups)[-2:]
    if before and not _begins(before, last) and _total(last) < sizes.floor and _total(before) + _total(last) <= room:
        groups[-2:] = [(*before, *last)]
    return groups


def _begins(group: _Blocks, cluster: _Blocks) -> bool:
    """Whether a piece must begin there: with a repeated fence or header, with an entry, or behind one."""
    return cluster[0].head > 0 or cluster[-1].stands_alone or group[-1].stands_alone


def _total(units: Iterable[SizedBlock]) -> int:
    return sum(unit.size for unit in units)


def _piece(section: _Section, units: _Blocks, ordinal: int) -> Piece:
    text, spans = "", list[BlockSpan]()
    for before, unit in zip((None, *units), units, strict=False):
        text += before.glue_to(unit) if before else ""
        spans += _spans(unit.block, len(text))
        if unit.is_framed:
            spans[-1] = spans[-1]._replace(head=unit.head, tail=unit.tail)
        text += unit.block.text
    kind, language = _character(units)
    role = role_of(section.breadcrumb, text)
    return Piece(
        anchor=section.anchor,
        ordinal=ordinal,
        section=section.title,
        breadcrumb=section.breadcrumb,
        text=text,
        location=Location.spanning([unit.block.location for unit in units]),
        tokens=sum(unit.tokens for unit in units),
        kind=role.value if role else kind,  # code of an exercise is found by `has_code`
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
