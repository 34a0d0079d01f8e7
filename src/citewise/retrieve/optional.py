"""Stages that a search can do without."""

import logging
from collections.abc import Callable
from typing import Protocol

from citewise.model.errors import CitewiseError
from citewise.model.ranking import Shortlist

_log = logging.getLogger(__name__)


class Stage(Protocol):
    """Shortlist -> Shortlist, under a name."""

    @property
    def name(self) -> str: ...
    def __call__(self, found: Shortlist) -> Shortlist: ...


def forgiving(stage: Stage) -> Callable[[Shortlist], Shortlist]:
    """The stage; where it breaks, the order before it stands, and the result names it (Q16)."""

    def tried(found: Shortlist) -> Shortlist:
        try:
            return stage(found)
        except CitewiseError as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001  whatever it is, it must not fail the query
            _log.warning("the stage %s broke", stage.name, exc_info=True)
            why = f"it broke ({type(error).__name__})"  # not its message, which may hold anything
        return found.with_degraded(f"{stage.name}: {why}; the order before it stands")

    return tried
