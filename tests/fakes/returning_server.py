"""A server on loopback that goes away and comes back at the same address."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from threading import Thread

from tests.fakes.loopback import QuietHandler

Answer = Callable[[dict[str, list[str]]], object]  # a request's JSON -> the JSON that goes back


class ReturningServer:
    """Answers every POST while it is up; nobody listens at its port while it is down."""

    def __init__(self, answer: Answer) -> None:
        self.asked = 0
        self._handler = _handler(self, answer)
        self._port = 0  # a free one, at first
        self._running: tuple[ThreadingHTTPServer, Thread] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def up(self) -> None:
        listener = ThreadingHTTPServer(("127.0.0.1", self._port), self._handler)
        self._port = listener.server_address[1]
        thread = Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        self._running = (listener, thread)

    def down(self) -> None:
        if self._running:
            listener, thread = self._running
            listener.shutdown()
            listener.server_close()
            thread.join()
            self._running = None


@contextmanager
def returning_server(answer: Answer) -> Iterator[ReturningServer]:
    """One that is up, and down at the end whatever a test left it at."""
    server = ReturningServer(answer)
    server.up()
    try:
        yield server
    finally:
        server.down()


def _handler(server: ReturningServer, answer: Answer) -> type[QuietHandler]:
    class Handler(QuietHandler):
        protocol_version = "HTTP/1.0"  # no connection outlives its answer, nor the server

        def do_POST(self) -> None:
            server.asked += 1
            body = json.dumps(answer(self.request_json())).encode()
            self.send_head(200, {"Content-Type": "application/json", "Content-Length": str(len(body))})
            self.wfile.write(body)

    return Handler
