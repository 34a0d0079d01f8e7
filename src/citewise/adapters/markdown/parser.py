"""Markdown and MDX as Docusaurus reads them -> blocks with their lines."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from citewise.adapters.markdown.frontmatter import split_front_matter
from citewise.adapters.markdown.rules import COMMENT_ENDS, BlockParser
from citewise.model.document import Block, BlockKind, Heading, Item, Location, ParsedDocument
from citewise.text.encoding import decoded
from citewise.text.secrets import masked
from citewise.text.urls import Slugger

MAX_WARNINGS = 20  # per document; a broken generator can make thousands of the same kind
_MAX_TITLE = 2_000  # characters; a longer heading is an accident, and inline parsing is not linear
_KINDS = {
    "heading_open": BlockKind.HEADING,
    "paragraph_open": BlockKind.PARAGRAPH,
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
_CONTAINERS = frozenset({BlockKind.LIST, BlockKind.ITEM, BlockKind.QUOTE, BlockKind.ADMONITION})
_COMMENTED = frozenset({BlockKind.PARAGRAPH, BlockKind.HEADING, BlockKind.HTML, BlockKind.TABLE})

_EXPLICIT_ID = re.compile(r"\{(?:#(?P<classic>(?:(?!\{#|\}).)+)|/\*[ \t]*#(?P<mdx>\S+?)[ \t]*\*/)\}$")
_NEEDS_PARSING = re.compile(r"[\\`*_~\[\]<&]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,999})\]:[ \t]*\S", re.MULTILINE)
_LANGUAGE = re.compile(r"\s*([^\s{]+)")  # of an info string such as `jsx {1,3-5} title="app.js"`
_MARK = re.compile(r"\\.|`+|<!--|\{/\*", re.DOTALL)
_BACKTICKS = re.compile("`+")
_NAME = r"[A-Za-z_$][\w$]*"
_CLAUSE = rf"(?:type\s+)?(?:{_NAME}|(?:{_NAME}\s*,\s*)?(?:\{{[\w$\s,]*\}}|\*\s*as\s+{_NAME}))"
_IMPORT = re.compile(
    rf"import(?:\s+|(?=[{{*'\"]))(?:{_CLAUSE}\s*(?<![\w$])from\s*)?"
    r"(?:'[^'\n]*'|\"[^\"\n]*\")[ \t]*(;[ \t]*)?"
)

_EXPORTED_TITLE = re.compile(
    r"export\s+const\s+(?:title\s*=|(?:meta|metadata|frontMatter)\s*=\s*\{[^{}]*?\btitle\s*:)\s*"
    rf"(?P<quote>['\"`])(?P<title>[^\n]{{1,{_MAX_TITLE}}}?)(?P=quote)"
)


class MarkdownParser:
    """Parses Markdown and MDX files; keeps nothing between them."""

    version = "markdown-8"  # changes when the same text may give other blocks

    def __init__(self) -> None:
        self._blocks = BlockParser()
        self._inline = MarkdownIt("commonmark").enable("strikethrough")

    def parse(self, data: bytes, item: Item) -> tuple[ParsedDocument]:
        clean = masked(decoded(data))
        return (replace(self.parse_text(clean.text), text=clean.text, masked=clean.counts),)

    def parse_text(self, text: str) -> ParsedDocument:
        """The document of a text in which nothing needs to be masked. Never raises."""
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        document, body_line = split_front_matter(text)
        lines = text.split("\n")[body_line - 1 :]
        body = text if body_line == 1 else "\n".join(lines)
        roots, notes, left_out = self._blocks(body)
        exported = _exported_title("\n".join(lines[first:end]) for first, end in left_out)
        page = _Body(lines, body_line, warnings=notes, headings=_HeadingReader(self._inline, body))
        page.leave_out(left_out)
        page.drop_imports(roots)
        if _may_hold_comment(body):
            page.drop_comments(roots)
        blocks = tuple(page.blocks(roots))
        about_lines = (f"line {line + body_line}: {warning}" for line, warning in sorted(notes.items()))
        warnings = (*document.warnings, *about_lines)
        if (more := len(warnings) - MAX_WARNINGS) > 0:
            warnings = (*warnings[:MAX_WARNINGS], f"and {more} more warnings")
        return replace(document, title=document.title or exported, blocks=blocks, warnings=warnings)


def _exported_title(statements: Iterable[str]) -> str | None:
    """The title that MDX gives a page by a constant."""
    matches = filter(None, map(_EXPORTED_TITLE.match, statements))
    return next((" ".join(match["title"].split()) for match in matches), None)


class _HeadingReader:
    def __init__(self, inline: MarkdownIt, body: str) -> None:
        self._inline = inline
        self._body = body
        self._slugger = Slugger()

    def read(self, node: Token) -> Heading:
        content = "".join(inline.content for inline in node.children or ()).rstrip()
        explicit = _EXPLICIT_ID.search(content) if content.endswith("}") else None
        if explicit is not None:
            content = content[: explicit.start()]
        title = " ".join(self._plain(_without_comments(content)[0]).split())
        anchor = (explicit["classic"] or explicit["mdx"]) if explicit else self._slugger.anchor(title)
        return Heading(int(node.tag[1]), title, anchor)

    def _plain(self, content: str) -> str:
        if len(content) > _MAX_TITLE or not _NEEDS_PARSING.search(content):
            return content
        references = self._references if "[" in content else {}
        tokens = self._inline.parseInline(content, {"references": references})
        return "".join(map(_shown, tokens[0].children or ()))

    @cached_property
    def _references(self) -> Mapping[str, Mapping[str, str]]:
        labels = _DEFINITION.findall(self._body)
        return {normalizeReference(label): {"href": "#", "title": ""} for label in labels}


def _shown(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(map(_shown, token.children or ()))
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


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each comment, in order; an end of -1: never closed."""
    runs: defaultdict[int, list[int]] = defaultdict(list)  # of backticks, by their length
    for run in _BACKTICKS.finditer(text):
        runs[len(run[0])].append(run.start())
    unclosed: set[str] = set()
    position = 0
    while mark := _MARK.search(text, position):
        opener, position = mark[0], mark.end()
        if opener[0] == "`":
            closing = runs[len(opener)]
            index = bisect_left(closing, position)
            position = closing[index] + len(opener) if index < len(closing) else position
        elif opener in COMMENT_ENDS and opener not in unclosed:
            closer, overlap = COMMENT_ENDS[opener]
            closed = text.find(closer, mark.start() + overlap)
            position = closed + len(closer) if closed >= 0 else position
            yield mark.start(), position if closed >= 0 else -1
            if closed < 0:
                unclosed.add(opener)


