"""An item's bytes -> documents and their chunks, with nothing written yet."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from citewise.errors import BadData
from citewise.ingest.policy import Ruling
from citewise.ingest.targets import Target
from citewise.model.access import Access
from citewise.model.chunk import LABELING, Chunk, Piece, content_hash
from citewise.model.document import SITE, UNKNOWN, Document, Item, ParsedDocument, PathRule
from citewise.model.ids import Digest, digest, document_id
from citewise.ports.catalog import DocumentWrite
from citewise.ports.sources import Format
from citewise.text.secrets import VERSION as MASKING

# Who may read a document: from its path in the source, the rules it gives itself, and its pieces.
Rule = Callable[[str, tuple[str, ...], Sequence[Piece]], Ruling]

# Limits of one document, so that a small file cannot fill a disk: a chunk takes about 3 kB besides its text, and 48
# bytes for each token. Ten megabytes of prose, the largest file by default, become about 12,000 chunks and 25 MB.
MAX_CHUNKS = 20_000
MAX_STORED_MB = 64  # of the texts of its chunks, with the headings and the metadata that each of them repeats


@dataclass(frozen=True, slots=True)
class Prepared:
    """All documents of an item, ready to be embedded and stored together."""

    item: Item
    writes: tuple[DocumentWrite, ...]
    warnings: tuple[str, ...] = ()
    masked: Mapping[str, int] = field(default_factory=dict)  # kinds of secrets and how many were masked


@dataclass(frozen=True, slots=True)
class Prepare:
    """Parses, cuts and labels. The same item always becomes the same chunks."""

    formats: tuple[Format, ...]
    path_rules: tuple[PathRule, ...]

    def __call__(self, target: Target, item: Item, data: bytes, rule: Rule) -> Prepared:
        """The documents of an item. Raises BadData, or BadRequest for an invalid access rule."""
        parsed, stamp = self.format_of(item.media_type).parser.parse(data, item), self.stamp(target, item, digest(data))
        writes, warnings, masked = [], list[str](), Counter[str]()
        for each in parsed:
            document = self._document(target, item, each, stamp)
            pieces = self._pieces(document)
            _check_size(document, pieces)
            ruling = rule(_path(item, each.name), each.access, pieces)
            document = replace(
                document, access=ruling.access, access_reason=ruling.reason, copied_from=ruling.copied_from
            )
            writes.append(DocumentWrite(document, Chunk.of_document(document, pieces), ruling.replaced))
            warnings += _warnings(each, document)
            masked.update(each.masked)
        return Prepared(item, tuple(writes), tuple(warnings), masked)

    def format_of(self, media_type: str) -> Format:
        for each in self.formats:
            if each.media_type == media_type:
                return each
        raise BadData(f"no parser for {media_type}")

    def stamp(self, target: Target, item: Item, source: Digest) -> Digest:
        """Equal stamps mean that nothing but who may read it would come out differently. The chunker is the same for a
        whole library."""
        rules = (f"{rule.pattern} {sorted(rule.sets.items())}" for rule in self.path_rules)
        recipe = digest(self.format_of(item.media_type).parser.version, MASKING, LABELING, *rules)
        known = json.dumps([{**item.metadata}, item.uri], sort_keys=True, default=str)
        return digest(source, recipe, target.corpus_type or "", known)

    def cut(self, document: Document) -> DocumentWrite:
        """A document with its chunks: from its stored blocks, so that no parser is needed to cut it again."""
        return DocumentWrite(document, Chunk.of_document(document, self._pieces(document)))

    def texts(self, target: Target, item: Item, data: bytes) -> tuple[frozenset[Digest], str]:
        """The content hashes of the chunks that an item would have, and its text."""
        parsed = self.format_of(item.media_type).parser.parse(data, item)
        documents = [self._document(target, item, each, Digest("")) for each in parsed]
        hashes = (content_hash(piece.text) for document in documents for piece in self._pieces(document))
        return frozenset(hashes), "\n".join(document.text for document in documents)

    def _pieces(self, document: Document) -> tuple[Piece, ...]:
        chunker = self.format_of(document.media_type).chunker
        return chunker(document.blocks, title=document.title if document.is_titled else None)

    def _document(self, target: Target, item: Item, parsed: ParsedDocument, stamp: Digest) -> Document:
        path = target.source.mounted(_path(item, parsed.name))
        facts = PathRule.facts_of(path, self.path_rules)
        chapter_number, chapter_title = _chapter_parts(facts["chapter"])
        title = parsed.own_title or _title_from_path(path)
        return Document(
            id=document_id(target.scope, path),
            scope=target.scope,
            path=path,
            mount=target.source.mount,
            title=title,
            is_titled=parsed.own_title is not None or _NAMING.search(title) is not None,
            description=parsed.description,
            tags=parsed.tags,
            module=facts["module"],
            chapter=facts["chapter"],
            corpus_type=target.corpus_type or parsed.corpus_type or facts["corpus_type"],
            content_type=facts["content_type"],
            # A page does not decide which site shows it.
            metadata={**item.metadata, **{name: value for name, value in parsed.metadata.items() if name != SITE}},
            access=Access(frozenset()),  # nobody, until it is decided
            own_access=parsed.access,
            aliases=item.aliases,
            created_at=target.started_at,
            stamp=stamp,
            text=parsed.text,
            blocks=parsed.blocks,
            media_type=item.media_type,
            chapter_number=chapter_number,
            chapter_title=chapter_title,
            source_uri=item.uri or target.source.mounted(item.path),
        )


def _check_size(document: Document, pieces: Sequence[Piece]) -> None:
    """Raise BadData for a document that is too large, before it is embedded. One that is stored already stays."""
    if len(pieces) > MAX_CHUNKS:
        raise BadData(f"would become {len(pieces):,} chunks; the limit is {MAX_CHUNKS:,}: split it into smaller files")
    labels = sum(len(label) for chunk in Chunk.of_document(document, pieces[:1]) for label in chunk.labels)
    repeated = (labels + len(piece.anchor) + sum(map(len, piece.breadcrumb)) for piece in pieces)
    stored_mb = (sum(repeated) + sum(len(piece.text) for piece in pieces)) / 1e6
    if stored_mb > MAX_STORED_MB:
        raise BadData(
            f"would take {stored_mb:,.0f} MB in the library; the limit is {MAX_STORED_MB} MB: split it, or shorten its "
            "headings and its frontmatter, which each of its chunks repeats"
        )


def _path(item: Item, name: str) -> str:
    return f"{item.path}/{name}" if name else item.path


_NUMBERED = re.compile(
    r"(?:(?:chapter|ch|part|unit|week|lesson|module|section|day)[-_ .]*)?(?:\d+\.)*(\d{1,6})(?:[-_ .]+(.*))?",
    re.IGNORECASE | re.DOTALL,
)


def _chapter_parts(chapter: str) -> tuple[int | None, str | None]:
    """The number and the title in a chapter's name: 3 and "Sensor fusion" for `1.3-sensor-fusion`."""
    if chapter == UNKNOWN:
        return None, None
    match = _NUMBERED.fullmatch(chapter)
    number, rest = (int(match[1]), match[2]) if match else (None, chapter)
    return number, _spaced(rest or "") or None


def _spaced(name: str) -> str:
    """A name of a file or folder as a title: "Sensor fusion" for `sensor-fusion`."""
    words = " ".join(re.split(r"[-_ ]+", name)).strip()
    return words[:1].upper() + words[1:]


_NAMING = re.compile(r"[^\W\d_]{3}|[^\W\d_\x00-\x7f]")  # a file named 4711 or a7 has no title to search by


def _title_from_path(path: str) -> str:
    file = PurePosixPath(path)
    name = file.parent.name if file.stem.lower() in ("index", "readme") and file.parent.name else file.stem
    return _spaced(name) or path


def _warnings(parsed: ParsedDocument, document: Document) -> Iterator[str]:
    yield from parsed.warnings
    if not parsed.blocks:
        yield "has no text below its frontmatter"
    if document.corpus_type == "DOC_TEXTBOOK":
        for name in ("module", "chapter"):
            if getattr(document, name) == UNKNOWN:
                yield f"no {name} in its path: filed under 'Unknown'"
