"""`citewise search`, and how `--explain` shows what became of each candidate."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from citewise.api import Library, QueryOptions
from citewise.cli.options import Caller
from citewise.cli.output import print_json, printable, search_json, show_warnings
from citewise.model.query import NOT_SHARED
from citewise.model.ranking import ARMS, FUSED, SCORES, Candidate, Finding, SearchResult
from citewise.settings import Settings

SNIPPET_CHARACTERS = 240
FEW = 5  # hits that fit a screen; whoever says how many gets as many
MAX_WIDTH = 110  # of running text; longer lines are hard to read
PATH_WIDTH = 40
MIN_WIDTH = 165  # numbers that are cut off explain nothing: a narrower terminal wraps the lines
FEW_DROPPED = 5  # candidates beyond top_k that are shown; --json names each


def run_search(
    settings: Settings,
    caller: Caller,
    question: str,
    options: QueryOptions,
    *,
    limit: int | None,
    cursor: str | None,
    explain: bool,
    as_json: bool,
) -> int:
    """Print what was found; finding nothing is no failure."""
    with Library(settings=settings) as library:  # shown before it closes, which waits for the log
        result = caller.view(library).search(question, limit=limit, cursor=cursor, **options)
        if as_json:
            print_json(search_json(result, explain=explain))
        else:
            is_short = limit is None and cursor is None and "top_k" not in options
            _show(result, FEW if is_short else None, explain=explain)
        sys.stdout.flush()
    return 0


def _show(result: SearchResult, max_shown: int | None, *, explain: bool) -> None:
    show_warnings(result)
    console = Console(highlight=False)
    if explain:
        show_explanation(console, result)
    else:
        _show_findings(console, result, max_shown)
    if result.next_cursor is None:
        return
    if NOT_SHARED in result.notes:  # the cursor ends with this command
        more = "there are more results, but no cursor can be saved; `citewise doctor` says why"
        console.print(Text(more, style="dim"))
    else:
        console.print(
            Text("more: repeat the command with --cursor", style="dim"), Text(result.next_cursor), soft_wrap=True
        )


def _show_findings(console: Console, result: SearchResult, max_shown: int | None) -> None:
    if not result.findings:
        console.print("No results: nothing you can access matches these filters.")
    for place, finding in enumerate(result.findings[:max_shown], start=1):
        _show_finding(console, place, finding)
    shown = len(result.findings[:max_shown])
    again = ", from the cache" if result.cache_hit else ""
    took = f"{result.timings_ms['total']:.0f} ms{again}"
    console.print(Text(f"{shown} of {result.total_candidates} candidates in {took}", style="dim"))
    if shown < len(result.findings):
        console.print(Text(f"{len(result.findings) - shown} more with --limit {len(result.findings)}", style="dim"))


def _show_finding(console: Console, place: int, finding: Finding) -> None:
    passage = finding.passage
    head = Text(f"{place:>2}. ")
    head.append(printable(" > ".join(passage.breadcrumb) or passage.title), style="bold")
    head.append(f"  {finding.score:.3f}", style="cyan")
    console.print(head)
    place_in_file = f"{passage.document}:{passage.location.first}-{passage.location.last}"
    where = printable(f"    {place_in_file}  {finding.url or ''}".rstrip())
    console.print(Text(where, style="dim"), soft_wrap=True)
    lines = [line for line in passage.text.splitlines() if not line.lstrip().startswith("#")]
    snippet = printable(" ".join(" ".join(lines).split()))
    cut = snippet if len(snippet) <= SNIPPET_CHARACTERS else f"{snippet[:SNIPPET_CHARACTERS].rsplit(' ', 1)[0]} …"
    console.print(Padding(Text(cut), (0, 0, 0, 4)), width=min(console.width, MAX_WIDTH))
    console.print()


def show_explanation(console: Console, result: SearchResult) -> None:
    """Place and score per ranking and stage, what became of each candidate, and where the time went."""
    console.width = max(console.width, MIN_WIDTH)
    candidates = [*(finding.candidate for finding in result.findings), *(drop.candidate for drop in result.dropped)]
    stages = [name for name in SCORES[len(ARMS) :] if name == FUSED or any(name in each.scores for each in candidates)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("passage", no_wrap=True)
    for name in (*ARMS, *stages, "final"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why dropped", max_width=40)
    for place, finding in enumerate(result.findings, start=1):
        where = f"{finding.passage.document}:{finding.passage.location.first}"
        table.add_row(
            str(place), Text(_short(printable(where))), *_cells(finding.candidate, stages), f"{finding.score:.3f}", ""
        )
    judged = [drop for drop in result.dropped if drop.stage != "cut"]
    shown = [*judged, *[drop for drop in result.dropped if drop.stage == "cut"][:FEW_DROPPED]]
    for drop in shown:
        candidate, why = drop.candidate, Text(f"{drop.stage}: {drop.reason}")
        table.add_row("", candidate.id, *_cells(candidate, stages), f"{candidate.score:.3f}", why, style="dim")
    console.print(table)
    hidden = len(result.dropped) - len(shown)
    lines = [f"{hidden} more beyond the first {result.query.top_k}; --json names each"] if hidden else []
    timings = "  ".join(f"{stage} {ms:.1f}" for stage, ms in result.timings_ms.items())
    lines += [f"milliseconds, where dense, words and code run side by side within arms: {timings}", *result.notes]
    for line in lines:
        console.print(Text(line, style="dim"), soft_wrap=True)


def _short(path: str) -> str:
    """A path that fits its column: cut in the middle, since both its ends tell it apart."""
    if len(path) <= PATH_WIDTH:
        return path
    return f"{path[: PATH_WIDTH // 2 - 1]}\u2026{path[-(PATH_WIDTH // 2) :]}"


def _cells(candidate: Candidate, stages: Sequence[str]) -> list[str]:
    """`place score` for each ranking, then the score of each stage behind them."""
    arms = [f"{candidate.ranks[arm]} {candidate.scores[arm]:6.3f}" if arm in candidate.ranks else "-" for arm in ARMS]
    return [*arms, *(f"{candidate.scores[name]:.3f}" if name in candidate.scores else "-" for name in stages)]
