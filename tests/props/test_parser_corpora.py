"""Real documentation trees: no word is lost, and markdown-it finds as many fences and tables."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.model.document import Block, BlockKind
from tests.props.corpora import TREES, files_of

FULL = MarkdownIt("commonmark").enable("table")
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!--.*?-->|\{/\*.*?\*/\}", re.DOTALL)
# Paragraphs that may hold imports, functions that are exported, and the names of fences that are read as the page.
SCRIPT = re.compile(
    r"^import\b.*?(?=\n\n|\Z)|^export (?:const|function)\b.*?(?=\n\n|\n```|\Z)|mdx-code-block",
    re.MULTILINE | re.DOTALL,
)


def bodies(tree: str) -> Iterator[tuple[Path, str, str]]:
    """Path, text and body of each file."""
    for path in files_of(tree):
        text = path.read_bytes().decode().replace("\r\n", "\n")
        yield path, text, FRONT_MATTER.sub("", text)


def words(texts: Iterable[str]) -> Counter[str]:
    return Counter(word for text in texts for word in re.findall(r"\w+", text))


def plain_counts(text: str) -> Counter[str]:
    names = {"fence": "fence", "table_open": "table"}
    counts = Counter[str]()
    for token in FULL.parse(text):
        if token.info.strip() == "mdx-code-block":  # its inside is read as the page around it
            counts += plain_counts(token.content)
        elif token.type in names:
            counts[names[token.type]] += 1
    return counts


def our_counts(block: Block) -> Counter[str]:
    """Fences and tables of a block; an admonition shows no parts, so its inside is counted by markdown-it."""
    if block.kind is BlockKind.ADMONITION:
        return plain_counts(block.text)
    opening = block.text.lstrip(" \t>-*0123456789.")[:3]
    is_fence = block.kind is BlockKind.CODE and opening in ("```", "~~~")
    own = Counter(fence=int(is_fence), table=int(block.kind is BlockKind.TABLE))
    return sum((our_counts(child) for child in block.children), own)


@pytest.mark.parametrize("tree", TREES)
def test_every_word_of_every_body_is_in_a_block(tree: str) -> None:
    parser = MarkdownParser()
    for path, text, body in bodies(tree):
        lost = words([body]) - words(block.text for block in parser.parse_text(text).blocks)
        dropped = words(COMMENT.findall(body) + SCRIPT.findall(body))
        assert not lost - dropped, path


@pytest.mark.parametrize("tree", TREES)
def test_blocks_are_their_source_lines_unless_something_was_dropped(tree: str) -> None:
    parser = MarkdownParser()
    for path, text, body in bodies(tree):
        lines = text.split("\n")
        is_whole = not COMMENT.search(body)
        for block in parser.parse_text(text).blocks if is_whole else ():
            source = "\n".join(lines[block.location.first - 1 : block.location.last])
            assert block.text in (source, SCRIPT.sub("", source).lstrip("\n")), path


@pytest.mark.parametrize("tree", TREES)
def test_there_are_as_many_fences_and_tables_as_markdown_it_finds(tree: str) -> None:
    parser = MarkdownParser()
    for path, text, body in bodies(tree):
        ours = sum((our_counts(block) for block in parser.parse_text(text).blocks), Counter[str]())
        assert +ours == plain_counts(body), path


@pytest.mark.parametrize("tree", TREES)
def test_real_documents_raise_no_warning(tree: str) -> None:
    parser = MarkdownParser()
    for path, text, _ in bodies(tree):
        assert parser.parse_text(text).warnings == (), path
