"""What is compared, which way is better, and who wins: computed, so that no sentence about a peer is typed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from benchmarks.peers.harness import Updated
from benchmarks.peers.outcome import Outcome, Speed
from benchmarks.peers.venvs import Install

NEAR = 1.3  # times the fastest median. 1: only the fastest itself; large: all, at a minute each

Part = TypeVar("Part")
Reading = Callable[[Outcome], float | None]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every contender has, or has not."""

    name: str
    read: Reading
    form: str = "{:.1f}"
    is_higher_better: bool = False
    is_search: bool = False  # then a win says so where the answers were not right

    def shown(self, outcome: Outcome) -> str:
        value = self.read(outcome)
        return "—" if value is None else self.form.format(value)


def latency(principal: str, which: str) -> Reading:
    """A percentile, or the CPU time, of one principal's searches."""

    def read(outcome: Outcome) -> float | None:
        searches = outcome.speed.searches_of(principal) if outcome.speed else None
        return None if searches is None else float(getattr(searches, which))

    return read


def measures(principals: Sequence[str], judged: Sequence[str]) -> tuple[Measure, ...]:
    """The columns of the table."""
    p50 = (Measure(f"p50 ms, {principal}", latency(principal, "p50_ms"), is_search=True) for principal in principals)
    p99 = (
        Measure(f"p99 ms, {principal}", latency(principal, "p99_ms"), is_search=True) for principal in principals[:1]
    )
    cpu = (
        Measure(f"CPU ms, {principal}", latency(principal, "cpu_ms"), is_search=True) for principal in principals[:1]
    )
    ndcg = (Measure(f"nDCG@10 {name}", _quality_of(name), "{:.4f}", is_higher_better=True) for name in judged)
    return (
        *p50,
        *p99,
        *cpu,
        Measure("wrong hits", _of(_speed, lambda speed: speed.wrong), "{:.0f}"),
        Measure("short answers", _of(_speed, lambda speed: speed.short), "{:.0f}"),
        *ndcg,
        Measure("ingest s", _of(_speed, lambda speed: speed.ingest_seconds)),
        Measure("embedded again", _of(_update, lambda update: update.embedded_again), "{:.0f}"),
        Measure("embedded after edit", _of(_update, lambda update: update.embedded_after_edit), "{:.0f}"),
        Measure("stale", _of(_update, lambda update: update.stale), "{:.0f}"),
        Measure("install MB", _of(_install, lambda install: install.megabytes), "{:.0f}"),
        Measure("packages", _of(_install, lambda install: install.packages), "{:.0f}"),
        Measure("import s", _of(_install, lambda install: install.import_seconds), "{:.2f}"),
    )


def peer_wins(ours: Outcome, peers: Iterable[Outcome], compared: Iterable[Measure]) -> Iterator[str]:
    """A sentence for every number in which a peer is better than we are."""
    for measure in compared:
        own = measure.read(ours)
        for peer in peers:
            value = measure.read(peer)
            if own is not None and value is not None and is_better(value, own, measure):
                theirs = f"{peer.contender.title} {measure.shown(peer)}{_but(peer) if measure.is_search else ''}"
                yield f"{measure.name}: {theirs}, citewise {measure.shown(ours)}"


def is_better(value: float, other: float, measure: Measure) -> bool:
    return value > other if measure.is_higher_better else value < other


def fastest_right(peers: Iterable[Outcome], principal: str) -> Outcome | None:
    """The peer with the lowest median among those that answer correctly under the filter."""
    read = latency(principal, "p50_ms")
    timed = [
        (value, peer) for peer in peers if peer.speed and peer.speed.is_right and (value := read(peer)) is not None
    ]
    return min(timed, key=lambda pair: pair[0])[1] if timed else None


def near_fastest(peers: Sequence[Outcome], principals: Iterable[str]) -> list[Outcome]:
    """The peers that are right and could turn out to be the fastest for some principal when measured again."""
    bests = {principal: fastest_right(peers, principal) for principal in principals}
    return [
        peer
        for peer in peers
        if peer.speed
        and peer.speed.is_right
        and any(best and _is_near(peer, best, principal) for principal, best in bests.items())
    ]


def _is_near(peer: Outcome, best: Outcome, principal: str) -> bool:
    read = latency(principal, "p50_ms")
    own, least = read(peer), read(best)
    return own is not None and least is not None and own <= NEAR * least


def lead(ours: Outcome, peers: Sequence[Outcome], principal: str) -> str:
    """How we stand to the fastest peer that is right, in words."""
    read, best = latency(principal, "p50_ms"), fastest_right(peers, principal)
    own, theirs = read(ours), read(best) if best else None
    if best is None or own is None or theirs is None:
        return f"{principal}: nothing to compare with"
    return (
        f"{principal}: citewise {own:.1f} ms, fastest correct peer {best.contender.title} {theirs:.1f} ms, "
        f"ratio {theirs / own:.1f}"
    )


def _of(part: Callable[[Outcome], Part | None], read: Callable[[Part], float]) -> Reading:
    """A number of one part of the outcome, which may be missing."""
    return lambda outcome: None if (found := part(outcome)) is None else float(read(found))


def _speed(outcome: Outcome) -> Speed | None:
    return outcome.speed


def _update(outcome: Outcome) -> Updated | None:
    return outcome.update


def _install(outcome: Outcome) -> Install | None:
    return outcome.install


def _quality_of(name: str) -> Reading:
    return lambda outcome: outcome.quality.get(name)


def _but(peer: Outcome) -> str:
    if peer.speed is None or peer.speed.is_right:
        return ""
    return f" (not right under the filters: {peer.speed.wrong} wrong hits, {peer.speed.short} short answers)"
