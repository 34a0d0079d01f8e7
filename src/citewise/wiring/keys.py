"""Keys of remote services: read from the environment when they are needed, stored and logged nowhere."""

import os

from citewise.model.errors import Misconfigured


def key_of(variable: str) -> dict[str, str]:
    """The header that carries the key in this variable; none if it is not set."""
    key = os.environ.get(variable, "")
    if not key.isascii() or not key.isprintable():
        raise Misconfigured(f"the key in {variable} holds characters that no key has: set it again")
    return {"Authorization": f"Bearer {key}"} if key else {}
