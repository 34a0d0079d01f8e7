"""What was shown most of late, as far as this reader may see it: passages to fall back on, and topics to suggest."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

from citewise.errors import CitewiseError
from citewise.insights import most_shown
from citewise.model.filters import Where
from citewise.model.logged import Whose
from citewise.model.ranking import Passage, topic_of
from citewise.ports.catalog import PassageReader
from citewise.ports.stores import LogStore

_log = logging.getLogger(__name__)

LATELY_SECONDS = 30 * 86_400.0  # a month: less forgets over a holiday, more remembers what nobody asks any more
MAX_ROWS = 1_000  # the newest, that are counted: some 25 ms to read
IDS_A_READ = 200
PASSAGES_A_TOPIC = 5  # read for each topic: those of one section have the same


@dataclass(frozen=True, slots=True)
class PopularPassages:
    """The port `Popular` over the query log.

    Everybody's questions count, but only for passages that this reader may see: the order of these says nothing of how
    often others asked about anything else.
    """

    store: LogStore
    catalog: PassageReader
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
        rows = self.store.rows(everybodys, since=self.now() - LATELY_SECONDS, limit=MAX_ROWS)
        ids = most_shown(rows)
        for at in range(0, len(ids), IDS_A_READ):
            yield from self.catalog.passages(ids[at : at + IDS_A_READ], where=where).passages
