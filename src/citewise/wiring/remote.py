"""Clients of remote services. Keys are read from the environment when they are needed, stored and logged nowhere."""

import os
from typing import TYPE_CHECKING

from citewise.errors import Misconfigured

if TYPE_CHECKING:
    import httpx


def client_of(section: str, base_url: str, key_variable: str, timeout_seconds: float) -> "httpx.Client":
    """A client for the service that a section of the settings names."""
    import httpx

    headers = _key_header(key_variable)
    try:
        return httpx.Client(base_url=base_url, headers=headers, timeout=timeout_seconds)
    except (httpx.InvalidURL, ValueError) as error:
        raise Misconfigured(f"setting {section}.base_url is no address: {type(error).__name__}") from error


def _key_header(variable: str) -> dict[str, str]:
    """The header that carries the key in this variable; none if it is not set."""
    key = os.environ.get(variable, "")
    if not key.isascii() or not key.isprintable():
        raise Misconfigured(f"the key in {variable} holds characters that no key has: set it again")
    return {"Authorization": f"Bearer {key}"} if key else {}
