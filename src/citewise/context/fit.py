"""A text that is too long for a prompt -> the paragraphs of it that speak of the question."""

import re

from citewise.ports.analyzer import Analyzer
from citewise.ports.token_counter import TokenCounter

LEFT_OUT = "[…]"

_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)


def fitted(text: str, question: str, *, analyzer: Analyzer, counter: TokenCounter, budget_tokens: int) -> str:
    """The text itself if it fits, else its best paragraphs in their own order, with a mark where others stood.

    A paragraph is as good as the share of the question's stems that it holds; rare ones count more, earlier
    paragraphs win ties. A single paragraph over the budget is left for the packing to cut.
    """
    if counter.counts([text])[0] <= budget_tokens:
        return text
    paragraphs = _whole_paragraphs(text)
    ranked = sorted(range(len(paragraphs)), key=_scores(paragraphs, question, analyzer).__getitem__, reverse=True)
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


def _scores(paragraphs: list[str], question: str, analyzer: Analyzer) -> list[float]:
    wanted = set(analyzer.terms(question).words)
    found = [wanted & set(analyzer.terms(paragraph).words) for paragraph in paragraphs]
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
