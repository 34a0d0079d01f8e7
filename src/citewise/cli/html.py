"""HTML pages: one file each, without scripts, that needs no network. `stats --plot` is here, `eval --report` uses it.

The templates are in templates/. Jinja2 escapes all text; control characters are removed first.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from citewise.cli.output import printable
from citewise.insights import Overview
from citewise.model.access import Scope

MINUS, ABSENT = "\u2212", "\u2013"
NOTHING = "Nobody asked anything in this time, as far as you may see."


def render(template: str, filters: Mapping[str, Callable[..., str]], **values: object) -> str:
    """The template with these values; every text is escaped."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        finalize=lambda value: printable(value) if type(value) is str else value,  # not Markup, which is ours
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        {"counted": _counted, "instant": _instant, "milliseconds": milliseconds, "shorten": _shorten, **filters}
    )
    return environment.get_template(template).render(**values) + "\n"


def stats_html(scope: Scope, overview: Overview) -> str:
    """The statistics of the query log; the same statistics give the same page."""
    tiles = [
        ("queries", f"{overview.queries:,}"),
        *((f"of these {kind}", f"{n:,}") for kind, n in overview.kinds.items()),
    ]
    tiles += [(f"latency {name}", milliseconds(ms)) for name, ms in overview.latency_ms.items()]
    shares = {
        "from cache": overview.cache_hit_rate,
        "unanswered": overview.unanswered.share,
        "low quality": overview.poor.share,
        "degraded": overview.degraded_share,
    }
    tiles += [(name, ABSENT if share is None else f"{100 * share:.1f} %") for name, share in shares.items()]
    if overview.lost is not None:
        tiles.append(("not logged", f"{overview.lost:,}"))
    return render(
        "stats.html",
        {"number": lambda value: ABSENT if value is None else f"{value:.2f}"},
        title=f"Questions to {scope}",
        overview=overview,
        tiles=tiles,
        problems=[*overview.degraded.items(), *((f"failed: {kind}", count) for kind, count in overview.errors.items())],
        nothing=NOTHING,
    )


def figure(value: float) -> str:
    """About three digits, whole numbers in full: 0.735, 12.3, 1,967."""
    if not math.isfinite(value):
        return ABSENT
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}".replace("-", MINUS)
    size = abs(value)
    decimals = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return (f"{value:,.{decimals}f}" if size >= 0.001 else f"{value:.2g}").replace("-", MINUS)


def milliseconds(value: float | None) -> str:
    return ABSENT if value is None or not math.isfinite(value) else f"{figure(value)} ms"


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _shorten(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"
