"""The shapes of the query log that programs rely on: rows and statistics as plain JSON values."""

from datetime import UTC, datetime

from citewise.insights import AskedQuestion, Group, Overview, SeenRow
from citewise.model.access import Scope

DECIMALS = 6


def row_json(seen: SeenRow) -> dict[str, object]:
    """One question of `citewise log`; of what was shown, what its reader may still see."""
    row = seen.row
    return {
        "at": instant(row.at),
        "request_id": row.request_id,
        "tenant": row.scope.tenant,
        "project": row.scope.project,
        "conversation": row.conversation,
        "kind": row.way.value,
        "user": row.asker.user,
        "query": row.text,
        "total_candidates": row.candidates,
        "hits": row.hits,
        "cache_hit": row.is_cache_hit,
        "latency_ms": round(row.latency_ms, 3),
        "degraded": list(row.degraded),
        "error": row.error,
        "quality": {
            "overall": _rounded(row.quality),
            "retrieval_confidence": _rounded(row.confidence),
            "is_low": row.has_warning,
        },
        "sufficient_context": row.sufficient_context,
        "total_tokens": None if row.tokens_in is None else row.tokens_in + (row.tokens_out or 0),
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "embedding_tokens": row.embedding_tokens,
        "documents": [{"document_id": one.id, "document": one.path, "title": one.title} for one in seen.documents],
        "chunk_ids": [one.chunk for one in row.shown],
    }


def overview_json(scope: Scope, overview: Overview, topics: tuple[str, ...]) -> dict[str, object]:
    """`citewise stats`."""
    found = overview.statistics
    return {
        "tenant": scope.tenant,
        "project": scope.project,
        "since": instant(found.since),
        "until": instant(found.until),
        "is_cut": overview.is_cut,
        "queries": found.queries,
        "kinds": dict(found.ways),
        "per_day": [{"day": day, "queries": count} for day, count in found.per_day.items()],
        "per_hour": list(found.per_hour),
        "latency_ms": {name: round(ms, 3) for name, ms in found.latency_ms.items()},
        "cache_hit_rate": _rounded(found.cache_hit_rate),
        "degraded": {"share": _rounded(found.degraded_share), "parts": dict(found.degraded)},
        "errors": dict(found.errors),
        "unanswered": _group_json(found.unanswered),
        "low_quality": _group_json(found.poor),
        "top_documents": [
            {"document_id": one.id, "document": one.path, "title": one.title, "queries": one.times}
            for one in overview.documents
        ],
        "popular_topics": list(topics),
        "dropped": overview.lost,
    }


def instant(seconds: float) -> str:
    """To the second, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _group_json(group: Group) -> dict[str, object]:
    return {
        "count": group.count,
        "share": _rounded(group.share),
        "questions": [_question_json(one) for one in group.questions],
    }


def _question_json(one: AskedQuestion) -> dict[str, object]:
    return {"query": one.text, "times": one.times, "last_at": instant(one.last_at), "quality": _rounded(one.quality)}


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
