"""Between our values and the rows of the catalog, and the seals that tell whether a row is as it was stored."""

import json
import marshal
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, astuple
from functools import lru_cache
from hashlib import sha256
from operator import itemgetter
from typing import Any

from citewise.errors import Misconfigured
from citewise.model.access import Access, Reader, Scope
from citewise.model.chunk import Change, Chunk, Piece, Vector, searchable_text
from citewise.model.document import (
    AccessRule,
    Block,
    BlockKind,
    BlockSpan,
    Document,
    Heading,
    Json,
    KnownDocument,
    Location,
    SourceRef,
)
from citewise.model.filters import Label
from citewise.model.ids import ChunkId, Digest, digest
from citewise.model.ranking import Passage
from citewise.ports.catalog import DocumentSummary

Row = Mapping[str, object]

# Columns that hold the field of the same name as it is.
_OF_DOCUMENT = (
    *("id", "path", "mount", "title", "description", "module", "chapter", "chapter_number", "chapter_title"),
    *("corpus_type", "content_type", "source_uri", "created_at", "text", "media_type", "stamp", "access_reason"),
    "stale",
)
_OF_CHUNK = ("id", "document_id", "position", "content_type", "word_count", "fingerprint")
_OF_PIECE = ("anchor", "ordinal", "section", "text", "tokens", "kind", "language")

NOBODY = Access(frozenset())  # where it is not certain who may read a document

_BLOCK_KINDS = {kind.value: kind for kind in BlockKind}


def document_row(document: Document, scope_id: int, *, now: float) -> Row:
    return {
        **{name: getattr(document, name) for name in _OF_DOCUMENT},
        "scope": scope_id,
        "tags": _json(document.tags),
        "metadata": _json(document.metadata),
        "own_access": _json(document.own_access),
        "aliases": _json(document.aliases),
        "copied_from": _json(document.copied_from),
        "blocks": zlib.compress(_json([_block_json(block) for block in document.blocks]).encode(), 1),
        "is_titled": document.is_titled,
        "access": stored_access(document.access),
        "created_at": now if document.created_at is None else document.created_at,
        "updated_at": now,
    }


def document_of(row: sqlite3.Row, scope: Scope) -> Document:
    return Document(
        **{name: row[name] for name in _OF_DOCUMENT},
        scope=scope,
        tags=_texts(row["tags"]),
        metadata=json.loads(row["metadata"]),
        own_access=_texts(row["own_access"]),
        aliases=_texts(row["aliases"]),
        copied_from=_texts(row["copied_from"]),
        blocks=tuple(_block_of(block) for block in json.loads(zlib.decompress(row["blocks"]))),
        is_titled=bool(row["is_titled"]),
        access=access_of(row["access"]),
    )


def known_document(row: sqlite3.Row, scope: Scope) -> KnownDocument:
    """Of a row that begins with `d.rule_seal`; nobody may read a document whose rule is damaged."""
    is_certain = intact(row, scope, "d.rule_seal")
    return KnownDocument(
        mount=row["mount"],
        stamp=Digest(row["stamp"]),
        chunks=row["chunks"],
        access=access_of(row["access"]) if is_certain else NOBODY,
        own_access=_texts(row["own_access"]) if is_certain else (),
        aliases=_texts(row["aliases"]) if is_certain else (),
        copied_from=_texts(row["copied_from"]) if is_certain else (),
        created_at=row["created_at"],
    )


SOURCE_COLUMNS = ("mount", "root", "access", "kind", "place")


def source_row(source: SourceRef, scope: Scope) -> Row:
    row = {**asdict(source), "access": _json([asdict(rule) for rule in source.access])}
    return {**row, "seal": seal_of([row[name] for name in SOURCE_COLUMNS], scope)}


def source_of(row: sqlite3.Row) -> SourceRef:
    rules = (AccessRule(**{**rule, "readers": tuple(rule["readers"])}) for rule in json.loads(row["access"]))
    return SourceRef(row["mount"], row["root"], tuple(rules), row["kind"], row["place"])


