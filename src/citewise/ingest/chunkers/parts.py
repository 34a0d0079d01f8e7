"""A block that is too large -> its parts: code at definitions and blank lines, tables at rows, prose at sentences.

A part of a fence or a table has its fence or header again, so that it can be read alone.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from citewise.model.document import Block, BlockKind, Location
from citewise.ports.models import TokenCounter
from citewise.text.markdown import BULLET, LIST_MARK, Line
from citewise.text.units import ends_sentence, sentence_starts

# Lists of so many definitions are cut into their entries. Of 62 such entries of the textbook, asked by the first
# words of their definitions, 90 % come first (53 % uncut), and its own questions lose nothing (nDCG@10 -0.002); from 5
# on, paraphrased ones do (recall@5 0.62 to 0.50). Above 1,000: one list would fill a library with chunks of a line.
MIN_ENTRIES, MAX_ENTRIES = 8, 1_000
ENTRIES_SHARE = 0.8  # of its items that explain a term; 1: a single other item, such as a note, keeps a list whole
MAX_TOKEN_CHARACTERS = 40  # a longer run counts as more tokens than a model may see in it: its text is stored too

_MARGIN = r"[ \t>]*+"  # in a quotation or a list
_BLANK_LINES = r"(?<=\S)[ \t]*+\n(?:[ \t]*+\n)++"  # begun at a line that says something, so that each is read once
_DEFINITION = (
    r"(?:@\w|(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub|unsafe) )*+"
    r"(?:def|class|function|func|fn|interface|struct|enum|trait|impl|type|module|namespace|CREATE)\b)"
)
# Where a text may be cut that is too large, best first: between words, and behind marks inside of one.
_WORD_GAPS = (re.compile(r"\s+"), re.compile(r"(?<=[^\w\s])"))
_LINE_GAPS = (re.compile(r"\n"), *_WORD_GAPS)
_HTML_GAPS = (re.compile(_BLANK_LINES), re.compile(r"(?<=</tr>)\s*+\n", re.IGNORECASE), *_LINE_GAPS)
_CODE_GAPS = (
    re.compile(_BLANK_LINES + rf"(?={_MARGIN}{_DEFINITION})"),
    re.compile(_BLANK_LINES),
    re.compile(rf"\n(?={_MARGIN}{_DEFINITION})"),
    *_LINE_GAPS,
)
# How an item that explains a term begins. A link to another page is none: what the page says is found there.
_STRONG = r"(?:\*\*|__)(?=\S)[^*_\n]{1,80}"
_CODE = r"`[^`\n]{1,80}`"
_TERM = rf"{_STRONG}(?:\*\*|__)|{_CODE}|\[{_CODE}\]\([^()\s]*\)|\[[^\]\n]{{1,80}}\](?:\[[^\]\n]*\]|\(#[^()\s]*\))"
_BEHIND = r"(?:[ \t]*\([^()\n]{1,80}\))?[ \t]*(?::|[-\u2013\u2014][ \t])"
_ENTRY = re.compile(rf"\s*{LIST_MARK}[ \t]+(?:(?:{_TERM}){_BEHIND}|{_STRONG}:(?:\*\*|__))")
_LIST_MARK = re.compile(rf"{BULLET}|\d{{1,9}}[.)]")

_Span = tuple[int, int]  # from and to, in characters of a text
_Run = tuple[int, int, int]  # a span and its tokens
_Frame = tuple[str, str]  # what stands before and behind each part of a block


@dataclass(frozen=True, slots=True)
class SizedBlock:
    """A block that stays in one piece, and its size.

    `continues`: it goes on where the unit before ended. `head` and `tail`: characters at its beginning and end that do
    not stand there in the source: the fence or header of the block that it is a part of.
    """

    block: Block
    tokens: int
    continues: bool = False
    head: int = 0
    tail: int = 0
    stands_alone: bool = False  # an entry of a list of definitions

    @property
    def size(self) -> int:
        return size_of(self.block.text, self.tokens)

    @property
    def is_heading(self) -> bool:
        return self.block.kind is BlockKind.HEADING

    @property
    def is_framed(self) -> bool:
        return bool(self.head or self.tail)

    def glue_to(self, following: "SizedBlock") -> str:
        """The white space that stood between this unit and the next."""
        here, there = self.block.location, following.block.location
        if here.unit != "lines":
            return " " if following.continues else "\n\n"
        if following.continues:
            return " " if there.first == here.last else "\n"
        return "\n" if there.first <= here.last + 1 and not self.is_heading else "\n\n"


def size_of(text: str, tokens: int) -> int:
    """What a text counts for in a chunk: its tokens, unless it is very long for so few."""
    return max(tokens, _min_size(len(text)))


def _min_size(characters: int) -> int:
    return -(-characters // MAX_TOKEN_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Cutter:
    """Cuts a block that has no children. The parts have every word and all lines of it."""

    counter: TokenCounter

    def lines(self, block: Block, max_tokens: int) -> Iterator[SizedBlock]:
        """Parts of code, a table or HTML, of at most so many tokens."""
        gaps = {BlockKind.CODE: _CODE_GAPS, BlockKind.TABLE: _LINE_GAPS}.get(block.kind, _HTML_GAPS)
        frame = _frame(block)
        framing = sum(map(size_of, frame, self.counter.counts(frame))) if frame else 0
        if frame is None or 2 * framing > max_tokens:  # a frame of hundreds of words would leave no room
            return _located(block, self._runs(block.text, (0, len(block.text)), max_tokens, gaps))
        start = len(frame[0])
        end = len(block.text.removesuffix(frame[1]))
        runs = self._runs(block.text, (start, end), max_tokens - framing, gaps)
        return _framed(block, frame, list(runs), framing)

    def sentences(self, block: Block, max_tokens: int) -> Iterator[SizedBlock]:
        """Runs of whole sentences, of about half as many tokens; a sentence with more than all is cut between words."""
        kind = BlockKind.PARAGRAPH if block.heading else block.kind  # a heading would stay with what is below it
        fitting = self._fitting(block.text, list(_sentences(block.text)), max_tokens, _LINE_GAPS)
        return _located(replace(block, kind=kind), _filled(fitting, max_tokens // 2))

    def tail(self, block: Block, max_tokens: int) -> tuple[SizedBlock, ...]:
        """The last whole sentences of so many tokens; of a text without sentences, its last words."""
        words = list(re.finditer(r"\S+", block.text))[-max_tokens:]
        texts = [word.group() for word in words]
        sizes = list(map(size_of, texts, self.counter.counts(texts)))
        first, total = len(words), 0
        while first > 0 and total + sizes[first - 1] <= max_tokens:
            first -= 1
            total += sizes[first]
        if first == len(words):
            return ()
        start = words[first].start()
        points = tuple(sentence_starts(block.text))
        if points or ends_sentence(block.text):
            start = next((at for at in points if at >= start), len(block.text))
        if start == len(block.text):
            return ()
        tail = part_of(block, start, len(block.text))
        return (SizedBlock(tail, self.counter.counts([tail.text])[0]),)

    def _runs(self, text: str, span: _Span, max_tokens: int, gaps: Sequence[re.Pattern[str]]) -> Iterator[_Run]:
        """Cut at the first kind of gap, as much together as fits."""
        return _filled(self._fitting(text, list(_between(text, span, gaps[0])), max_tokens, gaps[1:]), max_tokens)

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


def part_of(block: Block, start: int, end: int) -> Block:
    """A part of a block's text, with its lines. Pages and messages cannot be told from the text itself."""
    location = block.location
    if location.unit == "lines":
        first = location.first + block.text.count("\n", 0, start)
        location = Location("lines", first, first + block.text.count("\n", start, end))
    return Block(block.kind, block.text[start:end], location, language=block.language)


