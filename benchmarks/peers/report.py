"""Outcomes as tables: the one that is printed, and those that the page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from benchmarks.peers.contenders import OURSELVES
from benchmarks.peers.measures import Measure, lead, measures, peer_wins
from benchmarks.peers.outcome import Outcome, Speed
from benchmarks.results import Cell, Results, Table, results_now


def printed(outcomes: Sequence[Outcome], columns: Sequence[Measure]) -> Iterator[str]:
    """One table, a contender a column: there are more numbers than contenders."""
    names = [outcome.contender.title for outcome in outcomes]
    yield f"{'':<22}" + "".join(f"{name:>12}" for name in names)
    yield f"{'version':<22}" + "".join(
        f"{outcome.install.version if outcome.install else '—':>12}" for outcome in outcomes
    )
    for measure in columns:
        yield f"{measure.name:<22}" + "".join(f"{measure.shown(outcome):>12}" for outcome in outcomes)
    for outcome in outcomes:
        yield from (f"{outcome.contender.title}: {problem}" for problem in outcome.problems)
        for name, other in outcome.others.items():
            yield f"{outcome.contender.title}, {name}: {other.wrong} wrong hits, {other.short} short answers"


def summary(outcomes: Sequence[Outcome], principals: Sequence[str], columns: Sequence[Measure]) -> Iterator[str]:
    """How we stand to the fastest correct peer, and every number in which a peer is better."""
    ours, peers = ours_and_peers(outcomes)
    if ours is None or not peers:
        return
    yield from (lead(ours, peers, principal) for principal in principals)
    yield from (f"a peer wins: {win}" for win in peer_wins(ours, peers, columns))


def results_of(outcomes: Sequence[Outcome], principals: Sequence[str], judged: Sequence[str]) -> Results:
    columns = measures(principals, judged)
    return results_now(
        "peers",
        title="citewise beside what one would take instead",
        command="make bench-peers",
        tables=(
            overview(outcomes, principals, columns),
            searches(outcomes),
            updates(outcomes),
            wins(outcomes, columns),
            choices(outcomes),
        ),
    )


def overview(outcomes: Sequence[Outcome], principals: Sequence[str], columns: Sequence[Measure]) -> Table:
    ours, peers = ours_and_peers(outcomes)
    leads = "; ".join(lead(ours, peers, principal) for principal in principals) if ours else ""
    return Table(
        "All measures",
        ("measure", *(outcome.contender.title for outcome in outcomes)),
        (
            ("version", *(outcome.install.version if outcome.install else None for outcome in outcomes)),
            *((measure.name, *(measure.read(outcome) for outcome in outcomes)) for measure in columns),
            ("right under the filter", *(outcome.speed.is_right if outcome.speed else None for outcome in outcomes)),
            ("problems", *("; ".join(outcome.problems) or None for outcome in outcomes)),
        ),
        note=f"The same chunks, vectors, questions and filters for all, in one run. {rounds_note(outcomes)}"
        f"Median search: {leads}.",
        wanted="search at least five times as fast at p50 as the fastest peer that is right under the filter",
    )


def rounds_note(outcomes: Sequence[Outcome]) -> str:
    """Whose times were taken in turns: only their ratios are free of what else the machine did."""
    turned = {
        outcome.contender.title: outcome.speed.rounds
        for outcome in outcomes
        if outcome.speed and outcome.speed.rounds > 1
    }
    if not turned:
        return "Each was measured once, one after the other: ratios hold what else the machine did meanwhile. "
    return (
        f"The searches of {', '.join(turned)} are medians of {min(turned.values())} rounds taken in turns; those of "
        "the others were measured once, one after the other. "
    )


def searches(outcomes: Sequence[Outcome]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for outcome in outcomes:
        settings = ({"": outcome.speed} if outcome.speed else {}) | dict(outcome.others)
        for name, speed in settings.items():
            rows += search_rows(", ".join(filter(None, (outcome.contender.title, name))), speed)
    return Table(
        "Searches, one after the other, warm, ten hits asked for",
        (
            "library",
            "principal sees",
            "chunks visible",
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "CPU ms",
            "wrong hits",
            "short answers",
        ),
        tuple(rows),
        note="Without the embedding call; CPU: mean over all threads. Wrong: a hit the principal may not see. "
        "Short: fewer hits than asked for though enough are visible.",
    )


def search_rows(name: str, speed: Speed) -> Iterator[tuple[Cell, ...]]:
    for times in speed.searches:
        ms = (times.p50_ms, times.p95_ms, times.p99_ms, times.cpu_ms)
        yield name, times.principal, times.visible, *ms, times.wrong, times.short


def updates(outcomes: Sequence[Outcome]) -> Table:
    return Table(
        "Ingesting again",
        ("library", "way", "embedded first", "embedded again", "embedded after the edit", "stale", "missing"),
        tuple(
            (outcome.contender.title, way, *astuple(seen))
            for outcome in outcomes
            for way, seen in outcome.updates.items()
        ),
        note="The textbook three times: new, unchanged, with one page edited. Stale: old texts still found.",
    )


def wins(outcomes: Sequence[Outcome], columns: Sequence[Measure]) -> Table:
    ours, peers = ours_and_peers(outcomes)
    found = peer_wins(ours, peers, columns) if ours else ()
    return Table("Where a peer wins", ("measure, peer, citewise",), tuple((win,) for win in found))


def choices(outcomes: Sequence[Outcome]) -> Table:
    return Table(
        "How each was set up",
        ("library", "choice"),
        tuple((outcome.contender.title, outcome.contender.choice) for outcome in outcomes),
    )


def ours_and_peers(outcomes: Sequence[Outcome]) -> tuple[Outcome | None, list[Outcome]]:
    """Ourselves and the others."""
    ours = next((outcome for outcome in outcomes if outcome.contender == OURSELVES), None)
    return ours, [outcome for outcome in outcomes if outcome.contender != OURSELVES]
