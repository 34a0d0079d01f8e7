"""Where a reader finds a passage: a page of a Docusaurus site, or lines of a file in a repository; heading anchors.

The rules are those of Docusaurus 3 (plugin-content-docs: slug.ts, numberPrefix.ts, docs.ts; utils: urlUtils.ts).
Paths, slugs and ids were written by anyone. Where Docusaurus would refuse to build the page, the address still
stays inside its site: everything but the base is encoded, and no `..` climbs above it.
"""

import re
import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote

from citewise.model.document import SITE, Json
from citewise.model.ranking import Passage

_PAGE = re.compile(r"(?P<name>.+)\.mdx?", re.IGNORECASE | re.DOTALL)
# A version or a date is no place in an order: 1.1-intro, 2021-11-notes.
_NUMBER_PREFIX = re.compile(r"(?![0-9]+[-_.][0-9])[0-9]+\s*[-_.]+\s*(?P<rest>[^-_.\s].*)")
# What may stand in a path as it is. Quotes and parentheses may too, but not in a Markdown link or an attribute.
_PLAIN = frozenset(string.ascii_letters + string.digits + "-._~!$&*+,;=:@")
_LARGEST_EXACT_NUMBER = 2**53
_DROPPED_CATEGORIES = frozenset({"No", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "C", "Z"})
# Letters that Unicode files under symbols: circled and squared Latin capitals and small letters.
_LETTERS_AMONG_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))


@dataclass(frozen=True, slots=True)
class Addresses:
    """Knows where documents are published, by the beginnings of their paths; the longest that fits counts."""

    # Path prefix -> base URL, and for code -> blob URL. Sites come before what a document's source knows of its site.
    sites: Mapping[str, str] = field(default_factory=dict)
    repositories: Mapping[str, str] = field(default_factory=dict)

    def url(self, passage: Passage) -> str | None:
        """The address of a passage; None where it is not published."""
        if passage.is_conversation:
            return None
        if not passage.corpus_type.startswith("CODE_"):
            return self._page_url(passage)
        placed = _placed(passage.document, self.repositories)
        if placed is None:
            return None
        base, path = placed
        first, last = passage.location.first, passage.location.last
        lines = f"L{first}" if first == last else f"L{first}-L{last}"
        return f"{base}{encoded_path(path)}#{lines}"

    def _page_url(self, passage: Passage) -> str | None:
        front = passage.metadata
        is_numbered = front.get("parse_number_prefixes") is not False
        slug, id_ = _scalar(front.get("slug")), _scalar(front.get("id"))
        placed = _placed(passage.document, self.sites) or _of_source(front.get(SITE))
        if placed is None:
            return None
        page, has_fragments = _page(*placed, slug=slug, id_=id_, is_numbered=is_numbered)
        # Docusaurus gives the H1 no id (theme-classic, Heading). A passage does not say how deep its heading is: where
        # it cannot be told, the fragment stays, since one that leads nowhere shows the top of the page too.
        is_outermost = len(passage.breadcrumb) == 1
        first_line = passage.text.partition("\n")[0]
        names_itself = first_line[2:].strip() in passage.breadcrumb[-1:]
        is_h1 = first_line.startswith("# ") and (is_outermost or names_itself)
        is_h1 = is_h1 or (is_outermost and passage.breadcrumb[0] == passage.title)
        return f"{page}#{_encoded(passage.anchor)}" if has_fragments and passage.anchor and not is_h1 else page


@lru_cache(maxsize=10_000)  # a search cites the same pages again and again
def _page(base: str, path: str, *, slug: str, id_: str, is_numbered: bool) -> tuple[str | None, bool]:
    """Where a document can be read, and whether its sections can be led to."""
    page = _PAGE.fullmatch(path)
    if page is None:  # a file that the site hands out as it is
        return f"{base}{encoded_path(path)}", False
    if any(part.startswith("_") for part in path.split("/")):
        return None, False  # Docusaurus makes no page of what is only included in others
    return f"{base}{encoded_path(_page_path(page['name'], slug, id_=id_, is_numbered=is_numbered))}", True


def _page_path(path: str, slug: str, *, id_: str, is_numbered: bool) -> str:
    """A page's path below its site, from its file's path without the extension and its frontmatter."""
    folder, _, name = path.rpartition("/")
    if slug.startswith("/"):
        return slug
    parent = "/".join(map(_unnumbered, folder.split("/"))) if is_numbered else folder
    if slug:
        return f"{parent}/{slug}"
    if name.lower() in ("index", "readme", folder.rpartition("/")[2].lower()):
        return f"{parent}/"  # whatever its id
    if id_ and "/" not in id_:  # Docusaurus takes no id with a slash
        return f"{parent}/{id_}"
    return f"{parent}/{_unnumbered(name) if is_numbered else name}"


def _placed(path: str, bases: Mapping[str, str]) -> tuple[str, str] | None:
    fitting = [prefix for prefix in bases if path.startswith(prefix)]
    if not fitting:
        return None
    prefix = max(fitting, key=len)
    return f"{bases[prefix].rstrip('/')}/", path[len(prefix) :]


def _of_source(site: Json) -> tuple[str, str] | None:
    """What the source knows of a document's site: the URL that it begins with, and the document's path below that."""
    if not isinstance(site, Mapping):
        return None
    url, path = site.get("url"), site.get("path")
    return (f"{url.rstrip('/')}/", path) if isinstance(url, str) and isinstance(path, str) else None


def _unnumbered(name: str) -> str:
    """`02-deploy` is `deploy`, but `1.1-intro` stays."""
    match = _NUMBER_PREFIX.fullmatch(name)
    return match["rest"] if match else name


def _scalar(value: Json) -> str:
    """Text, or a number as YAML reads `slug: 2021`; anything else was no slug."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST_EXACT_NUMBER:
        return str(value).removesuffix(".0")
    return ""


def encoded_path(path: str) -> str:
    """A path with its dots resolved as in a browser, but never above its beginning, and encoded."""
    remaining: list[str] = []
    parts = path.split("/")
    for part in parts:
        if part == "..":
            del remaining[-1:]
        elif part != ".":
            remaining.append(part)
    steps = [_encoded(part) for part in remaining if part]
    is_folder = parts[-1] in ("", ".", "..")
    return "/".join(steps) + ("/" if steps and is_folder else "")


def _encoded(text: str) -> str:
    if _PLAIN.issuperset(text):  # nearly always
        return text
    # Letters, marks and digits of every script read better as they are, and browsers encode them themselves.
    return "".join(
        character
        if character in _PLAIN or (not character.isascii() and unicodedata.category(character)[0] in "LMN")
        else quote(character, safe="", errors="replace")
        for character in text
    )


class Slugger:
    """Hands out the anchors of one page, top to bottom; no two generated ones are equal.

    An anchor that an author chose may equal a generated one: Docusaurus does not look, so neither may we.
    """

    def __init__(self) -> None:
        self._repeats: dict[str, int] = {}  # anchor -> how often its title came again

    def anchor(self, title: str) -> str:
        remaining = "".join(filter(_is_anchor_character, title.strip().lower()))
        base = candidate = remaining.replace(" ", "-")
        while candidate in self._repeats:
            self._repeats[base] += 1
            candidate = f"{base}-{self._repeats[base]}"
        self._repeats[candidate] = 0
        return candidate


def _is_anchor_character(character: str) -> bool:
    category = unicodedata.category(character)
    if character in " -" or _DROPPED_CATEGORIES.isdisjoint((category, category[0])):
        return True
    return any(low <= ord(character) <= high for low, high in _LETTERS_AMONG_SYMBOLS)
