"""`citewise log` and `citewise stats`: what was asked, and what that tells, as JSON and for people."""

import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.api import Library
from citewise.cli.options import Caller
from citewise.cli.output import print_json, printable, refuse_unwritable, rounded, write_file
from citewise.errors import BadRequest
from citewise.insights import Group, Overview, SeenRow
from citewise.model.access import Scope
from citewise.model.logged import Logged
from citewise.settings import Settings
from citewise.wiring import LOG_FILE

LOG_LIMIT = 20
NOTHING = "Nobody asked anything in this time, as far as you may see."
NO_WORDS = "(not kept)"
FEW_DAYS = 14  # that are listed; --json and --plot have all of them
MAX_CHARACTERS = 160  # of a question in a list; --json has all of it
BAR = 30  # characters of the longest bar
_AGO = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def run_log(
    settings: Settings, caller: Caller, *, since: float = 0.0, limit: int = LOG_LIMIT, as_json: bool = False
) -> int:
    """Print what was asked, newest first; an empty log is not a failure."""
    rows = caller.view(Library(settings=settings)).log(since=since, limit=limit)
    if as_json:
        print_json({"queries": [_row_json(row) for row in rows]})
    else:
        _show_rows(rows)
    return 0


def run_stats(
    settings: Settings, caller: Caller, *, since: float = 0.0, plot: Path | None = None, as_json: bool = False
) -> int:
    """Print a summary of the log, and draw it if a file is named."""
    refuse_unwritable(plot, read=(settings.library / LOG_FILE,))
    view = caller.view(Library(settings=settings))
    overview = view.stats(since=since)
    if plot is not None:
        from citewise.cli.html import stats_html

        write_file(plot, stats_html(caller.scope, overview))
    if as_json:
        print_json(_overview_json(caller.scope, overview))
    else:
        _show_overview(overview)
    return 0


def since_of(text: str, *, now: float | None = None) -> float:
    """An instant: `30m`, `24h`, `7d` or `4w` ago, or a date such as 2026-01-31 or 2026-01-31T08:00 (UTC)."""
    ago = _AGO.fullmatch(text.strip())
    if ago is not None:
        return (time.time() if now is None else now) - int(ago[1]) * _SECONDS[ago[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise BadRequest(
            f"--since {text!r} is no time: say how long ago (30m, 24h, 7d, 4w), or when (2026-01-31, 2026-01-31T08:00)"
        ) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _row_json(seen: SeenRow) -> dict[str, object]:
    """One question of `citewise log`; of what was shown, what its reader may still see."""
    row = seen.row
    return {
        "at": _instant(row.at),
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
        "quality": {
            "overall": rounded(row.quality),
            "retrieval_confidence": rounded(row.confidence),
            "is_low": row.has_warning,
        },
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


def _overview_json(scope: Scope, overview: Overview) -> dict[str, object]:
    """`citewise stats`."""
    return {
        "tenant": scope.tenant,
        "project": scope.project,
        "since": _instant(overview.since),
        "until": _instant(overview.until),
        "is_cut": overview.is_cut,
        "queries": overview.queries,
        "kinds": dict(overview.kinds),
        "per_day": [{"day": day, "queries": count} for day, count in overview.per_day.items()],
        "per_hour": list(overview.per_hour),
        "latency_ms": {name: round(ms, 3) for name, ms in overview.latency_ms.items()},
        "cache_hit_rate": rounded(overview.cache_hit_rate),
        "degraded": {"share": rounded(overview.degraded_share), "parts": dict(overview.degraded)},
        "errors": dict(overview.errors),
        "unanswered": _group_json(overview.unanswered),
        "low_quality": _group_json(overview.poor),
        "top_documents": [
            {"document_id": shown.id, "document": shown.path, "title": shown.title, "queries": shown.times}
            for shown in overview.documents
        ],
        "dropped": overview.lost,
    }


def _instant(seconds: float) -> str:
    """To the second, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _group_json(group: Group) -> dict[str, object]:
    questions = [
        {
            "query": asked.text,
            "times": asked.times,
            "last_at": _instant(asked.last_at),
            "quality": rounded(asked.quality),
        }
        for asked in group.questions
    ]
    return {"count": group.count, "share": rounded(group.share), "questions": questions}


def _show_rows(rows: Sequence[SeenRow]) -> None:
    console = Console(highlight=False)
    if not rows:
        console.print(NOTHING)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("at (UTC)", "kind", "user"):
        table.add_column(name, no_wrap=True)
    for name in ("ms", "hits", "quality"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("remarks")
    table.add_column("query", ratio=1)
    for seen in rows:
        row = seen.row
        query = Text(NO_WORDS, style="dim") if row.text is None else Text(_line(row.text))
        numbers = (f"{row.latency_ms:.0f}", str(row.hits), "" if row.quality is None else f"{row.quality:.2f}")
        remarks = Text(", ".join(_remarks(row)), style="dim")
        table.add_row(_when(row.at), row.kind, row.user or "", *numbers, remarks, query)
    console.print(table)


def _show_overview(overview: Overview) -> None:
    console = Console(highlight=False)
    if not overview.queries:
        console.print(NOTHING)
    else:
        table = Table(show_header=False, box=None, pad_edge=False)
        table.add_column(style="bold")
        table.add_column()
        for name, figure in _figures(overview):
            table.add_row(name, Text(figure))
        console.print(table)
        days = list(overview.per_day.items())[-FEW_DAYS:]
        longest = max(count for _, count in days) or 1
        busiest = max(range(len(overview.per_hour)), key=lambda hour: overview.per_hour[hour])
        lines = [f"{day}  {count:>6,}  {'█' * round(BAR * count / longest)}" for day, count in days]
        _show_list(console, f"Per day (busiest hour: {busiest:02}:00 UTC)", lines)
        _show_group(console, "Unanswered", overview.unanswered)
        _show_group(console, "Answered with a warning", overview.poor)
        _show_list(
            console, "Documents shown most", [f"{shown.times:>6,}  {shown.path}" for shown in overview.documents]
        )


def _figures(overview: Overview) -> Iterator[tuple[str, str]]:
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


def _show_group(console: Console, title: str, group: Group) -> None:
    lines = []
    for asked in group.questions:
        line = _line(asked.text)
        lines.append(f"{asked.times:>6,}  {line[:MAX_CHARACTERS]}{'…' * (len(line) > MAX_CHARACTERS)}")
    _show_list(console, title, lines or ([f"{group.count:,} questions, whose words are not kept"] * bool(group.count)))


def _show_list(console: Console, title: str, lines: Sequence[str]) -> None:
    if lines:
        console.print()
        console.print(Text(title, style="bold"))
    for line in lines:
        console.print(Text(f"  {printable(line)}"), soft_wrap=True)


def _remarks(row: Logged) -> Iterator[str]:
    if row.error is not None:
        yield row.error
    if row.is_cache_hit:
        yield "cache"
    if row.is_unanswered:
        yield "unanswered"
    if row.is_poor:
        yield "low quality"
    if row.degraded:
        yield f"degraded: {' '.join(row.degraded)}"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _line(text: str) -> str:
    return " ".join(printable(text).split())