def _filled(fitting: Iterable[_Run], max_tokens: int) -> Iterator[_Run]:
    """As many runs together as fit."""
    run: _Run | None = None
    for start, end, tokens in fitting:
        if run and max(run[2] + tokens, _min_size(end - run[0])) <= max_tokens:
            run = (run[0], end, run[2] + tokens)
        else:
            if run:
                yield run
            run = (start, end, tokens)
    if run:
        yield run


def _sentences(text: str) -> Iterator[_Span]:
    for start, end in pairwise((0, *sentence_starts(text), len(text))):
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


def _frame(block: Block) -> _Frame | None:
    """A fence's first and last line, or a table's header; None for other blocks."""
    lines = block.text.split("\n", 2)
    if len(lines) < 3:
        return None
    if block.kind is BlockKind.TABLE:
        return f"{lines[0]}\n{lines[1]}\n", ""
    first, last = Line(lines[0]), Line(block.text.rpartition("\n")[2])
    if block.kind is not BlockKind.CODE or not first.fence:
        return None
    margin = _LIST_MARK.sub(_blanks, first[: first.index(first.fence)])
    return f"{first}\n", f"\n{last if last.closes(first.fence) else margin + first.fence}"


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def defines_terms(block: Block) -> bool:
    """Whether it is a long list of which nearly every item explains a term that it begins with."""
    if block.kind is not BlockKind.LIST or not MIN_ENTRIES <= len(block.children) <= MAX_ENTRIES:
        return False
    entries = sum(_ENTRY.match(item.text) is not None for item in block.children)
    return entries >= ENTRIES_SHARE * len(block.children)


def _framed(block: Block, frame: _Frame, runs: Sequence[_Run], framing: int) -> Iterator[SizedBlock]:
    """The runs of what is inside of the frame, each with the frame around it."""
    opening, closing = frame
    is_closed = block.text.endswith(closing)
    # The item of a list begins but once.
    again = _LIST_MARK.sub(_blanks, opening, count=1) if Line(opening).begins_item else opening
    for number, unit in enumerate(_located(block, runs)):
        head, tail = len(again) if number else 0, len(closing)
        if is_closed and number == len(runs) - 1:
            tail = 0
        part = replace(unit.block, text=f"{again if number else opening}{unit.block.text}{closing}")
        yield replace(unit, block=part, tokens=unit.tokens + framing, head=head, tail=tail)


def _located(block: Block, runs: Iterable[_Run]) -> Iterator[SizedBlock]:
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
        yield SizedBlock(part, tokens, continues=number > 0)
