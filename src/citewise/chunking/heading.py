"""Blocks -> pieces, by headings: never across one, never inside a fence, table or admonition."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from citewise.chunking.sizes import DEFAULT_SIZES, ChunkSizes
from citewise.chunking.units import Unit, overlap_of, parts_of, unit_of
from citewise.model.block import Block, BlockKind
from citewise.model.chunk import NO_SECTION, Piece, searchable_text
from citewise.ports.token_counter import TokenCounter

VERSION = "heading-2"  # changes when the same blocks may be cut differently

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
            overlap = overlap_of(before, most_tokens=_overlap_room(group, sizes), counter=self.counter)
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
    text = _joined(units)
    kind, language = _character(units)
    return Piece(
        anchor=section.anchor,
        ordinal=ordinal,
        section=section.title,
        breadcrumb=section.breadcrumb,
        text=text,
        first_line=min(unit.first_line for unit in units),
        last_line=max(unit.last_line for unit in units),
        tokens=_total(units),
        kind=kind,
        has_code=kind == "code" or any(unit.kind is BlockKind.CODE for unit in units) or "```" in text,
        has_equations="$" in text and _EQUATION.search(text) is not None,
        language=language,
    )


def _joined(units: tuple[Unit, ...]) -> str:
    parts = [units[0].text]
    for before, unit in pairwise(units):
        parts.append(before.glue_to(unit))
        parts.append(unit.text)
    return "".join(parts)


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
