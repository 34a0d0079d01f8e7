"""Documents: one parsed file with its metadata and access rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from citewise.model.block import BlockKind, Json, Parsed
from citewise.model.ids import Digest, DocumentId
from citewise.model.scope import Access, Scope


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a stored document was made of; equal stamps mean that making it again would change nothing."""

    source: Digest  # of the file's bytes
    recipe: Digest  # of parser, chunker, masking and path rules
    origin: Digest  # of what the caller said about it: access, corpus type


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """What a library remembers of a document: which source it is of, what it was made of, how many chunks it has."""

    mount: str
    stamp: Stamp
    chunks: int


@dataclass(frozen=True, slots=True)
class Document:
    """A file as the library knows it. `text` is what was read, with secrets masked."""

    id: DocumentId
    scope: Scope
    path: str
    mount: str  # which source it came from
    title: str
    description: str
    tags: tuple[str, ...]
    module: str
    chapter: str
    corpus_type: str
    content_type: str
    metadata: Mapping[str, Json]  # the rest of the frontmatter: slug, id, sidebar_label, unknown keys
    access: Access
    stamp: Stamp
    text: str


@dataclass(frozen=True, slots=True)
class Title:
    """A document's title; `is_given` is false where only its path could name it."""

    text: str
    is_given: bool


def title_of(parsed: Parsed, path: str) -> Title:
    """Frontmatter first, then the first H1, then the path (I3)."""
    if parsed.front.title:
        return Title(parsed.front.title, is_given=True)
    for block in parsed.blocks:
        if block.kind is BlockKind.HEADING and block.heading and block.heading.level == 1 and block.heading.title:
            return Title(block.heading.title, is_given=True)
    return Title(_title_from_path(path), is_given=False)


def _title_from_path(path: str) -> str:
    file = PurePosixPath(path)
    name = file.parent.name if file.stem.lower() in ("index", "readme") and file.parent.name else file.stem
    words = name.replace("-", " ").replace("_", " ").strip()
    return words[:1].upper() + words[1:] if words else path
