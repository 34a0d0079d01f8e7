"""Outcomes as tables: the one that is printed, and those that the page shows."""

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from benchmarks.peers.contenders import OURSELVES
from benchmarks.peers.measures import Measure, lead, measures, peer_wins
from benchmarks.peers.outcome import Outcome, Speed
from benchmarks.results import Cell, Results, Table, results_now


def printed(outcomes: Sequence[Outcome], columns: Sequence[Measure]) -> Iterator[str]:
    """One table, a contender a column: there are more numbers than contenders."""
    names = [one.contender.title for one in outcomes]
    yield f"{'':<22}" + "".join(f"{name:>12}" for name in names)
    yield f"{'version':<22}" + "".join(f"{one.install.version if one.install else '—':>12}" for one in outcomes)
    for measure in columns:
        yield f"{measure.name:<22}" + "".join(f"{measure.shown(one):>12}" for one in outcomes)
    for one in outcomes:
        yield from (f"{one.contender.title}: {problem}" for problem in one.problems)
        for name, other in one.others.items():
            yield f"{one.contender.title}, {name}: {other.wrong} wrong hits, {other.short} short answers"


def spoken(outcomes: Sequence[Outcome], principals: Sequence[str], columns: Sequence[Measure]) -> Iterator[str]:
    """How we stand to the fastest correct peer, and every number in which a peer is better."""
    ours, peers = parted(outcomes)
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
    ours, peers = parted(outcomes)
    leads = "; ".join(lead(ours, peers, principal) for principal in principals) if ours else ""
    return Table(
        "All measures",
        ("measure", *(one.contender.title for one in outcomes)),
        (
            ("version", *(one.install.version if one.install else None for one in outcomes)),
            *((measure.name, *(measure.read(one) for one in outcomes)) for measure in columns),
            ("right under the filter", *(one.speed.is_right if one.speed else None for one in outcomes)),
            ("problems", *("; ".join(one.problems) or None for one in outcomes)),
        ),
        note=f"The same chunks, vectors, questions and filters for all, in one run. {rounds_note(outcomes)}"
        f"Median search: {leads}.",
        wanted="search at least five times as fast at p50 as the fastest peer that is right under the filter",
    )


def rounds_note(outcomes: Sequence[Outcome]) -> str:
    """Whose times were taken in turns: only their ratios are free of what else the machine did."""
    turned = {one.contender.title: one.speed.rounds for one in outcomes if one.speed and one.speed.rounds > 1}
    if not turned:
        return "Each was measured once, one after the other: ratios hold what else the machine did meanwhile. "
    return (
        f"The searches of {', '.join(turned)} are medians of {min(turned.values())} rounds taken in turns; those of "
        "the others were measured once, one after the other. "
    )


def searches(outcomes: Sequence[Outcome]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for one in outcomes:
        settings = ({"": one.speed} if one.speed else {}) | dict(one.others)
        for name, speed in settings.items():
            rows += search_rows(", ".join(filter(None, (one.contender.title, name))), speed)
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
    for one in speed.asked:
        times = (one.p50_ms, one.p95_ms, one.p99_ms, one.cpu_ms)
        yield name, one.principal, one.visible, *times, one.wrong, one.short


def updates(outcomes: Sequence[Outcome]) -> Table:
    return Table(
        "Ingesting again",
        ("library", "way", "embedded first", "embedded again", "embedded after the edit", "stale", "missing"),
        tuple((one.contender.title, way, *astuple(seen)) for one in outcomes for way, seen in one.updates.items()),
        note="The textbook three times: new, unchanged, with one page edited. Stale: old texts still found.",
    )


def wins(outcomes: Sequence[Outcome], columns: Sequence[Measure]) -> Table:
    ours, peers = parted(outcomes)
    found = peer_wins(ours, peers, columns) if ours else ()
    return Table("Where a peer wins", ("measure, peer, citewise",), tuple((win,) for win in found))


def choices(outcomes: Sequence[Outcome]) -> Table:
    return Table(
        "How each was set up",
        ("library", "choice"),
        tuple((one.contender.title, one.contender.choice) for one in outcomes),
    )


def parted(outcomes: Sequence[Outcome]) -> tuple[Outcome | None, list[Outcome]]:
    """Ourselves and the others."""
    ours = next((one for one in outcomes if one.contender == OURSELVES), None)
    return ours, [one for one in outcomes if one.contender != OURSELVES]
