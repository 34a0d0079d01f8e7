"""Blocks -> pieces, by headings: never across one with text below it, never inside a fence, table or admonition that
fits."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.model.chunk import NO_SECTION, Piece, searchable_text
from citewise.model.document import Block, BlockKind, BlockSpan, Heading, Location
from citewise.ports.models import TokenCounter
from citewise.text.units import cut_points

VERSION = "heading-5"  # changes when the same blocks may be cut differently
SPECIAL_TOKENS = 2  # what a model puts around a text
TARGET_SHARE = 0.8  # of a lowered ceiling; 1 fills each window to the brim
# Ceilings up to which code, a table or an admonition stays whole; 1: as other text; more: larger chunks. Of three
# variants on the textbook (all blocks whole: nDCG@10 0.7455, recall@5 0.92): over 1 cut to the window (recall of
# paraphrased questions 0.56, was 0.75), over 1 cut to the ceiling (0.7431, 0.88), over 4 cut to it (0.7473, 0.92).
WHOLE_CEILINGS = 4
MAX_TOKEN_CHARACTERS = 40  # a longer run counts as more tokens than a model may see in it: its text is stored too
MAX_NAME = 200  # characters of a heading in breadcrumbs, which are repeated in every chunk below it

_WHOLE = frozenset({BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION, BlockKind.MATH, BlockKind.HTML})
# Where a text may be cut that is too large, best first: between words, and behind marks inside of one.
_WORD_GAPS = (re.compile(r"\s+"), re.compile(r"(?<=[^\w\s])"))
_LINE_GAPS = (re.compile(r"\n"), *_WORD_GAPS)
_BLANK_LINES = re.compile(r"\n(?:[ \t]*+\n)+")
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
    def size(self) -> int:
        return _size(self.block.text, self.tokens)

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
_Span = tuple[int, int]  # from and to, in characters of a text
_Run = tuple[int, int, int]  # a span and its tokens


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
            section_tokens=sum(_size(block.text, tokens[block.text]) for block in section.blocks),
        )
        units = [
            part for block in section.blocks for part in self._parts(_SizedBlock(block, tokens[block.text]), sizes)
        ]
        before: _Blocks = ()
        for group in _groups(_with_headings(units), sizes):
            yield (*self._overlap(before, min(sizes.overlap, sizes.ceiling - _total(group))), *group)
            before = group

    def _parts(self, unit: _SizedBlock, sizes: ChunkSizes) -> Iterator[_SizedBlock]:
        """The unit itself if it fits; else its children, else its lines, else its sentences.

        What should stay whole may pass the ceiling, but not several of them.
        """
        block = unit.block
        is_whole = block.kind in _WHOLE or unit.is_heading
        if unit.size <= (WHOLE_CEILINGS * self.sizes.ceiling if is_whole else sizes.ceiling):
            yield unit
        elif block.children:
            opening = [_part(block, 0, block.text.index("\n"))] if block.kind is BlockKind.ADMONITION else []
            children = [*opening, *block.children]
            counts = self.counter.counts([child.text for child in children])
            for child, tokens in zip(children, counts, strict=True):
                yield from self._parts(_SizedBlock(child, tokens), sizes)
        elif block.kind in _WHOLE:
            yield from self._line_runs(block, self.sizes.ceiling)
        else:
            yield from self._sentence_runs(block, sizes.ceiling // 2)

    def _line_runs(self, block: Block, max_tokens: int) -> Iterator[_SizedBlock]:
        """Runs of lines, cut at blank ones if possible. Fences and headers are not repeated: a citation quotes what
        stands in its lines."""
        spans = _between(block.text, (0, len(block.text)), _BLANK_LINES)
        return _located(block, self._runs(block.text, spans, max_tokens, _LINE_GAPS))

    def _sentence_runs(self, block: Block, max_tokens: int) -> Iterator[_SizedBlock]:
        """Runs of whole sentences of at most so many tokens; a sentence that is longer is cut between words."""
        kind = BlockKind.PARAGRAPH if block.heading else block.kind  # a heading would stay with what is below it
        return _located(replace(block, kind=kind), self._runs(block.text, _sentences(block.text), max_tokens))

    def _runs(
        self, text: str, spans: Iterable[_Span], max_tokens: int, gaps: Sequence[re.Pattern[str]] = _WORD_GAPS
    ) -> Iterator[_Run]:
        """As many spans together as fit; one that does not fit alone is cut at the gaps."""
        run: _Run | None = None
        for start, end, tokens in self._fitting(text, list(spans), max_tokens, gaps):
            if run and max(run[2] + tokens, _min_size(end - run[0])) <= max_tokens:
                run = (run[0], end, run[2] + tokens)
            else:
                if run:
                    yield run
                run = (start, end, tokens)
        if run:
            yield run

    def _fitting(
        self, text: str, spans: Sequence[_Span], max_tokens: int, gaps: Sequence[re.Pattern[str]]
    ) -> Iterator[_Run]:
        """The spans; one that is too large is cut at the first kind of gap, then at the next, then anywhere."""
        counts = self.counter.counts([text[start:end] for start, end in spans])
        for (start, end), tokens in zip(spans, counts, strict=True):
            size = max(tokens, _min_size(end - start))
            if size <= max_tokens or end - start == 1:
                yield start, end, tokens
                continue
            step = max(1, (end - start) // (size // max_tokens + 1))
            anywhere = [(at, min(at + step, end)) for at in range(start, end, step)]
            parts = list(_between(text, (start, end), gaps[0])) if gaps else anywhere
            yield from self._fitting(text, parts, max_tokens, gaps[1:])

    def _overlap(self, units: _Blocks, max_tokens: int) -> _Blocks:
        """The last words of a piece, for its neighbor to begin with; what may not be cut is not cut for it."""
        if not units or max_tokens <= 0:
            return ()
        last = units[-1]
        if last.size <= max_tokens:
            return () if last.is_heading else (last,)
        block = last.block
        while block.children and block.kind not in _WHOLE:  # a list may end in a fence: its last paragraph is cut
            block = block.children[-1]
        return () if block.kind in _WHOLE else self._tail(block, max_tokens)

    def _tail(self, block: Block, max_tokens: int) -> _Blocks:
        words = list(re.finditer(r"\S+", block.text))[-max_tokens:]
        texts = [word.group() for word in words]
        sizes = list(map(_size, texts, self.counter.counts(texts)))
        first, total = len(words), 0
        while first > 0 and total + sizes[first - 1] <= max_tokens:
            first -= 1
            total += sizes[first]
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
            above.append((level, _name(block.heading)))
        current.append(block)
    if current:
        yield _section(current, above, title)


def _section(blocks: list[Block], above: list[tuple[int, str]], title: str | None) -> _Section:
    names = [name for _, name in above if name]
    has_top = bool(above) and above[0][0] == 1
    last = next((block.heading for block in reversed(blocks) if block.heading is not None), None)
    return _Section(
        breadcrumb=tuple(names if has_top or not title else [title, *names]),
        title=(_name(last) if last else "") or NO_SECTION,
        anchor=last.anchor if last else "",
        blocks=tuple(blocks),
    )


def _name(heading: Heading) -> str:
    title = heading.title
    return title if len(title) <= MAX_NAME else f"{title[: MAX_NAME - 1].rstrip()}\u2026"


def _prefix(section: _Section) -> str:
    return searchable_text(section.breadcrumb, "")


def _joined(sections: Iterable[_Section], tokens: Mapping[str, int], ceiling: int) -> Iterator[_Section]:
    """A section of headings alone joins the one below it, as long as both fit into a chunk."""
    above: _Section | None = None
    size = 0
    for section in sections:
        added = sum(_size(block.text, tokens[block.text]) for block in section.blocks)
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


def _size(text: str, tokens: int) -> int:
    """What a text counts for in a chunk: its tokens, unless it is very long for so few."""
    return max(tokens, _min_size(len(text)))


def _min_size(characters: int) -> int:
    return -(-characters // MAX_TOKEN_CHARACTERS)


def _sentences(text: str) -> Iterator[_Span]:
    for start, end in pairwise((0, *cut_points(text), len(text))):
        yield start, start + len(text[start:end].rstrip() if end < len(text) else text[start:])


def _between(text: str, within: _Span, gap: re.Pattern[str]) -> Iterator[_Span]:
    """What stands between gaps, from one place to another."""
    start, end = within
    for match in gap.finditer(text, start, end):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < end:
        yield start, end


def _located(block: Block, runs: Iterable[_Run]) -> Iterator[_SizedBlock]:
    """The runs of a block's text, each with its lines; together they have all lines of the block.

    Pages and messages cannot be told from the text itself.
    """
    found, whole = list(runs), block.location
    at, line = 0, whole.first
    for number, (start, end, tokens) in enumerate(found):
        location = whole
        if whole.unit == "lines":
            first = line + block.text.count("\n", at, start)
            at, line = end, first + block.text.count("\n", start, end)
            is_last = number == len(found) - 1
            location = Location("lines", first if number else whole.first, whole.last if is_last else line)
        part = Block(block.kind, block.text[start:end], location, language=block.language)
        yield _SizedBlock(part, tokens, continues=number > 0)


def _part(block: Block, start: int, end: int) -> Block:
    """A part of a block's text, with its lines. Pages and messages cannot be told from the text itself."""
    location = block.location
    if location.unit == "lines":
        first = location.first + block.text.count("\n", 0, start)
        location = Location("lines", first, first + block.text.count("\n", start, end))
    return Block(block.kind, block.text[start:end], location, language=block.language)


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
    return sum(unit.size for unit in units)


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
        tokens=sum(unit.tokens for unit in units),
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
