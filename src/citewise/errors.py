"""Every error that citewise raises on purpose, grouped by who can act on it.

    CitewiseError
    ├── BadRequest        the caller: the request cannot be served as it is (also a ValueError)
    │   └── PathNotFound  a path that does not exist (also a FileNotFoundError)
    ├── Misconfigured     the operator: settings, model and library do not fit together
    ├── Unavailable       a disk or service cannot be reached now; a retry may help (also a ConnectionError)
    │   └── Locked        another process is writing
    ├── BadData           the author of a source: the file itself is broken
    └── Cancelled         nobody: the caller stopped the work

A message says what failed, on what, and what to try. `code` is stable, for programs; `exit_code` is what the command
line returns.
"""

import logging
from typing import ClassVar

_log = logging.getLogger(__name__)


class CitewiseError(Exception):
    """An error that citewise can explain. The message is meant for the person who ran the command."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


class BadRequest(CitewiseError, ValueError):
    """The request cannot be served as it is."""

    code = "bad_request"
    exit_code = 2


class PathNotFound(BadRequest, FileNotFoundError):
    """A file or folder that was named does not exist."""

    code = "path_not_found"


class Misconfigured(CitewiseError):
    """Settings, model and library do not fit together."""

    code = "misconfigured"
    exit_code = 3


class Unavailable(CitewiseError, ConnectionError):
    """A disk or a service cannot be reached right now."""

    code = "unavailable"
    exit_code = 4


class Locked(Unavailable):
    """Another process is writing to the library."""

    code = "locked"


class BadData(CitewiseError):
    """A source holds something that cannot be read."""

    code = "bad_data"


class Cancelled(CitewiseError):
    """The caller stopped the work before it was done."""

    code = "cancelled"


def explained(error: Exception, part: str = "it") -> CitewiseError:
    """An error of ours as it is. Of code that was handed in, only its kind is told: its message may hold anything."""
    if isinstance(error, CitewiseError):
        return error
    _log.warning("a part of the library failed", exc_info=error)
    return Unavailable(f"{part} failed ({type(error).__name__})")
