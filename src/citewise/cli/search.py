"""`citewise search`: call, then show."""

import sys
from dataclasses import dataclass

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from citewise.api import Library, QueryOptions
from citewise.cli.explain import show_explanation
from citewise.cli.json_output import search_json
from citewise.cli.options import Caller
from citewise.cli.output import print_json, printable, shown_warnings
from citewise.model.paging import NOT_SHARED
from citewise.model.ranking import Finding, SearchResult
from citewise.settings import Settings

SNIPPET_CHARACTERS = 240
FEW = 5  # hits that fit a screen; whoever says how many gets as many
MAX_WIDTH = 110  # of running text; longer lines are hard to read


@dataclass(frozen=True, slots=True)
class PageFlags:
    """Which page; neither: all hits at once."""

    limit: int | None = None
    cursor: str | None = None

    @property
    def is_given(self) -> bool:
        return self.limit is not None or self.cursor is not None


def run_search(
    settings: Settings,
    caller: Caller,
    question: str,
    options: QueryOptions,
    page: PageFlags,
    *,
    explain: bool,
    as_json: bool,
) -> int:
    """Print what was found; finding nothing is no failure."""
    with Library(settings=settings) as library:  # shown before it closes, which waits for the log
        result = caller.view(library).search(question, limit=page.limit, cursor=page.cursor, **options)
        if as_json:
            print_json(search_json(result, explain=explain))
        else:
            _show(result, FEW if not page.is_given and "top_k" not in options else None, explain=explain)
        sys.stdout.flush()
    return 0


def _show(result: SearchResult, most: int | None, *, explain: bool) -> None:
    shown_warnings(result)
    console = Console(highlight=False)
    if explain:
        show_explanation(console, result)
    else:
        _show_findings(console, result, most)
    if result.next_cursor is None:
        return
    if NOT_SHARED in result.notes:  # the cursor ends with this command
        console.print(
            Text(
                "there are more results, but no cursor can be saved; `citewise doctor` says why",
                style="dim",
            )
        )
    else:
        console.print(
            Text("more: repeat the command with --cursor", style="dim"), Text(result.next_cursor), soft_wrap=True
        )


def _show_findings(console: Console, result: SearchResult, most: int | None) -> None:
    if not result.findings:
        console.print("No results: nothing you can access matches these filters.")
    for place, finding in enumerate(result.findings[:most], start=1):
        _show_finding(console, place, finding)
    shown = len(result.findings[:most])
    again = ", from the cache" if result.cache_hit else ""
    console.print(
        Text(
            f"{shown} of {result.total_candidates} candidates in {result.timings_ms['total']:.0f} ms{again}",
            style="dim",
        )
    )
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
