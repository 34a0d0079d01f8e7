"""`--explain`: how each candidate came to its place."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.entry.cli.output import printable
from citewise.model.ranking import ARMS, Candidate, Dropped
from citewise.model.result import SearchResult

LEAST_WIDTH = 156  # numbers that are cut off explain nothing: a narrower terminal wraps the lines
FEW = 5  # candidates beyond top_k that are shown; --json names each
STAGES = ("fused", "rerank", "freshness", "boost")


def show_explanation(console: Console, result: SearchResult) -> None:
    """Place and score per ranking and stage, what became of each candidate, and where the time went."""
    console.width = max(console.width, LEAST_WIDTH)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("#", justify="right")
    table.add_column("passage", max_width=40, no_wrap=True, overflow="ellipsis")
    for name in (*ARMS, *STAGES, "final"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why dropped", min_width=26, max_width=40)
    for place, finding in enumerate(result.findings, start=1):
        where = f"{finding.passage.document}:{finding.passage.first_line}"
        table.add_row(str(place), Text(printable(where)), *_cells(finding.candidate), f"{finding.score:.3f}", "")
    for one in _shown(result.dropped):
        why = Text(f"{one.stage}: {one.reason}")
        table.add_row("", one.candidate.id, *_cells(one.candidate), f"{one.candidate.score:.3f}", why, style="dim")
    console.print(table)
    _show_rest(console, result)


def _show_rest(console: Console, result: SearchResult) -> None:
    hidden = len(result.dropped) - len(_shown(result.dropped))
    lines = [f"{hidden} more beyond the first {result.query.top_k}; --json names each"] if hidden else []
    timings = "  ".join(f"{stage} {ms:.1f}" for stage, ms in result.timings_ms.items())
    lines += [f"milliseconds, where dense, words and code run side by side within arms: {timings}", *result.notes]
    for line in lines:
        console.print(Text(line, style="dim"), soft_wrap=True)


def _shown(dropped: tuple[Dropped, ...]) -> list[Dropped]:
    """Every one that a stage judged, and the first of those that were only too many."""
    judged = [one for one in dropped if one.stage != "cut"]
    return [*judged, *[one for one in dropped if one.stage == "cut"][:FEW]]


def _cells(candidate: Candidate) -> list[str]:
    """`place score` for each ranking, then the score of each stage behind them."""
    arms = [f"{candidate.ranks[arm]} {candidate.scores[arm]:6.3f}" if arm in candidate.ranks else "-" for arm in ARMS]
    return [*arms, *(f"{candidate.scores[name]:.3f}" if name in candidate.scores else "-" for name in STAGES)]
