"""citewise for programs: `from citewise import Library`. Translates in, calls a flow, translates nothing out."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from pathlib import Path

from citewise.model.care import Check, Status
from citewise.model.report import Event, IngestReport
from citewise.model.scope import Scope
from citewise.settings import Settings
from citewise.wiring.care import doctor, reindex, status
from citewise.wiring.embedding import Embedding, embedding_of
from citewise.wiring.full import opened_for_writing
from citewise.wiring.sources import Wish, existing, ingest, remember_ingest


class Library:
    """A library in a folder. It is opened for each call and closed after it, so threads may share one."""

    def __init__(
        self,
        folder: str | PathLike[str] = ".citewise",
        *,
        settings: Settings | None = None,
        embedding: Embedding | None = None,
    ) -> None:
        self._settings = replace(settings or Settings(), library=Path(folder))
        self._embedding = embedding or embedding_of(self._settings)

    def ingest(
        self,
        *paths: str | PathLike[str],
        scope: Scope | None = None,
        access: Iterable[str] = (),
        name: str | None = None,
        corpus_type: str | None = None,
        on_event: Callable[[Event], None] = lambda event: None,
    ) -> IngestReport:
        """Bring the library up to date with folders or files; it is made if there is none."""
        wish = Wish(scope or Scope(), tuple(access), corpus_type, name)
        targets = [existing(Path(path)) for path in paths]
        with opened_for_writing(self._settings, self._embedding) as library:
            reports = [ingest(library, target, wish, on_event=on_event) for target in targets]
            report = sum(reports, IngestReport())
            remember_ingest(library, report)
            return report

    def status(self) -> Status:
        """What the library holds."""
        return status(self._settings)

    def doctor(self) -> tuple[Check, ...]:
        """Whether all is well, and what to do where it is not."""
        return doctor(self._settings)

    def reindex(self) -> int:
        """Rebuild the index, or make the library anew where the settings ask for it; chunks it holds then."""
        made = reindex(self._settings, on_progress=lambda done: None)
        return made if isinstance(made, int) else made.chunks.total
