"""The query log as plots: one HTML file without scripts that needs no network."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from citewise.evaluation.page.charts import Bar, Series, bar_chart, columns, line_chart
from citewise.evaluation.page.drawing import Drawing, Frame
from citewise.evaluation.page.figures import ABSENT, figure, milliseconds
from citewise.evaluation.page.markup import Markup, joined, tag
from citewise.evaluation.page.sections import charts, section, table
from citewise.evaluation.page.spreads import latency_chart
from citewise.evaluation.page.whole import page_html
from citewise.insights import Group, Overview, Statistics
from citewise.model.access import Scope

FEW_DAYS = 31  # drawn as bars with their dates; more become a line, by their number
MAX_CHARACTERS = 90  # of a question in a table, which does not wrap: its figures shall be in sight
NOTHING = "Nobody asked anything in this time, as far as you may see."


def insights_html(scope: Scope, overview: Overview, topics: Sequence[str]) -> str:
    """The whole page; the same statistics give the same page."""
    title = f"Questions to {scope}"
    main = tag("main", *_heading(title, overview), *_parts(overview, topics))
    return page_html(title, main)


def _heading(title: str, overview: Overview) -> Iterator[Markup]:
    found = overview.statistics
    yield tag("h1", title)
    yield tag("p", f"{_when(found.since)} to {_when(found.until)} UTC", class_="note")
    if overview.is_cut:
        yield tag("p", "Only the newest questions are counted: there are more than can be.", class_="note")
    if not found.queries:
        yield tag("p", NOTHING, class_="note")


def _parts(overview: Overview, topics: Sequence[str]) -> Iterator[Markup]:
    found = overview.statistics
    if found.queries:
        yield tag("dl", *(_tile(name, value) for name, value in _figures(overview)), class_="tiles")
        yield section("volume", "How much, and when", charts(_days(found), _hours(found)))
        yield section("speed", "How fast", charts(*_speed(found)))
        yield section("unanswered", "Unanswered", _questions("Unanswered questions", found.unanswered))
        yield section("poor", "Answered with a warning", _questions("Answers of low quality", found.poor))
        yield section("parts", "What did not work", _troubles(found))
        yield section("documents", "Documents shown most", _documents(overview))
    if topics:
        yield section("topics", "Popular topics", tag("ul", *(tag("li", topic) for topic in topics)))


def _figures(overview: Overview) -> Iterator[tuple[str, str]]:
    found = overview.statistics
    yield "queries", figure(found.queries)
    for way, count in found.ways.items():
        yield f"of these: {way}", figure(count)
    for name, ms in found.latency_ms.items():
        yield f"latency {name}", milliseconds(ms)
    yield "from cache", _share(found.cache_hit_rate)
    yield "unanswered", _share(found.unanswered.share)
    yield "answers of low quality", _share(found.poor.share)
    yield "degraded", _share(found.degraded_share)
    if overview.lost is not None:
        yield "dropped by the log", figure(overview.lost)


def _tile(name: str, value: str) -> Markup:
    return tag("div", tag("dt", name), tag("dd", value))


def _days(found: Statistics) -> Drawing:
    days = list(found.per_day.items())
    if len(days) <= FEW_DAYS:
        return bar_chart(Frame("Questions a day", "questions"), [Bar(day, (float(count),)) for day, count in days])
    points = tuple((float(number), float(count)) for number, (_, count) in enumerate(days))
    return line_chart(Frame(f"Questions a day, from {days[0][0]}", "day"), [Series("questions", points)])


def _hours(found: Statistics) -> Drawing:
    return columns(Frame("Questions by hour of the day", "hour (UTC)"), found.per_hour, high=24.0)


def _speed(found: Statistics) -> Iterator[Drawing]:
    taken = [ms for ms in found.latencies_ms if ms > 0]
    if taken:
        yield latency_chart(Frame("How many were answered by then", "milliseconds"), taken, found.latency_ms)


def _questions(label: str, group: Group) -> Markup:
    if not group.count:
        return tag("p", "None.", class_="note")
    if not group.questions:
        return tag("p", f"{group.count:,}, whose words are not kept.", class_="note")
    rows = [(_cut(one.text), f"{one.times:,}", _when(one.last_at), _quality(one.quality)) for one in group.questions]
    return table(label, ("question", "times", "last (UTC)", "quality"), rows)


def _troubles(found: Statistics) -> Markup:
    counts = [*found.degraded.items(), *((f"failed: {kind}", count) for kind, count in found.errors.items())]
    if not counts:
        return tag("p", "Everything worked.", class_="note")
    return charts(bar_chart(Frame("Questions by part", "questions"), [Bar(part, (float(n),)) for part, n in counts]))


def _documents(overview: Overview) -> Markup:
    if not overview.documents:
        return tag("p", "None that you may see.", class_="note")
    bars = [Bar(one.title, (float(one.times),)) for one in overview.documents]
    rows = [(one.path, one.title, f"{one.times:,}") for one in overview.documents]
    drawing = bar_chart(Frame("Questions that a document was shown for", "questions"), bars)
    return joined(charts(drawing), table("Documents shown most", ("document", "title", "questions"), rows))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _share(value: float | None) -> str:
    return ABSENT if value is None else f"{100 * value:.1f} %"


def _quality(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.2f}"
