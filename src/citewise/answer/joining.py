"""Neighbors in a section -> their text as it stands in the document, and the blocks in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from citewise.model.document import BlockSpan, Location
from citewise.model.ranking import Passage

MAX_OVERLAP_CHARACTERS = 2_000  # far more than a chunker repeats; a bound for texts that repeat themselves


@dataclass(frozen=True, slots=True)
class Joined:
    """The text of neighboring passages. `blocks` is empty where those of one of them are not known."""

    text: str
    blocks: tuple[BlockSpan, ...]
    origins: tuple[tuple[tuple[int, int], ...], ...]  # of each block, the passages and the blocks there that it is of
    passages: tuple[Passage, ...]
    starts: tuple[int, ...]  # where each passage begins in the text

    @staticmethod
    def of(passages: Sequence[Passage]) -> "Joined":
        text, blocks, origins, starts = "", list[BlockSpan](), list[tuple[tuple[int, int], ...]](), list[int]()
        for number, passage in enumerate(passages):
            before = passages[number - 1] if number else None
            head, _ = added_to((passage,))
            shared = (head or _overlap(before, passage)) if before else 0
            if before and head:  # another part of its last block
                text = text.removesuffix(added_to((before,))[1])
            if before and (head or not shared):
                text += "\n" * min(passage.location.first - before.location.last, 2) or " "
            start = len(text) - shared
            starts.append(start)
            for at, span in enumerate(passage.blocks):
                moved = span._replace(start=start + span.start, end=start + span.end)
                if moved.start >= len(text):
                    blocks.append(moved)
                    origins.append(((number, at),))
                elif blocks and moved.end > len(text):  # it goes on behind what both have
                    blocks[-1] = blocks[-1]._replace(end=moved.end, tail=moved.tail)
                    origins[-1] = (*origins[-1], (number, at))
            text += passage.text[shared:]
        if not all(passage.blocks for passage in passages):
            blocks, origins = [], []
        return Joined(text, tuple(blocks), tuple(origins), tuple(passages), tuple(starts))

    def location(self, start: int, end: int) -> Location:
        """Where a part of the text stands in the document.

        Of a passage in which a comment or a rule was left out, all of it: its lines cannot be counted.
        """
        found = []
        for passage, begins in zip(self.passages, self.starts, strict=True):
            head, tail = added_to((passage,))
            if begins + head < end and start < begins + len(passage.text) - len(tail):
                found.append(_part(passage, max(0, start - begins), min(len(passage.text), end - begins)))
        return Location.spanning(found or [passage.location for passage in self.passages])


def added_to(passages: Sequence[Passage]) -> tuple[int, str]:
    """How many characters at the beginning do not stand there in the source, and which ones at the end: the fence or
    the header of a block that was cut."""
    first, last = passages[0], passages[-1]
    tail = last.blocks[-1].tail if last.blocks else 0
    return first.blocks[0].head if first.blocks else 0, last.text[len(last.text) - tail :]


def _part(passage: Passage, start: int, end: int) -> Location:
    """Where a part of a passage stands in the document; what was added to the passage stands nowhere."""
    head, tail = added_to((passage,))
    whole, text = passage.location, passage.text[head : len(passage.text) - len(tail)]
    start, end = min(max(0, start - head), len(text)), min(max(0, end - head), len(text))
    if whole.unit != "lines" or text.count("\n") != whole.last - whole.first:
        return whole
    first = whole.first + text.count("\n", 0, start)
    return Location("lines", first, first + text.count("\n", start, max(start, end)))


def _overlap(before: Passage, after: Passage) -> int:
    """How many characters the end of one and the beginning of the other share, because the chunker repeated them.

    Text that repeats itself looks the same, so there must be lines that both have, no more of them are taken than
    both have, and only whole words.
    """
    shared_lines = before.location.last - after.location.first + 1
    if shared_lines < 1:
        return 0
    for size in range(min(len(before.text), len(after.text), MAX_OVERLAP_CHARACTERS), 0, -1):
        if (
            before.text.endswith(after.text[:size])
            and after.text.count("\n", 0, size) < shared_lines
            and _begins_word(before.text, len(before.text) - size)
            and _begins_word(after.text, size)
        ):
            return size
    return 0


def _begins_word(text: str, at: int) -> bool:
    """Whether a cut there leaves every word whole: at an end of the text, or beside white space."""
    return at in (0, len(text)) or text[at - 1].isspace() or text[at].isspace()
