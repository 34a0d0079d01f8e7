"""`citewise log` and `citewise stats`: what was asked, and what that tells, as JSON and for people."""

import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewise.cli import output
from citewise.cli.options import FILE, Session, app, reader_options

if TYPE_CHECKING:
    from citewise.insights import Group, Overview, SeenRow
    from citewise.model.access import Scope
    from citewise.model.logged import Logged

FEW_DAYS = 14  # that are listed; --json and --plot have all of them
MAX_CHARACTERS = 160  # of a question in a list; --json has all of it
BAR = 30  # characters of the longest bar
_AGO = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


class _Since(click.ParamType[float]):
    """An instant: `30m`, `24h`, `7d` or `4w` ago, or a date such as 2026-01-31 or 2026-01-31T08:00 (UTC)."""

    name = "since"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if ago := _AGO.fullmatch(value.strip()):
            return time.time() - int(ago[1]) * _SECONDS[ago[2]]
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            choices = "say how long ago (30m, 24h, 7d, 4w), or when (2026-01-31, 2026-01-31T08:00)"
            self.fail(f"{value!r} is no time: {choices}", param, ctx)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_since_option = click.option(
    "--since",
    metavar="WHEN",
    type=_Since(),
    default="30d",
    show_default=True,
    help="30m, 24h, 7d or 4w ago, or a date such as 2026-01-31 (UTC).",
)


@app.command("log")
@reader_options
@click.option("--limit", metavar="N", type=int, default=20, show_default=True, help="At most N (1 to 1000).")
@_since_option
def _log(session: Session, *, since: float, limit: int) -> None:
    """List past questions, newest first.

    With --user or --group, the questions of that principal; without, all questions of the project.
    """
    rows = session.view.log(since=since, limit=limit)
    if session.as_json:
        output.print_json({"queries": [_row_json(row) for row in rows]})
    else:
        _show_rows(rows)


@app.command("stats")
@reader_options
@_since_option
@click.option("--plot", metavar="FILE.html", type=FILE, help="Write an HTML page with plots.")
def _stats(session: Session, *, since: float, plot: Path | None) -> None:
    """Summarize the query log.

    Shows volume, latency, cache hits, questions without a good answer, and the documents shown most.
    """
    output.refuse_unwritable(plot, read=session.settings.library.rglob("*"))
    overview = session.view.stats(since=since)
    if plot is not None:
        from citewise.cli.html import stats_html

        output.write_file(plot, stats_html(session.scope, overview))
    if session.as_json:
        output.print_json(_overview_json(session.scope, overview))
    else:
        _show_overview(overview)


def _row_json(seen: "SeenRow") -> dict[str, object]:
    """One question of `citewise log`; of what was shown, what its reader may still see."""
    row = seen.row
    return {
        "at": output.instant(int(row.at)),
        "request_id": row.request_id,
        "tenant": row.scope.tenant,
        "project": row.scope.project,
        "conversation": row.conversation,
        "kind": row.kind,
        "user": row.user,
        "query": row.text,
        "total_candidates": row.candidates,
        "hits": row.hits,
        "cache_hit": row.is_cache_hit,
        "latency_ms": round(row.latency_ms, 3),
        "degraded": list(row.degraded),
        "error": row.error,
        "quality": {"overall": row.quality, "retrieval_confidence": row.confidence, "is_low": row.has_warning},
        "sufficient_context": row.sufficient_context,
        "total_tokens": None if row.tokens_in is None else row.tokens_in + (row.tokens_out or 0),
        "tokens_in": row.tokens_in,
        "tokens_out": row.tokens_out,
        "embedding_tokens": row.embedding_tokens,
        "documents": [
            {"document_id": shown.id, "document": shown.path, "title": shown.title} for shown in seen.documents
        ],
        "chunk_ids": [chunk for chunk, _ in row.shown],
    }


