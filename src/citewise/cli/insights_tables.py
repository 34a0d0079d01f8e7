"""What `citewise log` and `citewise stats` print for people."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.cli.output import printable
from citewise.insights import Group, Overview, SeenRow, Statistics
from citewise.model.logged import Logged

NOTHING = "Nobody asked anything in this time, as far as you may see."
NO_WORDS = "(not kept)"
FEW_DAYS = 14  # that are listed; --json and --plot have all of them
MAX_CHARACTERS = 160  # of a question in a list; --json has all of it
BAR = 30  # characters of the longest bar


def show_rows(rows: Sequence[SeenRow]) -> None:
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
        table.add_row(_when(row.at), row.way.value, row.asker.user or "", *numbers, remarks, query)
    console.print(table)


def show_overview(overview: Overview, topics: Sequence[str]) -> None:
    console = Console(highlight=False)
    found = overview.statistics
    if not found.queries:
        console.print(NOTHING)
    else:
        _show_figures(console, overview)
        _show_days(console, found)
        _show_group(console, "Unanswered", found.unanswered)
        _show_group(console, "Answered with a warning", found.poor)
        _show_list(console, "Documents shown most", [f"{one.times:>6,}  {one.path}" for one in overview.documents])
    _show_list(console, "Popular topics", [f"- {topic}" for topic in topics])


def _show_figures(console: Console, overview: Overview) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, said in _figures(overview):
        table.add_row(name, Text(said))
    console.print(table)


def _figures(overview: Overview) -> Iterator[tuple[str, str]]:
    found = overview.statistics
    kinds = ", ".join(f"{count:,} {way}" for way, count in found.ways.items() if count)
    yield "queries", f"{found.queries:,} ({kinds}) from {_when(found.since)} to {_when(found.until)} UTC"
    if overview.is_cut:
        yield "", "only the newest are counted: there are more than can be"
    if found.latency_ms:
        yield "latency", ", ".join(f"{name} {ms:.1f} ms" for name, ms in found.latency_ms.items())
    yield "from cache", _share(found.cache_hit_rate)
    parts = ", ".join(f"{part} {count:,}" for part, count in found.degraded.items())
    yield "degraded", f"{_share(found.degraded_share)}{f' ({parts})' if parts else ''}"
    yield "unanswered", f"{found.unanswered.count:,} ({_share(found.unanswered.share)})"
    yield "low quality", f"{found.poor.count:,} ({_share(found.poor.share)} of the answers)"
    if found.errors:
        yield "failed", ", ".join(f"{count:,} {kind}" for kind, count in found.errors.items())
    if overview.lost:
        yield "dropped", f"{overview.lost:,} questions could not be logged; `citewise doctor` says more"


def _show_days(console: Console, found: Statistics) -> None:
    days = list(found.per_day.items())[-FEW_DAYS:]
    most = max(count for _, count in days) or 1
    busiest = max(range(len(found.per_hour)), key=lambda hour: found.per_hour[hour])
    lines = [f"{day}  {count:>6,}  {'█' * round(BAR * count / most)}" for day, count in days]
    _show_list(console, f"Per day (busiest hour: {busiest:02}:00 UTC)", lines)


def _show_group(console: Console, title: str, group: Group) -> None:
    lines = [f"{one.times:>6,}  {_cut(_line(one.text))}" for one in group.questions]
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


def _cut(line: str) -> str:
    return line if len(line) <= MAX_CHARACTERS else f"{line[:MAX_CHARACTERS]}…"
