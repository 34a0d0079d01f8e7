"""A text that is too long for a prompt -> the paragraphs of it that speak of the question."""

import re
from collections.abc import Callable, Iterator, Sequence

from citewise.ports.models import TokenCounter
from citewise.text.analysis import stems
from citewise.text.neutral import fenced

_HEADING = re.compile(r"\s{0,3}#{1,6}(?:\s|$)")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


def cut_to_fit(text: str, fits: Callable[[str], bool]) -> str:
    """The longest beginning that fits, up to the end of a line outside code and tables; then of any line; then of a
    sentence; then of a word; then anywhere, for writing without blanks. Empty if not even a character fits."""
    lines = (_ends_of_lines(text, only_safe=is_safe) for is_safe in (True, False))
    inside = (_ends(_SENTENCE_END, text), _ends(_WORD_END, text))
    for ends in (*lines, *inside, range(1, len(text) + 1)):
        found = _longest(text, tuple(ends), fits=fits)
        if found:
            return found
    return ""


def _longest(text: str, ends: Sequence[int], *, fits: Callable[[str], bool]) -> str:
    low, high = 0, len(ends)  # the end before `low` was tried and fits; the one at `high` does not
    while low < high:
        middle = (low + high) // 2
        if fits(text[: ends[middle]]):
            low = middle + 1
        else:
            high = middle
    return text[: ends[low - 1]] if low else ""


def _ends_of_lines(text: str, *, only_safe: bool) -> Iterator[int]:
    """Where lines end, but for blank ones and headings: a heading with nothing behind it says nothing."""
    lines = text.split("\n")
    in_fence = fenced(lines)
    end = -1
    for at, line in enumerate(lines):
        end += len(line) + 1
        says_something = bool(line.strip()) and (in_fence[at] or _HEADING.match(line) is None)
        if says_something and not (only_safe and _holds_together(lines, in_fence, at)):
            yield end


def _holds_together(lines: Sequence[str], in_fence: Sequence[bool], at: int) -> bool:
    """Whether a line and the next are of one fence or one table."""
    if at + 1 == len(lines):
        return False
    if in_fence[at] and in_fence[at + 1]:
        return True
    return "|" in lines[at] and "|" in lines[at + 1]


def _ends(of: re.Pattern[str], text: str) -> Iterator[int]:
    for match in of.finditer(text):
        yield match.start()
    yield len(text)


LEFT_OUT = "[…]"

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)


def fitted(text: str, question: str, *, counter: TokenCounter, budget_tokens: int) -> str:
    """The text itself if it fits, else its best paragraphs in their own order, with a mark where others stood.

    A paragraph is as good as the share of the question's stems that it holds; rare ones count more, earlier
    paragraphs win ties. A single paragraph over the budget is left for the packing to cut.
    """
    if counter.counts([text])[0] <= budget_tokens:
        return text
    paragraphs = _whole_paragraphs(text)
    ranked = sorted(range(len(paragraphs)), key=_scores(paragraphs, question).__getitem__, reverse=True)
    tokens = counter.counts(paragraphs)
    room = budget_tokens - counter.counts([LEFT_OUT])[0]
    kept: set[int] = set()
    for at in ranked:
        cost = tokens[at] + counter.counts([LEFT_OUT])[0]
        if cost <= room:
            kept.add(at)
            room -= cost
    return _joined(paragraphs, kept or {ranked[0]})


def _whole_paragraphs(text: str) -> list[str]:
    """Cut at blank lines, but never inside a fence."""
    paragraphs: list[str] = []
    is_open = False
    for part in _PARAGRAPHS.split(text):
        if is_open:
            paragraphs[-1] += f"\n\n{part}"
        elif part.strip():
            paragraphs.append(part)
        is_open ^= len(_FENCE.findall(part)) % 2 == 1
    return paragraphs


def _scores(paragraphs: list[str], question: str) -> list[float]:
    wanted = stems(question)
    found = [wanted & stems(paragraph) for paragraph in paragraphs]
    spread = {stem: sum(stem in some for some in found) for stem in wanted}
    return [sum(1 / spread[stem] for stem in some) for some in found]


def _joined(paragraphs: list[str], kept: set[int]) -> str:
    parts = []
    for at, paragraph in enumerate(paragraphs):
        if at in kept:
            parts.append(paragraph)
        elif not parts or parts[-1] != LEFT_OUT:
            parts.append(LEFT_OUT)
    return "\n\n".join(parts)
