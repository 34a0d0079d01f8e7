"""Markdown and MDX as Docusaurus reads them -> blocks with their lines."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from citewise.adapters.markdown.frontmatter import split_front_matter
from citewise.adapters.markdown.rules import COMMENT_ENDS, Notes, block_parser, block_tokens
from citewise.model.document import Block, BlockKind, Heading, Item, Location, ParsedDocument
from citewise.text.encoding import decoded
from citewise.text.secrets import masked
from citewise.text.urls import Slugger

_EXPLICIT_ID = re.compile(r"\{(?:#(?P<classic>(?:(?!\{#|\}).)+)|/\*[ \t]*#(?P<mdx>\S+?)[ \t]*\*/)\}$")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_NEEDS_PARSING = re.compile(r"[\\`*_~\[\]<&]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,999})\]:[ \t]*\S", re.MULTILINE)
_MARK = re.compile(r"\\.|`+|<!--|\{/\*", re.DOTALL)
_BACKTICKS = re.compile("`+")
_NAME = r"[A-Za-z_$][\w$]*"
_CLAUSE = rf"(?:type\s+)?(?:{_NAME}|(?:{_NAME}\s*,\s*)?(?:\{{[\w$\s,]*\}}|\*\s*as\s+{_NAME}))"
_IMPORT = re.compile(
    rf"import(?:\s+|(?=[{{*'\"]))(?:{_CLAUSE}\s*(?<![\w$])from\s*)?"
    r"(?:'[^'\n]*'|\"[^\"\n]*\")[ \t]*(;[ \t]*)?"
)
_MAX_TITLE = 2_000  # characters; a longer heading is an accident, and inline parsing is not linear


class _HeadingReader:
    """Reads the headings of a document."""

    def __init__(self, inline: MarkdownIt, body: str) -> None:
        self._inline = inline
        self._body = body
        self._references: Mapping[str, Mapping[str, str]] | None = None

    def read(self, content: str) -> tuple[str, str | None]:
        """The plain title and the explicit id."""
        content = content.rstrip()
        found = _EXPLICIT_ID.search(content) if content.endswith("}") else None
        if found is not None:
            content = content[: found.start()]
        title = self._plain(_without_comments(content)[0])
        return " ".join(title.split()), (found["classic"] or found["mdx"]) if found else None

    def _plain(self, content: str) -> str:
        if len(content) > _MAX_TITLE or not _NEEDS_PARSING.search(content):
            return content
        if not _NEEDS_PARSING.search(_CODE.sub("", content)):  # the usual case: nothing but code spans
            return _CODE.sub(r"\1", content)
        tokens = self._inline.parseInline(content, {"references": self._known_references(content)})
        return _shown_text(tokens[0].children or ())

    def _known_references(self, content: str) -> Mapping[str, Mapping[str, str]]:
        if "[" not in content:
            return {}
        if self._references is None:
            labels = _DEFINITION.findall(self._body)
            self._references = {normalizeReference(label): {"href": "#", "title": ""} for label in labels}
        return self._references


def _shown_text(tokens: Sequence[Token]) -> str:
    return "".join(_shown(token) for token in tokens)


def _shown(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return _shown_text(token.children or ())
    return "" if token.type == "html_inline" else token.content


def _may_hold_comment(text: str) -> bool:
    return "<!--" in text or "{/*" in text


def _without_comments(text: str) -> tuple[str, int | None]:
    """The text with each comment replaced by its line breaks, and where a comment opens that is never closed.

    Code spans and escaped characters are not looked into.
    """
    if not _may_hold_comment(text):
        return text, None
    kept: list[str] = []
    position, unclosed = 0, None
    for start, end in _comments(text):
        if end < 0:
            unclosed = start if unclosed is None else unclosed
            continue
        kept += (text[position:start], "\n" * text.count("\n", start, end))
        position = end
    return "".join((*kept, text[position:])), unclosed


def _imports_end(text: str) -> int:
    """How many characters at the start are lines of import statements and nothing else."""
    position = done = 0
    while statement := _IMPORT.match(text, position):
        position = statement.end()
        if position == len(text) or text[position] == "\n":
            position = done = min(position + 1, len(text))
        elif not statement[1]:
            break
    return done


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each comment, in order; an end of -1: never closed."""
    closing_runs = _runs_by_length(text)
    unclosed: set[str] = set()
    position = 0
    while mark := _MARK.search(text, position):
        opener, position = mark[0], mark.end()
        if opener[0] == "`":
            position = _span_end(closing_runs[len(opener)], position, length=len(opener))
        elif opener in COMMENT_ENDS and opener not in unclosed:
            closer, overlap = COMMENT_ENDS[opener]
            closed = text.find(closer, mark.start() + overlap)
            position = closed + len(closer) if closed >= 0 else position
            yield mark.start(), position if closed >= 0 else -1
            if closed < 0:
                unclosed.add(opener)


