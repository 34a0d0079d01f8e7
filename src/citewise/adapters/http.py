"""What remote adapters share: requests over httpx that another thread can end."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import httpx

from citewise.model.cancellation import Cancellation


class _Connection:
    """The connection of one request. Shutting it ends a read or a TLS handshake that waits in another thread.

    Closing an httpx response does not wake its reader, and TLS takes the socket object over and breaks when another
    thread shuts it. So this has a duplicate of the socket's descriptor, which stands for the same connection.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._socket: socket.socket | None = None
        self._is_shut = False

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpcore's `trace` extension: told of every step of a request, first of all that it has connected."""
        if ".connect_" in event and event.endswith(".complete"):
            connected = info["return_value"].get_extra_info("socket").dup()
            with self._lock:
                previous, self._socket = self._socket, connected
                if previous:
                    previous.close()
                self._shut_socket()

    def shut(self) -> None:
        with self._lock:
            self._is_shut = True
            self._shut_socket()

    def _shut_socket(self) -> None:
        if self._is_shut and self._socket:
            with suppress(OSError):  # the server has hung up already
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with self._lock:
            if self._socket:
                self._socket.close()
                self._socket = None


@contextmanager
def streamed(client: httpx.Client, path: str, content: bytes, cancellation: Cancellation) -> Iterator[httpx.Response]:
    """A response to a POST of JSON, still to be read; `cancellation` ends it while it waits, before it answers too.

    It gets a connection of its own, since that of another request would already be open and could not be found.
    Connecting itself is not ended; the client's time-out is its limit.
    """
    connection = _Connection()
    headers = {"Content-Type": "application/json", "Connection": "close"}
    try:
        with (
            cancellation.on_cancel(connection.shut),
            client.stream(
                "POST", path, content=content, headers=headers, extensions={"trace": connection.trace}
            ) as response,
        ):
            yield response
    finally:
        connection.close()
