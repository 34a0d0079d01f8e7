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
import reprlib
from typing import ClassVar

_log = logging.getLogger(__name__)

_MAX_REQUEST_CHARACTERS = 440  # of a line of a message about a request
_MAX_REQUEST_LINES = 20


class CitewiseError(Exception):
    """An error that citewise can explain. The message is meant for the person who ran the command."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1


def _without_middle(line: str) -> str:
    half = _MAX_REQUEST_CHARACTERS // 2
    return line if len(line) <= _MAX_REQUEST_CHARACTERS else f"{line[:half]} … {line[-half:]}"


class BadRequest(CitewiseError, ValueError):
    """The request cannot be served as it is. The message may repeat what was sent: a long line loses its middle, and
    half a surrogate pair is shown as its number."""

    code = "bad_request"
    exit_code = 2

    def __init__(self, message: str) -> None:
        lines = message.encode("utf-8", "backslashreplace").decode().split("\n")
        super().__init__("\n".join(map(_without_middle, lines[:_MAX_REQUEST_LINES])))


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


def shown(value: object) -> str:
    """A value of a request for a message about it: short, however large it is, and even if it cannot be shown."""
    try:
        return reprlib.repr(value)
    except Exception:  # noqa: BLE001  a number of 5,000 digits, or anybody's code
        return f"<{type(value).__name__}>"


def explained(error: Exception, part: str = "it") -> CitewiseError:
    """An error of ours as it is. Of code that was handed in, only its kind is told: its message may hold anything."""
    if isinstance(error, CitewiseError):
        return error
    _log.warning("a part of the library failed", exc_info=error)
    return Unavailable(f"{part} failed ({type(error).__name__})")


def part_failed(part: str, error: Exception, then: str = "") -> str:
    """What a result says of a part that it had to do without: its name, and what was done instead.

    The error itself is for the log: it may hold paths, hosts and what others have asked.
    """
    _log.warning("%s: %s", part, explained(error))
    state = "not set up" if isinstance(error, Misconfigured) else "not available"
    return f"{part}: {state}{then and f'; {then}'}"