def _runs_by_length(text: str) -> defaultdict[int, list[int]]:
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for run in _BACKTICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    return runs


def _span_end(starts: list[int], position: int, *, length: int) -> int:
    """Where the code span opened before `position` ends; it is only backticks if nothing closes it."""
    index = bisect_left(starts, position)
    return starts[index] + length if index < len(starts) else position


MAX_WARNINGS = 20  # per document; a broken generator can make thousands of the same kind
_KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph": BlockKind.PARAGRAPH,
    "comment": BlockKind.PARAGRAPH,  # what is left of its lines once the comment is out
    "bullet_list_open": BlockKind.LIST,
    "ordered_list_open": BlockKind.LIST,
    "list_item_open": BlockKind.ITEM,
    "blockquote_open": BlockKind.QUOTE,
    "fence": BlockKind.CODE,
    "code_block": BlockKind.CODE,
    "table": BlockKind.TABLE,
    "admonition_open": BlockKind.ADMONITION,
    "math": BlockKind.MATH,
    "html_block": BlockKind.HTML,
    "hr": BlockKind.RULE,
}
_LANGUAGE = re.compile(r"\s*([^\s{]+)")  # of an info string such as `jsx {1,3-5} title="app.js"`
_CONTAINERS = frozenset({BlockKind.LIST, BlockKind.ITEM, BlockKind.QUOTE})
_COMMENTED = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.HTML, BlockKind.TABLE})


