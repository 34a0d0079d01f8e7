"""What was shown most of late, as far as this reader may see it: passages to fall back on, and topics to suggest."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from citewise.flows.insights import most_shown
from citewise.model.chunk import NO_SECTION
from citewise.model.errors import CitewiseError
from citewise.model.logged import Whose
from citewise.model.passage import Passage
from citewise.model.where import Where
from citewise.ports.log_store import LogStore
from citewise.ports.passages import Passages

_log = logging.getLogger(__name__)

LATELY_SECONDS = 30 * 86_400.0  # a month: less forgets over a holiday, more remembers what nobody asks any more
MOST_ROWS = 1_000  # the newest, that are counted: some 25 ms to read
IDS_A_READ = 200
PASSAGES_A_TOPIC = 5  # read for each topic: those of one section have the same


@dataclass(frozen=True, slots=True)
class PopularPassages:
    """The port `Popular` over the query log.

    Everybody's questions count, but only for passages that this reader may see: the order of these says nothing of how
    often others asked about anything else.
    """

    store: LogStore
    catalog: Passages
    now: Callable[[], float] = time.time

    def passages(self, where: Where, limit: int) -> tuple[Passage, ...]:
        """Most shown first."""
        if where.conditions:
            return ()
        try:
            return tuple(islice(self._seen(where), limit))
        except CitewiseError as error:
            _log.info("nothing popular can be shown: %s", error)
            return ()

    def topics(self, where: Where, limit: int) -> tuple[str, ...]:
        """What others asked about, as titles and sections; each once."""
        named = dict.fromkeys(map(topic_of, self.passages(where, PASSAGES_A_TOPIC * limit)))
        return tuple(named)[:limit]

    def _seen(self, where: Where) -> Iterator[Passage]:
        everybodys = Whose(where.scope, None)
        rows = self.store.rows(everybodys, since=self.now() - LATELY_SECONDS, limit=MOST_ROWS)
        ids = most_shown(rows)
        for at in range(0, len(ids), IDS_A_READ):
            yield from self.catalog.passages(ids[at : at + IDS_A_READ], where=where).passages


def topic_of(passage: Passage) -> str:
    if passage.section in (passage.title, NO_SECTION):
        return passage.title
    return f"{passage.title} - {passage.section}"
