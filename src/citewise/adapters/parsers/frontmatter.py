"""Front matter: where it ends, and what it says about its document. Never raises, and never opens a document
whose access rule it could not read."""

import math
import re
from collections.abc import Iterator

import yaml

from citewise.adapters.parsers.frontmatter_yaml import Fields, Unreadable, json_value, raw_text, top_level
from citewise.model.block import FrontMatter, Json

MAX_CHARACTERS = 64 * 1024  # real front matter is under 2 KB; parsing YAML is slow and its aliases multiply
UNREADABLE_ACCESS = "(unreadable)"  # Access.of rejects it, so the document stays closed
_OPENING = re.compile(r"\ufeff?---[ \t]*\n")
_CLOSING = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_LINE_BREAK = re.compile(r"\r\n?")
_ACCESS_KEY = re.compile(r"""(?:^|[{,])[ \t]*["']?access["']?[ \t]*:""", re.MULTILINE | re.IGNORECASE)
_FIRST_ENTRY = re.compile(r"""\s*(?:#.*\n\s*)*["']?[\w-]+["']?[ \t]*:(?:\s|$)""")
_TEXT_FIELDS = ("title", "description", "slug", "id", "sidebar_label")


def split_front_matter(text: str) -> tuple[FrontMatter, int, tuple[str, ...]]:
    """What the front matter says, the line (from 1) on which the body starts, and what was wrong with it."""
    if not text.startswith(("---", "\ufeff---")):
        return FrontMatter(), 1, ()
    text = _LINE_BREAK.sub("\n", text)
    opening = _OPENING.match(text)
    if opening is None:
        return FrontMatter(), 1, ()
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        head = text[opening.end() : opening.end() + MAX_CHARACTERS].partition("\n\n")[0]
        return _closed_if_ruled(head), 1, ("front matter is never closed; read as text",)
    inside = text[opening.end() : closing.start()]
    body_line = text.count("\n", 0, closing.start()) + 2
    return _understood(inside, body_line)


def _understood(inside: str, body_line: int) -> tuple[FrontMatter, int, tuple[str, ...]]:
    warnings: list[str] = []
    if len(inside) > MAX_CHARACTERS:
        kept_as_text = not _FIRST_ENTRY.match(inside)
        what = "read as text" if kept_as_text else "its metadata is dropped"
        warnings.append(f"front matter is over {MAX_CHARACTERS // 1024} KB; {what}")
        return _closed_if_ruled(inside), 1 if kept_as_text else body_line, tuple(warnings)
    fields = top_level(inside, warnings)
    if fields is None:  # more likely two rules with prose between them than metadata
        return _closed_if_ruled(inside), 1, (*warnings, "front matter is not a mapping; read as text")
    front = _front_matter(fields, warnings)
    if warnings and not front.access and _ACCESS_KEY.search(inside):
        front = _closed_if_ruled(inside, front)
    return front, body_line, tuple(warnings)
