"""Headings: from the inline Markdown of a heading to its plain title and its explicit id, if it has one."""

import re
from collections.abc import Mapping, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference
from markdown_it.token import Token

from citewise.adapters.parsers.markdown_dropped import without_comments

_EXPLICIT_ID = re.compile(r"\{(?:#(?P<classic>(?:(?!\{#|\}).)+)|/\*[ \t]*#(?P<mdx>\S+?)[ \t]*\*/)\}$")
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_NEEDS_PARSING = re.compile(r"[\\`*_~\[\]<&]")
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,999})\]:[ \t]*\S", re.MULTILINE)
MAX_TITLE = 2_000  # characters; a longer heading is an accident, and inline parsing is not linear


class HeadingReader:
    """Reads the headings of one document."""

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
        title = self._plain(without_comments(content)[0])
        return " ".join(title.split()), (found["classic"] or found["mdx"]) if found else None

    def _plain(self, content: str) -> str:
        if len(content) > MAX_TITLE or not _NEEDS_PARSING.search(content):
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
