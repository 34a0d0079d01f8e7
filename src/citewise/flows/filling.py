"""A page as it fills: what is on it, and what became of every place that was looked at for it."""

from collections.abc import Mapping
from dataclasses import replace

from citewise.flows.search import renumbered
from citewise.model.ids import digest
from citewise.model.ranking import Dropped, Finding
from citewise.ports.held import TEXT_BYTES, Seen
from citewise.retrieve.dedup import Deduplicate
from citewise.retrieve.hydrate import GONE

NOTHING = bytes(TEXT_BYTES)


class Filling:
    """Takes the candidates of an order one by one, until the page is full and the first of the next one is known."""

    def __init__(self, limit: int, first: int = 0, before: Seen | None = None) -> None:
        self.limit = limit
        self.findings: list[Finding] = []
        self.dropped: list[Dropped] = []
        self.next_place: int | None = None
        self._first = first
        self._before = before or Seen()
        self._texts: list[bytes] = []  # one a place
        self._gone: dict[int, Mapping[str, int]] = {}
        self._lost = list(self._before.gone.values())  # ranks of all that is gone, here and on the pages before
        self._closed_up = 0  # findings whose ranks are final

    @property
    def is_done(self) -> bool:
        return self.next_place is not None

    @property
    def seen(self) -> Seen:
        return Seen(self._first, b"".join(self._texts), dict(self._gone))

    def take(self, place: int, met: Finding | Dropped) -> None:
        """Show it if it is there, says something new and has room; once there is no room, the next page begins."""
        if self.is_done:
            return
        if isinstance(met, Dropped):
            self._miss(place, met)
        elif (text := _text_of(met)) in self._texts or self._before.shows(text):
            self._miss(place, Dropped(met.candidate, Deduplicate.name, "says the same as one that was shown"))
        elif len(self.findings) == self.limit:
            self.next_place = place
        else:
            self.findings.append(met)
            self._texts.append(text)

    def close_up(self) -> tuple[Finding, ...]:
        """The findings, with ranks that have no gaps where something is gone: that would tell of what it was."""
        if self._lost:
            self.findings[self._closed_up :] = [
                replace(one, candidate=renumbered(one.candidate, self._lost))
                for one in self.findings[self._closed_up :]
            ]
        self._closed_up = len(self.findings)
        return tuple(self.findings)

    def begin_deeper(self) -> None:
        """What follows comes from rankings of another time: what was gone has no place in them."""
        self.close_up()
        self._lost.clear()
        self._gone.clear()

    def _miss(self, place: int, dropped: Dropped) -> None:
        """What is gone for this reader is not even named."""
        self._texts.append(NOTHING)
        if dropped.reason != GONE:
            self.dropped.append(dropped)
            return
        self._gone[place] = dropped.candidate.ranks
        self._lost.append(dropped.candidate.ranks)


def _text_of(finding: Finding) -> bytes:
    """Of the words alone, as deduplication sees them: the digest that a passage has covers its headings too."""
    return bytes.fromhex(digest(finding.passage.text)[: 2 * TEXT_BYTES])
