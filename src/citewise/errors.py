"""Every error citewise raises on purpose, split by who can act on it.

CitewiseError
├── BadRequest      the caller: the request cannot be served as it was put
├── Misconfigured   the operator: settings, model or library do not fit together
├── Unavailable     time: a disk or service is not there now; trying again may help
│   └── Locked      another process is writing
└── BadData         the author of a source: the file itself is broken

A message says what failed, on what, and what to try. Entry points map the four to exit codes once.
"""


class CitewiseError(Exception):
    """Something citewise can explain; its text is meant for the person who ran it."""


class BadRequest(CitewiseError):
    """The request cannot be served as it was put."""


class Misconfigured(CitewiseError):
    """Settings, model and library do not fit together."""


class Unavailable(CitewiseError):
    """A lock, a disk or a service is not there right now."""


class Locked(Unavailable):
    """Another process is writing to the library."""


class BadData(CitewiseError):
    """A source holds something that cannot be read."""
