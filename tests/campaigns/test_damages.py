"""Damage to one file of a library: it is healed or named, never shown as if it were true, and opens no closed page."""

import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import pytest

from citewise.adapters.local_index.generations import FileMark
from citewise.adapters.sqlite import rows as records
from citewise.errors import CitewiseError
from citewise.model.access import Scope
from citewise.model.ids import ChunkId
from citewise.model.ranking import Passage
from tests.campaigns.damages import CLOSED, FOREIGN, WHAT, Clean, Damage, Look, Part, Seen, kind_of, looked
from tests.campaigns.size import steps
from tests.campaigns.worker import Died, Worker
from tests.pipelines.harness import Shelf

LIMIT_SECONDS = 60.0  # for one request, on a busy machine
WELL = ("same", "healed", "named")


def outcome_of(clean: Clean, damage: Damage, fault: str = "") -> str:
    """What became of a damage: one of WELL, or in words what is wrong. Runs in a worker."""
    if fault:
        FAULTS[fault]()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(clean.home, home)
        damage.apply(home / "library")
        before = looked(home, clean.cursors)
        crash, told = _ingested(home, clean)
        after = looked(home, clean.cursors)
    is_log = damage.file.endswith("-wal")  # one that ends early is that of an earlier moment: nothing tells them apart
    states = (clean.look, clean.earlier) if is_log else (clean.look,)
    again = (f"ingested again: {each}" for each in problems(after, (clean.look,), told))
    found = [*crash, *problems(before, states), *again]
    if found:
        return "; ".join(found[:3])
    return "same" if before == clean.look else "healed" if after == clean.look else "named"


def _ingested(home: Path, clean: Clean) -> tuple[list[str], set[str]]:
    """Ingest again: the error if it is none of ours, and the documents of whose rules the report says something new.

    A document whose rule was damaged stays closed, and the report says so.
    """
    try:
        report = Shelf(home).ingest()
    except CitewiseError:
        return [], set()
    except Exception as error:  # noqa: BLE001 - this is what the campaign looks for
        return [f"crash of ingest: {type(error).__name__}: {error}"], set()
    return [], {note.path for note in {*report.access} - clean.notes}


def problems(look: Look, states: tuple[Look, ...], told: Collection[str] = ()) -> Iterator[str]:
    """What is wrong with what was seen, beside what there was to see; `told` are the documents that were named."""
    for (reader, request), seen in look.items():
        wanted = [state[reader, request] for state in states]
        is_same = (seen.parts, seen.answer) in [(each.parts, each.answer) for each in wanted]
        if seen.crash:
            problem = f"crash: {seen.crash}"
        elif leaked := _leaked(reader, seen):
            problem = f"leak of {leaked}"
        elif not is_same and not _is_named(look, reader, request, wanted[0], told):
            problem = f"silent: {_difference(wanted[0].parts, seen.parts)}"
        elif untrue := _untrue(reader, seen, states):
            problem = f"untrue, though something is named: {untrue}"
        else:
            continue
        yield f"{reader}, {request}: {problem}"


def _is_named(look: Look, reader: str, request: str, wanted: Seen, told: Collection[str]) -> bool:
    """Whether somebody was told that something is not in order.

    A list of documents cannot say that one is hidden, since its rule is damaged: the searches of that reader do.
    """
    is_list = request == "documents" or request.endswith(".md")
    searches = [seen.named for (other, asked), seen in look.items() if other == reader and asked.startswith("search")]
    seen = look[reader, request]
    missing = {part[0] for part in wanted.parts if part not in seen.parts}
    is_told = bool(told) and (missing <= {*told} or request in ("ask", "pages", "cursor"))  # those show the next best
    return bool(seen.named or is_told or (is_list and any(searches)))


def _leaked(reader: str, seen: Seen) -> list[str]:
    closed = [word for words, readers in CLOSED.values() if reader not in readers for word in words]
    text = f"{seen.parts} {seen.answer} {seen.named}".lower()
    return [word for word in (*closed, *FOREIGN) if word in text]


def _untrue(reader: str, seen: Seen, states: tuple[Look, ...]) -> Part | None:
    """A part that nothing in the clean library has, with all that is said of where it comes from."""
    true = {part for state in states for (other, _), each in state.items() if other == reader for part in each.parts}
    for part in seen.parts:
        if not any(part[:-1] == each[:-1] and part[-1] in each[-1] for each in true):
            return part
    return None


def _difference(wanted: tuple[Part, ...], found: tuple[Part, ...]) -> str:
    missing = [part for part in wanted if part not in found]
    added = [part for part in found if part not in wanted]
    return f"missing {missing[:2]}, added {added[:2]}" if missing or added else "another order or answer"


class Damages:
    """The campaign: one damage after the other, each to a fresh copy of a clean library."""

    def __init__(
        self,
        draw: random.Random,
        home: Path,
        *,
        fault: str = "",
        kinds: Collection[str] = (),
        what: Sequence[str] = WHAT,
    ) -> None:
        self._draw, self._fault, self._kinds, self._what = draw, fault, kinds, what
        self._clean = [Clean.made(home / "plain", with_log=False), Clean.made(home / "logged", with_log=True)]
        for clean in self._clean:
            assert not [*problems(clean.look, (clean.look,))]
        self.outcomes: Counter[str] = Counter()

    def run(self, damages: int) -> Iterator[str]:
        """Every damage that is neither healed nor named, and what came of it."""
        with Worker(limit_seconds=LIMIT_SECONDS) as worker:
            for _ in range(damages):
                clean = self._draw.choice(self._clean)
                damage = Damage.drawn(self._draw, clean.home / "library", self._kinds, self._what)
                outcome = worker.run(outcome_of, clean, damage, self._fault)
                said = outcome.why if isinstance(outcome, Died) else str(outcome)
                self.outcomes[f"{kind_of(PurePath(damage.file))} {said if said in WELL else 'WRONG'}"] += 1
                if said not in WELL:
                    yield f"{damage}: {said}"


def test_every_damage_is_healed_or_named_and_opens_nothing(draw: random.Random, tmp_path: Path) -> None:
    campaign = Damages(draw, tmp_path)
    wrong = list(campaign.run(steps(60, 2_000)))
    sys.stdout.write(f"{dict(sorted(campaign.outcomes.items()))}\n")
    assert not wrong, "\n".join(wrong)


def _without_checksums() -> None:
    FileMark.is_of = lambda self, file: True  # type: ignore[method-assign]


def _without_seals() -> None:
    hydrated = records.hydrated

    def trusting(rows: Iterable[Sequence[Any]], scope: Scope) -> dict[ChunkId, Passage | None]:
        return hydrated([(*row[:-1], records.seal_of(row[:-1], scope)) for row in rows], scope)

    records.hydrated = trusting
    records.intact = lambda row, scope, *seals: set(seals)


FAULTS: Mapping[str, Callable[[], None]] = {
    "seals are not compared": _without_seals,
    "checksums of index files are not compared": _without_checksums,
}
AIMED_AT = {  # where a damage shows for certain: a flipped bit of a vector may change no ranking
    "seals are not compared": (["catalog.db"], ["aim"]),
    "checksums of index files are not compared": ([".rows"], ["noise"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_campaign_notices_that(fault: str, draw: random.Random, tmp_path: Path) -> None:
    kinds, what = AIMED_AT[fault]
    campaign = Damages(draw, tmp_path, fault=fault, kinds=kinds, what=what)
    assert any("silent" in said for said in campaign.run(200))