def summary_of(row: sqlite3.Row) -> DocumentSummary:
    names = ("id", "path", "title", "mount", "corpus_type", "chunks", "updated_at")
    return DocumentSummary(**{name: row[name] for name in names}, access=access_of(row["access"]))


def stored_access(access: Access) -> str:
    """Each reader between commas, for `ADMITTED`; no name has one."""
    return f",{','.join(sorted(access.readers))},"


def access_of(stored: str) -> Access:
    return Access(frozenset(map(Reader, filter(None, stored.split(",")))))


def chunk_row(chunk: Chunk) -> Row:
    piece = chunk.piece
    return {
        **{name: getattr(chunk, name) for name in _OF_CHUNK},
        **{name: getattr(piece, name) for name in _OF_PIECE},
        "breadcrumb": _json(piece.breadcrumb),
        "location": _json(_location_json(piece.location)),
        "has_code": piece.has_code,
        "has_equations": piece.has_equations,
        "blocks": _json(piece.blocks),
        "labels": _json(sorted(chunk.labels)),
        "numbers": _json(chunk.numbers),
        "text_digest": bytes.fromhex(chunk.text_digest),
        "content_hash": bytes.fromhex(chunk.content_hash),
    }


def chunk_of(row: sqlite3.Row, scope: Scope) -> Chunk:
    piece = Piece(
        **{name: row[name] for name in _OF_PIECE},
        breadcrumb=_texts(row["breadcrumb"]),
        location=_location(row["location"]),
        has_code=bool(row["has_code"]),
        has_equations=bool(row["has_equations"]),
        blocks=_spans(row["blocks"]),
    )
    return Chunk(
        **{name: row[name] for name in _OF_CHUNK},
        scope=scope,
        piece=piece,
        labels=_labels(row["labels"]),
        numbers=json.loads(row["numbers"]),
        embedded_text=searchable_text(piece.breadcrumb, piece.text),
        text_digest=Digest(row["text_digest"].hex()),
        content_hash=Digest(row["content_hash"].hex()),
    )


def change_of(row: sqlite3.Row, scope: Scope) -> Change:
    """An entry of the log; a damaged chunk, or one whose vector is damaged, counts as dropped."""
    is_intact = len(intact(row, scope, "c.seal", "c.rest_seal")) == 2
    if row["vector"] is not None and seal_of((row["text_digest"], row["vector"])) != row["vector_seal"]:
        is_intact = False
    if not row["is_put"] or not is_intact:
        return Change(row["log_position"], ChunkId(row["chunk_id"]), None)
    if row["vector"] is None:
        raise Misconfigured(
            f"chunk {row['chunk_id']} has no vector of the library's model: run `citewise reindex` to embed it again"
        )
    return Change(
        row["log_position"],
        ChunkId(row["chunk_id"]),
        text=searchable_text(_texts(row["breadcrumb"]), row["text"]),
        vector=Vector(row["vector"]),
        labels=_labels(row["labels"]),
        numbers=json.loads(row["numbers"]),
    )


