"""Real documentation trees: no word lost, nothing cut that must stay whole, no chunk too large without reason."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.adapters.onnx import MINILM
from citewise.adapters.onnx.wordpiece import WordPieceCounter
from citewise.ingest.chunkers.markdown import SPECIAL_TOKENS, ChunkSizes, HeadingChunker
from citewise.model.chunk import Piece, searchable_text
from citewise.model.document import Block, BlockKind, ParsedDocument
from citewise.text.markdown import Line
from tests.props.corpora import TREES, files_of

Page = tuple[Path, ParsedDocument, tuple[Piece, ...]]
COUNTER = WordPieceCounter()
CEILING = ChunkSizes().ceiling
MAX_HEADINGS = 100  # tokens of those above a block, which have to fit with it
CHUNKER = HeadingChunker(COUNTER, MINILM.window_tokens)


@pytest.fixture(params=TREES, scope="module")
def pages(request: pytest.FixtureRequest) -> list[Page]:
    return [cut(file) for file in files_of(request.param)]


def cut(file: Path) -> Page:
    parsed = MarkdownParser().parse_text(file.read_text())
    return file, parsed, CHUNKER(parsed.blocks, title=parsed.own_title)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def body_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Lines of the body that hold words to be found: an independent, line-wise reading of the file."""
    text = file.read_text()
    front = re.match(r"---\n.*?\n---\n", text, re.DOTALL)
    blank = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
    one_import = r"import\s(?:[^;'\"]*?from\s*)?['\"][^'\"]*['\"];?[ \t]*"
    imports = re.compile(rf"^(?:{one_import})+$", re.MULTILINE)
    body = text[front.end() :] if front else text
    exports = re.compile(r"^export (?:const|function)\b.*?(?=\n\n|\n```|\Z)", re.MULTILINE | re.DOTALL)
    fences = re.compile(r"mdx-code-block[ \t]*$", re.MULTILINE)  # around what is read as the page is
    for pattern in (blank, imports, exports, fences):
        body = pattern.sub(lambda match: "\n" * match.group().count("\n"), body)
    first = text[: front.end()].count("\n") + 1 if front else 1
    yield from enumerate(body.split("\n"), start=first)


def test_every_word_of_every_body_is_in_a_chunk_at_its_line(pages: list[Page]) -> None:
    for file, _, pieces in pages:
        for number, line in body_lines(file):
            covering = {
                word
                for piece in pieces
                if piece.location.first <= number <= piece.location.last
                for word in words(piece.text)
            }
            assert set(words(line)) <= covering, (file, number, line)


def whole_blocks(blocks: tuple[Block, ...]) -> Iterator[Block]:
    for block in blocks:
        if block.kind in (BlockKind.CODE, BlockKind.TABLE, BlockKind.ADMONITION):
            yield block
        else:
            yield from whole_blocks(block.children)


def test_no_fence_table_or_admonition_is_cut_that_fits(pages: list[Page]) -> None:
    for file, parsed, pieces in pages:
        for block in whole_blocks(parsed.blocks):
            is_there = any(block.text in piece.text for piece in pieces)
            headings_too = COUNTER.counts([block.text])[0] > CEILING - MAX_HEADINGS
            assert is_there or headings_too, (file, block.location.first)


def test_no_chunk_passes_the_ceiling(pages: list[Page]) -> None:
    for file, _, pieces in pages:
        for piece in pieces:
            assert piece.tokens <= CEILING, (file, piece.location.first)


def test_a_part_of_a_cut_block_has_its_fence_or_header_and_the_lines_it_shows(pages: list[Page]) -> None:
    for file, _, pieces in pages:
        lines = file.read_text().split("\n")
        for piece in pieces:
            for block in piece.blocks:
                if not block.head and not block.tail:
                    continue
                shown = piece.text[block.start + block.head : block.end - block.tail]
                cited = "\n".join(lines[piece.location.first - 1 : piece.location.last])
                assert shown in cited, (file, piece.location.first)
                if block.kind is BlockKind.CODE:
                    fence = Line(piece.text[block.start : block.end].split("\n")[0]).fence
                    assert fence, (file, piece.location.first)
                    assert Line(piece.text[: block.end].rpartition("\n")[2]).closes(fence), (file, piece.location.first)


def test_only_whole_sections_and_single_larger_blocks_pass_the_window(pages: list[Page]) -> None:
    for file, _, pieces in pages:
        in_section = Counter((piece.anchor, piece.breadcrumb) for piece in pieces)
        for piece in pieces:
            prefix = COUNTER.counts([searchable_text(piece.breadcrumb, "")])[0]
            if piece.tokens + prefix + SPECIAL_TOKENS <= MINILM.window_tokens:
                continue
            if in_section[piece.anchor, piece.breadcrumb] == 1 and piece.tokens <= ChunkSizes().ceiling:
                continue
            blocks = MarkdownParser().parse_text(piece.text).blocks
            larger = [block for block in blocks if block.heading is None]
            stored = [span for span in piece.blocks if span.kind is not BlockKind.HEADING]  # a part has no fences
            assert 1 in (len(larger), len(stored)), (file, piece.location.first, piece.tokens)


def test_counts_add_up(pages: list[Page]) -> None:
    for file, _, pieces in pages:
        counts = COUNTER.counts([piece.text for piece in pieces])
        assert counts == [piece.tokens for piece in pieces], file
