"""`--explain`: how each candidate came to its place."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from citewise.cli.output import printable
from citewise.model.ranking import ARMS, FUSED, SCORES, Candidate, Dropped, SearchResult

PATH_WIDTH = 40
MIN_WIDTH = 165  # numbers that are cut off explain nothing: a narrower terminal wraps the lines
FEW = 5  # candidates beyond top_k that are shown; --json names each


def show_explanation(console: Console, result: SearchResult) -> None:
    """Place and score per ranking and stage, what became of each candidate, and where the time went."""
    console.width = max(console.width, MIN_WIDTH)
    candidates = [*(one.candidate for one in result.findings), *(one.candidate for one in result.dropped)]
    stages = [name for name in SCORES[len(ARMS) :] if name == FUSED or any(name in one.scores for one in candidates)]
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
    for one in _shown(result.dropped):
        why = Text(f"{one.stage}: {one.reason}")
        cells = _cells(one.candidate, stages)
        table.add_row("", one.candidate.id, *cells, f"{one.candidate.score:.3f}", why, style="dim")
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


def _short(path: str) -> str:
    """A path that fits its column: cut in the middle, since both its ends tell it apart."""
    if len(path) <= PATH_WIDTH:
        return path
    return f"{path[: PATH_WIDTH // 2 - 1]}\u2026{path[-(PATH_WIDTH // 2) :]}"


def _cells(candidate: Candidate, stages: Sequence[str]) -> list[str]:
    """`place score` for each ranking, then the score of each stage behind them."""
    arms = [f"{candidate.ranks[arm]} {candidate.scores[arm]:6.3f}" if arm in candidate.ranks else "-" for arm in ARMS]
    return [*arms, *(f"{candidate.scores[name]:.3f}" if name in candidate.scores else "-" for name in stages)]
