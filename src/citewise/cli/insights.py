"""`citewise log` and `citewise stats`: what was asked, and what that tells. Translate in, read, show."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path

from citewise.api import Library
from citewise.cli.insights_json import overview_json, row_json
from citewise.cli.insights_tables import show_overview, show_rows
from citewise.cli.options import Caller
from citewise.cli.output import print_json, refuse_unwritable, write_file
from citewise.errors import BadRequest
from citewise.settings import Settings
from citewise.wiring import LOG_FILE

LOG_LIMIT = 20
MAX_TOPICS = 10
_AGO = re.compile(r"(\d{1,5})([mhdw])")
_SECONDS = {"m": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 604_800.0}


def run_log(
    settings: Settings, caller: Caller, *, since: float = 0.0, limit: int = LOG_LIMIT, as_json: bool = False
) -> int:
    """Print what was asked, newest first; an empty log is not a failure."""
    rows = caller.view(Library(settings=settings)).log(since=since, limit=limit)
    if as_json:
        print_json({"queries": [row_json(row) for row in rows]})
    else:
        show_rows(rows)
    return 0


def run_stats(
    settings: Settings, caller: Caller, *, since: float = 0.0, plot: Path | None = None, as_json: bool = False
) -> int:
    """Print a summary of the log, and draw it if a file is named."""
    refuse_unwritable(plot, read=(settings.library / LOG_FILE,))
    view = caller.view(Library(settings=settings))
    overview, topics = view.stats(since=since), view.topics(limit=MAX_TOPICS)
    if plot is not None:
        from citewise.cli.html import stats_html

        write_file(plot, stats_html(caller.scope, overview, topics))
    if as_json:
        print_json(overview_json(caller.scope, overview, topics))
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
