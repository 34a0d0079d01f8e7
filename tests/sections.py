"""Sections as a search would find them in documents of Markdown, for tests of excerpts."""

from collections.abc import Sequence
from dataclasses import replace

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.ingest.policy import Ruling
from citewise.ingest.prepare import Prepare
from citewise.ingest.targets import Target
from citewise.model.access import Access
from citewise.model.document import DEFAULT_RULES, BlockKind, BlockSpan, Item, SourceRef
from citewise.model.ranking import FoundSection, Passage
from citewise.ports.sources import Format
from citewise.text.sections import sections_of
from tests.builders import SCOPE, a_finding, a_passage, passage_of
from tests.fakes.counters import WordCounter

_FORMAT = Format("text/markdown", (".md",), MarkdownParser(), HeadingChunker(WordCounter(), 256))
_PREPARE = Prepare((_FORMAT,), DEFAULT_RULES)


def passages_of(text: str, path: str = "page.md") -> tuple[Passage, ...]:
    """The passages of a page, chunked as an ingestion chunks it."""
    data = text.encode()
    item = Item(path, len(data), "text/markdown")
    (write,) = _PREPARE(Target(SCOPE, SourceRef("", "docs")), item, data, lambda *_: Ruling(Access())).writes
    return tuple(passage_of(chunk, write.document) for chunk in write.chunks)


def sections_in(*pages: str, scores: Sequence[float] = ()) -> tuple[FoundSection, ...]:
    """Every section of these pages, the first one best unless scores are given, a page's passages alike."""
    given = scores or [0.9 - 0.1 * at for at in range(len(pages))]
    findings = [
        a_finding(passage, score=score)
        for at, (page, score) in enumerate(zip(pages, given, strict=True))
        for passage in passages_of(page, f"{at}.md")
    ]
    return sections_of(findings)


def with_nearness(section: FoundSection, near: dict[str, float]) -> FoundSection:
    """The section with its blocks as near to the question as the first of these words that they hold says."""

    def nearness(text: str) -> float:
        return next((value for word, value in near.items() if word in text), 0.0)

    closeness = tuple(
        tuple(nearness(passage.text[span.start : span.end]) for span in passage.blocks) for passage in section.passages
    )
    return replace(section, closeness=closeness)


def parts_of_a_block(kind: BlockKind, *parts: tuple[str, tuple[int, int]], head: str, tail: str) -> list[Passage]:
    """Neighbors as the chunker makes them of one block: each but the first begins with `head`."""
    passages = []
    for position, (text, lines) in enumerate(parts):
        begin, end = (head if position else ""), (tail if position < len(parts) - 1 else "")
        passage = a_passage(f"{begin}{text}{end}", position=position, lines=lines)
        span = BlockSpan(kind, 0, len(passage.text), head=len(begin), tail=len(end))
        passages.append(replace(passage, blocks=(span,)))
    return passages
