"""`citewise log` and `citewise stats`: what was asked, and what that tells. Translate in, read, show."""

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from citewise.cli.eval_files import refuse_unwritable, write_file
from citewise.cli.insights_json import overview_json, row_json
from citewise.cli.insights_tables import show_overview, show_rows
from citewise.cli.options import principal_of
from citewise.cli.output import print_json
from citewise.errors import BadRequest
from citewise.model.access import Principal, Scope
from citewise.model.filters import Where
from citewise.model.logged import checked_log_limit
from citewise.settings import Settings
from citewise.wiring.insights import log_file, opened_log

LOG_LIMIT = 20
MAX_TOPICS = 10
_AGO = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Whose log, as whom, and since when."""

    scope: Scope
    principal: Principal
    since: float  # seconds since 1970


def log_options(tenant: str, project: str, user: str | None, groups: Iterable[str], since: str) -> LogOptions:
    return LogOptions(Scope(tenant, project), principal_of(user, groups), since_of(since))


def run_log(settings: Settings, options: LogOptions, *, limit: int = LOG_LIMIT, as_json: bool = False) -> int:
    """Print what was asked, newest first; that nobody asked is no failure."""
    checked_log_limit(limit)
    with opened_log(settings) as (log, _):
        rows = log.rows(options.scope, options.principal, since=options.since, limit=limit)
    if as_json:
        print_json({"queries": [row_json(one) for one in rows]})
    else:
        show_rows(rows)
    return 0


def run_stats(settings: Settings, options: LogOptions, *, plot: Path | None = None, as_json: bool = False) -> int:
    """Print what the log tells of a time, and draw it if a file is named."""
    refuse_unwritable(plot, read=(log_file(settings),))
    with opened_log(settings) as (log, popular):
        overview = log.overview(options.scope, options.principal, since=options.since, until=time.time())
        topics = popular.topics(Where(options.scope, options.principal.readers), MAX_TOPICS)
    if plot is not None:
        from citewise.evaluation.page.insights import insights_html

        write_file(plot, insights_html(options.scope, overview, topics))
    if as_json:
        print_json(overview_json(options.scope, overview, topics))
    else:
        show_overview(overview, topics)
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
