"""From passages to the citation of the place they stand in (A2)."""

import re
from collections.abc import Sequence
from dataclasses import replace

from citewise.model.answer import Citation
from citewise.model.document import spanning
from citewise.model.ranking import Passage
from citewise.text.urls import Addresses

EXCERPT_CHARACTERS = 200
ELLIPSIS = "\u2026"

_HEADINGS = re.compile(r"(?:[ ]{0,3}#{1,6}(?:[ \t][^\n]*)?\n|[ \t]*\n)+")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\n")
_LAST_SPACE = re.compile(r"\s\S*\Z")


def excerpt(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of a text as it stands, headings passed over; whole words where one ends in the second half.

    At most `limit` characters. An ellipsis, which counts, says that more follows; all before it is the source's.
    """
    headings = _HEADINGS.match(text)
    body = text[headings.end() :].strip() if headings else ""
    whole = body or text.strip()
    if len(whole) <= limit:
        return whole
    room = max(limit - len(ELLIPSIS), 0)
    head = whole[: room + 1]  # one more, since a word may end just there
    space = _LAST_SPACE.search(head)
    end = space.start() if space and space.start() >= room // 2 else room
    return whole[:end].rstrip() + ELLIPSIS


def excerpt_of(text: str, unit: str) -> str:
    """The excerpt that begins where a unit stands; the text's own beginning where it cannot be found."""
    start = text.find(unit)
    if start < 0:
        return excerpt(text)
    end = _PARAGRAPH_END.search(text, start + len(unit))
    return excerpt(text[start : end.start()] if end else text[start:])


def citation_of(n: int, passages: Sequence[Passage], addresses: Addresses, *, best: Passage, score: float) -> Citation:
    """Source `n`, made of neighbors in one section: named after the best of them, with the lines of all."""
    whole = replace(best, location=spanning([passage.location for passage in passages]))
    return Citation(
        n=n,
        chunk_id=best.chunk_id,
        document_id=best.document_id,
        document=best.document,
        title=best.title,
        section=best.section,
        breadcrumb=best.breadcrumb,
        url=addresses.url(whole),
        module=best.module,
        chapter=best.chapter,
        lines=whole.lines,
        page=best.page,
        excerpt=excerpt(_unbroken(best)),
        score=score,
    )


def _unbroken(passage: Passage) -> str:
    """What can be quoted in one go: fewer lines than the file has there mean that a comment or a rule was left
    out between two paragraphs, and then only the first is sure to stand in the file as it stands here."""
    if passage.text.count("\n") >= passage.location.last - passage.location.first:
        return passage.text
    headings = _HEADINGS.match(passage.text)
    end = _PARAGRAPH_END.search(passage.text, headings.end() if headings else 0)
    return passage.text[: end.start()] if end else passage.text