class MarkdownParser:
    """Parses Markdown and MDX files; keeps nothing between them."""

    version = "markdown-2"  # changes when the same text may give other blocks

    def __init__(self) -> None:
        self._blocks = block_parser()
        self._inline = MarkdownIt("commonmark").enable("strikethrough")

    def parse(self, data: bytes, item: Item) -> tuple[ParsedDocument]:
        clean = masked(decoded(data))
        return (replace(self.parse_text(clean.text), text=clean.text, masked=clean.counts),)

    def parse_text(self, text: str) -> ParsedDocument:
        """The document of a text in which nothing needs to be masked. Never raises."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        front, body_line, warnings = split_front_matter(text)
        lines = text.split("\n")[body_line - 1 :]
        body = text if body_line == 1 else "\n".join(lines)
        notes = Notes()
        roots = _tree(block_tokens(self._blocks, body, notes=notes))
        page = _Body(lines, body_line, headings=_HeadingReader(self._inline, body), notes=notes)
        page.drop_imports(roots)
        if _may_hold_comment(body):
            page.drop_comments(roots)
        blocks = tuple(page.blocks(roots))
        return ParsedDocument(
            text=text,
            blocks=blocks,
            title=front.title,
            description=front.description,
            tags=front.tags,
            metadata=front.metadata,
            access=front.access,
            warnings=_first_few((*warnings, *page.warnings())),
        )


def _first_few(warnings: tuple[str, ...]) -> tuple[str, ...]:
    more = len(warnings) - MAX_WARNINGS
    return warnings if more <= 0 else (*warnings[:MAX_WARNINGS], f"and {more} more warnings")


@dataclass(slots=True)
class _Node:
    """A token with the tokens inside it."""

    token: Token
    kind: BlockKind
    first: int  # lines of the body, counted from 0; `end` is the one after the last
    end: int
    content: str = ""
    inside: list["_Node"] = field(default_factory=list)


def _tree(tokens: Sequence[Token]) -> list[_Node]:
    roots: list[_Node] = []
    open_nodes: list[_Node] = []
    for token in tokens:
        if token.nesting < 0:
            open_nodes.pop()
        elif token.type == "inline":
            open_nodes[-1].content = token.content
        else:
            first, end = token.map or (0, 0)
            node = _Node(token, _KINDS[token.type], first, end)
            (open_nodes[-1].inside if open_nodes else roots).append(node)
            if token.nesting > 0:
                open_nodes.append(node)
    return roots


class _Body:
    """The lines of a body and its blocks. Dropped lines become empty, so that line numbers stay right."""

    def __init__(self, lines: list[str], first_line: int, *, headings: _HeadingReader, notes: Notes) -> None:
        self._lines = lines
        self._first_line = first_line
        self._headings = headings
        self._notes = notes
        self._slugger = Slugger()
        self._dropped: set[int] = set()

    def warnings(self) -> tuple[str, ...]:
        notes = sorted(self._notes.warnings.items())
        return tuple(f"line {line + self._first_line}: {text}" for line, text in notes)

    def drop_imports(self, roots: Sequence[_Node]) -> None:
        for node in roots:
            if node.kind is BlockKind.PARAGRAPH and self._lines[node.first].startswith("import"):
                text = "\n".join(self._lines[node.first : node.end])
                dropped = _imports_end(text)
                count = text.count("\n", 0, dropped) + (0 < dropped == len(text))
                for line in range(node.first, node.first + count):
                    self._replace(line, "")

    def drop_comments(self, nodes: Sequence[_Node]) -> None:
        for node in nodes:
            if node.kind in _COMMENTED:
                # A table's cells end with its row, so a stray backtick must not reach into the next one.
                step = 1 if node.kind is BlockKind.TABLE else node.end - node.first
                for first in range(node.first, node.end, step):
                    self._drop_comments_between(first, first + step)
            self.drop_comments(node.inside)

    def _drop_comments_between(self, first: int, end: int) -> None:
        text = "\n".join(self._lines[first:end])
        kept, unclosed = _without_comments(text)
        if unclosed is not None:
            line = first + text.count("\n", 0, unclosed)
            self._notes.warnings[line] = "a comment is never closed; read as text"
        if kept != text:
            for line, left in enumerate(kept.split("\n"), first):
                if left != self._lines[line]:
                    self._replace(line, left.rstrip() if left.strip(" \t>*+-") else "")

    def _replace(self, line: int, left: str) -> None:
        self._lines[line] = left
        if not left:
            self._dropped.add(line)

    def blocks(self, roots: Sequence[_Node]) -> Iterator[Block]:
        """The blocks in order. Lines that no rule claimed are paragraphs: nothing may vanish."""
        done = 0
        for node in roots:
            yield from self._unclaimed(done, node.first)
            block = self._block(node, first=node.first, end=node.end)
            if block is not None:
                yield block
            done = max(done, node.end)
        yield from self._unclaimed(done, len(self._lines))

    def _unclaimed(self, first: int, end: int) -> Iterator[Block]:
        for is_text, group in groupby(range(first, end), lambda line: bool(self._lines[line].strip())):
            if is_text:
                run = list(group)
                text = self._text(run[0], run[-1] + 1)
                yield Block(BlockKind.PARAGRAPH, text, self._location(run[0], run[-1] + 1))

    def _block(self, node: _Node, *, first: int, end: int) -> Block | None:
        while first < end and not self._lines[first].strip():
            first += 1
        while first < end and not self._lines[end - 1].strip():
            end -= 1
        if first == end:
            return None
        text = self._text(first, end)
        location = self._location(first, end)
        if node.kind in _CONTAINERS:
            children = self._children(node, first=first, end=end)
            return Block(node.kind, text, location, children)
        if node.kind is BlockKind.ADMONITION and node.inside:
            children = self._children(node, first=first + 1, end=end - 1)
            return Block(node.kind, text, location, children)
        heading = self._heading(node) if node.kind is BlockKind.HEADING else None
        language = self._language(node) if node.kind is BlockKind.CODE else None
        return Block(node.kind, text, location, heading=heading, language=language)

    def _location(self, first: int, end: int) -> Location:
        return Location("lines", first + self._first_line, end - 1 + self._first_line)

    def _text(self, first: int, end: int) -> str:
        if not self._dropped:
            return "\n".join(self._lines[first:end])
        return "\n".join(self._lines[line] for line in range(first, end) if line not in self._dropped)

    def _children(self, node: _Node, *, first: int, end: int) -> tuple[Block, ...]:
        """Blocks inside, which share out all lines of their parent: each reaches to where the next begins."""
        starts = (first, *(child.first for child in node.inside[1:]))
        spans = zip(node.inside, starts, (*starts[1:], end), strict=False)  # an empty item has no child
        made = (self._block(child, first=start, end=stop) for child, start, stop in spans)
        return tuple(block for block in made if block is not None)

    def _heading(self, node: _Node) -> Heading:
        title, chosen = self._headings.read(node.content)
        anchor = chosen or self._slugger.anchor(title)
        return Heading(int(node.token.tag[1]), title, anchor)

    def _language(self, node: _Node) -> str | None:
        fence = node.token.markup
        if not fence:
            return None
        last = self._lines[node.end - 1].lstrip(" \t>").rstrip()
        if node.end - 1 == node.first or last.strip(fence[0]) or len(last) < len(fence):
            self._notes.warnings[node.first] = "a code fence is never closed; the rest is code"
        language = _LANGUAGE.match(node.token.info)
        return language[1].lower() if language else None