def _labels(stored: str) -> frozenset[Label]:
    return frozenset(map(Label, json.loads(stored)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _location_json(location: Location) -> list[object]:
    if location.unit == "messages":  # only they have more
        return [*astuple(location)]
    return [location.unit, location.first, location.last]


def _block_json(block: Block) -> list[object]:
    children = [_block_json(child) for child in block.children]
    heading = astuple(block.heading) if block.heading else None
    return [block.kind, block.text, _location_json(block.location), children, heading, block.language]


def _block_of(stored: list[Any]) -> Block:
    kind, text, location, children, heading, language = stored
    return Block(
        kind=_BLOCK_KINDS[kind],
        text=text,
        location=Location(*location),
        children=tuple(map(_block_of, children)),
        heading=Heading(*heading) if heading else None,
        language=language,
    )


# Questions find the same chunks again, and chunks of one section or document repeat these: decoding them each time
# would cost as much as the rest of reading a passage. The largest, the blocks, take about 500 bytes each.
@lru_cache(maxsize=10_000)
def _spans(stored: str) -> tuple[BlockSpan, ...]:
    spans = json.loads(stored)
    return tuple([BlockSpan(_BLOCK_KINDS[kind], *others) for kind, *others in spans])


@lru_cache(maxsize=10_000)
def _location(stored: str) -> Location:
    return Location(*json.loads(stored))


@lru_cache(maxsize=10_000)
def _texts(stored: str) -> tuple[str, ...]:
    return tuple(json.loads(stored))


@lru_cache(maxsize=1_000)
def _metadata(stored: str) -> Mapping[str, Json]:
    return dict(json.loads(stored))


# Passages: the columns in the order of the fields of `Passage`, and how some of them are read.
_COLUMNS = (
    *("c.id", "c.document_id", "d.path", "d.title", "c.section", "c.breadcrumb", "c.anchor", "c.position"),
    *("c.location", "d.corpus_type", "c.content_type", "d.module", "d.chapter", "c.text", "c.tokens"),
    *("c.text_digest", "d.tags", "d.metadata", "c.language", "d.source_uri", "d.created_at", "d.chapter_number"),
    *("d.chapter_title", "c.word_count", "c.content_hash", "c.has_code", "c.has_equations", "c.blocks", "d.stale"),
)
_READ_BY: Mapping[str, Callable[[Any], object]] = {
    "c.breadcrumb": _texts,
    "c.location": _location,
    "c.text_digest": bytes.hex,
    "d.tags": _texts,
    "d.metadata": _metadata,
    "c.content_hash": bytes.hex,
    "c.has_code": bool,
    "c.has_equations": bool,
    "c.blocks": _spans,
}
# What hits show of a document is also kept in one column, `shown`: reading and sealing ten for each chunk would cost a
# search twice as much. The time is apart, since JSON would round it.
_IN_SHOWN = tuple(name for name in _COLUMNS if name.startswith("d.") and name != "d.created_at")
SHOWN = f"json_array({', '.join(name[2:] for name in _IN_SHOWN)})"
_OF_ITSELF = (*(name for name in _COLUMNS if name.startswith("c.")), "d.created_at")
_READ_AT = tuple((_OF_ITSELF.index(name), read) for name, read in _READ_BY.items() if name in _OF_ITSELF)
_in_order = itemgetter(*((*_OF_ITSELF, *_IN_SHOWN).index(name) for name in _COLUMNS))


@lru_cache(maxsize=10_000)
def _shown(stored: str) -> tuple[object, ...]:
    values = zip(_IN_SHOWN, json.loads(stored), strict=True)
    return tuple(_READ_BY[name](value) if name in _READ_BY else value for name, value in values)


# What each seal covers (ADR 21). A column that is added to a table belongs into one of these lists, which a test
# compares with the tables. No seal covers stamps and fingerprints: a flip in one has its document read again, no more.
# The names of the scope are in every seal, so that no row counts for another tenant.
SEALS: Mapping[str, tuple[str, ...]] = {
    # By itself, so that a damaged document is named to those alone who may read it.
    "d.rule_seal": ("d.id", "d.path", "d.access", "d.own_access", "d.aliases", "d.copied_from"),
    "d.seal": (
        *("d.id", "d.path", "d.mount", "d.source_uri", "d.media_type", "d.title", "d.is_titled", "d.description"),
        *("d.tags", "d.module", "d.chapter", "d.chapter_number", "d.chapter_title", "d.corpus_type", "d.content_type"),
        *("d.metadata", "d.created_at", "d.updated_at", "d.access", "d.own_access", "d.aliases", "d.access_reason"),
        "d.stale",
    ),
    "d.text_seal": ("d.id", "d.text", "d.blocks"),
    # All that a hit and its citation show, of the document too, and the rule by which it was let through, so that a
    # changed rule shows nothing to anybody. This can be, as every store of a document stores all its chunks.
    "c.seal": (*_OF_ITSELF, "d.access", "d.shown"),
    "c.rest_seal": ("c.id", "c.ordinal", "c.kind", "c.labels", "c.numbers"),
}


def sealed(*seals: str) -> str:
    """The columns to select for `intact`: what each seal covers, and the seal behind it."""
    return ", ".join(", ".join((*SEALS[seal], seal)) for seal in seals)


def intact(row: Sequence[Any], scope: Scope, *seals: str) -> set[str]:
    """Those of the seals, which a row begins with, that fit what they cover."""
    found, start = set(), 0
    for seal in seals:
        end = start + len(SEALS[seal])
        if seal_of(row[start:end], scope) == row[end]:
            found.add(seal)
        start = end + 1
    return found


def has_digests(row: Sequence[Any]) -> bool:
    """Whether the text of a row that begins with `c.seal` has the SHA-256 digests that it was stored with."""
    values = dict(zip(_OF_ITSELF, row, strict=False))
    whole = searchable_text(_texts(values["c.breadcrumb"]), values["c.text"])
    hashes = digest(whole), sha256(values["c.text"].encode()).hexdigest()
    return hashes == (values["c.text_digest"].hex(), values["c.content_hash"].hex())


def seal_of(values: Iterable[object], scope: Scope | None = None) -> int:
    """A checksum of stored values, and of the scope that they belong to.

    Against decay, not against an enemy, who would seal what he writes. Of the ways to make bytes of a row, marshal's is
    the fastest by far; its version 2 is the same in every Python.
    """
    return zlib.crc32(marshal.dumps(list(values), 2), zlib.crc32(str(scope).encode()))


# The rule as it is stored; whoever relies on it compares a seal that covers it.
ADMITTED = """(:sees_all OR EXISTS (
    SELECT 1 FROM json_each(:readers) WHERE instr(d.access, ',' || value || ',')
))"""

# CROSS JOIN is SQLite's word for "in this order": its planner would begin with every document of the scope.
_OF_READER = f"""
    CROSS JOIN documents d ON d.id = c.document_id
    CROSS JOIN scopes s ON s.id = d.scope
    WHERE s.tenant = :tenant AND s.project = :project AND {ADMITTED}
"""
READ_PASSAGES = f"""
    SELECT {sealed("c.seal")}
    FROM json_each(:ids) AS wanted
    CROSS JOIN chunks c ON c.id = wanted.value
    {_OF_READER}
"""
# Of the sections of these chunks, what stands within reach of them; a chunk may be within reach of several.
READ_NEIGHBORS = f"""
    SELECT {sealed("c.seal")}
    FROM json_each(:ids) AS wanted
    CROSS JOIN chunks w ON w.id = wanted.value
    CROSS JOIN chunks c ON c.document_id = w.document_id AND c.position BETWEEN w.position - :reach
        AND w.position + :reach AND c.anchor = w.anchor AND c.id NOT IN (SELECT value FROM json_each(:ids))
    {_OF_READER}
"""


def hydrated(rows: Iterable[Sequence[Any]], scope: Scope) -> dict[ChunkId, Passage | None]:
    """The passages of the rows of READ_PASSAGES; None for a row that is not as it was stored, or makes no sense."""
    read: dict[ChunkId, Passage | None] = {}
    of_scope = zlib.crc32(str(scope).encode())
    for row in rows:
        values = list(row)
        seal = values.pop()
        try:
            if zlib.crc32(marshal.dumps(values, 2), of_scope) != seal:  # as `seal_of`, forty times in a search
                raise ValueError("the row is not as it was stored")
            shown = values.pop()
            values.pop()  # the rule
            for place, read_value in _READ_AT:
                values[place] = read_value(values[place])
            passage = Passage(*_in_order((*values, *_shown(shown))))  # by place: names would cost as much as the rest
            read[passage.chunk_id] = passage
        except (ValueError, TypeError, AttributeError, KeyError):
            read[ChunkId(row[0])] = None
    return read