def _overview_json(scope: "Scope", overview: "Overview") -> dict[str, object]:
    return {
        "tenant": scope.tenant,
        "project": scope.project,
        "since": output.instant(int(overview.since)),
        "until": output.instant(int(overview.until)),
        "is_cut": overview.is_cut,
        "queries": overview.queries,
        "kinds": dict(overview.kinds),
        "per_day": [{"day": day, "queries": count} for day, count in overview.per_day.items()],
        "per_hour": list(overview.per_hour),
        "latency_ms": {name: round(ms, 3) for name, ms in overview.latency_ms.items()},
        "cache_hit_rate": overview.cache_hit_rate,
        "degraded": {"share": overview.degraded_share, "parts": dict(overview.degraded)},
        "errors": dict(overview.errors),
        "unanswered": _group_json(overview.unanswered),
        "low_quality": _group_json(overview.poor),
        "top_documents": [
            {"document_id": shown.id, "document": shown.path, "title": shown.title, "queries": shown.times}
            for shown in overview.documents
        ],
        "dropped": overview.lost,
    }


def _group_json(group: "Group") -> dict[str, object]:
    questions = [
        {"query": row.text, "times": row.times, "last_at": output.instant(int(row.last_at)), "quality": row.quality}
        for row in group.questions
    ]
    return {"count": group.count, "share": group.share, "questions": questions}


def _show_rows(rows: "Sequence[SeenRow]") -> None:
    if not rows:
        output.console().print(output.NOTHING_ASKED)
        return
    shown = output.table(["at (UTC)", "kind", "user"], ["ms", "hits", "quality"], ["remarks", "query"])
    for row in (seen.row for seen in rows):
        numbers = (f"{row.latency_ms:.0f}", str(row.hits), "" if row.quality is None else f"{row.quality:.2f}")
        query = "(not kept)" if row.text is None else output.one_line(row.text)
        shown.add_row(_when(row.at), row.kind, row.user, *numbers, _remarks(row), query)
    output.console().print(shown)


def _show_overview(overview: "Overview") -> None:
    if not overview.queries:
        output.console().print(output.NOTHING_ASKED)
        return
    output.show_figures(_figures(overview))
    days = list(overview.per_day.items())[-FEW_DAYS:]
    longest = max(count for _, count in days) or 1
    busiest = max(range(len(overview.per_hour)), key=lambda hour: overview.per_hour[hour])
    bars = [f"{day}  {count:>6,}  {'█' * round(BAR * count / longest)}" for day, count in days]
    output.show_list(f"\nPer day (busiest hour: {busiest:02}:00 UTC)", bars)
    output.show_list("\nUnanswered", _questions(overview.unanswered))
    output.show_list("\nAnswered with a warning", _questions(overview.poor))
    output.show_list("\nDocuments shown most", [f"{shown.times:>6,}  {shown.path}" for shown in overview.documents])


def _figures(overview: "Overview") -> Iterator[tuple[str, str]]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in overview.kinds.items() if count)
    yield "queries", f"{overview.queries:,} ({kinds}) from {_when(overview.since)} to {_when(overview.until)} UTC"
    if overview.is_cut:
        yield "", "only the newest are counted: there are more than can be"
    if overview.latency_ms:
        yield "latency", ", ".join(f"{name} {ms:.1f} ms" for name, ms in overview.latency_ms.items())
    yield "from cache", _share(overview.cache_hit_rate)
    parts = ", ".join(f"{part} {count:,}" for part, count in overview.degraded.items())
    yield "degraded", f"{_share(overview.degraded_share)}{f' ({parts})' if parts else ''}"
    yield "unanswered", f"{overview.unanswered.count:,} ({_share(overview.unanswered.share)})"
    yield "low quality", f"{overview.poor.count:,} ({_share(overview.poor.share)} of the answers)"
    if overview.errors:
        yield "failed", ", ".join(f"{count:,} {kind}" for kind, count in overview.errors.items())
    if overview.lost:
        yield "dropped", f"{overview.lost:,} questions could not be logged; `citewise doctor` says more"


def _questions(group: "Group") -> list[str]:
    if group.count and not group.questions:
        return [f"{group.count:,} questions, whose words are not kept"]
    return [f"{asked.times:>6,}  {output.one_line(asked.text, MAX_CHARACTERS)}" for asked in group.questions]


def _remarks(row: "Logged") -> str:
    remarks = (
        row.error,
        "cache" if row.is_cache_hit else None,
        "unanswered" if row.is_unanswered else None,
        "low quality" if row.is_poor else None,
        f"degraded: {' '.join(row.degraded)}" if row.degraded else None,
    )
    return ", ".join(filter(None, remarks))


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
