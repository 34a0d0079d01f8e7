"""What a contender's run came to, read from its driver's JSON and judged the same way for all."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

from benchmarks.judged import Judged, ndcg
from benchmarks.peers.contenders import Contender
from benchmarks.peers.harness import QUALITY, SearchTimes, Updated
from benchmarks.peers.venvs import Install

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class Speed:
    """One setting's ingestion and searches of the large corpus."""

    ingest_seconds: float
    chunks: int
    searches: tuple[SearchTimes, ...]
    rounds: int = 1  # that the times are medians of; more than one: taken in turns with others

    @property
    def wrong(self) -> int:
        return sum(times.wrong for times in self.searches)

    @property
    def short(self) -> int:
        return sum(times.short for times in self.searches)

    @property
    def is_right(self) -> bool:
        """Whether every principal got only its own, and as many as it times for."""
        return self.wrong == 0 and self.short == 0

    def searches_of(self, principal: str) -> SearchTimes | None:
        return next((times for times in self.searches if times.principal == principal), None)


@dataclass(frozen=True, slots=True)
class Outcome:
    """All of a contender's numbers; what could not be had is None or missing, with the reason among the problems."""

    contender: Contender
    install: Install | None = None
    speed: Speed | None = None
    others: Mapping[str, Speed] = field(default_factory=dict)
    updates: Mapping[str, Updated] = field(default_factory=dict)
    quality: Mapping[str, float] = field(default_factory=dict)  # set -> nDCG@10
    problems: tuple[str, ...] = ()

    @property
    def update(self) -> Updated | None:
        """By the way that its documentation recommends, which stands first."""
        return next(iter(self.updates.values()), None)


def outcome_of(
    contender: Contender, install: Install, out: Path, judged: Mapping[str, Judged], stopped: str | None
) -> Outcome:
    """Read what the driver wrote, as far as it came."""
    seen: dict[str, Any] = json.loads(out.read_text("utf-8")) if out.exists() else {}
    failed = [f"{part}: {found['failed']}" for part, found in seen.items() if "failed" in found]
    parts = {part: found for part, found in seen.items() if "failed" not in found}
    return Outcome(
        contender,
        install,
        speed=_speed(parts["speed"]) if "speed" in parts else None,
        others=_each(parts.get("others"), _speed),
        updates=_each(parts.get("updates"), lambda found: Updated(**found)),
        quality={
            name: quality(parts[part], answers)
            for name, answers in judged.items()
            if (part := f"{QUALITY}{name}") in parts
        },
        problems=(*failed, *([stopped] if stopped else [])),
    )


def quality(ranked: Mapping[str, list[str]], judged: Judged) -> float:
    """Mean nDCG@10 over all questions of the set; one without an answer counts as 0."""
    return fmean(
        ndcg([judged.names[path] for path in ranked.get(id_, [])], grades) for id_, grades in judged.judgments.items()
    )


def _speed(found: Mapping[str, Any]) -> Speed:
    return Speed(found["ingest_seconds"], found["chunks"], tuple(SearchTimes(**row) for row in found["searches"]))


def _each(found: Mapping[str, Any] | None, made: Callable[[Any], Made]) -> dict[str, Made]:
    return {name: made(part) for name, part in (found or {}).items()}
