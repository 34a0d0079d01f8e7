"""The shapes that programs rely on (SPEC J): results and answers as plain JSON values."""

from datetime import UTC, datetime

from citewise.model.answer import Answer, Citation
from citewise.model.ranking import ARMS, SCORES, Candidate, Dropped, Finding, SearchResult

DECIMALS = 6


def search_json(result: SearchResult, *, explain: bool = False) -> dict[str, object]:
    """`search`: the header and the hits, of one page if pages were asked for."""
    found = {**_header(result), "hits": [hit_json(one) for one in result.findings]}
    return {**found, "dropped": [_dropped_json(one) for one in result.dropped]} if explain else found


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
        "author": passage.author,
        "channel": passage.channel,
        "timestamp": None if passage.sent_at is None else _instant(passage.sent_at),
        "text": passage.text,
        "score": round(candidate.score, DECIMALS),
        **_marks(candidate),
    }


def answer_json(answer: Answer, *, explain: bool = False) -> dict[str, object]:
    """`ask`: the search's header, the answer, and everything it rests on."""
    quality, usage = answer.quality, answer.usage
    made = {
        **_header(answer.result),
        "answer": answer.text,
        "generator": answer.generator,
        "sufficient_context": answer.sufficient_context,
        "citations": [citation_json(one) for one in answer.citations],
        "removed_markers": answer.removed_markers,
        "unsupported_sentences": list(answer.unsupported_sentences),
        "quality": {
            "overall": _rounded(quality.overall),
            "retrieval_confidence": _rounded(quality.retrieval_confidence),
            "sufficiency": _rounded(quality.sufficiency),
            "diversity": _rounded(quality.diversity),
            "faithfulness": _rounded(quality.faithfulness),
            "warning": quality.warning,
        },
        "usage": {
            "context_tokens_before": usage.context_tokens_before,
            "context_tokens_after": usage.context_tokens_after,
            "total_tokens": usage.total_tokens,
        },
        "suggestions": list(answer.suggestions),
    }
    if not explain:
        return made
    hits = [hit_json(one) for one in answer.result.findings]
    return {**made, "hits": hits, "dropped": [_dropped_json(one) for one in answer.result.dropped]}


def citation_json(citation: Citation) -> dict[str, object]:
    return {
        "n": citation.n,
        "chunk_id": citation.chunk_id,
        "document_id": citation.document_id,
        "document": citation.document,
        "title": citation.title,
        "section": citation.section,
        "breadcrumb": list(citation.breadcrumb),
        "url": citation.url,
        "module": citation.module,
        "chapter": citation.chapter,
        "lines": None if citation.lines is None else list(citation.lines),
        "page": citation.page,
        "excerpt": citation.excerpt,
        "score": round(citation.score, DECIMALS),
    }


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
        "scores": {stage: _rounded(candidate.scores.get(stage)) for stage in SCORES},
        "ranks": {arm: candidate.ranks.get(arm) for arm in ARMS},
    }


def _dropped_json(dropped: Dropped) -> dict[str, object]:
    candidate = dropped.candidate
    return {"chunk_id": candidate.id, "stage": dropped.stage, "reason": dropped.reason, **_marks(candidate)}


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
