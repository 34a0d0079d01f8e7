"""What commands print alike: JSON whose keys programs rely on, text that is safe to show, and files."""

import json
import os
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from citewise.errors import BadRequest
from citewise.model.answer import Answer
from citewise.model.ranking import ARMS, SCORES, Candidate, Dropped, Finding, SearchResult

DECIMALS = 6

# Control characters, half surrogate pairs and these, which turn the direction of writing around, command a terminal.
_TURNS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def print_json(value: object) -> None:
    """One line of JSON, alone on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """Text from a document as a terminal may have it: without the characters that would command it."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _TURNS)
    )


def show_warnings(result: SearchResult) -> None:
    """What should have worked and did not, on standard error."""
    for line in result.degraded:
        sys.stderr.write(f"citewise: degraded: {printable(line)}\n")


def refuse_unwritable(*files: Path | None, read: Iterable[Path] = ()) -> None:
    """BadRequest for a file that cannot be written or that is also read: before an hour of work, not after it."""
    taken = [file.resolve() for file in read]
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            raise BadRequest(f"cannot write {file}: there is no folder {file.parent}")
        if file.is_dir():
            raise BadRequest(f"cannot write {file}: it is a folder")
        if file.resolve() in taken:
            raise BadRequest(f"cannot write {file}: it is read or written already; name another file")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise BadRequest(f"cannot write {file}: permission denied")
        taken.append(file.resolve())


def write_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8", errors="replace")
    except OSError as error:
        raise BadRequest(f"cannot write {file}: {error.strerror}") from error


def search_json(result: SearchResult, *, explain: bool = False) -> dict[str, object]:
    """`search`: the header and the hits, of one page if pages were asked for."""
    found = {**_header(result), "hits": [hit_json(finding) for finding in result.findings]}
    return {**found, "dropped": [_dropped_json(dropped) for dropped in result.dropped]} if explain else found


def hit_json(finding: Finding) -> dict[str, object]:
    """One HIT; absent values are null."""
    passage, candidate = finding.passage, finding.candidate
    return {
        "chunk_id": passage.chunk_id,
        "document_id": passage.document_id,
        "document": passage.document,
        "title": passage.title,
        "section": passage.section,
        "breadcrumb": list(passage.breadcrumb),
        "url": finding.url,
        "lines": None if passage.lines is None else list(passage.lines),
        "page": passage.page,
        "source_uri": passage.source_uri,
        "context_prefix": passage.context_prefix,
        "chunk_index": passage.position,
        "content_hash": passage.content_hash,
        "token_count": passage.tokens,
        "word_count": passage.word_count,
        "created_at": None if passage.created_at is None else _instant(passage.created_at),
        "has_code": passage.has_code,
        "has_equations": passage.has_equations,
        "chapter_number": passage.chapter_number,
        "chapter_title": passage.chapter_title,
        "corpus_type": passage.corpus_type,
        "content_type": passage.content_type,
        "module": passage.module,
        "chapter": passage.chapter,
        "tags": list(passage.tags),
        "language": passage.language,
        "symbol": passage.symbol,
        "signature": passage.signature,
        "service": passage.service,
        "repo": passage.repo,
        "author": passage.location.author,
        "channel": passage.location.channel,
        "timestamp": None if passage.location.sent_at is None else _instant(passage.location.sent_at),
        "text": passage.text,
        "score": round(candidate.score, DECIMALS),
        **_marks(candidate),
    }


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, object]:
    """`ask`: the search's header, the answer, and everything it rests on."""
    usage = answer.usage
    shown = {
        **_header(answer.result),
        "answer": answer.text,
        "generator": answer.generator,
        "sufficient_context": answer.sufficient_context,
        "citations": [{**asdict(source), "score": rounded(source.score)} for source in answer.citations],
        "removed_markers": answer.removed_markers,
        "unsupported_sentences": list(answer.unsupported_sentences),
        "quality": {
            name: value if isinstance(value, str) else rounded(value) for name, value in asdict(answer.quality).items()
        },
        "usage": {
            "context_tokens_before": usage.context_tokens_before,
            "context_tokens_after": usage.context_tokens_after,
            "total_tokens": usage.total_tokens,
        },
        "suggestions": list(answer.suggestions),
    }
    if not explain:
        return shown
    hits = [hit_json(finding) for finding in answer.result.findings]
    return {**shown, "hits": hits, "dropped": [_dropped_json(dropped) for dropped in answer.result.dropped]}


def _header(result: SearchResult) -> dict[str, object]:
    return {
        "request_id": result.query.request_id,
        "query": result.query.text,
        "mode": result.mode.value,
        "total_candidates": result.total_candidates,
        "next_cursor": result.next_cursor,
        "has_more": result.next_cursor is not None,
        "cache_hit": result.cache_hit,
        "degraded": list(result.degraded),
        "notes": list(result.notes),
        "counts": dict(result.counts),
        "timings_ms": {stage: round(ms, 3) for stage, ms in result.timings_ms.items()},
        "services": None,
    }


def _marks(candidate: Candidate) -> dict[str, object]:
    return {
        "scores": {stage: rounded(candidate.scores.get(stage)) for stage in SCORES},
        "ranks": {arm: candidate.ranks.get(arm) for arm in ARMS},
    }


def _dropped_json(dropped: Dropped) -> dict[str, object]:
    candidate = dropped.candidate
    return {"chunk_id": candidate.id, "stage": dropped.stage, "reason": dropped.reason, **_marks(candidate)}


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
