"""What a document is called, and how large it may be."""

from typing import Any

import pytest

from citewise.adapters.markdown.parser import MarkdownParser
from citewise.errors import BadData
from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.ingest.policy import Ruling
from citewise.ingest.prepare import MAX_CHUNKS, Prepare
from citewise.ingest.targets import Target
from citewise.model.access import Access
from citewise.model.document import Document, Item, SourceRef
from citewise.model.ids import digest
from citewise.ports.catalog import DocumentWrite
from citewise.ports.sources import Format
from tests.builders import SCOPE
from tests.fakes.counters import WordCounter

MARKDOWN = Format("text/markdown", (".md",), MarkdownParser(), HeadingChunker(WordCounter(), 1000))


def a_prepared_document(text: str, path: str, *, mount: str = "") -> Document:
    return a_prepared_write(text, path, mount=mount).document


def a_prepared_write(text: str, path: str, *, mount: str = "") -> DocumentWrite:
    data = text.encode()
    prepare, target = Prepare((MARKDOWN,), ()), Target(SCOPE, SourceRef(mount, "docs"))
    prepared = prepare(target, Item(path, len(data), "text/markdown"), data, lambda *_: Ruling(Access()))
    (write,) = prepared.writes
    return write


@pytest.mark.parametrize(
    ("text", "path", "title", "is_titled"),
    [
        ("---\ntitle: Given\n---\n# Other\n", "x.md", "Given", True),
        ("# First *one*\n\n# Second\n", "x.md", "First one", True),
        ("export const title = 'It is \"here\"';\n\n# Other\n", "x.mdx", 'It is "here"', True),
        ("export const meta = {\n  id: 3,\n  title: `Given`,\n}\n\nwords\n", "x.mdx", "Given", True),
        ("```js\nexport const title = 'code'\n```\n", "some.mdx", "Some", True),
        ("## Not this\n", "guides/my-first_page.md", "My first page", True),
        ("words\n", "guides/index.md", "Guides", True),
        ("words\n", "README.md", "README", True),
        ("words\n", "guides/4711.md", "4711", False),
        ("words\n", "\u6982\u8ff0.md", "\u6982\u8ff0", True),
    ],
)
def test_a_title_comes_from_frontmatter_constant_heading_or_path(
    text: str, path: str, title: str, is_titled: bool
) -> None:
    document = a_prepared_document(text, path)
    assert (document.title, document.is_titled) == (title, is_titled)


@pytest.mark.parametrize(
    ("text", "path", "breadcrumb"),
    [
        ("words\n", "guides/my-first_page.md", ("My first page",)),
        ("## Part\n\nwords\n", "guides/my-first_page.md", ("My first page", "Part")),
        ("## Part\n\nwords\n", "guides/4711.md", ("Part",)),
        ("# Given\n\nwords\n", "guides/my-first_page.md", ("Given",)),
    ],
)
def test_a_title_from_the_file_s_name_is_searched_unless_it_names_nothing(
    text: str, path: str, breadcrumb: tuple[str, ...]
) -> None:
    chunk = a_prepared_write(text, path).chunks[0]
    assert chunk.piece.breadcrumb == breadcrumb
    assert chunk.embedded_text.startswith(" > ".join(breadcrumb))


def test_what_a_source_knows_of_an_item_is_part_of_its_stamp() -> None:
    prepare, target = Prepare((MARKDOWN,), ()), Target(SCOPE, SourceRef("", "docs"))
    known: tuple[dict[str, Any], ...] = (
        {},
        {"metadata": {"team": "ops"}},
        {"metadata": {"team": "hr"}},
        {"uri": "https://x/1"},
        {"uri": "https://x/2"},
    )
    items = (Item("a.md", 5, "text/markdown", **each) for each in known)
    assert len({prepare.stamp(target, item, digest(b"words")) for item in items}) == len(known)


def test_a_document_knows_the_item_it_was_read_from() -> None:
    document = a_prepared_document("words\n", "guides/a.md", mount="docs")
    assert (document.path, document.source_uri, document.media_type) == (
        "docs/guides/a.md",
        "docs/guides/a.md",
        "text/markdown",
    )


def test_a_document_of_too_many_chunks_is_refused_with_their_number() -> None:
    text = "".join(f"# h{n}\n\ntext\n\n" for n in range(MAX_CHUNKS + 234))
    with pytest.raises(BadData, match=r"would become 20,234 chunks; the limit is 20,000: split it"):
        a_prepared_document(text, "a.md")


def test_a_document_whose_chunks_repeat_too_much_is_refused() -> None:
    tags = "".join(f"  - {n:0200}\n" for n in range(300))
    text = f"---\ntags:\n{tags}---\n" + "".join(f"# h{n}\n\ntext\n\n" for n in range(1_200))
    with pytest.raises(BadData, match=r"would take 7\d MB in the library; the limit is 64 MB"):
        a_prepared_document(text, "a.md")


def test_a_large_book_is_no_problem() -> None:
    text = "".join(f"# Chapter {n}\n\n{'The harbor is open today. ' * 200}\n\n" for n in range(200))
    assert a_prepared_document(text, "a.md").text == text
