"""A file's text -> a document and its chunks, with nothing written yet."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from citewise.ingest.chunkers.markdown import HeadingChunker
from citewise.model.access import Access, Scope
from citewise.model.chunk import LABELING, Chunk, chunks_of
from citewise.model.document import (
    Document,
    FrontMatter,
    Json,
    Parsed,
    PathRule,
    Stamp,
    chapter_parts,
    path_facts,
    title_of,
)
from citewise.model.ids import Digest, digest, document_id
from citewise.ports.sources import Parser
from citewise.text.secrets import VERSION as MASKING
from citewise.text.secrets import masked


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a text comes from and who may read it, unless its frontmatter says otherwise."""

    scope: Scope
    mount: str
    path: str
    access: Access
    corpus_type: str | None = None  # given by the caller; else the path decides

    @property
    def digest(self) -> Digest:
        return digest(*sorted(self.access.readers), self.corpus_type or "")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be embedded and stored."""

    document: Document
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...]
    masked: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Prepare:
    """Masks, parses, cuts and labels. The same text always becomes the same chunks."""

    parser: Parser
    chunker: HeadingChunker
    path_rules: tuple[PathRule, ...]

    @property
    def version(self) -> Digest:
        """Changes when the same text might become other chunks."""
        rules = (f"{rule.pattern} {sorted(rule.sets.items())}" for rule in self.path_rules)
        return digest(self.parser.version, self.chunker.version, MASKING, LABELING, *rules)

    def stamp(self, origin: Origin, source: Digest) -> Stamp:
        """Equal stamps mean that nothing would come out differently."""
        return Stamp(source=source, recipe=self.version, origin=origin.digest)

    def __call__(self, origin: Origin, text: str, source: Digest) -> Prepared:
        clean = masked(text)
        parsed = self.parser.parse(clean.text)
        title = title_of(parsed, origin.path)
        facts = path_facts(origin.path, self.path_rules)
        chapter_number, chapter_title = chapter_parts(facts.chapter)
        document = Document(
            id=document_id(origin.scope, origin.path),
            scope=origin.scope,
            path=origin.path,
            mount=origin.mount,
            title=title.text,
            description=parsed.front.description or "",
            tags=parsed.front.tags,
            module=facts.module,
            chapter=facts.chapter,
            corpus_type=origin.corpus_type or facts.corpus_type,
            content_type=facts.content_type,
            metadata=_metadata(parsed.front),
            access=Access.of(parsed.front.access) if parsed.front.access else origin.access,
            stamp=self.stamp(origin, source),
            text=clean.text,
            blocks=parsed.blocks,
            source_uri=origin.path,
            chapter_number=chapter_number,
            chapter_title=chapter_title,
        )
        pieces = self.chunker(parsed.blocks, title=title.text if title.is_given else None)
        warnings = tuple(_warnings(parsed, document, facts.missing))
        return Prepared(document, chunks_of(document, pieces), warnings, clean.counts)


def _metadata(front: FrontMatter) -> Mapping[str, Json]:
    named: dict[str, Json] = {
        "slug": front.slug,
        "id": front.id,
        "sidebar_label": front.sidebar_label,
        "sidebar_position": front.sidebar_position,
        "learning_objectives": front.learning_objectives or None,
    }
    return {**front.other, **{name: value for name, value in named.items() if value is not None}}


def _warnings(parsed: Parsed, document: Document, missing: Iterable[str]) -> Iterable[str]:
    yield from parsed.warnings
    if not parsed.blocks:
        yield "has no text below its frontmatter"
    if document.corpus_type == "DOC_TEXTBOOK":
        for name in missing:
            yield f"no {name} in its path: filed under 'Unknown'"