def _import_lines(text: str) -> int:
    """How many lines at the start are import statements and nothing else."""
    position = done = 0
    while statement := _IMPORT.match(text, position):
        position = statement.end()
        if position == len(text) or text[position] == "\n":
            position = done = min(position + 1, len(text))
        elif not statement[1]:
            break
    return text.count("\n", 0, done) + (0 < done == len(text))


class _Body:
    """The lines of a body and its blocks. Dropped lines become empty, so that line numbers stay right."""

    def __init__(
        self, lines: list[str], first_line: int, *, warnings: dict[int, str], headings: _HeadingReader
    ) -> None:
        self._lines = lines
        self._first_line = first_line
        self._warnings = warnings  # by line, counted from 0 like all lines here
        self._headings = headings
        self._dropped: set[int] = set()

    def leave_out(self, runs: Iterable[tuple[int, int]]) -> None:
        for first, end in runs:
            for line in range(first, end):
                self._replace(line, "")

    def drop_imports(self, roots: Sequence[Token]) -> None:
        for node in roots:
            first, end = _span(node)
            if node.type == "paragraph_open" and self._lines[first].startswith("import"):
                for line in range(first, first + _import_lines("\n".join(self._lines[first:end]))):
                    self._replace(line, "")

    def drop_comments(self, nodes: Sequence[Token]) -> None:
        for node in nodes:
            kind = _KINDS[node.type]
            if kind in _CONTAINERS:
                self.drop_comments(node.children or ())
            elif kind in _COMMENTED:
                first, end = _span(node)
                # A table's cells end with its row, so a stray backtick must not reach into the next one.
                step = 1 if kind is BlockKind.TABLE else end - first
                for start in range(first, end, step):
                    self._drop_comments_between(start, start + step)

    def _drop_comments_between(self, first: int, end: int) -> None:
        text = "\n".join(self._lines[first:end])
        kept, unclosed = _without_comments(text)
        if unclosed is not None:
            self._warnings[first + text.count("\n", 0, unclosed)] = "a comment is never closed; read as text"
        if kept != text:
            for line, left in enumerate(kept.split("\n"), first):
                if left != self._lines[line]:
                    self._replace(line, left.rstrip() if left.strip(" \t>*+-") else "")

    def _replace(self, line: int, left: str) -> None:
        self._lines[line] = left
        if not left:
            self._dropped.add(line)

    def blocks(self, roots: Sequence[Token]) -> Iterator[Block]:
        """The blocks in order. Lines that no rule claimed are paragraphs: nothing may vanish."""
        done = 0
        for node in roots:
            first, end = _span(node)
            yield from self._unclaimed(done, first)
            block = self._block(node, first=first, end=end)
            if block is not None:
                yield block
            done = max(done, end)
        yield from self._unclaimed(done, len(self._lines))

    def _unclaimed(self, first: int, end: int) -> Iterator[Block]:
        for is_text, group in groupby(range(first, end), lambda line: bool(self._lines[line].strip())):
            if is_text:
                run = list(group)
                yield Block(BlockKind.PARAGRAPH, *self._text(run[0], run[-1] + 1))

    def _block(self, node: Token, *, first: int, end: int) -> Block | None:
        while first < end and not self._lines[first].strip():
            first += 1
        while first < end and not self._lines[end - 1].strip():
            end -= 1
        if first == end:
            return None
        kind, children = _KINDS[node.type], tuple[Block, ...]()
        if kind in _CONTAINERS:
            edge = kind is BlockKind.ADMONITION  # its first and last line are in no child
            children = tuple(self._children(node, first=first + edge, end=end - edge))
        heading = self._headings.read(node) if kind is BlockKind.HEADING else None
        language = self._language(node) if node.type == "fence" else None
        return Block(kind, *self._text(first, end), children, heading, language)

    def _text(self, first: int, end: int) -> tuple[str, Location]:
        lines = self._lines[first:end]
        if self._dropped:
            lines = [self._lines[line] for line in range(first, end) if line not in self._dropped]
        return "\n".join(lines), Location("lines", first + self._first_line, end - 1 + self._first_line)

    def _children(self, node: Token, *, first: int, end: int) -> Iterator[Block]:
        """Blocks inside, which share out all lines of their parent: each reaches to where the next begins."""
        children = node.children or []
        starts = (first, *(_span(child)[0] for child in children[1:]))
        for child, start, stop in zip(children, starts, (*starts[1:], end), strict=False):  # there may be no child
            block = self._block(child, first=start, end=stop)
            if block is not None:
                yield block

    def _language(self, node: Token) -> str | None:
        fence = node.markup
        first, end = _span(node)
        last = self._lines[end - 1].lstrip(" \t>").rstrip()
        if end - 1 == first or last.strip(fence[0]) or len(last) < len(fence):
            self._warnings[first] = "a code fence is never closed; the rest is code"
        language = _LANGUAGE.match(node.info)
        return language[1].lower() if language else None


def _span(node: Token) -> tuple[int, int]:
    """The lines of a block of the body, counted from 0; the second is the one after the last."""
    first, end = node.map or (0, 0)  # every block rule sets it
    return first, end
