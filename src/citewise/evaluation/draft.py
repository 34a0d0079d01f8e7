"""A library -> a draft of questions about it: read a spread of its documents, make, choose."""

from dataclasses import dataclass
from random import Random

from citewise.errors import BadRequest
from citewise.evaluation.drafts import Draft, drafts_of, sections_of
from citewise.model.access import Scope
from citewise.ports.catalog import Catalog

MAX_DOCUMENTS = 1000  # that are read; of more, as many are drawn: a draft needs a spread, not all of it


@dataclass(frozen=True, slots=True)
class DraftQuestions:
    """Proposes questions about one scope, as its owner sees it."""

    catalog: Catalog

    def __call__(self, scope: Scope, *, count: int, seed: int) -> tuple[Draft, ...]:
        paths = sorted(self.catalog.known(scope))
        if not paths:
            raise BadRequest(f"there are no documents in {scope}: ingest some first, or name another --project")
        if len(paths) > MAX_DOCUMENTS:
            paths = sorted(Random(seed).sample(paths, MAX_DOCUMENTS))
        sections = [one for path in paths for one in sections_of(path, self.catalog.chunks(scope, path))]
        return drafts_of(sections, count=count, seed=seed)
